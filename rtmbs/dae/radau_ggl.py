"""Radau IIA of order five on the stabilised index-2 form of Gear, Gupta and Leimkuhler."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.dae.linearisation import imbalance, linearised, rate_of
from rtmbs.dae.newton import Newton, constraint_scales, scale_of
from rtmbs.formulations.direct import Direct
from rtmbs.formulations.solvers import Solver, check_solver
from rtmbs.linear.dense_solver import DenseSolver

Array = NDArray[np.float64]

R6 = sqrt(6.0)
A = np.array(
    [
        [(88 - 7 * R6) / 360, (296 - 169 * R6) / 1800, (-2 + 3 * R6) / 225],
        [(296 + 169 * R6) / 1800, (88 + 7 * R6) / 360, (-2 - 3 * R6) / 225],
        [(16 - R6) / 36, (16 + R6) / 36, 1 / 9],
    ]
)
C = A.sum(axis=1)
STAGES = 3


@dataclass(frozen=True)
class RadauGGL:
    """q' = v - Phi_q^T mu, M v' + Phi_q^T lam = F, Phi = 0, Phid = 0 at three stages; the last one is the end.

    Positions and rates have order five. Accelerations and multipliers are worked out from them at the end of a step,
    since those of the stages have order three only. Newton's matrix is factored by ``solver``, a class of
    ``rtmbs.linear``. Dependent rows are refused.

    >>> method = RadauGGL()
    """

    solver: Solver = DenseSolver
    redundant = False
    orders = Orders(5, 5, 5, 5)

    def __post_init__(self) -> None:
        check_solver("solver of RadauGGL", self.solver)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the end of each step."""
        dynamics, newton = Dynamics(motion, Direct()), Newton(motion.counts, "RadauGGL", self.solver)
        point = dynamics.point(motion.q, motion.v, float(times[0]))
        yield point
        for t, following in pairwise(times):
            stages = Stages(motion, point, float(following - t))
            x = newton.solve(stages.residual, stages.matrix, stages.guess(), stages.scale(), float(t))
            q, v = stages.places(x)
            point = dynamics.point(q[-1], v[-1], float(following))
            motion.counts.steps += 1
            yield point


@dataclass(frozen=True)
class Stages:
    """The equations of one step. Unknown at each stage are q', v' (n,) and lam, mu (m,)."""

    motion: Motion
    old: Point
    h: float

    def split(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return q', v' (3, n) and lam, mu (3, m)."""
        n, m = self.motion.system.n, self.motion.system.m
        qd, vd, lam, mu = np.split(x.reshape(STAGES, -1), (n, 2 * n, 2 * n + m), axis=1)
        return qd, vd, lam, mu

    def places(self, x: Array) -> tuple[Array, Array]:
        """Return q and v (3, n) of the stages."""
        qd, vd, _, _ = self.split(x)
        return self.old.q + self.h * A @ qd, self.old.v + self.h * A @ vd

    def guess(self) -> Array:
        """Return the stages of a motion with the accelerations of its start."""
        old, zero = self.old, np.zeros(self.motion.system.m)
        return np.concatenate([np.concatenate((old.v + c * self.h * old.a, old.a, old.lam, zero)) for c in C])

    def scale(self) -> Array:
        """Return scales of the unknowns."""
        old = self.old
        Phi_q = self.motion.system.constraint_jacobian(old.q, old.t)
        mu, _ = constraint_scales(Phi_q, old.v, old.a, self.h)
        rates = np.abs(old.v) + self.h * np.abs(old.a)
        return np.tile(np.concatenate((scale_of(rates, old.a, old.lam), mu)), STAGES)

    def residual(self, x: Array) -> Array:
        """Return the equations of all stages."""
        system, (qd, vd, lam, mu), (q, v) = self.motion.system, self.split(x), self.places(x)
        parts = []
        for i, t in enumerate(self.old.t + self.h * C):
            parts += [
                qd[i] - v[i] + system.constraint_jacobian(q[i], t).T @ mu[i],
                imbalance(system, q[i], v[i], vd[i], lam[i], t),
                system.constraints(q[i], t) / self.h,
                rate_of(system, q[i], v[i], t) / self.h,
            ]
        return np.concatenate(parts)

    def matrix(self, x: Array) -> Array:
        """Return the derivatives of the equations, those of the system taken at the second stage."""
        system, (_, vd, lam, _), (q, v) = self.motion.system, self.split(x), self.places(x)
        at, h = linearised(system, q[1], v[1], vd[1], lam[1], float(self.old.t + self.h * C[1])), self.h
        n, m = system.n, system.m
        nn, nm, mn, mm, eye = np.zeros((n, n)), np.zeros((n, m)), np.zeros((m, n)), np.zeros((m, m)), np.eye(n)
        here = np.block([[eye, nn, nm, at.Phi_q.T], [nn, at.M, at.Phi_q.T, nm], [mn, mn, mm, mm], [mn, mn, mm, mm]])
        coupled = np.block(
            [
                [nn, -h * eye, nm, nm],
                [h * at.K, h * at.C, nm, nm],
                [at.Phi_q, mn, mm, mm],
                [at.rate, at.Phi_q, mm, mm],
            ]
        )
        return np.asarray(np.kron(np.eye(STAGES), here) + np.kron(A, coupled))

"""The overdetermined system made square by two more multipliers, discretised by BDF (METHODS 2.8)."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.checks import demand_whole
from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.dae.linearisation import imbalance, linearised, rate_of
from rtmbs.dae.multistep import backward_difference
from rtmbs.dae.newton import Newton, constraint_scales, scale_of
from rtmbs.dae.starting import first_points
from rtmbs.formulations.direct import Direct
from rtmbs.formulations.solvers import Solver, check_solver
from rtmbs.linear.dense_solver import DenseSolver

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ODAE:
    """qd - v + Phi_q^T mu = 0, M w + Phi_q^T lam = F with w = vd + Phi_q^T tau, Phi_q w = gamma, Phid = 0, Phi = 0.

    BDF of ``order`` 1 to 5 stands for qd and vd. Phi, Phid and Phidd hold at every point; the multipliers mu and tau
    take up the error of the formula, and are zero in the limit. w is the acceleration. Newton's matrix is
    factored by ``solver``, a class of ``rtmbs.linear``. Dependent rows are refused.

    >>> method = ODAE(order=3)
    """

    order: int = 3
    solver: Solver = DenseSolver
    redundant = False

    def __post_init__(self) -> None:
        demand_whole("order of ODAE", self.order, 1, 5)
        check_solver("solver of ODAE", self.solver)

    @property
    def orders(self) -> Orders:
        return Orders(*[self.order] * 4)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the end of each step."""
        dynamics, newton = Dynamics(motion, Direct()), Newton(motion.counts, "ODAE", self.solver)
        weights, b = backward_difference(self.order)
        past: deque[Point] = deque(maxlen=self.order)  # the newest first
        for point in first_points(motion, dynamics, times, self.order):
            past.appendleft(point)
            yield point
        for t in times[self.order :]:
            h = float(t - past[0].t)
            known = np.array(weights) @ np.array([np.concatenate((p.q, p.v)) for p in past])
            equations = Equations(motion, past[0], known, 1.0 / (h * b), float(t), h)
            x = newton.solve(equations.residual, equations.matrix, equations.guess(), equations.scale(), float(t))
            past.appendleft(equations.point(x))
            motion.counts.steps += 1
            yield past[0]


@dataclass(frozen=True)
class Equations:
    """Those of one step. Unknown are q, v (n,) and lam, mu, tau (m,); qd = c (q - known), and vd likewise."""

    motion: Motion
    old: Point
    known: Array  # (2n,)
    c: float  # [1/s]
    t: float
    h: float

    def split(self, x: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return q, v, lam, mu and tau."""
        n, m = self.motion.system.n, self.motion.system.m
        q, v, lam, mu, tau = np.split(x, (n, 2 * n, 2 * n + m, 2 * n + 2 * m))
        return q, v, lam, mu, tau

    def acceleration(self, x: Array) -> Array:
        """Return w (n,)."""
        q, v, _, _, tau = self.split(x)
        return self.c * (v - self.known[len(v) :]) + self.motion.system.constraint_jacobian(q, self.t).T @ tau

    def point(self, x: Array) -> Point:
        """Return the point of a solution."""
        q, v, lam, _, _ = self.split(x)
        return Point(self.t, q, v, self.acceleration(x), lam)

    def guess(self) -> Array:
        """Return the motion with the accelerations of the last point."""
        old, h, zero = self.old, self.h, np.zeros(2 * self.motion.system.m)
        return np.concatenate((old.q + h * old.v + 0.5 * h * h * old.a, old.v + h * old.a, old.lam, zero))

    def scale(self) -> Array:
        """Return scales of the unknowns; mu and tau have those of rates and accelerations."""
        old = self.old
        Phi_q = self.motion.system.constraint_jacobian(old.q, old.t)
        own = scale_of(old.q, np.abs(old.v) + self.h * np.abs(old.a), old.lam)
        return np.concatenate((own, *constraint_scales(Phi_q, old.v, old.a, self.h)))

    def residual(self, x: Array) -> Array:
        """Return the equations (2n + 3m,)."""
        (q, v, lam, mu, _), w, t, system = self.split(x), self.acceleration(x), self.t, self.motion.system
        Phi_q = system.constraint_jacobian(q, t)
        return np.concatenate(
            (
                self.c * (q - self.known[: len(q)]) - v + Phi_q.T @ mu,
                imbalance(system, q, v, w, lam, t),
                Phi_q @ w - system.constraint_rate_terms(q, v, t)[1],
                rate_of(system, q, v, t),
                system.constraints(q, t),
            )
        )

    def matrix(self, x: Array) -> Array:
        """Return the derivatives, less those of Phi_q^T mu, Phi_q^T tau and Phi_q w by q, which h makes small."""
        (q, v, lam, _, _), c, system = self.split(x), self.c, self.motion.system
        at = linearised(system, q, v, self.acceleration(x), lam, self.t)
        P, R, (m, n) = at.Phi_q, at.rate, at.Phi_q.shape
        nm, mn, mm = np.zeros((n, m)), np.zeros((m, n)), np.zeros((m, m))
        return np.block(
            [
                [c * np.eye(n), -np.eye(n), nm, P.T, nm],
                [at.K, c * at.M + at.C, P.T, nm, at.M @ P.T],
                [mn, c * P + 2.0 * R, mm, mm, P @ P.T],
                [R, P, mm, mm, mm],
                [P, mn, mm, mm, mm],
            ]
        )

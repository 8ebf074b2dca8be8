"""Radau IIA of order five on the stabilised index-2 form of Gear, Gupta and Leimkuhler."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import (
    Dynamics,
    Linearisation,
    StateLinearisation,
    Steps,
    constraint_rate,
    imbalance,
    linearised,
    linearised_states,
)
from rtmbs.dae.method import DAEMethod
from rtmbs.dae.newton import Newton, Tolerances, constraint_scales, may_bend, scale_of
from rtmbs.formulations.augmented_system import Solver, check_solver
from rtmbs.formulations.contract import holonomic_rows
from rtmbs.formulations.direct import Direct
from rtmbs.numerics.linear.solver import DenseSolver

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
REAL = 30.0 / (6.0 + 81.0 ** (1 / 3) - 9.0 ** (1 / 3))  # real eigenvalue of the inverse of A
ESTIMATE = np.array([-13 - 7 * R6, -13 + 7 * R6, -1.0]) / 3.0  # weights of the stages in the embedded formula
SHARPENED = 2.0 / 3.0  # exponent of tolerances: the estimate has order three, and the method five
SHARE = 0.1  # of the sharpened tolerance


@dataclass(frozen=True)
class RadauGGL(DAEMethod):
    """Radau IIA of order five on the stabilised index-2 form of Gear, Gupta and Leimkuhler.

    q' = v - Phi_q^T mu, M v' + Phi_q^T lam = F, Phi = 0, Phid = 0 at three stages; the last one is the end of the step.

    Positions and rates have order five. Accelerations and multipliers are worked out from them at the end of a step,
    since those of the stages have order three only. Dependent rows are left out.

    Parameters
    ----------
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s. The method then chooses its steps by the embedded formula
        of order three (Hairer and Wanner II, IV.8.17 to 19). Fixed steps unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = RadauGGL()
    """

    solver: Solver = DenseSolver
    rtol: float | None = None
    atol: float | None = None
    redundant = False
    leaves_out = True
    fixed_orders = Orders(5, 5, 5, 5)

    def __post_init__(self) -> None:
        check_solver("solver of RadauGGL", self.solver)
        self.check_tolerances()

    def tolerances(self) -> Tolerances:
        """Return the tolerances of the estimate, of order three: 0.1 rtol^(2/3), as RADAU5 has them.

        Returns
        -------
        Tolerances
            Relative and absolute tolerance of the estimate.
        """
        given = super().tolerances()
        sharpened = SHARE * given.rtol**SHARPENED
        return Tolerances(sharpened, sharpened * given.atol / given.rtol)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return RadauSteps(motion, self.solver)


class RadauSteps(Steps):
    """The steps of one motion."""

    estimate_order = 4
    growth = 8.0
    at: "RadauStageEquations | None" = None  # that Newton's matrix belongs to

    def __init__(self, motion: Motion, solver: Solver) -> None:
        super().__init__(motion, Direct())
        self.newton = Newton(motion.counts, "RadauGGL", solver, may_bend(motion.system))

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        return self.solved(past[0], t, h)[0]

    def solved(self, old: Point, t: float, h: float) -> tuple[Point, "RadauStageEquations", Array]:
        """Return the point at ``t`` [s], the equations of its stages, and their solution."""
        stages = RadauStageEquations(self.motion, self.dynamics, old, h)
        first, scale = stages.guess(), stages.scale()
        assert self.newton is not None
        x = self.newton.solve(stages.residual, stages.matrix, first, scale, old.t, stages.added())
        if stages.derivatives:
            self.at = stages
        q, v, s = stages.places(x)
        return self.dynamics.point(q[-1], v[-1], t, s[-1]), stages, x

    def trial(self, past: Sequence[Point], t: float, h: float) -> tuple[Point, Array]:
        point, stages, x = self.solved(past[0], t, h)
        return point, stages.estimate(x, self.at or stages)

    def kept(self) -> tuple[Any, ...]:
        return *super().kept(), self.at

    def put_back(self, kept: tuple[Any, ...]) -> None:
        super().put_back(kept)
        self.at = kept[4]


@dataclass(frozen=True)
class RadauStageEquations:
    """The equations of one step. Unknown at each stage are q', v' (n,), lam, mu (m,) and s' (ns,)."""

    motion: Motion
    dynamics: Dynamics
    old: Point
    h: float
    derivatives: list[tuple[Linearisation, StateLinearisation | None]] = field(default_factory=list)  # the last made

    def split(self, x: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return q', v' (3, n), lam (3, m), mu of holonomic rows and s' (3, ns)."""
        n, m = self.motion.system.n, self.motion.system.m
        ends = n, 2 * n, 2 * n + m, 2 * n + m + holonomic_rows(self.motion.system)
        qd, vd, lam, mu, sd = np.split(x.reshape(STAGES, -1), ends, axis=1)
        return qd, vd, lam, mu, sd

    def places(self, x: Array) -> tuple[Array, Array, Array]:
        """Return q, v (3, n) and s (3, ns) of the stages."""
        qd, vd, _, _, sd = self.split(x)
        return self.old.q + self.h * A @ qd, self.old.v + self.h * A @ vd, self.old.s + self.h * A @ sd

    def guess(self) -> Array:
        """Return the stages of a motion with the accelerations of its start."""
        old, zero = self.old, np.zeros(holonomic_rows(self.motion.system))
        return np.concatenate([np.concatenate((old.v + c * self.h * old.a, old.a, old.lam, zero, old.sd)) for c in C])

    def scale(self) -> Array:
        """Return scales of the unknowns."""
        old = self.old
        Phi_q = self.motion.system.constraint_jacobian(old.q, old.t)[: holonomic_rows(self.motion.system)]
        mu, _ = constraint_scales(Phi_q, old.v, old.a, self.h)
        rates = np.abs(old.v) + self.h * np.abs(old.a)
        return np.tile(np.concatenate((scale_of(rates, old.a, old.lam), mu, scale_of(old.sd))), STAGES)

    def added(self) -> Array:
        """Return the diagonal terms of the unknowns: q over h for q', v over h for v'."""
        old, rows = self.old, self.motion.system.m + holonomic_rows(self.motion.system)
        motion = np.maximum(np.abs(np.concatenate((old.q, old.v))), 1.0) / self.h
        return np.tile(np.concatenate((motion, np.zeros(rows), np.abs(old.s) / self.h)), STAGES)

    def residual(self, x: Array) -> Array:
        """Return the equations of all stages."""
        system, (qd, vd, lam, mu, sd), (q, v, s) = self.motion.system, self.split(x), self.places(x)
        parts, held = [], holonomic_rows(system)
        for i, t in enumerate(self.old.t + self.h * C):
            self.dynamics.hold(s[i])
            parts += [
                qd[i] - v[i] + system.constraint_jacobian(q[i], t)[:held].T @ mu[i],
                imbalance(system, q[i], v[i], vd[i], lam[i], t),
                system.constraints(q[i], t)[:held] / self.h,
                constraint_rate(system, q[i], v[i], t) / self.h,
                sd[i] - self.dynamics.state_rates(q[i], v[i], t, s[i]),
            ]
        return np.concatenate(parts)

    def matrix(self, x: Array) -> Array:
        """Return the derivatives of the equations, those of the system taken at the second stage."""
        system, (_, vd, lam, _, _), (q, v, s) = self.motion.system, self.split(x), self.places(x)
        t, h = float(self.old.t + self.h * C[1]), self.h
        self.dynamics.hold(s[1])
        at = linearised(system, q[1], v[1], vd[1], lam[1], t)
        self.derivatives[:] = [(at, None)]
        n, m, ns = system.n, system.m, s.shape[1]
        held = holonomic_rows(system)
        P, eye, size = at.Phi_q, np.eye(n), 2 * n + m + held
        Z = np.zeros
        here = np.vstack(
            (
                np.hstack((eye, Z((n, n + m)), P[:held].T)),
                np.hstack((Z((n, n)), at.M, P.T, Z((n, held)))),
                Z((m + held, size)),
            )
        )
        coupled = np.vstack(
            (
                np.hstack((Z((n, n)), -h * eye, Z((n, m + held)))),
                np.hstack((h * at.K, h * at.C, Z((n, m + held)))),
                np.hstack((P[:held], Z((held, n + m + held)))),
                np.hstack((at.rate, P, Z((m, m + held)))),
            )
        )
        if ns:
            more = linearised_states(system, q[1], v[1], t, s[1])
            self.derivatives[:] = [(at, more)]
            by_s, by_x = np.zeros((size, ns)), np.zeros((ns, size))
            by_s[n : 2 * n], by_x[:, :n], by_x[:, n : 2 * n] = -h * more.F_s, -h * more.G_q, -h * more.G_v
            here = np.block([[here, np.zeros((size, ns))], [np.zeros((ns, size)), np.eye(ns)]])
            coupled = np.block([[coupled, by_s], [by_x, -h * more.G_s]])
        return np.asarray(np.kron(np.eye(STAGES), here) + np.kron(A, coupled))

    def estimate(self, x: Array, made: "RadauStageEquations") -> Array:
        """Return the local error (2n + ns,) of the end by the embedded formula of order three.

        (REAL/h B - J) e = f0 + B sum ESTIMATE_i (x_i - x_0) / h for q, v and s, B = diag(1, M, 1), with P e = 0 and the
        rate of it (Hairer and Wanner II, IV.8.19). J is that of Newton's matrix of ``made``, which may be older.
        """
        at, more = made.derivatives[0]
        old, n, ns, held = self.old, len(self.old.q), len(self.old.s), holonomic_rows(self.motion.system)
        changes = [
            ESTIMATE @ (part - start) / self.h
            for part, start in zip(self.places(x), (old.q, old.v, old.s), strict=True)
        ]
        P, c, m, eye, Z = at.Phi_q, REAL / self.h, len(at.Phi_q), np.eye(n), np.zeros
        G = (Z((ns, n)), Z((ns, n)), Z((ns, ns))) if more is None else more[1:]
        F_s = Z((n, ns)) if more is None else more.F_s
        matrix = np.block(
            [
                [c * eye, -eye, Z((n, ns)), Z((n, m)), P[:held].T],
                [at.K, c * at.M + at.C, -F_s, P.T, Z((n, held))],
                [-G[0], -G[1], c * np.eye(ns) - G[2], Z((ns, m + held))],
                [c * P[:held], Z((held, n + ns + m + held))],
                [at.rate, P, Z((m, ns + m + held))],
            ]
        )
        right = (old.v + changes[0], at.M @ (old.a + changes[1]), old.sd + changes[2], Z(held + m))
        size = np.abs(matrix).max(axis=1)
        size[size == 0.0] = 1.0
        e = np.linalg.solve(matrix / size[:, None], np.concatenate(right) / size)
        return np.asarray(e[: 2 * n + ns])

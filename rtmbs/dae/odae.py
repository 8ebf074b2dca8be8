"""Overdetermined system of Phi, Phid and Phidd by BDF: with two further multipliers (ODAE, METHODS 2.8), or projected.

The projection by the metric of M is that of Fuehrer and Leimkuhler (METHODS 2.23).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import (
    Dynamics,
    StateLinearisation,
    Steps,
    constraint_rate,
    doubled_explicit,
    imbalance,
    linearised,
    linearised_states,
    step_explicit,
)
from rtmbs.dae.method import DAEMethod, demand_whole
from rtmbs.dae.multistep import LARGEST_GROWTH, backward_difference, is_even, uneven_backward_difference
from rtmbs.dae.newton import Newton, constraint_scales, may_bend, scale_of, values_of
from rtmbs.formulations.augmented_system import Solver, check_solver
from rtmbs.formulations.contract import holonomic_rows
from rtmbs.formulations.direct import Direct
from rtmbs.integrators.tableaux import DORMAND_PRINCE
from rtmbs.numerics.linear.solver import DenseSolver

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ODAE(DAEMethod):
    """Overdetermined system of Phi, Phid and Phidd, made square by two more multipliers, by BDF (METHODS 2.8).

    qd - v + Phi_q^T mu = 0, M w + Phi_q^T lam = F with w = vd + Phi_q^T tau, Phi_q w = gamma, Phid = 0, Phi = 0.

    BDF stands for qd, vd and the rates of force states. Phi, Phid, Phidd hold at every point; the multipliers mu and
    tau take up the error of the formula, and are zero in the limit. w is the acceleration. Dependent rows are left out.

    Parameters
    ----------
    order : int, default 3
        Order of BDF, 1 to 5.
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s. The method then chooses its steps, by a formula of variable
        coefficients and the polynomial through one more point behind. Fixed steps unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = ODAE(order=3)
    """

    order: int = 3  # type: ignore[misc]
    solver: Solver = DenseSolver
    rtol: float | None = None
    atol: float | None = None
    redundant = False
    leaves_out = True

    def __post_init__(self) -> None:
        demand_whole(f"order of {type(self).__name__}", self.order, 1, 5)
        check_solver(f"solver of {type(self).__name__}", self.solver)
        self.check_tolerances()

    @property
    def fixed_orders(self) -> Orders:
        return Orders(*[self.order] * 4)

    @property
    def behind(self) -> int:  # type: ignore[override]
        """Points before the present one that the formula needs."""
        return self.order - 1

    @property
    def depth(self) -> int:
        """Points before the present one that the formula and its estimate need."""
        return self.order if self.adaptive else self.behind

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return ODAESteps(motion, self, BDFStepEquations)


class ODAESteps(Steps):
    """The steps of one motion; the first ones are Runge-Kutta steps of order five."""

    def __init__(self, motion: Motion, method: ODAE, equations: "type[BDFStepEquations]") -> None:
        super().__init__(motion, Direct())
        self.order, self.equations = method.order, equations
        self.newton = Newton(motion.counts, type(method).__name__, method.solver, may_bend(motion.system))
        self.weights, self.b = backward_difference(self.order)
        self.estimate_order, self.growth = self.order + 1, LARGEST_GROWTH[self.order]

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        h = t - past[0].t
        if len(past) < self.order:
            return step_explicit(self.dynamics, DORMAND_PRINCE, past[0], h)
        times = np.array([point.t for point in past[: self.order]])
        places = np.array([values_of(point) for point in past[: self.order]])
        if is_even(times, t):
            return self.solved(past[0], np.array(self.weights) @ places, h * self.b, t)
        formula = uneven_backward_difference(self.order, times, t)
        return self.solved(past[0], formula.a @ places, formula.last, t)

    def solved(self, old: Point, known: Array, hb: float, t: float) -> Point:
        """Return the point at ``t`` [s]; ``known`` (2n + ns,) is what the points behind give, ``hb`` is h b."""
        equations = self.equations(self.motion, self.dynamics, old, known, 1.0 / hb, t, t - old.t)
        assert self.newton is not None
        x = self.newton.solve(equations.residual, equations.matrix, equations.guess(), equations.scale(), t)
        return equations.point(x)

    def trial(self, past: Sequence[Point], t: float, h: float) -> tuple[Point, Array]:
        if len(past) <= self.order:
            return doubled_explicit(self, past, t, h)
        times = np.array([point.t for point in past])
        places = np.array([values_of(point) for point in past])
        formula = uneven_backward_difference(self.order, times, t)
        point = self.solved(past[0], formula.a @ places[: self.order], formula.last, t)
        return point, formula.estimate(values_of(point), places, places)


@dataclass(frozen=True)
class BDFStepEquations:
    """The equations of one step. Unknown are q, v (n,), lam, mu, tau (m,) and s (ns,).

    qd = c (q - known), and vd and sd likewise.
    """

    motion: Motion
    dynamics: Dynamics
    old: Point
    known: Array  # (2n + ns,)
    c: float  # [1/s]
    t: float
    h: float

    def split(self, x: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return q, v, lam, mu, tau and s."""
        n, m = self.motion.system.n, self.motion.system.m
        k = 2 * n + m + holonomic_rows(self.motion.system)
        q, v, lam, mu, tau, s = np.split(x, (n, 2 * n, 2 * n + m, k, k + m))
        return q, v, lam, mu, tau, s

    def acceleration(self, x: Array) -> Array:
        """Return w (n,)."""
        q, v, _, _, tau, _ = self.split(x)
        return (
            self.c * (v - self.known[len(v) : 2 * len(v)]) + self.motion.system.constraint_jacobian(q, self.t).T @ tau
        )

    def point(self, x: Array) -> Point:
        """Return the point of a solution."""
        q, v, lam, _, _, s = self.split(x)
        return Point(self.t, q, v, self.acceleration(x), lam, s, self.dynamics.state_rates(q, v, self.t, s))

    def guess(self) -> Array:
        """Return the motion with the accelerations of the last point."""
        old, h = self.old, self.h
        zero = np.zeros(self.motion.system.m + holonomic_rows(self.motion.system))
        s = old.s + h * old.sd
        return np.concatenate((old.q + h * old.v + 0.5 * h * h * old.a, old.v + h * old.a, old.lam, zero, s))

    def scale(self) -> Array:
        """Return scales of the unknowns; mu and tau have those of rates and accelerations."""
        old = self.old
        Phi_q = self.motion.system.constraint_jacobian(old.q, old.t)
        own = scale_of(old.q, np.abs(old.v) + self.h * np.abs(old.a), old.lam)
        mu, tau = constraint_scales(Phi_q, old.v, old.a, self.h)
        return np.concatenate((own, mu[: holonomic_rows(self.motion.system)], tau, scale_of(old.s)))

    def residual(self, x: Array) -> Array:
        """Return the equations (2n + 3m + ns,)."""
        (q, v, lam, mu, _, s), w, t, system = self.split(x), self.acceleration(x), self.t, self.motion.system
        self.dynamics.hold(s)
        Phi_q, held = system.constraint_jacobian(q, t), holonomic_rows(system)
        return np.concatenate(
            (
                self.c * (q - self.known[: len(q)]) - v + Phi_q[:held].T @ mu,
                imbalance(system, q, v, w, lam, t),
                Phi_q @ w - system.constraint_rate_terms(q, v, t)[1],
                constraint_rate(system, q, v, t),
                system.constraints(q, t)[:held],
                self.c * (s - self.known[2 * len(q) :]) - self.dynamics.state_rates(q, v, t, s),
            )
        )

    def matrix(self, x: Array) -> Array:
        """Return the derivatives, less those of Phi_q^T mu, Phi_q^T tau and Phi_q w by q, which h makes small."""
        (q, v, lam, _, _, s), c, system = self.split(x), self.c, self.motion.system
        self.dynamics.hold(s)
        at = linearised(system, q, v, self.acceleration(x), lam, self.t)
        P, R, (m, n), ns = at.Phi_q, at.rate, at.Phi_q.shape, len(s)
        held, Z = holonomic_rows(system), np.zeros
        blocks = [
            [c * np.eye(n), -np.eye(n), Z((n, m)), P[:held].T, Z((n, m))],
            [at.K, c * at.M + at.C, P.T, Z((n, held)), at.M @ P.T],
            [Z((m, n)), c * P + 2.0 * R, Z((m, m)), Z((m, held)), P @ P.T],
            [R, P, Z((m, m)), Z((m, held)), Z((m, m))],
            [P[:held], Z((held, n)), Z((held, m)), Z((held, held)), Z((held, m))],
        ]
        return with_states(blocks, linearised_states(system, q, v, self.t, s) if ns else None, c)


def with_states(blocks: list[list[Array]], more: StateLinearisation | None, c: float) -> Array:
    """Return the matrix of ``blocks`` for q, v and multipliers, with the states of force laws behind them.

    The second row of blocks is the balance of forces; only it and the rates of the states depend on these.
    """
    if more is None:
        return np.block(blocks)
    ns = len(more.G_s)
    own = [np.zeros((ns, block.shape[1])) for block in blocks[0][2:]]
    for k, row in enumerate(blocks):
        row.append(-more.F_s if k == 1 else np.zeros((len(row[0]), ns)))
    return np.block([*blocks, [-more.G_q, -more.G_v, *own, c * np.eye(ns) - more.G_s]])


@dataclass(frozen=True)
class FuehrerLeimkuhler(ODAE):
    """Overdetermined system of Phi, Phid and Phidd by BDF, solved by the projection that a state-space form has.

    N^T M (qd - v) = 0, N^T (M vd - F) = 0, Phi = 0, Phid = 0 and Phidd = 0, with N on the null space of Phi_q.

    BDF stands for qd and vd. The unknowns are q, v, lam and mu of M (qd - v) + Phi_q^T mu = 0 and M vd + Phi_q^T lam =
    F. Accelerations and multipliers of a point are those of its state, so that Phidd = 0. ODAE takes the Euclidean
    metric for qd, and has a third multiplier. Dependent rows are left out. Source: Numer. Math. 59 (1991) 55.

    Parameters
    ----------
    order : int, default 3
        Order of BDF, 1 to 5.
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s; the method then chooses its steps. Fixed unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = FuehrerLeimkuhler(order=3)
    """

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return ODAESteps(motion, self, ProjectedStepEquations)


@dataclass(frozen=True)
class ProjectedStepEquations(BDFStepEquations):
    """The equations of one step. Unknown are q, v (n,), lam (m,), mu of the rows of Phi and s (ns,).

    qd = c (q - known), and vd and sd likewise.
    """

    def split(self, x: Array) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return q, v, lam, mu, nothing for tau, and s."""
        n, m = self.motion.system.n, self.motion.system.m
        k = 2 * n + m + holonomic_rows(self.motion.system)
        q, v, lam, mu, s = np.split(x, (n, 2 * n, 2 * n + m, k))
        return q, v, lam, mu, np.zeros(0), s

    def acceleration(self, x: Array) -> Array:
        """Return c (v - known) (n,)."""
        v = self.split(x)[1]
        return self.c * (v - self.known[len(v) : 2 * len(v)])

    def point(self, x: Array) -> Point:
        """Return the point of a solution, with the accelerations and multipliers of its state."""
        q, v, *_, s = self.split(x)
        return self.dynamics.point(q, v, self.t, s)

    def guess(self) -> Array:
        """Return the motion with the accelerations of the last point."""
        old, h = self.old, self.h
        zero, s = np.zeros(holonomic_rows(self.motion.system)), old.s + h * old.sd
        return np.concatenate((old.q + h * old.v + 0.5 * h * h * old.a, old.v + h * old.a, old.lam, zero, s))

    def scale(self) -> Array:
        """Return scales of the unknowns; Phi_q^T mu is a momentum."""
        old, system = self.old, self.motion.system
        Phi_q = system.constraint_jacobian(old.q, old.t)
        own = scale_of(old.q, np.abs(old.v) + self.h * np.abs(old.a), old.lam)
        mu = constraint_scales(Phi_q, old.v, old.a, self.h)[0][: holonomic_rows(system)]
        return np.concatenate((own, mu * np.abs(system.mass(old.q, old.t)).max(), scale_of(old.s)))

    def residual(self, x: Array) -> Array:
        """Return the equations (2n + 2m + ns,)."""
        (q, v, lam, mu, _, s), t, system = self.split(x), self.t, self.motion.system
        self.dynamics.hold(s)
        Phi_q, held = system.constraint_jacobian(q, t), holonomic_rows(system)
        return np.concatenate(
            (
                system.mass(q, t) @ (self.c * (q - self.known[: len(q)]) - v) + Phi_q[:held].T @ mu,
                imbalance(system, q, v, self.acceleration(x), lam, t),
                constraint_rate(system, q, v, t),
                system.constraints(q, t)[:held],
                self.c * (s - self.known[2 * len(q) :]) - self.dynamics.state_rates(q, v, t, s),
            )
        )

    def matrix(self, x: Array) -> Array:
        """Return the derivatives, less those of M and Phi_q in M (qd - v) + Phi_q^T mu, which h makes small."""
        (q, v, lam, _, _, s), c, system = self.split(x), self.c, self.motion.system
        self.dynamics.hold(s)
        at = linearised(system, q, v, self.acceleration(x), lam, self.t)
        P, R, (m, n), ns = at.Phi_q, at.rate, at.Phi_q.shape, len(s)
        held, Z = holonomic_rows(system), np.zeros
        blocks = [
            [c * at.M, -at.M, Z((n, m)), P[:held].T],
            [at.K, c * at.M + at.C, P.T, Z((n, held))],
            [R, P, Z((m, m)), Z((m, held))],
            [P[:held], Z((held, n)), Z((held, m)), Z((held, held))],
        ]
        return with_states(blocks, linearised_states(system, q, v, self.t, s) if ns else None, c)

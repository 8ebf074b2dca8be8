"""Generalised-alpha family of Newmark's method at index 3 (METHODS 1.18): HHT, and Chung and Hulbert's method."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Dynamics, Steps
from rtmbs.dae.linearisation import constraint_rate, imbalance, linearised, linearised_states
from rtmbs.dae.method import DAEMethod, demand_between
from rtmbs.dae.newton import Newton, scale_of
from rtmbs.formulations.augmented_system import Solver, check_solver
from rtmbs.formulations.direct import Direct
from rtmbs.formulations.rate_constraints import holonomic_rows
from rtmbs.numerics.linear.dense_solver import DenseSolver

Array = NDArray[np.float64]

JERK_STEP = 1e-2  # of h: the difference that starts the auxiliary acceleration


@dataclass(frozen=True)
class AlphaFamily:
    """Parameters of a generalised-alpha method of order two with least dissipation at low frequencies."""

    alpha_m: float
    alpha_f: float
    beta: float

    @property
    def gamma(self) -> float:
        return 0.5 + self.alpha_f - self.alpha_m

    def steps(self, motion: Motion, who: str, solver: Solver) -> "AlphaFamilySteps":
        """Return the steps of one motion; ``who`` is the name of the method in errors."""
        return AlphaFamilySteps(self, motion, who, solver)


class AlphaFamilySteps(Steps):
    """The steps of one motion.

    Unknown are a, lam and s at the end, where M a + Phi_q^T lam = F and Phi = 0; s follows by the trapezoidal rule. The
    auxiliary acceleration A obeys (1 - alpha_m) A' + alpha_m A = (1 - alpha_f) a' + alpha_f a, and q, v follow by
    Newmark's formulas with A. At the start A is a(t0 + (alpha_m - alpha_f) h), so that no error of order one is left in
    it. ``carried`` (2, n) are A and a.
    """

    def __init__(self, family: AlphaFamily, motion: Motion, who: str, solver: Solver) -> None:
        super().__init__(motion, Direct())
        self.family, self.newton = family, Newton(motion.counts, who, solver)
        self.offsets = family.alpha_m - family.alpha_f, 0.0

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        if self.carried is None:
            family, start = self.family, past[0]
            A = start.a + (family.alpha_m - family.alpha_f) * h * jerk_at(self.motion, start, JERK_STEP * h)
            self.carried = np.array((A, start.a))
        A, a = self.carried
        point, A = self.solved(past[0], A, a, t, h)
        self.carried = np.array((A, point.a))
        return point

    def solved(self, old: Point, A: Array, a: Array, t: float, h: float) -> tuple[Point, Array]:
        """Return the point a step later, and its auxiliary acceleration; ``a`` (n,) is the acceleration at ``old``."""
        family, system, n, ns = self.family, self.motion.system, self.motion.system.n, len(old.s)
        share = (1.0 - family.alpha_f) / (1.0 - family.alpha_m)
        kept = (family.alpha_f * a - family.alpha_m * A) / (1.0 - family.alpha_m)
        held = holonomic_rows(system)
        c_q, c_v, end = h * h * family.beta * share, h * family.gamma * share, n + system.m

        def state(a: Array) -> tuple[Array, Array, Array]:
            new = share * a + kept
            q = old.q + h * old.v + h * h * ((0.5 - family.beta) * A + family.beta * new)
            return q, old.v + h * ((1.0 - family.gamma) * A + family.gamma * new), new

        def residual(x: Array) -> Array:
            q, v, _ = state(x[:n])
            self.dynamics.hold(x[end:])
            Psi = constraint_rate(system, q, v, t)[held:] / c_v
            left = imbalance(system, q, v, x[:n], x[n:end], t), system.constraints(q, t)[:held] / c_q, Psi
            if not ns:
                return np.concatenate(left)
            sd = self.dynamics.state_rates(q, v, t, x[end:])
            return np.concatenate((*left, x[end:] - old.s - 0.5 * h * (old.sd + sd)))

        def matrix(x: Array) -> Array:
            q, v, _ = state(x[:n])
            self.dynamics.hold(x[end:])
            at = linearised(system, q, v, x[:n], x[n:end], t)
            A, zero = at.M + c_v * at.C + c_q * at.K, np.zeros((system.m, system.m))
            rows = np.vstack((at.Phi_q[:held], at.Phi_q[held:] + c_q / c_v * at.rate[held:]))
            if not ns:
                return np.block([[A, at.Phi_q.T], [rows, zero]])
            more, none = linearised_states(system, q, v, t, x[end:]), np.zeros((ns, system.m))
            by_a, by_s = -0.5 * h * (c_q * more.G_q + c_v * more.G_v), np.eye(ns) - 0.5 * h * more.G_s
            return np.block([[A, at.Phi_q.T, -more.F_s], [rows, zero, none.T], [by_a, none, by_s]])

        first, scale = np.concatenate((a, old.lam, old.s)), np.concatenate((newton_scales(old, h), scale_of(old.s)))
        added = np.zeros(len(first))
        added[:n] = np.maximum(np.abs(old.q), 1.0) / c_q
        x = self.newton.solve(residual, matrix, first, scale, t, added)
        q, v, new = state(x[:n])
        s = x[end:]
        return Point(t, q, v, x[:n], x[n:end], s, self.dynamics.state_rates(q, v, t, s)), new


def newton_scales(old: Point, h: float) -> Array:
    """Return scales of a (n,) and lam (m,) for the end of Newton's iteration."""
    floor = max(1.0, float(np.abs(old.q).max(initial=0.0))) * 1e-3 / (h * h)
    a, lam = np.abs(old.a).max(initial=0.0), np.abs(old.lam).max(initial=0.0)
    return np.concatenate((np.maximum(scale_of(old.a), min(floor, 1e3 * max(1.0, a))), scale_of(old.lam) + lam))


def jerk_at(motion: Motion, point: Point, step: float) -> Array:
    """Return da/dt (n,) along the motion, by a difference."""
    q, s = point.q + step * point.v + 0.5 * step**2 * point.a, point.s + step * point.sd
    later = Dynamics(motion, Direct()).accelerations(q, point.v + step * point.a, point.t + step, s)
    return np.asarray((later - point.a) / step)


@dataclass(frozen=True)
class HHT(DAEMethod):
    """Method of Hilber, Hughes and Taylor at index 3: Phi = 0 at the end of each step.

    It is a generalised-alpha method with alpha_m = 0, alpha_f = -alpha, gamma = (1 - 2 alpha) / 2 and
    beta = (1 - alpha)^2 / 4. Dependent rows are refused. Source: METHODS 1.18.

    Parameters
    ----------
    alpha : float, default -0.1
        Damping of high frequencies, -1/3 to -0.01.
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = HHT(alpha=-0.1)
    """

    alpha: float = -0.1
    solver: Solver = DenseSolver
    redundant = False
    orders = Orders(2, 2, 2, 2)
    carries = 2
    exact_end = False

    def __post_init__(self) -> None:
        demand_between("alpha of HHT", self.alpha, -1.0 / 3.0, -0.01)
        check_solver("solver of HHT", self.solver)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return AlphaFamily(0.0, -self.alpha, (1.0 - self.alpha) ** 2 / 4.0).steps(motion, "HHT", self.solver)


@dataclass(frozen=True)
class GeneralisedAlpha(DAEMethod):
    """Generalised-alpha method of Chung and Hulbert at index 3: Phi = 0 at the end of each step.

    Rates violate Phid by the error of the method. Dependent rows are refused. Source: METHODS 1.18; Arnold and Bruels
    2007.

    Parameters
    ----------
    rho_inf : float, default 0.8
        Spectral radius at infinite frequency, 0 to 0.99.
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = GeneralisedAlpha(rho_inf=0.8)
    """

    rho_inf: float = 0.8
    solver: Solver = DenseSolver
    redundant = False
    orders = Orders(2, 2, 2, 2)
    carries = 2
    exact_end = False

    def __post_init__(self) -> None:
        demand_between("rho_inf of GeneralisedAlpha", self.rho_inf, 0.0, 0.99)
        check_solver("solver of GeneralisedAlpha", self.solver)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        r = self.rho_inf
        alpha_m, alpha_f = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
        family = AlphaFamily(alpha_m, alpha_f, (1.0 + alpha_f - alpha_m) ** 2 / 4.0)
        return family.steps(motion, "GeneralisedAlpha", self.solver)

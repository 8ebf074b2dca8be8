"""Generalised-alpha family of Newmark's method (METHODS 1.18): HHT, and Chung and Hulbert's method."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Dynamics, Steps, constraint_rate, imbalance, linearised, linearised_states
from rtmbs.dae.method import DAEMethod, demand_between, demand_whole
from rtmbs.dae.newton import Newton, may_bend, scale_of
from rtmbs.formulations.augmented_system import Solver, check_solver
from rtmbs.formulations.contract import holonomic_rows
from rtmbs.formulations.direct import Direct
from rtmbs.numerics.linear.solver import DenseSolver

Array = NDArray[np.float64]

EVEN = 1e-9  # of a step: a smaller change of it is rounding of times
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

    @property
    def error_constants(self) -> tuple[float, float]:
        """Constants of the local errors of q, times h^3 da/dt, and of v, times h^3 d2a/dt2.

        Taylor's series of Newmark's formulas with A = a(t + delta h), delta = alpha_m - alpha_f. With delta = 0 they
        are those of Zienkiewicz and Xie, Earthquake Eng. Struct. Dyn. 20 (1991) 871.
        """
        delta, gamma = self.alpha_m - self.alpha_f, self.gamma
        of_v = 0.5 * ((1.0 - gamma) * delta**2 + gamma * (1.0 + delta) ** 2) - 1.0 / 6.0
        return self.beta + 0.5 * delta - 1.0 / 6.0, of_v

    def steps(self, motion: Motion, method: "Structural") -> "AlphaFamilySteps":
        """Return the steps of one motion."""
        return AlphaFamilySteps(self, motion, method)


class AlphaFamilySteps(Steps):
    """The steps of one motion.

    Unknown are a, lam and s at the end, where M a + Phi_q^T lam = F and Phi = 0; s follows by the trapezoidal rule. The
    auxiliary acceleration A obeys (1 - alpha_m) A' + alpha_m A = (1 - alpha_f) a' + alpha_f a, and q, v follow by
    Newmark's formulas with A. At the start A is a(t0 + (alpha_m - alpha_f) h), so that no error of order one is left in
    it. ``carried`` (2, n) are A and a. Since A belongs to a time that moves with h, a step of another size takes
    a + (A - a) h_new / h_old.

    A method by tolerance gives the accelerations and multipliers of the state, since those of index 3 jump with the
    step. With ``index`` 2 rows hold in Phi and Phid: q takes a further - c P0^T eta, P0 at the start of the step.
    """

    estimate_order = 3
    growth = 2.0

    def __init__(self, family: AlphaFamily, motion: Motion, method: "Structural") -> None:
        super().__init__(motion, Direct())
        self.family, self.index, self.exact = family, method.index, method.adaptive
        self.newton = Newton(motion.counts, type(method).__name__, method.solver, may_bend(motion.system))
        self.offsets = family.alpha_m - family.alpha_f, 0.0

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        return self.moved(past[0], t, h)[0]

    def moved(self, start: Point, t: float, h: float) -> tuple[Point, Array, Array]:
        """Return the point at ``t`` [s], and A at its two ends; what is carried moves along."""
        if self.carried is None:
            family = self.family
            A = start.a + (family.alpha_m - family.alpha_f) * h * jerk_at(self.motion, start, JERK_STEP * h)
            self.carried = np.array((A, start.a))
        A, a = self.carried
        if self.spacing and abs(h - self.spacing) > EVEN * h:
            A = a + (A - a) * (h / self.spacing)
        point, new = StructuralStep(self, start, A, a, t, h).solved()
        self.carried, self.spacing = np.array((new, point.a)), h
        if self.exact:
            point = self.dynamics.point(point.q, point.v, point.t, point.s)
        return point, A, new

    def trial(self, past: Sequence[Point], t: float, h: float) -> tuple[Point, Array]:
        point, A, new = self.moved(past[0], t, h)
        of_q, of_v = self.family.error_constants
        jerk = (new - A) / h
        snap = np.zeros_like(jerk)
        if len(past) > 1:
            h0 = past[0].t - past[1].t
            snap = 2.0 / (h + h0) * ((point.a - past[0].a) / h - (past[0].a - past[1].a) / h0)
        error_s = -h / 12.0 * (point.sd - past[0].sd)  # of the trapezoidal rule, h^3 / 12 of its third derivative
        if len(past) > 1:
            error_s = -(h**2) / 6.0 / (h + h0) * h * ((point.sd - past[0].sd) / h - (past[0].sd - past[1].sd) / h0)
        errors = (self.along(point, of_q * h**3 * jerk), self.along(point, of_v * h**3 * snap), error_s)
        return point, np.concatenate(errors)

    def along(self, point: Point, e: Array) -> Array:
        """Return the part of e (n,) that constraints leave free, M-orthogonal: errors of lam have none."""
        system = self.motion.system
        if not system.m:
            return e
        M, P = system.mass(point.q, point.t), system.constraint_jacobian(point.q, point.t)
        left = np.block([[M, P.T], [P, np.zeros((len(P), len(P)))]])
        return np.asarray(np.linalg.lstsq(left, np.concatenate((M @ e, np.zeros(len(P)))), rcond=1e-13)[0][: len(e)])


class StructuralStep:
    """The equations of one step from ``old``. Unknown are a (n,), lam (m,), s (ns,) and, at index 2, eta."""

    def __init__(self, steps: AlphaFamilySteps, old: Point, A: Array, a: Array, t: float, h: float) -> None:
        family, system = steps.family, steps.motion.system
        self.steps, self.system, self.old, self.A, self.a, self.t, self.h = steps, system, old, A, a, t, h
        self.beta, self.gamma = family.beta, family.gamma
        self.share = (1.0 - family.alpha_f) / (1.0 - family.alpha_m)
        self.kept = (family.alpha_f * a - family.alpha_m * A) / (1.0 - family.alpha_m)
        self.held = holonomic_rows(system)
        self.c_q, self.c_v = h * h * self.beta * self.share, h * self.gamma * self.share
        self.end = system.n + system.m
        self.both = steps.index == 2 and self.held > 0
        self.P0 = system.constraint_jacobian(old.q, old.t)[: self.held] if self.both else np.zeros((0, system.n))

    def split(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Return a, lam, s and eta."""
        n, last = self.system.n, self.end + len(self.old.s)
        return x[:n], x[n : self.end], x[self.end : last], x[last:]

    def state(self, x: Array) -> tuple[Array, Array, Array]:
        """Return q, v and A at the end."""
        old, h = self.old, self.h
        a, _, _, eta = self.split(x)
        new = self.share * a + self.kept
        q = old.q + h * old.v + h * h * ((0.5 - self.beta) * self.A + self.beta * new)
        if self.both:
            q = q - self.c_q * (self.P0.T @ eta)
        return q, old.v + h * ((1.0 - self.gamma) * self.A + self.gamma * new), new

    def residual(self, x: Array) -> Array:
        """Return the equations."""
        (a, lam, s, _), (q, v, _), system, t, held = self.split(x), self.state(x), self.system, self.t, self.held
        self.steps.dynamics.hold(s)
        rate = constraint_rate(system, q, v, t) / self.c_v
        left = [imbalance(system, q, v, a, lam, t), system.constraints(q, t)[:held] / self.c_q, rate[held:]]
        if len(s):
            sd = self.steps.dynamics.state_rates(q, v, t, s)
            left.append(s - self.old.s - 0.5 * self.h * (self.old.sd + sd))
        if self.both:
            left.append(rate[:held])
        return np.concatenate(left)

    def matrix(self, x: Array) -> Array:
        """Return the derivatives of the equations."""
        (a, lam, s, _), (q, v, _), system, t, held = self.split(x), self.state(x), self.system, self.t, self.held
        c_q, c_v, h, ns = self.c_q, self.c_v, self.h, len(s)
        self.steps.dynamics.hold(s)
        at = linearised(system, q, v, a, lam, t)
        A, zero = at.M + c_v * at.C + c_q * at.K, np.zeros((system.m, system.m))
        ratio = c_q / c_v
        rows = np.vstack((at.Phi_q[:held], at.Phi_q[held:] + ratio * at.rate[held:]))
        blocks = [[A, at.Phi_q.T], [rows, zero]]
        if ns:
            more, none = linearised_states(system, q, v, t, s), np.zeros((ns, system.m))
            by_a, by_s = -0.5 * h * (c_q * more.G_q + c_v * more.G_v), np.eye(ns) - 0.5 * h * more.G_s
            blocks = [[A, at.Phi_q.T, -more.F_s], [rows, zero, none.T], [by_a, none, by_s]]
        if self.both:
            moved = -c_q * self.P0.T
            by_eta = [at.K @ moved, np.vstack((at.Phi_q[:held] / c_q, at.rate[held:] / c_v)) @ moved]
            if ns:
                by_eta.append(-0.5 * h * more.G_q @ moved)
            for row, column in zip(blocks, by_eta, strict=True):
                row.append(column)
            own = at.Phi_q[:held] + ratio * at.rate[:held], at.rate[:held] @ moved / c_v
            blocks.append([own[0], np.zeros((held, system.m)), *([np.zeros((held, ns))] if ns else []), own[1]])
        return np.block(blocks)

    def solved(self) -> tuple[Point, Array]:
        """Return the point at the end, and its auxiliary acceleration."""
        old, n = self.old, self.system.n
        first = np.concatenate((self.a, old.lam, old.s, np.zeros(len(self.P0))))
        scales = newton_scales(old, self.h)
        of_eta = scales[:n].max(initial=1.0) / (float(np.abs(self.P0).max(initial=0.0)) or 1.0)
        scale = np.concatenate((scales, scale_of(old.s), np.full(len(self.P0), of_eta)))
        added = np.zeros(len(first))
        added[:n] = np.maximum(np.abs(old.q), 1.0) / self.c_q
        assert self.steps.newton is not None
        x = self.steps.newton.solve(self.residual, self.matrix, first, scale, self.t, added)
        (a, lam, s, _), (q, v, new) = self.split(x), self.state(x)
        return Point(self.t, q, v, a, lam, s, self.steps.dynamics.state_rates(q, v, self.t, s)), new


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


class Structural(DAEMethod):
    """What both methods of structural dynamics have in common: options, and their checks."""

    solver: Solver
    index: int
    redundant = False
    leaves_out = True
    fixed_orders = Orders(2, 2, 2, 2)
    carries = 2
    exact_end = False

    @property
    def depth(self) -> int:
        """Points before the present one that the estimate needs."""
        return 1 if self.adaptive else 0

    def check_options(self) -> None:
        """Raise InputError for an option out of range."""
        check_solver(f"solver of {type(self).__name__}", self.solver)
        demand_whole(f"index of {type(self).__name__}", self.index, 2, 3)
        self.check_tolerances()


@dataclass(frozen=True)
class HHT(Structural):
    """Method of Hilber, Hughes and Taylor: Phi = 0 at the end of each step, at index 2 Phid = 0 too.

    It is a generalised-alpha method with alpha_m = 0, alpha_f = -alpha, gamma = (1 - 2 alpha) / 2 and
    beta = (1 - alpha)^2 / 4. Dependent rows are left out. Source: METHODS 1.18.

    Parameters
    ----------
    alpha : float, default -0.1
        Damping of high frequencies, -1/3 to -0.01.
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.
    index : int, default 3
        3 for Phi = 0 alone; 2 for the stabilised index-2 form, in which Phid = 0 as well.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s. The method then chooses its steps by the terms that
        Newmark's formulas leave out. Fixed steps unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

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
    index: int = 3
    rtol: float | None = None
    atol: float | None = None

    def __post_init__(self) -> None:
        demand_between("alpha of HHT", self.alpha, -1.0 / 3.0, -0.01)
        self.check_options()

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return AlphaFamily(0.0, -self.alpha, (1.0 - self.alpha) ** 2 / 4.0).steps(motion, self)


@dataclass(frozen=True)
class GeneralisedAlpha(Structural):
    """Generalised-alpha method of Chung and Hulbert: Phi = 0 at the end of each step, at index 2 Phid = 0 too.

    At index 3 rates violate Phid by the error of the method. Dependent rows are left out. Source: METHODS 1.18; Arnold
    and Bruels 2007; at index 2 Arnold, Bruels and Cardona, Numer. Math. 129 (2015) 149.

    Parameters
    ----------
    rho_inf : float, default 0.8
        Spectral radius at infinite frequency, 0 to 0.99.
    solver : Solver, default DenseSolver
        Class of ``rtmbs.numerics.linear`` that factors Newton's matrix.
    index : int, default 3
        3 for Phi = 0 alone; 2 for the stabilised index-2 form, in which Phid = 0 as well.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s. The method then chooses its steps by the terms that
        Newmark's formulas leave out. Fixed steps unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

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
    index: int = 3
    rtol: float | None = None
    atol: float | None = None

    def __post_init__(self) -> None:
        demand_between("rho_inf of GeneralisedAlpha", self.rho_inf, 0.0, 0.99)
        self.check_options()

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        r = self.rho_inf
        alpha_m, alpha_f = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
        return AlphaFamily(alpha_m, alpha_f, (1.0 + alpha_f - alpha_m) ** 2 / 4.0).steps(motion, self)

"""Newton's iteration with a matrix that is kept while it contracts, and control of the step size, for all methods here.

The loop stands alone beside ``converged`` of ``numerics/linear/least_change.py``, which trusts corrections of a matrix
made at the iterate: here the matrix belongs to another state, so its contraction judges the end. Where laws may bend no
contraction does (METHODS 1.11): the last correction itself is small, or it is rounding. Step-size control is
error norm, PI controller and first step. Sources: Gustafsson, ACM TOMS 17 (1991) 533, for the PI controller; Hairer,
Norsett and Wanner, Solving Ordinary Differential Equations I, II.4, for the norm (4.11) and the first step; Hairer and
Wanner II, IV.8, for the dead band.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Counts, MotionError, Point
from rtmbs.formulations.augmented_system import Solver
from rtmbs.formulations.contract import ConstrainedSystem, SystemWrapper
from rtmbs.integrators.newton import BENT
from rtmbs.numerics.linear.solver import DenseSolver, LinearSolver

Array = NDArray[np.float64]
SAFETY = 0.9  # of a step that would just reach the tolerance
INTEGRAL, PROPORTIONAL = 0.7, 0.4  # exponents of the last two errors, over the order of the estimate
SMALLEST, LARGEST = 0.2, 5.0  # change of a step
FAILED = 0.25  # change of a step without an answer
BAND = 1.2  # growth that is not worth a new matrix of Newton
LEAST_ERROR = 1e-6  # of the tolerance: less counts as this


@dataclass(frozen=True)
class Tolerances:
    """Relative and absolute tolerance of the local error of q, v and s."""

    rtol: float
    atol: float

    def norm(self, estimate: Array, old: Point, new: Point) -> float:
        """Return the root mean square of an estimate (2n + ns,) in tolerances; infinite where it is no number."""
        size = np.maximum(np.abs(values_of(old)), np.abs(values_of(new)))
        with np.errstate(all="ignore"):
            found = rms(estimate / (self.atol + self.rtol * size))
        return found if np.isfinite(found) else np.inf


@dataclass
class StepControl:
    """PI controller of one run; ``order`` k belongs to an estimate of size O(h^k).

    ``growth`` bounds the growth of a step, as formulas of several steps need it. ``steady``: small growth is left out,
    so that a Newton matrix stays.
    """

    order: int
    growth: float = LARGEST
    steady: bool = False
    before: float = 1.0  # error of the last accepted step, in tolerances
    refused: bool = False  # the last trial was rejected

    def accepted(self, h: float, error: float) -> float:
        """Return the next step [s] after an accepted one."""
        error = max(error, LEAST_ERROR)
        factor = SAFETY * error ** (-INTEGRAL / self.order) * self.before ** (PROPORTIONAL / self.order)
        factor = min(max(factor, SMALLEST), self.growth)
        if self.refused:  # no growth right after a rejection
            factor = min(factor, 1.0)
        elif self.steady and 1.0 <= factor < BAND:
            factor = 1.0
        self.before, self.refused = error, False
        return h * factor

    def rejected(self, h: float, error: float) -> float:
        """Return a shorter step [s] after a rejected one; ``error`` is infinite where there was no answer."""
        self.refused = True
        if not np.isfinite(error):
            return h * FAILED
        return h * min(max(SAFETY * error ** (-1.0 / self.order), SMALLEST), SAFETY)


def values_of(point: Point) -> Array:
    """Return q, v and s (2n + ns,) of a point."""
    return np.concatenate((point.q, point.v, point.s))


def slopes_of(point: Point) -> Array:
    """Return v, a and sd (2n + ns,) of a point."""
    return np.concatenate((point.v, point.a, point.sd))


def rms(x: Array) -> float:
    """Return the root mean square of an array; 0 of an empty one."""
    return float(np.sqrt(np.mean(x**2))) if len(x) else 0.0


def first_step(
    start: Point, tolerances: Tolerances, order: int, longest: float, slopes: Callable[[float], Array | None]
) -> float:
    """Return a first step [s]; ``slopes(h)`` are those of an Euler step, or None where there are none."""
    values, slope = values_of(start), slopes_of(start)
    weight = tolerances.atol + tolerances.rtol * np.abs(values)
    d0, d1 = rms(values / weight), rms(slope / weight)
    h = 1e-6 * longest if min(d0, d1) < 1e-5 else 0.01 * d0 / d1
    h = min(h, longest)
    there = slopes(h)
    if there is None:
        return h
    d2 = rms((there - slope) / weight) / h
    most = max(d1, d2)
    best = max(1e-6 * longest, 1e-3 * h) if most <= 1e-15 else (0.01 / most) ** (1.0 / order)
    return min(100.0 * h, best, longest)


TOLERANCE = 1e-13  # of a correction, in terms of the scale of its unknown
ROUNDING = 1e-9  # likewise, of a correction that no longer shrinks
NOISE = 10.0  # times the change that rounding of the equations makes: corrections as small are rounding
SIGNS = np.array([1.0, -1.0, -1.0])  # in turn, of the rounding of the equations
CONTRACTION = 0.2  # of corrections: a kept matrix that does less is made anew
KEPT_ITERATIONS = 12
ITERATIONS = 25


class Newton:
    """The iteration of one run, its matrix factored by ``solver``, a class of ``rtmbs.numerics.linear``.

    ``may_bend``: slopes of the equations change with the motion, perhaps at once. Rates of earlier corrections then
    tell nothing of those still to come: up to J / M - 1 times the last one (``integrators.newton.sure_below``).
    """

    def __init__(self, counts: Counts, who: str, solver: Solver = DenseSolver, may_bend: bool = False) -> None:
        self.counts, self.who, self.solver, self.may_bend = counts, who, solver, may_bend
        self.enough = BENT * TOLERANCE if may_bend else TOLERANCE
        self.matrix: LinearSolver | None = None
        self.added: Array | float = 0.0
        self.sizes = np.zeros((0, 0))  # (k, k) of the entries of the matrix

    def kept(self) -> tuple[LinearSolver | None, Array]:
        """Return what the iteration keeps from step to step."""
        return self.matrix, self.sizes

    def put_back(self, kept: tuple[LinearSolver | None, Array]) -> None:
        """Set what was kept at an earlier step."""
        self.matrix, self.sizes = kept

    def solve(
        self, residual: Callable[[Array], Array], matrix: Callable[[Array], Array], x: Array, scale: Array, t: float,
        added: Array | float = 0.0,
    ) -> Array:  # fmt: skip
        """Return x (k,) with residual(x) = 0 from a first x; ``scale`` (k,) are the sizes of the unknowns.

        The equations look at x plus ``added`` (k,), as at positions over h^2 where accelerations are unknown: this sum
        rounds as its larger part does. Raises MotionError for a matrix without inverse, or corrections that do not
        shrink.
        """
        self.added = added
        if self.matrix is not None:
            found, done = self.iterate(residual, x, scale, fresh=False)
            if done:
                return found
        for _ in range(ITERATIONS):
            self.factor(matrix(x), t)
            x, done = self.iterate(residual, x, scale, fresh=True)
            if done:
                return x
            if not np.all(np.isfinite(x)):
                break
        raise MotionError(f"Newton of {self.who} does not converge at t = {t:g}; take a shorter step than this one")

    def iterate(self, residual: Callable[[Array], Array], x: Array, scale: Array, fresh: bool) -> tuple[Array, bool]:
        """Return the last x, and whether it solves the equations.

        A fresh matrix may end in rounding, and one of laws that may bend, where rounding is what ``noise`` says.
        """
        assert self.matrix is not None
        before = np.inf
        for _ in range(KEPT_ITERATIONS):
            self.counts.iterations += 1
            step = self.matrix.solve(residual(x))
            size = float(np.abs(step / scale).max(initial=0.0))
            x = x - step
            if not np.isfinite(size):
                return x, False
            slow, left = size >= CONTRACTION * before, size * min(size / before, 1.0)  # before inf at first: left is 0
            contracts = np.isfinite(before) and not slow and left <= TOLERANCE
            if size <= self.enough or (contracts and not self.may_bend):
                return x, True
            small = size <= ROUNDING and not self.may_bend
            if slow and (fresh or self.may_bend) and (small or size <= NOISE * self.noise(x, scale)):
                return x, True
            if slow:
                return x, False
            before = size
        return x, False

    def noise(self, x: Array, scale: Array) -> float:
        """Return the largest change of x (k,) that rounding of the equations makes, in terms of its scale."""
        assert self.matrix is not None
        rounding = np.finfo(np.float64).eps * (self.sizes @ (np.abs(x) + self.added))
        changes = [self.matrix.solve(signs * rounding) for signs in (1.0, np.resize(SIGNS, len(x)))]
        return max(float(np.abs(change / scale).max(initial=0.0)) for change in changes)

    def factor(self, A: Array, t: float) -> None:
        """Factor a matrix (k, k); raises MotionError for a singular one."""
        self.counts.factorisations += 1
        if not np.all(np.isfinite(A)):
            raise MotionError(f"the Newton matrix of {self.who} is not finite at t = {t:g}; take a shorter step")
        self.matrix, self.sizes = self.solver.of(A), np.abs(A)
        if self.matrix.factor(A):
            raise MotionError(f"the Newton matrix of {self.who} is singular at t = {t:g}; no coordinate may be loose")


def may_bend(system: ConstrainedSystem) -> bool:
    """Return whether slopes of a system may change at once; of functions of the user nothing else is known."""
    while isinstance(system, SystemWrapper):
        system = system.system
    return bool(getattr(getattr(system, "equations", None), "may_bend", True))


def scale_of(*parts: Array) -> Array:
    """Return scales for stacked unknowns: of each part its largest value, or 1."""
    return np.concatenate([np.full(len(part), max(1.0, float(np.abs(part).max(initial=0.0)))) for part in parts])


def constraint_scales(Phi_q: Array, v: Array, a: Array, h: float) -> tuple[Array, Array]:
    """Return scales (m,) of mu and tau: Phi_q^T mu is a rate, Phi_q^T tau an acceleration."""
    rate = max(1.0, float(np.abs(v).max(initial=0.0)) + h * float(np.abs(a).max(initial=0.0)))
    size = float(np.abs(Phi_q).max(initial=0.0)) or 1.0
    acceleration = max(1.0, float(np.abs(a).max(initial=0.0)))
    return np.full(len(Phi_q), rate / size), np.full(len(Phi_q), acceleration / size)

"""Step-size control of all methods of this room: error norm, PI controller, first step.

Sources: Gustafsson, ACM TOMS 17 (1991) 533, for the PI controller; Hairer, Norsett and Wanner, Solving Ordinary
Differential Equations I, II.4, for the norm (4.11) and the first step; Hairer and Wanner II, IV.8, for the dead band.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Point

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

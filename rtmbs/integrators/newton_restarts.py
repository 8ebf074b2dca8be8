"""Further tries of a step whose Newton iteration fails, readable: damped, from other starts (METHODS 1.11).

``semirecursive/newton_restarts.py`` is the same fused; a contract test holds the two together.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.base import NotFinite, SingularTangent, StepEquations
from rtmbs.integrators.newton import (
    ACCEPT,
    BISECTIONS,
    FLAT,
    MOST_BY_SLOPE,
    MOST_EVALUATIONS,
    SHORTEST,
    contraction_rate,
    descends,
    shorter,
    too_far,
    verdict,
)
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import (
    EVALUATIONS,
    FIRST_CORRECTION,
    FOLLOWED,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    LAGGED,
    RESTING,
    SHORTENED,
    STEADY,
    TRIES,
    TRY_START,
    TRY_TERMS,
    Settings,
    StateArrays,
)

Array = NDArray[np.float64]


class Trying(Protocol):
    """The step that is tried again."""

    equations: StepEquations
    settings: Settings
    stats: Array
    lam: Array

    def iterate_at(self, increment: Array, old: StateArrays) -> tuple[Array, Array, Array]: ...
    def residual(self, increment: Array, old: StateArrays) -> Array: ...
    def fresh_correction(self, f: Array, terms: int, old: StateArrays) -> Array: ...
    def correction_norm(self, dz: Array, increment: Array) -> float: ...


class Damped:
    """One further try of ``step`` from ``old``; the multipliers of its last linear solution go to ``step.lam``."""

    def __init__(self, step: Trying, old: StateArrays, number: int) -> None:
        self.step, self.old, self.terms = step, old, TRY_TERMS[number - 1]
        self.lam: Array = old.lam.copy()  # those of the increment that is tried
        self.last: Array | None = None  # correction that was found last, at ``tried``
        h, start = step.settings.h, TRY_START[number - 1]
        self.increment: Array = h * old.zd + (0.0 if start == STEADY else 0.5 * h**2 * old.zdd)
        if start == RESTING:
            self.increment = np.zeros_like(old.z)
        self.tried: Array = self.increment
        step.stats[TRIES] = number
        restart(step.stats)

    def take(self, most: int) -> bool:
        """Take a share of a correction when the one found behind it is shorter; True when Newton's test is met.

        The readable form of ``semirecursive.damped_tries``. Shares are judged by the next correction, which costs a
        factor, because the residual of a stiff penalty says little; every other loop with shares looks at residuals.
        """
        step, stats = self.step, self.step.stats
        share, norm, previous = 1.0, np.inf, 0.0
        base, way, lam_base, lam_way = self.increment, self.increment, self.lam, self.lam
        for _ in range(most):
            dz, found = self.correction(step.residual(self.increment, self.old))
            if descends(found, norm, share):
                previous, norm = norm if share == 1.0 and np.isfinite(norm) else 0.0, found
                step.lam = step.equations.multipliers(dz)
                if self.small_enough(norm, previous):
                    return self.arrive(dz)
                base, way, lam_base, lam_way = self.increment, self.added(dz), self.lam, step.lam
                share = min(1.0, 2.0 * share)
            elif np.isfinite(norm):
                stats[SHORTENED] += 1
                share = shorter(share, found, norm)
            if not np.isfinite(norm) or share < SHORTEST:
                return False
            self.increment, self.lam = base + share * way, lam_base + share * (lam_way - lam_base)
        return False

    def take_by_slope(self) -> bool:
        """Go the whole way unless the work of the residual changes its sign on it, then to where it is small."""
        step, stats = self.step, self.step.stats
        before, previous, f = stats[EVALUATIONS], 0.0, step.residual(self.increment, self.old)
        for _ in range(MOST_EVALUATIONS):
            dz, norm = self.correction(f)
            if not np.isfinite(norm):
                return False
            step.lam = step.equations.multipliers(dz)
            if self.small_enough(norm, previous):
                return self.arrive(dz)
            if stats[EVALUATIONS] - before > MOST_BY_SLOPE - BISECTIONS:
                return False
            share, f = self.walk_down(self.added(dz), f)
            previous = norm if share == 1.0 else 0.0
        return False

    def walk_down(self, way: Array, f: Array) -> tuple[float, Array]:
        """Go along the correction until the work on it is FLAT; return the share and the residual there."""
        base, first, low, high, share = self.increment, float(way @ -f), 0.0, 1.0, 1.0
        for _ in range(BISECTIONS):
            self.increment = base + share * way
            f = self.step.residual(self.increment, self.old)
            slope = float(way @ -f)
            if (share == 1.0 and slope * first >= 0.0) or abs(slope) <= FLAT * abs(first):
                return share, f
            low, high = (share, high) if slope * first >= 0.0 else (low, share)
            self.step.stats[SHORTENED] += 1
            share = 0.5 * (low + high)
        return 0.0, f

    def small_enough(self, norm: float, previous: float) -> bool:
        """Note a correction; True when Newton's test is met (``previous`` 0 without a whole correction before)."""
        stats = self.step.stats
        stats[FIRST_CORRECTION + int(stats[ITERATIONS])] = norm
        stats[ITERATIONS] += 1
        return bool(verdict(2 if previous > 0.0 else 1, norm, contraction_rate(norm, previous), 0) == ACCEPT)

    def correction(self, f: Array) -> tuple[Array, float]:
        """Return the correction for a residual by a factor of its own, and its scaled norm, infinite without one.

        FOLLOWED terms are those of LAGGED with the accelerations and multipliers of the iterate.
        """
        step, here, terms = self.step, self.old, self.terms
        self.tried, self.last = self.increment, None
        if terms == FOLLOWED:
            zs = dict(zip(("z", "zd", "zdd"), step.iterate_at(self.increment, self.old), strict=True))
            here = self.old._replace(**zs, lam=self.lam)
            terms = LAGGED
        try:
            dz = step.fresh_correction(f, terms, here)
        except (SingularTangent, NotFinite):
            return f, np.inf
        self.last = dz
        norm = step.correction_norm(dz, self.increment + dz)
        return dz, (norm if np.isfinite(norm) else np.inf)

    def at_last(self) -> tuple[Outcome, Array]:
        """Take the correction that was found last anyhow, and say that it was not enough."""
        if self.last is None:
            raise SingularTangent("the last of the fixed iterations found no correction")
        self.step.lam = self.step.equations.multipliers(self.last)
        return Outcome.UNFINISHED, self.tried + self.added(self.last)

    def added(self, dz: Array) -> Array:
        """Return what the correction ``dz`` found at the last evaluation adds to the increment (n,)."""
        return self.step.equations.corrected(np.zeros_like(dz), dz)

    def arrive(self, dz: Array) -> bool:
        """Take the last correction; True when it ends in the neighbourhood of the predictor."""
        step, settings, old = self.step, self.step.settings, self.old
        self.increment = self.increment + self.added(dz)
        if too_far(settings.h, self.increment, old.zd, old.zdd, settings.typical):
            return False
        step.stats[ITERATIONS_TO_TOLERANCE] = step.stats[ITERATIONS]
        return True


def restart(stats: Array) -> None:
    """Forget the corrections of the tries before, not their number and their work."""
    stats[ITERATIONS_TO_TOLERANCE] = stats[ITERATIONS] = 0.0
    stats[FIRST_CORRECTION:] = 0.0

"""Further tries of a step whose Newton iteration fails, readable: damped, from other starts (METHODS 1.11).

``semirecursive/step.py: try_again`` is the same fused; a contract test holds the two together.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.base import Equations, NotFinite, SingularTangent
from rtmbs.integrators.newton import (
    ACCEPT,
    RESTING,
    SHORTEST,
    STEADY,
    TRY_START,
    TRY_TERMS,
    contraction_rate,
    descends,
    scaled_norm,
    shorter,
    too_far,
    verdict,
)
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import (
    ENOUGH,
    FIRST_CORRECTION,
    FOLLOWED,
    ITERATIONS,
    LAGGED,
    SHORTENED,
    TRIES,
    Settings,
    StateArrays,
)

Array = NDArray[np.float64]


class Trying(Protocol):
    """The step that is tried again."""

    equations: Equations
    settings: Settings
    record: Array
    lam: Array

    def iterate(self, increment: Array, old: StateArrays) -> tuple[Array, Array, Array]: ...
    def residual(self, increment: Array, old: StateArrays) -> Array: ...
    def fresh_correction(self, f: Array, terms: int, old: StateArrays) -> Array: ...


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
        step.record[TRIES] = number
        restart(step.record)

    def take(self, most: int) -> bool:
        """Take a share of a correction when the one found behind it is shorter; True when Newton's test is met."""
        step, settings, record = self.step, self.step.settings, self.step.record
        share, norm, previous = 1.0, np.inf, 0.0
        base, way, lam_base, lam_way = self.increment, self.increment, self.lam, self.lam
        for _ in range(most):
            dz, found = self.correction()
            if descends(found, norm, share):
                previous, norm = norm if share == 1.0 and np.isfinite(norm) else 0.0, found
                record[FIRST_CORRECTION + int(record[ITERATIONS])] = norm
                record[ITERATIONS] += 1
                step.lam = step.equations.multipliers(dz)
                if verdict(2 if previous > 0.0 else 1, norm, contraction_rate(norm, previous), 0) == ACCEPT:
                    return self.arrive(dz)
                base, way, lam_base, lam_way = self.increment, dz, self.lam, step.lam
                share = min(1.0, 2.0 * share)
            elif np.isfinite(norm):
                record[SHORTENED] += 1
                share = shorter(share, found, norm)
            if not np.isfinite(norm) or share < SHORTEST:
                return False
            self.increment, self.lam = base + share * way, lam_base + share * (lam_way - lam_base)
        return False

    def correction(self) -> tuple[Array, float]:
        """Return the correction by a factor of its own and its scaled norm, infinite when there is none.

        FOLLOWED terms are those of LAGGED with the accelerations and multipliers of the iterate.
        """
        step, settings, here, terms = self.step, self.step.settings, self.old, self.terms
        f, self.tried, self.last = step.residual(self.increment, self.old), self.increment, None
        if terms == FOLLOWED:
            here = StateArrays(*step.iterate(self.increment, self.old), self.lam, self.old.R0)
            terms = LAGGED
        try:
            dz = step.fresh_correction(f, terms, here)
        except (SingularTangent, NotFinite):
            return f, np.inf
        self.last = dz
        norm = float(scaled_norm(dz, self.increment + dz, settings.absolute, settings.relative))
        return dz, (norm if np.isfinite(norm) else np.inf)

    def at_last(self) -> tuple[Outcome, Array]:
        """Take the correction that was found last anyhow, and say that it was not enough."""
        if self.last is None:
            raise SingularTangent("the last of the fixed iterations found no correction")
        self.step.lam = self.step.equations.multipliers(self.last)
        return Outcome.UNFINISHED, self.tried + self.last

    def arrive(self, dz: Array) -> bool:
        """Take the last correction; True when it ends in the neighbourhood of the predictor."""
        step, settings, old = self.step, self.step.settings, self.old
        self.increment = self.increment + dz
        if too_far(settings.h, self.increment, old.zd, old.zdd, settings.typical):
            return False
        step.record[ENOUGH] = step.record[ITERATIONS]
        return True


def restart(record: Array) -> None:
    """Forget the corrections of the tries before, not their number and their work."""
    record[ENOUGH] = record[ITERATIONS] = 0.0
    record[FIRST_CORRECTION:] = 0.0

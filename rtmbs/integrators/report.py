"""Report of a step: Outcome with its sentence for the user, counts, violations and cause of a failure."""

import math
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.notebook import number_text, table_html
from rtmbs.errors import with_count
from rtmbs.integrators import settings
from rtmbs.integrators.settings import (
    EVALUATIONS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    GIVEN,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    JACOBIANS,
    POSITION_VIOLATION,
    PROJECTIONS,
    RESIDUAL_TICKS,
    SHORTENED,
    TRIES,
    TRY_START,
    TRY_TERMS,
)

Array = NDArray[np.float64]

NO_PHASES: dict[str, float] = {}

TERM_WORDS = {
    settings.FOLLOWED: "damped, with accelerations and multipliers of the iterate",
    settings.PAPER: "damped, tangent of Eq. 17",
    settings.INERTIA: "damped by slopes",
}
START_WORDS = ("constant accelerations", "constant rates", "rest")
START_NAMES = tuple(START_WORDS[start] for start in TRY_START)
TERM_NAMES = tuple(TERM_WORDS[terms] for terms in TRY_TERMS)


class Outcome(Enum):
    """Outcome of a step. ``value`` is the sentence for the user."""

    CONVERGED = "the step converged"
    UNFINISHED = "the fixed iterations ended before Newton's test was met; the step was taken with what was left"
    UNPROJECTED = (
        "the step was taken, but its projections ended before the velocities or accelerations of the loops met their "
        "bound; accelerations and reactions of this step may be wrong; look for a singular pose or a very light body"
    )
    NEAR_SINGULAR = (
        "the step was taken next to a singular pose, where loops lose a direction: rates and accelerations in that "
        "direction are those of the integrator, and reactions of this step may be wrong"
    )
    UNBALANCED = (
        "the step was taken, but multipliers of its loops miss their bound of 1 % of the largest; reactions of this "
        "step may be wrong; look for a singular pose or a stiff force, or take a smaller step h"
    )
    NOT_CONVERGED = "Newton's iteration did not converge; try a smaller step h, or look at what is named here"
    UNSOLVED = "the equations of motion have no solution at a stage of the step; look at what is named here"
    SINGULAR_TANGENT = "the Newton matrix is singular; look for a massless body that nothing holds, or a zero inertia"
    NOT_FINITE = "a number that is not finite, or beyond all range, appeared; look at what is named here"
    LOOP_OPEN = "the step converged but a loop stays open beyond its bound; raise the penalty or take a smaller step h"
    HALF_TURN = (
        "a bushing turned past half a turn, where its rotation vector jumps to the other side and its torque with it; "
        "let a joint carry large turns, and a TorsionSpring on its coordinate the torque"
    )

    @property
    def accepted(self) -> bool:
        """True when the state was advanced."""
        return self in TAKEN


TAKEN = frozenset(
    (Outcome.CONVERGED, Outcome.UNFINISHED, Outcome.UNPROJECTED, Outcome.UNBALANCED, Outcome.NEAR_SINGULAR)
)


def outcomes_of(stats: Array) -> dict[Outcome, int]:
    """Return the number of accepted steps by Outcome, from their stats (k, STATS_SIZE)."""
    if all_converged(stats):
        return {Outcome.CONVERGED: len(stats)} if len(stats) else {}
    unfinished = unfinished_steps(stats)
    near = (stats[:, settings.NEAR_SINGULAR] > 0.0) & ~unfinished
    missed = np.where(unfinished | near, settings.NOTHING, stats[:, settings.LEFT])
    counts = {
        Outcome.CONVERGED: np.count_nonzero(~unfinished & ~near & (missed == settings.NOTHING)),
        Outcome.UNFINISHED: np.count_nonzero(unfinished),
        Outcome.UNPROJECTED: np.count_nonzero(missed == settings.LOOPS),
        Outcome.UNBALANCED: np.count_nonzero(missed == settings.FORCES),
        Outcome.NEAR_SINGULAR: np.count_nonzero(near),
    }
    return {outcome: int(count) for outcome, count in counts.items() if count}


def all_converged(stats: Array) -> bool:
    """Return whether every accepted step with these stats (k, STATS_SIZE) converged in all it did."""
    left_or_singular = stats[:, settings.LEFT].any() or stats[:, settings.NEAR_SINGULAR].any()
    return not left_or_singular and not unfinished_steps(stats).any()


def unfinished_steps(stats: Array) -> NDArray[np.bool_]:
    """Return a mask of the accepted steps whose iterations ended before Newton's test; explicit ones have none."""
    return np.asarray((stats[:, settings.ITERATIONS_TO_TOLERANCE] == 0.0) & (stats[:, ITERATIONS] > 0.0))


def doubtful_steps(stats: Array) -> Array:
    """Return 1 for every accepted step with these stats (k, STATS_SIZE) that did not converge in all it did, else 0."""
    if all_converged(stats):
        return np.zeros(len(stats))
    unfinished = unfinished_steps(stats)
    return np.asarray(
        unfinished | (stats[:, settings.LEFT] > 0.0) | (stats[:, settings.NEAR_SINGULAR] > 0.0), np.float64
    )


class StepReport(NamedTuple):
    """Counts and sizes of one step; translation rows in m, rotation rows under ``*_rotation`` (dimensionless).

    Parameters
    ----------
    outcome : Outcome
        How the step ended.
    t : float
        Time at the end of the step [s].
    iterations : int, default 0
        Newton iterations.
    iterations_to_tolerance : int, default 0
        Iterations after which Newton's test was first met; 0 when it was not.
    tries : int, default 0
        Further tries that were begun after the plain iteration failed.
    shortened : int, default 0
        Corrections of further tries that were taken back and tried shorter.
    evaluations : int, default 0
        Residuals evaluated, all tries together.
    parts : int, default 1
        Equal parts that the step was taken in.
    jacobians : int, default 0
        Newton matrices evaluated.
    factorisations : int, default 0
        Newton matrices factored.
    projections : int, default 0
        Projection iterations, velocity and acceleration together.
    corrections : tuple[float, ...], optional
        Scaled Newton corrections of the last try, one an iteration.
    position_violation : float, default 0.0
        Largest |Phi| of translation rows [m].
    velocity_violation : float, default 0.0
        Largest |Phid| after projection [m/s].
    acceleration_violation : float, default 0.0
        Largest |Phidd| after projection [m/s^2].
    position_violation_rotation : float, default 0.0
        Largest |Phi| of rotation rows [1].
    velocity_violation_rotation : float, default 0.0
        Largest |Phid| of rotation rows [1/s].
    acceleration_violation_rotation : float, default 0.0
        Largest |Phidd| of rotation rows [1/s^2].
    energy_given : float, default 0.0
        Sum of sizes of the energy that the balance gave to loops or took from them [J].
    dense : bool, default False
        True when a pivot was too small, so that the pivoted dense factor was used.
    phases : Mapping[str, float], optional
        Time of each phase of the step [s].
    worst : tuple[str, ...], optional
        Names of drivers, laws, loops or coordinates at fault in a failed step.
    reason : str, optional
        Cause of the failure, as far as it can be measured.
    hopeless : bool, default False
        True when no smaller step helps.
    """

    outcome: Outcome
    t: float  # time the step went to [s]
    iterations: int = 0
    iterations_to_tolerance: int = 0  # iterations after which Newton's test was first met; 0: it was not
    tries: int = 0  # further tries that were begun, after the plain iteration failed
    shortened: int = 0  # corrections of further tries that were taken back and tried shorter
    evaluations: int = 0  # residuals evaluated, all tries together
    parts: int = 1  # equal parts that the step was taken in
    jacobians: int = 0
    factorisations: int = 0
    projections: int = 0  # projection iterations, velocity and acceleration together
    corrections: tuple[float, ...] = ()  # scaled Newton corrections, one an iteration, of the try that counts
    position_violation: float = 0.0  # max |Phi| [m]
    velocity_violation: float = 0.0  # max |Phid| after projection [m/s]
    acceleration_violation: float = 0.0  # max |Phidd| after projection [m/s^2]
    position_violation_rotation: float = 0.0
    velocity_violation_rotation: float = 0.0
    acceleration_violation_rotation: float = 0.0
    energy_given: float = 0.0  # what the balance of energy gave to loops or took from them, as the sum of its sizes [J]
    dense: bool = False  # a pivot was too small, so the pivoted dense factor was used
    phases: Mapping[str, float] = NO_PHASES  # seconds by phase
    worst: tuple[str, ...] = ()  # drivers, laws, loops or coordinates that the failed step is known by
    reason: str = ""  # why the step failed, as far as that can be measured
    hopeless: bool = False  # True when no smaller step helps: a driver wants what its loops cannot reach

    @property
    def advice(self) -> str:
        """The sentence of the outcome; without the advice of a smaller step where none would help."""
        return self.outcome.value.split(";")[0] if self.hopeless else self.outcome.value

    @property
    def tried(self) -> tuple[str, ...]:
        """Further tries after the plain iteration failed, in order; in a step that was taken the last one helped."""
        return tuple(f"{TERM_NAMES[k]}, from {START_NAMES[k]}" for k in range(self.tries))

    @property
    def error_estimate(self) -> float:
        """Estimate of the corrections still to come, theta / (1 - theta) e with e the last and theta its rate.

        In units of the tolerance, accepted up to 0.1; infinite when the iteration did not contract. A correction at
        rounding contracts no more, and is itself the estimate. A kink of a force law behind the last correction is in
        no rate: a step that may have one is UNFINISHED at a small estimate too (METHODS 1.11).
        """
        if len(self.corrections) < 2:
            return self.corrections[0] if self.corrections else math.inf
        before, last = self.corrections[-2:]
        if last <= settings.SMALL_FIRST:
            return last
        return last * last / (before - last) if last < before else math.inf

    def __repr__(self) -> str:
        counts = {"iteration": self.iterations, "projection": self.projections}
        parts = [with_count(count, what) for what, count in counts.items() if count or what == "iteration"]
        parts[1:1] = [with_count(self.tries, "further try", "further tries")] if self.tries else []
        if self.outcome.accepted:
            parts.append(f"loops open by {max(self.position_violation, self.position_violation_rotation):.1e}")
        parts += [f"at fault: {', '.join(self.worst)}"] if self.worst else []
        return f"StepReport({self.outcome.name}, t = {self.t:.6g} s: {', '.join(parts)})"

    def __str__(self) -> str:
        names = f" ({', '.join(self.worst)})" if self.worst else ""
        helped = f", after {self.tries} further tries: {self.tried[-1]}" if self.tries and self.outcome.accepted else ""
        parts = f", in {self.parts} parts" if self.parts > 1 else ""
        return f"t = {self.t:.6g} s: {self.outcome.value}{names}; {self.iterations} iterations{helped}{parts}"

    def _repr_html_(self) -> str:
        """Return the counts and sizes of the step as a table for notebooks; zeros are left out."""
        rows = []
        for name, value in zip(self._fields[2:], self[2:], strict=True):
            if value and name not in ("phases", "worst"):
                text = str(value) if isinstance(value, str | bool | int) else number_text(value)
                rows.append((name.replace("_", " "), text))
        return table_html(str(self), ("count or size", "value"), rows)


def report_of(
    stats: Array, outcome: Outcome, t: float, unit: float = 1.0, dense: bool = False, worst: tuple[str, ...] = ()
) -> StepReport:
    """Turn the stats (STATS_SIZE,) of a step to ``t`` into its report; ``unit`` is the length of a phase unit [s]."""
    found = stats.tolist()
    iterations, first = int(found[ITERATIONS]), RESIDUAL_TICKS
    phases = {
        "residual": found[first] * unit, "tangent": found[first + 1] * unit, "factor": found[first + 2] * unit,
        "solve": found[first + 3] * unit, "projection": found[first + 4] * unit,
    }  # fmt: skip
    values = (  # in the order of the fields: every step of a loop in Python makes one
        outcome, t, iterations, int(found[ITERATIONS_TO_TOLERANCE]), int(found[TRIES]), int(found[SHORTENED]),
        int(found[EVALUATIONS]), 1, int(found[JACOBIANS]), int(found[FACTORISATIONS]), int(found[PROJECTIONS]),
        tuple(found[FIRST_CORRECTION : FIRST_CORRECTION + iterations]),
        *found[POSITION_VIOLATION : POSITION_VIOLATION + 6], found[GIVEN], dense, phases, worst, "", False,
    )  # fmt: skip
    return tuple.__new__(StepReport, values)

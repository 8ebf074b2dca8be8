"""What a step answers: an Outcome whose members carry the sentence the user reads, and the counts behind it."""

import math
from dataclasses import dataclass, field
from enum import Enum

from rtmbs.integrators.settings import SMALL_FIRST


class Outcome(Enum):
    """How a step ended. ``value`` is the sentence for the user."""

    CONVERGED = "the step converged"
    UNFINISHED = "the fixed iterations ended before Newton's test was met; the step was taken with what was left"
    NOT_CONVERGED = "Newton's iteration did not converge; try a smaller step h, or look at what is named here"
    SINGULAR_TANGENT = "the Newton matrix is singular; look for a massless body that nothing holds, or a zero inertia"
    NOT_FINITE = "a number that is not finite, or beyond all range, appeared; look at what is named here"
    LOOP_OPEN = "the step converged but a loop stays open beyond its bound; raise the penalty or take a smaller step h"

    @property
    def good(self) -> bool:
        """True when the state was advanced."""
        return self is Outcome.CONVERGED or self is Outcome.UNFINISHED


@dataclass(frozen=True, slots=True)
class StepReport:
    """Counts and sizes of one step; translation rows in m, rotation rows under ``*_rotation`` (dimensionless)."""

    outcome: Outcome
    t: float  # time the step went to [s]
    iterations: int = 0
    enough: int = 0  # iterations after which Newton's test was first met; 0: it was not
    jacobians: int = 0
    factorisations: int = 0
    sweeps: int = 0  # projection sweeps, velocity and acceleration together
    corrections: tuple[float, ...] = ()  # scaled Newton corrections, one an iteration
    position_violation: float = 0.0  # max |Phi| [m]
    velocity_violation: float = 0.0  # max |Phid| after projection [m/s]
    acceleration_violation: float = 0.0  # max |Phidd| after projection [m/s^2]
    position_violation_rotation: float = 0.0
    velocity_violation_rotation: float = 0.0
    acceleration_violation_rotation: float = 0.0
    dense: bool = False  # a pivot was too small, so the pivoted dense factor was used
    phases: dict[str, float] = field(default_factory=dict)  # seconds by phase
    culprits: tuple[str, ...] = ()  # joints or forces with the largest residual, when the step failed

    @property
    def remainder(self) -> float:
        """Estimate of the corrections still to come, theta / (1 - theta) e with e the last and theta its rate.

        In units of the tolerance, accepted up to 0.1; infinite when the iteration did not contract. A correction at
        rounding contracts no more, and is itself the estimate.
        """
        if len(self.corrections) < 2:
            return self.corrections[0] if self.corrections else math.inf
        before, last = self.corrections[-2:]
        if last <= SMALL_FIRST:
            return last
        return last * last / (before - last) if last < before else math.inf

    def __str__(self) -> str:
        names = f" ({', '.join(self.culprits)})" if self.culprits else ""
        return f"t = {self.t:.6g} s: {self.outcome.value}{names}; {self.iterations} iterations"

"""Errors and warnings of a motion."""

from typing import Any

from rtmbs.errors import RtmbsError, RtmbsWarning
from rtmbs.integrators.report import Outcome


class MotionError(RtmbsError):
    """A step failed, or the motion is no longer finite.

    ``trajectory`` is the motion up to there, ``outcome`` what a Simulation reports of such a step.
    """

    trajectory: Any = None

    def __init__(self, message: str, outcome: Outcome = Outcome.NOT_CONVERGED) -> None:
        super().__init__(message)
        self.outcome = outcome


class GainWarning(RtmbsWarning):
    """Gains of a stabilised formulation that the method does not bear at this step."""

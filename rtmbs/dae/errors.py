"""What ends a motion early."""

from typing import Any

from rtmbs.errors import RtmbsError, RtmbsWarning


class MotionError(RtmbsError):
    """A step failed, or the motion is no longer finite. ``trajectory`` is the motion up to there."""

    trajectory: Any = None


class GainWarning(RtmbsWarning):
    """Gains of a stabilised formulation that the method does not bear at this step."""

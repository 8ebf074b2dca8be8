"""Errors and warnings of a motion."""

from rtmbs.errors import MotionError, RtmbsWarning

__all__ = ["GainWarning", "MotionError"]


class GainWarning(RtmbsWarning):
    """Gains of a stabilised formulation that the method does not bear at this step."""

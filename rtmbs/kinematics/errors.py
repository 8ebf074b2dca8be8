"""Errors of a kinematic analysis that began: the Result so far is kept."""

from typing import Any

from rtmbs.errors import RtmbsError


class MotionError(RtmbsError):
    """No position was found at a time; ``t`` is that time, ``result`` the Motion up to the sample before."""

    result: Any = None

    def __init__(self, message: str, t: float, worst: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.t, self.worst = t, worst

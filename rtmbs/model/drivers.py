"""A driver prescribes a joint coordinate, or the distance of two points, as a function of time."""

from dataclasses import dataclass

from rtmbs.model.joint import Joint
from rtmbs.model.markers import Marker
from rtmbs.model.profiles import Profile


@dataclass(frozen=True, eq=False)
class Driver:
    """What follows ``profile``: either a coordinate or a distance."""

    name: str
    profile: Profile
    joint: tuple[Joint, int] | None = None  # the joint and the number of its coordinate
    between: tuple[Marker, Marker] | None = None

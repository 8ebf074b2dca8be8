"""A driver prescribes something of a mechanism as a function of time.

A Simulation follows joint coordinates and distances; a kinematic analysis follows all four kinds.
"""

from dataclasses import dataclass

from rtmbs.model.body import Body
from rtmbs.model.joint import Joint
from rtmbs.model.markers import Marker
from rtmbs.model.profiles import Profile

# Coordinates of a body in the world, with units: its origin, and the angles of R = Rz(yaw) Ry(pitch) Rx(roll), where R
# turns body axes into world axes.
BODY_COORDINATES = {"x": "m", "y": "m", "z": "m", "yaw": "rad", "pitch": "rad", "roll": "rad"}
PLACES = ("x", "y", "z")  # first coordinates of a floating joint
MARKER_AXES = ("f", "g", "h")  # columns of ``Marker.axes``


@dataclass(frozen=True, eq=False)
class Driver:
    """What follows ``profile``: one of the four is given."""

    name: str
    profile: Profile
    joint: tuple[Joint, int] | None = None  # the joint and the number of its coordinate
    between: tuple[Marker, Marker] | None = None  # their distance
    body: tuple[Body, str] | None = None  # the body and one of BODY_COORDINATES
    axes: tuple[tuple[Marker, int], tuple[Marker, int]] | None = None  # the angle of two axes, columns of ``axes``

    @property
    def dynamic(self) -> bool:
        """True when a Simulation can follow it."""
        return self.joint is not None or self.between is not None

    @property
    def target(self) -> str:
        """What is prescribed, in words."""
        if self.joint:
            joint, k = self.joint
            return f"{joint.name}.{(joint.type.coordinates or PLACES)[k]}"
        if self.between:
            return f"the distance of {self.between[0].name} and {self.between[1].name}"
        if self.body:
            return f"{self.body[0].name}.{self.body[1]}"
        assert self.axes is not None
        first, second = (f"{marker.name}.{MARKER_AXES[k]}" for marker, k in self.axes)
        return f"the angle of {first} and {second}"

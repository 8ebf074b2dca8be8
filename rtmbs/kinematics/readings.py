"""Readings of joint coordinates from the coordinates of the bodies: a displacement or an angle."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.kinematics import conditions
from rtmbs.kinematics.conditions import BodyPoses, Points
from rtmbs.model import Joint, Model
from rtmbs.model.joints import PlaneAngle, turn_angle, two_turn_angles

Array = NDArray[np.float64]
Place = tuple[int, Array]  # body and vector in its axes
Carried = Callable[[Array], Place]  # of a direction in joint axes


@dataclass(frozen=True, eq=False)
class Slide:
    """u . (x_b - x_a) [m]."""

    u: Place
    a: Place
    b: Place
    unit: ClassVar[str] = "m"

    def value(self, pose: BodyPoses, _: Any) -> Any:
        return -conditions.perpendicular_to_distance(pose, point(self.u), point(self.a), point(self.b))[0]


@dataclass(frozen=True, eq=False)
class AngleBetween:
    """The angle [rad] of ``seen`` in the plane x, y of its carrier, less what ``about`` says."""

    x: Place
    y: Place
    seen: Place
    unit: ClassVar[str] = "rad"

    def value(self, pose: BodyPoses, about: Any) -> Any:
        seen = pose.directions(point(self.seen))
        sine, cosine = (conditions.dot(pose.directions(point(one)), seen)[0] for one in (self.y, self.x))
        return conditions.turn(sine, cosine, about)


@dataclass(frozen=True, eq=False)
class Absolute:
    """One of the coordinates q [m]."""

    place: int
    unit: ClassVar[str] = "m"

    def value(self, pose: BodyPoses, _: Any) -> Any:
        return pose.q[self.place]


@dataclass(frozen=True, eq=False)
class Unknown:
    """A joint coordinate that is an unknown of its own: a displacement, or an angle less what ``about`` says."""

    place: int
    unit: str

    def value(self, pose: BodyPoses, about: Any) -> Any:
        return pose.q[self.place] - about if self.unit == "rad" else pose.q[self.place]


@dataclass(frozen=True, eq=False)
class EulerAngle:
    """An Euler angle of a body [rad], less what ``about`` says."""

    body: int
    angle: str
    unit: ClassVar[str] = "rad"

    def value(self, pose: BodyPoses, about: Any) -> Any:
        sine, cosine = conditions.euler_pair(pose, self.body, self.angle)
        return conditions.turn(sine, cosine, about)


@dataclass(frozen=True, eq=False)
class Cosine:
    """The cosine of the angle of two axes [1]; singular where they are parallel."""

    u: Place
    v: Place
    unit: ClassVar[str] = "1"

    def value(self, pose: BodyPoses, _: Any) -> Any:
        return conditions.perpendicular_axes(pose, point(self.u), point(self.v))[0]


Reading = Slide | AngleBetween | Absolute | Unknown | EulerAngle | Cosine


def point(place: Place) -> Points:
    """Return one place as a list of places."""
    return Points(np.array([place[0]]), place[1][None])


class ReadingsBetween:
    """The motion of body b relative to body a, as a joint type reads it (``model.joints.Between``).

    Answers ``Reading`` objects in place of numbers, so that ``JointType.measure`` serves kinematics too. Joints with a
    ``JointType.obstacle`` have no readings: their coordinates are unknowns.
    """

    def __init__(self, joint: Joint, number: dict[str, int]) -> None:
        self.joint, self.a, self.b = joint, number[joint.a.name], number[joint.b.name]
        self.axes = [dof.axis for dof in joint.type.dofs()]  # in joint axes

    def slide(self, k: int) -> Slide:
        """Return how far b slid along the axis of dof ``k``, which a carries."""
        joint = self.joint
        return Slide((self.a, joint.axes_a @ self.axes[k]), (self.a, joint.point_a), (self.b, joint.point_b))

    def turn(self, k: int) -> AngleBetween:
        """Return the angle about the axis of dof ``k``, which both carry."""
        return self.angle(turn_angle(self.axes[k]), self.in_a, self.in_b)

    def two_turns(self, first: int, second: int) -> tuple[AngleBetween, AngleBetween]:
        """Return the angle about e, carried by a, and that about f, carried by b and perpendicular to e."""
        seen_by_a, seen_by_b = two_turn_angles(self.axes[first], self.axes[second])
        return self.angle(seen_by_a, self.in_a, self.in_b), self.angle(seen_by_b, self.in_b, self.in_a)

    def in_a(self, direction: Array) -> Place:
        """Return a direction (3,) of joint axes that a carries."""
        return self.a, self.joint.axes_a @ direction

    def in_b(self, direction: Array) -> Place:
        """Return a direction (3,) of joint axes that b carries."""
        return self.b, self.joint.axes_b @ direction

    def angle(self, plane: PlaneAngle, carrier: Carried, other: Carried) -> AngleBetween:
        """Return an angle whose plane ``carrier`` places, of the direction that ``other`` places."""
        return AngleBetween(carrier(plane.x), carrier(plane.y), other(plane.seen))


def joint_readings(joint: Joint, number: dict[str, int]) -> tuple[Reading, ...]:
    """Return the readings of all coordinates of a joint off its bodies, by ``JointType.measure``."""
    found: tuple[Reading, ...] = joint.type.measure(ReadingsBetween(joint, number))
    return found


def named_coordinate(model: Model, wanted: str | tuple[str, str], what: str) -> tuple[Joint, int]:
    """Return joint and number of the coordinate of a joint of one coordinate, or of (joint, coordinate)."""
    name, coordinate = wanted if isinstance(wanted, tuple) and len(wanted) == 2 else (wanted, None)
    if not isinstance(name, str) or name not in model.joints:
        error = unknown_name("joint", name, model.joints)
        raise type(error)(f"{what}: {error}")
    joint = model.joints[name]
    names = joint.type.coordinates
    if coordinate is None and len(names) == 1:
        return joint, 0
    if coordinate not in names:
        raise ModelError(
            f"{what}: joint {name!r} has the coordinates {', '.join(names) or 'none'}, not {shown(coordinate)}"
        )
    return joint, names.index(coordinate)

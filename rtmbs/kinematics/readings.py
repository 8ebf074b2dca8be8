"""What a joint coordinate reads in the coordinates of the bodies: a displacement or an angle."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.kinematics import conditions
from rtmbs.kinematics.conditions import Points, Pose
from rtmbs.model import Joint, Model
from rtmbs.model.checks import perpendiculars

Array = NDArray[np.float64]
Place = tuple[int, Array]  # body and vector in its axes


@dataclass(frozen=True, eq=False)
class Slide:
    """u . (x_b - x_a) [m]."""

    u: Place
    a: Place
    b: Place
    unit: ClassVar[str] = "m"

    def value(self, pose: Pose, _: Any) -> Any:
        return -conditions.perpendicular_to_distance(pose, point(self.u), point(self.a), point(self.b))[0]


@dataclass(frozen=True, eq=False)
class Turn:
    """The angle [rad] of ``seen`` in the plane x, y of its carrier, less what ``about`` says."""

    x: Place
    y: Place
    seen: Place
    unit: ClassVar[str] = "rad"

    def value(self, pose: Pose, about: Any) -> Any:
        seen = pose.directions(point(self.seen))
        sine, cosine = (conditions.dot(pose.directions(point(one)), seen)[0] for one in (self.y, self.x))
        return conditions.turn(sine, cosine, about)


@dataclass(frozen=True, eq=False)
class Absolute:
    """One of the coordinates q [m]."""

    place: int
    unit: ClassVar[str] = "m"

    def value(self, pose: Pose, _: Any) -> Any:
        return pose.q[self.place]


@dataclass(frozen=True, eq=False)
class EulerAngle:
    """An Euler angle of a body [rad], less what ``about`` says."""

    body: int
    angle: str
    unit: ClassVar[str] = "rad"

    def value(self, pose: Pose, about: Any) -> Any:
        sine, cosine = conditions.euler_pair(pose, self.body, self.angle)
        return conditions.turn(sine, cosine, about)


@dataclass(frozen=True, eq=False)
class Cosine:
    """The cosine of the angle of two axes [1]; singular where they are parallel."""

    u: Place
    v: Place
    unit: ClassVar[str] = "1"

    def value(self, pose: Pose, _: Any) -> Any:
        return conditions.perpendicular_axes(pose, point(self.u), point(self.v))[0]


Reading = Slide | Turn | Absolute | EulerAngle | Cosine


def point(place: Place) -> Points:
    """Return one place as a list of places."""
    return Points(np.array([place[0]]), place[1][None])


def joint_reading(joint: Joint, k: int, number: dict[str, int]) -> Reading:
    """Return what coordinate ``k`` of a joint reads; ModelError for one that slides after it turned."""
    a, b = number[joint.a.name], number[joint.b.name]
    units, dofs = joint.type.units(), joint.type.dofs()
    axes = [joint.axes_a @ dof.axis for dof in dofs]
    if units == ("rad", "rad"):
        return universal_reading(joint, k, a, b)
    if units[k] == "m":
        if "rad" in units[:k]:
            raise ModelError(
                f"joint {joint.name!r}: a {type(joint.type).__name__} slides after it turned, which cannot be measured"
                " from outside; split it into two joints"
            )
        return Slide((a, axes[k]), (a, joint.point_a), (b, joint.point_b))
    across, along = perpendiculars(joint.axes_a.T @ axes[k])
    return Turn((a, joint.axes_a @ across), (a, joint.axes_a @ along), (b, joint.axes_b @ across))


def universal_reading(joint: Joint, k: int, a: int, b: int) -> Turn:
    """Return an angle of a universal joint: about e, carried by a, then about f, carried by b."""
    e, f = (dof.axis for dof in joint.type.dofs())
    if k == 0:
        carrier, axes, seen = a, joint.axes_a, (b, joint.axes_b @ f)
        x, y = f, np.cross(e, f)
    else:
        carrier, axes, seen = b, joint.axes_b, (a, joint.axes_a @ e)
        x, y = e, np.cross(e, f)
    return Turn((carrier, axes @ x), (carrier, axes @ y), seen)


def named_reading(model: Model, wanted: str | tuple[str, str], number: dict[str, int], what: str) -> Reading:
    """Return the reading of a joint of one coordinate, or of (joint, coordinate)."""
    name, coordinate = wanted if isinstance(wanted, tuple) and len(wanted) == 2 else (wanted, None)
    if not isinstance(name, str) or name not in model.joints:
        error = unknown_name("joint", name, model.joints)
        raise type(error)(f"{what}: {error}")
    joint = model.joints[name]
    names = joint.type.coordinates
    if coordinate is None and len(names) == 1:
        return joint_reading(joint, 0, number)
    if coordinate not in names:
        raise ModelError(
            f"{what}: joint {name!r} has the coordinates {', '.join(names) or 'none'}, not {shown(coordinate)}"
        )
    return joint_reading(joint, names.index(coordinate), number)

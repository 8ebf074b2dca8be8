"""Coordinates of kinematics, seven a body, with primitive constraints and readings of joints in them.

Coordinates of kinematics, seven a body (origin of its frame and Euler parameters), and their samples over time.

Primitive constraint equations, each evaluated at many places at once, in NumPy that ``rtmbs.ad`` records.

A place is a body and a vector in its axes. Points and distances are in metres, products of axes have no unit.

Readings of joint coordinates from the coordinates of the bodies: a displacement or an angle.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import in_words, machine_memory
from rtmbs.errors import InputError, ModelError, shown, unknown_name
from rtmbs.model import Joint, Model
from rtmbs.model.joints import Dof, PlaneAngle, turn_angle, two_turn_angles
from rtmbs.numerics.rotations.quaternions import quaternions, rotation_entries

Array = NDArray[np.float64]
SIZE = 7  # x, y, z [m], e0, e1, e2, e3 [1]
NAMES = ("x", "y", "z", "e0", "e1", "e2", "e3")
SHARE = 0.5  # of the memory that samples may take: channels are worked out beside them


def reference_coordinates(model: Model) -> Array:
    """Return the coordinates (nb, 7) of the reference pose, ground first."""
    bodies = list(model.bodies.values())
    places = np.array([body.position for body in bodies])
    turns = np.array([body.orientation for body in bodies])
    parameters = np.concatenate([quaternions(turn[None]) for turn in turns])
    return np.concatenate((places, parameters), axis=1)


class KinematicSamples(NamedTuple):
    """Positions, velocities and accelerations of the unknowns over K times."""

    t: Array  # (K,) [s]
    drivers: Array  # (K, 3, nf) values, rates, accelerations of the drivers
    q: Array  # (K, n)
    qd: Array  # (K, n)
    qdd: Array  # (K, n)
    f: Array  # (K, nf) values of the drivers, and turns that are counted
    weak: Array  # (K,) smallest singular value of the rows that are solved, without unit
    iterations: NDArray[np.int64]  # (K,) of Newton
    bend: Array  # (K,) share by which the matrix of the rows that are solved changed since the row before

    def part(self, first: int, last: int) -> "KinematicSamples":
        """Return some rows; they stay the same memory."""
        columns: list[Any] = [column[first:last] for column in self]
        return KinematicSamples(*columns)

    def take(self, row: int, other: "KinematicSamples", place: int) -> None:
        """Copy a row of other samples."""
        for mine, theirs in zip(self[2:], other[2:], strict=True):
            mine[row] = theirs[place]


def check_room(count: int, n: int, nf: int) -> None:
    """Refuse a number of samples that the memory of this machine does not hold."""
    wanted = 8.0 * count * (3 * n + 4 * nf + 4)
    if wanted > SHARE * (memory := machine_memory()):
        raise InputError(
            f"{count} times take {in_words(wanted)}, and this machine has {in_words(memory)} of memory; take a longer"
            " interval, or an earlier end"
        )


def new_samples(t: Array, drivers: Array, n: int) -> KinematicSamples:
    """Allocate rows for these times."""
    K, nf = len(t), drivers.shape[2]
    q, qd, qdd = (np.zeros((K, n)) for _ in range(3))
    return KinematicSamples(t, drivers, q, qd, qdd, np.zeros((K, nf)), np.zeros(K), np.zeros(K, np.int64), np.zeros(K))


Integers = NDArray[np.int64]
Vectors = list[Any]  # three components (k,) each


class Points(NamedTuple):
    """Many points or directions: the body of each and its vector in body axes."""

    body: Integers  # (k,)
    local: Array  # (k, 3)


class BodyPoses:
    """Bodies at coordinates q (n,), arrays of any kind."""

    def __init__(self, q: Any, bodies: int) -> None:
        self.q = q
        by_body = q[: bodies * SIZE].reshape(bodies, SIZE)
        self.place = [by_body[:, k] for k in range(3)]
        self.parameters = by_body[:, 3:]
        self.R = rotation_entries(self.parameters)

    def directions(self, where: Points) -> Vectors:
        """Return directions in world axes."""
        local = where.local.T
        return [
            sum((self.R[i][j][where.body] * local[j] for j in (1, 2)), self.R[i][0][where.body] * local[0])
            for i in range(3)
        ]

    def points(self, where: Points) -> Vectors:
        """Return points in the world."""
        turned = self.directions(where)
        return [self.place[i][where.body] + turned[i] for i in range(3)]


def dot(u: Vectors, v: Vectors) -> Any:
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


def minus(u: Vectors, v: Vectors) -> Vectors:
    return [one - other for one, other in zip(u, v, strict=True)]


def walked(dofs: Sequence[Dof], values: list[Any]) -> tuple[Vectors, list[Vectors]]:
    """Return the way (3,) and the turn (3, 3) of slides and turns by these values, one after the other."""
    way: Vectors = [0.0, 0.0, 0.0]
    R: list[Vectors] = np.eye(3).tolist()
    for dof, value in zip(dofs, values, strict=True):
        axis = [sum(R[i][j] * dof.axis[j] for j in range(3)) for i in range(3)]
        slide = value if dof.kind == "prismatic" else dof.pitch * value
        way = [one + part * slide for one, part in zip(way, axis, strict=True)]
        if dof.kind != "prismatic":
            turned = rodrigues(dof.axis, value)
            R = [[sum(R[i][j] * turned[j][k] for j in range(3)) for k in range(3)] for i in range(3)]
    return way, R


def rodrigues(e: Array, angle: Any) -> list[Vectors]:
    """Return cos I + sin e~ + (1 - cos) e e^T for a unit axis."""
    s, c = np.sin(angle), np.cos(angle)
    tilde = ((0.0, -e[2], e[1]), (e[2], 0.0, -e[0]), (-e[1], e[0], 0.0))
    return [[c * float(i == j) + s * tilde[i][j] + (1.0 - c) * (e[i] * e[j]) for j in range(3)] for i in range(3)]


def normalisation(pose: BodyPoses) -> Any:
    """One a body: e . e - 1."""
    e = pose.parameters
    return e[:, 0] * e[:, 0] + e[:, 1] * e[:, 1] + e[:, 2] * e[:, 2] + e[:, 3] * e[:, 3] - 1.0


def coincident(pose: BodyPoses, a: Points, b: Points, axis: Integers) -> Any:
    """One component each of x_a - x_b, in world axes."""
    apart = np.stack(minus(pose.points(a), pose.points(b)))
    return apart[axis, np.arange(len(axis))]


def perpendicular_axes(pose: BodyPoses, u: Points, v: Points) -> Any:
    """d1: u . v, with u on body a and v on body b."""
    return dot(pose.directions(u), pose.directions(v))


def perpendicular_to_distance(pose: BodyPoses, u: Points, a: Points, b: Points) -> Any:
    """d2: u . (x_a - x_b), with u on body a."""
    return dot(pose.directions(u), minus(pose.points(a), pose.points(b)))


def distance(pose: BodyPoses, a: Points, b: Points, length: Any, divisor: Array) -> Any:
    """(d . d - length^2) / (2 divisor) [m]."""
    d = minus(pose.points(b), pose.points(a))
    return (dot(d, d) - length * length) / (2.0 * divisor)


def turn(sine: Any, cosine: Any, about: Any) -> Any:
    """Return the angle of (cosine, sine) less ``about``, in -pi .. pi: it jumps half a turn away from ``about``."""
    s, c = np.sin(about), np.cos(about)
    return np.arctan2(sine * c - cosine * s, cosine * c + sine * s)


def euler_pair(pose: BodyPoses, body: int, angle: str) -> tuple[Any, Any]:
    """Return sine and cosine (of any common length) of an angle of R = Rz(yaw) Ry(pitch) Rx(roll)."""
    R = [[pose.R[i][j][body] for j in range(3)] for i in range(3)]
    if angle == "yaw":
        return R[1][0], R[0][0]
    if angle == "roll":
        return R[2][1], R[2][2]
    return -R[2][0], np.sqrt(R[0][0] * R[0][0] + R[1][0] * R[1][0])


def on_curve(pose: BodyPoses, point: Points, body: int, curve: Callable[[Any], Any], s: Any) -> Any:
    """Three: the point stands at curve(s) of a body."""
    local = curve(s)
    x = pose.points(point)
    return np.stack(
        [x[i][0] - pose.place[i][body] - sum(pose.R[i][j][body] * local[j] for j in range(3)) for i in range(3)]
    )


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
        return -perpendicular_to_distance(pose, point(self.u), point(self.a), point(self.b))[0]


@dataclass(frozen=True, eq=False)
class AngleBetween:
    """The angle [rad] of ``seen`` in the plane x, y of its carrier, less what ``about`` says."""

    x: Place
    y: Place
    seen: Place
    unit: ClassVar[str] = "rad"

    def value(self, pose: BodyPoses, about: Any) -> Any:
        seen = pose.directions(point(self.seen))
        sine, cosine = (dot(pose.directions(point(one)), seen)[0] for one in (self.y, self.x))
        return turn(sine, cosine, about)


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
        sine, cosine = euler_pair(pose, self.body, self.angle)
        return turn(sine, cosine, about)


@dataclass(frozen=True, eq=False)
class Cosine:
    """The cosine of the angle of two axes [1]; singular where they are parallel."""

    u: Place
    v: Place
    unit: ClassVar[str] = "1"

    def value(self, pose: BodyPoses, _: Any) -> Any:
        return perpendicular_axes(pose, point(self.u), point(self.v))[0]


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

"""Elements of kinematic analyses, and the equations of all elements of a Model.

Equations of the elements of a Model, and of ``elements.py``: rows of Phi as primitive conditions in lists, by kind.

Each kind is recorded in one stroke.

Constraints of kinematic analyses alone (gear, screw, rack, curve, driven point): tuples with names of a Model.

To add one: write a NamedTuple here and its rule in ``element_equations.py``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ModelError, shown, unknown_name
from rtmbs.kinematics import coordinates
from rtmbs.kinematics.coordinates import (
    NAMES,
    SIZE,
    Absolute,
    AngleBetween,
    BodyPoses,
    Cosine,
    EulerAngle,
    Place,
    Points,
    Reading,
    Slide,
    Unknown,
    joint_readings,
    named_coordinate,
    reference_coordinates,
)
from rtmbs.model import Coupler, Driver, Joint, Marker, Model, Profile, Rod
from rtmbs.model.body import reference_distance
from rtmbs.model.checks import number
from rtmbs.model.constraints import MARKER_AXES
from rtmbs.model.joints import same_point
from rtmbs.model.profiles import checked_profile

Array = NDArray[np.float64]


class Gear(NamedTuple):
    """Keeps first + ratio * second constant; each is a joint of one coordinate or (joint, coordinate).

    Two angles make a pair of gears, an angle and a displacement a rack and its pinion.

    Parameters
    ----------
    name : str
        Name of the constraint.
    first : str | tuple[str, str]
        First joint, or (joint, coordinate).
    second : str | tuple[str, str]
        Second joint, or (joint, coordinate).
    ratio : float
        Ratio of the second coordinate.
    """

    name: str
    first: str | tuple[str, str]
    second: str | tuple[str, str]
    ratio: float


class Screw(NamedTuple):
    """Keeps displacement - pitch / (2 pi) * angle of a Cylindrical joint constant; pitch [m a turn].

    Parameters
    ----------
    name : str
        Name of the constraint.
    joint : str
        Name of a cylindrical joint.
    pitch : float
        Pitch [m a turn].
    """

    name: str
    joint: str
    pitch: float


class RackAndPinion(NamedTuple):
    """Keeps displacement of the rack - radius * angle of the pinion constant; radius [m].

    Parameters
    ----------
    name : str
        Name of the constraint.
    rack : str | tuple[str, str]
        Joint of the rack, or (joint, coordinate).
    pinion : str | tuple[str, str]
        Joint of the pinion, or (joint, coordinate).
    radius : float
        Radius of the pinion [m].
    """

    name: str
    rack: str | tuple[str, str]
    pinion: str | tuple[str, str]
    radius: float


class PointOnCurve(NamedTuple):
    """Keeps a marker on a curve that a body carries: ``curve(s)`` (3,) in body axes [m], in plain NumPy.

    The parameter s becomes an unknown of its own; ``start`` is where the search for it begins.

    Parameters
    ----------
    name : str
        Name of the constraint.
    marker : str
        Name of the marker.
    body : str
        Name of the body that carries the curve.
    curve : Callable[[object], object]
        Function ``curve(s)`` that returns a point (3,) in body axes [m]. A method ``notes(name, first, last)`` of it
        may return sentences on a motion between two values of s.
    start : float, default 0.0
        Value of s to begin at.
    """

    name: str
    marker: str
    body: str
    curve: Callable[[Any], Any]
    start: float = 0.0


class JointCoordinate(NamedTuple):
    """Makes a coordinate of a joint an unknown of its own, called ``name``: a displacement [m], or an angle [rad].

    The angle of the bodies is told up to whole turns, and the unknown is the one of these angles nearest to itself. So
    it counts turns along a motion.

    Parameters
    ----------
    name : str
        Name of the unknown.
    joint : str
        Name of the joint.
    coordinate : str
        Coordinate of the joint.
    """

    name: str
    joint: str
    coordinate: str


class PointDriver(NamedTuple):
    """Makes a coordinate of a marker in the world follow a function of time.

    Parameters
    ----------
    name : str
        Name of the driver.
    marker : str
        Name of the marker.
    coordinate : str
        "x", "y" or "z".
    profile : Callable[[float], tuple[float, float, float]]
        Value [m] with its first and second derivative at a time [s], such as ``rtmbs.Sine``.
    """

    name: str
    marker: str
    coordinate: str
    profile: Any


Constraint = Gear | Screw | RackAndPinion | PointOnCurve | JointCoordinate | PointDriver


AXES = np.eye(3)


class Combination(NamedTuple):
    """A sum of readings that follows a driver or stays constant."""

    terms: tuple[tuple[float, Reading, int], ...]  # factor, reading, slot of its turns in f (-1 none)
    slot: int  # of the driver in f, -1: constant
    constant: float


class CurveRow(NamedTuple):
    """A point on a curve; the parameter is an unknown."""

    point: Place
    body: int
    curve: Callable[[Any], Any]
    place: int  # of the parameter in q


class CarriedJoint(NamedTuple):
    """A joint whose coordinates are unknowns: what body b sees of body a is the product of its turns and slides."""

    joint: Joint
    a: int
    b: int
    first: int  # of its coordinates in q

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return self.joint.type.coordinates


@dataclass
class RowTable:
    """All rows in the order of the table: element, name, and unit of each, [m] or [1]."""

    owner: list[str] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    is_length: list[bool] = field(default_factory=list)
    lists: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def add(self, kind: str, owner: str, label: str, length: bool, *arguments: Any) -> None:
        """Write one row of a kind."""
        self.lists.setdefault(kind, []).append((len(self.owner), *arguments))
        self.owner.append(owner)
        self.label.append(label)
        self.is_length.append(length)

    def add_block(self, kind: str, owner: str, labels: tuple[str, ...], element: Any) -> None:
        """Write the rows of an element that gives several at once: x, y, z [m] first."""
        self.lists.setdefault(kind, []).append((len(self.owner), element))
        for label in labels:
            self.owner.append(owner)
            self.label.append(label)
            self.is_length.append(label in CARTESIAN)


def places(column: tuple[Place, ...]) -> Points:
    """Return many places as arrays."""
    bodies, vectors = zip(*column, strict=True)
    return Points(np.array(bodies), np.array(vectors))


def write_phi(rows: RowTable, bodies: int, q: Any, f: Any) -> Any:
    """Return Phi (m,) at coordinates q (n,) and drivers f (nf,), in plain NumPy that the recorder follows."""
    pose, order, parts = BodyPoses(q, bodies), list[int](), list[Any]()
    for kind, entries in rows.lists.items():
        first, *columns = zip(*entries, strict=True)
        values, taken = WRITERS[kind](pose, f, columns)
        parts.append(values)
        order += [row + k for row in first for k in range(taken)]
    return np.concatenate(parts)[np.argsort(order)]


def write_norms(pose: BodyPoses, _: Any, columns: list[Any]) -> tuple[Any, int]:
    return coordinates.normalisation(pose)[np.array(columns[0])], 1


def write_held(pose: BodyPoses, _: Any, columns: list[Any]) -> tuple[Any, int]:
    place, value = columns
    return pose.q[np.array(place)] - np.array(value), 1


def write_points(pose: BodyPoses, _: Any, columns: list[Any]) -> tuple[Any, int]:
    a, b, axis = columns
    return coordinates.coincident(pose, places(a), places(b), np.array(axis)), 1


def write_axes(pose: BodyPoses, _: Any, columns: list[Any]) -> tuple[Any, int]:
    u, v = columns
    return coordinates.perpendicular_axes(pose, places(u), places(v)), 1


def write_across(pose: BodyPoses, _: Any, columns: list[Any]) -> tuple[Any, int]:
    u, a, b = columns
    return coordinates.perpendicular_to_distance(pose, places(u), places(a), places(b)), 1


def write_rods(pose: BodyPoses, _: Any, columns: list[Any]) -> tuple[Any, int]:
    a, b, length = columns
    metres = np.array(length)
    return coordinates.distance(pose, places(a), places(b), metres, metres), 1


def write_distances(pose: BodyPoses, f: Any, columns: list[Any]) -> tuple[Any, int]:
    a, b, slot, divisor = columns
    return coordinates.distance(pose, places(a), places(b), f[np.array(slot)], np.array(divisor)), 1


def write_combinations(pose: BodyPoses, f: Any, columns: list[Any]) -> tuple[Any, int]:
    return np.stack([combined(pose, f, one) for one in columns[0]]), 1


def combined(pose: BodyPoses, f: Any, one: Combination) -> Any:
    """Return the sum of readings less its driver or constant; a driven angle takes its turns from the driver itself."""
    total: Any = -one.constant
    for factor, reading, slot in one.terms:
        total = total + factor * reading.value(pose, f[slot] if slot >= 0 else 0.0)
        if slot >= 0 and slot != one.slot:
            total = total + factor * f[slot]
    driven_turn = one.slot >= 0 and one.terms[0][2] == one.slot
    return total if one.slot < 0 or driven_turn else total - f[one.slot]


def write_measured(pose: BodyPoses, _: Any, columns: list[Any]) -> tuple[Any, int]:
    return np.stack([less(pose, reading, pose.q[place]) for reading, place in zip(*columns, strict=True)]), 1


def less(pose: BodyPoses, reading: Reading, value: Any) -> Any:
    """Return a reading less ``value``; of an angle the one within half a turn."""
    found = reading.value(pose, value)
    return found - value if reading.unit == "m" else found


def write_places(pose: BodyPoses, f: Any, columns: list[Any]) -> tuple[Any, int]:
    where, axis, slot = columns
    points = np.stack(pose.points(places(where)))
    return points[np.array(axis), np.arange(len(where))] - f[np.array(slot)], 1


def write_curves(pose: BodyPoses, _: Any, columns: list[Any]) -> tuple[Any, int]:
    values = [
        coordinates.on_curve(pose, places((one.point,)), one.body, one.curve, pose.q[one.place]) for one in columns[0]
    ]
    return np.concatenate(values), 3


def write_carried(pose: BodyPoses, _: Any, columns: list[Any]) -> tuple[Any, int]:
    return np.stack([value for one in columns[0] for value in carried_rows(pose, one)]), 6


def carried_rows(pose: BodyPoses, one: CarriedJoint) -> list[Any]:
    """Return six values of a joint: a gap, and the products of axes that are perpendicular where it is closed."""
    D, C = seen_from_a(pose, one)
    d, R = walked_by(pose, one)
    across = [sum(R[i][x] * C[i][y] for i in range(3)) for x, y in ((0, 1), (1, 2), (2, 0))]
    return [*(D[i] - d[i] for i in range(3)), *across]


def cosines_of_axes(pose: BodyPoses, one: CarriedJoint) -> list[float]:
    """Return the cosines of the axes of b and of those that the coordinates lead to: 1, or -1 of opposite ones."""
    C, R = seen_from_a(pose, one)[1], walked_by(pose, one)[1]
    return [float(sum(R[i][k] * C[i][k] for i in range(3))) for k in range(3)]


def walked_by(pose: BodyPoses, one: CarriedJoint) -> tuple[list[Any], list[list[Any]]]:
    """Return the way and the turn by the coordinates of a joint."""
    dofs = one.joint.type.dofs()
    return coordinates.walked(dofs, [pose.q[one.first + k] for k in range(len(dofs))])


def seen_from_a(pose: BodyPoses, one: CarriedJoint) -> tuple[list[Any], list[list[Any]]]:
    """Return the way between the points of a joint, and the axes of b by columns, in joint axes carried by a."""
    (a, b), joint = (one.a, one.b), one.joint
    axes = [pose.directions(places(tuple((body, axis) for axis in turn.T))) for body, turn in
            ((a, joint.axes_a), (b, joint.axes_b))]  # fmt: skip
    apart = coordinates.minus(pose.points(places(((b, joint.point_b),))), pose.points(places(((a, joint.point_a),))))
    D = [sum(axes[0][c][k] * apart[c][0] for c in range(3)) for k in range(3)]
    return D, [[sum(axes[0][c][i] * axes[1][c][j] for c in range(3)) for j in range(3)] for i in range(3)]


WRITERS: dict[str, Callable[[BodyPoses, Any, list[Any]], tuple[Any, int]]] = {
    "norm": write_norms,
    "held": write_held,
    "point": write_points,
    "axes": write_axes,
    "across": write_across,
    "rod": write_rods,
    "distance": write_distances,
    "combination": write_combinations,
    "curve": write_curves,
    "carried": write_carried,
    "place": write_places,
    "measured": write_measured,
}


POINT_LABELS = tuple(row.label for row in same_point())
CARTESIAN = ("x", "y", "z")
ACROSS = 1e-6  # largest cosine of axes that count as perpendicular, largest sine of parallel ones
FLAT = 1e-3  # [rad] from 0 and pi: a tolerance of 1e-10 for the cosine is 1e-7 rad there


class KeptSum(NamedTuple):
    """A sum of readings that keeps its value of the reference pose, or a given one."""

    name: str
    length: bool
    terms: list[tuple[float, Reading]]
    constant: float | None = None  # None: that of the reference pose
    slot: int = -1  # of the profile that it follows
    label: str = "sum"


class Writer:
    """Rows being written for one Model, with the drivers and unknowns that they bring."""

    def __init__(self, model: Model, length: float) -> None:
        self.model, self.length, self.rows = model, length, RowTable()
        self.number = {name: k for k, name in enumerate(model.bodies)}
        self.n = SIZE * len(self.number)
        self.extra: list[tuple[str, float]] = []  # name and start of unknowns behind those of the bodies
        self.profiles: list[tuple[str, Profile]] = []  # of the drivers, by slot
        self.turns: list[Reading] = []  # angles whose turns stand in the slots behind the drivers
        self.pending: list[KeptSum] = []
        self.carried: dict[str, CarriedJoint] = {}  # joints whose coordinates are unknowns

    def readings(self, joint: Joint) -> tuple[Reading, ...]:
        """Return the readings of all coordinates of a joint: off its bodies, or unknowns."""
        if joint.name not in self.carried:
            return joint_readings(joint, self.number)
        first = self.carried[joint.name].first
        return tuple(Unknown(first + k, unit) for k, unit in enumerate(joint.type.units()))

    def reading(self, joint: Joint, k: int) -> Reading:
        """Return the reading of one coordinate of a joint."""
        return self.readings(joint)[k]

    def named_reading(self, wanted: str | tuple[str, str], what: str) -> Reading:
        """Return the reading of a joint of one coordinate, or of (joint, coordinate)."""
        return self.reading(*named_coordinate(self.model, wanted, what))

    def drive(self, name: str, profile: Any) -> int:
        """Return the slot of a new driver."""
        self.profiles.append((name, checked_profile(profile, f"driver {name!r}")))
        return len(self.profiles) - 1

    def unknown(self, name: str, start: float) -> int:
        """Return the place in q of an unknown that belongs to no body."""
        self.extra.append((name, start))
        return self.n + len(self.extra) - 1

    def place(self, marker: Marker) -> Place:
        return self.number[marker.body.name], marker.point

    def marker(self, what: str, name: str) -> Marker:
        if name not in self.model.markers:
            error = unknown_name("marker", name, self.model.markers)
            raise type(error)(f"{what}: {error}")
        return self.model.markers[name]

    def body(self, what: str, name: str) -> int:
        if name not in self.number:
            error = unknown_name("body", name, self.number)
            raise type(error)(f"{what}: {error}")
        return self.number[name]


def write_bodies(writer: Writer, reference: Array) -> None:
    """One row a body, and six that hold ground: its origin and the three smallest of its Euler parameters."""
    for name, k in writer.number.items():
        writer.rows.add("norm", name, "norm", False, k)
    smallest = np.sort(np.argsort(np.abs(reference[0, 3:]), kind="stable")[:3]) + 3
    for place in (0, 1, 2, *smallest.tolist()):
        writer.rows.add("held", "ground", NAMES[place], place < 3, place, reference[0, place])


def write_joint(writer: Writer, joint: Joint) -> None:
    """Write the rows that the joint's type lists, and ask for one for each pitch.

    A joint whose coordinates cannot be read off its bodies has six rows, and its coordinates are unknowns.
    """
    a, b = writer.number[joint.a.name], writer.number[joint.b.name]
    if joint.type.obstacle():
        unknowns = [writer.unknown(f"{joint.name}.{name}", 0.0) for name in joint.type.coordinates]
        writer.carried[joint.name] = one = CarriedJoint(joint, a, b, unknowns[0])
        writer.rows.add_block("carried", joint.name, (*CARTESIAN, "turn_1", "turn_2", "turn_3"), one)
        return
    listed = joint.type.equations()
    whole_point = {row.label for row in listed if row.kind == "translation"} >= set(POINT_LABELS)
    end_a, end_b = (a, joint.point_a), (b, joint.point_b)
    for row in listed:
        u, v = (a, joint.axes_a @ row.u), (b, joint.axes_b @ row.v)
        if row.kind == "dot":
            writer.rows.add("axes", joint.name, row.label, False, u, v)
        elif whole_point:
            writer.rows.add("point", joint.name, row.label, True, end_a, end_b, POINT_LABELS.index(row.label))
        else:
            writer.rows.add("across", joint.name, row.label, True, u, end_a, end_b)
    for k in joint.type.pitched:
        dof, turned = joint.type.dofs()[k], writer.reading(joint, k)
        slide = Slide((a, joint.axes_a @ dof.axis), end_a, end_b)
        terms: list[tuple[float, Reading]] = [(1.0, slide), (-dof.pitch, turned)]
        writer.pending.append(KeptSum(joint.name, True, terms, 0.0, label="pitch"))


def write_rod(writer: Writer, rod: Rod) -> None:
    writer.rows.add("rod", rod.name, "distance", True, *(writer.place(end) for end in rod.between), rod.length)


def write_driver(writer: Writer, driver: Driver) -> None:
    """Write the row of a driver: a joint coordinate, a distance, a coordinate of a body or an angle of two axes."""
    if driver.between is not None:
        ends = [writer.place(end) for end in driver.between]
        divisor = reference_distance(*driver.between) or writer.length
        slot = writer.drive(driver.name, driver.profile)
        writer.rows.add("distance", driver.name, "distance", True, *ends, slot, divisor)
    elif driver.body is not None:
        body, coordinate = driver.body
        follow(writer, driver, coordinate, body_reading(writer.number[body.name], coordinate))
    elif driver.axes is not None:
        write_angle(writer, driver)
    else:
        assert driver.joint is not None
        joint, k = driver.joint
        follow(writer, driver, joint.type.coordinates[k], writer.reading(joint, k))


def follow(writer: Writer, driver: Any, label: str, reading: Reading) -> None:
    """Write a row: the reading follows the profile of the driver."""
    slot = writer.drive(driver.name, driver.profile)
    turns = slot if reading.unit == "rad" else -1
    row = Combination(((1.0, reading, turns),), slot, 0.0)
    writer.rows.add("combination", driver.name, label, reading.unit == "m", row)


def body_reading(body: int, coordinate: str) -> Reading:
    """Return the reading of a coordinate of a body."""
    if coordinate in CARTESIAN:
        return Absolute(SIZE * body + CARTESIAN.index(coordinate))
    return EulerAngle(body, coordinate)


def write_angle(writer: Writer, driver: Driver) -> None:
    """Write the row of an angle of two axes.

    About an axis that joints keep in both bodies it counts turns without a jump. Otherwise its cosine holds it.
    """
    assert driver.axes is not None
    (first, k), (second, l) = driver.axes
    u, v = ((writer.number[one.body.name], one.axes[:, axis]) for one, axis in ((first, k), (second, l)))
    about = common_axis(writer.model, first, k, second, l)
    if about is None:
        names = " and ".join(f"{one.name}.{MARKER_AXES[axis]}" for one, axis in ((first, k), (second, l)))
        slot = writer.drive(driver.name, Cosined(driver.profile, names))
        row = Combination(((1.0, Cosine(u, v), -1),), slot, 0.0)
        writer.rows.add("combination", driver.name, "angle", False, row)
        return
    seen = first.body.orientation.T @ second.body.orientation @ v[1]
    angle, wanted = math.atan2(np.cross(about, u[1]) @ seen, u[1] @ seen), first_value(driver.profile)
    sense = 1.0 if distance_of_angles(angle, wanted) <= distance_of_angles(-angle, wanted) else -1.0
    follow(writer, driver, "angle", AngleBetween(u, (u[0], sense * np.cross(about, u[1])), v))


def common_axis(model: Model, first: Marker, k: int, second: Marker, l: int) -> Array | None:
    """Return an axis (3,), in the axes of the first marker's body, across both axes at all times; None for none.

    Joints keep it: it is parallel in both bodies in every pose. Joints between the two bodies come first.
    """
    u, v, ends = first.axes[:, k], second.axes[:, l], {first.body.name, second.body.name}
    for joint in sorted(model.joints.values(), key=lambda joint: {joint.a.name, joint.b.name} != ends):
        for axis in joint.type.aligned():
            kept = kept_directions(model, joint, axis)
            if ends <= kept.keys() and abs(kept[first.body.name] @ u) < ACROSS > abs(kept[second.body.name] @ v):
                return kept[first.body.name]
    return None


def kept_directions(model: Model, joint: Joint, axis: Array) -> dict[str, Array]:
    """Return a direction that a joint keeps, in the axes of every body (3,) to which joints carry it on."""
    kept: dict[str, Array] = {joint.a.name: joint.axes_a @ axis, joint.b.name: joint.axes_b @ axis}
    at: dict[str, list[Joint]] = {}
    for one in model.joints.values():
        for body in (one.a, one.b):
            at.setdefault(body.name, []).append(one)
    reached = list(kept)
    for name in reached:  # it grows
        for one in at[name]:
            here, there = (one.axes_a, one.axes_b) if one.a.name == name else (one.axes_b, one.axes_a)
            other = one.b.name if one.a.name == name else one.a.name
            if other not in kept and joint_keeps(one, here.T @ kept[name]):
                kept[other] = there @ here.T @ kept[name]
                reached.append(other)
    return kept


def joint_keeps(joint: Joint, direction: Array) -> bool:
    """Return whether a direction (3,) of joint axes is parallel in both bodies in every pose."""
    aligned = joint.type.aligned()
    return len(aligned) > 1 or any(np.linalg.norm(np.cross(axis, direction)) < ACROSS for axis in aligned)


def first_value(profile: Profile) -> float:
    """Return the value of a driver at t = 0, zero where its function gives none."""
    try:
        return float(profile(0.0)[0])
    except Exception:  # noqa: BLE001 - a user's function; the run says what is wrong with it
        return 0.0


def distance_of_angles(a: float, b: float) -> float:
    return abs(math.remainder(a - b, 2.0 * math.pi))


class Cosined:
    """The cosine of a profile, with its derivatives; InputError for an angle that a cosine does not tell.

    A cosine tells angles between 0 and pi. Near either its derivative by the pose vanishes.
    """

    def __init__(self, profile: Profile, axes: str) -> None:
        self.profile, self.axes = profile, axes

    def __call__(self, t: float) -> tuple[float, float, float]:
        f, fd, fdd = self.profile(t)
        if not FLAT <= f <= math.pi - FLAT:
            raise InputError(
                f"the angle of {self.axes} is asked to be {f:.6g} rad at t = {t:.6g} s; no joints keep an axis across"
                " both, so the angle must stay between 0 and pi"
            )
        c, s = math.cos(f), math.sin(f)
        return c, -s * fd, -s * fdd - c * fd * fd


def write_gear(writer: Writer, gear: Gear) -> None:
    terms = [(1.0, gear.first), (number(gear.ratio, f"gear {gear.name!r}: ratio"), gear.second)]
    keep(writer, gear.name, f"gear {gear.name!r}", terms)


def write_screw(writer: Writer, screw: Screw) -> None:
    what = f"screw {screw.name!r}"
    pitch = number(screw.pitch, f"{what}: pitch")
    keep(
        writer, screw.name, what,
        [(1.0, (screw.joint, "displacement")), (-pitch / (2.0 * math.pi), (screw.joint, "angle"))],
    )  # fmt: skip


def write_rack(writer: Writer, rack: RackAndPinion) -> None:
    what = f"rack and pinion {rack.name!r}"
    keep(writer, rack.name, what, [(1.0, rack.rack), (-number(rack.radius, f"{what}: radius"), rack.pinion)])


def keep(writer: Writer, name: str, what: str, terms: list[tuple[float, Any]]) -> None:
    """Ask for a row: a sum of joint coordinates stays what it is at the reference pose."""
    readings = [(factor, writer.named_reading(wanted, what)) for factor, wanted in terms]
    length = any(isinstance(reading, Slide) for _, reading in readings)
    writer.pending.append(KeptSum(name, length, readings))


def write_coupler(writer: Writer, coupler: Coupler) -> None:
    """Ask for the row of a coupler of the Model."""
    readings = [(factor, writer.reading(joint, k)) for joint, k, factor in coupler.terms]
    length = "m" in coupler.units
    if callable(coupler.offset):
        slot = writer.drive(coupler.name, coupler.offset)
        writer.pending.append(KeptSum(coupler.name, length, readings, 0.0, slot))
    else:
        writer.pending.append(KeptSum(coupler.name, length, readings, coupler.offset))


def write_kept(writer: Writer) -> None:
    """Write the rows of kept sums; their angles count turns in slots behind those of all drivers."""
    for kept in writer.pending:
        terms = []
        for factor, reading in kept.terms:
            slot = -1
            if reading.unit == "rad":
                writer.turns.append(reading)
                slot = len(writer.profiles) + len(writer.turns) - 1
            terms.append((factor, reading, slot))
        constant = kept.constant
        if constant is None:
            constant = sum(factor * reference_value(writer, reading) for factor, reading in kept.terms)
        writer.rows.add(
            "combination", kept.name, kept.label, kept.length, Combination(tuple(terms), kept.slot, constant)
        )


def reference_value(writer: Writer, reading: Reading) -> float:
    """Return a joint coordinate at the reference pose."""
    pose = BodyPoses(reference_coordinates(writer.model).ravel(), len(writer.number))
    return float(reading.value(pose, 0.0))


def write_curve(writer: Writer, element: PointOnCurve) -> None:
    what = f"point on curve {element.name!r}"
    marker, body = writer.marker(what, element.marker), writer.body(what, element.body)
    if writer.place(marker)[0] == body:
        raise ModelError(f"{what}: marker {marker.name!r} is on body {element.body!r} itself; name two bodies")
    if not callable(element.curve):
        raise ModelError(f"{what}: curve is {shown(element.curve)}; it must be a function of s that returns 3 numbers")
    start = number(element.start, f"{what}: start")
    place = writer.unknown(f"{element.name}.s", start)
    writer.rows.add_block("curve", element.name, CARTESIAN, CurveRow(writer.place(marker), body, element.curve, place))


def write_joint_coordinate(writer: Writer, element: JointCoordinate) -> None:
    what = f"joint coordinate {element.name!r}"
    reading = writer.named_reading((element.joint, element.coordinate), what)
    place = writer.unknown(element.name, reference_value(writer, reading))
    writer.rows.add("measured", element.name, "reading", reading.unit == "m", reading, place)


def write_point_driver(writer: Writer, driver: PointDriver) -> None:
    what = f"driver {driver.name!r}"
    marker = writer.marker(what, driver.marker)
    if driver.coordinate not in CARTESIAN:
        raise ModelError(f"{what}: coordinate is {shown(driver.coordinate)}; it must be x, y or z")
    slot = writer.drive(driver.name, driver.profile)
    axis = CARTESIAN.index(driver.coordinate)
    writer.rows.add("place", driver.name, driver.coordinate, True, writer.place(marker), axis, slot)


RULES: dict[type, Callable[[Writer, Any], None]] = {
    Gear: write_gear,
    Screw: write_screw,
    RackAndPinion: write_rack,
    PointOnCurve: write_curve,
    JointCoordinate: write_joint_coordinate,
    PointDriver: write_point_driver,
}

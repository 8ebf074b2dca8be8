"""``ModelDescription``: the elements of a mechanism, found by name, with their origin and changes.

``ModelDescription``: the elements of a mechanism by name, which ``compile`` reads, and its characteristic length.

Lookup of elements of a model by object or by name, with errors that name the element that asks.

Changes of a Model since a System or a kinematic analysis was made of it, for one warning.

A System is made of a Model as it was, and does not follow it. The Model may be changed for a second one. A run of the
first System then warns once that it does not have the changes.

``ImportReport``: the parts of a file that a Model does not have, and the limits of its joints.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar
from weakref import ref

import numpy as np

from rtmbs.core.names import StrictAttributes
from rtmbs.core.notebook import folded_html, number_text, title_html
from rtmbs.errors import LISTED, ModelError, shown, unknown_name, warn, with_count
from rtmbs.model.body import GROUND, Body, Marker, Rod, make_ground
from rtmbs.model.checks import Array, Numbers, name_of, number, numbers
from rtmbs.model.constraints import (
    BODY_COORDINATES,
    MARKER_AXES,
    Constraint,
    Coupler,
    Driver,
    KnifeEdge,
    RollingContact,
)
from rtmbs.model.forces import Force, ForceLaw, UserFunction
from rtmbs.model.joints import WORLD, Initial, Joint
from rtmbs.model.shapes import Looks, Shape

PARTS = {
    "bodies": "body",
    "joints": "joint",
    "markers": "marker",
    "rods": "rod",
    "couplers": "coupler",
    "constraints": "constraint",
    "contacts": "nonholonomic constraint",
    "contact_sets": "contact set",
    "forces": "force",
    "drivers": "driver",
    "initials": "initial value of joint",
    "looks": "looks of body",
}


class Origin:
    """The elements of a Model at one time. Copies and pickles of it refer to no Model, and never warn."""

    def __init__(self, model: Any, parts: Iterable[str] = tuple(PARTS)) -> None:
        self.model, self.warned = ref(model), False
        self.parts = {part: dict(getattr(model, part)) for part in parts}
        self.gravity = np.array(model.gravity) if "forces" in self.parts else None

    def __reduce__(self) -> tuple[Any, ...]:
        return (forgotten, ())

    def changed(self) -> bool:
        """Return whether the Model holds other elements now."""
        model = self.model()
        if model is None:
            return False
        for part, before in self.parts.items():
            now = getattr(model, part)
            if len(now) != len(before) or not all(now.get(name) is element for name, element in before.items()):
                return True
        return self.gravity is not None and not np.array_equal(model.gravity, self.gravity)

    def changes(self) -> Iterator[str]:
        """Yield the changes in words."""
        model: Any = self.model()
        for part, before in self.parts.items():
            kind, now = PARTS[part], getattr(model, part)
            if part == "looks":  # of a body that came or went: that is said already
                now = {name: looks for name, looks in now.items() if name in before or name in self.parts["bodies"]}
            yield from (f"{kind} {name!r} was added to" for name in now if name not in before)
            yield from (f"{kind} {name!r} was taken out of" for name in before if name not in now)
            both = [name for name in before if name in now]
            yield from (f"{kind} {name!r} was changed in" for name in both if now[name] is not before[name])
        if self.gravity is not None and not np.array_equal(model.gravity, self.gravity):
            yield "gravity was changed in"

    def warn_of_changes(self, made: str) -> None:
        """Warn once of changes since; ``made`` is the object made of the Model, and how to make it again."""
        if self.warned or not self.changed():
            return
        self.warned = True
        found, model = list(self.changes()), self.model()
        more = f"; {len(found) - LISTED} further changes" if len(found) > LISTED else ""
        listed = "; ".join(f"{one} model {getattr(model, 'name', '')!r}" for one in found[:LISTED])
        warn(f"{listed}{more} after {made.format(it='this change' if len(found) == 1 else 'these changes')}")


def forgotten() -> None:
    """Return None, in place of an Origin in a copy."""
    return


LISTED_NOTES = 20  # notes that a report shows


class ImportNote(NamedTuple):
    """One element of a file that a Model does not have as written."""

    element: str  # such as ``joint 'elbow'``
    line: int  # of the file, from 1; 0 unknown
    what: str  # of the element, and its treatment

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.element}: {self.what}"


class JointLimits(NamedTuple):
    """Limits of a joint coordinate as a file states them; infinite where it states none."""

    lower: float  # [rad, m]
    upper: float  # [rad, m]
    velocity: float  # [rad/s, m/s]
    effort: float  # [N m, N]


@dataclass(frozen=True)
class ImportReport:
    """Parts of a file that a Model does not have as written, and the limits of its joints.

    No element of a file is dropped without a note. Limits are data: no joint stops at them in a simulation.

    Parameters
    ----------
    file : str
        Path of the file.
    format : str
        Name of the format: URDF, SDF or MJCF.
    notes : tuple of ImportNote
        Elements that the Model does not have as written, in the order of the file.
    limits : mapping
        ``JointLimits`` by name of the joint.
    """

    file: str
    format: str
    notes: tuple[ImportNote, ...] = ()
    limits: Mapping[str, JointLimits] = field(default_factory=dict)

    def __str__(self) -> str:
        head = f"{self.format} file {self.file!r}: {with_count(len(self.notes), 'note')}"
        shown = [f"  {note}" for note in self.notes[:LISTED_NOTES]]
        more = len(self.notes) - LISTED_NOTES
        return "\n".join([head, *shown, *([f"  and {more} more in import_report.notes"] if more > 0 else [])])


ROUNDING = 1e-9  # of a distance


class ModelDescription(StrictAttributes):
    """Elements of a mechanism by name, in the order that they were added; ``Model`` adds them.

    Parameters
    ----------
    name : str, default "model"
        Name of the mechanism.
    gravity : array_like, default (0.0, 0.0, -9.81)
        Gravity (3,) [m/s^2].
    h : float, optional
        Step that the mechanism needs [s]; the viewer takes it.
    """

    name: str
    gravity: Array  # (3,) world axes [m/s^2]
    h: float | None  # the step that the mechanism asks for, None where any usual one will do [s]
    bodies: dict[str, Body]
    joints: dict[str, Joint]
    markers: dict[str, Marker]
    rods: dict[str, Rod]
    couplers: dict[str, Coupler]
    constraints: dict[str, Constraint]
    contacts: dict[str, RollingContact | KnifeEdge]  # nonholonomic: wheels that roll, and knife edges
    contact_sets: dict[str, Any]  # of balls and planes that may all touch: ``contact.elements.ContactSet``
    forces: dict[str, Force]
    drivers: dict[str, Driver]
    initials: dict[str, Initial]
    looks: dict[str, Looks]  # of bodies in pictures
    contact_shapes: dict[str, tuple[Shape, ...]]  # by name of a body: shapes that touch and are not among its looks
    reaction_stiffness: dict[str, tuple[float, float]]  # [N/m, N m/rad] by name of a joint, rod, constraint, ...
    import_report: ImportReport | None  # of the file that the model was read from

    def __init__(self, name: str = "model", gravity: Numbers = (0.0, 0.0, -9.81), *, h: float | None = None) -> None:
        self.name = name_of("model", name)
        self.gravity = numbers(gravity, f"model {name!r}: gravity", (3,))
        self.h = None if h is None else number(h, f"model {name!r}: h")
        if self.h is not None and self.h <= 0.0:
            raise ModelError(f"model {name!r}: h is {self.h:g}; it must be positive")
        self.bodies = {GROUND: make_ground()}
        self.joints, self.markers, self.rods, self.couplers = {}, {}, {}, {}
        self.constraints, self.forces, self.drivers, self.initials, self.looks = {}, {}, {}, {}, {}
        self.contacts, self.reaction_stiffness, self.contact_shapes, self.contact_sets = {}, {}, {}, {}
        self.import_report = None

    def __repr__(self) -> str:
        bodies = len(self.bodies) - 1
        parts = {"joint": len(self.joints), "force": len(self.forces), "driver": len(self.drivers)}
        parts |= {"rod": len(self.rods), "coupler": len(self.couplers), "constraint": len(self.constraints)}
        parts |= {"nonholonomic constraint": len(self.contacts)}
        parts |= {"contact set": len(self.contact_sets)}
        counts = [(bodies, "body", "bodies"), *((count, kind, "") for kind, count in parts.items())]
        counts.append((len(self.markers), "marker", ""))
        said = ", ".join(with_count(*one) for one in counts if one[0])
        return f"Model({self.name!r}: {said or 'empty'})"

    def _repr_html_(self) -> str:
        """Return tables of all elements for notebooks."""
        return model_html(self)

    @property
    def ground(self) -> Body:
        """Body that does not move."""
        return self.bodies[GROUND]


# ---- tables for notebooks --------------------------------------------------------------------------------------------


def model_html(model: ModelDescription) -> str:
    """Return the elements of a model, kind by kind."""
    bodies = [
        (one.name, number_text(one.mass), number_text(one.position))
        for one in model.bodies.values()
        if one.name != GROUND
    ]
    joints = [(one.name, type(one.type).__name__, one.a.name, one.b.name) for one in model.joints.values()]
    forces = [(one.name, type(one.law).__name__, attachment(one)) for one in model.forces.values()]
    motions = [
        *((one.name, "driver", one.target) for one in model.drivers.values()),
        *((one.name, "rod", " and ".join(end.name for end in one.between)) for one in model.rods.values()),
        *((one.name, one.kind, ", ".join(one.coordinates)) for one in model.couplers.values()),
        *((one.name, "constraint", "") for one in model.constraints.values()),
        *((one.name, *described(one)) for one in model.contacts.values()),
    ]
    markers = [(one.name, one.body.name, number_text(one.point)) for one in model.markers.values()]
    return "\n".join(
        [
            title_html(repr(model)),
            folded_html("bodies", ("body", "mass [kg]", "reference position [m]"), bodies),
            folded_html("joints", ("joint", "type", "body a", "body b"), joints),
            folded_html("forces", ("force", "law", "acts on"), forces),
            folded_html("drivers, rods, couplers and constraints", ("element", "kind", "acts on"), motions),
            folded_html("markers", ("marker", "body", "point in body axes [m]"), markers),
        ]
    )


def described(contact: RollingContact | KnifeEdge) -> tuple[str, str]:
    """Return the kind of a nonholonomic constraint and what it acts on."""
    if isinstance(contact, RollingContact):
        return "rolling", f"{contact.wheel.name} on {contact.plane.name}"
    return "knife edge", f"{contact.blade.name} on {contact.base.name}"


def attachment(force: Force) -> str:
    """Return the names of the elements that a force acts on."""
    if force.between is not None:
        return " and ".join(marker.name for marker in force.between)
    if force.body is not None:
        return force.body.name
    pairs = (force.joint,) if force.joint is not None else force.joints or ()
    return ", ".join(f"{joint.name}.{joint.type.coordinates[k]}" for joint, k in pairs) or "all coordinates of the tree"


# ---- characteristic length: the factor between angles and lengths where the two are compared -------------------------


ROUNDING = 1e-12  # of the largest coordinate of a place


def characteristic_length(model: ModelDescription) -> float:
    """Return the largest distance between the joint points of one moving body [m].

    When no body has two: the largest distance from a joint point to a mass centre; then the largest radius of gyration;
    then 1. The rounding of places is no distance.
    """
    points, bodies = joint_points(model), model.bodies
    places = [place for name in points for place in (bodies[name].center_of_mass, *points[name])]
    rounding = ROUNDING * max((float(np.abs(place).max()) for place in places), default=0.0)
    widest = max((spread(places) for places in points.values()), default=0.0)
    if widest > rounding:
        return widest
    arms = [float(np.linalg.norm(place - bodies[name].center_of_mass)) for name in points for place in points[name]]
    if max(arms, default=0.0) > rounding:
        return max(arms)
    heavy = [body for body in bodies.values() if body.mass > 0.0]
    radii = [float(np.sqrt(np.max(np.diag(body.inertia)) / body.mass)) for body in heavy]
    return max(radii, default=0.0) or 1.0


def joint_points(model: ModelDescription) -> dict[str, list[Array]]:
    """Return the points of joints and rods on every moving body, in its axes [m]."""
    points: dict[str, list[Array]] = {name: [] for name in model.bodies}
    for joint in model.joints.values():
        points[joint.a.name].append(joint.point_a)
        points[joint.b.name].append(joint.point_b)
    for rod in model.rods.values():
        for marker in rod.between:
            points[marker.body.name].append(marker.point)
    for contact in model.contacts.values():
        marker = contact.wheel if isinstance(contact, RollingContact) else contact.blade
        points[marker.body.name].append(marker.point)
    del points[model.ground.name]
    return points


def spread(places: list[Array]) -> float:
    """Return the largest distance between any two points.

    Two points are no further apart than their radii about the middle together, so most pairs are never looked at.
    """
    if len(places) < 2:
        return 0.0
    if len(places) == 2:
        square = (places[1] - places[0]) ** 2
        return float(np.sqrt(square[0] + square[1] + square[2]))
    cloud = np.unique(np.array(places), axis=0)
    radius = np.linalg.norm(cloud - cloud.mean(axis=0), axis=1)
    outer = np.argsort(-radius, kind="stable")
    cloud, radius, widest = cloud[outer], radius[outer], 0.0
    for k, point in enumerate(cloud):
        if 2.0 * radius[k] < widest * (1.0 - ROUNDING):
            break
        widest = max(widest, float(np.max(np.linalg.norm(cloud[k:] - point, axis=1))))
    return widest


Element = TypeVar("Element", Body, Joint, Marker)
Between = tuple[Marker | str, Marker | str]
Axis = Marker | str | tuple[Marker | str, str]
Coordinate = Joint | str | tuple[Joint | str, str]


class ElementLookup(NamedTuple):
    """Lookup of the elements of a model.

    In every method ``what`` names the element that asks; errors begin with it.

    Parameters
    ----------
    model : ModelDescription
        Model whose elements are looked up.
    """

    model: ModelDescription

    def holding(self) -> tuple[Mapping[str, Any], ...]:
        """Return the elements that hold bodies or coordinates, kind by kind; they share names."""
        model = self.model
        return model.joints, model.rods, model.constraints, model.contacts, model.couplers, model.drivers

    def body(self, what: str, wanted: Body | str) -> Body:
        """Return the body that an object or a name means."""
        return self.found("body", what, wanted, self.model.bodies)

    def joint(self, what: str, wanted: Joint | str) -> Joint:
        """Return the joint that an object or a name means."""
        return self.found("joint", what, wanted, self.model.joints)

    def marker(self, what: str, wanted: Marker | str) -> Marker:
        """Return the marker that an object or a name means."""
        return self.found("marker", what, wanted, self.model.markers)

    def found(self, kind: str, what: str, wanted: Element | str, known: Mapping[str, Element]) -> Element:
        """Return the element of ``known`` that an object or a name means."""
        if isinstance(wanted, str):
            if wanted not in known:
                error = unknown_name(kind, wanted, known)
                raise type(error)(f"{what}: {error}")
            return known[wanted]
        name = getattr(wanted, "name", None)
        if not isinstance(name, str) or known.get(name) is not wanted:
            given = f"{kind} {name!r}" if isinstance(name, str) else shown(wanted)
            raise ModelError(
                f"{what}: {given} is not a {kind} of model {self.model.name!r}; take one that this model made"
            )
        return wanted

    def between(self, what: str, between: Between) -> tuple[Marker, Marker]:
        """Return two markers on different bodies."""
        if not isinstance(between, tuple | list) or len(between) != 2:
            raise ModelError(f"{what}: between is {shown(between)}; it must be two markers")
        first, second = (self.marker(what, marker) for marker in between)
        if first.body is second.body:
            raise ModelError(
                f"{what}: markers {first.name!r} and {second.name!r} are both on body {first.body.name!r}; "
                "they must be on two bodies"
            )
        return first, second

    def coordinate(self, what: str, wanted: Coordinate) -> tuple[Joint, int]:
        """Return the joint and the number of its coordinate that ``wanted`` means."""
        if isinstance(wanted, tuple) and len(wanted) != 2:
            raise ModelError(f"{what}: {shown(wanted)} is no coordinate; write a joint, or (joint, coordinate)")
        joint = self.joint(what, wanted[0] if isinstance(wanted, tuple) else wanted)
        names, kind = joint.type.coordinates, type(joint.type).__name__
        if not names:
            raise ModelError(
                f"{what}: joint {joint.name!r} is {kind} and has no coordinate of its own; "
                "use a joint made of Revolute, Prismatic, Cylindrical, Universal or Planar"
            )
        if isinstance(wanted, tuple):
            if not (isinstance(wanted[1], str) and wanted[1] in names):
                raise ModelError(
                    f"{what}: joint {joint.name!r} has the coordinates {', '.join(names)}, not {shown(wanted[1])}"
                )
            return joint, names.index(wanted[1])
        if len(names) > 1:
            raise ModelError(
                f"{what}: joint {joint.name!r} is {kind} with {', '.join(names)}; say which, "
                f"such as joint=({joint.name!r}, {names[0]!r})"
            )
        return joint, 0

    def coordinates(self, what: str, wanted: Sequence[Coordinate] | str) -> tuple[tuple[Joint, int], ...]:
        """Return the coordinates that ``joints=`` means; none for all of the tree."""
        if isinstance(wanted, str) and wanted == "all":
            return ()
        if isinstance(wanted, str) or not isinstance(wanted, Sequence) or not wanted:
            raise ModelError(f"{what}: joints is {shown(wanted)}; it must be a list of coordinates, or 'all'")
        found = tuple(self.coordinate(what, one) for one in wanted)
        for joint, k in found:
            if found.count((joint, k)) > 1:
                raise ModelError(f"{what}: joints names {joint.name}.{joint.type.coordinates[k]} twice")
        return found

    def body_coordinate(self, what: str, wanted: Any) -> tuple[Body, str]:
        """Return a body that moves and the name of one of its coordinates."""
        if not isinstance(wanted, tuple) or len(wanted) != 2:
            raise ModelError(f"{what}: body is {shown(wanted)}; it must be (body, coordinate), such as ('crank', 'x')")
        body = self.body(what, wanted[0])
        if not (isinstance(wanted[1], str) and wanted[1] in BODY_COORDINATES):
            names = ", ".join(BODY_COORDINATES)
            raise ModelError(f"{what}: a body has the coordinates {names}, not {shown(wanted[1])}")
        if body is self.model.ground:
            raise ModelError(f"{what} moves ground, which stands still; name another body")
        return body, wanted[1]

    def axes(self, what: str, wanted: Any) -> tuple[tuple[Marker, int], tuple[Marker, int]]:
        """Return two axes of markers on different bodies."""
        if not isinstance(wanted, tuple | list) or len(wanted) != 2:
            raise ModelError(f"{what}: axes is {shown(wanted)}; it must be two markers")
        pairs = [one if isinstance(one, tuple) else (one, "h") for one in wanted]
        for pair in pairs:
            if len(pair) != 2 or not (isinstance(pair[1], str) and pair[1] in MARKER_AXES):
                raise ModelError(f"{what}: {shown(pair)} is no axis; write a marker, or (marker, 'f'), 'g' or 'h'")
        first, second = self.between(what, (pairs[0][0], pairs[1][0]))
        return (first, MARKER_AXES.index(pairs[0][1])), (second, MARKER_AXES.index(pairs[1][1]))

    def check_single_driver(self, driver: Driver) -> None:
        """Refuse a second driver of one coordinate."""
        for other in self.model.drivers.values():
            if (other.joint and other.joint == driver.joint) or (other.body and other.body == driver.body):
                raise ModelError(
                    f"driver {driver.name!r}: {driver.target} is already driven by {other.name!r}; "
                    "one coordinate takes one driver"
                )


def check_new_name(kind: str, name: str, *taken: Mapping[str, object]) -> None:
    """Refuse a name that is empty or that an element of these kinds carries."""
    name_of(kind, name)
    for elements in taken:
        if name in elements:
            other = type(elements[name]).__name__.lower()
            raise ModelError(f"{kind} {name!r}: there is already a {other} of this name; choose another")


def check_one_place(what: str, **given: object) -> None:
    """Refuse a force law that is attached to nothing, or to two things."""
    named = [f"{key}=" for key, value in given.items() if value is not None]
    if len(named) != 1:
        raise ModelError(
            f"{what}: a force law takes one of between=, joint=, joints= or body=, not "
            f"{' and '.join(named) or 'nothing'}"
        )


def check_attached(what: str, law: ForceLaw, **given: object) -> None:
    """Refuse a force that is not attached as its law requires."""
    named = [key for key, value in given.items() if value is not None]
    if named != [law.attaches]:
        got = " and ".join(f"{key}=" for key in named) or "nothing"
        raise ModelError(f"{what}: a {type(law).__name__} takes {law.attaches}=, not {got}")


class ForceModel(Protocol):
    """Part of ``Model`` that adds markers and forces, for files that ``Model`` itself imports."""

    @property
    def ground(self) -> Body:
        """Body that does not move."""

    @property
    def lookup(self) -> ElementLookup:
        """Lookup of the elements."""

    def add_marker(
        self, name: str, body: Body | str, point: Numbers = ..., frame: str | Body = WORLD, axes: Numbers = None
    ) -> Marker:
        """Add a marker."""

    def add_force(
        self,
        name: str,
        law: ForceLaw | UserFunction,
        *,
        between: Between | None = None,
        joint: Coordinate | None = None,
        joints: Sequence[Coordinate] | Literal["all"] | None = None,
        parameters: Mapping[str, Numbers] | None = None,
        states: Mapping[str, Numbers] | None = None,
        units: Mapping[str, str] | None = None,
    ) -> Force:
        """Add a force law."""

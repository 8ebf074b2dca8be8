"""Lookup of elements of a model by object or by name, with errors that name the element that asks."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model.body import Body
from rtmbs.model.checks import Numbers, name_of
from rtmbs.model.constraints import BODY_COORDINATES, MARKER_AXES, Driver
from rtmbs.model.description import ModelDescription
from rtmbs.model.forces import Force, ForceLaw
from rtmbs.model.joint import WORLD, Joint
from rtmbs.model.laws import UserFunction
from rtmbs.model.markers import Marker

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

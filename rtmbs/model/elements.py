"""The elements of a Model by name, and how they are found: what every ``add_`` asks before it adds."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model.body import GROUND, Body, make_ground
from rtmbs.model.checks import Array, Numbers, name_of, number, numbers
from rtmbs.model.closed import Closed
from rtmbs.model.constraints import Constraint
from rtmbs.model.couplers import Coupler
from rtmbs.model.drivers import BODY_COORDINATES, MARKER_AXES, Driver
from rtmbs.model.forces import Force
from rtmbs.model.initial import Initial
from rtmbs.model.joint import Joint
from rtmbs.model.looks import Looks, make_looks
from rtmbs.model.markers import Marker
from rtmbs.model.rods import Rod

Element = TypeVar("Element", Body, Joint, Marker)
Between = tuple[Marker | str, Marker | str]
Axis = Marker | str | tuple[Marker | str, str]
Coordinate = Joint | str | tuple[Joint | str, str]
Ratios = Mapping[Coordinate, float] | Sequence[tuple[Coordinate, float]]


class Elements(Closed):
    """Elements in the order they were added; ``ground`` is the body that stands still."""

    name: str
    gravity: Array  # (3,) world axes [m/s^2]
    h: float | None  # the step that the mechanism asks for, None where any usual one will do [s]
    bodies: dict[str, Body]
    joints: dict[str, Joint]
    markers: dict[str, Marker]
    rods: dict[str, Rod]
    couplers: dict[str, Coupler]
    constraints: dict[str, Constraint]
    forces: dict[str, Force]
    drivers: dict[str, Driver]
    initials: dict[str, Initial]
    looks: dict[str, Looks]  # of bodies in pictures

    def __init__(self, name: str = "model", gravity: Numbers = (0.0, 0.0, -9.81), *, h: float | None = None) -> None:
        self.name = name_of("model", name)
        self.gravity = numbers(gravity, f"model {name!r}: gravity", (3,))
        self.h = None if h is None else number(h, f"model {name!r}: h")
        if self.h is not None and self.h <= 0.0:
            raise ModelError(f"model {name!r}: h is {self.h:g}; it must be positive")
        self.bodies = {GROUND: make_ground()}
        self.joints, self.markers, self.rods, self.couplers = {}, {}, {}, {}
        self.constraints, self.forces, self.drivers, self.initials, self.looks = {}, {}, {}, {}, {}

    def _repr_html_(self) -> str:
        """Return tables of all elements for notebooks."""
        from rtmbs.model.notebook import model_html

        return model_html(self)

    @property
    def ground(self) -> Body:
        """Body that does not move."""
        return self.bodies[GROUND]

    def set_looks(
        self, body: Body | str, *, shape: Any = None, color: str = "", opacity: Numbers = 1.0, edges: bool = True
    ) -> None:
        """Say how a body looks in pictures, in place of what was said before; ground may have a shape too.

        Motion, states and results do not depend on any of these.

        Parameters
        ----------
        body : Body or str
            Body or its name.
        shape : object, optional
            A Box, Cylinder, Sphere, Bar, Surface or Mesh in body axes, or a list of them; None draws bars between the
            joints.
        color : str, default ""
            "#rrggbb" or a name such as "steel"; "" takes one of the theme.
        opacity : float, default 1.0
            Above 0, and 1 for a body that hides what is behind it.
        edges : bool, default True
            Sharp edges are drawn as lines.

        Raises
        ------
        ModelError
            For a value that cannot be.
        """
        found = self._find("body", body, self.bodies, "looks")
        self.looks[found.name] = make_looks(f"body {found.name!r}", shape, color, opacity, edges)

    def _new(self, kind: str, name: str, *taken: Mapping[str, object]) -> None:
        """Refuse a name that is empty or that an element of these kinds carries."""
        name_of(kind, name)
        for elements in taken:
            if name in elements:
                other = type(elements[name]).__name__.lower()
                raise ModelError(f"{kind} {name!r}: there is already a {other} of this name; choose another")

    def _find(self, kind: str, wanted: Element | str, known: Mapping[str, Element], what: str) -> Element:
        """Return the element that an object or a name means."""
        if isinstance(wanted, str):
            if wanted not in known:
                error = unknown_name(kind, wanted, known)
                raise type(error)(f"{what}: {error}")
            return known[wanted]
        name = getattr(wanted, "name", None)
        if not isinstance(name, str) or known.get(name) is not wanted:
            given = f"{kind} {name!r}" if isinstance(name, str) else shown(wanted)
            raise ModelError(f"{what}: {given} is not a {kind} of model {self.name!r}; take one that this model made")
        return wanted

    def _between(self, what: str, between: Between) -> tuple[Marker, Marker]:
        """Return two markers on different bodies."""
        if not isinstance(between, tuple | list) or len(between) != 2:
            raise ModelError(f"{what}: between is {shown(between)}; it must be two markers")
        first, second = (self._find("marker", marker, self.markers, what) for marker in between)
        if first.body is second.body:
            raise ModelError(
                f"{what}: markers {first.name!r} and {second.name!r} are both on body {first.body.name!r}; "
                "they must be on two bodies"
            )
        return first, second

    def _coordinate(self, what: str, wanted: Coordinate) -> tuple[Joint, int]:
        """Return the joint and the number of its coordinate that ``wanted`` means."""
        if isinstance(wanted, tuple) and len(wanted) != 2:
            raise ModelError(f"{what}: {shown(wanted)} is no coordinate; write a joint, or (joint, coordinate)")
        joint = self._find("joint", wanted[0] if isinstance(wanted, tuple) else wanted, self.joints, what)
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

    def _coordinates(self, what: str, wanted: Sequence[Coordinate] | str) -> tuple[tuple[Joint, int], ...]:
        """Return the coordinates that ``joints=`` means; none for all of the tree."""
        if isinstance(wanted, str) and wanted == "all":
            return ()
        if isinstance(wanted, str) or not isinstance(wanted, Sequence) or not wanted:
            raise ModelError(f"{what}: joints is {shown(wanted)}; it must be a list of coordinates, or 'all'")
        found = tuple(self._coordinate(what, one) for one in wanted)
        for joint, k in found:
            if found.count((joint, k)) > 1:
                raise ModelError(f"{what}: joints names {joint.name}.{joint.type.coordinates[k]} twice")
        return found

    def _one_place(self, what: str, **given: object) -> None:
        """Refuse a force law that is attached to nothing, or to two things."""
        named = [f"{key}=" for key, value in given.items() if value is not None]
        if len(named) != 1:
            raise ModelError(
                f"{what}: a force law takes one of between=, joint=, joints= or body=, not "
                f"{' and '.join(named) or 'nothing'}"
            )

    def _only(self, what: str, law: str, attaches: Literal["between", "joint", "body"], **given: object) -> None:
        """Refuse a force that is attached to anything but what its law asks for."""
        named = [key for key, value in given.items() if value is not None]
        if named != [attaches]:
            got = " and ".join(f"{key}=" for key in named) or "nothing"
            raise ModelError(f"{what}: a {law} takes {attaches}=, not {got}")

    def _body_coordinate(self, what: str, wanted: Any) -> tuple[Body, str]:
        """Return a body that moves and the name of one of its coordinates."""
        if not isinstance(wanted, tuple) or len(wanted) != 2:
            raise ModelError(f"{what}: body is {shown(wanted)}; it must be (body, coordinate), such as ('crank', 'x')")
        body = self._find("body", wanted[0], self.bodies, what)
        if not (isinstance(wanted[1], str) and wanted[1] in BODY_COORDINATES):
            names = ", ".join(BODY_COORDINATES)
            raise ModelError(f"{what}: a body has the coordinates {names}, not {shown(wanted[1])}")
        if body is self.ground:
            raise ModelError(f"{what} moves ground, which stands still; name another body")
        return body, wanted[1]

    def _axes(self, what: str, wanted: Any) -> tuple[tuple[Marker, int], tuple[Marker, int]]:
        """Return two axes of markers on different bodies."""
        if not isinstance(wanted, tuple | list) or len(wanted) != 2:
            raise ModelError(f"{what}: axes is {shown(wanted)}; it must be two markers")
        pairs = [one if isinstance(one, tuple) else (one, "h") for one in wanted]
        for pair in pairs:
            if len(pair) != 2 or not (isinstance(pair[1], str) and pair[1] in MARKER_AXES):
                raise ModelError(f"{what}: {shown(pair)} is no axis; write a marker, or (marker, 'f'), 'g' or 'h'")
        first, second = self._between(what, (pairs[0][0], pairs[1][0]))
        return (first, MARKER_AXES.index(pairs[0][1])), (second, MARKER_AXES.index(pairs[1][1]))

    def _one_driver(self, driver: Driver) -> None:
        """Refuse a second driver of one coordinate."""
        for other in self.drivers.values():
            if (other.joint and other.joint == driver.joint) or (other.body and other.body == driver.body):
                raise ModelError(
                    f"driver {driver.name!r}: {driver.target} is already driven by {other.name!r}; "
                    "one coordinate takes one driver"
                )

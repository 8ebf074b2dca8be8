"""Joints between two bodies, and their types.

Joint types: dofs, revolute, helical or prismatic, and the equations of a cut joint (METHODS 1.25).

Equations are in joint axes: world axes at the reference pose, or the axes of the body named by ``frame``. ``u`` is
carried by body a and ``v`` by body b. Phi is ``u . (x_a - x_b)`` for a translation [m] and ``u . v`` for a dot product.

To add one: write a frozen dataclass that answers the checklist of ``JointType`` under the decorator ``rtmbs.register``;
``tests/system/test_joint_types.py`` holds the dofs of all registered ones against their equations.

A joint between two bodies, with its point and axes in both of them, and its initial values.
"""

import math
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np

from rtmbs.core.names import ADDING, add_class
from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model.body import Body
from rtmbs.model.checks import (
    Array,
    Numbers,
    direction,
    number,
    numbers,
    perpendiculars,
    rotation,
    shape_of,
    switch,
    unit_vector,
)

NONE = np.zeros(3)


class JointEquation(NamedTuple):
    """One equation of a cut joint.

    Parameters
    ----------
    kind : {'translation', 'dot'}
        Kind of the equation: ``u . (x_a - x_b)`` of a translation [m], ``u . v`` of a dot product.
    u : ndarray
        Direction (3,) in joint axes, carried by body a.
    v : ndarray
        Direction (3,) in joint axes, carried by body b; zero for a translation.
    label : str
        Name of the equation, which follows that of the joint.
    """

    kind: Literal["translation", "dot"]
    u: Array  # (3,) joint axes, carried by body a
    v: Array  # (3,) joint axes, carried by body b; zero for a translation
    label: str  # its name after the joint's


JointEquations = tuple[JointEquation, ...]


def same_point() -> JointEquations:
    """Three: the two points coincide."""
    x, y, z = np.eye(3)
    return (translation(x, "x"), translation(y, "y"), translation(z, "z"))


def same_line(axis: Array) -> JointEquations:
    """Two: the point of b lies on the line of a along ``axis``."""
    first, second = perpendiculars(axis)
    return (translation(first, "across_1"), translation(second, "across_2"))


def same_plane(normal: Array) -> JointEquations:
    """One: the point of b lies in the plane of a."""
    return (translation(normal, "along"),)


def parallel(axis: Array) -> JointEquations:
    """Two: the axis of b keeps the direction of that of a (or the opposite one, which assembly must exclude)."""
    first, second = perpendiculars(axis)
    return (JointEquation("dot", axis, first, "tilt_1"), JointEquation("dot", axis, second, "tilt_2"))


def perpendicular(axis_a: Array, axis_b: Array) -> JointEquations:
    """One: the axis of b stays perpendicular to that of a."""
    return (JointEquation("dot", axis_a, axis_b, "cross"),)


def same_orientation(axis: Array) -> JointEquations:
    """Three, u_x . v_y, u_y . v_z, u_z . v_x over a triad with ``axis`` last: independent at the aligned pose."""
    x, y = perpendiculars(axis)
    z = axis
    return (
        JointEquation("dot", x, y, "turn_1"),
        JointEquation("dot", y, z, "turn_2"),
        JointEquation("dot", z, x, "turn_3"),
    )


def translation(axis: Array, label: str) -> JointEquation:
    return JointEquation("translation", axis, NONE, label)


Kind = Literal["revolute", "prismatic", "rotation"]
UNITS: dict[Kind, str] = {"revolute": "rad", "prismatic": "m", "rotation": "rad"}
PERPENDICULAR = 1e-8  # largest cosine that is taken for rounding
X, Y, Z = np.eye(3)


class Dof(NamedTuple):
    """One elementary degree of freedom, on the way from body a to body b.

    Parameters
    ----------
    kind : {'revolute', 'prismatic', 'rotation'}
        Kind of the degree of freedom.
    axis : ndarray
        Unit vector (3,) in joint axes; of a rotation, in the axes of the body that the tree enters.
    pitch : float, default 0.0
        Way along the axis per radian of a revolute dof [m/rad]; one that is not zero makes it helical.
    """

    kind: Kind
    axis: Array  # (3,) unit vector in joint axes; of a rotation, in the axes of the body that the tree enters
    pitch: float = 0.0  # of a revolute dof: the way along the axis per radian [m/rad]; not zero: it is helical


ROTATION = (Dof("rotation", X), Dof("rotation", Y), Dof("rotation", Z))  # always these three, in this order


class Between(Protocol):
    """The motion of body b relative to body a, as a joint type reads it: values, rates and accelerations."""

    def slide(self, k: int) -> Any:
        """Return how far b slid along the axis of dof ``k``, which a carries."""

    def turn(self, k: int) -> Any:
        """Return how far b turned about the axis of dof ``k``, which both carry."""

    def two_turns(self, first: int, second: int) -> tuple[Any, Any]:
        """Return the turns about an axis that a carries, then about a perpendicular one that b carries."""


class PlaneAngle(NamedTuple):
    """The angle of a direction ``seen`` of one body in the plane x, y of the other; all in joint axes (3,)."""

    x: Array
    y: Array
    seen: Array


def turn_angle(axis: Array) -> PlaneAngle:
    """Return the turn about an axis (3,) that both bodies carry: a direction of b in a plane of a."""
    across, along = perpendiculars(axis)
    return PlaneAngle(across, along, across)


def two_turn_angles(e: Array, f: Array) -> tuple[PlaneAngle, PlaneAngle]:
    """Return the turns about e (3,), carried by a, then about f (3,), carried by b: R = exp(e~ alpha) exp(f~ beta).

    f of b seen from a is cos alpha f + sin alpha e x f. e of a seen from b is cos beta e + sin beta e x f. Raises
    ModelError for axes that are not perpendicular: these sentences do not hold for them.
    """
    cosine = abs(float(e @ f))
    if cosine > PERPENDICULAR:
        raise ModelError(
            f"two turns about axes of cosine {cosine:.3g} cannot be read from the bodies; "
            "a joint type with two turns that are measured needs a right angle between them"
        )
    across = np.cross(e, f)
    return PlaneAngle(f, across, f), PlaneAngle(e, across, e)


def is_number_field(field: Field[Any]) -> bool:
    """Return whether a field of a joint type is a number; the others are directions."""
    return field.type in (float, "float")


@dataclass(frozen=True)
class JointType:
    """Base class and checklist of joint types.

    1. Its fields are directions in joint axes (world axes at the reference pose, or those of ``frame=``). A field of
       type ``float`` is a number, with its unit in ``field_units``.
    2. ``coordinates`` names its public coordinates, one a dof, or is empty when there are rotations among them.
    3. ``start`` says what ``set_initial`` takes: ``coordinates`` (a value for each), ``quaternion`` (of b relative to
       a), ``pose`` (point and quaternion) or ``nothing``.
    4. ``dofs()`` lists its dofs from a to b. A dof's axis is fixed in what stands before it and after it.
       ``ROTATION`` are the three that turn in every way.
    5. ``equations()`` lists its equations when it is cut: as many as 6 less the number of dofs. They hold for all
       values of the coordinates, and their Jacobian has full rank at the reference pose. A pitch needs no equation, and
       counts as one: turns are counted by a coordinate, so a cut joint with a pitch keeps its coordinates. A joint
       that ``obstacle()`` speaks of keeps them too, and its equations are not asked for.
    6. ``aligned()`` lists the directions that point the same way in a and b whenever the joint is assembled; equations
       of dot products would also accept the opposite.
    7. ``measure(between)`` reads its coordinates off the motion of b relative to a, for a joint that no tree walks.
    8. ``drawn_as`` says what a window shows: a pin, a rail, a sleeve (round) or a plate along the first axis, a cross
       of the first two axes, a ball, or a weld.
    """

    coordinates: ClassVar[tuple[str, ...]] = ()
    start: ClassVar[Literal["coordinates", "quaternion", "pose", "nothing"]] = "coordinates"
    drawn_as: ClassVar[Literal["pin", "rail", "sleeve", "plate", "cross", "ball", "weld"]] = "ball"
    field_units: ClassVar[Mapping[str, str]] = {}  # of numbers among the fields

    def dofs(self) -> tuple[Dof, ...]:
        raise NotImplementedError

    def equations(self) -> JointEquations:
        return ()

    def aligned(self) -> tuple[Array, ...]:
        return ()

    def measure(self, between: "Between") -> tuple[Any, ...]:
        """Return the motion of every public coordinate; axes of dofs are those of body a at zero coordinates.

        Parameters
        ----------
        between : Between
            Positions, orientations and rates of the two bodies.

        Returns
        -------
        tuple[object, ...]
            Motion of every public coordinate; axes of dofs are those of body a at zero coordinates.
        """
        dofs = self.dofs()
        turns = [k for k, dof in enumerate(dofs) if dof.kind == "revolute"]
        two = dict(zip(turns, between.two_turns(*turns), strict=True)) if len(turns) == 2 else {}
        return tuple(
            between.slide(k) if dof.kind == "prismatic" else two[k] if two else between.turn(k)
            for k, dof in enumerate(dofs)
        )

    @property
    def pitched(self) -> tuple[int, ...]:
        """Numbers of the helical dofs."""
        return tuple(k for k, dof in enumerate(self.dofs()) if dof.pitch != 0.0)

    def slide_obstacle(self, k: int) -> str:
        """Return why the slide along the axis of dof ``k`` cannot be read off the bodies; empty where it can.

        Parameters
        ----------
        k : int
            Number of the dof.

        Returns
        -------
        str
            What the joint does, for a message, or nothing.
        """
        dofs = self.dofs()
        if any(dof.kind == "revolute" for dof in dofs[:k]):
            return "slides after it turned"
        others = [dof for dof in dofs if dof is not dofs[k] and (dof.kind == "prismatic" or dof.pitch != 0.0)]
        if any(abs(float(dof.axis @ dofs[k].axis)) > PERPENDICULAR for dof in others):
            return "slides along axes that are not perpendicular"
        return ""

    def obstacle(self) -> str:
        """Return why the coordinates cannot be read off the two bodies; empty where they can.

        Returns
        -------
        str
            What the joint does, for a message, or nothing.
        """
        dofs = self.dofs()
        if not self.coordinates:
            return ""
        turns = [dof.axis for dof in dofs if dof.kind == "revolute"]
        if len(turns) > 2:
            return "turns about more than two axes"
        if len(turns) == 2 and abs(float(turns[0] @ turns[1])) > PERPENDICULAR:
            return "turns about two axes that are not perpendicular"
        slides = [k for k, dof in enumerate(dofs) if dof.kind == "prismatic" or dof.pitch != 0.0]
        if found := [why for k in slides if (why := self.slide_obstacle(k))]:
            return found[0]
        missing = 6 - len(dofs) - len(self.pitched) - len(self.equations())
        return f"lacks {missing} equations" if missing > 0 else ""

    def held(self) -> JointEquations:
        """Return the directions of force and moment that the joint passes on: those of its equations, axes of pitch.

        Returns
        -------
        JointEquations
            As many as 6 less the number of dofs.
        """
        axes = [self.dofs()[k].axis for k in self.pitched]
        return (*self.equations(), *(translation(axis, f"pitch_{k + 1}") for k, axis in enumerate(axes)))

    @property
    def free(self) -> bool:
        """True of a joint that holds nothing."""
        return len(self.dofs()) == 6

    @property
    def turns_freely(self) -> bool:
        """True of a joint that turns in every way, so that its turn has no coordinates."""
        return any(dof.kind == "rotation" for dof in self.dofs())

    def __post_init__(self) -> None:
        """Check directions and numbers."""
        for one in fields(self):
            check = number if is_number_field(one) else direction
            check(getattr(self, one.name), f"{type(self).__name__}: {one.name}")

    def checked(self, what: str) -> Self:
        """Return this type with unit directions and plain numbers; refuse a zero direction.

        Parameters
        ----------
        what : str
            Name of the joint type in the message.

        Returns
        -------
        Cylindrical
            This type with unit directions.
        """
        found: dict[str, Any] = {}
        for one in fields(self):
            value, name = getattr(self, one.name), f"{what}: {one.name}"
            found[one.name] = number(value, name) if is_number_field(one) else tuple(direction(value, name).tolist())
        return replace(self, **found)

    @classmethod
    def example(cls, triad: Array) -> Self:
        """Return one of this type with its directions along the columns of ``triad`` (3, 3), numbers 0.4; for tests.

        Parameters
        ----------
        triad : ndarray
            Directions (3, 3) as columns.

        Returns
        -------
        Cylindrical
            One of this type with its directions along the columns of ``triad`` (3, 3), numbers 0.4; for tests.
        """
        columns = iter(np.transpose(triad).tolist())
        return cls(**{one.name: 0.4 if is_number_field(one) else tuple(next(columns)) for one in fields(cls)})

    def units(self) -> tuple[str, ...]:
        """Return the unit of every public coordinate.

        Returns
        -------
        tuple[str, ...]
            Unit of every public coordinate.
        """
        return tuple(UNITS[dof.kind] for dof in self.dofs()) if self.coordinates else ()


@dataclass(frozen=True)
class Revolute(JointType):
    """Revolute joint: turns about ``axis``.

    Parameters
    ----------
    axis : array_like
        Direction (3,), of any length.
    """

    axis: Numbers
    coordinates = ("angle",)
    drawn_as = "pin"

    def dofs(self) -> tuple[Dof, ...]:
        return (Dof("revolute", np.array(self.axis)),)

    def equations(self) -> JointEquations:
        return same_point() + parallel(np.array(self.axis))

    def aligned(self) -> tuple[Array, ...]:
        return (np.array(self.axis),)


@dataclass(frozen=True)
class Prismatic(JointType):
    """Prismatic joint: slides along ``axis``.

    Parameters
    ----------
    axis : array_like
        Direction (3,), of any length.
    """

    axis: Numbers
    coordinates = ("displacement",)
    drawn_as = "rail"

    def dofs(self) -> tuple[Dof, ...]:
        return (Dof("prismatic", np.array(self.axis)),)

    def equations(self) -> JointEquations:
        return same_line(np.array(self.axis)) + same_orientation(np.array(self.axis))

    def aligned(self) -> tuple[Array, ...]:
        return (np.array(self.axis), *perpendiculars(np.array(self.axis)))


@dataclass(frozen=True)
class Cylindrical(JointType):
    """Cylindrical joint: slides along ``axis`` and turns about it.

    Parameters
    ----------
    axis : array_like
        Direction (3,), of any length.
    """

    axis: Numbers
    coordinates = ("displacement", "angle")
    drawn_as = "sleeve"

    def dofs(self) -> tuple[Dof, ...]:
        """Return the degrees of freedom of the joint in a tree.

        Returns
        -------
        tuple[Dof, ...]
            Degrees of freedom of the joint, in order.
        """
        return (Dof("prismatic", np.array(self.axis)), Dof("revolute", np.array(self.axis)))

    def equations(self) -> JointEquations:
        """Return the equations of the joint where it is cut.

        Returns
        -------
        JointEquations
            Equations of the cut joint.
        """
        return same_line(np.array(self.axis)) + parallel(np.array(self.axis))

    def aligned(self) -> tuple[Array, ...]:
        """Return the directions that are parallel in both bodies.

        Returns
        -------
        tuple[ndarray, ...]
            Directions (3,) that both bodies share.
        """
        return (np.array(self.axis),)


@dataclass(frozen=True)
class Screw(JointType):
    """Screw joint, or helical joint: turns about ``axis`` and slides along it by ``pitch`` a turn.

    A positive pitch is a right-handed thread. The coordinate is the angle [rad], which counts turns.

    Parameters
    ----------
    axis : array_like
        Direction (3,), of any length.
    pitch : float
        Way of body b along ``axis`` in one turn [m], as in ``Model.add_screw``; the lead of a thread of several starts.
    """

    axis: Numbers
    pitch: float
    coordinates = ("angle",)
    drawn_as = "sleeve"
    field_units: ClassVar[Mapping[str, str]] = {"pitch": "m"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pitch == 0.0:
            raise ModelError("Screw: pitch is 0; it must be a way along the axis, since Revolute turns without one")

    def dofs(self) -> tuple[Dof, ...]:
        return (Dof("revolute", np.array(self.axis), self.pitch / (2.0 * math.pi)),)

    def equations(self) -> JointEquations:
        return same_line(np.array(self.axis)) + parallel(np.array(self.axis))

    def aligned(self) -> tuple[Array, ...]:
        return (np.array(self.axis),)


@dataclass(frozen=True)
class Universal(JointType):
    """Universal joint: turns about ``axis_a`` of body a, then about ``axis_b`` of body b, perpendicular to it.

    Parameters
    ----------
    axis_a : array_like
        First axis (3,), fixed in body a.
    axis_b : array_like
        Second axis (3,), fixed in body b and perpendicular to the first.
    """

    axis_a: Numbers
    axis_b: Numbers
    coordinates = ("angle_a", "angle_b")
    drawn_as = "cross"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_square("Universal")

    def check_square(self, what: str) -> None:
        """Refuse axes that are not perpendicular.

        Parameters
        ----------
        what : str
            Name of the joint type in the message.

        Raises
        ------
        ModelError
            For axes that are not perpendicular.
        """
        cosine = abs(float(np.dot(direction(self.axis_a, what), direction(self.axis_b, what))))
        if cosine > PERPENDICULAR:
            raise ModelError(
                f"{what}: axis_a and axis_b are not perpendicular, their cosine is {cosine:.3g}; "
                "a universal joint needs a right angle between them"
            )

    def dofs(self) -> tuple[Dof, ...]:
        return (Dof("revolute", np.array(self.axis_a)), Dof("revolute", np.array(self.axis_b)))

    def equations(self) -> JointEquations:
        return same_point() + perpendicular(np.array(self.axis_a), np.array(self.axis_b))


@dataclass(frozen=True)
class Planar(JointType):
    """Planar joint: slides in the plane with this ``normal``, fixed in body a, and turns about it.

    x is the base vector that the normal has least of, made perpendicular, and y = normal cross x.

    Parameters
    ----------
    normal : array_like
        Normal (3,) of the plane, fixed in body a.
    """

    normal: Numbers
    coordinates = ("x", "y", "angle")
    drawn_as = "plate"

    def dofs(self) -> tuple[Dof, ...]:
        x, y = perpendiculars(np.array(self.normal))
        return (Dof("prismatic", x), Dof("prismatic", y), Dof("revolute", np.array(self.normal)))

    def equations(self) -> JointEquations:
        return same_plane(np.array(self.normal)) + parallel(np.array(self.normal))

    def aligned(self) -> tuple[Array, ...]:
        return (np.array(self.normal),)


@dataclass(frozen=True)
class Spherical(JointType):
    """Spherical joint: turns about a point in every way."""

    start = "quaternion"

    def dofs(self) -> tuple[Dof, ...]:
        return ROTATION

    def equations(self) -> JointEquations:
        return same_point()


@dataclass(frozen=True)
class Floating(JointType):
    """Floating joint: six coordinates and no restraint."""

    start = "pose"

    def dofs(self) -> tuple[Dof, ...]:
        return (Dof("prismatic", X), Dof("prismatic", Y), Dof("prismatic", Z), *ROTATION)

    def equations(self) -> JointEquations:
        return ()


@dataclass(frozen=True)
class Line(JointType):
    """Point-on-line joint: keeps a point of body b on a line of body a along ``axis``, a pin seen in its plane.

    Parameters
    ----------
    axis : array_like
        Direction (3,), of any length.
    """

    axis: Numbers
    start = "nothing"

    def dofs(self) -> tuple[Dof, ...]:
        return (Dof("prismatic", np.array(self.axis)), *ROTATION)

    def equations(self) -> JointEquations:
        return same_line(np.array(self.axis))


@dataclass(frozen=True)
class Fixed(JointType):
    """Fixed joint: holds b to a."""

    start = "nothing"
    drawn_as = "weld"

    def dofs(self) -> tuple[Dof, ...]:
        return ()

    def equations(self) -> JointEquations:
        return same_point() + same_orientation(Z)

    def aligned(self) -> tuple[Array, ...]:
        return (X, Y, Z)


JOINT_TYPES: dict[str, type[JointType]] = {
    kind.__name__: kind
    for kind in (Revolute, Prismatic, Cylindrical, Screw, Universal, Planar, Spherical, Floating, Line, Fixed)
}


def add_joint_type(kind: type[JointType]) -> None:
    """Add a joint type of the user to ``JOINT_TYPES``."""
    add_class(JOINT_TYPES, "joint type", kind.__name__, kind)


ADDING[JointType] = add_joint_type


WORLD = "world"
ClosureOption = Literal["line", "point"]
CLOSURE_OPTIONS = {"line": 2, "point": 3}  # equations


@dataclass(frozen=True, eq=False)
class Joint:
    """Joint between the bodies ``a`` and ``b``; a positive coordinate moves b relative to a.

    ``Model.add_joint`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the joint.
    type : JointType
        Type of the joint with its directions.
    a : Body
        First body.
    b : Body
        Second body.
    point_a : ndarray
        Joint point (3,) in body axes of a [m].
    point_b : ndarray
        Joint point (3,) in body axes of b [m].
    axes_a : ndarray
        Rotation (3, 3) from joint axes to body axes of a.
    axes_b : ndarray
        Rotation (3, 3) from joint axes to body axes of b.
    cut : bool
        True to close a loop in this joint.
    closure : ClosureOption or None
        Closure of a cut revolute: "line" (2 equations), "point" (3), or None for all five.
    """

    name: str
    type: JointType
    a: Body
    b: Body
    point_a: Array  # (3,) body axes of a [m]
    point_b: Array  # (3,) body axes of b [m]
    axes_a: Array  # (3, 3) joint axes to body axes of a
    axes_b: Array  # (3, 3) joint axes to body axes of b
    cut: bool
    closure: ClosureOption | None  # how a cut revolute is closed when not by its five equations

    @property
    def equation_count(self) -> int:
        """Number of equations of the cut joint."""
        return 6 - len(self.type.dofs()) if self.closure is None else CLOSURE_OPTIONS[self.closure]

    def equations(self) -> JointEquations:
        """Return the equations of this joint when it is cut.

        Returns
        -------
        tuple[JointEquation, ...]
            Equations of the joint type, or those of the ``closure`` of a revolute.
        """
        if self.closure == "point":
            return Spherical().equations()
        if self.closure == "line" and isinstance(self.type, Revolute):
            return Line(self.type.axis).equations()
        return self.type.equations()

    def aligned(self) -> tuple[Array, ...]:
        """Return the directions that must point the same way in both bodies when the joint is cut.

        Returns
        -------
        tuple[ndarray, ...]
            Directions (3,) in joint axes; none for a joint with a ``closure``.
        """
        return () if self.closure else self.type.aligned()


def make_joint(
    name: str,
    type: JointType,
    a: Body,
    b: Body,
    point: Numbers,
    points: tuple[Numbers, Numbers],
    frame: Body | None,
    turns: tuple[Numbers, Numbers],
    cut: bool,
    closure: ClosureOption | None,
) -> Joint:
    """Return a checked joint: one ``point`` of the frame or ``points`` in a and b, axes of the frame or ``turns``."""
    what = f"joint {name!r}"
    if not isinstance(type, JointType) or type.__class__ is JointType:
        raise ModelError(f"{what}: {shown(type)} is not a joint type; write one such as Revolute(axis=(1, 0, 0))")
    if a is b:
        raise ModelError(f"{what} joins body {a.name!r} to itself; name two different bodies")
    if closure is not None and not (isinstance(closure, str) and closure in CLOSURE_OPTIONS):
        raise ModelError(f"{what}: closure is {shown(closure)}; it must be 'line', 'point' or None")
    if closure is not None and not isinstance(type, Revolute):
        raise ModelError(f"{what}: closure={closure!r} is for a cut Revolute; write the joint as Line or Spherical")
    point_a, point_b = joint_points(what, a, b, point, points, frame)
    axes_a, axes_b = joint_axes(what, a, b, turns, frame)
    return Joint(name, type.checked(what), a, b, point_a, point_b, axes_a, axes_b, switch(cut, f"{what}: cut"), closure)


def joint_points(
    what: str, a: Body, b: Body, point: Numbers, points: tuple[Numbers, Numbers], frame: Body | None
) -> tuple[Array, Array]:
    """Return the joint's point in the axes of a and of b."""
    given = [value is not None for value in points]
    if any(given):
        if point is not None or not all(given):
            raise ModelError(f"{what}: give point=, or both point_a= and point_b=")
        point_a, point_b = points
        return numbers(point_a, f"{what}: point_a", (3,)), numbers(point_b, f"{what}: point_b", (3,))
    local = numbers((0.0, 0.0, 0.0) if point is None else point, f"{what}: point", (3,))
    world = local if frame is None else frame.world(local)
    return frozen(a.local(world)), frozen(b.local(world))


def joint_axes(what: str, a: Body, b: Body, turns: tuple[Numbers, Numbers], frame: Body | None) -> tuple[Array, Array]:
    """Return the rotations of joint axes to the axes of a and of b."""
    given = [value is not None for value in turns]
    if any(given):
        if frame is not None or not all(given):
            raise ModelError(f"{what}: give frame=, or both axes_a= and axes_b=")
        return rotation(turns[0], f"{what}: axes_a"), rotation(turns[1], f"{what}: axes_b")
    orientation = np.eye(3) if frame is None else frame.orientation
    return frozen(a.orientation.T @ orientation), frozen(b.orientation.T @ orientation)


def frame_body(what: str, frame: str | Body, bodies: Mapping[str, Body]) -> Body | None:
    """Return the body whose axes ``frame`` names, None for world axes."""
    if isinstance(frame, str):
        if frame == WORLD:
            return None
        if frame not in bodies:
            raise ModelError(f"{what}: frame: {unknown_name('body', frame, [WORLD, *bodies])}")
        return bodies[frame]
    if not isinstance(frame, Body):
        raise ModelError(f"{what}: frame is {shown(frame)}; it must be 'world', or a body or its name")
    return frame


def frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


MOST_TURNS = 4  # of a first angle
SIZES = {"quaternion": (4, 3), "pose": (7, 6)}  # numbers of a position and of a rate
MEANINGS = {
    "quaternion": (
        "a quaternion (w, x, y, z) of b relative to a",
        "the angular velocity of b relative to a in b's axes",
    ),
    "pose": ("(x, y, z, qw, qx, qy, qz)", "rates of x, y, z, angular velocity in b's axes"),
}


@dataclass(frozen=True, eq=False)
class Initial:
    """Start values of one joint, in the order of its coordinates.

    ``Model.set_initial`` makes and checks it.

    Parameters
    ----------
    joint : Joint
        Joint that starts there.
    position : ndarray or None
        Coordinates at the start [rad or m], or the numbers of a pose; None leaves them to the assembly.
    rate : ndarray or None
        Rates at the start [rad/s or m/s]; None leaves them to the assembly.
    pin : bool
        True when assembly must keep these values.
    weight : float
        Weight of the change that assembly may make, against 1 for all others.
    """

    joint: Joint
    position: Array | None
    rate: Array | None
    pin: bool
    weight: float  # of the change that assembly may make, against 1 for all others


def make_initial(
    joint: Joint, position: Numbers, rate: Numbers, pin: bool, weight: Numbers, most_turns: float = MOST_TURNS
) -> Initial:
    """Return checked start values; an angle of more turns is refused, as one in degrees."""
    what = f"initial value of joint {joint.name!r}"
    if joint.type.start == "nothing":
        raise ModelError(f"{what}: a {type(joint.type).__name__} joint has no coordinate to start from")
    if position is None and rate is None:
        raise ModelError(f"{what}: give position=, rate= or both")
    if isinstance(weight, float) and weight == math.inf:  # no weight keeps a value exactly, a pin does
        pin, weight = True, 1.0
    heavy = number(weight, f"{what}: weight")
    if heavy <= 0.0:
        raise ModelError(f"{what}: weight is {heavy}; it must be above zero")
    places = None if position is None else start_values(joint, position, f"{what}: position", 0)
    if places is not None and joint.type.start == "coordinates":
        check_turns(joint, places, f"{what}: position", most_turns)
    rates = None if rate is None else start_values(joint, rate, f"{what}: rate", 1)
    return Initial(joint, places, rates, switch(pin, f"{what}: pin"), heavy)


def start_values(joint: Joint, value: Numbers, what: str, order: int) -> Array:
    """Return the numbers of a position (order 0) or rate (order 1), quaternions normalised."""
    names = joint.type.coordinates
    if joint.type.start == "coordinates":
        size, meaning = len(names), ", ".join(names)
    else:
        size, meaning = SIZES[joint.type.start][order], MEANINGS[joint.type.start][order]
    wanted = f"it must be {size} number{'s' * (size > 1)}: {meaning}"
    shape = shape_of(value, what, wanted)
    if shape != (size,) and not (size == 1 and shape == ()):
        raise ModelError(f"{what} is {shown(value)}; {wanted}")
    values = np.array(numbers(np.reshape(value, size), what, (size,)))
    if order == 0 and joint.type.start != "coordinates":
        if not np.any(values[-4:]):
            raise ModelError(f"{what} has a zero quaternion; no rotation is (1, 0, 0, 0)")
        values[-4:] = unit_vector(values[-4:])
    return values


def check_turns(joint: Joint, values: Array, what: str, most: float) -> None:
    """Refuse an angle of many turns, which is one in degrees."""
    for dof, name, value in zip(joint.type.dofs(), joint.type.coordinates, values, strict=True):
        if dof.kind == "revolute" and abs(value) > most * 2.0 * math.pi:
            raise ModelError(f"{what}: {in_degrees(name, value)}; start within {most:g} turns of zero")


def in_degrees(name: str, value: float) -> str:
    """Return the sentence about an angle that seems to be one in degrees."""
    return (
        f"{name} is {value:g} rad, {abs(value) / (2.0 * math.pi):.3g} turns. Angles are in radians: "
        f"math.radians({value:g}) is {math.radians(value):.4g}"
    )

"""A joint between two bodies, with its point and axes in both of them, and its initial values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model.body import Body
from rtmbs.model.checks import Array, Numbers, number, numbers, rotation, shape_of, switch, unit_vector
from rtmbs.model.joints import JointEquations, JointType, Line, Revolute, Spherical

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

"""A joint between two bodies: its type, and where its point and axes stand in either of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rtmbs.errors import ModelError, shown, unknown_name
from rtmbs.model.body import Body
from rtmbs.model.checks import Array, Numbers, numbers, rotation, switch
from rtmbs.model.joint_equations import JointEquations
from rtmbs.model.joints import JointType, Line, Revolute, Spherical

WORLD = "world"
ClosureOption = Literal["line", "point"]
CLOSURE_OPTIONS = {"line": 2, "point": 3}  # equations


@dataclass(frozen=True, eq=False)
class Joint:
    """Joins ``a`` and ``b``; a positive coordinate moves b relative to a."""

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
        """Number of equations when it is cut."""
        return 6 - len(self.type.dofs()) if self.closure is None else CLOSURE_OPTIONS[self.closure]

    def equations(self) -> JointEquations:
        """Return the equations of this joint when it is cut."""
        if self.closure == "point":
            return Spherical().equations()
        if self.closure == "line" and isinstance(self.type, Revolute):
            return Line(self.type.axis).equations()
        return self.type.equations()

    def aligned(self) -> tuple[Array, ...]:
        """Return the directions (joint axes) that must point the same way in both bodies when it is cut."""
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

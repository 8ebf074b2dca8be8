"""Equations of a cut joint, as METHODS 1.25 lists them: which component of the gap, or which two axes, each holds.

Axes are joint axes: world axes at the reference pose, or the axes of the body named by ``frame``. ``u`` is carried by
body a and ``v`` by body b. Phi is ``u . (x_a - x_b)`` for a translation [m] and ``u . v`` for a dot product [1].
"""

from typing import Literal, NamedTuple

import numpy as np

from rtmbs.model.checks import Array, perpendiculars

NONE = np.zeros(3)


class JointEquation(NamedTuple):
    """One equation of a cut joint."""

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

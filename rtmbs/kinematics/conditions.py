"""Primitive constraint equations, each evaluated at many places at once, in NumPy that ``rtmbs.ad`` records.

A place is a body and a vector in its axes. Points and distances are in metres, products of axes have no unit.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.coordinates import SIZE
from rtmbs.model.joints import Dof
from rtmbs.numerics.rotations.quaternions import rotation_entries

Array = NDArray[np.float64]
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

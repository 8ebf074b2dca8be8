"""Yaw, pitch and roll of a quaternion that is a function of time, with exact rates and accelerations."""

import math
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, ModelError, shown
from rtmbs.model.checks import rotation_of_quaternion
from rtmbs.rotations.quaternions import conjugate, product

Array = NDArray[np.float64]
Quaternion = Callable[[float], tuple[Any, Any, Any]]

STEEPEST = 0.9998  # sine of the pitch: yaw and roll are one turn beyond
NEXT, TURNED, LEAST = 0.05, 0.5, 1e-6  # [s], [rad], [s]: how far apart angles are compared to count whole turns


def angles_of(quaternion: Quaternion, what: str) -> tuple["Angle", ...]:
    """Return profiles of yaw, pitch and roll of a quaternion, whole turns counted."""
    at = lru_cache(maxsize=512)(lambda t: cardan(quaternion, t, what))
    return tuple(Angle(at, k) for k in range(3))


class Angle:
    """One angle of a turn: the value, its rate and its acceleration; continuous through whole turns from t = 0."""

    jumps = ()

    def __init__(self, at: Callable[[float], Array], k: int) -> None:
        self.at, self.k = at, k
        self.known = {sign: [(0.0, float(at(0.0)[0, k]))] for sign in (1.0, -1.0)}  # (|t|, angle), by the sign of t

    def __call__(self, t: float) -> tuple[float, float, float]:
        f, fd, fdd = (float(one) for one in self.at(float(t))[:, self.k])
        return self.continued(f, float(t)), fd, fdd

    def continued(self, f: float, t: float) -> float:
        """Return an angle with the whole turns that it has made since t = 0."""
        sign = math.copysign(1.0, t)
        nodes = self.known[sign]
        while nodes[-1][0] < abs(t):
            place, value = nodes[-1]
            rate = abs(float(self.at(sign * place)[1, self.k]))
            after = place + max(min(NEXT, TURNED / max(rate, 1e-300)), LEAST)
            nodes.append((after, nearest(float(self.at(sign * after)[0, self.k]), value)))
        return nearest(f, nodes[bisect_right(nodes, abs(t), key=lambda node: node[0]) - 1][1])


def nearest(angle: float, other: float) -> float:
    """Return an angle plus whole turns, the nearest to another."""
    return angle + 2.0 * math.pi * round((other - angle) / (2.0 * math.pi))


def cardan(quaternion: Quaternion, t: float, what: str) -> Array:
    """Return yaw, pitch and roll with rates and accelerations (3, 3) of a quaternion with its two derivatives."""
    try:
        q, qd, qdd = np.asarray(quaternion(t), np.float64).reshape(3, 4)
    except (TypeError, ValueError):
        raise ModelError(
            f"{what}: quaternion must return (q, qd, qdd) at t = {t:g}, four numbers each, not {shown(quaternion(t))}"
        ) from None
    n = float(q @ q)
    if not (math.isfinite(n) and n > 0.0):
        raise ModelError(f"{what}: quaternion is {shown(q.tolist())} at t = {t:g}; no rotation is (1, 0, 0, 0)")
    R = rotation_of_quaternion(q / math.sqrt(n))
    back = conjugate(q)
    w = 2.0 * product(qd, back)[1:] / n
    alpha = 2.0 * product(qdd, back)[1:] / n - w * 2.0 * float(q @ qd) / n
    if abs(R[2, 0]) > STEEPEST:
        raise InputError(
            f"{what}: the pitch is {math.degrees(math.asin(-np.clip(R[2, 0], -1, 1))):.4g} degrees at t = {t:g} s, "
            "where yaw and roll are one turn; give axes= turned so that the pitch stays small"
        )
    yaw, pitch, roll = math.atan2(R[1, 0], R[0, 0]), math.asin(-R[2, 0]), math.atan2(R[2, 1], R[2, 2])
    first, second = np.array((0.0, 0.0, 1.0)), np.array((-math.sin(yaw), math.cos(yaw), 0.0))
    third = R[:, 0]
    J = np.column_stack((first, second, third))
    rates = np.linalg.solve(J, w)
    carried = rates[0] * first + rates[1] * second
    moved = rates[1] * np.cross(rates[0] * first, second) + rates[2] * np.cross(carried, third)
    return np.array(((yaw, pitch, roll), rates, np.linalg.solve(J, alpha - moved)))

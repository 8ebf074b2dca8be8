"""The heavy asymmetric top by Euler's equations and a quaternion."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rtmbs.library.references.motion import GRAVITY, Array, states
from rtmbs.library.top import CENTER, INERTIA, MASS, RATE


class TopMotion(NamedTuple):
    """At the asked times: ``(4,)`` or ``(times, 4)``, ``(3,)`` or ``(times, 3)``."""

    quaternion: Array  # (w, x, y, z), body to world
    omega: Array  # body axes [rad/s]


def top(times: ArrayLike) -> TopMotion:
    """Return the motion of ``rtmbs.library.build("top")``: I w' = m c x g - w x I w about the pivot, body axes."""
    center = np.array(CENTER)
    inertia = np.diag(INERTIA) + MASS * (center @ center * np.eye(3) - np.outer(center, center))

    def flow(_: float, y: Array) -> Array:
        (a, b, c, d), omega = y[:4], y[4:]
        p, q, r = omega
        turn = [-b * p - c * q - d * r, a * p + c * r - d * q, a * q + d * p - b * r, a * r + b * q - c * p]
        gravity = -GRAVITY * np.array([2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)])
        moment = MASS * np.cross(center, gravity) - np.cross(omega, inertia @ omega)
        return np.concatenate([0.5 * np.array(turn), np.linalg.solve(inertia, moment)])

    start = np.concatenate([[1.0, 0.0, 0.0, 0.0], RATE])
    rows = np.array(states(flow, start, times))
    if np.ndim(times) == 0:
        return TopMotion(rows[0, :4], rows[0, 4:])
    return TopMotion(rows[:, :4], rows[:, 4:])

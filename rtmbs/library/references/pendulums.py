"""IFToMM A01 and A02: both are pendulums of one angle."""

import math

import numpy as np
from numpy.typing import ArrayLike

from rtmbs.library.references.motion import BAR_MOMENT, GRAVITY, Array, Motion, integrate


def pendulum(times: ArrayLike, angle: float = -math.pi / 2) -> Motion:
    """A01: angle of the bar of 1 m from the hanging pose [rad], released at rest; P = (sin, -cos)."""
    return integrate(lambda q, qd: -GRAVITY * np.sin(q), angle, 0.0, times)


def windows(n: int, times: ArrayLike, rate: float = -1.0) -> Motion:
    """A02: angle phi of the posts from +X [rad], from pi/2 at ``rate``; B0 = (cos phi, sin phi).

    phi'' = -g G cos(phi) / I with G = (N + 1) / 2 + N and I = (N + 1) / 3 + N.
    """
    load = (n + 1) * 0.5 + n
    inertia = (n + 1) * (0.25 + BAR_MOMENT) + n
    return integrate(lambda q, qd: -GRAVITY * load / inertia * np.cos(q), math.pi / 2, rate, times)


def windows_energy(n: int, phi: Array, phid: Array) -> Array:
    """A02: energy [J], zero at rest with horizontal posts."""
    load, inertia = (n + 1) * 0.5 + n, (n + 1) * (0.25 + BAR_MOMENT) + n
    return np.asarray(0.5 * inertia * phid**2 + load * GRAVITY * np.sin(phi))

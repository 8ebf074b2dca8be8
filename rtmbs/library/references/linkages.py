"""Crank-rocker, driven four-bar and planar slider-crank as mechanisms of one angle.

Plane vectors are complex-step safe pairs (y, z); the angular velocity ratios follow from the closed vector loop
r2 w2 + r3 w3 = r4 w4, crossed with r4 and with r3.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rtmbs.library.linkages import LENGTHS, PROFILES, START
from rtmbs.library.references.motion import GRAVITY, Array, Motion, integrate, one_degree

Pair = tuple[Any, Any]


def crank_rocker(times: ArrayLike, angle: float = START, rate: float = 6.0) -> Motion:
    """Return the crank's angle from +Y about +X [rad] and its rates; free motion under gravity."""
    return integrate(one_degree(_fourbar_inertia, _fourbar_potential), angle, rate, times)


def driven_rocker(times: ArrayLike, profile: str = "sine", angle: float = START) -> Array:
    """Return the rocker's angle from +Y about +X [rad] while the crank follows ``angle`` plus the profile."""
    moves = np.array([PROFILES[profile](float(t))[0] for t in np.atleast_1d(np.asarray(times, dtype=float))])
    c = _fourbar(angle + moves)[2]
    rocker = np.unwrap(np.arctan2(c[1], c[0] - LENGTHS.ground))
    return rocker if np.ndim(times) else rocker[0]


def planar_slider_crank(
    times: ArrayLike,
    crank: float = 0.3,
    rod: float = 1.0,
    slider_mass: float = 1.0,
    angle: float = math.radians(40.0),
    rate: float = 6.0,
) -> Motion:
    """Return the crank's angle from +Y about +X [rad] and its rates; the slider is at crank cos + sqrt(rod^2 - ...)."""

    def rates(q: Any) -> tuple[Any, Any]:
        """Rod rate and slider speed for a crank rate of 1."""
        cos_rod = np.sqrt(1.0 - (crank / rod * np.sin(q)) ** 2)
        turn = -crank * np.cos(q) / (rod * cos_rod)
        return turn, -crank * np.sin(q) + turn * crank * np.sin(q)

    def inertia(q: Any) -> Any:
        turn, speed = rates(q)
        # the rod's mass centre is half way between the pin and the slider, and so is its velocity
        vy, vz = 0.5 * (-crank * np.sin(q) + speed), 0.5 * crank * np.cos(q)
        moving_rod = rod * (vy**2 + vz**2) + rod**3 / 12.0 * turn**2
        return crank**3 / 3.0 + moving_rod + slider_mass * speed**2

    def potential(q: Any) -> Any:
        return GRAVITY * 0.5 * crank * np.sin(q) * (crank + rod)

    return integrate(one_degree(inertia, potential), angle, rate, times)


def _fourbar(q: Any) -> tuple[Pair, Pair, Pair]:
    """Return crank r2, coupler r3 and the position of the rocker's end for a crank angle q, complex or not."""
    by, bz = LENGTHS.crank * np.cos(q), LENGTHS.crank * np.sin(q)
    dy, dz = LENGTHS.ground - by, -bz
    gap = np.sqrt(dy * dy + dz * dz)
    along = (gap**2 + LENGTHS.coupler**2 - LENGTHS.rocker**2) / (2.0 * gap)
    across = np.sqrt(LENGTHS.coupler**2 - along**2)
    r3 = ((along * dy - across * dz) / gap, (along * dz + across * dy) / gap)
    return (by, bz), r3, (by + r3[0], bz + r3[1])


def _fourbar_inertia(q: Any) -> Any:
    r2, r3, c = _fourbar(q)
    r4 = (c[0] - LENGTHS.ground, c[1])
    w3 = -_cross(r2, r4) / _cross(r3, r4)
    w4 = _cross(r2, r3) / _cross(r4, r3)
    vy, vz = -r2[1] - 0.5 * w3 * r3[1], r2[0] + 0.5 * w3 * r3[0]
    coupler = LENGTHS.coupler * (vy**2 + vz**2) + LENGTHS.coupler**3 / 12.0 * w3**2
    return LENGTHS.crank**3 / 3.0 + coupler + LENGTHS.rocker**3 / 3.0 * w4**2


def _fourbar_potential(q: Any) -> Any:
    (_, bz), _, (_, cz) = _fourbar(q)
    return GRAVITY * 0.5 * (LENGTHS.crank * bz + LENGTHS.coupler * (bz + cz) + LENGTHS.rocker * cz)


def _cross(a: Pair, b: Pair) -> Any:
    return a[0] * b[1] - a[1] * b[0]

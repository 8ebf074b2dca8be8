"""Kingpin axis of a wheel carrier: caster, inclination, scrub radius and trail, with their derivatives by a motion."""

from typing import NamedTuple

import numpy as np

from rtmbs.model.checks import Array
from rtmbs.vehicle.axle import CHASSIS, Axle

LOWER, UPPER, STRUT = "lower_ball", "upper_ball", "strut"
NAMES = ("caster", "kingpin_inclination", "scrub_radius", "trail")


class KingpinPoints(NamedTuple):
    """Points of the kingpin axis at design, left side, chassis frame.

    Parameters
    ----------
    lower : ndarray
        Lower point (3,) on the wheel carrier [m].
    upper : ndarray
        Upper point (3,) [m].
    on_chassis : bool
        True when the upper point stays on the chassis: the top of a MacPherson strut.
    """

    lower: Array
    upper: Array
    on_chassis: bool


def kingpin_points(axle: Axle) -> KingpinPoints | None:
    """Return the points of the kingpin axis; None where no two joints make one, as with five links.

    Parameters
    ----------
    axle : Axle
        Axle.

    Returns
    -------
    KingpinPoints or None
        Lower ball with the upper ball, or with the top of the strut.
    """
    at = {one.name: one for one in axle.connections if axle.wheel_carrier in (one.a, one.b)}
    if LOWER in at and UPPER in at:
        return KingpinPoints(at[LOWER].point, at[UPPER].point, False)
    if LOWER in at and STRUT in at and CHASSIS in (at[STRUT].a, at[STRUT].b):
        return KingpinPoints(at[LOWER].point, at[STRUT].point, True)
    return None


def kingpin_curves(
    lower: tuple[Array, Array], upper: tuple[Array, Array], contact: tuple[Array, Array], up: Array, inward: float
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return curves of the kingpin axis and their derivatives by the motion.

    The axis meets the road, a plane through the contact with the normal ``up``, at G = p + s k with
    s = (c - p) . up / (k . up).

    Parameters
    ----------
    lower, upper : tuple[ndarray, ndarray]
        Points of the axis (k, 3) in chassis axes [m] and their derivatives.
    contact : tuple[ndarray, ndarray]
        Lowest point of the wheel (k, 3) [m] and its derivative.
    up : ndarray
        Normal of the road (3,), a unit vector.
    inward : float
        -1 on the left side, where inward is -y, and 1 on the right side.

    Returns
    -------
    tuple
        Curves by the names ``NAMES``, and their derivatives: angles [rad], lengths [m].
    """
    (p, dp), (q, dq), (c, dc) = lower, upper, contact
    k, dk = q - p, dq - dp
    rise, drise = k @ up, dk @ up
    s = ((c - p) @ up) / rise
    ds = ((dc - dp) @ up - s * drise) / rise
    G = p + s[:, None] * k
    dG = dp + ds[:, None] * k + s[:, None] * dk
    x, y, z = k.T
    dx, dy, dz = dk.T
    values = {
        "caster": np.arctan2(-x, z), "kingpin_inclination": np.arctan2(inward * y, z),
        "scrub_radius": inward * (G - c)[:, 1], "trail": (G - c)[:, 0],
    }  # fmt: skip
    rates = {
        "caster": (x * dz - z * dx) / (x * x + z * z),
        "kingpin_inclination": inward * (z * dy - y * dz) / (y * y + z * z),
        "scrub_radius": inward * (dG - dc)[:, 1], "trail": (dG - dc)[:, 0],
    }  # fmt: skip
    return values, rates

"""Dry friction that sticks: Coulomb's law behind a bristle of small stroke (METHODS 1.44).

The state s is the deflection of the bristle [m or rad], and d its stroke. With q = |s| / d and v the sliding speed,

    s' = v - a(q) max(v . u, 0) u,  u = s / |s|,   F = -L(v) e / max(|e| / d, 1) / d,  e = s + tau s'

where L is the limit of the force, mu N of a contact, and a grows from 0 at q = B to 1 at q = 1. Below B the bristle is
a spring, so a load below B L never creeps. A constant load below L holds too, for a < 1 leaves no s' = 0 but v = 0. In
steady sliding q = 1 and s is parallel to v: |F| = L against v exactly. This is the elasto-plastic bristle of Dupont,
Hayward, Armstrong and Altpeter (2002) with the radial return of plasticity in place of its sign.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Numbers, number

ELASTIC = 0.8  # of the stroke: below it no creep at all
RETURN = 10.0  # how fast a bristle beyond its stroke comes back, per stroke of sliding
TINY = 1e-12  # of the stroke: keeps directions defined
LIFTED = 1e-2  # [s] time in which the bristle of an open contact comes back


@dataclass(frozen=True)
class DryFriction:
    """Dry friction with a bristle.

    Parameters
    ----------
    stroke : float
        Deflection at which it slides [m or rad].
    damping_time : float
        tau [s]: the bristle's force is that of s + tau s'.
    static_ratio : float, default 1.0
        Limit at rest over limit of sliding, 1 or more (Stribeck).
    stribeck_speed : float, default 1e-2
        Speed at which 1/e of the difference is left [m/s or rad/s].
    """

    stroke: float
    damping_time: float
    static_ratio: float = 1.0
    stribeck_speed: float = 1e-2

    def __call__(self, s: Any, v: Any) -> tuple[Any, Any]:
        """Return the force over the limit of sliding, and the rate of the bristle.

        Parameters
        ----------
        s : sequence
            (k,) deflection of the bristle [m or rad].
        v : sequence
            (k,) sliding speed [m/s or rad/s].

        Returns
        -------
        tuple
            (k,) force over the limit, against v; (k,) rate of s.
        """
        q = np.sqrt(inner(s, s) / self.stroke**2 + TINY**2)
        unit = [one / (self.stroke * q) for one in s]
        share = np.minimum(np.maximum((q - ELASTIC) / (1.0 - ELASTIC), 0.0), 1.0)
        slides = share * share * (3.0 - 2.0 * share) + RETURN * np.maximum(q - 1.0, 0.0)
        outward = slides * np.maximum(inner(v, unit), 0.0)
        rate = [w - outward * u for w, u in zip(v, unit, strict=True)]
        reach = [(one + self.damping_time * r) / self.stroke for one, r in zip(s, rate, strict=True)]
        held = np.maximum(np.sqrt(inner(reach, reach) + TINY**2), 1.0)
        factor = self.static_factor(v) / held
        return [-factor * one for one in reach], rate

    def static_factor(self, v: Any) -> Any:
        """Return the limit at a sliding speed over that of fast sliding (Stribeck)."""
        if self.static_ratio == 1.0:
            return 1.0
        return 1.0 + (self.static_ratio - 1.0) * np.exp(-inner(v, v) / self.stribeck_speed**2)


def inner(a: Any, b: Any) -> Any:
    """Return the sum of products."""
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def checked_friction(
    what: str, stroke: Numbers, damping_time: Numbers, static_ratio: Numbers, stribeck_speed: Numbers
) -> DryFriction:
    """Return checked dry friction; ``what`` begins the sentence of an error."""
    values = {
        "stroke": number(stroke, f"{what}: stroke"),
        "damping_time": number(damping_time, f"{what}: damping_time"),
        "static_ratio": number(static_ratio, f"{what}: static_ratio"),
        "stribeck_speed": number(stribeck_speed, f"{what}: stribeck_speed"),
    }
    for name in ("stroke", "stribeck_speed"):
        if values[name] <= 0.0:
            raise ModelError(f"{what}: {name} is {values[name]:g}; it must be above zero")
    if values["damping_time"] < 0.0:
        raise ModelError(f"{what}: damping_time is {values['damping_time']:g}; it must be zero or more")
    if values["static_ratio"] < 1.0:
        raise ModelError(f"{what}: static_ratio is {values['static_ratio']:g}; it must be 1 or more")
    return DryFriction(**values)

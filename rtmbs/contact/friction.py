"""Dry friction that sticks: Coulomb's law behind a spring of small stroke, the bristle (METHODS 8.2).

The state s is the deflection of the bristle [m or rad], k its stiffness, L the limit, mu N of a contact, and v the
sliding speed. With a small slack d, the fraction q = k |s| / (L + k d) and the share w = L / (L + k d),

    s' = w (v - a(q) q max(v . u, 0) u) - min(max(q - 1, 0), 1) s / T,   u = s / |s|
    e  = k (s + tau (1 - a) v),   F = -e min(1, L / |e|)

where a grows from 0 at q = B to 1 at q = 1. Below B the bristle is a spring, so a load that varies below B L never
creeps. A constant load below L holds too, for a < 1 leaves no s' = 0 but v = 0. In steady sliding q = 1 and s is
parallel to v: |F| = L against v. The last term takes back a bristle whose limit falls. Where L = 0, as in an open
contact, its factor is 1, so that nothing of the bristle is left at the next touch. This is
the elasto-plastic bristle of Dupont, Hayward, Armstrong and Altpeter (2002) with the radial return of plasticity. Its
stiffness does not depend on the load, so no load cycle gives energy.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Numbers, number

ELASTIC = 0.5  # of the limit: below it no creep at all; a higher one makes a kink that Newton does not find
RELAXES = 2e-3  # [s] time in which a bristle comes back whose limit has fallen, as in an open contact
SLACK = 1e-6  # [m or rad] of the bristle, whose limit may be zero
TINY = 1e-12  # [m] keeps directions defined where centres coincide, and bristles out of the plane above underflow
NO_FORCE = 1e-12  # [N or N m] keeps directions defined
SMALL = 0.1  # [m] characteristic length below which SLACK is in proportion to it
NOTHING = 1e-9  # of the force k d of the slack: NO_FORCE of small mechanisms is no larger


@dataclass(frozen=True)
class DryFriction:
    """Dry friction with a bristle.

    Parameters
    ----------
    stiffness : float
        Stiffness of the bristle [N/m or N m/rad].
    damping_time : float
        tau [s]: damping of a bristle that sticks, over its stiffness.
    static_ratio : float, default 1.0
        Limit at rest over limit of sliding, 1 or more (Stribeck).
    stribeck_speed : float, default 1e-2
        Speed at which 1/e of the difference is left [m/s or rad/s].
    slack : float, default 1e-6
        d [m or rad]: slack of the bristle, whose limit may be zero.
    no_force : float, default 1e-12
        Force that keeps directions defined [N or N m].
    """

    stiffness: float
    damping_time: float
    static_ratio: float = 1.0
    stribeck_speed: float = 1e-2
    slack: float = SLACK
    no_force: float = NO_FORCE

    def __call__(self, s: Any, v: Any, limit: Any) -> tuple[Any, Any]:
        """Return the force and the rate of the bristle.

        Parameters
        ----------
        s : sequence
            (k,) deflection of the bristle [m or rad].
        v : sequence
            (k,) sliding speed [m/s or rad/s].
        limit : float
            Limit of the force of sliding [N or N m].

        Returns
        -------
        tuple
            (k,) force against v [N or N m]; (k,) rate of s [m/s or rad/s].
        """
        most = limit * self.static_factor(v)
        size = np.sqrt(inner(s, s) * self.stiffness**2 + self.no_force**2)
        most_and_slack = most + self.stiffness * self.slack
        q, touching = size / most_and_slack, most / most_and_slack
        unit = [self.stiffness * one / size for one in s]
        share = np.minimum(np.maximum((q - ELASTIC) / (1.0 - ELASTIC), 0.0), 1.0)
        beyond = np.where(most > 0.0, np.minimum(np.maximum(q - 1.0, 0.0), 1.0), 1.0)  # an open contact forgets
        slides = share * share * (3.0 - 2.0 * share)
        outward = slides * q * np.maximum(inner(v, unit), 0.0)
        rate = [touching * (w - outward * u) - beyond / RELAXES * one for w, u, one in zip(v, unit, s, strict=True)]
        damping = self.damping_time * (1.0 - slides)
        wanted = [self.stiffness * (one + damping * w) for one, w in zip(s, v, strict=True)]
        held = most / (np.maximum(np.sqrt(inner(wanted, wanted) + self.no_force**2), most) + self.no_force)
        return [-held * one for one in wanted], rate

    def for_length(self, length: float, slides: bool) -> "DryFriction":
        """Return the friction in a mechanism of a characteristic length; its slack shrinks with a small one.

        Parameters
        ----------
        length : float
            Characteristic length of the mechanism [m].
        slides : bool
            Whether the bristle is a length. An angle keeps its slack.

        Returns
        -------
        DryFriction
            This friction, unless the mechanism is small.
        """
        if not length < SMALL:
            return self
        slack = SLACK * length / SMALL if slides else SLACK
        return replace(self, slack=slack, no_force=min(NO_FORCE, NOTHING * self.stiffness * slack))

    def static_factor(self, v: Any) -> Any:
        """Return the limit at a sliding speed over that of fast sliding (Stribeck)."""
        if self.static_ratio == 1.0:
            return 1.0
        return 1.0 + (self.static_ratio - 1.0) * np.exp(-inner(v, v) / self.stribeck_speed**2)


def inner(a: Any, b: Any) -> Any:
    """Return the sum of products."""
    total: Any = 0.0
    for x, y in zip(a, b, strict=True):
        total = total + x * y
    return total


def checked_friction(
    what: str, named: str, stiffness: Numbers, damping_time: Numbers, static_ratio: Numbers, stribeck_speed: Numbers
) -> DryFriction:
    """Return checked dry friction; ``what`` begins the sentence of an error, ``named`` is the name of its stiffness."""
    values = {
        named: number(stiffness, f"{what}: {named}"),
        "damping_time": number(damping_time, f"{what}: damping_time"),
        "static_ratio": number(static_ratio, f"{what}: static_ratio"),
        "stribeck_speed": number(stribeck_speed, f"{what}: stribeck_speed"),
    }
    for name in (named, "stribeck_speed"):
        if values[name] <= 0.0:
            raise ModelError(f"{what}: {name} is {values[name]:g}; it must be above zero")
    if values["damping_time"] < 0.0:
        raise ModelError(f"{what}: damping_time is {values['damping_time']:g}; it must be zero or more")
    if values["static_ratio"] < 1.0:
        raise ModelError(f"{what}: static_ratio is {values['static_ratio']:g}; it must be 1 or more")
    return DryFriction(*values.values())

"""Nonholonomic constraints: wheels that roll on planes without slip, and knife edges."""

from dataclasses import dataclass

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.body import Body
from rtmbs.model.checks import Array, Numbers, number, numbers, unit_vector
from rtmbs.model.markers import Marker

FLAT = 1e-9  # sine of the angle of wheel axis and normal: below, a wheel lies on its side


@dataclass(frozen=True, eq=False)
class RollingContact:
    """Wheel, disc or sphere that rolls on a plane without slip.

    ``Model.add_rolling`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the contact.
    plane : Marker
        Marker of the plane: a point of the plane, and the normal towards the wheel as h axis.
    wheel : Marker
        Marker of the wheel: its centre, and its axis as h axis.
    radius : float
        Radius of the wheel [m].
    crown : float
        Radius of its rounded tread [m]: 0 of a thin disc, ``radius`` of a sphere.
    """

    name: str
    plane: Marker
    wheel: Marker
    radius: float  # [m]
    crown: float  # [m]

    @property
    def normal(self) -> Array:
        """Normal (3,) of the plane in axes of the body that carries it."""
        return np.asarray(self.plane.axes[:, 2])

    @property
    def axle(self) -> Array:
        """Axis (3,) of the wheel in axes of its body."""
        return np.asarray(self.wheel.axes[:, 2])


@dataclass(frozen=True, eq=False)
class KnifeEdge:
    """Blade, skate or wheel whose point does not move sideways.

    ``Model.add_knife_edge`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the knife edge.
    blade : Marker
        Marker of the point.
    base : Body
        Body that the sideways velocity is measured against.
    direction : ndarray
        Sideways direction (3,), a unit vector in axes of ``blade``.
    """

    name: str
    blade: Marker
    base: Body
    direction: Array  # (3,)

    @property
    def sideways(self) -> Array:
        """Sideways direction (3,) in axes of the body of ``blade``."""
        return np.asarray(self.blade.axes @ self.direction)


def make_rolling(name: str, wheel: Marker, plane: Marker, radius: Numbers, crown: Numbers) -> RollingContact:
    """Return a checked rolling contact."""
    what = f"rolling {name!r}"
    outer, rounded = number(radius, f"{what}: radius"), number(crown, f"{what}: crown")
    if wheel.body is plane.body:
        raise ModelError(f"{what}: wheel and plane are both on body {wheel.body.name!r}; they must be on two bodies")
    if outer <= 0.0:
        raise ModelError(f"{what}: radius is {outer:g}; it must be above zero")
    if not 0.0 <= rounded <= outer:
        raise ModelError(f"{what}: crown is {rounded:g}; it must be from 0 (a thin disc) to the radius (a sphere)")
    made = RollingContact(name, plane, wheel, outer, rounded)
    normal, axle = plane.body.orientation @ made.normal, wheel.body.orientation @ made.axle
    if rounded < outer and np.linalg.norm(np.cross(normal, axle)) < FLAT:
        raise ModelError(
            f"{what}: the wheel lies flat on the plane at the reference pose; turn the h axis of marker "
            f"{wheel.name!r}, the wheel's axis, away from the normal of the plane"
        )
    return made


def make_knife_edge(name: str, blade: Marker, base: Body, direction: Numbers) -> KnifeEdge:
    """Return a checked knife edge; ``direction`` is in axes of the marker."""
    what = f"knife edge {name!r}"
    if blade.body is base:
        raise ModelError(f"{what}: marker {blade.name!r} is on body {base.name!r} itself; name another body")
    sideways = numbers(direction, f"{what}: direction", (3,))
    if not np.any(sideways):
        raise ModelError(f"{what}: direction is zero; it must be a vector")
    return KnifeEdge(name, blade, base, unit_vector(sideways))

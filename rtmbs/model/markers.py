"""Markers, named points of bodies, and massless rods that keep the distance of two markers."""

from dataclasses import dataclass, field

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.body import Body
from rtmbs.model.checks import Array, Numbers, number


@dataclass(frozen=True, eq=False)
class Marker:
    """A point that a body carries."""

    name: str
    body: Body
    point: Array  # (3,) body axes [m]
    axes: Array = field(default_factory=lambda: np.eye(3))  # (3, 3) marker axes to body axes; force laws work in them

    def reference(self) -> Array:
        """Return the point at the reference pose, (3,) world axes [m]."""
        return self.body.world(self.point)


def reference_distance(first: Marker, second: Marker) -> float:
    """Return the distance of two markers at the reference pose [m]."""
    return float(np.linalg.norm(second.reference() - first.reference()))


@dataclass(frozen=True, eq=False)
class Rod:
    """Keeps the distance of two markers."""

    name: str
    between: tuple[Marker, Marker]
    length: float  # [m]


def make_rod(name: str, between: tuple[Marker, Marker], length: Numbers) -> Rod:
    """Return a checked rod; ``length`` None is the distance at the reference pose."""
    what = f"rod {name!r}"
    metres = reference_distance(*between) if length is None else number(length, f"{what}: length")
    if metres <= 0.0:
        where = "its markers coincide at the reference pose" if length is None else f"length is {metres}"
        raise ModelError(
            f"{what}: {where}; a rod needs a length above zero (one point on another is a Spherical joint)"
        )
    return Rod(name, between, metres)

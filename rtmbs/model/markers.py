"""Markers, named points of bodies, and massless rods that keep the distance of two markers."""

from dataclasses import dataclass, field

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.body import Body
from rtmbs.model.checks import Array, Numbers, number


@dataclass(frozen=True, eq=False)
class Marker:
    """Named point of a body, with axes.

    ``Model.add_marker`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the marker.
    body : Body
        Body that carries the marker.
    point : ndarray
        Point (3,) in body axes [m].
    axes : ndarray, optional
        Rotation (3, 3) from marker axes to body axes; force laws work in marker axes. Body axes unless given.
    """

    name: str
    body: Body
    point: Array  # (3,) body axes [m]
    axes: Array = field(default_factory=lambda: np.eye(3))  # (3, 3) marker axes to body axes; force laws work in them

    def reference(self) -> Array:
        """Return the point at the reference pose.

        Returns
        -------
        ndarray
            Point (3,) in world axes [m].
        """
        return self.body.world(self.point)


def reference_distance(first: Marker, second: Marker) -> float:
    """Return the distance of two markers at the reference pose [m]."""
    return float(np.linalg.norm(second.reference() - first.reference()))


@dataclass(frozen=True, eq=False)
class Rod:
    """Massless rod that keeps the distance of two markers.

    ``Model.add_rod`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the rod.
    between : tuple[Marker, Marker]
        Markers at the ends.
    length : float
        Length [m].
    """

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

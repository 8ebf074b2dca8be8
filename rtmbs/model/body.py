"""Rigid bodies, their markers, and massless rods between markers.

A rigid body: mass and inertia in body axes, position and orientation in the reference pose.

Markers, named points of bodies, and massless rods that keep the distance of two markers.
"""

from dataclasses import dataclass, field

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, Numbers, number, numbers, rotation, shape_of

GROUND = "ground"
ROUNDING = 1e-9  # what an inertia may miss a condition by, relative to its largest entry


@dataclass(frozen=True, eq=False)
class Body:
    """One body as written by the user; two bodies are the same only when they are one object.

    ``Model.add_body`` makes and checks it.

    Parameters
    ----------
    name : str
        Name of the body.
    mass : float
        Mass [kg].
    center_of_mass : ndarray
        Mass centre (3,) in body axes [m].
    inertia : ndarray
        Inertia (3, 3) about the mass centre in body axes [kg m^2].
    position : ndarray
        Body origin (3,) at the reference pose in world axes [m].
    orientation : ndarray
        Rotation (3, 3) from body axes to world axes at the reference pose.
    """

    name: str
    mass: float  # [kg]
    center_of_mass: Array  # (3,) body axes [m]
    inertia: Array  # (3, 3) about the mass centre, body axes [kg m^2]
    position: Array  # (3,) body origin at the reference pose, world axes [m]
    orientation: Array  # (3, 3) body to world at the reference pose

    def world(self, point: Array) -> Array:
        """Return the world position of a body point at the reference pose.

        Parameters
        ----------
        point : ndarray
            Point (3,) in body axes [m].

        Returns
        -------
        ndarray
            Point (3,) in world axes [m].
        """
        return self.position + self.orientation @ point

    def local(self, point: Array) -> Array:
        """Return the body coordinates of a world point at the reference pose.

        Parameters
        ----------
        point : ndarray
            Point (3,) in world axes [m].

        Returns
        -------
        ndarray
            Point (3,) in body axes [m].
        """
        return np.asarray(self.orientation.T @ (point - self.position))


def make_body(
    name: str, mass: Numbers, center_of_mass: Numbers, inertia: Numbers, position: Numbers, orientation: Numbers
) -> Body:
    """Return a checked body; ``inertia`` is the three principal values, six (xx, yy, zz, xy, xz, yz) or 3 x 3."""
    what = f"body {name!r}"
    kilograms = number(mass, f"{what}: mass")
    if kilograms < 0.0:
        raise ModelError(f"{what}: mass is {kilograms}; it must be zero or more")
    return Body(
        name,
        kilograms,
        numbers(center_of_mass, f"{what}: center_of_mass", (3,)),
        inertia_matrix(inertia, f"{what}: inertia"),
        numbers(position, f"{what}: position", (3,)),
        rotation(np.eye(3) if orientation is None else orientation, f"{what}: orientation"),
    )


def make_ground() -> Body:
    """Return the body that does not move; its frame is the world frame."""
    return make_body(GROUND, 0.0, (0, 0, 0), (0, 0, 0), (0, 0, 0), None)


def inertia_matrix(value: Numbers, what: str) -> Array:
    """Return the symmetric (3, 3) inertia that ``value`` means, refused when no body can have it."""
    shape = shape_of(value, what, "give 3 numbers, 6 (xx, yy, zz, xy, xz, yz) or 3 x 3")
    if shape == (3,):
        matrix = np.diag(numbers(value, what, (3,)))
    elif shape == (6,):
        xx, yy, zz, xy, xz, yz = numbers(value, what, (6,))
        matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    elif shape == (3, 3):
        matrix = np.array(numbers(value, what, (3, 3)))
    else:
        raise ModelError(f"{what} has shape {shape}; give 3 numbers, 6 (xx, yy, zz, xy, xz, yz) or 3 x 3")
    size = float(np.max(np.abs(matrix)))
    if size == 0.0:  # as of most bodies of a kinematic model
        matrix.flags.writeable = False
        return matrix
    if np.max(np.abs(matrix - matrix.T)) > ROUNDING * size:
        raise ModelError(f"{what} is not symmetric; entries (i, j) and (j, i) must be equal")
    matrix = 0.5 * (matrix + matrix.T)
    check_principal_values(np.linalg.eigvalsh(matrix).tolist(), size, what)
    matrix.flags.writeable = False
    return matrix


def check_principal_values(principal: list[float], size: float, what: str) -> None:
    """Refuse principal values (ascending) that are negative, or of which one is larger than the other two together."""
    small, middle, large = principal
    if small < -ROUNDING * size:
        raise ModelError(f"{what} has the principal value {small:.6g}; none may be negative")
    if large > small + middle + ROUNDING * size:
        raise ModelError(
            f"{what} breaks the triangle inequality: {large:.6g} > {small:.6g} + {middle:.6g}; "
            "no distribution of mass has a principal value larger than the other two together"
        )


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

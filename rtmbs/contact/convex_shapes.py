"""Convex shapes that touch each other: the face, edge or point of each that lies farthest in a direction (METHODS 8.8).

Points and directions are in axes of the shape, about its middle.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from rtmbs.contact.ellipsoid import Ellipsoid
from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, perpendiculars
from rtmbs.model.shapes import Bar, Box, Cylinder, Sphere

SAME_FACE = 1e-8  # triangles whose planes differ by less are parts of one face
CAP = 16  # points around the rim of a cylinder
STANDS = 1e-3  # cosine to the axis below which a cylinder or a bar touches along its side


class Feature(NamedTuple):
    """Part of a shape that is farthest in a direction: a face, an edge or a point."""

    points: Array  # (k, 3), in order around a face [m]
    normal: Array  # (3,) out of a face; zero of an edge and of a point


NO_NORMAL = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Polytope:
    """Polytope with flat faces.

    Parameters
    ----------
    vertices : ndarray
        Corners (v, 3) [m].
    normals : ndarray
        Unit normals (f, 3) of the faces, outwards.
    faces : tuple of ndarray
        Corners (k, 3) of each face in order around its normal [m].
    triangles : ndarray
        Numbers (t, 3) of the corners of triangles over all faces.
    """

    vertices: Array
    normals: Array
    faces: tuple[Array, ...]
    triangles: Any

    @property
    def reach(self) -> float:
        """Radius of a ball about the middle that holds the shape [m]."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    def extent(self, direction: Array) -> float:
        """Return how far the shape reaches in a unit ``direction`` (3,) [m]."""
        return float(np.max(self.vertices @ direction))

    def feature(self, direction: Array) -> Feature:
        """Return the face (METHODS 8.8) that looks most into a unit ``direction`` (3,)."""
        best = int(np.argmax(self.normals @ direction))
        return Feature(self.faces[best], self.normals[best])


@dataclass(frozen=True, eq=False)
class Rod:
    """Cylinder with flat ends, or a bar with round ones, along z.

    Parameters
    ----------
    radius : float
        Radius [m].
    half : float
        Half length of the axis [m].
    flat : bool
        True for flat ends.
    """

    radius: float
    half: float
    flat: bool

    @property
    def reach(self) -> float:
        """Radius of a ball about the middle that holds the shape [m]."""
        return float(np.hypot(self.radius, self.half)) if self.flat else self.radius + self.half

    def extent(self, direction: Array) -> float:
        """Return how far the shape reaches in a unit ``direction`` (3,) [m]."""
        across = float(np.hypot(direction[0], direction[1])) if self.flat else 1.0
        return self.half * abs(float(direction[2])) + self.radius * across

    def feature(self, direction: Array) -> Feature:
        """Return the end, the line along the side, or the point that is farthest in a unit ``direction`` (3,)."""
        along, across = float(direction[2]), np.array((direction[0], direction[1], 0.0))
        size = float(np.linalg.norm(across))
        top = np.array((0.0, 0.0, np.copysign(self.half, along)))
        if abs(along) < STANDS:
            side = self.radius / size * across
            return Feature(side + np.outer((-self.half, self.half), (0.0, 0.0, 1.0)), NO_NORMAL)
        if not self.flat:
            return Feature((top + self.radius * direction)[None], NO_NORMAL)
        first = np.arctan2(across[1], across[0]) if size > STANDS else 0.0  # a rim that is tilted has its lowest point
        turns = first + np.linspace(0.0, 2.0 * np.pi, CAP, endpoint=False) * np.sign(along)
        rim = self.radius * np.stack((np.cos(turns), np.sin(turns), np.zeros(CAP)), axis=1)
        return Feature(top + rim, np.array((0.0, 0.0, np.sign(along))))


@dataclass(frozen=True, eq=False)
class Round:
    """Ball or ellipsoid.

    Parameters
    ----------
    half : ndarray
        Half axes (3,) [m].
    """

    half: Array

    @property
    def reach(self) -> float:
        """Radius of a ball about the middle that holds the shape [m]."""
        return float(np.max(self.half))

    def extent(self, direction: Array) -> float:
        """Return how far the shape reaches in a unit ``direction`` (3,) [m]."""
        return float(np.linalg.norm(self.half * direction))

    def feature(self, direction: Array) -> Feature:
        """Return the point that is farthest in a unit ``direction`` (3,)."""
        down = self.half * direction
        return Feature((self.half * down / np.linalg.norm(down))[None], NO_NORMAL)


Convex = Polytope | Rod | Round


def convex_of(what: str, shape: Any) -> tuple[Convex, Array, Array]:
    """Return a shape about its middle, the middle (3,) [m] and its axes (3, 3), in body axes.

    Raises ModelError for a surface without a volume.
    """
    if isinstance(shape, Box):
        corners = np.array(list(product((-0.5, 0.5), repeat=3))) * shape.size
        return polytope_of(what, corners), shape.center, shape.axes
    if isinstance(shape, Cylinder):
        x, y = perpendiculars(shape.axis)
        return Rod(shape.radius, 0.5 * shape.length, True), shape.center, np.stack((x, y, shape.axis), axis=1)
    if isinstance(shape, Bar):
        along = shape.end - shape.start
        length = float(np.linalg.norm(along))
        x, y = perpendiculars(along / length)
        axes = np.stack((x, y, along / length), axis=1)
        return Rod(shape.radius, 0.5 * length, False), 0.5 * (shape.start + shape.end), axes
    if isinstance(shape, Sphere):
        return Round(np.full(3, shape.radius)), shape.center, np.eye(3)
    if isinstance(shape, Ellipsoid):
        return Round(shape.half_axes), shape.center, shape.axes
    middle = 0.5 * (shape.vertices.min(axis=0) + shape.vertices.max(axis=0))
    return polytope_of(what, shape.vertices - middle), middle, np.eye(3)


def polytope_of(what: str, points: Array) -> Polytope:
    """Return the convex hull of points (k, 3), with triangles of one plane as one face."""
    try:
        hull = ConvexHull(points)
    except QhullError:
        raise ModelError(f"{what}: the surface is flat; a convex body needs four corners outside one plane") from None
    size = float(np.ptp(points, axis=0).max())
    planes: list[Array] = []
    members: list[set[int]] = []
    for plane, simplex in zip(hull.equations, hull.simplices, strict=True):
        scaled = np.append(plane[:3], plane[3] / size)
        for k, known in enumerate(planes):
            if np.max(np.abs(known - scaled)) < SAME_FACE:
                members[k].update(simplex.tolist())
                break
        else:
            planes.append(scaled)
            members.append(set(simplex.tolist()))
    normals = np.array(planes)[:, :3]
    faces = tuple(around(points[sorted(own)], normal) for own, normal in zip(members, normals, strict=True))
    number = {int(corner): k for k, corner in enumerate(hull.vertices)}
    triangles = np.array([[number[int(corner)] for corner in simplex] for simplex in hull.simplices])
    return Polytope(points[hull.vertices], normals, faces, triangles)


def around(points: Array, normal: Array) -> Array:
    """Return the points (k, 3) of a face in order, counter-clockwise about its normal."""
    x, y = perpendiculars(normal)
    offsets = points - points.mean(axis=0)
    return np.asarray(points[np.argsort(np.arctan2(offsets @ y, offsets @ x))])

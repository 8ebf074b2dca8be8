"""Convex shapes that touch each other: the face, edge or point of each that lies farthest in a direction (METHODS 8.8).

Points and directions are in axes of the shape, about its middle.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from rtmbs.contact.ellipsoid import Ellipsoid
from rtmbs.contact.friction import inner
from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, perpendiculars
from rtmbs.model.shapes import Bar, Box, Cylinder, Sphere, Surface, open_edges

HOLLOW = 1e-6  # of the volume of its convex hull that a convex surface may lack
THIN = 1e-6  # of the length of a convex shape: thinner ones lose their sides to rounding
SAME_FACE = 1e-8  # triangles whose planes differ by less are parts of one face
NEAR = 1e-3  # of the size: edges that may be farthest in a direction that is known to less
CAP = 16  # points around the rim of a cylinder
LIES = 0.1  # sine of the angle of an end and a face, below which the rest of its rim may touch
STANDS = 1e-3  # sine of that angle below which a cylinder stands, so no point of its rim is the lowest


class Face(NamedTuple):
    """Face of a shape."""

    points: Array  # (k, 3), in order around the face [m]
    normal: Array  # (3,) out of the face


class Part(NamedTuple):
    """Part of a shape that touches without a face: a corner, an edge, or a curved part over a point or a line."""

    point: Array  # (3,) corner, middle of an edge or of an axis [m]
    edge: Array  # (3,) from that middle to the end of an edge or an axis, zero of a point [m]
    rounded: bool  # the curved part of the shape lies over it


NO_EDGE = np.zeros(3)
TINY = 1e-12  # keeps directions defined


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

    @cached_property
    def edges(self) -> Array:
        """Ends (e, 2, 3) of the edges [m]."""
        found = {}
        for face in self.faces:
            for one, other in zip(face, np.roll(face, -1, axis=0), strict=True):
                found[frozenset((tuple(one), tuple(other)))] = (one, other)
        return np.array(list(found.values()))

    @cached_property
    def reach(self) -> float:
        """Radius of a ball about the middle that holds the shape [m]."""
        return float(np.linalg.norm(self.vertices, axis=1).max())

    def extent(self, direction: Array) -> float:
        """Return how far the shape reaches in a unit ``direction`` (3,) [m]."""
        return float(np.max(self.vertices @ direction))

    def face(self, direction: Array) -> Face | None:
        """Return the face (METHODS 8.8) that looks most into a unit ``direction`` (3,)."""
        best = int(np.argmax(self.normals @ direction))
        return Face(self.faces[best], self.normals[best])

    def outlines(self, direction: Array) -> list[tuple[Array, bool]]:
        """Return the points (k, 3) that may touch a face against ``direction`` (3,), and whether they are rounded."""
        found = self.face(direction)
        assert found is not None
        return [(found.points, False)]

    def parts(self, direction: Array) -> list[Part]:
        """Return the corner that is farthest in a ``direction`` (3,), and the edges near it."""
        heights = self.edges @ direction
        top = float(heights.max())
        corner = self.vertices[int(np.argmax(self.vertices @ direction))]
        near = heights.max(axis=1) >= top - NEAR * self.reach
        middles, ways = self.edges.mean(axis=1)[near], 0.5 * (self.edges[:, 1] - self.edges[:, 0])[near]
        slopes = np.argsort(np.abs(ways @ direction))  # edges across the direction first
        return [*(Part(middles[k], ways[k], False) for k in slopes), Part(corner, NO_EDGE, False)]


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

    def curved(self, m: Any) -> tuple[list[Any], list[list[Any]]]:
        """Return the farthest point of the curved part along a unit vector ``m`` from its line, and its slope by m."""
        if not self.flat:
            return [self.radius * x for x in m], [[self.radius * (i == j) for j in range(3)] for i in range(3)]
        size = np.sqrt(m[0] * m[0] + m[1] * m[1] + TINY**2)
        u, pace, none = (m[0] / size, m[1] / size), self.radius / size, 0.0 * size
        slope = [[pace * ((i == j) - u[i] * u[j]) for j in range(2)] + [none] for i in range(2)]
        return [self.radius * u[0], self.radius * u[1], none], [*slope, [none, none, none]]

    def face(self, direction: Array) -> Face | None:
        """Return the end that looks most into a unit ``direction`` (3,), None of a bar."""
        normal = np.array((0.0, 0.0, np.sign(direction[2]) or 1.0))
        return Face(self.rim(normal), normal) if self.flat else None

    def rim(self, direction: Array) -> Array:
        """Return the points (CAP, 3) of an end in order about its normal, from the lowest along ``direction`` (3,)."""
        side = np.sign(direction[2]) or 1.0
        leans = np.hypot(direction[0], direction[1]) > STANDS  # a rim that is tilted has its lowest point
        first = np.arctan2(direction[1], direction[0]) if leans else 0.0
        turns = first + np.linspace(0.0, 2.0 * np.pi, CAP, endpoint=False) * side
        return np.stack((self.radius * np.cos(turns), self.radius * np.sin(turns), np.full(CAP, self.half * side)), 1)

    def outlines(self, direction: Array) -> list[tuple[Array, bool]]:
        """Return the points (k, 3) that may touch a face against ``direction`` (3,), and whether they are rounded.

        Of a cylinder these are the lowest points of both rims, and the rest of the rim of an end that lies nearly flat.
        """
        found, leans = [], float(np.hypot(direction[0], direction[1]))
        if not self.flat or leans > STANDS:
            ends = np.outer((-self.half, self.half), (0.0, 0.0, 1.0))
            found.append((ends + self.curved(direction)[0], True))
        if self.flat and leans < LIES:
            rim = self.rim(direction)
            found.append((rim, False) if leans <= STANDS else (rim[1:], False))
        return found

    def parts(self, direction: Array) -> list[Part]:
        """Return the side and the end that is farthest in a ``direction`` (3,)."""
        top = np.array((0.0, 0.0, np.copysign(self.half, direction[2])))
        both = [Part(np.zeros(3), np.array((0.0, 0.0, self.half)), True), Part(top, NO_EDGE, True)]
        return both if abs(direction[2]) < LIES else both[::-1]


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

    def curved(self, m: Any) -> tuple[list[Any], list[list[Any]]]:
        """Return the farthest point along a unit vector ``m`` and its slope by m."""
        squares = [float(h * h) for h in self.half]
        pulled = [h * x for h, x in zip(squares, m, strict=True)]
        size = np.sqrt(inner(pulled, m))
        cube = size * size * size
        slope = [
            [(squares[i] / size if i == j else 0.0) - pulled[i] * pulled[j] / cube for j in range(3)] for i in range(3)
        ]
        return [one / size for one in pulled], slope

    def face(self, direction: Array) -> Face | None:
        """Return None: there is no face."""
        return None

    def outlines(self, direction: Array) -> list[tuple[Array, bool]]:
        """Return the point (1, 3) that is farthest in a unit ``direction`` (3,); it is rounded."""
        return [(np.array([self.curved(direction)[0]]), True)]

    def parts(self, direction: Array) -> list[Part]:
        """Return the whole shape."""
        return [Part(np.zeros(3), NO_EDGE, True)]


Convex = Polytope | Rod | Round


def convex_of(what: str, shape: Any) -> tuple[Convex, Array, Array]:
    """Return a shape about its middle, the middle (3,) [m] and its axes (3, 3), in body axes.

    Raises ModelError for a shape that is too thin, and a surface that is flat, open or not convex.
    """
    refuse_thin(what, shape)
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
    refuse_hollow(what, shape, middle)
    return polytope_of(what, shape.vertices - middle), middle, np.eye(3)


def refuse_thin(what: str, shape: Any) -> None:
    """Raise ModelError for a box, a cylinder or an ellipsoid that is all but flat or a line."""
    if isinstance(shape, Box):
        sizes = shape.size
    elif isinstance(shape, Cylinder):
        sizes = np.array((2.0 * shape.radius, shape.length))
    elif isinstance(shape, Ellipsoid):
        sizes = 2.0 * shape.half_axes
    else:
        return
    if np.min(sizes) < THIN * np.max(sizes):
        raise ModelError(
            f"{what}: the {type(shape).__name__} is {np.min(sizes):g} m thin and {np.max(sizes):g} m long; a convex "
            f"body that touches others must be at least {THIN:g} of its length thick"
        )


def refuse_hollow(what: str, shape: Surface, middle: Array) -> None:
    """Raise ModelError for a surface that is open, or that encloses less than its convex hull."""
    from scipy.spatial import ConvexHull, QhullError  # scipy.spatial takes long to load

    if count := open_edges(shape.vertices, shape.faces):
        raise ModelError(
            f"{what}: the surface is open, {count} of its edges lack the face on the other side; close the mesh"
        )
    try:
        whole = float(ConvexHull(shape.vertices).volume)
    except QhullError:
        return  # polytope_of tells that it is flat
    share = abs(float(np.linalg.det(shape.vertices[shape.faces] - middle).sum())) / (6.0 * whole)
    if abs(share - 1.0) > HOLLOW:
        raise ModelError(
            f"{what}: the surface is not convex, it encloses {share:.4g} of the volume of its convex hull; give the "
            "body several convex surfaces"
        )


def polytope_of(what: str, points: Array) -> Polytope:
    """Return the convex hull of points (k, 3), with triangles of one plane as one face."""
    from scipy.spatial import ConvexHull, QhullError  # scipy.spatial takes long to load

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

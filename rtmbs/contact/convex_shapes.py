"""Convex shapes that touch each other: features, nearest points, and the patch of up to four points (METHODS 8.8).

Points and directions of a shape are in its axes, about its middle; those of two shapes are in axes of the first. A
feature is a face, or a corner, an edge or a line with the curved part of its shape over it. The normal n of a face is
fixed in its shape. Every other normal is across the edges, and along it the gap has no slope otherwise. So the force
along n is the slope of its potential at every pose of a step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from rtmbs.contact.friction import inner
from rtmbs.contact.pairs import Ellipsoid, Touch, cross
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
NO_EDGE = np.zeros(3)
TINY = 1e-12  # keeps directions defined
STEPS = 2  # of Newton's method for a normal: the error goes with the fourth power of the turn in a step
FACES = 1e-6, 0.05  # of the size, and of the distance: a face touches where it parts the shapes nearly as well
ROUGH = 1e-3  # of the size: the same where no other features are nearest
PARALLEL = 1e-3  # sine of the angle of two edges that touch along a line
HOLDS, EXACT = 1e-9, 1e-13  # what features may be off the nearest points, over the size; what a normal may turn by
TRIES = 4  # rounds of Newton's method for a normal
ON_EDGE = 1.0 + 1e-6  # ways along an edge that end on it, over half its length
AGREES = 1e-4, 0.05  # of the size, and of the distance: what nearest features may part the shapes less than known
MOST = 4  # points of a patch: they hold a body that lies on a face
ALIKE = 1e-9  # of how far points lie apart: of those that are as low or as far, the first is taken


class Face(NamedTuple):
    """Face of a shape."""

    points: Array  # (k, 3), in order around the face [m]
    normal: Array  # (3,) out of the face


class Part(NamedTuple):
    """Part of a shape that touches without a face: a corner, an edge, or a curved part over a point or a line."""

    point: Array  # (3,) corner, middle of an edge or of an axis [m]
    edge: Array  # (3,) from that middle to the end of an edge or an axis, zero of a point [m]
    rounded: bool  # the curved part of the shape lies over it


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


class Features(NamedTuple):
    """Features of two shapes that touch at one point."""

    normal: Any  # (3,) nearby, towards the second shape, in axes of the first, or of the second where on_b is 1
    on_b: Any  # 1 where the normal is that of a face of the second shape
    point_a: Any  # (3,) of the first shape [m]
    point_b: Any  # (3,) of the second, in its axes [m]
    edge_a: Any  # (3,) along an edge of the first, zero of a point
    edge_b: Any  # (3,) along an edge of the second, in its axes
    round_a: Any  # 1 where the curved part of the first lies over its point
    round_b: Any  # likewise of the second
    free: Any  # 1 where curved parts choose the normal, 0 where a face or two edges do


def nearest(a: Convex, b: Convex, f: Features, r: Any, R: Any) -> Touch:
    """Return the nearest points of two features; the middle of the second is at ``r`` (3,), turned by ``R`` (3, 3)."""
    turned = [inner(R[k], f.normal) for k in range(3)]
    n = [(1.0 - f.on_b) * x + f.on_b * y for x, y in zip(f.normal, turned, strict=True)]
    one, other = unit(f.edge_a), unit([inner(R[k], f.edge_b) for k in range(3)])
    along = inner(one, other)
    beside = [y - along * x for x, y in zip(one, other, strict=True)]  # of the second edge, across the first
    sine = np.sqrt(inner(beside, beside) + TINY**2)
    beside = [x / sine for x in beside]
    n = across(n, one, beside)
    if not isinstance(a, Polytope) or not isinstance(b, Polytope):
        for _ in range(STEPS):
            n = improved(a, b, f, r, R, n, (one, beside))
    w, arm, _ = between(a, b, f, r, R, n)
    gap, slide = inner(n, w), -inner(w, beside) / sine  # along the second edge to where it is nearest
    aside = [f.on_b * (x - gap * y) for x, y in zip(w, n, strict=True)]  # a face of the second is met where a point is
    return Touch(n, gap, [x + slide * y - z for x, y, z in zip(arm, other, aside, strict=True)])


def between(a: Convex, b: Convex, f: Features, r: Any, R: Any, n: Any) -> tuple[list[Any], list[Any], list[list[Any]]]:
    """Return the way (3,) from point to point for a normal, the arm (3,) of the second, and the slope (3, 3) by n."""
    slope: list[list[Any]] = [[0.0] * 3 for _ in range(3)]
    first, own = [*f.point_a], [*f.point_b]
    if not isinstance(a, Polytope):
        point, bends = a.curved(n)
        first = [x + f.round_a * y for x, y in zip(first, point, strict=True)]
        slope = [[-f.round_a * x for x in row] for row in bends]
    if not isinstance(b, Polytope):
        point, bends = b.curved([-(R[0][k] * n[0] + R[1][k] * n[1] + R[2][k] * n[2]) for k in range(3)])
        own = [x + f.round_b * y for x, y in zip(own, point, strict=True)]
        half = [[inner(R[i], [bends[k][j] for k in range(3)]) for j in range(3)] for i in range(3)]  # R J
        slope = [[slope[i][j] - f.round_b * inner(half[i], R[j]) for j in range(3)] for i in range(3)]
    arm = [inner(R[k], own) for k in range(3)]
    return [x + y - z for x, y, z in zip(r, arm, first, strict=True)], arm, slope


def improved(a: Convex, b: Convex, f: Features, r: Any, R: Any, n: Any, edges: tuple[Any, Any]) -> list[Any]:
    """Return the normal after a step of Newton's method for a gap without slope, across the edges."""
    w, _, slope = between(a, b, f, r, R, n)
    gap = inner(n, w)
    P = [[f.free * ((i == j) - n[i] * n[j] - sum(e[i] * e[j] for e in edges)) for j in range(3)] for i in range(3)]
    bends = [[slope[i][j] - gap * (i == j) for j in range(3)] for i in range(3)]
    half = [[inner(P[i], [bends[k][j] for k in range(3)]) for j in range(3)] for i in range(3)]
    M = [[inner(half[i], P[j]) + (i == j) - P[i][j] for j in range(3)] for i in range(3)]  # P is symmetric
    change = solved(M, [-inner(P[k], w) for k in range(3)])
    return unit([x + inner(P[k], change) for k, x in enumerate(n)])


def across(n: Any, one: Any, other: Any) -> list[Any]:
    """Return the unit vector of ``n`` (3,) without its parts along two unit vectors (3,)."""
    first, second = inner(n, one), inner(n, other)
    return unit([x - first * y - second * z for x, y, z in zip(n, one, other, strict=True)])


def unit(vector: Any) -> list[Any]:
    """Return a vector (3,) of length one, zero of zero."""
    size = np.sqrt(inner(vector, vector) + TINY**2)
    return [x / size for x in vector]


def solved(M: Any, y: Any) -> list[Any]:
    """Return the solution (3,) of a symmetric matrix (3, 3) and a right side (3,)."""
    first, second, third = (cross(M[1], M[2]), cross(M[2], M[0]), cross(M[0], M[1]))
    size = inner(M[0], first)
    return [(first[k] * y[0] + second[k] * y[1] + third[k] * y[2]) / size for k in range(3)]


def patch_points(
    a: Convex,
    b: Convex,
    r: Array,
    R: Array,
    normal: Array,
    close: tuple[Array, Array],
    margin: float,
    a_leads: bool = True,
) -> list[Features]:
    """Return the points of shape ``b`` at ``r`` (3,), turned by ``R`` (3, 3), on shape ``a``, in axes of ``a``.

    ``normal`` (3,) and the points (3,) that are ``close`` are nearly those of the least distance, or of the least
    motion that parts the shapes. Points farther apart than ``margin`` [m] are left out. Of two faces that part the
    shapes as well, the points lie on that of ``a`` where ``a_leads``, else on that of ``b``.
    """
    size, apart = min(a.reach, b.reach), float((close[1] - close[0]) @ normal)
    one, own = a.face(normal), b.face(-(R.T @ normal))
    other = None if own is None else Face(r + own.points @ R.T, R @ own.normal)
    of_a = -np.inf if one is None else one.normal @ (r - one.points[0]) - b.extent(-(R.T @ one.normal))
    of_b = -np.inf if other is None else -other.normal @ other.points[0] - a.extent(-other.normal)
    on_b = of_a <= of_b - FACES[0] * size if a_leads else of_b > of_a - FACES[0] * size
    best, face, incident = max(of_a, of_b), other if on_b else one, a if on_b else b
    share = 0.0 if isinstance(incident, Round) else FACES[1]  # a patch holds better than an edge, a point does not
    found: list[Features] = []
    over: list[Features] = []  # points over the face, where the deepest part of the shape is among them
    if face is not None and best > apart - max(FACES[0], ROUGH) * size - share * abs(apart):
        points, lowest = face_points(a, b, r, R, face, on_b, margin)
        over = points if lowest <= best + AGREES[0] * size + AGREES[1] * abs(apart) else []
    if best > apart - FACES[0] * size - share * abs(apart):
        found = over
    found = found or part_points(a, b, r, R, normal, apart) or over
    return found or [Features(normal, 0.0, close[0], (close[1] - r) @ R, NO_EDGE, NO_EDGE, 0.0, 0.0, 0.0)]


def face_points(
    a: Convex, b: Convex, r: Array, R: Array, face: Face, on_b: bool, margin: float
) -> tuple[list[Features], float]:
    """Return the points of one shape that lie over a ``face`` of the other, nearer than ``margin`` [m], and their least
    height [m].
    """
    incident = a if on_b else b
    down = -face.normal if on_b else -(R.T @ face.normal)  # in axes of the incident shape
    kept, heights, rounded = [], [], []
    for outline, is_round in incident.outlines(down):
        points = clipped_polygon(outline if on_b else r + outline @ R.T, face)
        high = (points - face.points[0]) @ face.normal
        kept.append(points[high < margin])
        heights.append(high[high < margin])
        rounded.append(np.full(len(heights[-1]), is_round))
    points, high, over = np.concatenate(kept), np.concatenate(heights), np.concatenate(rounded)
    found = []
    for k in spread(points, high) if len(points) else ():
        foot, point = points[k] - high[k] * face.normal, points[k]
        core = point if on_b else (point - r) @ R
        if over[k]:
            core = core - incident.curved(down)[0]  # type: ignore[union-attr]
        flag = float(over[k])
        if on_b:
            found.append(Features(R.T @ -face.normal, 1.0, core, (foot - r) @ R, NO_EDGE, NO_EDGE, flag, 0.0, 0.0))
        else:
            found.append(Features(face.normal, 0.0, foot, core, NO_EDGE, NO_EDGE, 0.0, flag, 0.0))
    return found, float(high.min(initial=np.inf))


def part_points(a: Convex, b: Convex, r: Array, R: Array, normal: Array, apart: float) -> list[Features]:
    """Return the points of the corners, edges and curved parts that are nearest, none where none is."""
    size, gap = min(a.reach, b.reach), -np.inf
    best: list[Features] = []
    least = apart - AGREES[0] * size - AGREES[1] * abs(apart)
    ones, others = a.parts(normal), b.parts(-(R.T @ normal))
    pairs: Iterator[tuple[Part, Part]] = iter(product(ones, others))
    flat = isinstance(a, Polytope) and isinstance(b, Polytope)
    if isinstance(a, Polytope) and isinstance(b, Polytope):
        pairs = edge_pairs(a, b, ones, others, r, R, normal)
    for one, other in pairs:
        free = float(one.rounded or other.rounded)
        given = Features(
            normal, 0.0, one.point, other.point, one.edge, other.edge, float(one.rounded), float(other.rounded), free
        )
        ends, off = shared_line(given, r, R), 2.0 * PARALLEL
        if ends is None:
            ends, off = [given], HOLDS
        found = [settled(a, b, each, r, R, off * size) for each in ends]
        lowest = min(distance for _, distance in found)
        if lowest > max(gap, least):
            best, gap = [each for each, _ in found], lowest
            if not flat:
                break
    return best


def edge_pairs(
    a: Polytope, b: Polytope, ones: list[Part], others: list[Part], r: Array, R: Array, normal: Array
) -> Iterator[tuple[Part, Part]]:
    """Yield the edges of two polytopes that may touch: beside each other, or crossing where the shapes part.

    ``settled`` judges each of them closer. Two corners, or a corner and an edge, touch in passing alone.
    """
    ones, others = [one for one in ones if one.edge.any()], [other for other in others if other.edge.any()]
    edges, turned = np.array([one.edge for one in ones]), np.array([other.edge for other in others]) @ R.T
    way = r + np.array([other.point for other in others]) @ R.T - np.array([one.point for one in ones])[:, None]
    across = np.cross(edges[:, None], turned)  # (edges of a, edges of b, 3)
    sine, long = np.linalg.norm(across, axis=2), np.linalg.norm(edges, axis=1)[:, None]
    reach, size = long + np.linalg.norm(turned, axis=1), min(a.reach, b.reach)
    parallel = sine <= PARALLEL * long * (reach - long)

    along = edges / long  # of parallel edges: none is beside the other but along the normal
    upright = normal - (along @ normal)[:, None] * along
    upright = (upright / (np.linalg.norm(upright, axis=1)[:, None] + TINY))[:, None]
    aside = way - sum(np.sum(way * one, axis=2)[:, :, None] * one for one in (along[:, None], upright))
    beside = np.linalg.norm(aside, axis=2) <= 4.0 * PARALLEL * (size + reach)

    n = across * (np.sign(across @ normal) / (sine + TINY**2))[:, :, None]  # of others: the ways end on the edges
    parted = n @ r - (n @ a.vertices.T).max(axis=2) + (n @ R @ b.vertices.T).min(axis=2)
    ways = [np.sum(np.cross(way, edge) * across, axis=2) / (sine**2 + TINY**2) for edge in (turned, edges[:, None])]
    meet = np.abs(parted - np.sum(n * way, axis=2)) <= 10.0 * HOLDS * size
    meet &= (np.abs(ways) <= 1.0 + 10.0 * (ON_EDGE - 1.0)).all(axis=0)
    for i, j in np.argwhere(np.where(parallel, beside, meet)):
        yield ones[i], others[j]


def settled(a: Convex, b: Convex, f: Features, r: Array, R: Array, off: float) -> tuple[Features, float]:
    """Return features with their normal and their gap, minus infinity where they are not nearest.

    They are where the gap is the distance of the shapes along the normal, but for ``off`` [m], and where the ways along
    the edges end on the edges.
    """
    place, axes = r.tolist(), R.tolist()
    for _ in range(TRIES):
        touch = nearest(a, b, f, place, axes)
        n = np.array(touch.normal)
        turned, f = float(np.max(np.abs(n - f.normal))), f._replace(normal=n)
        if not turned > EXACT:
            break
    w, arm, _ = between(a, b, f, place, axes, n.tolist())
    beyond = n @ r - a.extent(n) - b.extent(-(R.T @ n)) - touch.gap
    slide = np.subtract(touch.arm, arm)
    left = np.array(w) + slide - touch.gap * n  # along the first edge alone
    edge, own = f.edge_a, R @ f.edge_b
    on_a = float(left @ edge) / (float(edge @ edge) + TINY)
    on_b = float(slide @ own) / (float(own @ own) + TINY)
    missed = float(np.max(np.abs(left - on_a * edge)))
    good = abs(beyond) <= off and missed <= off and abs(on_a) <= ON_EDGE and abs(on_b) <= ON_EDGE
    return f, float(touch.gap) if good else -np.inf


def clipped_polygon(points: Array, face: Face) -> Array:
    """Return the part (k, 3) of a polygon, an edge or a point inside the prism over a face (Sutherland, Hodgman)."""
    corners, closed = face.points, len(points) > 2
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        edge = end - start
        inwards = np.cross(face.normal, edge)
        inwards /= np.linalg.norm(inwards)
        points = half_polygon(points, (points - start) @ inwards, closed)
        if not len(points):
            break
    return points


def half_polygon(points: Array, inside: Array, closed: bool) -> Array:
    """Return the part (k, 3) of a polygon or an edge where the distances ``inside`` (k,) are zero or more."""
    kept: list[Any] = []
    count = len(points)
    for k in range(count):
        if inside[k] >= 0.0:
            kept.append(points[k])
        following = (k + 1) % count
        if (closed or k + 1 < count) and (inside[k] >= 0.0) != (inside[following] >= 0.0):
            share = inside[k] / (inside[k] - inside[following])
            kept.append(points[k] + share * (points[following] - points[k]))
    return np.array(kept).reshape(-1, 3)


def spread(points: Array, heights: Array) -> Any:
    """Return the numbers of up to MOST points: the lowest, then each time the farthest from those taken."""
    if len(points) <= MOST:
        return np.arange(len(points))
    near = ALIKE * float(np.max(np.ptp(points, axis=0)))
    chosen = [first_largest(-heights, near)]
    distance = np.linalg.norm(points - points[chosen[0]], axis=1)
    for _ in range(MOST - 1):
        chosen.append(first_largest(distance, near))
        distance = np.minimum(distance, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return np.array(sorted(chosen))


def first_largest(values: Array, near: float) -> int:
    """Return the number of the first value that is the largest but for ``near``."""
    return int(np.argmax(values >= values.max() - near))


def shared_line(given: Features, r: Array, R: Array) -> list[Features] | None:
    """Return the features at the ends where two parallel edges lie beside each other; None where they do not."""
    one, other = given.edge_a, R @ given.edge_b
    if not one.any() or not other.any():
        return None
    long, own = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    along = one / long
    if np.linalg.norm(np.cross(along, other)) > PARALLEL * own:
        return None
    middle, reach = (r + R @ given.point_b - given.point_a) @ along, float(other @ along)
    low, high = max(-long, middle - abs(reach)), min(long, middle + abs(reach))
    if low >= high:
        return None
    return [
        given._replace(
            point_a=given.point_a + place * along,
            point_b=given.point_b + (place - middle) / reach * given.edge_b,
            edge_b=NO_EDGE,
        )
        for place in (low, high)
    ]

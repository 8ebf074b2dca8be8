"""Triangle meshes with smooth normals and sharp edges: unit solids, coils, and the surfaces of the user."""

import math
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError
from rtmbs.model.shapes import weld

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

CREASE = math.cos(math.radians(35.0))  # of the angle between the normals of two faces from which their edge is sharp
TINY = 1e-300


def face_normals(triangles: Array) -> Array:
    """Return unit normals (k, 3) of triangles (k, 3, 3); zero for those without an area."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), TINY))


def sharp_edges(triangles: Array) -> Array:
    """Return the segments (e, 2, 3) of triangles (k, 3, 3) where faces meet at an angle, or where a face ends."""
    number = weld(triangles.reshape(-1, 3)).reshape(-1, 3)
    normals, count = face_normals(triangles), int(number.max()) + 1
    ends = np.concatenate([number[:, [0, 1]], number[:, [1, 2]], number[:, [2, 0]]])
    places = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    face = np.tile(np.arange(len(triangles)), 3)
    real = (ends[:, 0] != ends[:, 1]) & (np.linalg.norm(normals, axis=1)[face] > 0.5)
    ends, places, face = np.sort(ends[real], axis=1), places[real], face[real]
    key = ends[:, 0] * count + ends[:, 1]
    order = np.argsort(key, kind="stable")
    key, face, places = key[order], face[order], places[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.zeros(0, np.int64)
    size = np.diff(np.append(first, len(key)))
    second = np.minimum(first + 1, len(key) - 1)
    bent = np.einsum("ki,ki->k", normals[face[first]], normals[face[second]]) < CREASE
    return places[first[(size != 2) | bent]]


def smooth_normals(triangles: Array) -> Array:
    """Return normals (k, 3, 3) of the corners of triangles: the mean, by area, of the faces around a corner that are no
    more bent against its own than ``CREASE``.
    """
    number = weld(triangles.reshape(-1, 3))
    order = np.argsort(number, kind="stable")
    number = number[order]
    own = np.repeat(face_normals(triangles), 3, axis=0)[order]
    crossed = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    area = np.repeat(crossed, 3, axis=0)[order]
    total, place = area.copy(), np.arange(len(number))
    following = np.searchsorted(number, number, side="right") - 1 - place  # corners of the same point that come later
    step, some = 1, place[following >= 1]
    while len(some):  # every pair of corners of one point is met once
        near = some[np.einsum("ki,ki->k", own[some], own[some + step]) > CREASE]
        total[near] += area[near + step]
        total[near + step] += area[near]
        step += 1
        some = some[following[some] >= step]
    found = np.empty_like(total)
    found[order] = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), TINY)
    return found.reshape(-1, 3, 3)


# ---- unit meshes -----------------------------------------------------------------------------------------------------

Floats = NDArray[np.float32]

SEGMENTS = 12  # around a cylinder: round enough at the size of a bar, and cheap without a graphics card
FINE = 32  # around the shapes that the user gives
COIL_SEGMENTS, COIL_ROUND = 14, 5  # of a turn, and around the wire
COARSE = 8  # of round solids that cast a shadow in place of rounder ones
COIL_WIRE = 0.14  # radius of the wire in radii of the coil
COIL_END = 0.1  # share of the length that is straight, at each end
COIL_BEND = 1.0  # turns in which the wire goes from the axis to the radius


class Mesh(NamedTuple):
    """Triangles, three vertices after one another."""

    vertices: Floats  # (3 k, 3)
    normals: Floats  # (3 k, 3) unit
    closed: bool = False  # seen from outside only, corners counter-clockwise: the far side need not be drawn
    edges: Floats = np.zeros((0, 3), np.float32)  # (2 e, 3) ends of the sharp edges
    kind: str = ""  # cube, cylinder, sphere or coil, of any number of triangles
    caster: Floats | None = None  # (3 c, 3) coarse triangles that cast the shadow in place of many fine ones


def mesh(vertices: ArrayLike, faces: ArrayLike, what: str = "mesh") -> Mesh:
    """Return the mesh of ``vertices`` (v, 3) [m] and triangles ``faces`` (k, 3) of their indices.

    Raises InputError naming ``what`` for a wrong shape, an index without a vertex or a number that is not finite.
    """
    points, corners = np.asarray(vertices, float), np.asarray(faces)
    if points.ndim != 2 or points.shape[1] != 3 or not np.all(np.isfinite(points)):
        raise InputError(f"{what}: vertices have shape {points.shape}; finite numbers of shape (v, 3) are needed")
    if corners.ndim != 2 or corners.shape[1] != 3 or corners.dtype.kind not in "iu" or not len(corners):
        raise InputError(f"{what}: faces have shape {corners.shape}; whole numbers of shape (k, 3) are needed")
    if corners.min() < 0 or corners.max() >= len(points):
        raise InputError(f"{what}: a face names vertex {corners.max()}, but there are {len(points)} vertices")
    triangles = points[corners]
    return with_edges(packed(triangles, smooth_normals(triangles)))


def with_edges(plain: Mesh, kind: str = "") -> Mesh:
    """Return a mesh with its sharp edges."""
    edges = sharp_edges(plain.vertices.reshape(-1, 3, 3).astype(float))
    return plain._replace(edges=np.ascontiguousarray(edges.reshape(-1, 3), np.float32), kind=kind)


def packed(vertices: Array, normals: Array) -> Mesh:
    """Return arrays (..., 3) as rows of float32."""
    points, directions = (np.ascontiguousarray(values.reshape(-1, 3), np.float32) for values in (vertices, normals))
    return Mesh(points, directions)


@cache
def cube() -> Mesh:
    """Edges of 1 about the origin."""
    corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return mesh(corners, [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))])._replace(
        closed=True, kind="cube"
    )


@cache
def cylinder(segments: int = SEGMENTS) -> Mesh:
    """Radius 1, from z = 0 to z = 1, closed."""
    made = with_edges(_surface_of_revolution([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], segments), "cylinder")
    return made._replace(caster=cylinder(COARSE).vertices if segments > COARSE else None)


@cache
def cone() -> Mesh:
    """Radius 1 at z = 0, tip at z = 1, closed."""
    return _surface_of_revolution([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], SEGMENTS)


@cache
def sphere(segments: int = SEGMENTS) -> Mesh:
    """Radius 1 about the origin, smooth."""
    rings = segments // 2
    angles = np.linspace(-math.pi / 2.0, math.pi / 2.0, rings + 1)
    flat = _surface_of_revolution([(math.cos(angle), math.sin(angle)) for angle in angles], segments)
    lengths = np.maximum(np.linalg.norm(flat.vertices, axis=1, keepdims=True), 1e-9)
    coarse = sphere(COARSE).vertices if segments > COARSE else None
    return Mesh(flat.vertices, flat.vertices / lengths, closed=True, kind="sphere", caster=coarse)


@cache
def pyramid() -> Mesh:
    """Four sides, half a width of 0.3 at z = 0 and of 1 at z = 1, closed: what a support on ground looks like."""
    corners = np.array([(w * x, w * y, z) for z, w in ((0.0, 0.3), (1.0, 1.0)) for x in (-1, 1) for y in (-1, 1)])
    quads = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return mesh(corners, faces)._replace(closed=True)


@cache
def coil(slenderness: int = 5) -> Mesh:
    """A helix of radius 1 from z = 0 to z = 1 with a straight end on its axis at both sides.

    slenderness: length in radii that it will be stretched to at first; its wire is round there.
    """
    coarse = coil_mesh(slenderness, COARSE, 3).vertices
    return coil_mesh(slenderness, COIL_SEGMENTS, COIL_ROUND)._replace(caster=coarse)


def coil_mesh(slenderness: int, segments: int, round: int) -> Mesh:
    """Return a coil of so many segments a turn, and so many around its wire."""
    turns = int(np.clip(slenderness, 4, 12))
    way = np.linspace(0.0, 1.0, turns * segments + 1)
    inner = np.clip((way - COIL_END) / (1.0 - 2.0 * COIL_END), 0.0, 1.0)
    angle = 2.0 * math.pi * turns * inner
    outward = np.column_stack([np.cos(angle), np.sin(angle), np.zeros_like(way)])
    bent = np.clip(turns * np.minimum(inner, 1.0 - inner) / COIL_BEND, 0.0, 1.0)
    reach = (1.0 - COIL_WIRE) * bent**2 * (3.0 - 2.0 * bent)
    center = outward * reach[:, None] + np.outer(way * slenderness, (0.0, 0.0, 1.0))
    along = np.gradient(center, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    first = outward - np.einsum("ki,ki->k", outward, along)[:, None] * along
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    around = 2.0 * math.pi * np.arange(round + 1) / round
    across = np.cos(around)[None, :, None] * first[:, None]
    across = across + np.sin(around)[None, :, None] * np.cross(first, along)[:, None]
    squeeze = np.array([1.0, 1.0, 1.0 / slenderness])
    normals = across / squeeze
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    return _grid_mesh((center[:, None] + COIL_WIRE * across) * squeeze, normals)._replace(kind="coil")


def _surface_of_revolution(profile: list[tuple[float, float]], segments: int) -> Mesh:
    """Return the surface of a profile of (radius, z), bottom to top, turned about z; smooth around, sharp along."""
    around = 2.0 * math.pi * np.arange(segments + 1) / segments
    circle = np.column_stack([np.cos(around), np.sin(around), np.zeros_like(around)])
    parts = []
    for (r0, z0), (r1, z1) in pairwise(profile):
        outward, upward = z1 - z0, r0 - r1
        length = math.hypot(outward, upward)
        normal = circle * (outward / length) + np.array([0.0, 0.0, upward / length])
        rows = np.array([circle * r0 + [0.0, 0.0, z0], circle * r1 + [0.0, 0.0, z1]])
        parts.append(_grid_mesh(rows.transpose(1, 0, 2), np.repeat(normal[:, None], 2, axis=1)))
    return Mesh(np.concatenate([p.vertices for p in parts]), np.concatenate([p.normals for p in parts]), closed=True)


def _grid_mesh(points: Array, normals: Array) -> Mesh:
    """Return two triangles for every cell of a grid of points (a, b, 3); those without an area are left out."""

    def triangles(grid: Array) -> Array:
        p, q, r, s = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
        return np.concatenate([np.stack([p, q, r], axis=2), np.stack([p, r, s], axis=2)]).reshape(-1, 3, 3)

    corners = triangles(points)
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    keep = area > 1e-9
    return packed(corners[keep], triangles(normals)[keep])

"""Meshes and drawings: unit solids and surfaces, placed batches, line segments, section plane, ground grid, shadow."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from itertools import pairwise
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError
from rtmbs.model.shapes import weld
from rtmbs.viewer.scene.camera import ground_axes
from rtmbs.viewer.scene.theme import Color

# ---- meshes ----------------------------------------------------------------------------------------------------------

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


_MAKING = RLock()


def kept_mesh(make: Callable[..., Mesh]) -> Callable[..., Mesh]:
    """Keep the meshes that a function makes: one object for the same arguments, also when two threads ask at once.

    Parts are drawn together when they share the object of their mesh.
    """
    known = cache(make)

    @wraps(make)
    def kept(*arguments: Any) -> Mesh:
        with _MAKING:
            return known(*arguments)

    return kept


@kept_mesh
def cube() -> Mesh:
    """Edges of 1 about the origin."""
    corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return mesh(corners, [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))])._replace(
        closed=True, kind="cube"
    )


@kept_mesh
def cylinder(segments: int = SEGMENTS) -> Mesh:
    """Radius 1, from z = 0 to z = 1, closed."""
    made = with_edges(_surface_of_revolution([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)], segments), "cylinder")
    return made._replace(caster=cylinder(COARSE).vertices if segments > COARSE else None)


@kept_mesh
def cone() -> Mesh:
    """Radius 1 at z = 0, tip at z = 1, closed."""
    return _surface_of_revolution([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], SEGMENTS)


@kept_mesh
def sphere(segments: int = SEGMENTS) -> Mesh:
    """Radius 1 about the origin, smooth."""
    rings = segments // 2
    angles = np.linspace(-math.pi / 2.0, math.pi / 2.0, rings + 1)
    flat = _surface_of_revolution([(math.cos(angle), math.sin(angle)) for angle in angles], segments)
    lengths = np.maximum(np.linalg.norm(flat.vertices, axis=1, keepdims=True), 1e-9)
    coarse = sphere(COARSE).vertices if segments > COARSE else None
    return Mesh(flat.vertices, flat.vertices / lengths, closed=True, kind="sphere", caster=coarse)


@kept_mesh
def pyramid() -> Mesh:
    """Symbol of a support on ground: a closed frustum of four sides, half widths 0.3 at z = 0 and 1 at z = 1."""
    corners = np.array([(w * x, w * y, z) for z, w in ((0.0, 0.3), (1.0, 1.0)) for x in (-1, 1) for y in (-1, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return mesh(corners, faces)._replace(closed=True)


@kept_mesh
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


# ---- drawings --------------------------------------------------------------------------------------------------------

GROUND = 0  # the first body of a frame; its axes are those of the world


class Batch:
    """Placements of one mesh on bodies. Every picture needs one product of small matrices, and one upload.

    mesh : what is placed.
    body : (k,) index of the body that carries a placement, 0 for ground.
    local : (k, 3, 4) placement in body axes; its columns may stretch the mesh.
    color : (k, 4) red, green, blue, opacity from 0 to 1.
    edges : sharp edges are drawn as lines.  casts : it casts a shadow.
    names : of the placements, for those who point at them; none for those who cannot.
    """

    def __init__(self, mesh: Mesh, body: ArrayLike, local: ArrayLike, color: ArrayLike, edges: bool = False) -> None:
        self.mesh, self.edges = mesh, edges
        self.body: Integers = np.asarray(body, np.int64).reshape(-1)
        self.local: Array = np.asarray(local, float).reshape(-1, 3, 4)
        self.color: Floats = np.ascontiguousarray(np.broadcast_to(color, (len(self.body), 4)), np.float32)
        self.placement: Array = self.local.copy()  # (k, 3, 4) world
        low, high = mesh.vertices.min(axis=0).astype(float), mesh.vertices.max(axis=0).astype(float)
        self.middle, self.half = 0.5 * (low + high), 0.5 * (high - low)  # (3,) of the box about the mesh
        self.visible, self.casts, self.names = True, True, list[str]()

    def __len__(self) -> int:
        return len(self.body)

    def carry(self, A: Array, r: Array) -> None:
        """Move with the bodies: A (nb, 3, 3) body to world, r (nb, 3) [m]."""
        self.placement = A[self.body] @ self.local
        self.placement[:, :, 3] += r[self.body]

    def put(self, placement: Array, color: ArrayLike) -> None:
        """Replace all placements (k, 3, 4) in the world, their number too: springs, arrows."""
        self.placement = self.local = placement
        self.body = np.full(len(placement), GROUND)
        self.color = np.ascontiguousarray(np.broadcast_to(color, (len(placement), 4)), np.float32)


class Lines:
    """Segments of a width in pixels. points (k, 2, 3) world [m], color (k, 4)."""

    def __init__(self, points: ArrayLike = (), color: ArrayLike = (0.0, 0.0, 0.0, 1.0), width: float = 1.0) -> None:
        self.width, self.visible = width, True
        self.put(points, color)

    def __len__(self) -> int:
        return len(self.points)

    def put(self, points: ArrayLike, color: ArrayLike) -> None:
        """Replace all segments."""
        self.points: Array = np.asarray(points, float).reshape(-1, 2, 3)
        self.color: Floats = np.ascontiguousarray(np.broadcast_to(color, (len(self.points), 4)), np.float32)


def between(start: Array, end: Array, radius: Any) -> Array:
    """Return placements (k, 3, 4) that lay a mesh from z = 0 to z = 1 from ``start`` to ``end`` (k, 3).

    radius: of the mesh across, one for all or (k,) [m].
    """
    if not len(start):
        return np.zeros((0, 3, 4))
    along = end - start
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-12)
    unit = along / length[:, None]
    unit[length <= 1e-12, 2] = 1.0  # of two points in one place: any
    # Any direction across will do; the axis that the segment follows least gives a well-conditioned one.
    least = np.eye(3)[np.argmin(np.abs(unit), axis=1)]
    across = cross_products(unit, least)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    width = np.broadcast_to(np.asarray(radius, float), length.shape)[:, None]
    return np.stack([across * width, cross_products(unit, across) * width, along, start], axis=2)


def cross_products(a: Array, b: Array) -> Array:
    """Return the cross products of rows (k, 3); NumPy's own takes ten times as long for a few."""
    return np.asarray(a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]])


# ---- sections --------------------------------------------------------------------------------------------------------

AXIS_NORMALS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Section(NamedTuple):
    """Points x with normal . x > offset are not drawn."""

    normal: Array  # (3,) unit, world
    offset: float  # [m]

    @property
    def plane(self) -> Array:
        """(4,): the part that is drawn has plane . (x, 1) >= 0."""
        return np.append(-self.normal, self.offset)

    def kept(self, start: Array, direction: Array) -> tuple[Array, float]:
        """Return where the part of a ray begins that is drawn (3,), and how long it is [m]; 0 for none."""
        before, toward = self.offset - float(self.normal @ start), float(self.normal @ direction)
        if before < 0.0:  # the eye stands on the side that is taken away
            return (start + before / toward * direction, np.inf) if toward < 0.0 else (start, 0.0)
        return start, before / toward if toward > 0.0 else np.inf

    def cut(self, triangles: Array) -> tuple[Array, NDArray[np.int64]]:
        """Return the remaining parts of triangles (k, 3, 3) as corners (j, 4, 3), and the triangle (j,) of each."""
        before = self.offset - triangles @ self.normal  # (k, 3), not negative where a corner is drawn
        whole = np.flatnonzero(np.all(before >= 0.0, axis=1))
        crossing = np.flatnonzero(np.any(before >= 0.0, axis=1) & np.any(before < 0.0, axis=1))
        parts = [part(triangles[k], before[k]) for k in crossing]
        quads = np.concatenate([triangles[whole], triangles[whole, 2:]], axis=1)
        return np.concatenate([quads, np.array(parts).reshape(-1, 4, 3)]), np.concatenate([whole, crossing])


def part(corners: Array, before: Array) -> Array:
    """Return the part (4, 3) of a triangle (3, 3) whose corners lie so far before a plane (3,) that cuts it."""
    found = []
    for k in range(3):
        one, other = before[k], before[(k + 1) % 3]
        if one >= 0.0:
            found.append(corners[k])
        if (one >= 0.0) != (other >= 0.0):
            found.append(corners[k] + one / (one - other) * (corners[(k + 1) % 3] - corners[k]))
    return np.array(found if len(found) == 4 else [*found, found[-1]])


def section_normal_to(axis: str, offset: float, turned: bool = False) -> Section:
    """Return the section normal to an axis of the world; ``turned`` takes away the other side."""
    sign = -1.0 if turned else 1.0
    return Section(sign * np.array(AXIS_NORMALS[axis]), sign * offset)


# ---- the ground grid -------------------------------------------------------------------------------------------------

CELLS = 10  # at least so many across the longer side
SHARE = 0.12  # length of an axis, in sizes of the mechanism
AXIS_COLORS = ("#c0392b", "#2e8b57", "#2f6fd0")  # x, y, z as everywhere


@dataclass(frozen=True, eq=False)
class Floor:
    """The rectangle under a mechanism that the grid covers, and that catches its shadow."""

    corner: Array  # (3,) world [m]
    east: Array  # (3,) from the corner along one side [m]
    north: Array  # (3,) along the other side [m]
    up: Array  # (3,) unit
    dark: float = 0.3  # opacity of a full shadow

    def from_above(self) -> Array:
        """Return the matrix (4, 4) from the world to the floor: two places from -1 to 1, and height in its sizes."""
        out = np.eye(4)
        for row, way in ((0, self.east), (1, self.north)):
            out[row, :3] = 2.0 * way / (way @ way)
            out[row, 3] = -1.0 - out[row, :3] @ self.corner
        out[2, :3] = self.up / max(float(np.linalg.norm(self.east)), float(np.linalg.norm(self.north)))
        out[2, 3] = -out[2, :3] @ self.corner
        return out


def round_spacing(length: float) -> float:
    """Return 1, 2 or 5 times a power of ten, the largest that is not above ``length``."""
    power = 10.0 ** math.floor(math.log10(length))
    return max(power * factor for factor in (1.0, 2.0, 5.0) if power * factor <= length * (1.0 + 1e-9))


def grid_lines(points: Array, gravity: Array) -> tuple[Array, float, Floor]:
    """Return segments (k, 2, 3) of a grid under ``points`` (k, 3), its spacing [m], and the floor that it covers.

    It lies across gravity, or across z without gravity, under the lowest point.
    """
    ground = ground_axes(gravity)
    points = points @ ground.T  # east, north, up
    low, high = points.min(axis=0), points.max(axis=0)
    size = max(float(np.max(high - low)), 1e-6)
    spacing = round_spacing(size / CELLS)
    level = low[2] - 0.5 * spacing
    first = np.floor((low - 0.15 * size) / spacing).astype(int)
    last = np.ceil((high + 0.15 * size) / spacing).astype(int)
    lines = []
    for along, other in ((0, 1), (1, 0)):
        for number in range(first[other], last[other] + 1):
            segment = np.zeros((2, 3))
            segment[:, 2], segment[:, other] = level, number * spacing
            segment[:, along] = first[along] * spacing, last[along] * spacing
            lines.append(segment)
    corner = np.array([first[0] * spacing, first[1] * spacing, level]) @ ground
    sides = spacing * (last - first)[:2, None] * ground[:2]
    return np.array(lines) @ ground, spacing, Floor(corner, sides[0], sides[1], ground[2])


def axis_lines(size: float, colors: tuple[Color, Color, Color]) -> tuple[Array, Array]:
    """Return the three axes (3, 2, 3) at the origin, and their colours (3, 4)."""
    segments = np.zeros((3, 2, 3))
    segments[:, 1] = SHARE * size * np.eye(3)
    return segments, np.array(colors)


# ---- what a renderer draws -------------------------------------------------------------------------------------------


class Drawing(NamedTuple):
    """The parts of a scene that are shown now."""

    batches: Sequence[Batch]
    lines: Sequence[Lines]
    background: tuple[float, ...]
    floor: Floor | None = None  # what catches the shadow
    section: Section | None = None  # cuts batches; lines and the shadow stay whole

    def shown(self) -> list[Batch]:
        """Return the batches that have anything to see."""
        return [batch for batch in self.batches if batch.visible and len(batch)]


# ---- shadow: what stands over the floor is drawn from above into a small picture, blurred, and laid on it ------------

SHADOW_PIXELS = 160  # of the picture from above, each way: few, so that it is soft and cheap
SHADOW_CROWD = 200  # placements from which a renderer without a graphics card leaves out the shadow

SHADOW_FADE = (
    "float fade(float height) { return clamp(1.0 - 1.1 * height, 0.15, 1.0); }"  # what stands higher casts less
)
BLUR_FRAGMENT = """#version 330 core
in vec2 place;
uniform sampler2D picture;
uniform vec2 way;  // one pixel along a row or a column
out vec4 shade;
void main() {
    vec4 sum = 0.2270270 * texture(picture, place);
    sum += 0.3162162 * (texture(picture, place + 1.3846154 * way) + texture(picture, place - 1.3846154 * way));
    sum += 0.0702703 * (texture(picture, place + 3.2307692 * way) + texture(picture, place - 3.2307692 * way));
    shade = sum;
}
"""
FLOOR_FRAGMENT = """#version 330 core
in vec2 place;
uniform sampler2D picture;
uniform float dark;
out vec4 shade;
void main() { shade = vec4(0.0, 0.0, 0.0, dark * texture(picture, place).r); }
"""

"""Drawings: batches of placed meshes, line segments, the section plane and the ground grid that a renderer draws."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.viewer.scene.camera import ground_axes
from rtmbs.viewer.scene.meshes import Mesh
from rtmbs.viewer.scene.theme import Color

Floats = NDArray[np.float32]
Array = NDArray[np.float64]
Integers = NDArray[np.int64]

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
        """Return what is left of triangles (k, 3, 3) as corners (j, 4, 3), and the triangle (j,) that each is of."""
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


def across(axis: str, offset: float, turned: bool = False) -> Section:
    """Return the section across an axis of the world; ``turned`` takes away the other side."""
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

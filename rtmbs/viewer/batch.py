"""Many placements of one mesh, and many line segments: what is handed to the renderer, whatever it is."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.viewer.meshes import Mesh

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
    across = crossed(unit, least)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    width = np.broadcast_to(np.asarray(radius, float), length.shape)[:, None]
    return np.stack([across * width, crossed(unit, across) * width, along, start], axis=2)


def crossed(a: Array, b: Array) -> Array:
    """Return the cross products of rows (k, 3); NumPy's own takes ten times as long for a few."""
    return np.asarray(a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]])

"""What stands under the mouse, by name: the nearest body, joint or spring along a ray."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer import picking
from rtmbs.viewer.batch import Batch

Array = NDArray[np.float64]


class Named(NamedTuple):
    """A thing in the way of a ray."""

    distance: float  # [m]
    text: str


def nearest_name(batches: list[Batch], start: Array, direction: Array) -> Named | None:
    """Return what a ray meets first among placements that have names, None when it misses all."""
    found: Named | None = None
    for batch in batches:
        if not (batch.visible and batch.names):
            continue
        hit = picking.nearest(met(batch, start, direction), start, direction)
        if hit is not None and (found is None or hit.distance < found.distance):
            found = Named(hit.distance, batch.names[hit.number])
    return found


def met(batch: Batch, start: Array, direction: Array) -> Array:
    """Return distances (k,) along a ray to every placement of a batch; infinite where it is missed."""
    place = batch.placement
    if batch.mesh.kind == "cube":
        return picking.boxes(start, direction, place)
    if batch.mesh.kind in ("cylinder", "coil"):
        ends = np.stack([place[:, :, 3], place[:, :, 3] + place[:, :, 2]], axis=1)
        return picking.capsules(start, direction, ends, np.linalg.norm(place[:, :, 0], axis=1))
    if batch.mesh.kind == "sphere":
        ends = np.stack([place[:, :, 3]] * 2, axis=1)
        return picking.capsules(start, direction, ends, np.linalg.norm(place[:, :, 0], axis=1))
    corners = batch.mesh.vertices.reshape(-1, 3).astype(float)
    return np.array([surface_distance(corners @ one[:, :3].T + one[:, 3], start, direction) for one in place])


def surface_distance(vertices: Array, start: Array, direction: Array) -> float:
    """Return the distance along a ray to the first of triangles ``vertices`` (3 k, 3)."""
    return float(picking.triangles(start, direction, vertices.reshape(-1, 3, 3)).min())

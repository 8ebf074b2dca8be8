"""Ray casting: distances along a ray to capsules, boxes and triangles, and the name of the nearest element."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.scene.drawing import Batch

Array = NDArray[np.float64]

MISSED = np.inf


class Hit(NamedTuple):
    """The first primitive that a ray meets."""

    number: int  # of the primitive in its list
    distance: float  # along the ray [m]
    point: Array  # (3,) world [m]


def nearest(distances: Array, start: Array, direction: Array) -> Hit | None:
    """Return the primitive with the smallest of ``distances`` (k,) along a ray, None when all were missed."""
    if not len(distances) or not np.isfinite(distances).any():
        return None
    number = int(np.argmin(distances))
    return Hit(number, float(distances[number]), start + distances[number] * direction)


def capsules(start: Array, direction: Array, ends: Array, radius: Array) -> Array:
    """Return distances (k,) to capsules from ``ends[:, 0]`` to ``ends[:, 1]`` (k, 2, 3) of ``radius`` (k,).

    The way to the place where the ray comes nearest to the axis, less the half chord there: exact for a ray across the
    axis, and within the radius otherwise, which is what picking needs.
    """
    along = ends[:, 1] - ends[:, 0]
    offset = ends[:, 0] - start
    aa = np.einsum("ki,ki->k", along, along)
    ad, od, oa = along @ direction, offset @ direction, np.einsum("ki,ki->k", offset, along)
    across = aa - ad**2  # squared length of the axis as seen along the ray
    share = np.clip(np.where(across > 1e-12 * (1.0 + aa), (ad * od - oa) / np.maximum(across, 1e-300), 0.0), 0.0, 1.0)
    reach = od + share * ad
    gap = np.linalg.norm(offset + share[:, None] * along - reach[:, None] * direction, axis=1)
    entry = reach - np.sqrt(np.maximum(radius**2 - gap**2, 0.0))
    return np.where((gap <= radius) & (reach > 0.0), np.maximum(entry, 0.0), MISSED)


def boxes(start: Array, direction: Array, placement: Array) -> Array:
    """Return distances (k,) to boxes, unit cubes about the origin under ``placement`` (k, 3, 4)."""
    axes, centers = placement[:, :, :3], placement[:, :, 3]
    size2 = np.maximum(np.einsum("kij,kij->kj", axes, axes), 1e-300)
    local_start = np.einsum("kij,ki->kj", axes, start - centers) / size2
    local_direction = np.einsum("kij,i->kj", axes, direction) / size2
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (-0.5 - local_start) / local_direction, (0.5 - local_start) / local_direction
    inside = np.abs(local_start) <= 0.5  # a ray along a face pair: 0 / 0
    low, high = np.where(np.isnan(low), np.where(inside, -np.inf, np.inf), low), np.where(np.isnan(high), np.inf, high)
    entry, leave = np.minimum(low, high).max(axis=1), np.maximum(low, high).min(axis=1)
    return np.where((entry <= leave) & (leave >= 0.0), np.maximum(entry, 0.0), MISSED)


def triangles(start: Array, direction: Array, corners: Array) -> Array:
    """Return distances (k,) to triangles ``corners`` (k, 3, 3), both sides.

    Source: Moeller and Trumbore 1997, fast, minimum storage ray/triangle intersection.
    """
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = np.cross(direction, second)
    determinant = np.einsum("ki,ki->k", first, p)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / determinant
        offset = start - corners[:, 0]
        u = np.einsum("ki,ki->k", offset, p) * inverse
        q = np.cross(offset, first)
        v = (q @ direction) * inverse
        reach = np.einsum("ki,ki->k", second, q) * inverse
        met = (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (reach > 0.0)
    return np.where(met & (np.abs(determinant) > 1e-300), reach, MISSED)


# ---- names under the mouse -------------------------------------------------------------------------------------------


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
        hit = nearest(met(batch, start, direction), start, direction)
        if hit is not None and (found is None or hit.distance < found.distance):
            found = Named(hit.distance, batch.names[hit.number])
    return found


def met(batch: Batch, start: Array, direction: Array) -> Array:
    """Return distances (k,) along a ray to every placement of a batch; infinite where it is missed."""
    place = batch.placement
    if batch.mesh.kind == "cube":
        return boxes(start, direction, place)
    if batch.mesh.kind in ("cylinder", "coil"):
        ends = np.stack([place[:, :, 3], place[:, :, 3] + place[:, :, 2]], axis=1)
        return capsules(start, direction, ends, np.linalg.norm(place[:, :, 0], axis=1))
    if batch.mesh.kind == "sphere":
        ends = np.stack([place[:, :, 3]] * 2, axis=1)
        return capsules(start, direction, ends, np.linalg.norm(place[:, :, 0], axis=1))
    corners = batch.mesh.vertices.reshape(-1, 3).astype(float)
    return np.array([surface_distance(corners @ one[:, :3].T + one[:, 3], start, direction) for one in place])


def surface_distance(vertices: Array, start: Array, direction: Array) -> float:
    """Return the distance along a ray to the first of triangles ``vertices`` (3 k, 3)."""
    return float(triangles(start, direction, vertices.reshape(-1, 3, 3)).min())

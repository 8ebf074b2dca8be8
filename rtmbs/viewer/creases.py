"""Sharp edges of a surface as lines, and smooth normals elsewhere, so that a mesh of a file reads as a solid."""

import math

import numpy as np
from numpy.typing import NDArray

from rtmbs.model.polyhedra import weld

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

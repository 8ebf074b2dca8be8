"""How far points reach: of many points the few that a picture of all of them must hold."""

import math

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.frame import WAY

Array = NDArray[np.float64]

FAR = 5.0  # sizes of a mechanism that its motion may go and be in the picture


def reached(farthest: Array, points: Array, directions: Array) -> Array:
    """Return, of ``farthest`` (k, 3) and of ``points``, those that lie farthest in each of ``directions`` (k, 3)."""
    points = points[np.all(np.isfinite(points), axis=1)]
    if not len(points):
        return farthest
    heights = directions @ points.T  # along rows: the largest of a column takes ten times as long
    best = np.argmax(heights, axis=1)
    old = np.sum(farthest * directions, axis=1)
    further = ~(heights[np.arange(len(directions)), best] <= old)
    return np.where(further[:, None], points[best], farthest)


def sphere(count: int) -> Array:
    """Return unit vectors (count, 3) that are spread evenly: the points of a Fibonacci lattice."""
    k = np.arange(count) + 0.5
    z, turn = 1.0 - 2.0 * k / count, math.pi * (1.0 + math.sqrt(5.0)) * k
    across = np.sqrt(1.0 - z * z)
    return np.column_stack((across * np.cos(turn), across * np.sin(turn), z))


DIRECTIONS = sphere(WAY)

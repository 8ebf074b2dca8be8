"""The ground grid and the world's axes, as lines."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.camera import ground_axes
from rtmbs.viewer.theme import Color

Array = NDArray[np.float64]

CELLS = 10  # at least so many across the longer side
SHARE = 0.12  # length of an axis, in sizes of the mechanism
AXES = ("#c0392b", "#2e8b57", "#2f6fd0")  # x, y, z as everywhere


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

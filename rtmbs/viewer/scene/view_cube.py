"""View cube: a small cube in a corner of the picture, whose faces are the directions of the axes of the world.

A click on a face looks along it. The window draws ``faces``; a page draws the same from ``FACES`` and its own eye.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

FACES: tuple[tuple[str, tuple[float, float, float]], ...] = (
    ("x", (1.0, 0.0, 0.0)), ("y", (0.0, 1.0, 0.0)), ("z", (0.0, 0.0, 1.0)),
    ("\N{MINUS SIGN}x", (-1.0, 0.0, 0.0)), ("\N{MINUS SIGN}y", (0.0, -1.0, 0.0)), ("\N{MINUS SIGN}z", (0.0, 0.0, -1.0)),
)  # fmt: skip
HALF = 19.0  # [pixels] half an edge
REACH = HALF * 3.0**0.5  # [pixels] from the middle to a corner
INSET = 12.0  # [pixels] from the border of the picture
LEAST = 300  # [pixels] width and height of a picture that has room for it
EDGE_ON = 0.12  # share of a face that is seen, below which it has no letter


class Face(NamedTuple):
    """A face that is seen."""

    label: str
    axis: int  # that it lies across: 0, 1, 2
    normal: tuple[float, float, float]
    corners: Array  # (4, 2) [pixels] from the middle of the cube, y down
    seen: float  # share of it: 1 from straight before


def faces(axes: Array) -> list[Face]:
    """Return the faces that an eye with the rows right, up, backward (3, 3) sees."""
    found = []
    for number, (label, normal) in enumerate(FACES):
        n, axis = np.array(normal), number % 3
        if (seen := float(axes[2] @ n)) <= 1e-9:
            continue
        one, other = np.eye(3)[(axis + 1) % 3], np.eye(3)[(axis + 2) % 3]
        corners = HALF * np.array([n + a * one + b * other for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
        flat = corners @ axes[:2].T
        found.append(Face(label, axis, normal, flat * (1.0, -1.0), seen))
    return found


def middle(width: float, height: float) -> tuple[float, float] | None:
    """Return the middle of the cube in a picture [pixels]; None where there is no room."""
    if min(width, height) < LEAST:
        return None
    return width - INSET - REACH, INSET + REACH


def face_at(axes: Array, x: float, y: float) -> Face | None:
    """Return the face at a place from the middle of the cube [pixels], y down."""
    return next((face for face in faces(axes) if contains(face.corners, x, y)), None)


def contains(corners: Array, x: float, y: float) -> bool:
    """True for a point in a convex polygon (k, 2)."""
    ways = np.roll(corners, -1, axis=0) - corners
    away = np.array([x, y]) - corners
    turns = ways[:, 0] * away[:, 1] - ways[:, 1] * away[:, 0]
    return bool(np.all(turns >= 0.0) or np.all(turns <= 0.0))

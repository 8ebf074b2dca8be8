"""Seven coordinates a body: the origin of its frame in the world, and Euler parameters of its axes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.model import Model
from rtmbs.results.motion import quaternions

Array = NDArray[np.float64]

SIZE = 7  # x, y, z [m], e0, e1, e2, e3 [1]
NAMES = ("x", "y", "z", "e0", "e1", "e2", "e3")


def reference_coordinates(model: Model) -> Array:
    """Return the coordinates (nb, 7) of the reference pose, ground first."""
    bodies = list(model.bodies.values())
    places = np.array([body.position for body in bodies])
    turns = np.array([body.orientation for body in bodies])
    parameters = np.concatenate([quaternions(turn[None]) for turn in turns])
    return np.concatenate((places, parameters), axis=1)


def rotation_columns(e: Any) -> list[list[Any]]:
    """Return the entries R[i][j] (nb,) of the rotations of Euler parameters ``e`` (nb, 4), arrays of any kind."""
    w, x, y, z = e[:, 0], e[:, 1], e[:, 2], e[:, 3]
    return [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]


def rotations(e: Array) -> Array:
    """Return the rotations (k, 3, 3) of Euler parameters (k, 4)."""
    return np.moveaxis(np.array(rotation_columns(e)), -1, 0)


def world_rates(e: Array) -> Array:
    """Return 2 E (k, 3, 4): angular velocity in world axes is 2 E ed, angular acceleration 2 E edd."""
    w, x, y, z = e.T
    rows = np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])
    return 2.0 * np.moveaxis(rows, -1, 0)

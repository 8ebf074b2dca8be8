"""Seven coordinates a body: the origin of its frame in the world, and Euler parameters of its axes."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.model import Model
from rtmbs.rotations.quaternions import quaternions

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

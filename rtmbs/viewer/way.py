"""Where a mechanism will be in its first seconds: points that a picture of the motion must hold."""

import time
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rtmbs.simulation import Simulation
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.frame import WAY
from rtmbs.viewer.reach import DIRECTIONS, FAR, reached
from rtmbs.viewer.solids import outline

if TYPE_CHECKING:
    from rtmbs.viewer.snapshot import Poses

Array = NDArray[np.float64]

WATCHED = 10.0  # [s] that somebody watches
PATIENCE = 0.4  # [s] of wall time for it
LOOKS = 400  # poses at most


def way_ahead(sim: Simulation, poses: "Poses", scene: SceneDescription, seconds: float) -> Array:
    """Step ``sim`` on, and return the points (WAY, 3) that the outlines of its bodies reach farthest [m].

    It ends after ``seconds`` of the mechanism, after PATIENCE, or with a step that fails; whoever calls restores
    the state. A motion that goes FAR is no picture: then they are not numbers.
    """
    bodies, local = outline(scene)
    farthest = np.full((WAY, 3), np.nan)
    until, end = sim.t + seconds, time.perf_counter() + PATIENCE
    every = max(round(seconds / sim.h / LOOKS), 1)
    number, size = 0, 0.0
    while sim.t < until and time.perf_counter() < end:
        if number % every == 0:
            r, A, _ = poses.read(sim.state)
            farthest = reached(farthest, r[bodies] + np.einsum("kij,kj->ki", A[bodies], local), DIRECTIONS)
            size = size or float(np.max(np.ptp(farthest, axis=0)))
        number += 1
        if not sim.step().outcome.accepted:
            break
    near = np.all(np.ptp(farthest, axis=0) <= FAR * size)
    return farthest if near else np.full((WAY, 3), np.nan)

"""Where a mechanism will be in its first seconds: points that a picture of the motion must hold."""

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StepError
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import Chunk
from rtmbs.observers import At, Every, Observer
from rtmbs.observers.base import Watched
from rtmbs.results.samples import Samples, one_sample, samples_of
from rtmbs.simulation import Simulation
from rtmbs.viewer.scene.camera import DIRECTIONS, FARTHEST, reached
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import WAY
from rtmbs.viewer.scene.shapes import outline

if TYPE_CHECKING:
    from rtmbs.viewer.snapshot import Poses

Array = NDArray[np.float64]

WATCHED = 10.0  # [s] that somebody watches
PATIENCE = 0.4  # [s] of wall time for it
LOOKS = 400  # poses at most


def way_ahead(sim: Simulation, poses: "Poses", scene: SceneDescription, seconds: float) -> Array:
    """Run ``sim`` on, and return the points (WAY, 3) that the outlines of its bodies reach farthest [m].

    It ends after ``seconds`` of the mechanism, after PATIENCE, or with a step that fails; whoever calls restores
    the state. A motion that goes FARTHEST is no picture: then they are not numbers.
    """
    steps = max(round(seconds / sim.h), 1)
    reach, end = Reach(poses, scene, max(steps // LOOKS, 1) * sim.h), sim.t + steps * sim.h
    with suppress(StepError, Elapsed):
        sim.run(end, observers=[reach], record=At([end]), on_failure="raise")
    near = np.all(np.ptp(reach.farthest, axis=0) <= FARTHEST * reach.size)
    return reach.farthest if near else np.full((WAY, 3), np.nan)


class Elapsed(Exception):
    """PATIENCE is over."""


class Reach(Observer):
    """The points that a mechanism reaches farthest, looked at every ``dt`` [s]."""

    def __init__(self, poses: "Poses", scene: SceneDescription, dt: float) -> None:
        super().__init__(Every(dt))
        self.poses = poses
        self.bodies, self.local = outline(scene)
        self.farthest, self.size = np.full((WAY, 3), np.nan), 0.0
        self.until = time.perf_counter() + PATIENCE

    def start(self, sim: Watched, steps: int | None) -> None:
        """Look at the pose at the start, whose size is that of the mechanism."""
        self.take(one_sample(sim.state))
        self.size = float(np.max(np.ptp(self.farthest, axis=0)))

    def look(self, sim: Watched, report: StepReport) -> None:
        """Look at a pose."""
        self.take(one_sample(sim.state))

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """Look at many poses."""
        self.take(samples_of(t, chunk))

    def take(self, samples: Samples) -> None:
        """Keep what lies farther than all before; raises Elapsed when it took too long."""
        r, A = self.poses.read_all(samples)
        points = r[:, self.bodies] + np.einsum("skij,kj->ski", A[:, self.bodies], self.local)
        self.farthest = reached(self.farthest, points.reshape(-1, 3), DIRECTIONS)
        if time.perf_counter() > self.until:
            raise Elapsed

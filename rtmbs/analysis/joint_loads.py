"""What a joint carries over a motion: its reaction in any axes, and the statistics of its parts."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.load_statistics import LoadStatistics
from rtmbs.analysis.named import Named
from rtmbs.errors import unknown_name
from rtmbs.results.channel import WRENCH
from rtmbs.results.motion import body_motion
from rtmbs.results.reactions import reaction_values
from rtmbs.results.resampled import Resampled

Array = NDArray[np.float64]
WORLD = "world"


class JointLoads:
    """Loads of joints of whatever has samples of a motion: a Workload, an InverseDynamics."""

    resampled: Resampled

    @property
    def t(self) -> Array:
        """Times of the samples (S,) [s]."""
        return self.resampled.samples.t

    def reaction(self, joint: str, frame: str = WORLD) -> Array:
        """Return the wrench [f, n] (S, 6) of the first body on the second at the joint point [N, N m].

        Axes are those of the world, or of the body ``frame``. Raises UnknownNameError.
        """
        system = self.resampled.system
        wrench = reaction_values(self.resampled, system, joint)
        if frame == WORLD:
            return wrench
        if not (isinstance(frame, str) and frame in system.bodies):
            raise unknown_name("frame", frame, [WORLD, *system.bodies])
        R = body_motion(self.resampled, system.bodies[frame]).orientation
        return np.hstack([np.einsum("sji,sj->si", R, part) for part in (wrench[:, :3], wrench[:, 3:])])

    def statistics(self, joint: str, frame: str = WORLD) -> dict[str, LoadStatistics]:
        """Return statistics of the reaction of a joint: fx to nz in axes of ``frame``, and the sizes f and n.

        Raises UnknownNameError.
        """
        wrench = self.reaction(joint, frame)
        columns = dict(zip(WRENCH, wrench.T, strict=True))
        columns |= {"f": np.linalg.norm(wrench[:, :3], axis=1), "n": np.linalg.norm(wrench[:, 3:], axis=1)}
        return Named("part of a wrench", {name: LoadStatistics(values, self.t) for name, values in columns.items()})

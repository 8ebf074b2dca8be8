"""A system that counts evaluations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Counts
from rtmbs.formulations.checked import answered
from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.passed_through import PassedThrough

Array = NDArray[np.float64]


@dataclass
class Counted(PassedThrough):
    """The system itself, with each call of ``force`` counted. Forces and constraints are checked: shape, finite."""

    system: ConstrainedSystem
    counts: Counts

    def force(self, q: Array, v: Array, t: float) -> Array:
        self.counts.evaluations += 1
        return answered("force(q, v, t)", self.system.force(q, v, t), (self.n,))

    def constraints(self, q: Array, t: float) -> Array:
        return answered("constraints(q, t)", self.system.constraints(q, t), (self.m,))

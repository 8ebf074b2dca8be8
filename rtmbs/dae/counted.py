"""A system that counts evaluations."""

from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Counts
from rtmbs.formulations.checked import answered
from rtmbs.formulations.contract import ConstrainedSystem, SystemWithStates, states_of
from rtmbs.formulations.passed_through import PassedThrough

Array = NDArray[np.float64]


@dataclass
class Counted(PassedThrough):
    """The system itself, with each call of ``force`` counted. Forces, rates and constraints are checked."""

    system: ConstrainedSystem
    counts: Counts
    answers_alike: ClassVar[bool] = True

    def note_evaluation(self) -> None:
        """Count one evaluation of forces."""
        self.counts.evaluations += 1

    def force(self, q: Array, v: Array, t: float) -> Array:
        self.note_evaluation()
        return answered("force(q, v, t)", self.system.force(q, v, t), (self.n,))

    @property
    def s(self) -> Array:
        return states_of(self.system)

    def state_rates(self, q: Array, v: Array, t: float) -> Array:
        found = cast(SystemWithStates, self.system).state_rates(q, v, t)
        return answered("state_rates(q, v, t)", found, states_of(self.system).shape)

    def constraints(self, q: Array, t: float) -> Array:
        return answered("constraints(q, t)", self.system.constraints(q, t), (self.m,))

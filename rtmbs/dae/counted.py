"""A system that counts evaluations."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Counts
from rtmbs.formulations.contract import ConstrainedSystem, SystemWithStates, states_of
from rtmbs.formulations.terms import answered

Array = NDArray[np.float64]


@dataclass
class Counted:
    """The system itself, with each call of ``force`` counted. Forces, rates and constraints are checked."""

    system: ConstrainedSystem
    counts: Counts

    def __getattr__(self, name: str) -> Any:
        if name == "system":
            raise AttributeError(name)
        return getattr(self.system, name)

    @property
    def n(self) -> int:
        return self.system.n

    @property
    def m(self) -> int:
        return self.system.m

    def mass(self, q: Array, t: float) -> Array:
        return self.system.mass(q, t)

    def force(self, q: Array, v: Array, t: float) -> Array:
        self.counts.evaluations += 1
        return answered("force(q, v, t)", self.system.force(q, v, t), (self.n,))

    @property
    def s(self) -> Array:
        return states_of(self.system)

    def state_rates(self, q: Array, v: Array, t: float) -> Array:
        found = cast(SystemWithStates, self.system).state_rates(q, v, t)
        return answered("state_rates(q, v, t)", found, states_of(self.system).shape)

    def constraints(self, q: Array, t: float) -> Array:
        return answered("constraints(q, t)", self.system.constraints(q, t), (self.m,))

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        return self.system.constraint_jacobian(q, t)

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        return self.system.constraint_rate_terms(q, v, t)

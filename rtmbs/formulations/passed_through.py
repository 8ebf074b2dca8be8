"""A system behind another one: whatever the outer system does not change is answered by the inner."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem

Array = NDArray[np.float64]


class PassedThrough:
    """All of ``system`` as it is: sizes, functions, and what it has beyond the contract, as names and sparse forms."""

    system: ConstrainedSystem
    answers_alike: ClassVar[bool] = False  # True: no answer is another one than that of ``system``

    def __getattr__(self, name: str) -> Any:
        if name == "system":  # not set yet
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
        return self.system.force(q, v, t)

    def constraints(self, q: Array, t: float) -> Array:
        return self.system.constraints(q, t)

    def constraint_jacobian(self, q: Array, t: float) -> Array:
        return self.system.constraint_jacobian(q, t)

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        return self.system.constraint_rate_terms(q, v, t)

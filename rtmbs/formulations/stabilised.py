"""A system whose gamma feeds Phi and Phid back: what Baumgarte's method hands to any formulation (METHODS 2.2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.terms import answered, rate_terms

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stabilised:
    """The system with gamma - 2 alpha Phid - beta^2 Phi for gamma; the feedback takes the whole of Phid."""

    system: ConstrainedSystem
    alpha: float  # [1/s]
    beta: float  # [1/s]

    def __post_init__(self) -> None:
        for name in ("coordinate_names", "row_names"):
            if hasattr(self.system, name):
                object.__setattr__(self, name, getattr(self.system, name))

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
        """Return Phi_t and gamma* = gamma - 2 alpha Phid - beta^2 Phi."""
        Phi = answered("constraints(q, t)", self.system.constraints(q, t), (self.m,))
        Phi_q = answered("constraint_jacobian(q, t)", self.system.constraint_jacobian(q, t), (self.m, self.n))
        Phi_t, gamma = rate_terms(self.system, q, v, t)
        return Phi_t, gamma - 2.0 * self.alpha * (Phi_q @ v + Phi_t) - self.beta**2 * Phi

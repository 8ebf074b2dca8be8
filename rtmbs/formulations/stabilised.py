"""System with Baumgarte's feedback of Phi and Phid in gamma, for any formulation (METHODS 2.2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem, SystemWrapper, checked_answer
from rtmbs.formulations.terms import jacobian_of, rate_terms

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stabilised(SystemWrapper):
    """The system with gamma - 2 alpha Phid - beta^2 Phi for gamma; the feedback takes the whole of Phid."""

    system: ConstrainedSystem
    alpha: float  # [1/s]
    beta: float  # [1/s]

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma* = gamma - 2 alpha Phid - beta^2 Phi."""
        Phi = checked_answer("constraints(q, t)", self.system.constraints(q, t), (self.m,))
        Phi_t, gamma = rate_terms(self.system, q, v, t)
        Phid = jacobian_of(self.system, q, t) @ v + Phi_t
        return Phi_t, gamma - 2.0 * self.alpha * Phid - self.beta**2 * Phi

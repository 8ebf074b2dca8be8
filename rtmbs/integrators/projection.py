"""Velocity and acceleration projection with the last factor, in the form of METHODS 1.12.

x <- x - A^-1 q4 Phi_z^T alpha (violation of x), repeated: the first pass is Eqs. 23 and 25, every further one is an
augmented-Lagrangian update that multiplies the violation by 1 / (1 + c sigma). Phi_z^T is the one inside the factor A.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.base import Equations
from rtmbs.integrators.settings import Settings

Array = NDArray[np.float64]


def sweep(
    equations: Equations, settings: Settings, rates: Array, violation: Array, multiplier: Callable[[Array], Any]
) -> tuple[Array, Array, int]:
    """Return the projected rates, the violation left and the number of sweeps.

    Parameters
    ----------
    rates : (n,) velocities or accelerations before projection
    violation : (m,) Phid or Phidd of ``rates``; it follows the change of the rates linearly
    multiplier : called with q4 alpha (violation + Phi_z change) of each sweep, Phi_z that of the factor: weight change
        is -Phi_z^T of it
    """
    q4 = 0.25 * settings.h**2
    bound = settings.sweep_bound * np.max(np.abs(rates) / settings.pace, initial=0.0)
    for count in range(settings.max_sweeps):
        if np.max(np.abs(violation) / settings.scale, initial=0.0) <= bound:
            return rates, violation, count
        impulse = q4 * equations.alpha * violation
        change = equations.respond(impulse)
        rates = rates + change
        multiplier(q4 * equations.alpha * (violation + equations.apply_factored(change)))
        violation = violation + equations.apply_Phi_z(change)
    return rates, violation, settings.max_sweeps

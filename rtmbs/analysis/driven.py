"""Inputs of drivers: how pose, rates and accelerations follow them, the independent coordinates held (METHODS 1.35)."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rtmbs.analysis.differences import directional
from rtmbs.analysis.neighbourhood import Neighbourhood
from rtmbs.simulation.inputs import driver_slots
from rtmbs.system.system import System

Array = NDArray[np.float64]

OF_A_DRIVER = 3  # numbers: value, rate, acceleration


@dataclass(frozen=True)
class Driven:
    """dz = Z du, dzd = V du, dzdd = A du, at dq = dv = dv' = 0. Columns of other inputs are zero."""

    Z: Array  # (n, k)
    V: Array  # (n, k)
    A: Array  # (n, k)

    def forces(self, near: Neighbourhood) -> Array:
        """Return what the motion of drivers adds to the generalised forces of inputs (n, k)."""
        return -(near.M @ self.A + near.C @ self.V + near.K @ self.Z)

    def drift(self, near: Neighbourhood) -> Array:
        """Return the rates (f, k) of dq by turns of rotation dofs: - (W Z)_q."""
        return -(near.W @ self.Z)[near.independent]


def moves_drivers(system: System, slots: list[int]) -> list[int]:
    """Return the places in ``slots`` of the numbers of drivers."""
    first = driver_slots(system)
    return [k for k, slot in enumerate(slots) if any(slot - j in first for j in range(OF_A_DRIVER))]


def driven(near: Neighbourhood, slots: list[int]) -> Driven:
    """Return how the motion follows unit inputs ``slots`` (k,) that drivers take their motion from."""
    equations, old = near.equations, near.arrays
    none = np.zeros((equations.n, len(slots)))
    found = Driven(none, none.copy(), none.copy())
    for k in moves_drivers(equations.system, slots):
        size = max(abs(float(equations.u[slots[k]])), float(equations.system.length))
        du = np.zeros(len(equations.u))
        du[slots[k]] = size
        for order, column in enumerate((found.Z, found.V, found.A)):
            way = (size * found.Z[:, k], size * found.V[:, k], du)
            left = directional(partial(violation, near, order, way)) / size
            column[:, k] = near.basis.follow(left[:, None])[:, 0]
    equations.close(old.z, old.R0)
    return found


def violation(near: Neighbourhood, order: int, way: tuple[Array, Array, Array], share: float) -> Array:
    """Return Phi, Phid or Phidd (m,) a share of the way along dz, dzd and du."""
    (dz, dzd, du), equations, old = way, near.equations, near.arrays
    u, zd = equations.u, old.zd + share * dzd
    equations.u = u + share * du
    try:
        Phi = equations.close(old.z + share * dz, old.R0)
        if order == 0:
            return Phi
        return equations.closure_velocities(zd) if order == 1 else equations.closure_accelerations(zd, old.zdd)
    finally:
        equations.u = u

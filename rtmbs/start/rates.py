"""Consistent rates at the start: the smallest weighted change that satisfies Phi_z zd = -Phi_t (METHODS 1.15)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.errors import StartError
from rtmbs.start.motion import PART, drivers_in
from rtmbs.start.positions import Assembly

Array = NDArray[np.float64]

CONSISTENT = 1e-9  # violation left, relative to the largest rate asked for


def consistent_rates(assembly: Assembly, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
    """Return zd (n,) at the assembled pose; pinned rates are kept exactly.

    Raises StartError naming the loop and the pinned rates when they cannot all hold.
    """
    equations, scale = assembly.equations, assembly.scale
    if not equations.m:
        return wanted.copy()

    def violation(zd: Array) -> Array:
        return np.asarray(equations.closure_velocities(zd) / scale)

    size = max(np.max(np.abs(wanted) / assembly.typical, initial=0.0), np.max(np.abs(violation(wanted)), initial=0.0))
    J = assembly.jacobian.matrix(equations)
    zd, left = assembly.nearest_rates(assembly.scaled(J), wanted, violation, pinned, weights, CONSISTENT * size)
    if np.max(np.abs(left), initial=0.0) > CONSISTENT * size:
        raise StartError(refusal(assembly, J, left, pinned))
    return zd


def refusal(assembly: Assembly, J: csc_array, left: Array, pinned: NDArray[np.bool_]) -> str:
    """Return the sentence that names the pins and drivers whose rates contradict each other.

    What is left of least squares is a combination of rows that no free rate can change: who is not in it, is innocent.
    """
    system, scale = assembly.equations.system, assembly.scale
    row = int(np.argmax(np.abs(left)))
    drivers = drivers_in(assembly, left, row)
    stress = np.abs(J.T @ (left / scale)) * assembly.typical * pinned
    pins = [system.coordinate_names[k] for k in np.flatnonzero(stress > PART * np.max(np.abs(left)))]
    left_open = f"loop {system.row_names[row]!r} would open with {abs(left[row]) * scale[row]:.4g} per second"
    if len(drivers) > 1 and not pins:
        return (
            f"drivers {', '.join(map(repr, drivers))} contradict each other in velocity at the start: {left_open};"
            " take one of them away, or give profiles that agree in position, velocity and acceleration"
        )
    return (
        f"the initial rates cannot all hold: {left_open}; pinned rates: {', '.join(pins) or 'none'};"
        f" drivers: {', '.join(drivers) or 'none'}; free one pin with pin=False, or take one driver away"
    )

"""Consistent rates at the start: the smallest weighted change that satisfies Phi_z zd = -Phi_t (METHODS 1.15)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.errors import StartError
from rtmbs.linear.least_change import least_change
from rtmbs.start.motion import PART, drivers_in
from rtmbs.start.positions import Assembly, scaled_block

Array = NDArray[np.float64]

CONSISTENT = 1e-9  # violation left, relative to the largest rate asked for
ROUNDS = 3  # of least changes: near a singular pose the first one leaves rounding over the square of its smallness


def consistent_rates(assembly: Assembly, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
    """Return zd (n,) at the assembled pose; pinned rates are kept exactly.

    Raises StartError naming the loop and the pinned rates when they cannot all hold.
    """
    equations, scale, typical = assembly.equations, assembly.scale, assembly.typical
    left = equations.closure_velocities(wanted) / scale
    size = max(np.max(np.abs(wanted) / typical, initial=0.0), np.max(np.abs(left), initial=0.0))
    zd, J = wanted.copy(), assembly.jacobian.matrix(equations)
    for _ in range(ROUNDS):
        for group in assembly.groups:
            free = group.columns[~pinned[group.columns]]
            block = scaled_block(J, group, free, scale, typical)
            zd[free] += least_change(block, -left[group.rows], weights[free]) * typical[free]
        left = equations.closure_velocities(zd) / scale
        if np.max(np.abs(left), initial=0.0) <= CONSISTENT * size:
            return zd
    raise StartError(refusal(assembly, J, left, pinned))


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

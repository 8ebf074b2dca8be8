"""Consistent rates at the start: the smallest weighted change that satisfies Phi_z zd = -Phi_t (METHODS 1.15)."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StartError
from rtmbs.linear.least_change import least_change
from rtmbs.start.positions import Assembly, scaled_block

Array = NDArray[np.float64]

CONSISTENT = 1e-9  # violation left, relative to the largest rate asked for


def consistent_rates(assembly: Assembly, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
    """Return zd (n,) at the assembled pose; pinned rates are kept exactly.

    Raises StartError naming the loop and the pinned rates when they cannot all hold.
    """
    equations, scale, typical = assembly.equations, assembly.scale, assembly.typical
    violation = equations.closure_velocities(wanted) / scale
    zd, J = wanted.copy(), assembly.jacobian.matrix(equations)
    for group in assembly.groups:
        free = group.columns[~pinned[group.columns]]
        block = scaled_block(J, group, free, scale, typical)
        zd[free] += least_change(block, -violation[group.rows], weights[free]) * typical[free]
    left = equations.closure_velocities(zd) / scale
    size = max(np.max(np.abs(wanted) / typical, initial=0.0), np.max(np.abs(violation), initial=0.0))
    if np.max(np.abs(left), initial=0.0) > CONSISTENT * size:
        system = equations.system
        row = int(np.argmax(np.abs(left)))
        pins = [name for name, pin in zip(system.coordinate_names, pinned, strict=True) if pin]
        drivers = [signal.name for signal in system.signals if system.inputs.get(signal.name) is None]
        raise StartError(
            f"the initial rates cannot all hold: loop {system.row_names[row]!r} would open with"
            f" {abs(left[row]) * scale[row]:.4g} per second; pinned rates: {', '.join(pins[:6]) or 'none'};"
            f" drivers: {', '.join(drivers[:6]) or 'none'}; free one pin with pin=False, or take one driver away"
        )
    return zd

"""The time derivative of Phi_q along a motion, from gamma alone."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem

Array = NDArray[np.float64]


def jacobian_rate(system: ConstrainedSystem, q: Array, v: Array, t: float) -> Array:
    """Return d(Phi_q)/dt (m, n) at a state, without a difference quotient.

    -gamma = B(v, v) + 2 c v + d with B symmetric, and d(Phi_q)/dt w = B(v, w) + c w. So
    d(Phi_q)/dt w = (gamma(v - w) - gamma(v + w)) / 4 for every w, exactly.
    """
    size = max(1.0, float(np.abs(v).max(initial=0.0)))
    columns = []
    for i in range(system.n):
        w = np.zeros(system.n)
        w[i] = size
        less, more = (system.constraint_rate_terms(q, v + sign * w, t)[1] for sign in (-1.0, 1.0))
        columns.append((less - more) / (4.0 * size))
    return np.array(columns).T.reshape(system.m, system.n)

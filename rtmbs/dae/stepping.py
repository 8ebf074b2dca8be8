"""One explicit Runge-Kutta step of a constrained motion."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.integrators.tableaux import Tableau, stepped

Array = NDArray[np.float64]


def step_explicit(dynamics: Dynamics, tableau: Tableau, point: Point, h: float) -> Point:
    """Return the point a step of ``h`` [s] later, corrected; its accelerations are the first stage of the next."""
    parts = len(point.q), 2 * len(point.q)

    def rates(values: Array, c: float) -> Array:
        q, v, s = np.split(values, parts)
        t = point.t + c * h
        q, v = dynamics.stage(t, q, v)
        return np.concatenate((v, dynamics.accelerations(q, v, t, s), dynamics.state_rates(q, v, t, s)))

    start, slope = (np.concatenate(one) for one in ((point.q, point.v, point.s), (point.v, point.a, point.sd)))
    q, v, s = np.split(stepped(tableau, h, start, slope, rates), parts)
    return dynamics.landed(point, q, v, point.t + h, s)

"""One explicit Runge-Kutta step of a constrained motion."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.dae.tableaux import Tableau

Array = NDArray[np.float64]


def step_explicit(dynamics: Dynamics, tableau: Tableau, point: Point, h: float) -> Point:
    """Return the point a step of ``h`` [s] later, corrected; its accelerations are the first stage of the next."""
    A, c = tableau.matrix, tableau.c
    rates, accelerations, state_rates = [point.v], [point.a], [point.sd]
    for i in range(1, len(tableau.b)):
        weights = h * A[i, :i]
        q, v = point.q + weights @ np.array(rates), point.v + weights @ np.array(accelerations)
        s, t = point.s + weights @ np.array(state_rates), point.t + c[i] * h
        q, v = dynamics.stage(t, q, v)
        rates.append(v)
        accelerations.append(dynamics.accelerations(q, v, t, s))
        state_rates.append(dynamics.state_rates(q, v, t, s))
    weights, t = h * np.array(tableau.b), point.t + h
    q, v = point.q + weights @ np.array(rates), point.v + weights @ np.array(accelerations)
    return dynamics.landed(point, q, v, t, point.s + weights @ np.array(state_rates))

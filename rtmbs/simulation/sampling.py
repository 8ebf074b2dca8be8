"""How far a step may move what forces depend on: its two ends see a turn of a radian, and not one of many turns.

A force that turns with a body has the same value after every whole turn. States at the ends of such steps lie on a
smooth line, and an error estimate from them is blind (METHODS 1.34).
"""

from typing import Any

import numpy as np

from rtmbs.simulation.local_error import Track
from rtmbs.simulation.turns import Array
from rtmbs.system.system import System

MOST = 1.5  # typical sizes (1 rad; characteristic length) that a step may move a coordinate, or turn a body
BEGIN = 1.0  # of the first step


def fastest(system: System, equations: Any, track: Track) -> Array:
    """Return the largest rates (k + 1,) at the states of a track [1/s]: of coordinates in typical sizes, and of bodies.

    Angular velocities of bodies, the sums of rates along a chain, are those at the last state.
    """
    rates = np.max(np.abs(track.zd) / system.typical, axis=1, initial=0.0)
    equations.close(track.z[-1], track.R0[-1])
    equations.closure_accelerations(track.zd[-1], track.zdd[-1])  # leaves the velocities of all bodies
    turning = equations.ws.V[: equations.n, 3:]
    rates[-1] = max(rates[-1], float(np.max(np.linalg.norm(turning, axis=1), initial=0.0)))
    return np.asarray(rates)


def first_step(system: System, equations: Any, state: Any) -> float:
    """Return the longest first step from a state [s]; inf when nothing moves."""
    track = Track(*(np.array([getattr(state, name)]) for name in Track._fields))
    rate = float(fastest(system, equations, track)[-1])
    return BEGIN / rate if rate > 0.0 else np.inf


def blindness(rates: Array, h: Array) -> Array:
    """Return how blind an estimate is to steps of ``h`` (k,) between states of the ``rates`` (k + 1,); 1 is too much.

    As errors do, it goes with the square of the step.
    """
    return np.asarray((np.maximum(rates[:-1], rates[1:]) * h / MOST) ** 2)

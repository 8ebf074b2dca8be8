"""How far a step may move what forces depend on: its two ends see a turn of a radian, and not one of many turns.

A force that turns with a body has the same value after every whole turn. States at the ends of such steps lie on a
smooth line, and an error estimate from them is blind. So it is where the ends of a spring pass close to each other
within a step: the force turns round there, and only its line before and behind tells (METHODS 1.34).
"""

from typing import Any

import numpy as np

from rtmbs.simulation.local_error import Track
from rtmbs.system.system import System
from rtmbs.system.tables import Array

MOST = 1.5  # typical sizes (1 rad; characteristic length) that a step may move a coordinate, or turn a body
BEGIN = 0.2  # of the first step: an error is known from two of them
LINE = 0.7  # [rad] that a step may turn the line of a spring


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


def line_turns(equations: Any, track: Track) -> Array:
    """Return the largest angle (k,) by which a step of a track turns the line of a spring [rad]."""
    tables = equations.tables
    springs = tables.forces.springs
    if not len(springs.connector) or len(track.t) < 2:
        return np.zeros(len(track.t) - 1)
    ends = [(side[springs.connector], points) for side, points in
            ((tables.connectors.a, springs.point_a), (tables.connectors.b, springs.point_b))]  # fmt: skip
    lines = []
    for z, R0 in zip(track.z, track.R0, strict=True):
        equations.close(z, R0)
        a, b = (
            np.where(dof[:, None] < 0, point, equations.ws.r[dof] + np.einsum("kij,kj->ki", equations.ws.A[dof], point))
            for dof, point in ends
        )
        lines.append(b - a)
    before, after = np.array(lines[:-1]), np.array(lines[1:])
    across = np.linalg.norm(np.cross(before, after), axis=2)
    return np.asarray(np.arctan2(across, np.sum(before * after, axis=2)).max(axis=1))


def blindness(rates: Array, lines: Array, h: Array) -> Array:
    """Return how blind an estimate is to steps of ``h`` (k,) between states of the ``rates`` (k + 1,); 1 is too much.

    ``lines`` (k,) are the turns of springs. As errors do, it goes with the square of the step.
    """
    return np.maximum(np.maximum(rates[:-1], rates[1:]) * h / MOST, lines / LINE) ** 2

"""Reduced equations q'' = a(q, q') integrated to twelve digits."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]

GRAVITY = 9.81  # [m/s^2]
BAR_MOMENT = 1.0 / 12.0  # [kg m^2] of a uniform bar of 1 m and 1 kg about its mass centre
TINY = 1e-30  # complex step
RTOL, ATOL = 1e-13, 1e-14


class Motion(NamedTuple):
    """Coordinates at the asked times: ``(n,)`` for one time, ``(times, n)`` for an array of times."""

    q: Array
    qd: Array
    qdd: Array


def integrate(acceleration: Callable[[Array, Array], Array], q: ArrayLike, qd: ArrayLike, times: ArrayLike) -> Motion:
    """Return the motion from q, q' at t = 0 at the given times >= 0 (Dormand and Prince, order 8)."""
    q, qd = np.atleast_1d(np.asarray(q, dtype=float)), np.atleast_1d(np.asarray(qd, dtype=float))
    n = len(q)

    def flow(_: float, y: Array) -> Array:
        return np.concatenate([y[n:], acceleration(y[:n], y[n:])])

    rows = np.array(states(flow, np.concatenate([q, qd]), times))
    qdd = np.array([acceleration(row[:n], row[n:]) for row in rows])
    if np.ndim(times) == 0:
        return Motion(rows[0, :n], rows[0, n:], qdd[0])
    return Motion(rows[:, :n], rows[:, n:], qdd)


def states(flow: Callable[[float, Array], Array], y: Array, times: ArrayLike) -> list[Array]:
    """Integrate y' = flow(t, y) from t = 0 and return y at each of the times."""
    wanted = np.atleast_1d(np.asarray(times, dtype=float))
    found: dict[int, Array] = {}
    t = 0.0
    for k in np.argsort(wanted, kind="stable"):
        if wanted[k] > t:
            y = solve_ivp(flow, (t, wanted[k]), y, method="DOP853", rtol=RTOL, atol=ATOL).y[:, -1]
            t = wanted[k]
        found[int(k)] = y
    return [found[k] for k in range(len(wanted))]


def one_degree(inertia: Callable[[Any], Any], potential: Callable[[Any], Any]) -> Callable[[Array, Array], Array]:
    """Return the acceleration of T = 1/2 J(q) q'^2, V(q): q'' = -(V' + 1/2 J' q'^2) / J.

    Both functions are written in closed form and take complex numbers, so the derivatives are complex steps.
    """

    def acceleration(q: Array, qd: Array) -> Array:
        shifted = q + 1j * TINY
        slope = np.imag(inertia(shifted)) / TINY
        pull = np.imag(potential(shifted)) / TINY
        return np.asarray(-(pull + 0.5 * slope * qd**2) / np.real(inertia(q)))

    return acceleration

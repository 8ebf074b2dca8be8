"""Baumgarte's stabilisation as control: e'' + 2 alpha e' + beta^2 e = d for the violation e of a constraint.

METHODS 1.22. From the disturbance d to e the transfer function is 1 / (s^2 + 2 alpha s + beta^2).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, shown
from rtmbs.formulations.terms import Positive

Array = NDArray[np.float64]


class Disturbance(NamedTuple):
    """Disturbance of a constraint: an initial position, an initial rate, a constant.

    What moves a constraint away from zero. An impulse of d is a jump of the rate.

    Parameters
    ----------
    position : float, default 0.0
        E(0), in the unit of Phi.
    rate : float, default 0.0
        E'(0), in the unit of Phi over s.
    constant : float, default 0.0
        D for t > 0, in the unit of Phi over s^2: what truncation adds at each step.
    """

    position: float = 0.0  # e(0), in the unit of Phi
    rate: float = 0.0  # e'(0), in the unit of Phi over s
    constant: float = 0.0  # d for t > 0, in the unit of Phi over s^2: what truncation adds at each step


IMPULSE = Disturbance(rate=1.0)


def transfer_function(alpha: float, beta: float, s: complex) -> complex:
    """Return 1 / (s^2 + 2 alpha s + beta^2) at a complex frequency s [1/s], for gains above 0 [1/s].

    Parameters
    ----------
    alpha : float
        Gain of the rate of the violation [1/s].
    beta : float
        Gain of the violation [1/s].
    s : complex
        Complex frequency [1/s].

    Returns
    -------
    complex
        1 / (s^2 + 2 alpha s + beta^2) at a complex frequency s [1/s], for gains above 0 [1/s].
    """
    check_gains(alpha, beta)
    return 1.0 / (s * s + 2.0 * alpha * s + beta * beta)


def error_response(alpha: float, beta: float, t: ArrayLike, disturbance: Disturbance = IMPULSE) -> Array:
    """Return e at times t >= 0 [s], an array of the shape of t, in the unit of Phi.

    The closed response of its three cases: alpha < beta oscillates, alpha = beta is critically damped, alpha > beta
    creeps. A constant d leaves d / beta^2 for ever. Source: METHODS 1.22.

    Parameters
    ----------
    alpha : float
        Gain of the rate of the violation [1/s].
    beta : float
        Gain of the violation [1/s].
    t : array_like
        Times >= 0 [s].
    disturbance : Disturbance, default IMPULSE
        Disturbance of the constraint.

    Returns
    -------
    ndarray
        E at times t >= 0 [s], an array of the shape of t, in the unit of Phi.

    Raises
    ------
    InputError
        For gains, times or a disturbance that cannot be.

    Examples
    --------
    >>> float(error_response(20.0, 20.0, 0.05))  # t exp(-alpha t)
    0.018393972058572117
    """
    check_gains(alpha, beta)
    times = np.asarray(t, np.float64)
    if not np.all(np.isfinite(times)) or np.any(times < 0.0):
        raise InputError("t of error_response holds a time that is not finite or below 0; times from 0 on are wanted")
    if len(disturbance) != 3 or not np.all(np.isfinite(disturbance)):
        raise InputError(f"disturbance is {shown(disturbance)}; a Disturbance of finite numbers is wanted")
    position, rate, constant = disturbance
    rest = constant / beta**2
    decay, ramp = natural_responses(alpha, beta, times)
    away = position - rest
    return rest + away * decay + (rate + alpha * away) * ramp


def natural_responses(alpha: float, beta: float, t: Array) -> tuple[Array, Array]:
    """Return exp(-alpha t) c(t) and exp(-alpha t) s(t), with c, s = cos, sin / w; 1, t; or cosh, sinh / w."""
    inside = (alpha - beta) * (alpha + beta)
    if inside < 0.0:
        w = np.sqrt(-inside)
        return np.exp(-alpha * t) * np.cos(w * t), np.exp(-alpha * t) * np.sin(w * t) / w
    if inside == 0.0:
        return np.exp(-alpha * t), np.exp(-alpha * t) * t
    w = np.sqrt(inside)
    slow = np.exp(-(beta**2 / (alpha + w)) * t)  # the root nearest to zero, without a difference of large numbers
    return 0.5 * slow * (1.0 + np.exp(-2.0 * w * t)), slow * -np.expm1(-2.0 * w * t) / (2.0 * w)


def damping_case(alpha: float, beta: float) -> str:
    """Return which of the three cases the gains are: "oscillating", "critical" or "creeping"."""
    check_gains(alpha, beta)
    return "critical" if alpha == beta else "oscillating" if alpha < beta else "creeping"


def check_gains(alpha: float, beta: float) -> None:
    """Raise InputError unless both gains are finite and above 0: elsewhere the error equation is not stable."""
    Positive("alpha", "1/s").check(alpha)
    Positive("beta", "1/s").check(beta)

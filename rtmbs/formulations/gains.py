"""Gains of Baumgarte's stabilisation by three rules: critical damping, the step, and the stability of the method."""

from math import log, sqrt
from typing import NamedTuple

from rtmbs.errors import InputError
from rtmbs.formulations.stability import gain_bound
from rtmbs.formulations.terms import Positive

USUAL = 20.0  # [1/s], least violation in METHODS 1.22
SHARE_OF_STEP = 0.25  # alpha h: accuracy suffers from 0.5 on


class Gains(NamedTuple):
    """alpha and beta [1/s]: ``Baumgarte(*gains)``."""

    alpha: float
    beta: float


def critical_gains(settling: float, left: float = 1e-2) -> Gains:
    """Return alpha = beta [1/s] for which a violation with zero rate falls to the share ``left`` in ``settling`` [s].

    Without oscillation nothing is faster: (1 + alpha t) exp(-alpha t) = left.

    Parameters
    ----------
    settling : float
        Settling time [s].
    left : float, default 0.01
        Share of the violation that is left at that time.

    Returns
    -------
    Gains
        Alpha = beta [1/s] for which a violation with zero rate falls to the share ``left`` in ``settling`` [s].

    Raises
    ------
    InputError
        For arguments out of range.

    Examples
    --------
    >>> gains = critical_gains(0.5)
    """
    Positive("settling", "s").check(settling)
    Positive("left").check(left)
    if left >= 1.0:
        raise InputError(f"left is {left:g}; a share of the violation below 1 is wanted")
    x = max(-log(left), 1e-3) + 1.0
    for _ in range(100):
        x = max(log((1.0 + x) / left), x * 1e-3)  # contracts by 1 / (1 + x)
    return Gains(x / settling, x / settling)


def gains_for_step(h: float, taylor: bool = False) -> Gains:
    """Return gains [1/s] for a step h [s]: 20 1/s each, but 0.25 / h at most (METHODS 1.22).

    ``taylor`` takes 1/h and sqrt(2)/h, for which a Taylor series over one step ends at zero; they are stiff.

    Parameters
    ----------
    h : float
        Step [s].
    taylor : bool, default False
        True for the gains of a Taylor series over one step.

    Returns
    -------
    Gains
        Gains [1/s] for a step h [s]: 20 1/s each, but 0.25 / h at most (METHODS 1.22).
    """
    Positive("h", "s").check(h)
    if taylor:
        return Gains(1.0 / h, sqrt(2.0) / h)
    gain = min(USUAL, SHARE_OF_STEP / h)
    return Gains(gain, gain)


def gains_for_method(h: float, method: str = "runge-kutta-4", share: float = 0.5, ratio: float = 1.0) -> Gains:
    """Return gains [1/s] at a ``share`` of the largest that a method bears at a step h [s], with beta = ratio alpha.

    Parameters
    ----------
    h : float
        Step [s].
    method : str, default "runge-kutta-4"
        Name of a method in ``STABILITY``.
    share : float, default 0.5
        Share of the largest stable gains.
    ratio : float, default 1.0
        Ratio beta / alpha.

    Returns
    -------
    Gains
        Gains [1/s] at a ``share`` of the largest that a method bears at a step h [s], with beta = ratio alpha.

    Raises
    ------
    InputError
        For a method that is not in ``STABILITY`` or bears no gains of this ratio.
    """
    Positive("h", "s").check(h)
    Positive("share").check(share)
    if share > 1.0:
        raise InputError(f"share is {share:g}; gains beyond the bound grow without end, so at most 1 is wanted")
    bound = gain_bound(method, ratio)
    if bound == 0.0:
        raise InputError(f"{method} bears no gains with beta = {ratio:g} alpha; a smaller ratio is wanted")
    alpha = share * bound / h
    return Gains(alpha, ratio * alpha)

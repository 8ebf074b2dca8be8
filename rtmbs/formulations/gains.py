"""Gains of Baumgarte's stabilisation by three rules: critical damping, the step, and the stability of the method."""

from collections.abc import Callable
from math import factorial, log, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.formulations.error_equation import check_gains
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


Complex = NDArray[np.complex128]

MARGIN = 1e-9  # above 1: rounding of a root on the circle
WIDEST, STEPS = 20.0, 4000  # of the search: h |s| of no explicit method here goes so far
HALVINGS = 60


def one_step(*coefficients: float) -> Callable[[complex], Complex]:
    """Return the polynomial in r of a Runge-Kutta method, r - R(z), with R by rising powers of z."""
    return lambda z: np.array([1.0, -np.polynomial.polynomial.polyval(z, coefficients)])


def adams_bashforth(*b: float) -> Callable[[complex], Complex]:
    """Return the polynomial in r of r^k - r^(k-1) - z (b_0 r^(k-1) + b_1 r^(k-2) + ...)."""
    return lambda z: np.concatenate(([1.0, -1.0], np.zeros(len(b) - 1))) - z * np.concatenate(([0.0], b))


def taylor(order: int) -> tuple[float, ...]:
    return tuple(1.0 / factorial(k) for k in range(order + 1))


STABILITY: dict[str, Callable[[complex], Complex]] = {  # coefficients of the polynomial in r, highest power first
    "euler": one_step(*taylor(1)),
    "heun": one_step(*taylor(2)),
    "runge-kutta-3": one_step(*taylor(3)),
    "runge-kutta-4": one_step(*taylor(4)),  # Gill's as well
    "dormand-prince-5": one_step(*taylor(5), 1.0 / 600.0),
    "adams-bashforth-2": adams_bashforth(3 / 2, -1 / 2),
    "adams-bashforth-3": adams_bashforth(23 / 12, -16 / 12, 5 / 12),
    "adams-bashforth-4": adams_bashforth(55 / 24, -59 / 24, 37 / 24, -9 / 24),
}


def growth(method: str, z: complex) -> float:
    """Return the largest |r| of a method at z = h s."""
    return float(np.abs(np.roots(STABILITY[method](z))).max())


def gain_bound(method: str, ratio: float = 1.0) -> float:
    """Return the largest alpha h [1] for which the method keeps the violation bounded, with beta = ratio alpha.

    beta h is ``ratio`` times as large. Zero where no gain is stable. Source: METHODS 1.22.

    Parameters
    ----------
    method : str
        Name of a method in ``STABILITY``.
    ratio : float, default 1.0
        Ratio beta / alpha.

    Returns
    -------
    float
        Largest alpha h [1] for which the method keeps the violation bounded, with beta = ratio alpha.

    Raises
    ------
    InputError
        For a method that is not in ``STABILITY``, or a ratio that is not above 0.
    UnknownNameError
        For an unknown name; the nearest ones are listed.

    Examples
    --------
    >>> round(gain_bound("runge-kutta-4"), 3)
    2.785
    """
    if method not in STABILITY:
        raise unknown_name("stability polynomial", method, STABILITY)
    check_ratio(ratio)
    roots = np.roots([1.0, 2.0, ratio**2]).astype(np.complex128)  # of alpha = 1
    if ratio == 1.0:
        roots = np.array([-1.0 + 0.0j])  # a double root, which rounding would tear apart
    reach = float(WIDEST / np.abs(roots).max())
    return bisected(lambda x: max(growth(method, x * s) for s in roots) <= 1.0 + MARGIN, reach)


def bisected(stable: Callable[[float], bool], reach: float) -> float:
    """Return where ``stable`` ends for the first time between 0 and ``reach``."""
    low = 0.0
    for high in (reach * np.arange(1, STEPS + 1) / STEPS).tolist():
        if not stable(high):
            break
        low = high
    else:
        return reach
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def check_ratio(ratio: float) -> None:
    """Raise InputError unless beta / alpha is a finite number above 0."""
    if isinstance(ratio, bool) or not isinstance(ratio, int | float | np.floating) or not 0.0 < ratio < np.inf:
        raise InputError(f"ratio is {shown(ratio)}; beta / alpha above 0 is wanted")
    check_gains(1.0, float(ratio))

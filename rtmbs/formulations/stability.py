"""How large gains may be at a step h: bounds on h |s| from the stability polynomials of explicit methods.

s are the roots of s^2 + 2 alpha s + beta^2. A method multiplies by r(h s) a step, where r are the roots of its
characteristic polynomial, and the violation stays bounded as long as |r| <= 1.
"""

from collections.abc import Callable
from math import factorial

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.formulations.error_equation import check_gains

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
    for high in reach * np.arange(1, STEPS + 1) / STEPS:
        if not stable(float(high)):
            break
        low = float(high)
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

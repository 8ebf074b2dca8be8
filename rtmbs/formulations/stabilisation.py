"""Stabilisation of constraints: feedback of Phi and Phid in gamma, as a control of the violation, and its gains.

``Stabilised`` is a system with that feedback, for any formulation. It is a control of the violation e: e'' + 2 alpha e'
+ beta^2 e = d (METHODS 1.22). From the disturbance d to e the transfer function is 1 / (s^2 + 2 alpha s + beta^2). The
plot shows the response in closed form, and as measured on a pendulum and a slider-crank. Gains follow from critical
damping, from the step, or from the stability of the method of time.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import factorial, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.formulations.augmented_system import (
    solve_saddle,
)
from rtmbs.formulations.consistent import consistent_state
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    Positive,
    SystemWrapper,
    checked_answer,
    jacobian_of,
    rate_terms,
    terms_at,
)
from rtmbs.formulations.function_system import pendulum, slider_crank

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Stabilised(SystemWrapper):
    """The system with gamma - 2 alpha Phid - beta^2 Phi for gamma; the feedback takes the whole of Phid."""

    system: ConstrainedSystem
    alpha: float  # [1/s]
    beta: float  # [1/s]

    def constraint_rate_terms(self, q: Array, v: Array, t: float) -> tuple[Array, Array]:
        """Return Phi_t and gamma* = gamma - 2 alpha Phid - beta^2 Phi."""
        Phi = checked_answer("constraints(q, t)", self.system.constraints(q, t), (self.m,))
        Phi_t, gamma = rate_terms(self.system, q, v, t)
        Phid = jacobian_of(self.system, q, t) @ v + Phi_t
        return Phi_t, gamma - 2.0 * self.alpha * Phid - self.beta**2 * Phi


SEED_GAINS = ((10.0, 20.0), (20.0, 20.0), (20.0, 10.0))  # alpha, beta of the three figures


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
    """Return 1 / (s^2 + 2 alpha s + beta^2) at a complex frequency s [1/s], for gains above 0 [1/s] or both 0.

    Parameters
    ----------
    alpha : float
        Gain of the rate of the violation [1/s]; 0 with beta 0.
    beta : float
        Gain of the violation [1/s]; 0 with alpha 0.
    s : complex
        Complex frequency [1/s].

    Returns
    -------
    complex
        1 / (s^2 + 2 alpha s + beta^2) at a complex frequency s [1/s].
    """
    check_gains_or_none(alpha, beta)
    return 1.0 / (s * s + 2.0 * alpha * s + beta * beta)


def error_response(alpha: float, beta: float, t: ArrayLike, disturbance: Disturbance = IMPULSE) -> Array:
    """Return e at times t >= 0 [s], an array of the shape of t, in the unit of Phi.

    The closed response of its three cases: alpha < beta oscillates, alpha = beta is critically damped, alpha > beta
    creeps. A constant d leaves d / beta^2 for ever. Both gains 0 are the equation without feedback, e'' = d, whose
    response to an impulse grows with time. Source: METHODS 1.22.

    Parameters
    ----------
    alpha : float
        Gain of the rate of the violation [1/s]; 0 with beta 0.
    beta : float
        Gain of the violation [1/s]; 0 with alpha 0.
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
    check_gains_or_none(alpha, beta)
    times = np.asarray(t, np.float64)
    if not np.all(np.isfinite(times)) or np.any(times < 0.0):
        raise InputError("t of error_response holds a time that is not finite or below 0; times from 0 on are wanted")
    if len(disturbance) != 3 or not np.all(np.isfinite(disturbance)):
        raise InputError(f"disturbance is {shown(disturbance)}; a Disturbance of finite numbers is wanted")
    position, rate, constant = disturbance
    if beta == 0.0:
        return np.asarray(position + rate * times + 0.5 * constant * times**2)
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
    """Return which of the three cases the gains are, "oscillating", "critical" or "creeping"; "drifting" without."""
    check_gains_or_none(alpha, beta)
    if beta == 0.0:
        return "drifting"
    return "critical" if alpha == beta else "oscillating" if alpha < beta else "creeping"


def check_gains(alpha: float, beta: float) -> None:
    """Raise InputError unless both gains are finite and above 0: elsewhere the error equation is not stable."""
    Positive("alpha", "1/s").check(alpha)
    Positive("beta", "1/s").check(beta)


def check_gains_or_none(alpha: float, beta: float) -> None:
    """Raise InputError unless both gains are above 0, or both 0: 1 / s^2, the drift that Baumgarte's method ends."""
    if not (alpha == 0.0 and beta == 0.0):
        check_gains(alpha, beta)


def measured_response(
    system: ConstrainedSystem, alpha: float, beta: float, q: Array, v: Array, t: Array, row: int = 0
) -> Array:
    """Return one row of Phi (k,) at times t (k,) [s] of the stabilised motion from q, v (n,) at t[0].

    The integration is scipy's DOP853. Raises InputError when it stops early.
    """
    from scipy.integrate import solve_ivp

    n, stabilised = system.n, Stabilised(system, alpha, beta)

    def rates(time: float, y: Array) -> Array:
        return np.concatenate((y[n:], solve_saddle(terms_at(stabilised, y[:n], y[n:], time))[0]))

    found = solve_ivp(rates, (t[0], t[-1]), np.concatenate((q, v)), "DOP853", t, rtol=1e-11, atol=1e-13)
    if not found.success:
        raise InputError(f"the motion stopped at t = {found.t[-1] if len(found.t) else t[0]:g} s: {found.message}")
    return np.array([system.constraints(y[:n], time)[row] for time, y in zip(found.t, found.y.T, strict=True)])


def plot_error_response(
    alpha: float | None = None, beta: float | None = None, t_end: float = 0.8, axes: Sequence[Any] | None = None
) -> Any:
    """Plot the response of the constraint error to an impulse.

    One panel for the gains [1/s] given, three for none: 10, 20; 20, 20; 20, 10. Gains 0, 0 show the drift. ``t_end``
    [s] ends the plot; ``axes`` are taken in the place of new ones. Source: METHODS 1.22.

    Parameters
    ----------
    alpha : float, optional
        Gain of the rate [1/s]; three panels without gains.
    beta : float, optional
        Gain of the violation [1/s].
    t_end : float, default 0.8
        End of the plot [s].
    axes : Sequence[object], optional
        Axes of matplotlib to draw into; new ones unless given.

    Returns
    -------
    object
        Figure of matplotlib.

    Raises
    ------
    InputError
        Without matplotlib.

    Examples
    --------
    >>> plot_error_response(20.0, 20.0).savefig("response.png")  # doctest: +SKIP
    """
    if (alpha is None) != (beta is None):
        raise InputError("plot_error_response got one gain of two; alpha and beta, or neither, are wanted")
    gains = SEED_GAINS if alpha is None or beta is None else ((alpha, beta),)
    for pair in gains:
        check_gains_or_none(*pair)
    if not 0.0 < t_end < np.inf:
        raise InputError(f"t_end is {t_end}; a time above 0 s is wanted")
    if axes is None:
        axes = new_axes(len(gains))
    for panel, (a, b) in zip(axes, gains, strict=True):
        draw_response(panel, a, b, t_end)
    axes[0].set_ylabel("violation, unit of Phi")
    axes[0].legend(frameon=False)
    return axes[0].figure


def new_axes(count: int) -> list[Any]:
    """Return panels side by side on a Figure that needs no window; raises InputError without matplotlib."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("plots need matplotlib; pip install 'rtmbs[plot]' brings it") from None
    figure = Figure(figsize=(4.2 * count, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    return list(figure.subplots(1, count, sharey=True, squeeze=False)[0])


def measured_systems() -> tuple[tuple[str, ConstrainedSystem, Array, str], ...]:
    """Return name, system, position (n,) and marker of the curve for each measured system."""
    hanging, crank = np.array([0.5, -0.9]), np.array([1.0, 0.3, 0.1, -0.2, 0.6])
    return ("pendulum", pendulum(), hanging, "C1o"), ("slider-crank", slider_crank(), crank, "C2s")


def draw_response(panel: Any, alpha: float, beta: float, t_end: float) -> None:
    """Draw the closed response to a unit impulse, and the measured ones of the two systems."""
    t = np.linspace(0.0, t_end, 241)
    panel.axhline(0.0, color="0.8", linewidth=0.8)
    panel.plot(t, error_response(alpha, beta, t, IMPULSE), color="C0", linewidth=2.0, label="closed form")
    for (name, system, q, marker), first in zip(measured_systems(), (0, 4), strict=True):
        found = measured_response(system, alpha, beta, *unit_rate_state(system, q), t)
        panel.plot(t[first::8], found[first::8], marker, markersize=3.5, label=f"{name}, measured")
    panel.set_title(f"alpha = {alpha:g}, beta = {beta:g} 1/s: {damping_case(alpha, beta)}", fontsize=10)
    panel.set_xlabel("t, s")


def unit_rate_state(system: ConstrainedSystem, q: Array) -> tuple[Array, Array]:
    """Return q (n,) with Phi = 0 near the given one, and v (n,) with Phid = 1 in row 0 and 0 elsewhere."""
    q, v = consistent_state(system, q, np.ones(system.n), 0.0)
    return q, v + np.linalg.pinv(system.constraint_jacobian(q, 0.0))[:, 0]


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

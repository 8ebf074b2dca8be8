"""The response of the violation as a picture: closed form, and measured on a pendulum and a slider-crank."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.formulations.consistent import consistent_state
from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.error_equation import IMPULSE, check_gains, damping_case, error_response
from rtmbs.formulations.saddle import solve_saddle
from rtmbs.formulations.small_systems import pendulum, slider_crank
from rtmbs.formulations.stabilised import Stabilised
from rtmbs.formulations.terms import terms_at

Array = NDArray[np.float64]

SEED_GAINS = ((10.0, 20.0), (20.0, 20.0), (20.0, 10.0))  # alpha, beta of the three figures


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

    One panel for the gains [1/s] given, three for none: 10, 20; 20, 20; 20, 10. ``t_end`` [s] ends the plot; ``axes``
    are taken in the place of new ones. Source: METHODS 1.22.

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
        check_gains(*pair)
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
    """Return name, system, a position (n,) and a marker of what is measured."""
    hanging, crank = np.array([0.5, -0.9]), np.array([1.0, 0.3, 0.1, -0.2, 0.6])
    return ("pendulum", pendulum(), hanging, "C1o"), ("slider-crank", slider_crank(), crank, "C2s")


def draw_response(panel: Any, alpha: float, beta: float, t_end: float) -> None:
    """Draw the closed response to a unit impulse, and the measured ones of the two systems."""
    t = np.linspace(0.0, t_end, 241)
    panel.axhline(0.0, color="0.8", linewidth=0.8)
    panel.plot(t, error_response(alpha, beta, t, IMPULSE), color="C0", linewidth=2.0, label="closed form")
    for (name, system, q, marker), first in zip(measured_systems(), (0, 4), strict=True):
        found = measured_response(system, alpha, beta, *moving(system, q), t)
        panel.plot(t[first::8], found[first::8], marker, markersize=3.5, label=f"{name}, measured")
    panel.set_title(f"alpha = {alpha:g}, beta = {beta:g} 1/s: {damping_case(alpha, beta)}", fontsize=10)
    panel.set_xlabel("t, s")


def moving(system: ConstrainedSystem, q: Array) -> tuple[Array, Array]:
    """Return q (n,) with Phi = 0 near the given one, and v (n,) with Phid = 1 in row 0 and 0 elsewhere."""
    q, v = consistent_state(system, q, np.ones(system.n), 0.0)
    return q, v + np.linalg.pinv(system.constraint_jacobian(q, 0.0))[:, 0]

"""Check of a system's derivatives by differences: Phi_q, Phi_t and gamma, and those of rate constraints."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem, FormulationError, checked_time, checked_vector
from rtmbs.formulations.rate_constraints import holonomic_rows, with_rate_rows
from rtmbs.formulations.terms import row_names, terms_at

Array = NDArray[np.float64]

STEPS = 1e-4, 1e-5  # of differences, in terms of 1 or the coordinate: only what both agree on is a mistake
ALLOWED = 1e-4  # of the terms of a row: larger differences are mistakes
AGREE = 0.1  # of a mistake: what the two differences may differ by


def check_system(system: ConstrainedSystem, q: Array, v: Array, t: float) -> None:
    """Compare Phi_q, Phi_t and gamma with differences of Phi and Phid at a state.

    Phi is followed along v, along one further direction and along time. Phid is followed along motions without
    acceleration, with v and with other rates on the constraints, for at rest a wrong gamma does not show. A difference
    is taken with two steps, and only what both show is reported, so that kinks beside the state do not alarm. A wrong
    gamma makes wrong accelerations without a violation: Phidd is judged with the same gamma.

    Parameters
    ----------
    system : ConstrainedSystem
        System of equations.
    q : ndarray
        Coordinates (n,).
    v : ndarray
        Rates of the coordinates (n,).
    t : float
        Time [s].

    Raises
    ------
    InputError
        For shapes and numbers, and for a mass that is not symmetric.
    FormulationError
        Naming the row of Phi_q, Phi_t or gamma that is wrong.

    Examples
    --------
    >>> check_system(system, q, v, 0.0)  # doctest: +SKIP
    """
    rows = with_rate_rows(system)
    q, v, t = checked_vector("q", q, system.n), checked_vector("v", v, system.n), checked_time(t)
    terms = terms_at(rows, q, v, t)
    if not rows.m:
        return
    held, still = holonomic_rows(rows), np.zeros(system.n)
    size = np.maximum(1.0, np.abs(q))
    way = size * np.cos(1.0 + np.arange(system.n))  # a direction with all coordinates, none like another
    given = terms.Phi_q[:held]
    along_phi: list[tuple[str, Array, Callable[[float], Array]]] = [
        ("Phi_q", given @ way, lambda x: rows.constraints(q + x * way, t)[:held]),
        ("Phi_q", given @ v, lambda x: rows.constraints(q + x * v, t)[:held]),
        ("Phi_t", terms.Phi_t[:held], lambda x: rows.constraints(q, t + x)[:held]),
    ]
    for name, value, function in along_phi:
        compare(rows, name, value, function, np.abs(given) @ (size + np.abs(v)) + np.abs(terms.Phi_t[:held]))

    change = (1.0 + np.abs(v)) * np.cos(2.0 + np.arange(system.n))  # gamma is zero at rest, right or wrong
    change -= np.linalg.pinv(terms.Phi_q) @ (
        terms.Phi_q @ change
    )  # systems in speeds know rates on the constraints alone
    for rates in (v, v + change):
        check_gamma(rows, terms.Phi_q, q, rates, t)
    for name, value, scale in rate_rows(system, terms.Phi_q[held:], terms.Phi_t[held:], q, v, t, still):
        compare(rows, name, value, lambda x: np.zeros(0), scale, held)


def check_gamma(rows: ConstrainedSystem, Phi_q: Array, q: Array, v: Array, t: float) -> None:
    """Compare gamma with the difference of Phid along a motion without acceleration, whatever the rates."""
    gamma = np.asarray(rows.constraint_rate_terms(q, v, t)[1])

    def rate(x: float) -> Array:
        there, then = q + x * v, t + x
        return np.asarray(rows.constraint_jacobian(there, then) @ v + rows.constraint_rate_terms(there, v, then)[0])

    pace = np.abs(Phi_q) @ (np.abs(v) * (np.abs(v).max(initial=0.0) + 1.0)) + np.abs(gamma)
    compare(rows, "gamma", -gamma, rate, pace + np.abs(Phi_q).max(initial=0.0))


def rate_rows(
    system: ConstrainedSystem, A: Array, b: Array, q: Array, v: Array, t: float, still: Array
) -> Iterator[tuple[str, Array, Array]]:
    """Yield differences of Psi from A v + b: rate constraints are linear in v."""
    if len(A):
        for rates in (v, v + 1.0 + np.abs(v), still):
            found = np.asarray(system.rate_constraints(q, rates, t))  # type: ignore[attr-defined]
            scale = np.abs(A) @ np.abs(rates) + np.abs(b) + np.abs(A).max(initial=0.0)
            yield "rate_constraint_jacobian", found - A @ rates - b, scale


def compare(
    system: ConstrainedSystem, what: str, value: Array, function: Callable[[float], Array], scale: Array, first: int = 0
) -> None:
    """Raise FormulationError naming the row where ``value`` is not the derivative of ``function`` at 0."""
    if not len(value):
        return
    if len(function(0.0)):
        coarse, fine = ((function(h) - function(-h)) / (2.0 * h) for h in STEPS)
    else:
        coarse = fine = np.zeros_like(value)
    off, spread = np.abs(value - fine), np.abs(coarse - fine)
    worst = int(np.argmax(off / np.maximum(scale, 1e-300)))
    if off[worst] > ALLOWED * scale[worst] and spread[worst] <= AGREE * off[worst]:
        raise FormulationError(
            f"{row_names(system, np.array([first + worst]))} of {what} is off by {off[worst]:.2g} from a difference of "
            f"the constraints, of {scale[worst]:.2g} at most; correct {what}, or let FunctionSystem derive it"
        )

"""Check of a system's derivatives by differences: Phi_q, Phi_t and gamma, and those of rate constraints."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import RtmbsError
from rtmbs.formulations.contract import ConstrainedSystem, FormulationError, checked_time, checked_vector
from rtmbs.formulations.rate_constraints import holonomic_rows, with_rate_rows
from rtmbs.formulations.terms import Terms, row_names, terms_at
from rtmbs.formulations.typical_sizes import rate_sizes, sizes_of

Array = NDArray[np.float64]

FIRST, RATIO, LEVELS = 1e-3, 3.1, 21  # of differences: the largest step in typical sizes, and the others below it
ALLOWED = 1e-4  # of the terms of a row: larger differences are mistakes
HARMLESS = 1e-6  # of what Phi_q and the rates make: an error of Phi_t or gamma that no motion shows
ROUNDING = 1e-12  # of what Phi_q and the coordinates make in a typical time: what Phi_t may round to
OWN = 1e-6  # of the largest coordinate: the least size by which one is moved of its own
AGREE = 0.1  # of a mistake: what differences of three steps in a row may differ by


def check_system(system: ConstrainedSystem, q: Array, v: Array, t: float) -> None:
    """Compare Phi_q, Phi_t and gamma with differences of Phi and Phid at a state.

    Phi is followed along v, along two further directions and along time. Phid is followed along motions without
    acceleration, with v and with other rates on the constraints, for at rest a wrong gamma does not show. Steps of
    differences go from a thousandth of typical sizes down to rounding: a value is right where two steps in a row agree
    with it, and a mistake is reported where three in a row agree on another value. So units of coordinates, rows and
    time do not matter, and kinks beside the state do not alarm. A wrong gamma makes wrong accelerations without a
    violation: Phidd is judged with the same gamma.

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
    sizes = sizes_of(q)
    paces = rate_sizes(sizes, v, terms.M, terms.F)
    change = paces * np.cos(2.0 + np.arange(system.n))  # gamma is zero at rest, right or wrong
    check_positions(rows, terms, q, (v, v + change), t)
    # systems in speeds know rates on the constraints alone
    change -= np.linalg.pinv(terms.Phi_q) @ (terms.Phi_q @ change)
    for rates in (v, v + change):
        check_gamma(rows, terms.Phi_q, q, rates, t, span_of(np.maximum(paces, np.abs(rates)), sizes))
    check_rate_rows(system, terms, q, v + 2.0 * paces, t)


def check_positions(rows: ConstrainedSystem, terms: Terms, q: Array, moves: tuple[Array, ...], t: float) -> None:
    """Compare Phi_q with differences of Phi along directions of all coordinates and along moves, Phi_t along time."""
    held, sizes, v = holonomic_rows(rows), sizes_of(q), terms.v
    P = terms.Phi_q[:held]
    reach, given = np.abs(P) @ sizes, np.abs(P)
    signs, own = np.cos(1.0 + np.arange(len(q))), np.maximum(np.abs(q), OWN * np.abs(q).max(initial=0.0))

    def phi_along(way: Array, x: float) -> Array:
        return rows.constraints(q + x * way, t)[:held]

    for way in (sizes * signs, own * signs, *moves):  # no coordinate like another
        if way.any():
            span = 1.0 / float((np.abs(way) / sizes).max())
            compare(
                rows, "Phi_q", P @ way, partial(phi_along, way), span,
                ALLOWED * (given @ np.abs(way)) + ROUNDING * reach / span,
            )  # fmt: skip
    span = span_of(rate_sizes(sizes, v, terms.M, terms.F), sizes)
    allowed = HARMLESS * (given @ np.abs(v)) + ROUNDING * reach / span
    compare(rows, "Phi_t", terms.Phi_t[:held], lambda x: rows.constraints(q, t + x)[:held], span, allowed, ALLOWED)


def check_gamma(rows: ConstrainedSystem, Phi_q: Array, q: Array, v: Array, t: float, span: float) -> None:
    """Compare gamma with the difference of Phid along a motion without acceleration, whatever the rates."""
    sizes, given = sizes_of(q), np.abs(Phi_q)
    Phi_t, gamma = (np.asarray(part) for part in rows.constraint_rate_terms(q, v, t))

    def rate(x: float) -> Array:
        there, then = q + x * v, t + x
        return np.asarray(rows.constraint_jacobian(there, then) @ v + rows.constraint_rate_terms(there, v, then)[0])

    paces = np.where(given > 0.0, np.abs(v) / sizes, 0.0).max(axis=1, initial=0.0)
    harmless = HARMLESS * paces * (given @ np.abs(v) + np.abs(Phi_t))  # by the pace of each row
    compare(rows, "gamma", -gamma, rate, span, harmless + ROUNDING * (given @ sizes) / span**2, ALLOWED)


def span_of(rates: Array, sizes: Array) -> float:
    """Return the time [s] in which these rates change the mechanism."""
    return 1.0 / float((rates / sizes).max())


def check_rate_rows(system: ConstrainedSystem, terms: Terms, q: Array, other: Array, t: float) -> None:
    """Raise FormulationError where Psi is not A v + b, for the rates and others: rate constraints are linear in v."""
    first = holonomic_rows(terms.system)
    A, b = terms.Phi_q[first:], terms.Phi_t[first:]
    if not len(A):
        return
    for rates in (terms.v, other, np.zeros(system.n)):
        found = np.asarray(system.rate_constraints(q, rates, t))  # type: ignore[attr-defined]
        off, size = np.abs(found - A @ rates - b), np.abs(A) @ np.abs(rates) + np.abs(b)
        if (off > ALLOWED * size).any():
            raise mistake(system, "rate_constraint_jacobian", off, np.maximum(size, np.abs(found)), first)


def compare(
    system: ConstrainedSystem, what: str, value: Array, function: Callable[[float], Array], span: float, allowed: Array,
    relative: float = 0.0,
) -> None:  # fmt: skip
    """Raise FormulationError naming the row where ``value`` is not the derivative of ``function`` at 0.

    span : typical size of the argument. allowed : what each row may be off, and ``relative`` of its value.
    """
    found, moved = list[Array](), np.zeros(len(value))
    right, before = (np.zeros(len(value), np.bool_) for _ in range(2))
    for k in range(LEVELS):
        slope = difference(function, FIRST * span / RATIO**k, len(value))
        near = np.abs(value - slope) <= allowed + relative * np.maximum(np.abs(value), np.abs(slope))
        near &= (slope != 0.0) | (moved == 0.0)  # a step that rounding takes away tells nothing
        moved = np.fmax(moved, np.abs(slope))
        right, before = right | (near & before), near
        if right.all():
            return
        found.append(slope)
    slopes = np.array(found)
    spread = np.maximum(np.abs(slopes[1:-1] - slopes[:-2]), np.abs(slopes[1:-1] - slopes[2:]))
    spread = np.where(np.isfinite(spread), spread, np.inf)
    best = np.argmin(spread, axis=0), np.arange(len(value))
    slope, left = slopes[1:-1][best], spread[best]
    off = np.where(np.isfinite(left), np.abs(value - slope), 0.0)
    size = np.maximum(np.abs(value), np.abs(np.where(np.isfinite(slope), slope, 0.0)))
    wrong = ~right & (off > allowed + relative * size) & (left <= AGREE * off)
    if wrong.any():
        raise mistake(system, what, np.where(wrong, off, 0.0), size)


def difference(function: Callable[[float], Array], h: float, count: int) -> Array:
    """Return the central difference (count,) of a function at 0; no numbers where it has none."""
    with np.errstate(all="ignore"):
        try:
            return np.asarray((function(h) - function(-h)) / (2.0 * h))
        except (ArithmeticError, ValueError, RtmbsError):
            return np.full(count, np.nan)


def mistake(system: ConstrainedSystem, what: str, off: Array, size: Array, first: int = 0) -> FormulationError:
    """Return the error of the row that is off most, in terms of its size."""
    worst = int(np.argmax(off / np.maximum(size, np.finfo(np.float64).tiny)))
    return FormulationError(
        f"{row_names(with_rate_rows(system), np.array([first + worst]))} of {what} is off by {off[worst]:.2g} from a "
        f"difference of the constraints, of {size[worst]:.2g} at most; correct {what}, or let FunctionSystem derive it"
    )

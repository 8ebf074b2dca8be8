"""Consistent states: correction to Phi = 0 and Phid = 0 after a step, and the least weighted change near a given state.

Changes of positions and of rates are weighted with typical sizes of coordinates and rates, in whatever units they are:
what a violation or a step is small against.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.sparse import csc_array

from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    Formulation,
    FormulationError,
    StackedRows,
    all_finite,
    checked_answer,
    checked_time,
    checked_vector,
    holonomic_rows,
    rate_terms,
    row_names,
    with_rate_rows,
)
from rtmbs.formulations.reduction import RANK_TOLERANCE
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.semirecursive.loop_jacobian import Group
from rtmbs.semirecursive.start.assembly import REFUSED, NearestPose, worst_of

Array = NDArray[np.float64]
Solve = Callable[[Array, Array], Array]  # Phi_q (m, n) and a right side (m,): x (n,) with Phi_q x = right
LAST = 1e-8  # of the largest coordinate or 1: a correction whose square is rounding, so that none need follow
UNCLOSED = 1e-10  # of Phi_q times the largest coordinate: what rows that no step closes may be left at
MOST_CORRECTIONS = 20


@runtime_checkable
class Correcting(Protocol):
    """A formulation that keeps Phi = 0 and Phid = 0: by its own basis, never by feedback."""

    def correct(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return q and v (n,) that satisfy the constraints, near the given ones.

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
        memory : object, optional
            Memory of a formulation between calls, changed in place; none unless given.

        Returns
        -------
        tuple[ndarray, ndarray]
            Coordinates and rates on the constraints, both (n,).

        Raises
        ------
        FormulationError
            When there is no solution.
        """


def corrected(
    formulation: Formulation, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
) -> tuple[Array, Array]:
    """Return q and v (n,) corrected by the formulation; unchanged for a formulation without correction.

    Parameters
    ----------
    formulation : Formulation
        Formulation of the accelerations.
    system : ConstrainedSystem
        System of equations.
    q : ndarray
        Coordinates (n,).
    v : ndarray
        Rates of the coordinates (n,).
    t : float
        Time [s].
    memory : object, optional
        Memory of a formulation between calls, changed in place; none unless given.

    Returns
    -------
    tuple[ndarray, ndarray]
        Coordinates and rates, both (n,).
    """
    if system.m and (correct := getattr(formulation, "correct", None)) is not None:
        q, v = correct(system, q, v, t, memory)
    return q, v


def closed_positions(system: ConstrainedSystem, q: Array, t: float, solve: Solve) -> Array:
    """Return q (n,) with Phi = 0 by Newton in the directions of ``solve``, undamped: the end of a step is near.

    The loop stands alone: ``converged`` of ``numerics/linear/least_change.py`` looks at corrections only, and the
    directions of a formulation may leave rows open, so the rows decide as well.

    Raises FormulationError naming the row that stays open.
    """
    q, t = checked_vector("q", q, system.n), checked_time(t)
    if not holonomic_rows(system):
        return q
    for _ in range(MOST_CORRECTIONS):
        q, step, Phi, Phi_q = newton_step(system, q, t, solve)
        size, largest = float(np.abs(step).max()), max(1.0, float(np.abs(q).max()))
        if not np.isfinite(size):
            break
        if size <= LAST * largest and np.abs(Phi - Phi_q @ step).max() <= UNCLOSED * largest * np.abs(Phi_q).max():
            return q
    worst = np.array([int(np.argmax(np.abs(Phi)))])
    raise FormulationError(
        f"{row_names(system, worst)} of Phi stays open by {np.abs(Phi).max():.2g} after {MOST_CORRECTIONS} "
        f"iterations at t = {t:g}; take a shorter step, or a nearer start"
    )


def newton_step(system: ConstrainedSystem, q: Array, t: float, solve: Solve) -> tuple[Array, Array, Array, Array]:
    """Return q (n,) after a step of Newton to Phi = 0, the step taken off, and Phi and Phi_q before it."""
    held = holonomic_rows(system)  # rate constraints bind no position
    Phi = checked_answer("constraints(q, t)", system.constraints(q, t), (system.m,))[:held]
    Phi_q = checked_answer("constraint_jacobian(q, t)", system.constraint_jacobian(q, t), (system.m, system.n))[:held]
    step = solve(Phi_q, Phi)
    return q - step, step, Phi, Phi_q


def closed_rates(system: ConstrainedSystem, q: Array, v: Array, t: float, solve: Solve) -> Array:
    """Return v (n,) with Phi_q v + Phi_t = 0, changed in the directions of ``solve``."""
    q, v, t = checked_vector("q", q, system.n), checked_vector("v", v, system.n), checked_time(t)
    if not system.m:
        return v
    Phi_q = system.constraint_jacobian(q, t)
    return np.asarray(v - solve(Phi_q, Phi_q @ v + rate_terms(system, q, v, t)[0]))


def closed_state(
    system: ConstrainedSystem, q: Array, v: Array, t: float, solve: Solve, placing: Solve | None = None
) -> tuple[Array, Array]:
    """Return q and v (n,) with Phi = 0 and Phid = 0; ``placing`` serves positions where rate constraints differ."""
    q = closed_positions(system, q, t, placing or solve)
    return q, closed_rates(system, q, v, t, solve)


def least_solution(Phi_q: Array, right: Array) -> Array:
    """Return the least x (n,) of those for which Phi_q x = right best; dependent rows are accepted."""
    (m, n), size = Phi_q.shape, len(right)
    if not all_finite(right):
        return np.full(n, np.nan)
    if not (m and n):
        return np.zeros(n)
    b = np.zeros(max(m, n))
    b[:size] = right
    _, x, _, _, info = lapack.dgelsy(Phi_q, b, np.zeros(n, np.int32), RANK_TOLERANCE, work_size(m, n))
    return np.asarray(x[:n]) if info == 0 else np.full(n, np.nan)


@cache
def work_size(m: int, n: int) -> int:
    """Return the work space that LAPACK wants for a least-squares solution of this size."""
    return int(lapack.dgelsy_lwork(m, n, 1, RANK_TOLERANCE)[0])


SMALL = 1e-3  # of the largest coordinate: a smaller one is near zero by chance, and tells no size
NOTHING = 1e-12  # of any unit: coordinates that all are smaller are zero but for rounding
STILL, REST = 1e-5, 0.1  # of the sizes in a second: rates that all are smaller are rest, and their size there
SHIFT = 1e-3  # of the largest coordinate: a move over which Phi_q is compared
SHARE = 1e-3  # of the largest row: what of its rounding another row may have
SHORTEST = 1e-9  # of any unit: coordinates that all are smaller are moved by SHIFT of this


def sizes_of(x: Array) -> Array:
    """Return the size of each of some numbers (n,): its own, or the largest for one near zero; 1 where all are zero."""
    own = np.abs(x)
    largest = float(own.max(initial=0.0))
    if largest <= NOTHING:
        return np.ones(len(x))
    return np.where(own >= SMALL * largest, own, largest)


def coordinate_sizes(system: ConstrainedSystem, q: Array, t: float, Phi_q: Array) -> Array:
    """Return typical sizes (n,) of coordinates at a state.

    Coordinates may all be near zero by chance, as angles at the reference pose are. So none counts as smaller than the
    move over which Phi_q turns by as much as it is, or 1 where that is more.
    """
    sizes = sizes_of(q)
    largest = float(np.abs(q).max(initial=0.0))
    if largest >= 1.0 or not Phi_q.size:
        return sizes
    move = SHIFT * max(largest, SHORTEST)
    there = q + move * np.cos(1.0 + np.arange(system.n))
    change = np.abs(np.asarray(system.constraint_jacobian(there, t)) - Phi_q).max(axis=1)
    rows = np.abs(Phi_q).max(axis=1)
    turning = change > 0.0
    curved = float((move * rows[turning] / change[turning]).min(initial=1.0))
    return sizes if curved <= largest else np.maximum(sizes, curved)


def rate_sizes(sizes: Array, v: Array, M: Array, F: Array) -> Array:
    """Return typical sizes (n,) of rates: their own or those that forces make over the sizes; else the sizes in 1 s."""
    inertia = np.abs(np.diag(M))
    pull = np.divide(np.abs(F), inertia, out=np.zeros(len(v)), where=inertia > 0.0)
    own = np.maximum(np.abs(v), np.sqrt(pull * sizes))
    return sizes if own.max(initial=0.0) <= NOTHING else sizes_of(own)


def start_rate_sizes(sizes: Array, v: Array, M: Array, F: Array) -> Array:
    """Return typical sizes (n,) of rates that a start is judged by: ``rate_sizes``, and at rest a tenth a second.

    At rest, rates and forces are what rounding and earlier motions left, and tell no size.
    """
    inertia = np.abs(np.diag(M))
    pull = np.divide(np.abs(F), inertia, out=np.zeros(len(v)), where=inertia > 0.0)
    if np.all(np.maximum(np.abs(v), pull) <= STILL * sizes):
        return REST * sizes
    return rate_sizes(sizes, v, M, F)


def row_sizes(Phi_q: Array, sizes: Array, more: Array | float = 0.0) -> Array:
    """Return the size of each row (m,) that changes of these sizes make, and a share of the largest row's."""
    own = np.abs(Phi_q) @ sizes + np.abs(more)
    return np.asarray(own + SHARE * own.max(initial=0.0))


CLOSED = 1e-13  # of a correction, in terms of the largest typical coordinate
OPEN = 1e-10  # of Phi and Phid, in terms of Phi_q times typical coordinates or rates
MAX_ITERATIONS = 40


class SystemPose(NearestPose):
    """Phi(q, t) = 0 at one time, as equations of q; ``near`` (n,) are the roots of the inverse weights."""

    def __init__(self, system: ConstrainedSystem, q: Array, t: float, near: Array) -> None:
        self.system, self.t = system, t
        self.typical = max(1.0, float(np.abs(q).max(initial=0.0))) * np.where(near > 0.0, near, 1.0)
        self.groups = [Group(np.arange(system.m), np.arange(system.n))]
        size = np.abs(jacobian_at(system, q, t) * self.typical).max(axis=1)
        self.scale = np.where(size > 0.0, size, 1.0)

    def gap(self, z: Array) -> Array:
        """Return Phi over its scale (m,)."""
        return constraints_at(self.system, z, self.t) / self.scale

    def scaled_jacobian(self, z: Array) -> csc_array:
        """Return the derivative (m, n) of the gap by z / typical."""
        return csc_array(jacobian_at(self.system, z, self.t) * self.typical / self.scale[:, None])


@refuses_unfactorised(FormulationError, "consistent state")
def consistent_state(
    system: ConstrainedSystem,
    q: Array,
    v: Array,
    t: float,
    weights: Array | None = None,
    rate_weights: Array | None = None,
) -> tuple[Array, Array]:
    """Return q and v (n,) with Phi = 0 and Phi_q v + Phi_t = 0, nearest to the given ones.

    Minimises sum weights (q - q0)^2, then sum rate_weights (v - v0)^2; weights (n,) are 1 unless given, and an infinite
    one keeps the value. The algorithm is that of the start of a Simulation,
    ``rtmbs.semirecursive.start.assembly`` (METHODS 2.9); dependent rows are accepted.

    Parameters
    ----------
    system : ConstrainedSystem
        System of equations.
    q : ndarray
        Coordinates (n,) to begin at.
    v : ndarray
        Rates (n,) to begin at.
    t : float
        Time [s].
    weights : ndarray, optional
        Weights (n,) of changes of coordinates, 1 unless given; an infinite weight keeps the value.
    rate_weights : ndarray, optional
        Weights (n,) of changes of rates, 1 unless given.

    Returns
    -------
    tuple[ndarray, ndarray]
        Coordinates and rates, both (n,).

    Raises
    ------
    InputError
        For shapes and numbers.
    FormulationError
        Naming the row that stays open.

    Examples
    --------
    >>> q, v = consistent_state(system, q, v, 0.0, weights=np.array([np.inf, 1.0, 1.0]))  # doctest: +SKIP
    """
    q, v, t = checked_vector("q", q, system.n), checked_vector("v", v, system.n), checked_time(t)
    near, rate_near = (
        inverse_root_weights("weights", weights, system.n),
        inverse_root_weights("rate_weights", rate_weights, system.n),
    )
    held, system = system, with_rate_rows(system)
    if isinstance(held, StackedRows):
        held = held.system
    if not system.m:
        return q, v
    ones, asked = np.ones(system.n), v
    if held.m:
        q = nearest_positions(held, q, t, near)
    P, Phi_t = jacobian_at(system, q, t), system.constraint_rate_terms(q, v, t)[0]
    sizes = coordinate_sizes(system, q, t, P)
    demand_closed(system, "Phi", constraints_at(system, q, t), row_sizes(P, sizes), t, near)
    pose = SystemPose(system, q, t, rate_near)
    v, _ = pose.nearest_rates(
        pose.scaled_jacobian(q), v, lambda rates: (P @ rates + Phi_t) / pose.scale, rate_near == 0.0, ones, 0.0
    )
    v = v - rate_near * least_solution(P * rate_near, P @ v + Phi_t)  # to rounding
    rates = start_rate_sizes(sizes, np.maximum(np.abs(v), np.abs(asked)), np.eye(system.n), np.zeros(system.n))
    demand_closed(system, "Phi_q v + Phi_t", P @ v + Phi_t, row_sizes(P, rates, Phi_t), t, rate_near)
    return q, v


def nearest_positions(system: ConstrainedSystem, q: Array, t: float, near: Array) -> Array:
    """Return q (n,) with Phi = 0 to rounding, next to the given one.

    Where the damped iteration is caught beside the constraints, full steps close them, and the nearest pose is looked
    for from there.
    """
    pose, kept, ones = SystemPose(system, q, t, near), near == 0.0, np.ones(system.n)
    z = pose.solve(q, kept, ones)
    caught = worst_of(pose.gap(z)) > REFUSED
    z = closed_from(system, z, t, near)
    return closed_from(system, pose.minimised(z, q, kept, ones), t, near) if caught else z


def inverse_root_weights(name: str, weights: Array | None, n: int) -> Array:
    """Return weights^(-1/2) (n,), 0 where the value is kept. Raises InputError."""
    if weights is None:
        return np.ones(n)
    found = np.asarray(weights)
    if found.shape != (n,) or found.dtype.kind not in "fiu" or not np.all(found > 0.0):
        raise InputError(f"{name} are {shown(weights)}; {n} positive numbers are wanted, inf for a value that is kept")
    return np.asarray(1.0 / np.sqrt(found))


def closed_from(system: ConstrainedSystem, q: Array, t: float, near: Array) -> Array:
    """Return q (n,) with Phi = 0 to rounding, by least changes; ``NearestPose`` ends at 1e-12 of the row scale.

    The loop stands alone: it shares ``newton_step``, and has no verdict, as ``demand_closed`` judges what is left.
    """
    size = float(coordinate_sizes(system, q, t, jacobian_at(system, q, t)).max())
    for _ in range(MAX_ITERATIONS):
        q, step, _, _ = newton_step(system, q, t, lambda P, right: near * least_solution(P * near, right))
        if np.abs(step).max() <= CLOSED * max(size, float(np.abs(q).max())):
            break
    return q


def constraints_at(system: ConstrainedSystem, q: Array, t: float) -> Array:
    return checked_answer("constraints(q, t)", system.constraints(q, t), (system.m,))


def jacobian_at(system: ConstrainedSystem, q: Array, t: float) -> Array:
    return checked_answer("constraint_jacobian(q, t)", system.constraint_jacobian(q, t), (system.m, system.n))


def demand_closed(system: ConstrainedSystem, what: str, left: Array, size: Array, t: float, near: Array) -> None:
    """Raise FormulationError with the row of the largest residual, when ``left`` (m,) exceeds rounding of ``size``."""
    i = int(np.argmax(np.abs(left) - OPEN * size))
    if np.abs(left[i]) > OPEN * size[i]:
        kept = np.flatnonzero(near == 0.0)
        values = f", values that are kept ({', '.join(map(str, kept[:6]))})" if len(kept) else ""
        raise FormulationError(
            f"{row_names(system, np.array([i]))} of {what} is left at {left[i]:.2g} at t = {t:g}; the constraints"
            f"{values} contradict each other there, or the start is too far away"
        )

"""Consistent states by the least change, weighted with typical sizes of coordinates and rates.

Consistent state near a given one, by the least weighted change of positions and of rates.

Typical sizes of coordinates and rates, in whatever units they are: what a violation or a step is small against.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.errors import InputError, shown
from rtmbs.formulations.contract import (
    ConstrainedSystem,
    FormulationError,
    checked_answer,
    checked_time,
    checked_vector,
)
from rtmbs.formulations.correction import least_solution, newton_step
from rtmbs.formulations.terms import StackedRows, row_names, with_rate_rows
from rtmbs.numerics.linear.solver import refuses_unfactorised
from rtmbs.semirecursive.loop_jacobian import Group
from rtmbs.semirecursive.start.nearest import REFUSED, NearestPose, worst_of

Array = NDArray[np.float64]
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
    ``rtmbs.semirecursive.start.nearest`` (METHODS 2.9); dependent rows are accepted.

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

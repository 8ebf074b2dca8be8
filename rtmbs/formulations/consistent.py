"""A consistent state near a given one: the least weighted change of positions and of rates."""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.formulations.checked import answered, given, instant
from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.correction import least_solution
from rtmbs.formulations.errors import FormulationError
from rtmbs.formulations.rank import RANK_TOLERANCE
from rtmbs.formulations.terms import row_names

Array = NDArray[np.float64]

CLOSED = 1e-13  # of a correction, in terms of the largest coordinate or 1
OPEN = 1e-10  # of Phi and Phid, in terms of Phi_q times the largest coordinate or rate, or 1
MAX_ITERATIONS = 40
HALVINGS = 4  # of a step that opens the constraints further
ALMOST = 1e-3  # of Phi_q: open constraints that the next step closes
SLOW = 0.3  # contraction of Gauss-Newton beyond which Newton takes over
CONVEX = 0.1  # least eigenvalue of the Lagrangian along the constraints, 1 without curvature
DIFFERENCE = 1e-6  # of the largest coordinate or 1


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
    one keeps the value. Newton on the Lagrangian finds the positions (METHODS 2.9); dependent rows are accepted.
    Raises InputError for shapes and numbers, FormulationError naming the row that stays open.

    >>> q, v = consistent_state(system, q, v, 0.0, weights=np.array([np.inf, 1.0, 1.0]))  # doctest: +SKIP
    """
    q, v, t = given("q", q, system.n), given("v", v, system.n), instant(t)
    near, rate_near = shares("weights", weights, system.n), shares("rate_weights", rate_weights, system.n)
    if not system.m:
        return q, v
    q = nearest_positions(system, q, t, near)
    size = max(1.0, np.abs(q).max()) * np.abs(jacobian_at(system, q, t)).max()
    demand_closed(system, "Phi", constraints_at(system, q, t), size, t, near)
    for _ in range(2):
        Phi_t, _ = system.constraint_rate_terms(q, v, t)
        P = jacobian_at(system, q, t)
        v = v - rate_near * least_solution(P * rate_near, P @ v + Phi_t)
    size = max(1.0, np.abs(v).max()) * np.abs(jacobian_at(system, q, t)).max()
    demand_closed(system, "Phi_q v + Phi_t", jacobian_at(system, q, t) @ v + Phi_t, size, t, rate_near)
    return q, v


def shares(name: str, weights: Array | None, n: int) -> Array:
    """Return weights^(-1/2) (n,), 0 where the value is kept. Raises InputError."""
    if weights is None:
        return np.ones(n)
    found = np.asarray(weights)
    if found.shape != (n,) or found.dtype.kind not in "fiu" or not np.all(found > 0.0):
        raise InputError(f"{name} are {shown(weights)}; {n} positive numbers are wanted, inf for a value that is kept")
    return np.asarray(1.0 / np.sqrt(found))


def nearest_positions(system: ConstrainedSystem, start: Array, t: float, near: Array) -> Array:
    """Return q = start + near y (n,) with Phi = 0 and the least |y|.

    Gauss-Newton steps contract by the curvature of the constraints times |y|. Where that is slow, Newton steps on the
    Lagrangian take their place. A far start may have no nearest point in reach; the constraints are then closed from
    the last one.
    """
    y, before, bent = np.zeros(system.n), np.inf, False
    for _ in range(MAX_ITERATIONS):
        step = stationary_step(system, start + near * y, t, near, y, bent)
        y, step = damped(system, start, t, near, y, step)
        size = float(np.abs(near * step).max())
        if size <= CLOSED * max(1.0, float(np.abs(start + near * y).max())):
            break
        bent, before = bent or size > SLOW * before, size
    return closed_from(system, start + near * y, t, near)


def closed_from(system: ConstrainedSystem, q: Array, t: float, near: Array) -> Array:
    """Return q (n,) with Phi = 0 by least changes; tangential steps left their square."""
    for _ in range(MAX_ITERATIONS):
        step = near * least_solution(jacobian_at(system, q, t) * near, constraints_at(system, q, t))
        q = q - step
        if np.abs(step).max() <= CLOSED * max(1.0, np.abs(q).max()):
            break
    return q


def damped(
    system: ConstrainedSystem, start: Array, t: float, near: Array, y: Array, step: Array
) -> tuple[Array, Array]:
    """Return y after the step, or after a part of it that does not open the constraints, and that part."""
    q = start + near * y
    allowed = ALMOST * np.abs(jacobian_at(system, q, t) * near).max(initial=0.0)
    allowed = max(allowed, float(np.linalg.norm(constraints_at(system, q, t))))
    for _ in range(HALVINGS):
        if np.linalg.norm(constraints_at(system, start + near * (y + step), t)) <= allowed:
            break
        step = 0.5 * step
    return y + step, step


def stationary_step(system: ConstrainedSystem, q: Array, t: float, near: Array, y: Array, bent: bool) -> Array:
    """Return the change of y (n,), -J^+ Phi + N z with J = Phi_q near.

    N spans the null space of J, and z makes y + J^T lam stationary along it, with the curvature of lam . Phi where
    ``bent`` and where that leaves a minimum.
    """
    Phi, J = constraints_at(system, q, t), jacobian_at(system, q, t) * near
    U, values, Vt = scipy.linalg.svd(J, check_finite=False)
    rank = int(np.count_nonzero(values > RANK_TOLERANCE * values[0])) if values[0] > 0.0 else 0
    U, values, rows, N = U[:, :rank], values[:rank], Vt[:rank], Vt[rank:].T
    back = -rows.T @ (U.T @ Phi / values)
    if bent and N.shape[1]:
        bend = curvature(system, q, t, near, -U @ (rows @ y / values), np.column_stack((N, back)))
        along = N.T @ bend[:, :-1]
        H = np.eye(len(along)) + 0.5 * (along + along.T)
        if np.all(np.isfinite(bend)) and np.linalg.eigvalsh(H)[0] > CONVEX:
            return np.asarray(back - N @ np.linalg.solve(H, N.T @ (y + bend[:, -1])))
    return np.asarray(back - N @ (N.T @ y))


def curvature(system: ConstrainedSystem, q: Array, t: float, near: Array, lam: Array, ways: Array) -> Array:
    """Return (J^T lam)_y times each of the ways (n, k), by central differences of Phi_q."""
    found = np.zeros(ways.shape)
    for k, way in enumerate((near[:, None] * ways).T):
        size = float(np.abs(way).max(initial=0.0))
        if size > 0.0:
            step = DIFFERENCE * max(1.0, float(np.abs(q).max())) / size
            ahead, behind = (jacobian_at(system, q + sign * step * way, t) for sign in (1.0, -1.0))
            found[:, k] = near * ((ahead - behind).T @ lam) / (2.0 * step)
    return found


def constraints_at(system: ConstrainedSystem, q: Array, t: float) -> Array:
    return answered("constraints(q, t)", system.constraints(q, t), (system.m,))


def jacobian_at(system: ConstrainedSystem, q: Array, t: float) -> Array:
    return answered("constraint_jacobian(q, t)", system.constraint_jacobian(q, t), (system.m, system.n))


def demand_closed(system: ConstrainedSystem, what: str, left: Array, size: float, t: float, near: Array) -> None:
    """Raise FormulationError naming the worst row, when ``left`` (m,) is more than rounding of ``size``."""
    i = int(np.argmax(np.abs(left)))
    if np.abs(left[i]) > OPEN * size:
        kept = np.flatnonzero(near == 0.0)
        values = f", values that are kept ({', '.join(map(str, kept[:6]))})" if len(kept) else ""
        raise FormulationError(
            f"{row_names(system, np.array([i]))} of {what} is left at {left[i]:.2g} at t = {t:g}; the constraints"
            f"{values} contradict each other there, or the start is too far away"
        )

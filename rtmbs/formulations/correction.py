"""Correction of a state to Phi = 0 and Phid = 0 after a step: protocol of formulations, and Newton's iteration."""

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from rtmbs.formulations.contract import (
    ConstrainedSystem,
    Formulation,
    FormulationError,
    all_finite,
    checked_answer,
    checked_time,
    checked_vector,
)
from rtmbs.formulations.reduction import RANK_TOLERANCE
from rtmbs.formulations.terms import holonomic_rows, rate_terms, row_names

Array = NDArray[np.float64]
Solve = Callable[[Array, Array], Array]  # Phi_q (m, n) and a right side (m,): x (n,) with Phi_q x = right

LAST = 1e-8  # of the largest coordinate or 1: a correction whose square is rounding, so that none need follow
OPEN = 1e-10  # of Phi_q times the largest coordinate: what rows that no step closes may be left at
MAX_ITERATIONS = 20


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
    for _ in range(MAX_ITERATIONS):
        q, step, Phi, Phi_q = newton_step(system, q, t, solve)
        size, largest = float(np.abs(step).max()), max(1.0, float(np.abs(q).max()))
        if not np.isfinite(size):
            break
        if size <= LAST * largest and np.abs(Phi - Phi_q @ step).max() <= OPEN * largest * np.abs(Phi_q).max():
            return q
    worst = np.array([int(np.argmax(np.abs(Phi)))])
    raise FormulationError(
        f"{row_names(system, worst)} of Phi stays open by {np.abs(Phi).max():.2g} after {MAX_ITERATIONS} "
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

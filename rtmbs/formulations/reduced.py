"""Reduced solution a = particular + N x with (N^T M N) x = N^T (F - M particular), and its multipliers."""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.formulations.contract import ConstrainedSystem, FormulationError
from rtmbs.formulations.rank import RANK_TOLERANCE
from rtmbs.formulations.terms import Terms, coordinate_name

Array = NDArray[np.float64]

SINGULAR = 1e-13  # pivot of N^T M N, scaled to a unit diagonal, that counts as zero


def reduced_solution(terms: Terms, N: Array, particular: Array) -> Array:
    """Return a (n,) with Phi_q a = gamma and N^T (M a - F) = 0 (METHODS 2.3 to 2.6).

    N (n, n - r) spans the null space of Phi_q, ``particular`` (n,) solves Phi_q a = gamma.
    Raises FormulationError naming the coordinate when N^T M N is singular.
    """
    if not N.shape[1]:
        return particular
    A = N.T @ terms.M @ N
    b = N.T @ (terms.F - terms.M @ particular)
    return particular + N @ solve_positive(terms, N, A, b)


def solve_positive(terms: Terms, N: Array, A: Array, b: Array) -> Array:
    """Return A^-1 b (p,) of the symmetric positive A = N^T M N, by Cholesky of the matrix with unit diagonal."""
    diagonal = np.diag(A)
    if diagonal.min() <= 0.0:
        refuse_singular(terms, N, A)
    scale = 1.0 / np.sqrt(diagonal)
    try:
        L = scipy.linalg.cholesky(scale[:, None] * A * scale, lower=True, check_finite=False)
    except scipy.linalg.LinAlgError:
        refuse_singular(terms, N, A)
    if np.diag(L).min() ** 2 < SINGULAR:
        refuse_singular(terms, N, A)
    return scale * scipy.linalg.cho_solve((L, True), scale * b, check_finite=False)


def refuse_singular(terms: Terms, N: Array, A: Array) -> None:
    """Raise FormulationError naming the coordinate that moves most where there is the least inertia."""
    direction = N @ scipy.linalg.eigh(0.5 * (A + A.T), check_finite=False)[1][:, 0]
    refuse_weightless(terms.system, int(np.argmax(np.abs(direction))))


def refuse_weightless(system: ConstrainedSystem, i: int) -> None:
    """Raise FormulationError naming a coordinate that moves where there is no inertia."""
    raise FormulationError(
        f"{coordinate_name(system, i)} can move without inertia: M is singular on the null space of Phi_q; give "
        "what moves there a mass, or hold it by a constraint"
    )


def least_multipliers(terms: Terms, a: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """Return the least lam (m,) of those for which M a + Phi_q^T lam = F best; unique where Phi_q has full rank."""
    if not terms.system.m:
        return np.zeros(0)
    found = scipy.linalg.lstsq(terms.Phi_q.T, terms.F - terms.M @ a, cond=tolerance, check_finite=False)[0]
    return np.asarray(found)

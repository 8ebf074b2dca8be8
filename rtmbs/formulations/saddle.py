"""The saddle point [[M, Phi_q^T], [Phi_q, -D]] [a; lam] = [F; gamma] with D >= 0, scaled and solved by LU."""

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

from rtmbs.formulations.rank import RANK_TOLERANCE, row_factor
from rtmbs.formulations.reduced import refuse_singular, solve_positive
from rtmbs.formulations.terms import Terms, inertias

Array = NDArray[np.float64]

REFINEMENTS = 2  # of the solution: Euler parameters at rest have next to no inertia along themselves, and scale badly
SINGULAR = 1e-15  # reciprocal condition number of the scaled matrix that counts as zero


def solve_saddle(terms: Terms, softness: Array | None = None) -> tuple[Array, Array]:
    """Return a (n,) and lam (m,) with M a + Phi_q^T lam = F and Phi_q a - softness lam = gamma (METHODS 2.1).

    ``softness`` (m,) is 0 for rigid constraints. Coordinates are scaled by roots of their masses, and rows to length
    one, so that units do not matter. Raises FormulationError naming the coordinate when the matrix is singular.
    """
    n, m = terms.system.n, terms.system.m
    soft = np.zeros(m) if softness is None else softness
    column, row = scales(terms, soft)
    A = np.zeros((n + m, n + m))
    A[:n, :n] = column[:, None] * terms.M * column
    A[n:, :n] = row[:, None] * terms.Phi_q * column
    A[:n, n:] = A[n:, :n].T
    A[n:, n:] = -np.diag(row * soft * row)
    b = np.concatenate((column * terms.F, row * terms.gamma))
    lu, pivots, info = lapack.dgetrf(A)
    if info > 0 or lapack.dgecon(lu, np.abs(A).sum(axis=0).max())[0] < SINGULAR:
        demand_inertia(terms, certain=info > 0)
    x = scipy.linalg.lu_solve((lu, pivots), b, check_finite=False)
    for _ in range(REFINEMENTS):
        x = x + scipy.linalg.lu_solve((lu, pivots), b - A @ x, check_finite=False)
    return column * x[:n], row * x[n:]


def demand_inertia(terms: Terms, certain: bool) -> None:
    """Raise FormulationError naming the coordinate when M is singular on the null space of Phi_q, or ``certain``.

    Dependent rows that are next to rigid make a matrix of bad condition too, and a good solution.
    """
    N = row_factor(terms.Phi_q, RANK_TOLERANCE).Q2
    A = N.T @ terms.M @ N
    if len(A):
        solve_positive(terms, N, A, np.zeros(len(A)))
    if certain:
        refuse_singular(terms, N if len(A) else np.eye(terms.system.n), A if len(A) else terms.M)


def scales(terms: Terms, soft: Array) -> tuple[Array, Array]:
    """Return scales of coordinates (n,) and of rows (m,) of the saddle point."""
    inertia, positive = inertias(terms)
    inertia[~positive] = np.exp(np.mean(np.log(inertia[positive]))) if positive.any() else 1.0
    column = 1.0 / np.sqrt(inertia)
    length = np.sqrt(np.sum((terms.Phi_q * column) ** 2, axis=1) + soft)
    return column, 1.0 / np.where(length > 0.0, length, 1.0)

"""Rank-revealing algebra for assembly: numerical rank, weighted least squares, left null space."""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import svd

Array = Any


class LeastSquares(NamedTuple):
    """What `least_squares` found."""

    x: Array  # (n,) solution of least weighted norm
    left_null: Array  # (m, m - rank) orthonormal columns u with u^T A = 0: combinations of rows that hold nothing
    rank: int
    singular_values: Array  # (min(m, n),) of A with its columns divided by the roots of the weights, descending


def numerical_rank(singular_values: Array, tolerance: float) -> int:
    """Return how many singular values exceed ``tolerance`` times the largest; 0 when all are zero or there are none."""
    values = np.asarray(singular_values, np.float64)
    largest = values.max(initial=0.0)
    return int(np.count_nonzero(values > tolerance * largest)) if largest > 0.0 else 0


def least_squares(A: Array, b: Array, rcond: float, weights: Array | None = None) -> LeastSquares:
    """Return the x that minimises |A x - b|, and of all such x the one with the least sum of weights_i x_i^2.

    Parameters
    ----------
    A : (m, n) matrix; any rank
    b : (m,) right-hand side
    rcond : singular values below rcond times the largest count as zero
    weights : (n,) positive; 1 when not given

    Raises
    ------
    ValueError : a weight is not positive, or sizes do not fit.
    """
    A, b = np.asarray(A, np.float64), np.asarray(b, np.float64)
    roots = np.sqrt(np.ones(A.shape[1]) if weights is None else np.asarray(weights, np.float64))
    if A.ndim != 2 or b.shape != A.shape[:1] or roots.shape != A.shape[1:]:
        raise ValueError(f"sizes do not fit: A {A.shape}, b {b.shape}, weights {roots.shape}")
    if not np.all(roots > 0.0):
        raise ValueError(f"weight {int(np.argmax(~(roots > 0.0)))} is not positive")
    if A.size == 0:
        return LeastSquares(np.zeros(A.shape[1]), np.eye(A.shape[0]), 0, np.zeros(0))
    U, values, Vt = svd(A / roots, full_matrices=True, check_finite=True)
    rank = numerical_rank(values, rcond)
    y = Vt[:rank].T @ ((U[:, :rank].T @ b) / values[:rank])
    return LeastSquares(y / roots, U[:, rank:], rank, values)

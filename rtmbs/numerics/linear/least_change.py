"""Least weighted change that satisfies linear equations, redundant ones included, and the stopping test of Newton.

min 1/2 dx^T W dx subject to J dx = r, by multiplier iterations on W + beta J^T J: each iteration divides the residual
by 1 + beta sigma^2, directions in the null space of J are not touched, and an inconsistent part of r leaves dx at the
least squares solution (J^T of it is zero). Dense or sparse costs are the library's business.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

Array = NDArray[np.float64]

STIFFNESS = 1e9  # beta, for J and W of order one
LARGE = 1e4  # bound of |J|^2 above which beta shrinks: W must not be lost beside beta J^T J
MAX_ITERATIONS = 12
ENOUGH = 1e-14
SMALL = 60  # coordinates; above, the pattern of the matrix pays
WIDE = 500  # coordinates in one row of J, above which J^T J is not formed
DENSE = 0.3  # share of entries above which a dense factor is faster


def least_change(J: csc_array, r: Array, weight: Array) -> Array:
    """Return dx (n,) with the least sum of weight dx^2 among the least-squares solutions of J dx = r.

    Parameters
    ----------
    J : (m, n) sparse, rows scaled to order one
    r : (m,)
    weight : (n,) positive, of order one
    """
    if J.shape[1] == 0 or J.shape[0] == 0:
        return np.zeros(J.shape[1])
    if J.shape[1] <= SMALL:
        return least_change_of_few(J.toarray(), r, weight)
    JT, stiffness = J.T.tocsr(), stiffness_of(abs(J))
    wide, long = np.bincount(J.indices, minlength=1), np.diff(J.indptr)  # entries of rows and of columns
    if wide.max() > WIDE and np.sum(long * long) < np.sum(wide * wide):
        return iterated(J, JT, r, weight, stiffness, eliminated(J, weight, stiffness))
    solve = factored(csc_array(diags_array(weight) + stiffness * (JT @ J)))
    return iterated(J, JT, r, weight, stiffness, solve)


def eliminated(J: csc_array, weight: Array, stiffness: float) -> Callable[[Array], Array]:
    """Return the solution with W + stiffness J^T J, the coordinates of [[W, J^T], [J, -1/stiffness]] eliminated first.

    A row of J over many coordinates makes J^T J dense, and leaves J W^-1 J^T as sparse as rows share coordinates.
    """
    light = J @ diags_array(1.0 / weight)
    solve = factored(csc_array(light @ J.T + diags_array(np.full(J.shape[0], 1.0 / stiffness))))
    return lambda b: (b - J.T @ solve(light @ b)) / weight


def least_change_of_few(J: Array, r: Array, weight: Array) -> Array:
    """Return the least change for a dense J (m, n) of few coordinates: sparse arrays cost more there."""
    if J.shape[1] == 0 or J.shape[0] == 0:
        return np.zeros(J.shape[1])
    stiffness = stiffness_of(np.abs(J))
    A = stiffness * (J.T @ J)
    A.flat[:: len(A) + 1] += weight
    lu, pivots, _ = dgetrf(A, overwrite_a=True)  # as ``lu_factor``, whose checks take ten times as long
    return iterated(J, J.T, r, weight, stiffness, lambda b: dgetrs(lu, pivots, b)[0])


def iterated(J: Any, JT: Any, r: Array, weight: Array, stiffness: float, solve: Callable[[Array], Array]) -> Array:
    """Return dx (n,) by multiplier iterations; ``solve`` is the solution with W + stiffness J^T J."""
    dx, multiplier = np.zeros(J.shape[1]), np.zeros(J.shape[0])
    left, size = r, np.max(np.abs(r), initial=0.0)
    for _ in range(MAX_ITERATIONS):
        if np.max(np.abs(JT @ left), initial=0.0) <= ENOUGH * size:
            break
        dx = dx + solve(JT @ (multiplier + stiffness * left) - weight * dx)
        left = r - J @ dx
        multiplier = multiplier + stiffness * left
    return np.asarray(dx)


def stiffness_of(sizes: Any) -> float:
    """Return beta for the absolute values (m, n) of J."""
    norm = float(np.max(sizes.sum(axis=0), initial=0.0) * np.max(sizes.sum(axis=1), initial=0.0))
    return STIFFNESS * min(1.0, LARGE / max(norm, 1.0))


def factored(A: csc_array) -> Callable[[Array], Array]:
    """Return the solution with the symmetric A, dense when few of its entries are zero."""
    if A.nnz > DENSE * A.shape[0] ** 2:
        lu = lu_factor(A.toarray(), overwrite_a=True, check_finite=False)
        return lambda b: np.asarray(lu_solve(lu, b, check_finite=False))
    factor = splu(A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    return lambda b: np.asarray(factor.solve(b))


def converged(size: float, before: float, small: float, rounding: float) -> bool:
    """Return whether a correction of ``size`` is the last, ``before`` the size of the one before it, inf at first.

    It is below ``small``, or below ``rounding`` and at least half the one before: Newton's corrections shrink faster
    than that until they are rounding.
    """
    return size <= small or (size >= 0.5 * before and size <= rounding)

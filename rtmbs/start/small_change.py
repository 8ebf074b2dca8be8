"""``linear.least_change`` for few coordinates: the same iteration on arrays, because sparse ones cost more."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array

from rtmbs.linear.least_change import ENOUGH, LARGE, MAX_ITERATIONS, STIFFNESS, least_change

Array = NDArray[np.float64]

SMALL = 60  # coordinates; above, the pattern of the matrix pays


def nearest_change(J: csc_array, r: Array, weight: Array) -> Array:
    """Return dx (n,) with the least sum of weight dx^2 among the least-squares solutions of J dx = r."""
    return small_change(J.toarray(), r, weight) if 0 < J.shape[1] <= SMALL else least_change(J, r, weight)


def small_change(J: Array, r: Array, weight: Array) -> Array:
    """Return the same of an array J (m, n)."""
    sizes = np.abs(J)
    norm = float(np.max(sizes.sum(axis=0), initial=0.0) * np.max(sizes.sum(axis=1), initial=0.0))
    stiffness = STIFFNESS * min(1.0, LARGE / max(norm, 1.0))
    A = stiffness * (J.T @ J)
    A.flat[:: len(A) + 1] += weight
    lu, pivots, _ = dgetrf(A, overwrite_a=True)  # as ``lu_factor``, whose checks take ten times as long
    dx, multiplier = np.zeros(J.shape[1]), np.zeros(J.shape[0])
    left, size = r, np.max(np.abs(r), initial=0.0)
    for _ in range(MAX_ITERATIONS):
        if np.max(np.abs(J.T @ left), initial=0.0) <= ENOUGH * size:
            break
        dx = dx + dgetrs(lu, pivots, J.T @ (multiplier + stiffness * left) - weight * dx)[0]
        left = r - J @ dx
        multiplier = multiplier + stiffness * left
    return np.asarray(dx)

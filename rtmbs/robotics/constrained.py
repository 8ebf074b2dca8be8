"""Accelerations under constraints of any rank: M a + J^T lam = f, J a = g.

With M = L L^T, a = L^-T x and Y = L^-1 J^T: x + Y lam = L^-1 f = b and Y^T x = g. The singular values Y = U S V^T give
x = b - U (U^T b - S^-1 V^T g) and the multipliers of least norm lam = V S^-1 (U^T b - S^-1 V^T g). Where M alone is
singular, M + w J^T J and f + w J^T g have the same answer (augmented Lagrangian).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from rtmbs.errors import InputError

Array = NDArray[np.float64]

RANK = 1e-10  # of the largest singular value
NO_INERTIA = "forward dynamics: a coordinate has no inertia; give the bodies that it moves mass and inertia"


class ConstrainedMotion(NamedTuple):
    """Accelerations and multipliers at a state; of k states, arrays have k entries."""

    accelerations: Array  # (nv,)
    multipliers: Array  # (m,) of least norm
    residual: Any  # largest acceleration of a loop equation that is left


def constrained_accelerations(M: Array, J: Array, f: Array, g: Array) -> ConstrainedMotion:
    """Return a (nv,), lam (m,) of least norm and the largest entry of J a - g."""
    L = factor(M)
    if L is None:
        weight = np.abs(M).max(initial=1.0) / max(np.abs(J).max(initial=0.0) ** 2, 1e-300)
        L = factor(M + weight * J.T @ J)
        f = f + weight * J.T @ g
    if L is None:
        raise InputError(NO_INERTIA)
    b = scipy.linalg.solve_triangular(L, f, lower=True)
    Y = scipy.linalg.solve_triangular(L, J.T, lower=True)
    U, S, Vt = np.linalg.svd(Y, full_matrices=False)
    kept = RANK * S.max(initial=0.0) < S
    U, S, Vt = U[:, kept], S[kept], Vt[kept]
    pushed = U.T @ b - (Vt @ g) / S
    a = scipy.linalg.solve_triangular(L, b - U @ pushed, lower=True, trans="T")
    return ConstrainedMotion(a, Vt.T @ (pushed / S), float(np.abs(J @ a - g).max(initial=0.0)))


def accelerations_of_trees(M: Array, f: Array) -> Array:
    """Return a (k, nv) of M a = f for k states, rows and columns scaled so that light links count like heavy ones."""
    diagonal = np.einsum("kii->ki", M)
    if not np.all(diagonal > 0.0):
        raise InputError(NO_INERTIA)
    s = 1.0 / np.sqrt(diagonal)
    try:
        a = np.linalg.solve(M * s[:, :, None] * s[:, None, :], (s * f)[..., None])[..., 0]
    except np.linalg.LinAlgError:
        raise InputError(NO_INERTIA) from None
    return np.asarray(s * a, np.float64)


def factor(M: Array) -> Array | None:
    """Return L of M = L L^T, None where M is not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        return None

"""Accelerations under constraints of any rank: M a + J^T lam = f, J a = g.

With M = L L^T, a = L^-T x and Y = L^-1 J^T: x + Y lam = L^-1 f = b and Y^T x = g. The singular values Y = U S V^T give
x = b - U (U^T b - S^-1 V^T g) and the multipliers of least norm lam = V S^-1 (U^T b - S^-1 V^T g). Where M alone is
singular, M + w J^T J and f + w J^T g have the same answer (augmented Lagrangian).

The answer is refined once: the recursion of inverse dynamics tells which forces are left, f - J^T lam - M a, with fewer
roundings than M has, and the same factors solve for the rest. A point mass on three axes gains two to three digits.
"""

from collections.abc import Callable
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


Left = Callable[[Array], Array]  # forces less M a, of accelerations a


def constrained_accelerations(M: Array, J: Array, left: Left, g: Array) -> ConstrainedMotion:
    """Return a (nv,), lam (m,) of least norm and the largest entry of J a - g; ``left(a)`` is f - M a."""
    solve = ConstrainedSolver(M, J)
    a, lam = solve(left(np.zeros(len(M))), g)
    more, push = solve(left(a) - J.T @ lam, g - J @ a)
    a = a + more
    return ConstrainedMotion(a, lam + push, float(np.abs(J @ a - g).max(initial=0.0)))


class ConstrainedSolver:
    """Factors of one M (nv, nv) and J (m, nv)."""

    def __init__(self, M: Array, J: Array) -> None:
        self.J, self.weight, L = J, 0.0, factor(M)
        if L is None:
            self.weight = float(np.abs(M).max(initial=1.0) / max(np.abs(J).max(initial=0.0) ** 2, 1e-300))
            L = factor(M + self.weight * J.T @ J)
        if L is None:
            raise InputError(NO_INERTIA)
        self.L = L
        U, S, Vt = np.linalg.svd(scipy.linalg.solve_triangular(L, J.T, lower=True), full_matrices=False)
        kept = RANK * S.max(initial=0.0) < S
        self.U, self.S, self.Vt = U[:, kept], S[kept], Vt[kept]

    def __call__(self, f: Array, g: Array) -> tuple[Array, Array]:
        """Return a (nv,) and lam (m,) of least norm."""
        b = scipy.linalg.solve_triangular(self.L, f + self.weight * self.J.T @ g, lower=True)
        pushed = self.U.T @ b - (self.Vt @ g) / self.S
        a = scipy.linalg.solve_triangular(self.L, b - self.U @ pushed, lower=True, trans="T")
        return a, self.Vt.T @ (pushed / self.S)


def accelerations_of_trees(M: Array, left: Left) -> Array:
    """Return a (k, nv) of M a = f for k states; scaled, so that light links count like heavy ones."""
    diagonal = np.einsum("kii->ki", M)
    if not np.all(diagonal > 0.0):
        raise InputError(NO_INERTIA)
    s = 1.0 / np.sqrt(diagonal)
    scaled, a = M * s[:, :, None] * s[:, None, :], np.zeros(s.shape)
    try:
        for _ in range(2):
            a = a + s * np.linalg.solve(scaled, (s * left(a))[..., None])[..., 0]
    except np.linalg.LinAlgError:
        raise InputError(NO_INERTIA) from None
    return np.asarray(a, np.float64)


def factor(M: Array) -> Array | None:
    """Return L of M = L L^T, None where M is not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        return None

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
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.robotics.loop_kernels import solve_lower, solve_upper

Array = NDArray[np.float64]

RANK = 1e-10  # of the largest singular value
TINY = 1e-300
NO_INERTIA = "forward dynamics: a coordinate has no inertia; give the bodies that it moves mass and inertia"


class ConstrainedMotion(NamedTuple):
    """Accelerations and multipliers at a state; of k states, arrays have k entries."""

    accelerations: Array  # (nv,)
    multipliers: Array  # (m,) of least norm
    residual: Any  # largest acceleration of a loop equation that is left


Left = Callable[[Array], Array]  # forces less M a, of accelerations a
Call = Callable[..., None]  # runs a kernel


def constrained_accelerations(M: Array, J: Array, left: Left, g: Array, call: Call) -> ConstrainedMotion:
    """Return a (k, nv), lam (k, m) of least norm and the largest entries (k,) of J a - g; ``left(a)`` is f - M a."""
    solve = ConstrainedSolver(M, J, call)
    a, lam = solve(left(np.zeros(M.shape[:2])), g)
    more, push = solve(left(a) - pulled(J, lam), g - pushed(J, a))
    a = a + more
    return ConstrainedMotion(a, lam + push, np.abs(pushed(J, a) - g).max(axis=1, initial=0.0))


def pushed(J: Array, a: Array) -> Array:
    """Return J a (k, m) of k states."""
    return np.asarray((J @ a[..., None])[..., 0])


def pulled(J: Array, lam: Array) -> Array:
    """Return J^T lam (k, nv) of k states."""
    return np.asarray((lam[:, None] @ J)[:, 0])


class ConstrainedSolver:
    """Factors of M (k, nv, nv) and J (k, m, nv) of k states; ``call`` runs a compiled kernel."""

    def __init__(self, M: Array, J: Array, call: Call) -> None:
        self.J, self.call, self.weight, L = J, call, np.zeros((len(M), 1)), factor(M)
        if L is None:
            singular = np.array([factor(one) is None for one in M])
            sizes = np.abs(M).max(axis=(1, 2), initial=1.0) / np.maximum(
                np.abs(J).max(axis=(1, 2), initial=0.0) ** 2, TINY
            )
            self.weight = np.where(singular, sizes, 0.0)[:, None]
            L = factor(M + self.weight[..., None] * (J.swapaxes(1, 2) @ J))
        if L is None:
            raise InputError(NO_INERTIA)
        self.L = L
        Y = J.swapaxes(1, 2).copy(
            "C"
        )  # never J itself, as ascontiguousarray gives for a single row: it is solved in place
        call(solve_lower, L, Y)
        self.U, S, self.Vt = np.linalg.svd(Y, full_matrices=False)
        kept = RANK * S.max(axis=1, initial=0.0, keepdims=True) < S
        self.inverse = np.where(kept, 1.0 / np.where(kept, S, 1.0), 0.0)
        self.kept = kept

    def __call__(self, f: Array, g: Array) -> tuple[Array, Array]:
        """Return a (k, nv) and lam (k, m) of least norm."""
        b = np.ascontiguousarray(f + self.weight * pulled(self.J, g))[..., None]
        self.call(solve_lower, self.L, b)
        held = self.kept * pulled(self.U, b[..., 0]) - self.inverse * pushed(self.Vt, g)
        a = b - self.U @ held[..., None]
        self.call(solve_upper, self.L, a)
        return a[..., 0], pulled(self.Vt, self.inverse * held)


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
    """Return L of M = L L^T, or of k such M; None where one is not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(M))
    except np.linalg.LinAlgError:
        return None

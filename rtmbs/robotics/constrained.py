"""Accelerations under constraints of any rank: M a + J^T lam = f, J a = g.

M is scaled to a unit diagonal first, D M D with D = diag(M)^-1/2, so that light links count like heavy ones. With
D M D = L L^T, a = D L^-T x and Y = L^-1 D J^T: x + Y lam = L^-1 D f = b and Y^T x = g. The singular values Y = U S V^T
give x = b - U (U^T b - S^-1 V^T g) and the multipliers of least norm lam = V S^-1 (U^T b - S^-1 V^T g). Where M is
singular, M + w J^T J and f + w J^T g have the same answer (augmented Lagrangian).

The square of an entry of the diagonal of L is the part of a coordinate's inertia that the coordinates before it do not
share. It is zero where a combination of coordinates moves no mass, as with two hinges on one axis and no inertia
between them. Rounding leaves some 1e-14 there.

The answer is refined once: the recursion of inverse dynamics tells which forces are left, f - J^T lam - M a, with fewer
roundings than M has, and the same factors solve for the rest. A point mass on three axes gains two to three digits.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import InputError
from rtmbs.robotics.kernels import solve_lower, solve_upper

Array = NDArray[np.float64]

RANK = 1e-10  # of the largest singular value
OWN_INERTIA = 1e-13  # part of a coordinate's inertia that it must have of its own
TINY = 1e-300


class ConstrainedMotion(NamedTuple):
    """Accelerations and multipliers at a state; of k states, arrays have k entries."""

    accelerations: Array  # (nv,)
    multipliers: Array  # (m,) of least norm
    residual: Any  # largest acceleration of a loop equation that is left
    gap: Any  # largest loop equation at the pose [m or 1]; the answer is about closed loops
    rate_gap: Any  # largest rate of a loop equation [m/s or 1/s]


Left = Callable[[Array], Array]  # forces less M a, of accelerations a
Call = Callable[..., int]  # runs a kernel


def constrained_accelerations(
    M: Array, J: Array, left: Left, g: Array, call: Call, names: Sequence[str]
) -> tuple[Array, Array, Array]:
    """Return a (k, nv), lam (k, m) of least norm and the largest entries (k,) of J a - g; ``left(a)`` is f - M a.

    InputError where some motion that J allows has no inertia; ``names`` (nv,) are those of the coordinates.
    """
    solve = ConstrainedSolver(M, J, call, names)
    a, lam = solve(left(np.zeros(M.shape[:2])), g)
    check_answers(a)
    more, push = solve(left(a) - pulled(J, lam), g - pushed(J, a))
    a = a + more
    check_answers(a)
    return a, lam + push, np.abs(pushed(J, a) - g).max(axis=1, initial=0.0)


def pushed(J: Array, a: Array) -> Array:
    """Return J a (k, m) of k states."""
    return np.asarray((J @ a[..., None])[..., 0])


def pulled(J: Array, lam: Array) -> Array:
    """Return J^T lam (k, nv) of k states."""
    return np.asarray((lam[:, None] @ J)[:, 0])


class ConstrainedSolver:
    """Factors of M (k, nv, nv) and J (k, m, nv) of k states; ``call`` runs a compiled kernel."""

    def __init__(self, M: Array, J: Array, call: Call, names: Sequence[str]) -> None:
        self.J, self.call, self.weight = J, call, np.zeros((len(M), 1))
        self.scale, self.L, singular = factors(M)
        if np.any(singular):
            sizes = np.abs(M).max(axis=(1, 2), initial=1.0) / np.maximum(
                np.abs(J).max(axis=(1, 2), initial=0.0) ** 2, TINY
            )
            self.weight = np.where(singular, sizes, 0.0)[:, None]
            held = M + self.weight[..., None] * (J.swapaxes(1, 2) @ J)
            self.scale, self.L, singular = factors(held)
            if np.any(singular):
                raise no_inertia(held, singular, names)
        Y = (J * self.scale[:, None]).swapaxes(1, 2).copy("C")  # never J itself: it is solved in place
        call(solve_lower, self.L, Y)
        self.U, S, self.Vt = np.linalg.svd(Y, full_matrices=False)
        kept = RANK * S.max(axis=1, initial=0.0, keepdims=True) < S
        self.inverse = np.where(kept, 1.0 / np.where(kept, S, 1.0), 0.0)
        self.kept = kept

    def __call__(self, f: Array, g: Array) -> tuple[Array, Array]:
        """Return a (k, nv) and lam (k, m) of least norm."""
        b = np.ascontiguousarray(self.scale * (f + self.weight * pulled(self.J, g)))[..., None]
        self.call(solve_lower, self.L, b)
        held = self.kept * pulled(self.U, b[..., 0]) - self.inverse * pushed(self.Vt, g)
        a = b - self.U @ held[..., None]
        self.call(solve_upper, self.L, a)
        return self.scale * a[..., 0], pulled(self.Vt, self.inverse * held)


def accelerations_of_trees(M: Array, left: Left, call: Call, names: Sequence[str]) -> Array:
    """Return a (k, nv) of M a = f for k states; InputError where some motion has no inertia."""
    scale, L, singular = factors(M)
    if np.any(singular):
        raise no_inertia(M, singular, names)
    a = np.zeros(scale.shape)
    for _ in range(2):
        b = (scale * left(a))[..., None]
        call(solve_lower, L, b)
        call(solve_upper, L, b)
        a = a + scale * b[..., 0]
        check_answers(a)
    return a


def factors(M: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return D (k, nv) and L of D M D = L L^T, and which of k matrices M are singular; L is the identity there."""
    diagonal = np.einsum("kii->ki", M)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    scaled = M * scale[:, :, None] * scale[:, None, :]
    try:
        L = np.asarray(np.linalg.cholesky(scaled), np.float64)
    except np.linalg.LinAlgError:
        L = np.array([factor(one) for one in scaled])
    own = np.einsum("kii->ki", L).min(axis=1, initial=1.0)
    return scale, L, np.asarray(~(own**2 > OWN_INERTIA))


def factor(M: Array) -> Array:
    """Return L of M = L L^T, zero where it is not positive definite."""
    try:
        return np.asarray(np.linalg.cholesky(M), np.float64)
    except np.linalg.LinAlgError:
        return np.zeros_like(M)


def no_inertia(M: Array, singular: NDArray[np.bool_], names: Sequence[str]) -> InputError:
    """Return the error of the first singular state, with the coordinates that move without inertia."""
    s = int(np.argmax(singular))
    size = np.sqrt(np.maximum(np.diag(M[s]), 0.0))
    scale = 1.0 / np.where(size > 0.0, size, 1.0)
    motion = np.abs(np.linalg.eigh(M[s] * scale[:, None] * scale)[1][:, 0])
    met = dict.fromkeys(names[j] for j in np.flatnonzero(motion > 0.5 * motion.max(initial=0.0)).tolist())
    state = f" of state {s}" if len(M) > 1 else ""
    return InputError(
        f"forward dynamics{state}: a motion of {' and '.join(map(repr, met))} has no inertia; give the bodies that it "
        "moves mass and inertia, or choose another pose where two axes coincide (gimbal lock)"
    )


def check_answers(a: Array) -> None:
    """Refuse accelerations that are not finite, or beyond all range."""
    good = np.abs(a).max(axis=1, initial=0.0) <= BEYOND
    if not np.all(good):
        state = f" of state {int(np.argmin(good))}" if len(a) > 1 else ""
        raise InputError(f"forward dynamics{state}: accelerations are too large for a number; give smaller v and tau")

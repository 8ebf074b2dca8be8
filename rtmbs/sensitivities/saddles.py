"""Matrices [A, B; P, -compliance] of a correction or a projection, for all steps of a chunk: inverted, or iterated.

Independent loop equations allow the inverse. Redundant ones leave it to rounding how they share a load; there the
passes of the step itself are taken, an augmented Lagrangian with the weight of the penalties (METHODS 1.12, 1.13).
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SOUND = 1e-9  # largest entry of S S^-1 - 1: a worse inverse is that of rounding
PASSES = 3  # each leaves 1 / (1 + c) of the violation, and refines what rounding left


class Solver(Protocol):
    """Solves with the matrix and with its transpose; right sides are (K, n + m, k)."""

    def solve(self, right: Array) -> Array: ...

    def solve_transposed(self, right: Array) -> Array: ...


class Inverted:
    """Solves with an inverse."""

    def __init__(self, S: Array) -> None:
        self.inverse = np.linalg.inv(S)

    def solve(self, right: Array) -> Array:
        """Return S^-1 right."""
        return np.asarray(self.inverse @ right)

    def solve_transposed(self, right: Array) -> Array:
        """Return S^-T right."""
        return np.asarray(np.swapaxes(self.inverse, 1, 2) @ right)


class Iterated:
    """Solves by passes with the inverse of A + B weight P (K, n, n); ``weight`` (m,)."""

    def __init__(self, S: Array, n: int, weight: Array) -> None:
        self.S, self.n, self.weight = S, n, weight[:, None]
        self.inverse = np.linalg.inv(S[:, :n, :n] + (S[:, :n, n:] * weight) @ S[:, n:, :n])

    def solve(self, right: Array) -> Array:
        """Return the solution of S x = right."""
        return self.passes(self.S, self.inverse, right)

    def solve_transposed(self, right: Array) -> Array:
        """Return the solution of S^T x = right."""
        return self.passes(np.swapaxes(self.S, 1, 2), np.swapaxes(self.inverse, 1, 2), right)

    def passes(self, S: Any, inverse: Any, right: Array) -> Array:
        """Return x after passes that each take away what is left of both rows."""
        n, found = self.n, np.zeros_like(right)
        for _ in range(PASSES):
            left = right - S @ found if np.any(found) else right.copy()
            violation = self.weight * left[:, n:]
            change = inverse @ (left[:, :n] + S[:, :n, n:] @ violation)
            found[:, :n] += change
            found[:, n:] -= violation - self.weight * (S[:, n:, :n] @ change)
        return found


def solver(S: Array, n: int, weight: Array, redundant: bool) -> Solver:
    """Return what solves with S (K, n + m, n + m); ``weight`` (m,) is 1 over the compliance of the penalties.

    Redundant rows that are zero, as those of a planar loop, have an inverse too, by their compliance.
    """
    inverted = Inverted(S)
    if not redundant or S.shape[1] == n:
        return inverted
    left = S @ inverted.inverse - np.eye(S.shape[1])
    return inverted if np.abs(left).max() < SOUND else Iterated(S, n, weight)

"""Elimination of columns of Phi_q by full pivoting: dependent and independent coordinates, and the basis they give."""

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass
class Partition:
    """Memory of a motion: which coordinates depend on which; empty before the first state."""

    dependent: Indices = field(default_factory=lambda: np.zeros(0, np.int64))  # u (m,)
    independent: Indices = field(default_factory=lambda: np.zeros(0, np.int64))  # v (n - m,)
    count: int = 0  # partitions made so far


class Elimination:
    """Gaussian elimination of Phi_q (m, n): pivots' columns ``u``, ``free`` columns, and independent ``rows``."""

    def __init__(self, Phi_q: Array, tolerance: float) -> None:
        (m, self.n), (self.u, spare) = Phi_q.shape, pivoted(Phi_q, tolerance)
        self.rows, self.free = np.setdiff1d(np.arange(m), spare), np.setdiff1d(np.arange(self.n), self.u)
        self.across = Phi_q[np.ix_(self.rows, self.free)]
        self.factor = scipy.linalg.lu_factor(Phi_q[np.ix_(self.rows, self.u)], check_finite=False)

    def dependent(self, right: Array) -> Array:
        """Return Phi_u^-1 right."""
        if not len(self.u):
            return np.zeros((0, *right.shape[1:]))
        return np.asarray(scipy.linalg.lu_solve(self.factor, right, check_finite=False))

    def basis(self) -> Array:
        """Return N (n, n - r)."""
        N = np.zeros((self.n, len(self.free)))
        N[self.u], N[self.free] = -self.dependent(self.across), np.eye(len(self.free))
        return N

    def particular(self, right: Array) -> Array:
        """Return x (n,) with Phi_q x = right (m,) and zeros in the free columns."""
        x = np.zeros(self.n)
        x[self.u] = self.dependent(right[self.rows])
        return x


def ratio_of(Phi_q: Array, partition: Partition) -> Array:
    """Return Phi_u^-1 Phi_v (m, n - m); infinite where Phi_u is singular."""
    u, free = partition.dependent, partition.independent
    if not len(u):
        return np.zeros((0, len(free)))
    *_, ratio, info = lapack.dgesv(Phi_q[:, u], Phi_q[:, free])
    return ratio if info == 0 else np.full((len(u), len(free)), np.inf)


def pivoted(Phi_q: Array, tolerance: float) -> tuple[Indices, Indices]:
    """Return the columns of the pivots, and the rows that have none, by LU with full pivoting."""
    m, n = Phi_q.shape
    if not m or not Phi_q.any():  # LAPACK puts the smallest numbers for pivots that are zero
        return np.zeros(0, np.int64), np.arange(m)
    size = max(m, n)
    square = np.zeros((size, size))  # LAPACK pivots square matrices only; rows of zeros are never chosen
    square[:m, :n] = Phi_q
    lu, row_swap, column_swap, _ = lapack.dgetc2(square)
    rows, columns = np.arange(size), np.arange(size)
    for k in range(size):
        rows[[k, row_swap[k]]] = rows[[row_swap[k], k]]
        columns[[k, column_swap[k]]] = columns[[column_swap[k], k]]
    pivots = np.abs(np.diag(lu))[: min(m, n)]
    rank = int(np.count_nonzero(pivots > tolerance * np.abs(Phi_q).max()))
    return np.sort(columns[:rank]), np.setdiff1d(np.arange(m), rows[:rank])

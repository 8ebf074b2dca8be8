"""Reduction by the constraints: independent rows and columns of Phi_q, the reduced solution and its multipliers.

Full pivoting eliminates columns of Phi_q: it finds dependent and independent coordinates, and the basis they give.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.linalg import lapack

from rtmbs.formulations.contract import ConstrainedSystem, FormulationError, Terms, coordinate_name, inertias, row_names

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


RANK_TOLERANCE = 1e-8  # singular values or pivots below this part of the largest count as zero
CONTRADICTION = 1e-6  # of the terms of Phidd: what dependent rows may disagree by
SINGULAR = 1e-13  # pivot of N^T M N, scaled to a unit diagonal, that counts as zero
SINGULAR_STACKED = 1e-13  # pivot of the stacked matrix, rows of length one, that counts as zero


class RowFactor(NamedTuple):
    """Phi_q[rows]^T = Q1 R1 with the independent rows first; Q2 spans the null space of Phi_q."""

    Q1: Array  # (n, r)
    Q2: Array  # (n, n - r)
    R1: Array  # (r, r) upper triangle
    rows: Indices  # (r,) independent rows, in the order of R1
    dependent: Indices  # (m - r,)


def row_factor(Phi_q: Array, tolerance: float = RANK_TOLERANCE) -> RowFactor:
    """Return the QR factorisation of Phi_q^T with column pivoting, cut at its numerical rank."""
    m, n = Phi_q.shape
    if not m:
        return RowFactor(np.zeros((n, 0)), np.eye(n), np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros(0, np.int64))
    Q, R, order = scipy.linalg.qr(Phi_q.T, pivoting=True, check_finite=False)
    pivots = np.abs(np.diag(R))
    r = int(np.count_nonzero(pivots > tolerance * pivots[0])) if pivots[0] > 0.0 else 0
    order = order.astype(np.int64)
    return RowFactor(Q[:, :r], Q[:, r:], R[:r, :r], order[:r], order[r:])


def fits(factor: RowFactor, system: ConstrainedSystem) -> bool:
    """Return whether a factorisation kept from an earlier state has the sizes of this system."""
    return factor.Q1.shape[0] == system.n and len(factor.rows) + len(factor.dependent) == system.m


def demand_full_rank(terms: Terms, tolerance: float, who: str) -> None:
    """Raise FormulationError naming the dependent rows, when there are some."""
    refuse_dependent(terms.system, row_factor(terms.Phi_q, tolerance).dependent, who)


def refuse_dependent(system: ConstrainedSystem, dependent: Indices, who: str) -> None:
    """Raise FormulationError naming these rows, when there are some."""
    if len(dependent):
        verb = "depends" if len(dependent) == 1 else "depend"
        raise FormulationError(
            f"{row_names(system, dependent)} of Phi_q {verb} on the other rows, and {who} needs full rank; "
            "take QR, SVD, NullSpace, Penalty or AugmentedLagrangian, or leave these rows out"
        )


def demand_agreement(terms: Terms, a: Array) -> None:
    """Raise FormulationError naming the row, when the accelerations a (n,) found do not satisfy Phi_q a = gamma.

    What is left is compared with the terms of Phidd, those that forces and rates alone would make among them.
    """
    if not terms.system.m:
        return
    (inertia, positive), speed = inertias(terms), np.abs(terms.v)
    free = np.divide(np.abs(terms.F), inertia, out=np.zeros(terms.system.n), where=positive)
    parts = np.abs(terms.Phi_q) @ (np.abs(a) + free + speed * speed.max()) + np.abs(terms.gamma)
    left = np.abs(terms.Phi_q @ a - terms.gamma)
    i = int(np.argmax(left))
    if left[i] > CONTRADICTION * parts.max():
        raise FormulationError(contradiction(terms.system, i, float(left[i])))


def contradiction(system: ConstrainedSystem, row: int, left: float) -> str:
    """Return the sentence about a dependent row of Phi_q a = gamma that others do not agree with."""
    return (
        f"{row_names(system, np.array([row]))} of Phi_q a = gamma contradicts the rows it depends on by "
        f"{abs(left):.2g}; let positions and rates satisfy Phi = 0 and Phid = 0, or take the row out"
    )


def reduced_solution(terms: Terms, N: Array, particular: Array) -> Array:
    """Return a (n,) with Phi_q a = gamma and N^T (M a - F) = 0 (METHODS 2.3 to 2.6).

    N (n, n - r) spans the null space of Phi_q, ``particular`` (n,) solves Phi_q a = gamma.
    Raises FormulationError naming the coordinate when N^T M N is singular.
    """
    if not N.shape[1]:
        return particular
    A = N.T @ terms.M @ N
    b = N.T @ (terms.F - terms.M @ particular)
    return particular + N @ solve_positive(terms, N, A, b)


def solve_positive(terms: Terms, N: Array, A: Array, b: Array) -> Array:
    """Return A^-1 b (p,) of the symmetric positive A = N^T M N, by Cholesky of the matrix with unit diagonal."""
    diagonal = A.diagonal()
    if diagonal.min() <= 0.0:
        refuse_singular(terms, N, A)
    scale = 1.0 / np.sqrt(diagonal)
    L, info = lapack.dpotrf(scale[:, None] * A * scale, lower=True)
    if info or L.diagonal().min() ** 2 < SINGULAR:
        refuse_singular(terms, N, A)
    return np.asarray(scale * lapack.dpotrs(L, scale * b, lower=True)[0])


def refuse_singular(terms: Terms, N: Array, A: Array) -> None:
    """Raise FormulationError naming the coordinate that moves most where there is the least inertia."""
    direction = N @ scipy.linalg.eigh(0.5 * (A + A.T), check_finite=False)[1][:, 0]
    refuse_weightless(terms.system, int(np.argmax(np.abs(direction))))


def refuse_weightless(system: ConstrainedSystem, i: int) -> None:
    """Raise FormulationError naming a coordinate that moves where there is no inertia."""
    raise FormulationError(
        f"{coordinate_name(system, i)} can move without inertia: M is singular on the null space of Phi_q; give "
        "what moves there a mass, or hold it by a constraint"
    )


def least_multipliers(terms: Terms, a: Array, tolerance: float = RANK_TOLERANCE) -> Array:
    """Return the least lam (m,) of those for which M a + Phi_q^T lam = F best; unique where Phi_q has full rank."""
    if not terms.system.m:
        return np.zeros(0)
    found = scipy.linalg.lstsq(terms.Phi_q.T, terms.F - terms.M @ a, cond=tolerance, check_finite=False)[0]
    return np.asarray(found)


def stacked_solution(terms: Terms, N: Array, rows: Array, right: Array) -> Array:
    """Return a (n,) of the square system [N^T M; rows] a = [N^T F; right], its rows brought to length one.

    N (n, n - r) spans the null space of Phi_q, and ``rows`` (r, n) with ``right`` (r,) are its independent rows.
    """
    A = np.vstack((N.T @ terms.M, rows))
    b = np.concatenate((N.T @ terms.F, right))
    length = np.linalg.norm(A, axis=1)
    scale = 1.0 / np.where(length > 0.0, length, 1.0)
    lu, pivots, info = scipy.linalg.lapack.dgetrf(scale[:, None] * A)
    if info > 0 or np.abs(np.diag(lu)).min() < SINGULAR_STACKED:
        refuse_singular(terms, N, N.T @ terms.M @ N)
    return np.asarray(scipy.linalg.lu_solve((lu, pivots), scale * b, check_finite=False))

"""Least change under linear equations, redundant ones included.

Least weighted change that satisfies linear equations, redundant ones included, and the stopping test of Newton.

min 1/2 dx^T W dx subject to J dx = r, by multiplier iterations on W + beta J^T J: each iteration divides the residual
by 1 + beta sigma^2, directions in the null space of J are not touched, and an inconsistent part of r leaves dx at the
least squares solution (J^T of it is zero). Dense or sparse costs are the library's business.

Saddle-point solver: the least change in the metric of a matrix under linear equations, with their multipliers.

    M x + P^T lam = f          M (n, n), regular on the null space of P
    P x - E lam   = g          P (m, n), E >= 0 (m,) a regularisation, usually none

Without E by the null space of P. P is first scaled to entries of order one, then P^T = Q [R S; 0 0] with column
exchanges tells the rank: rows that the others give to rounding are redundant. With Q = [Y Z], x = Y y + Z w: the rows
kept give y, Z^T M Z w = Z^T (f - M Y y) gives w, and R lam = Y^T (f - M x) the multipliers. M itself may be singular.
With E there is one answer whatever the rank, by LU with row exchanges. Dense, O((n + m)^3).
"""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq, lu_factor, lu_solve, qr, solve_triangular
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse import csc_array, diags_array
from scipy.sparse.linalg import splu

from rtmbs.numerics.linear.solver import Contradiction, DenseSolver, Unsolved, powers_of_two

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


DEPENDENT = 1e-11  # of the largest scaled row, or of one where sizes are told: what rows kept before leave of a row
LOST = 4.0 * np.finfo(float).eps  # reciprocal condition of Z^T M Z for each unknown: below, M is singular there
CONTRADICTS = 1e-9  # of the largest terms of a scaled row: what a redundant row may miss


class KKTSolver:
    """Solver of saddle points: ``factor(M, P)`` and ``solve(b)`` with b = [f; g], or ``solve_parts(f, g)``.

    Redundant rows share the load: of all multipliers that balance, those with the least sum of lam^2 / weight are
    returned. A right-hand side with which a redundant row contradicts the others is refused.

    Parameters
    ----------
    row_size : (m,) size of the terms that make an entry of a row of P, times ``column_size``; what is left of a row
        that is far smaller counts as rounding. The largest entry of the row unless given
    column_size : (n,) typical size of each unknown; ones unless given
    weight : (m,) of the norm above, effective masses of the rows; ones unless given
    regularisation : (m,) E; none unless given

    Attributes
    ----------
    rank : of P as last factored
    redundant : (m,) mask of rows that the other rows give; a choice, made by column exchanges
    """

    pivoted = True

    def __init__(
        self,
        row_size: Array | None = None,
        column_size: Array | None = None,
        weight: Array | None = None,
        regularisation: Array | None = None,
    ) -> None:
        self.row_size, self.column_size = positive("row_size", row_size), positive("column_size", column_size)
        self.weight = positive("weight", weight)
        self.regularisation = positive("regularisation", regularisation)
        self.status = self.rank = 0
        self.redundant: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.M, self.P = np.zeros((0, 0)), np.zeros((0, 0))
        self.inner = DenseSolver()  # of Z^T M Z; of the whole matrix with a regularisation

    @classmethod
    def of(cls, A: Array) -> Self:
        """Return a solver for matrices of the size of A."""
        return cls()

    def factor(self, M: Any, P: Any = None) -> int:
        """Factor the saddle point of ``M`` (n, n) and ``P`` (m, n), no rows unless given; both are kept as copies.

        Returns 0; i + 1 when M gives unknown i nothing that P leaves free; the first column of M or P, from 1, with a
        number that is not finite. Raises ValueError for shapes that do not fit.
        """
        self.M = np.array(M, np.float64)
        n = len(self.M)
        self.P = np.zeros((0, n)) if P is None else np.array(P, np.float64)
        self.check_shapes(n, len(self.P))
        finite = np.isfinite(self.M).all(axis=0) & np.isfinite(self.P).all(axis=0)
        self.status = int(np.argmin(finite)) + 1 if not np.all(finite) else 0
        if self.status == 0:
            self.status = (
                self.factor_null_space() if self.regularisation is None else self.factor_whole(self.regularisation)
            )
        return self.status

    def check_shapes(self, n: int, m: int) -> None:
        """Raise ValueError when M, P and the sizes do not fit each other."""
        if self.M.shape != (n, n) or self.P.shape != (m, n):
            raise ValueError(f"need M (n, n) and P (m, n), got {self.M.shape} and {self.P.shape}")
        sizes = {"row_size": m, "column_size": n, "weight": m, "regularisation": m}
        for name, count in sizes.items():
            if (values := getattr(self, name)) is not None and len(values) != count:
                raise ValueError(f"{name} has {len(values)} numbers, need {count}")

    def factor_whole(self, E: Array) -> int:
        """Factor [[M, P^T], [P, -E]] with row exchanges."""
        n = len(self.M)
        self.rank, self.redundant = len(self.P), np.zeros(len(self.P), np.bool_)
        status = self.inner.factor(np.block([[self.M, self.P.T], [self.P, -np.diag(E)]]))
        return status if status <= n else n + 1

    def factor_null_space(self) -> int:
        """Factor P and M on the null space of P."""
        m, n = self.P.shape
        typical = np.ones(n) if self.column_size is None else 1.0 / powers_of_two(self.column_size)
        largest = np.abs(self.P * typical).max(axis=1, initial=0.0) if self.row_size is None else self.row_size
        self.row_scale, self.column_scale = powers_of_two(largest), typical
        Q, upper, order = qr((self.row_scale[:, None] * self.P * typical).T, pivoting=True, check_finite=False)
        sizes = np.abs(np.diagonal(upper))
        told = 0.0 if self.row_size is None else 1.0
        self.rank = rank = int(np.count_nonzero(sizes > DEPENDENT * np.max(sizes, initial=told)))
        self.kept, self.upper = order[:rank], upper[:rank, :rank]
        self.redundant = np.ones(m, np.bool_)
        self.redundant[self.kept] = False
        self.Y, self.Z = (self.column_scale[:, None] * part for part in (Q[:, :rank], Q[:, rank:]))
        self.idle = self.idle_multipliers(order, upper)
        reduced = self.Z.T @ self.M @ self.Z
        singular = self.inner.factor(reduced) or self.inner.reciprocal_condition < (LOST * n if rank else 0.0)
        return self.unheld(reduced) + 1 if singular else 0

    def unheld(self, reduced: Array) -> int:
        """Return the unknown with the largest part in a direction that neither M nor P holds."""
        direction = self.Z @ np.linalg.svd(reduced)[2][-1]
        return int(np.argmax(np.abs(direction / self.column_scale)))

    def idle_multipliers(self, order: NDArray[np.int64], upper: Array) -> Array:
        """Return a basis (m, m - rank) of multipliers without force: P^T of them is zero."""
        rank, m = self.rank, len(self.P)
        found = np.zeros((m, m - rank))
        if rank < m:
            found[order[:rank]] = -solve_triangular(self.upper, upper[:rank, rank:], check_finite=False)
            found[order[rank:]] = np.eye(m - rank)
        return self.row_scale[:, None] * found

    def solve(self, b: Array, refined: bool = False) -> Array:
        """Return [x; lam] (n + m,) for b = [f; g]; see ``solve_parts``."""
        n = len(self.M)
        b = np.asarray(b, np.float64)
        return np.concatenate(self.solve_parts(b[:n], b[n:], refined))

    def solve_parts(self, f: Array, g: Array, refined: bool = False) -> tuple[Array, Array]:
        """Return x (n,) and lam (m,) for the right-hand sides f (n,) and g (m,); ``refined`` corrects both once.

        Raises Unsolved after a factor with status not 0 and for numbers that are not finite, Contradiction when g of a
        redundant row contradicts the other rows.
        """
        if self.status:
            raise Unsolved(f"the matrix is singular: nothing holds unknown {self.status - 1}")
        if not (np.all(np.isfinite(f)) and np.all(np.isfinite(g))):
            raise Unsolved("the right-hand side holds a number that is not finite")
        x, lam = self.solve_once(f, g)
        if refined:
            pressed = 0.0 if self.regularisation is None else self.regularisation * lam
            more = self.solve_once(f - self.M @ x - self.P.T @ lam, g - self.P @ x + pressed)
            x, lam = x + more[0], lam + more[1]
        lam = self.least(lam)
        if np.any(self.redundant):
            self.check_redundant(x, lam, g)
        return x, lam

    def solve_once(self, f: Array, g: Array) -> tuple[Array, Array]:
        """Return x and lam with the rows kept, redundant ones without multipliers."""
        n = len(self.M)
        if self.regularisation is not None:
            both = self.inner.solve(np.concatenate((f, g)))
            return both[:n], both[n:]
        kept, lam = self.kept, np.zeros(len(self.P))
        given = (self.row_scale * g)[kept]
        x = self.Y @ solve_triangular(self.upper, given, trans="T", check_finite=False) if len(kept) else np.zeros(n)
        x = x + self.Z @ self.inner.solve(self.Z.T @ (f - self.M @ x))
        if len(kept):
            pushed = self.Y.T @ (f - self.M @ x)
            lam[kept] = self.row_scale[kept] * solve_triangular(self.upper, pushed, check_finite=False)
        return x, lam

    def least(self, lam: Array) -> Array:
        """Return lam (m,) of least norm, in the norm of 1 / weight: its part without force is taken off."""
        if self.regularisation is not None or not self.idle.shape[1]:
            return lam
        root = np.ones(len(lam)) if self.weight is None else np.sqrt(self.weight)
        surplus = lstsq(self.idle / root[:, None], lam / root, check_finite=False)[0]
        return np.asarray(lam - self.idle @ surplus)

    def check_redundant(self, x: Array, lam: Array, g: Array) -> None:
        """Raise Unsolved when x misses a redundant row.

        With weights, what the equations prevent, lam / weight, counts among the terms: a truss at rest had none.
        """
        missed = self.P @ x - g
        prevented = 0.0 if self.weight is None else np.abs(lam) / self.weight
        terms = self.row_scale * (np.abs(self.P) @ np.abs(x) + np.abs(g) + prevented)
        wrong = np.flatnonzero(self.redundant & ~(self.row_scale * np.abs(missed) <= CONTRADICTS * terms.max()))
        if len(wrong):
            raise Contradiction(int(wrong[0]), float(missed[wrong[0]]))


def positive(name: str, values: Array | None) -> Array | None:
    """Return a copy of positive numbers, or None for none; raises ValueError."""
    if values is None:
        return None
    values = np.array(values, np.float64)
    if values.ndim != 1 or not np.all((values > 0.0) & (values < np.inf)):
        raise ValueError(f"{name} needs positive numbers in one row, got {values}")
    return values

"""Linear solvers: interface ``factor`` and ``solve``, dense LU, and sparse LU by SuperLU.

``factor(A)`` factors a square matrix (n, n), or what the solver accepts in place of one, and returns a status.
``solve(b)`` solves with the last factor, and raises where there is no solution. A solver knows nothing of where its
matrix comes from. Both rules exchange rows: dense LU where elimination in a static order meets too small a pivot, and
SuperLU for matrices without a suitable static order, as saddle points.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Protocol, Self, TypeVar

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs
from scipy.sparse import csc_array, diags_array, eye_array, issparse
from scipy.sparse.linalg import SuperLU, splu

from rtmbs.errors import RtmbsError

Array = NDArray[np.float64]


class Unsolved(ArithmeticError):
    """Error of ``solve`` where the last factor gives no solution; the message says why."""


class Contradiction(Unsolved):
    """Error of dependent equations that contradict each other: ``missed`` is the residual of the equation ``row``."""

    def __init__(self, row: int, missed: float) -> None:
        super().__init__(f"row {row} contradicts the others: they leave it {missed:g}")
        self.row, self.missed = row, missed


class LinearSolver(Protocol):
    """Solver that factors a matrix once and solves for many right-hand sides."""

    @classmethod
    def of(cls, A: Array) -> "LinearSolver":
        """Return a solver for matrices of the size of A (n, n), with its entries or fewer."""

    @property
    def pivoted(self) -> bool:
        """True when rows are exchanged, so that only a singular matrix is refused."""

    def factor(self, A: Any) -> int:
        """Factor ``A`` (n, n), which is not changed; return 0, or why there is no factor.

        i + 1 names column i, whose pivot is too small or not finite; n + 1 a pivot that is none of the n unknowns.
        """

    def solve(self, b: Array, refined: bool = False) -> Array:
        """Return x (n,) with A x = b (n,); ``b`` is not changed.

        ``refined`` checks the residual, and improves x while that asks for it. Raises Unsolved.
        """


P = ParamSpec("P")
T = TypeVar("T")


def refuses_unfactorised(error: type[RtmbsError], what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that raises ``error`` for a LinAlgError; ``what`` names the calculation.

    Numbers of a mechanism that differ by more than double precision holds make inertias vanish and products overflow.
    """

    def decorate(call: Callable[P, T]) -> Callable[P, T]:
        @wraps(call)
        def checked(*args: P.args, **options: P.kwargs) -> T:
            try:
                return call(*args, **options)
            except LinAlgError as raised:
                raise error(
                    f"{what}: a matrix of the mechanism cannot be factorised ({raised}); look for masses, inertias, "
                    "stiffnesses and lengths that differ by more than double precision holds"
                ) from raised

        return checked

    return decorate


SINGULAR = 1e-16  # reciprocal condition of the scaled matrix: below, no digit of a solution is left


class DenseSolver:
    """A = P L U of a square matrix, rows and columns first scaled by powers of two to a largest entry near one.

    Attributes
    ----------
    status : of the last factor
    reciprocal_condition : of the scaled matrix last factored, estimated; 0 where there is no factor
    """

    pivoted = True

    def __init__(self, A: Any = None) -> None:
        self.status, self.reciprocal_condition = 0, 1.0
        self.factored, self.exchanges = np.zeros((0, 0)), np.zeros(0, np.int32)
        self.row_scale, self.column_scale = np.zeros(0), np.zeros(0)
        if A is not None:
            self.factor(A)

    @classmethod
    def of(cls, A: Array) -> Self:
        """Return a solver for matrices of the size of A."""
        return cls()

    @property
    def singular(self) -> bool:
        """True when the matrix last factored is singular to working precision."""
        return self.status != 0

    def factor(self, A: Any) -> int:
        """Factorise ``A`` (n, n), which is kept; return 0, or i + 1 when column i depends on others to rounding.

        Anything that is an array to NumPy will do, a ``SparseMatrix`` too. A matrix with an entry that is not finite
        gets the number of the first such column.
        """
        A = np.array(A, np.float64)
        wrong = np.flatnonzero(~np.isfinite(A).all(axis=0))
        self.status = int(wrong[0]) + 1 if len(wrong) else 0
        self.reciprocal_condition = 0.0 if self.status else 1.0
        if self.status or A.size == 0:
            return self.status
        self.row_scale = powers_of_two(np.abs(A).max(axis=1))
        A *= self.row_scale[:, None]
        self.column_scale = powers_of_two(np.abs(A).max(axis=0))
        A *= self.column_scale
        norm = float(np.abs(A).sum(axis=0).max())
        self.factored, self.exchanges, zero = dgetrf(A)
        self.reciprocal_condition = 0.0 if zero else float(dgecon(self.factored, norm)[0])
        if zero == 0 and self.reciprocal_condition < SINGULAR:
            zero = int(np.argmin(np.abs(np.diagonal(self.factored)))) + 1
        self.status = int(zero)
        return self.status

    def solve(self, b: Array, refined: bool = False) -> Array:
        """Return x (n,) or (n, k) with A x = b; ``b`` is kept. Raises Unsolved after a factor with status not 0."""
        if self.singular:
            raise Unsolved(f"the matrix is singular: column {self.status - 1} depends on the others")
        if np.size(b) == 0:
            return np.array(b, np.float64)
        b = np.asarray(b, np.float64)
        x, _ = dgetrs(self.factored, self.exchanges, (b.T * self.row_scale).T)
        return np.asarray((x.T * self.column_scale).T)


def powers_of_two(largest: Array) -> Array:
    """Return the powers of two that bring ``largest`` into [0.5, 1); 1 for zero. They scale without rounding."""
    return np.asarray(np.ldexp(1.0, -np.frexp(largest)[1]))


SHIFT = 1e-14  # of the scaled matrix: what gives an exactly singular one a factor, which tells the direction
PROBES = 2  # steps of inverse iteration behind the estimate of the condition


class SuperLUSolver:
    """A = P L U Q of a square sparse matrix, rows and columns first scaled by powers of two.

    Attributes
    ----------
    status : of the last factor
    reciprocal_condition : of the scaled matrix last factored, an upper bound by inverse iteration; 0 without a factor
    weakest : the unknown that is largest in the direction along which the matrix does least
    """

    pivoted = True
    sparse = True  # takes sparse arrays as they are

    def __init__(self) -> None:
        self.status, self.reciprocal_condition, self.weakest = 0, 1.0, 0
        self.A: csc_array = csc_array((0, 0))
        self.lu: SuperLU | None = None
        self.row_scale, self.column_scale = np.zeros(0), np.zeros(0)

    @classmethod
    def of(cls, A: Any) -> Self:
        """Return a solver for matrices of any size."""
        return cls()

    def factor(self, A: Any) -> int:
        """Factor ``A`` (n, n), a SciPy sparse array or array_like; it is not changed.

        Returns 0, or i + 1 when A moves nothing along a direction in which unknown i is the largest, to rounding; a
        matrix with an entry that is not finite gets the number of the first such column.
        """
        self.lu, self.reciprocal_condition = None, 1.0
        self.A = csc_array(A, dtype=np.float64, copy=True) if issparse(A) else csc_array(np.asarray(A, np.float64))
        self.status = 0
        if not self.A.shape[0]:
            return 0
        wrong = ~np.isfinite(self.A.data)
        if np.any(wrong):
            columns = np.repeat(np.arange(self.A.shape[1]), np.diff(self.A.indptr))
            self.status = int(columns[wrong].min()) + 1
            return self.status
        self.row_scale = powers_of_two(largest_entries(self.A, 1))
        self.column_scale = powers_of_two(largest_entries(csc_array(diags_array(self.row_scale) @ self.A), 0))
        scaled = csc_array(diags_array(self.row_scale) @ self.A @ diags_array(self.column_scale))
        self.status = self.factor_scaled(scaled)
        return self.status

    def factor_scaled(self, scaled: csc_array) -> int:
        """Factor the scaled matrix, and judge its condition by the growth of inverse iteration."""
        norm = float(abs(scaled).sum(axis=0).max())
        try:
            self.lu = lu = splu(scaled)
            exact = False
        except RuntimeError:  # exactly singular
            shift = SHIFT * max(norm, 1.0) * eye_array(scaled.shape[0], format="csc")
            lu, exact = splu(csc_array(scaled + shift)), True
        x, growth = np.random.default_rng(0).choice([-1.0, 1.0], scaled.shape[0]), 1.0
        for _ in range(PROBES):
            x = lu.solve(x / np.abs(x).max())
            growth = float(np.abs(x).max())
            if not np.isfinite(growth):
                break
        bound = 1.0 / (norm * growth) if norm * growth > 0.0 else 0.0
        self.reciprocal_condition = 0.0 if exact or not np.isfinite(growth) else bound
        self.weakest = int(np.argmax(np.where(np.isnan(x), np.inf, np.abs(x * self.column_scale))))
        return self.weakest + 1 if self.reciprocal_condition < SINGULAR else 0

    def solve(self, b: Array, refined: bool = False) -> Array:
        """Return x (n,) or (n, k) with A x = b, which is kept; ``refined`` corrects x once by the residual.

        Raises Unsolved after a factor with status not 0.
        """
        if self.status or (self.lu is None and self.A.shape[0]):
            raise Unsolved(f"the matrix is singular: nothing holds unknown {self.status - 1}")
        b = np.array(b, np.float64)
        if self.lu is None:
            return b
        x = self.solve_once(self.lu, b)
        return x + self.solve_once(self.lu, b - self.A @ x) if refined else x

    def solve_once(self, lu: SuperLU, b: Array) -> Array:
        """Return x of the factor alone."""
        found = lu.solve(np.ascontiguousarray((b.T * self.row_scale).T))
        return np.asarray((found.T * self.column_scale).T)


def largest_entries(A: csc_array, axis: int) -> Array:
    """Return the largest absolute value of each row (axis 1) or column (axis 0); zero where there is none."""
    return np.asarray(abs(A).max(axis=axis).toarray()).ravel()

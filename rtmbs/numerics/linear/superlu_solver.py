"""Sparse LU with row exchanges, by SuperLU: for matrices without a suitable static order, as saddle points."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, diags_array, eye_array, issparse
from scipy.sparse.linalg import SuperLU, splu

from rtmbs.numerics.linear.solver import Unsolved, powers_of_two

Array = NDArray[np.float64]

SINGULAR = 1e-16  # reciprocal condition of the scaled matrix: below, no digit of a solution is left
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

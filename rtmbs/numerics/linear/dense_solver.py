"""Dense LU with row exchanges: the fallback where elimination in a static order meets too small a pivot."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgecon, dgetrf, dgetrs

from rtmbs.numerics.linear.solver import Unsolved

Array = NDArray[Any]

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

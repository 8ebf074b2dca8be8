"""Sparse matrix on a static pattern: its solver, and entries of its inverse.

Sparse matrix on a static pattern, and its solver without row exchanges; condensed unknowns stay inside.

Condensed unknowns are further unknowns with right-hand side zero that make a pattern sparser (``symbolic.analyse``).
Vectors and matrices of callers hold the other n unknowns only.

Entries of the inverse of a factored matrix within its fronts, after Takahashi; linear in the size of the factor.

With A = L U and Z its inverse, Z L = U^-1 and U Z = L^-1 give every entry of Z in the pattern of L + U from entries
further up the elimination tree (Takahashi, Fagan and Chen 1973; Erisman and Tinney 1975). Fronts are visited parents
first, each with a dense square of Z over its own and its rest rows.
"""

import copy
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from rtmbs.core.remembered import by_content
from rtmbs.jit.compiled import kernel
from rtmbs.numerics.linear.solver import Unsolved
from rtmbs.numerics.linear.sparse_lu import LUWorkspace, factor, solve, solve_refined, workspace
from rtmbs.numerics.linear.symbolic import (
    FIRST,
    LIST,
    LOWER,
    PARENT,
    REST,
    UPPER,
    WIDTH,
    SparseLU,
    analyse,
    entries,
    inverse,
)

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Matrix = TypeVar("Matrix", csc_array, csr_array)


@by_content
def entries_of(lu: SparseLU) -> tuple[Indices, Indices, Indices]:
    """Return rows and columns of the entries of a pattern, and their places in the values."""
    rows, columns = np.divmod(lu.pattern, max(lu.total, 1))
    return rows, columns, entries(lu, rows, columns)


class SparseMatrix:
    """Values of a matrix with the entries of a pattern. ``np.asarray`` makes it dense.

    Attributes
    ----------
    values : (size,) flat storage; assemblers accumulate at ``symbolic.entries``
    rows, columns : (entries,) of the entries of the pattern, those of condensed unknowns included
    places : (entries,) of these entries in the values
    """

    def __init__(self, lu: SparseLU, values: Array) -> None:
        self.lu, self.values = lu, values
        self.rows, self.columns, self.places = entries_of(lu)

    @property
    def finite(self) -> bool:
        """True when every value is a number."""
        return bool(np.all(np.isfinite(self.values)))

    def add(self, A: Array) -> None:
        """Add the entries of A (n, n) that are in the pattern.

        Raises ValueError where unknowns are condensed: the pattern then lacks entries that their elimination makes.
        """
        if self.lu.total > self.lu.n:
            raise ValueError(f"a pattern with {self.lu.total - self.lu.n} condensed unknowns takes no whole matrix")
        self.values[self.places] += A[self.rows, self.columns]

    def set(self, A: Array) -> None:
        """Let the matrix be A (n, n); raises ValueError when an entry of A that is not zero is not in the pattern."""
        outside = np.array(A != 0.0)
        if outside.shape != (self.lu.n, self.lu.n):
            raise ValueError(f"need a matrix {(self.lu.n, self.lu.n)}, got {outside.shape}")
        self.values[:] = 0.0
        self.add(A)
        outside[self.rows, self.columns] = False
        if np.any(outside):
            i, j = np.argwhere(outside)[0]
            raise ValueError(f"entry (row {i}, column {j}) is not in the analysed pattern")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the dense matrix (n, n), condensed unknowns eliminated."""
        n, total = self.lu.n, self.lu.total
        full = np.zeros((total, total), dtype)
        full[self.rows, self.columns] = self.values[self.places]
        if total == n:
            return full
        return np.asarray(full[:n, :n] - full[:n, n:] @ np.linalg.solve(full[n:, n:], full[n:, :n]), dtype)


class SparseSolver:
    """LU in a static order. A pivot that is too small without row exchanges is refused, also of a regular matrix.

    Attributes
    ----------
    matrix : the SparseMatrix that assemblers fill and ``factor`` takes; a refined solve asks for it unchanged
    lu, work : its pattern and scratch, which kernels take as they are
    """

    pivoted = False

    def __init__(self, lu: SparseLU) -> None:
        self.lu = lu
        self.work: LUWorkspace = workspace(lu)
        self.matrix = SparseMatrix(lu, self.work.original)

    @classmethod
    def of(cls, A: Array) -> Self:
        """Return a solver for matrices with the entries of A (n, n), or fewer."""
        rows, columns = np.nonzero(A)
        return cls(analyse(len(A), rows, columns))

    def factor(self, A: Any) -> int:
        """Factor ``A``: the solver's own ``matrix``, or (n, n) with entries in its pattern.

        Returns 0; i + 1 when pivot i is too small or not finite; n + 1 when it is that of a condensed unknown.
        Raises ValueError when an entry is not in the pattern.
        """
        if A is not self.matrix:
            self.matrix.set(np.asarray(A, np.float64))
        self.work.factored[:] = self.work.original
        return min(int(factor(self.lu, self.work.factored, self.work)), self.lu.n + 1)

    def solve(self, b: Array, refined: bool = False) -> Array:
        """Return x (n,) with A x = b (n,).

        ``refined`` raises Unsolved when the residual stays large: the static order does not suit these values.
        """
        if not refined:
            x = b.copy()
            solve(self.lu, self.work.factored, self.work, x)
            return x
        x = np.empty(self.lu.n)
        if solve_refined(self.lu, self.work.original, self.work.factored, self.work, b, x) < 0:
            raise Unsolved("the static elimination order does not suit these values")
        return x


def same_pattern(J: Matrix, entries: NDArray[np.float64]) -> Matrix:
    """Return a matrix with the pattern of J and these entries, in J's order; SciPy would check the pattern again."""
    found = copy.copy(J)
    found.data = entries
    return found


@kernel
def invert_fronts(fronts, relative, values, starts, Z):
    """Fill Z with the squares of all fronts, of ``values`` that are factored; starts (fronts,) are their places."""
    for s in range(len(fronts) - 1, -1, -1):
        width, rest, upper, lower = fronts[s, WIDTH], fronts[s, REST], fronts[s, UPPER], fronts[s, LOWER]
        size, start = width + rest, starts[s]
        if rest > 0:
            p, listed = fronts[s, PARENT], fronts[s, LIST]
            theirs = fronts[p, WIDTH] + fronts[p, REST]
            for i in range(rest):
                row = starts[p] + relative[listed + i] * theirs
                for j in range(rest):
                    Z[start + (width + i) * size + width + j] = Z[row + relative[listed + j]]
        for i in range(width - 1, -1, -1):
            own = upper + i * size
            for k in range(i + 1, size):
                across = down = 0.0
                for q in range(i + 1, size):
                    across += values[own + q] * Z[start + q * size + k]
                    below = values[upper + q * size + i] if q < width else values[lower + i * rest + q - width]
                    down += Z[start + k * size + q] * below
                Z[start + i * size + k], Z[start + k * size + i] = -values[own + i] * across, -down
            total = 1.0
            for q in range(i + 1, size):
                total -= values[own + q] * Z[start + q * size + i]
            Z[start + i * size + i] = values[own + i] * total


class SelectedInverse:
    """Blocks of the inverse of a factored matrix, over unknowns that the pattern joins with each other.

    Parameters
    ----------
    lu : pattern and storage
    factored : values after ``sparse_lu.factor``
    """

    def __init__(self, lu: SparseLU, factored: Array) -> None:
        self.lu: Any = lu
        sizes = (lu.fronts[:, WIDTH] + lu.fronts[:, REST]) ** 2
        self.starts = (np.cumsum(sizes) - sizes).astype(np.int64)
        self.Z = np.zeros(int(sizes.sum()))
        invert_fronts(lu.fronts, lu.relative, factored, self.starts, self.Z)
        self.place = inverse(lu.order)

    def block(self, unknowns: Indices) -> Array | None:
        """Return the inverse over ``unknowns`` (k, k); None where the pattern does not join all of them."""
        lu, place = self.lu, self.place[unknowns]
        s = int(np.searchsorted(lu.fronts[:, FIRST], place.min(), side="right")) - 1
        first, width, rest, listed = (int(lu.fronts[s, c]) for c in (FIRST, WIDTH, REST, LIST))
        mine = self.place[lu.rest[listed : listed + rest]]  # descending
        number = np.searchsorted(-mine, -place)
        own = place < first + width
        found = np.append(mine, -1)[np.minimum(number, rest)] == place
        if not np.all(own | found):
            return None
        at, size = np.where(own, place - first, width + number), width + rest
        Z = self.Z[self.starts[s] : self.starts[s] + size * size].reshape(size, size)
        return np.asarray(Z[np.ix_(at, at)])

"""Sparse matrices entry by entry: products with diagonal matrices cost SciPy twenty times what the numbers do."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.linear.sparse_solver import same_pattern

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def block_of(J: csc_array, rows: Indices, columns: Indices) -> csc_array:
    """Return these rows and columns of J, each at most once and in ascending order; all of them are J itself."""
    return J if J.shape == (len(rows), len(columns)) else J[rows][:, columns]


def scaled_entries(J: csc_array, row: Array, column: Array) -> csc_array:
    """Return diag(row) J diag(column) (m, n), in new memory for the entries alone."""
    return same_pattern(J, row[J.indices] * J.data * np.repeat(column, np.diff(J.indptr)))

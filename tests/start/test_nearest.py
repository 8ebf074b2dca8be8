"""Sparse matrices entry by entry."""

import numpy as np
from scipy.sparse import csc_array

from rtmbs.start.nearest import scaled_entries


def test_entries_are_scaled_as_by_diagonal_matrices():
    rng = np.random.default_rng(3)
    J, row, column = rng.normal(size=(4, 6)) * (rng.random((4, 6)) < 0.5), rng.random(4), rng.random(6)
    np.testing.assert_array_equal(scaled_entries(csc_array(J), row, column).toarray(), row[:, None] * J * column)

"""The nearest change of few coordinates is that of the sparse library, redundant and contradicting rows included."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from rtmbs.linear.least_change import least_change
from rtmbs.start.entries import scaled_entries
from rtmbs.start.small_change import SMALL, nearest_change, small_change


@pytest.mark.parametrize("shape", [(3, 5), (6, 4), (1, 1), (0, 3), (8, 12)])
def test_it_is_that_of_the_sparse_form(shape):
    rng = np.random.default_rng(shape)
    J = rng.normal(size=shape)
    if shape[0] > 2:
        J[-1] = J[0] - 2.0 * J[1]  # redundant; r contradicts
    r, weight = rng.normal(size=shape[0]), rng.uniform(0.5, 2.0, shape[1])
    np.testing.assert_allclose(small_change(J, r, weight), least_change(csc_array(J), r, weight), rtol=0, atol=1e-6)
    root = np.sqrt(weight)
    exact = np.linalg.lstsq(J / root, r, rcond=1e-12)[0] / root if shape[0] else np.zeros(shape[1])
    np.testing.assert_allclose(nearest_change(csc_array(J), r, weight), exact, rtol=0, atol=1e-6)


def test_no_coordinate_and_many():
    assert nearest_change(csc_array((2, 0)), np.ones(2), np.zeros(0)).shape == (0,)
    n = SMALL + 1
    np.testing.assert_allclose(nearest_change(csc_array(np.eye(n)), np.ones(n), np.ones(n)), np.ones(n), rtol=1e-9)


def test_entries_are_scaled_as_by_diagonal_matrices():
    rng = np.random.default_rng(3)
    J, row, column = rng.normal(size=(4, 6)) * (rng.random((4, 6)) < 0.5), rng.random(4), rng.random(6)
    np.testing.assert_array_equal(scaled_entries(csc_array(J), row, column).toarray(), row[:, None] * J * column)

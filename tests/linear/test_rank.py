"""Rank, least squares and left null space against numpy, on matrices of known rank."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtmbs.linear.rank import least_squares, numerical_rank


@pytest.mark.parametrize(
    ("values", "rank"),
    [([], 0), ([0.0, 0.0], 0), ([2.0], 1), ([1.0, 1e-9, 1e-11], 2), ([1e-200, 1e-201], 2), ([5.0, 5e-10], 1)],
)
def test_numerical_rank(values, rank):
    assert numerical_rank(np.array(values), 1e-10) == rank


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_least_squares(m, n, rank, seed):
    rng = np.random.default_rng(seed)
    rank = min(rank, m, n)
    A = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    b, weights = rng.standard_normal(m), rng.uniform(0.5, 2.0, n)
    found = least_squares(A, b, 1e-9, weights)
    assert found.rank == rank
    assert found.left_null.shape == (m, m - rank)
    np.testing.assert_allclose(found.left_null.T @ found.left_null, np.eye(m - rank), atol=1e-12)
    np.testing.assert_allclose(found.left_null.T @ A, 0.0, atol=1e-12)
    root = np.sqrt(weights)
    expected = np.linalg.pinv(A / root, rcond=1e-9) @ b / root
    np.testing.assert_allclose(found.x, expected, atol=1e-8 * (1.0 + np.abs(expected).max()))


def test_weights_choose_among_solutions():
    A, b = np.array([[1.0, 1.0]]), np.array([3.0])
    np.testing.assert_allclose(least_squares(A, b, 1e-10).x, [1.5, 1.5])
    np.testing.assert_allclose(least_squares(A, b, 1e-10, np.array([1.0, 2.0])).x, [2.0, 1.0])


def test_nothing_to_solve():
    assert least_squares(np.zeros((0, 3)), np.zeros(0), 1e-10).x.tolist() == [0.0, 0.0, 0.0]
    found = least_squares(np.zeros((2, 3)), np.ones(2), 1e-10)
    assert (found.rank, found.x.tolist()) == (0, [0.0, 0.0, 0.0])


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="weight 1 is not positive"):
        least_squares(np.eye(2), np.ones(2), 1e-10, np.array([1.0, 0.0]))
    with pytest.raises(ValueError, match="sizes do not fit"):
        least_squares(np.eye(2), np.ones(3), 1e-10)

"""The pivoted fallback: what static elimination cannot do, scaling, singular matrices."""

import numpy as np
import pytest

from rtmbs.numerics.linear.dense_solver import DenseSolver, powers_of_two
from rtmbs.numerics.linear.solver import Unsolved
from rtmbs.numerics.linear.sparse_lu import factor, workspace
from rtmbs.numerics.linear.symbolic import analyse
from tests.numerics.linear.patterns import accumulated, blocks


def test_solves_what_the_static_order_refuses():
    A = np.array([[1.0, 2.0], [3.0, 0.0]])
    lu = analyse(*blocks(1, 2))
    assert factor(lu, accumulated(lu, A), workspace(lu)) > 0
    dense = DenseSolver(A)
    assert not dense.singular
    np.testing.assert_allclose(dense.solve(np.array([3.0, 3.0])), [1.0, 1.0], rtol=1e-14)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_badly_scaled_matrices(n):
    rng = np.random.default_rng(n)
    B, x = rng.standard_normal((n, n)), rng.standard_normal(n)
    rows, columns = 10.0 ** rng.uniform(-12, 12, n), 10.0 ** rng.uniform(-6, 6, n)
    A = rows[:, None] * B * columns
    kept = A.copy()
    dense = DenseSolver()
    assert dense.factor(A) == 0
    np.testing.assert_allclose(columns * dense.solve(A @ (x / columns)), x, rtol=1e-9, atol=1e-9)
    assert np.array_equal(A, kept)


def test_several_right_hand_sides():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((6, 6)), rng.standard_normal((6, 3))
    np.testing.assert_allclose(A @ DenseSolver(A).solve(b), b, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_singular_matrices_name_a_column(n):
    rng = np.random.default_rng(n)
    A = rng.standard_normal((n, n))
    A[:, -1] = A[:, :-1].sum(axis=1)
    dense = DenseSolver(A)
    assert dense.singular
    assert 1 <= dense.status <= n
    with pytest.raises(Unsolved, match="singular"):
        dense.solve(np.ones(n))


def test_what_is_not_finite_is_refused_and_the_next_factor_is_fine():
    A = np.eye(3)
    A[0, 1] = np.nan
    dense = DenseSolver()
    assert dense.factor(A) == 2
    assert dense.factor(np.eye(3)) == 0
    np.testing.assert_array_equal(dense.solve(np.arange(3.0)), np.arange(3.0))


def test_an_empty_matrix():
    assert DenseSolver(np.zeros((0, 0))).solve(np.zeros(0)).shape == (0,)


def test_scaling_by_powers_of_two_is_exact():
    scaled = np.array([1e-300, 0.3, 1.0, 7e20]) * powers_of_two(np.array([1e-300, 0.3, 1.0, 7e20]))
    assert np.all((scaled >= 0.5) & (scaled < 1.0))
    assert powers_of_two(np.zeros(1)) == 1.0

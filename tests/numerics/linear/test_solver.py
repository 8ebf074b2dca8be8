"""A matrix that LAPACK cannot factorise is refused by the name of the calculation.

The pivoted fallback: what static elimination cannot do, scaling, singular matrices.
"""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError, RtmbsError
from rtmbs.numerics.linear.solver import DenseSolver, Unsolved, powers_of_two, refuses_unfactorised
from rtmbs.numerics.linear.sparse_lu import factor, workspace
from rtmbs.numerics.linear.symbolic import analyse
from tests.numerics.linear.patterns import accumulated, blocks


@refuses_unfactorised(InputError, "sample")
def cholesky(matrix):
    """Return the factor."""
    return np.linalg.cholesky(matrix)


def test_the_calculation_is_named_and_the_function_stays_itself():
    assert np.allclose(cholesky(np.eye(2)), np.eye(2))
    assert cholesky.__doc__ == "Return the factor."
    with pytest.raises(InputError, match="sample: a matrix of the mechanism cannot be factorised"):
        cholesky(-np.eye(2))


def test_inertia_that_vanishes_about_an_axis():
    model = rtmbs.Model("ball", gravity=(0.0, 0.0, 0.0))
    model.add_body("rod", mass=1.3, inertia=(1e-74,) * 3, position=(-0.71, -0.28, -0.15))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "rod", point=(0.0, 0.0, 0.0))
    far, near = model.add_marker("far", "ground", point=(1.0, 0.0, 0.0)), model.add_marker("near", "rod")
    model.add_force("spring", rtmbs.SpringDamper(stiffness=1.0, length=0.1), between=(far, near))
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    with pytest.raises(RtmbsError):  # never LinAlgError
        rtmbs.equilibrium(sim)


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

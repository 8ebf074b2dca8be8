"""The least weighted change of few coordinates (arrays) and of many (sparse): the least squares of NumPy."""

import numpy as np
import pytest
from scipy.sparse import csc_array

from rtmbs.numerics.linear import least_change as module
from rtmbs.numerics.linear.least_change import SMALL, least_change


@pytest.mark.parametrize("most", [0, SMALL], ids=["sparse", "arrays"])
@pytest.mark.parametrize("shape", [(3, 5), (6, 4), (1, 1), (0, 3), (8, 12)])
def test_it_is_that_of_least_squares(monkeypatch, shape, most):
    """Redundant and contradicting rows included."""
    monkeypatch.setattr(module, "SMALL", most)
    rng = np.random.default_rng(shape)
    J = rng.normal(size=shape)
    if shape[0] > 2:
        J[-1] = J[0] - 2.0 * J[1]  # redundant; r contradicts
    r, weight = rng.normal(size=shape[0]), rng.uniform(0.5, 2.0, shape[1])
    root = np.sqrt(weight)
    exact = np.linalg.lstsq(J / root, r, rcond=1e-12)[0] / root if shape[0] else np.zeros(shape[1])
    np.testing.assert_allclose(least_change(csc_array(J), r, weight), exact, rtol=0, atol=1e-6)


def test_no_coordinate_and_many():
    assert least_change(csc_array((2, 0)), np.ones(2), np.zeros(0)).shape == (0,)
    n = SMALL + 1
    np.testing.assert_allclose(least_change(csc_array(np.eye(n)), np.ones(n), np.ones(n)), np.ones(n), rtol=1e-9)


def test_a_row_over_many_coordinates():
    """Coordinates eliminated first: the least change that the product of the columns with themselves would give."""
    rng, n = np.random.default_rng(3), module.WIDE + 40
    J = np.zeros((4, n))
    J[0], J[1, : n // 2] = rng.normal(size=n) / n, rng.normal(size=n // 2) / n
    J[2] = J[0] + 2.0 * J[1]  # redundant; r contradicts
    J[3, 5] = 1.0
    r, weight = rng.normal(size=4) / n, rng.uniform(0.5, 2.0, n)
    root = np.sqrt(weight)
    exact = np.linalg.lstsq(J / root, r, rcond=1e-12)[0] / root
    found = least_change(csc_array(J), r, weight)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 * np.abs(exact).max())

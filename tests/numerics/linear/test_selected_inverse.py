"""Entries of the inverse within the pattern of a factor: those of NumPy's inverse."""

import numpy as np
import pytest

from rtmbs.numerics.linear.selected_inverse import SelectedInverse
from rtmbs.numerics.linear.sparse_solver import SparseSolver
from rtmbs.numerics.linear.symbolic import analyse


@pytest.mark.parametrize("n", [1, 2, 7, 40, 120])
def test_it_is_the_inverse_wherever_the_pattern_joins_unknowns(n):
    rng = np.random.default_rng(n)
    rows, columns = rng.integers(n, size=(2, 2 * n))
    solver = SparseSolver(analyse(n, rows, columns))
    A = np.zeros((n, n))
    A[solver.matrix.rows, solver.matrix.columns] = rng.normal(size=len(solver.matrix.rows))
    A += 8.0 * np.eye(n)
    assert solver.factor(A) == 0
    found, wanted = SelectedInverse(solver.lu, solver.work.factored), np.linalg.inv(A)
    for i, j in zip(solver.matrix.rows, solver.matrix.columns, strict=True):
        pair = np.array([i, j]) if i != j else np.array([i])
        block = found.block(pair)
        assert block is not None
        np.testing.assert_allclose(block, wanted[np.ix_(pair, pair)], rtol=0, atol=1e-13)


def test_unknowns_apart_have_no_block():
    n = 120
    solver = SparseSolver(analyse(n, np.arange(n - 1), np.arange(1, n)))
    assert solver.factor(4.0 * np.eye(n) + np.eye(n, k=1) + np.eye(n, k=-1)) == 0
    found = SelectedInverse(solver.lu, solver.work.factored)
    assert found.block(np.array([0, n - 1])) is None
    assert found.block(np.array([1, 0])) is not None

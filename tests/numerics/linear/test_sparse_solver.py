"""A matrix on a pattern: dense form, condensation, what is not in the pattern; copies of a solver.

Entries of the inverse within the pattern of a factor: those of NumPy's inverse.
"""

import copy
import pickle

import numpy as np
import pytest

from rtmbs.numerics.linear.solver import DenseSolver, Unsolved
from rtmbs.numerics.linear.sparse_solver import SelectedInverse, SparseSolver
from rtmbs.numerics.linear.symbolic import analyse
from tests.numerics.linear.patterns import dominant, stacked


def condensed(count, seed=0):
    """Return a solver whose last ``count`` unknowns are condensed, filled, and the whole matrix."""
    total, rows, cols, _ = stacked(2, 6)
    solver = SparseSolver(analyse(total - count, rows, cols, condensed=count))
    A, matrix = dominant(total, rows, cols, np.random.default_rng(seed)), solver.matrix
    matrix.values[matrix.places] = A[matrix.rows, matrix.columns]
    return solver, A


@pytest.mark.parametrize("count", [0, 1, 9])
def test_callers_see_a_matrix_without_condensed_unknowns(count):
    solver, A = condensed(count)
    n = len(A) - count
    whole, b = np.asarray(solver.matrix), np.random.default_rng(1).normal(size=n)
    np.testing.assert_allclose(np.linalg.inv(whole), np.linalg.inv(A)[:n, :n], rtol=1e-9, atol=1e-12)
    assert solver.factor(solver.matrix) == 0
    for refined in (False, True):
        np.testing.assert_allclose(solver.solve(b, refined), np.linalg.solve(whole, b), rtol=1e-10, atol=1e-13)
    dense = DenseSolver()
    assert dense.factor(solver.matrix) == 0
    np.testing.assert_allclose(dense.solve(b), solver.solve(b), rtol=1e-10, atol=1e-13)


def test_the_pivot_of_a_condensed_unknown_is_nobodys():
    solver, A = condensed(9)
    n, matrix = len(A) - 9, solver.matrix
    of_one = (matrix.rows == n + 4) | (matrix.columns == n + 4)
    matrix.values[matrix.places[of_one]] = 0.0
    assert solver.factor(matrix) == n + 1


def test_a_condensed_pattern_takes_no_whole_matrix():
    solver, A = condensed(9)
    with pytest.raises(ValueError, match="9 condensed unknowns"):
        solver.matrix.add(np.eye(len(A) - 9))
    with pytest.raises(ValueError, match="9 condensed unknowns"):
        solver.factor(np.eye(len(A) - 9))


def test_entries_outside_the_pattern():
    """``factor`` refuses them by name, ``add`` leaves them out."""
    A = np.diag([1.0, 2.0, 3.0])
    solver = SparseSolver.of(A)
    A[0, 2] = 5.0
    with pytest.raises(ValueError, match=r"entry \(row 0, column 2\) is not in the analysed pattern"):
        solver.factor(A)
    solver.matrix.set(np.eye(3))
    solver.matrix.add(A)
    np.testing.assert_array_equal(np.asarray(solver.matrix), np.diag([2.0, 3.0, 4.0]))
    with pytest.raises(ValueError, match=r"need a matrix \(3, 3\), got \(2, 2\)"):
        solver.factor(np.eye(2))


def test_numbers_that_are_not_finite_show():
    solver, _ = condensed(0)
    assert solver.matrix.finite
    solver.matrix.values[3] = np.nan
    assert not solver.matrix.finite


def test_a_refined_solve_says_when_the_factor_does_not_suit():
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    solver = SparseSolver.of(A)
    assert solver.factor(A) == 0
    solver.work.factored[:] *= -1.7
    with pytest.raises(Unsolved, match="static elimination order"):
        solver.solve(np.ones(2), refined=True)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_have_memory_of_their_own(again):
    solver, A = condensed(0)
    assert solver.factor(solver.matrix) == 0
    other, b = again(solver), np.ones(len(A))
    assert other.matrix.values is other.work.original
    other.matrix.values[:] *= 2.0
    assert other.factor(other.matrix) == 0
    np.testing.assert_allclose(2.0 * other.solve(b, refined=True), solver.solve(b, refined=True), rtol=1e-12)


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

"""Every linear solver answers two verbs, factor and solve, in one way. A new one gets a line in ``SOLVERS``."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.linear import sparse_lu
from rtmbs.linear.dense_lu import DenseLU
from rtmbs.linear.symbolic import analyse, positions


class Sparse:
    """The static-pattern sparse LU on the pattern of a matrix, with refinement as a step uses it."""

    def __init__(self, A):
        n = len(A)
        rows, columns = np.nonzero((A != 0) | (A.T != 0) | np.eye(n, dtype=bool))
        self.lu = analyse(n, rows, columns)
        self.work = sparse_lu.workspace(self.lu)
        self.places, self.rows, self.columns = positions(self.lu, rows, columns), rows, columns

    def factor(self, A):
        self.work.original[:] = 0.0
        self.work.original[self.places] = A[self.rows, self.columns]
        self.work.factored[:] = self.work.original
        return sparse_lu.factor(self.lu, self.work.factored, self.work)

    def solve(self, b):
        x = np.empty_like(b)
        assert sparse_lu.solve_refined(self.lu, self.work.original, self.work.factored, self.work, b, x) >= 0
        return x


class Plain(Sparse):
    """The same without refinement."""

    def solve(self, b):
        x = b.copy()
        sparse_lu.solve(self.lu, self.work.factored, self.work, x)
        return x


class Dense(DenseLU):
    """The pivoted dense LU of the fallback."""

    def __init__(self, A):
        super().__init__()


SOLVERS = {"sparse": Sparse, "sparse, unrefined": Plain, "dense": Dense}
ALL = pytest.mark.parametrize("solver", SOLVERS)


def newton_matrix(seed, n, fill=0.3):
    """A matrix as a step has it: positive mass, an unsymmetric remainder, a pattern with holes."""
    rng = np.random.default_rng(seed)
    pattern = np.tril(rng.random((n, n)) < fill)
    pattern = pattern | pattern.T
    A = rng.normal(size=(n, n)) * pattern * 0.1
    return A + np.diag(np.abs(A).sum(axis=1) + rng.uniform(0.5, 2.0, n))


@ALL
@given(seed=st.integers(0, 10**6), n=st.integers(1, 25))
def test_solution(solver, seed, n):
    A, b = newton_matrix(seed, n), np.random.default_rng(seed + 1).normal(size=n)
    one, matrix, right = SOLVERS[solver](A), A.copy(), b.copy()
    assert one.factor(A) == 0
    x = one.solve(b)
    assert np.abs(A @ x - b).max() <= 1e-13 * (np.abs(A) @ np.abs(x) + np.abs(b)).max()
    np.testing.assert_array_equal(A, matrix)
    np.testing.assert_array_equal(b, right)


@ALL
def test_one_factor_serves_many_right_hand_sides(solver):
    A = newton_matrix(3, 9)
    one = SOLVERS[solver](A)
    one.factor(A)
    inverse = np.stack([one.solve(e) for e in np.eye(9)], axis=1)
    np.testing.assert_allclose(A @ inverse, np.eye(9), atol=1e-13)


@ALL
def test_a_new_factor_forgets_the_old_one(solver):
    A, B = newton_matrix(1, 8, fill=1.0), newton_matrix(2, 8, fill=1.0)
    one = SOLVERS[solver](A)
    one.factor(A)
    one.factor(B)
    np.testing.assert_allclose(B @ one.solve(np.ones(8)), 1.0, atol=1e-13)


@ALL
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_singular_matrix_is_refused(solver, n):
    A = newton_matrix(4, n, fill=1.0)
    A[-1] = 0.0 if n == 1 else A[0]
    A[:, -1] = 0.0 if n == 1 else A[:, 0]
    status = SOLVERS[solver](A).factor(A)
    assert 1 <= status <= n


@ALL
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_matrix_that_is_not_finite_is_refused(solver, bad):
    A = newton_matrix(5, 6, fill=1.0)
    A[2, 2] = bad
    assert SOLVERS[solver](A).factor(A) != 0


@ALL
def test_the_scale_of_units_does_not_matter(solver):
    """Rows and columns of a mechanism differ by powers of ten: newtons beside newton metres, grams beside tons."""
    A, b = newton_matrix(6, 10), np.arange(1.0, 11.0)
    scale = 10.0 ** np.array([-9, 6, 0, 3, -4, 8, -2, 5, 1, -7.0])
    one = SOLVERS[solver](A)
    assert one.factor(scale[:, None] * A * scale) == 0
    np.testing.assert_allclose(one.solve(scale * b) * scale, np.linalg.solve(A, b), rtol=1e-10)

"""Every registered linear solver answers two verbs, factor and solve, in one way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.numerics.linear import SOLVERS
from rtmbs.numerics.linear.least_change import KKTSolver
from rtmbs.numerics.linear.solver import Unsolved


class Doubled:
    """A saddle point in disguise: every unknown twice, held together by an equation; the second has no matrix."""

    pivoted = True

    def __init__(self):
        self.inner = KKTSolver()

    @classmethod
    def of(cls, A):
        return cls()

    def factor(self, A):
        self.n = len(A)
        none, one = np.zeros_like(A), np.eye(self.n)
        return min(self.inner.factor(np.block([[A, none], [none, none]]), np.hstack([one, -one])), self.n)

    def solve(self, b, refined=False):
        x = self.inner.solve(np.concatenate((b, np.zeros(2 * self.n))), refined)
        np.testing.assert_allclose(x[: self.n], x[self.n : 2 * self.n], rtol=1e-14)
        return x[: self.n]


FORMS = {**SOLVERS, "saddle point with equations": Doubled}
ALL = pytest.mark.parametrize("solver", FORMS)
REFINED = pytest.mark.parametrize("refined", [False, True])


def newton_matrix(seed, n, fill=0.3):
    """A matrix as a step has it: positive mass, an unsymmetric remainder, a pattern with holes."""
    rng = np.random.default_rng(seed)
    pattern = np.tril(rng.random((n, n)) < fill)
    pattern = pattern | pattern.T
    A = rng.normal(size=(n, n)) * pattern * 0.1
    return A + np.diag(np.abs(A).sum(axis=1) + rng.uniform(0.5, 2.0, n))


@ALL
@REFINED
@given(seed=st.integers(0, 10**6), n=st.integers(1, 25))
def test_solution(solver, refined, seed, n):
    A, b = newton_matrix(seed, n), np.random.default_rng(seed + 1).normal(size=n)
    one, matrix, right = FORMS[solver].of(A), A.copy(), b.copy()
    assert one.factor(A) == 0
    x = one.solve(b, refined)
    assert np.abs(A @ x - b).max() <= 1e-13 * (np.abs(A) @ np.abs(x) + np.abs(b)).max()
    np.testing.assert_array_equal(A, matrix)
    np.testing.assert_array_equal(b, right)


@ALL
def test_one_factor_serves_many_right_hand_sides(solver):
    A = newton_matrix(3, 9)
    one = FORMS[solver].of(A)
    one.factor(A)
    inverse = np.stack([one.solve(e) for e in np.eye(9)], axis=1)
    np.testing.assert_allclose(A @ inverse, np.eye(9), atol=1e-13)


@ALL
def test_a_new_factor_forgets_the_old_one(solver):
    A, B = newton_matrix(1, 8, fill=1.0), newton_matrix(2, 8, fill=1.0)
    one = FORMS[solver].of(A)
    one.factor(A)
    one.factor(B)
    np.testing.assert_allclose(B @ one.solve(np.ones(8)), 1.0, atol=1e-13)


@ALL
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_singular_matrix_is_refused(solver, n):
    A = newton_matrix(4, n, fill=1.0)
    A[-1] = 0.0 if n == 1 else A[0]
    A[:, -1] = 0.0 if n == 1 else A[:, 0]
    status = FORMS[solver].of(A).factor(A)
    assert 1 <= status <= n


@ALL
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_matrix_that_is_not_finite_is_refused(solver, bad):
    A = newton_matrix(5, 6, fill=1.0)
    A[2, 2] = bad
    assert FORMS[solver].of(A).factor(A) != 0


@ALL
@REFINED
def test_the_scale_of_units_does_not_matter(solver, refined):
    """Rows and columns of a mechanism differ by powers of ten: newtons beside newton metres, grams beside tons."""
    A, b = newton_matrix(6, 10), np.arange(1.0, 11.0)
    scale = 10.0 ** np.array([-9, 6, 0, 3, -4, 8, -2, 5, 1, -7.0])
    one = FORMS[solver].of(A)
    assert one.factor(scale[:, None] * A * scale) == 0
    np.testing.assert_allclose(one.solve(scale * b, refined) * scale, np.linalg.solve(A, b), rtol=1e-10)


@ALL
def test_a_regular_matrix_that_needs_row_exchanges(solver):
    """A pivoted solver finds the answer, the others refuse; none of them answers wrongly."""
    A = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 0.0, 1.0]])
    one = FORMS[solver].of(A)
    status = one.factor(A)
    assert (status == 0) == one.pivoted
    if one.pivoted:
        np.testing.assert_allclose(A @ one.solve(np.arange(3.0)), np.arange(3.0), atol=1e-14)


@ALL
def test_a_matrix_that_almost_needs_row_exchanges_is_refused_or_solved(solver):
    """Growth that the pivots pass shows in the residual of a refined solve."""
    A = np.array([[1e-9, 1.0, 0.0], [1.0, 0.0, 1e9], [0.0, 1e9, 1.0]])
    one, b = FORMS[solver].of(A), np.array([1.0, 2.0, 3.0])
    if one.factor(A) == 0:
        try:
            x = one.solve(b, refined=True)
        except Unsolved:
            assert not one.pivoted
        else:
            assert np.abs(A @ x - b).max() <= 1e-9 * (np.abs(A) @ np.abs(x) + np.abs(b)).max()


@ALL
@REFINED
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_right_hand_side_that_is_not_finite_has_no_finite_answer(solver, refined, bad):
    A = newton_matrix(7, 5, fill=1.0)
    one, b = FORMS[solver].of(A), np.array([1.0, 2.0, bad, 4.0, 5.0])
    assert one.factor(A) == 0
    try:
        x = one.solve(b, refined)
    except Unsolved:
        return
    assert not np.all(np.isfinite(x))


@ALL
def test_no_unknowns(solver):
    one = FORMS[solver].of(np.zeros((0, 0)))
    assert one.factor(np.zeros((0, 0))) == 0
    assert one.solve(np.zeros(0)).shape == (0,)

"""Saddle points of projections, factored and by passes, against a dense solution."""

import numpy as np
import pytest

from rtmbs.studies.sensitivities.saddles import dense_entries, saddle, solve_all, solved


def saddles(redundant, seed=5, count=4, n=6, m=3, weight=1e6):
    """Matrices [A, B; P, 0] with B near P^T, the last row of P a sum of the others when asked, and right sides."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(count, n, n)) + 6.0 * np.eye(n)
    P = rng.normal(size=(count, m, n))
    if redundant:
        P[:, -1] = P[:, 0] + P[:, 1]
    S = np.zeros((count, n + m, n + m))
    S[:, :n, :n], S[:, n:, :n], S[:, :n, n:] = A, P, np.swapaxes(P, 1, 2)
    x = rng.normal(size=(count, n + m, 2))
    return S, S @ x, x, np.full(m, weight)


def solution(S, right, weight, redundant, transposed=False):
    """Return the solutions, and whether passes were taken for the last matrix."""
    own, found = saddle(6, weight, redundant, right.shape[2]), right.copy()
    solve_all(*dense_entries(S), own, found, transposed)
    return found, bool(own.facts[2])


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("redundant", [False, True])
def test_solutions_of_both_ways(transposed, redundant):
    S, _, x, weight = saddles(redundant)
    matrix = np.swapaxes(S, 1, 2) if transposed else S
    right = matrix @ x
    found, passes = solution(S, right, weight, redundant, transposed)
    assert passes == redundant
    np.testing.assert_allclose(found[:, :6], x[:, :6], atol=1e-9)  # redundant rows share as they like
    np.testing.assert_allclose(matrix @ found, right, atol=1e-8)
    if not redundant:
        np.testing.assert_allclose(found, x, atol=1e-10)
        np.testing.assert_allclose(solved(dense_entries(S), 6, weight, False, S @ x), x, atol=1e-10)


@pytest.mark.parametrize("transposed", [False, True])
def test_passes_serve_sound_matrices_behind_one_that_needed_them(transposed):
    redundant, _, _, weight = saddles(True)
    sound, _, x, _ = saddles(False, seed=6)
    S = np.concatenate((redundant[:1], sound))
    right = (np.swapaxes(S, 1, 2) if transposed else S) @ np.concatenate((x[:1], x))
    found, passes = solution(S, right, weight, True, transposed)
    assert passes
    np.testing.assert_allclose(found[1:], x, atol=1e-9)


def test_rows_that_may_be_redundant_and_are_not_need_no_passes():
    S, _, x, weight = saddles(False)
    for units in (1.0, 1e-7, 1e7):  # of mass
        scaled = S.copy()
        scaled[:, :6, :6] *= units
        found, passes = solution(scaled, scaled @ x, weight, True)
        assert not passes
        np.testing.assert_allclose(scaled @ found, scaled @ x, rtol=1e-9, atol=1e-9 * max(units, 1.0))


def test_no_loops():
    S, _, _, _ = saddles(False)
    A = np.ascontiguousarray(S[:, :6, :6])
    x = np.random.default_rng(1).normal(size=(len(A), 6, 3))
    np.testing.assert_allclose(solved(dense_entries(A), 6, np.zeros(0), True, A @ x), x, atol=1e-10)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("weight", [0.1, 1.0])
def test_large_matrices_with_weights_too_small_for_passes_take_the_whole_factor(weight, transposed):
    """Rows that may be redundant and are not: passes do not settle within their number."""
    S, _, x, weights = saddles(False, n=28, m=8, weight=weight)
    matrix = np.swapaxes(S, 1, 2) if transposed else S
    right = matrix @ x
    own = saddle(28, weights, True, right.shape[2])
    solve_all(*dense_entries(S), own, right, transposed)
    np.testing.assert_allclose(right, x, atol=1e-9)

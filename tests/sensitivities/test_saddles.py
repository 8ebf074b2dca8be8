"""Saddle points of projections, inverted and by passes, against a dense solution."""

import numpy as np
import pytest

from rtmbs.sensitivities.saddles import Inverted, Iterated, solver


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


@pytest.mark.parametrize("way", ["solve", "solve_transposed"])
@pytest.mark.parametrize("redundant", [False, True])
def test_passes_reach_the_solution(way, redundant):
    S, _, x, weight = saddles(redundant)
    matrix = S if way == "solve" else np.swapaxes(S, 1, 2)
    right = matrix @ x
    found = getattr(Iterated(S, 6, weight), way)(right)
    np.testing.assert_allclose(found[:, :6], x[:, :6], atol=1e-9)  # redundant rows share as they like
    np.testing.assert_allclose(matrix @ found, right, atol=1e-8)
    if not redundant:
        np.testing.assert_allclose(getattr(Inverted(S), way)(right), x, atol=1e-10)


def test_redundant_rows_choose_the_passes():
    S, _, _, weight = saddles(True)
    assert isinstance(solver(S, 6, weight, True), Iterated)
    assert isinstance(solver(S, 6, weight, False), Inverted)
    assert isinstance(solver(S[:, :6, :6], 6, np.zeros(0), True), Inverted)

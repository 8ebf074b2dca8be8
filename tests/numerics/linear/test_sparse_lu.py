"""The kernels against dense algebra: random patterns, mechanisms' patterns, small pivots, refinement."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtmbs.numerics.linear import symbolic
from rtmbs.numerics.linear.sparse_lu import factor, multiply, solve, solve_refined, workspace
from rtmbs.numerics.linear.symbolic import INHERITS, KEPT, REST, SAME, analyse, entries
from tests.numerics.linear.patterns import accumulated, blocks, dominant, penalised, stacked, tree_pattern


def check_against_dense(pattern, rng, tolerance=1e-12):
    """Factorise, solve and multiply with a heavy diagonal; compare with numpy."""
    n, rows, cols = pattern
    lu = analyse(n, rows, cols)
    A, b = dominant(n, rows, cols, rng), rng.standard_normal(n)
    values, work = accumulated(lu, A), workspace(lu)
    product = np.full(n, np.nan)
    multiply(lu, values, b, product)
    np.testing.assert_allclose(product, A @ b, rtol=tolerance, atol=tolerance * np.abs(A).sum())
    original = values.copy()
    for _ in range(2):  # a second time: nothing may be left over in the workspace
        values[:] = original
        assert factor(lu, values, work) == 0
    x = b.copy()
    solve(lu, values, work, x)
    np.testing.assert_allclose(A @ x, b, rtol=0, atol=tolerance * np.abs(b).max())
    y = np.empty(n)
    assert solve_refined(lu, original, values, work, b, y) == 0
    np.testing.assert_allclose(y, x, rtol=1e-14, atol=1e-16)


@given(st.integers(1, 60), st.integers(0, 200), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_random_patterns(n, entries, seed):
    rng = np.random.default_rng(seed)
    check_against_dense((n, rng.integers(0, n, entries), rng.integers(0, n, entries)), rng)


@given(st.integers(1, 120), st.integers(0, 12), st.floats(0.0, 1.0), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_random_trees_with_loops(n, loops, depth, seed):
    rng = np.random.default_rng(seed)
    parent = [-1] + [int(rng.integers(-1, i)) if rng.random() > depth else i - 1 for i in range(1, n)]
    pairs = [tuple(int(k) for k in rng.integers(0, n, 2)) for _ in range(loops)]
    check_against_dense(tree_pattern(parent, pairs)[:3], rng)


@pytest.mark.parametrize(
    "pattern",
    [
        stacked(1, 10)[:3],
        stacked(4, 40)[:3],
        stacked(5, 3)[:3],
        blocks(40, 9),
        blocks(1, 1),
        blocks(1, 150),
        blocks(3, 25),
    ],
    ids=["1x10", "4x40", "5x3", "40 blocks", "one", "dense 150", "blocks of 25"],
)
def test_patterns_of_mechanisms(pattern):
    check_against_dense(pattern, np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(8))
def test_many_small_fronts(seed, monkeypatch):
    """Narrow, hardly merged fronts: several children a parent, and remainders whose rows move when handed over."""
    monkeypatch.setattr(symbolic, "WIDEST", 3)
    monkeypatch.setattr(symbolic, "front_time", lambda width, rest: float(width**4 + width * rest**2))
    rng = np.random.default_rng(seed)
    n = 300
    parent = [-1] + [int(rng.integers(-1, i)) if rng.random() > 0.7 else i - 1 for i in range(1, n)]
    n, rows, cols, _ = tree_pattern(parent, [tuple(rng.integers(0, n, 2)) for _ in range(10)])
    rows, cols = np.append(rows, rng.integers(0, n, 50)), np.append(cols, rng.integers(0, n, 50))
    fronts = analyse(n, rows, cols).fronts
    assert np.any(fronts[:, SAME] != fronts[:, KEPT])
    assert np.any((fronts[:, INHERITS] == 0) & (fronts[:, KEPT] > 0))
    check_against_dense((n, rows, cols), rng)


@pytest.mark.parametrize("condensed", [1, 5, 17])
def test_condensed_unknowns_are_solved_for_and_not_shown(condensed):
    """The last unknowns have right-hand side zero; vectors of the caller end before them."""
    rng = np.random.default_rng(condensed)
    total, rows, cols, _ = stacked(2, 6)
    n, order = total - condensed, rng.permutation(total)
    lu = analyse(n, rows, cols, order=order, condensed=condensed)
    assert (lu.n, lu.total) == (n, total)
    assert sorted(lu.order) == list(range(total))
    A, b = dominant(total, rows, cols, rng), rng.standard_normal(n)
    work = workspace(lu)
    work.original[:] = work.factored[:] = accumulated(lu, A)
    assert factor(lu, work.factored, work) == 0
    expected = np.linalg.solve(A, np.append(b, np.zeros(condensed)))[:n]
    x, y = b.copy(), np.empty(n)
    solve(lu, work.factored, work, x)
    np.testing.assert_allclose(x, expected, rtol=1e-12, atol=1e-14)
    assert solve_refined(lu, work.original, work.factored, work, b, y) == 0
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-14)


def test_refinement_sees_condensed_rows():
    rng = np.random.default_rng(11)
    n, rows, cols, _ = stacked(2, 6)
    lu = analyse(n - 9, rows, cols, condensed=9)
    A, b = dominant(n, rows, cols, rng), rng.standard_normal(n - 9)
    near = A.copy()
    near[-9:] *= 1.0 + 1e-8
    near[-9:, : n - 9] *= 1.0 - 1e-8
    work, x = workspace(lu), np.empty(n - 9)
    original, work.factored[:] = accumulated(lu, A), accumulated(lu, near)
    assert factor(lu, work.factored, work) == 0
    assert solve_refined(lu, original, work.factored, work, b, x) >= 1
    np.testing.assert_allclose(x, np.linalg.solve(A, np.append(b, np.zeros(9)))[: n - 9], rtol=1e-11, atol=1e-13)


def test_an_empty_matrix_is_solved():
    lu = analyse(0, [], [])
    work, b = workspace(lu), np.zeros(0)
    assert factor(lu, np.zeros(0), work) == 0
    solve(lu, np.zeros(0), work, b)
    assert solve_refined(lu, np.zeros(0), np.zeros(0), work, b, b.copy()) == 0


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e11])
def test_huge_closure_terms(scale):
    rng = np.random.default_rng(3)
    n, rows, cols, branches = stacked(4, 20)
    A, b = penalised(n, rows, cols, branches, rng, scale), rng.standard_normal(n)
    lu = analyse(n, rows, cols)
    work = workspace(lu)
    work.original[:] = work.factored[:] = accumulated(lu, A)
    assert factor(lu, work.factored, work) == 0
    x = np.empty(n)
    assert solve_refined(lu, work.original, work.factored, work, b, x) <= 1
    dense = np.linalg.solve(A, b)
    backward = np.max(np.abs(A @ x - b) / (np.abs(A) @ np.abs(x) + np.abs(b)))
    assert backward < 1e-12
    assert np.linalg.norm(x - dense) < 1e-15 * np.linalg.cond(A) * np.linalg.norm(dense) + 1e-12 * np.linalg.norm(dense)


@pytest.mark.parametrize("row", [0, 7, 19])
def test_a_small_pivot_is_named(row):
    rng = np.random.default_rng(5)
    n, rows, cols, _ = tree_pattern([-1, *range(19)])
    A = dominant(n, rows, cols, rng)
    A = np.tril(A) if row == 0 else A  # leaf first: row 19 goes first, row 0 last
    others = np.arange(row + 1, n)
    A[row, row] = A[row, others] @ np.linalg.solve(A[np.ix_(others, others)], A[others, row]) if row < n - 1 else 0.0
    A[row, row] += 1e-12 * abs(A[row, row])
    lu = analyse(n, rows, cols)
    assert factor(lu, accumulated(lu, A), workspace(lu)) == row + 1


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("place", [(0, 0), (5, 2), (2, 5), (19, 19)])
def test_what_is_not_finite_is_refused(place, wrong):
    n, rows, cols, _ = tree_pattern([-1, *range(19)])
    A = dominant(n, rows, cols, np.random.default_rng(6))
    lu = analyse(n, rows, cols)
    values = accumulated(lu, A)
    values[entries(lu, [place[0]], [place[1]])] = wrong
    assert factor(lu, values, workspace(lu)) > 0


def test_refinement_helps_a_factor_that_is_slightly_off():
    rng = np.random.default_rng(7)
    n, rows, cols, branches = stacked(3, 8)
    A, b = penalised(n, rows, cols, branches, rng, 1e6), rng.standard_normal(n)
    lu = analyse(n, rows, cols)
    work, x = workspace(lu), np.empty(n)
    original, near = accumulated(lu, A), accumulated(lu, A * (1.0 + 1e-9 * rng.standard_normal(A.shape)))
    assert factor(lu, near, work) == 0
    plain = b.copy()
    solve(lu, near, work, plain)
    count = solve_refined(lu, original, near, work, b, x)
    error = [np.max(np.abs(A @ y - b) / (np.abs(A) @ np.abs(y) + np.abs(b))) for y in (plain, x)]
    assert count >= 1
    assert error[1] < 1e-12 < 0.1 * error[0]


def test_refinement_says_when_it_does_not_help():
    rng = np.random.default_rng(8)
    lu = analyse(*blocks(2, 4))
    A = dominant(*blocks(2, 4), rng)
    values, b, x = accumulated(lu, A), rng.standard_normal(8), np.empty(8)
    wrong, work = values * 0.2, workspace(lu)
    assert factor(lu, wrong, work) == 0
    assert solve_refined(lu, values, wrong, work, b, x) == -1
    b[3] = np.nan
    assert solve_refined(lu, values, wrong, work, b, x) == -1


def test_growth_that_the_pivot_test_cannot_see_is_found_by_the_residual():
    lu = analyse(*blocks(1, 3))
    A = np.array([[0.0, 2.0, 1.0], [3.0, 1e-14, 1.0], [1.0, 1.0, 1e-15]])  # tiny diagonal, tiny before elimination too
    original, work, b, x = accumulated(lu, A), workspace(lu), np.array([1.0, 2.0, 3.0]), np.empty(3)
    work.factored[:] = original
    assert factor(lu, work.factored, work) == 0
    count = solve_refined(lu, original, work.factored, work, b, x)
    assert count != 0
    assert count == -1 or np.allclose(A @ x, b)


SMALL_CASE = """
import numpy as np
from rtmbs.numerics.linear.sparse_lu import factor, multiply, solve, solve_refined, workspace
from rtmbs.numerics.linear.symbolic import analyse
from tests.numerics.linear.patterns import accumulated, penalised, stacked
pattern = stacked(2, 4)
A = penalised(*pattern, np.random.default_rng(0), 1e6)
lu = analyse(*pattern[:3])
work, b, x, y = workspace(lu), np.sin(np.arange(lu.n)), np.empty(lu.n), np.empty(lu.n)
work.original[:] = work.factored[:] = accumulated(lu, A)
assert factor(lu, work.factored, work) == 0
solve_refined(lu, work.original, work.factored, work, b, x)
multiply(lu, work.original, x, y)
print(" ".join(float(v).hex() for v in (*work.factored, *x, *y)))
"""


def test_same_numbers_without_the_compiler():
    def run(**environment):
        root = Path(__file__).parents[3]
        result = subprocess.run(
            [sys.executable, "-c", SMALL_CASE], env=os.environ | environment, cwd=root, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
        return np.array([float.fromhex(v) for v in result.stdout.split()])

    compiled, plain = run(), run(NUMBA_DISABLE_JIT="1")
    np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-12)


def test_nothing_is_allocated_or_replaced():
    lu = analyse(*stacked(2, 6)[:3])
    work = workspace(lu)
    before = [id(array) for array in (*lu, *work)]
    tables = [array.copy() for array in lu if isinstance(array, np.ndarray)]
    rng = np.random.default_rng(0)
    A = dominant(*stacked(2, 6)[:3], rng)
    work.original[:] = work.factored[:] = accumulated(lu, A)
    original = work.original.copy()
    b, x = rng.standard_normal(lu.n), np.empty(lu.n)
    kept = b.copy()
    factor(lu, work.factored, work)
    solve_refined(lu, work.original, work.factored, work, b, x)
    assert before == [id(array) for array in (*lu, *work)]
    assert np.array_equal(b, kept)
    assert np.array_equal(original, work.original)
    assert all(np.array_equal(a, c) for a, c in zip(tables, (a for a in lu if isinstance(a, np.ndarray)), strict=True))
    assert np.max(lu.fronts[:, REST]) > 0

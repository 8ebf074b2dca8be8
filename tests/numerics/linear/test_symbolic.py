"""The symbolic part: orders, fill, storage, places of entries, and how fast it is done."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtmbs.numerics.linear.symbolic import (
    FIRST,
    PARENT,
    REST,
    WIDTH,
    analyse,
    analyse_order,
    best_order,
    entries,
    flops,
    minimum_degree,
    nonzeros,
    symmetric_pattern,
)
from tests.numerics.linear.patterns import stacked, tree_pattern


def dense_elimination(n, rows, cols, order):
    """Return (entries, flops) counted on a dense boolean matrix."""
    A = np.eye(n, dtype=bool)
    A[rows, cols] = A[cols, rows] = True
    A = A[np.ix_(order, order)]
    work = 0
    for k in range(n):
        below = k + 1 + np.flatnonzero(A[k + 1 :, k])
        A[np.ix_(below, below)] = True
        work += len(below) + 2 * len(below) ** 2
    return int(A.sum()), work


@given(st.integers(1, 30), st.integers(0, 60), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_counts_agree_with_dense_elimination(n, entries, seed):
    rng = np.random.default_rng(seed)
    rows, cols, order = rng.integers(0, n, entries), rng.integers(0, n, entries), rng.permutation(n)
    pointer, index, keys = symmetric_pattern(n, rows, cols)
    assert np.array_equal(keys, np.sort(keys))
    _, counts, work = analyse_order(pointer, index, order)
    assert (n + 2 * counts.sum(), work) == dense_elimination(n, rows, cols, order)
    lu = analyse(n, rows, cols, orders=[order])
    assert (nonzeros(lu), flops(lu)) == dense_elimination(n, rows, cols, lu.order)
    assert flops(lu) <= work


def test_a_tree_has_no_fill_and_the_search_ends_there():
    parent = [-1, 0, 1, 1, 0, 4, 5, 5]
    n, rows, cols, _ = tree_pattern(parent)
    pointer, index, _ = symmetric_pattern(n, rows, cols)
    order, _, counts = best_order(pointer, index)
    assert np.array_equal(order, np.arange(n)[::-1])
    assert 2 * counts.sum() == len(index)


def test_stacked_storeys_have_no_fill():
    lu = analyse(*stacked(4, 40)[:3])
    assert len(lu.pattern) == nonzeros(lu) == 31_998
    assert flops(lu) == 1_795_557
    assert lu.size < 1.15 * nonzeros(lu)


def test_minimum_degree_wins_where_numbering_is_bad():
    n = 60
    rng = np.random.default_rng(1)
    shuffled = rng.permutation(n)
    rows, cols = shuffled[:-1], shuffled[1:]  # a chain, numbered at random
    pointer, index, _ = symmetric_pattern(n, rows, cols)
    assert nonzeros(analyse(n, rows, cols)) == n + 2 * (n - 1)
    assert 2 * analyse_order(pointer, index, minimum_degree(pointer, index))[1].sum() == len(index)


def test_the_order_of_the_caller_is_used_when_it_is_best():
    n = 6  # a wheel: the hub must go last
    rows, cols = np.zeros(n - 1, int), np.arange(1, n)
    lu = analyse(n, rows, cols, orders=[np.array([1, 2, 3, 4, 5, 0])])
    assert nonzeros(lu) == 3 * n - 2


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1], [0, 1, 3]])
def test_wrong_orders_are_refused(order):
    with pytest.raises(ValueError, match=r"permutation of 0 \.\. 2"):
        analyse(3, [0], [1], orders=[np.array(order)])
    with pytest.raises(ValueError, match="permutation"):
        analyse(3, [0], [1], order=np.array(order))


def test_indices_outside_are_refused_by_name():
    with pytest.raises(ValueError, match=r"entry 1, \(row 2, column 3\), lies outside a 3 x 3 matrix"):
        analyse(3, [0, 2], [0, 3])
    with pytest.raises(ValueError, match="as many rows as columns"):
        analyse(3, [0, 2], [0])


@given(st.integers(1, 40), st.integers(0, 120), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_places_are_distinct_and_cover_the_pattern(n, count, seed):
    rng = np.random.default_rng(seed)
    rows, cols = rng.integers(0, n, count), rng.integers(0, n, count)
    lu = analyse(n, rows, cols)
    row, col = lu.pattern // n, lu.pattern % n
    places = entries(lu, row, col)
    assert len(np.unique(places)) == len(places)
    assert places.min() >= 0
    assert places.max() < lu.size
    assert {(i, i) for i in range(n)} <= set(zip(row.tolist(), col.tolist(), strict=True))


def test_an_entry_outside_the_pattern_is_named():
    lu = analyse(4, [1], [0])
    assert entries(lu, [], []).shape == (0,)
    with pytest.raises(ValueError, match=r"entry 1, \(row 3, column 0\), is not in the analysed pattern"):
        entries(lu, [1, 3], [0, 0])
    with pytest.raises(ValueError, match="lies outside"):
        entries(lu, [4], [0])


def test_fronts_form_a_tree_of_dense_blocks():
    lu = analyse(*stacked(3, 6)[:3])
    fronts = lu.fronts
    assert fronts[:, WIDTH].sum() == lu.n
    assert np.array_equal(fronts[1:, FIRST], np.cumsum(fronts[:, WIDTH])[:-1])
    assert np.all((fronts[:, PARENT] > np.arange(len(fronts))) | (fronts[:, REST] == 0))


def test_an_empty_matrix():
    lu = analyse(0, [], [])
    assert (lu.n, lu.size, flops(lu), nonzeros(lu)) == (0, 0, 0, 0)

"""Independent rows of sparse matrices against singular values, on matrices of known rank and on spiteful ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, diags_array

from rtmbs.numerics.linear import rank as module
from rtmbs.numerics.linear.rank import equilibrate, independent_rows

TOLERANCE = 1e-9


def check(dense, blocks=None):
    """Return the rows kept, after holding their number and their independence against singular values."""
    blocks = np.arange(len(dense)) if blocks is None else blocks
    keep = independent_rows(csr_array(dense), blocks, TOLERANCE)
    rank = np.linalg.matrix_rank(dense, tol=TOLERANCE)
    assert np.count_nonzero(keep) == rank
    if rank:
        assert np.linalg.svd(dense[keep], compute_uv=False)[-1] > 0.1 * TOLERANCE
    return keep


@given(st.integers(0, 10**6), st.integers(1, 14), st.integers(1, 14), st.data())
@settings(max_examples=80, deadline=None)
def test_dense_matrices(seed, rows, columns, data):
    rank = data.draw(st.integers(0, min(rows, columns)))
    rng = np.random.default_rng(seed)
    check(rng.normal(size=(rows, rank)) @ rng.normal(size=(rank, columns)), rng.integers(0, rows, rows))


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 40), st.floats(0.02, 0.3))
@settings(max_examples=80, deadline=None)
def test_sparse_matrices_with_repeated_rows(seed, rows, columns, density):
    """A row is another one, turned round and scaled, or the sum of two."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((rows, columns)) < density, rng.normal(size=(rows, columns)), 0.0)
    for _ in range(rows // 4):
        i, j, k = rng.integers(0, rows, 3)
        dense[i] = -2.0 * dense[j] if rng.random() < 0.5 else dense[j] + dense[k]
    check(dense, rng.permutation(np.sort(rng.integers(0, rows, rows))))


def test_the_later_of_two_equal_blocks_is_named():
    rng = np.random.default_rng(1)
    one = rng.normal(size=(3, 6))
    keep = check(np.vstack([one, rng.normal(size=(1, 6)), one]), np.array([0, 0, 0, 1, 2, 2, 2]))
    np.testing.assert_array_equal(keep, [True, True, True, True, False, False, False])


@pytest.mark.parametrize("n", [20, 60, 90])
def test_no_pivot_is_small_and_yet_the_rank_is(n):
    """1 on the diagonal and -1 above it: every pivot is one, the smallest singular value 2^(1 - n) or so."""
    spiteful = np.eye(n) - np.triu(np.ones((n, n)), 1)
    check(spiteful.T)
    check(np.kron(np.eye(3), spiteful.T))


@pytest.mark.slow
def test_many_weak_directions_hide_behind_good_pivots():
    """More of them than the inverse iteration takes at once."""
    n, copies = 60, 12
    spiteful = np.eye(n) - np.triu(np.ones((n, n)), 1)
    check(np.kron(np.eye(copies), spiteful.T))


def test_nothing_there():
    assert independent_rows(csr_array((0, 3)), np.zeros(0, np.int64), 1.0).tolist() == []
    assert independent_rows(csr_array((2, 3)), np.arange(2), 1.0).tolist() == [False, False]


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_equilibration_takes_units_out(seed, rows, columns):
    """Whatever units rows and columns have, the scaled matrix is that of a matrix without any, up to powers of two."""
    rng = np.random.default_rng(seed)
    plain = rng.uniform(0.5, 1.0, (rows, columns))
    given_ = np.exp2(rng.integers(-60, 60, rows))[:, None] * plain * np.exp2(rng.integers(-60, 60, columns))
    row, column = equilibrate(csr_array(given_))
    scaled = (diags_array(row) @ csr_array(given_) @ diags_array(column)).toarray()
    assert scaled.max(axis=1).min() >= 0.25
    assert scaled.max(axis=0).min() >= 0.25
    assert scaled.max() <= 2.0
    assert set(np.unique(np.frexp(row)[0])) == {0.5}, "powers of two: scaling does not round"


def many_blocks(rng, spokes, shared):
    """Return P and blocks: two rows each with two columns of their own and one of all; some depend on others."""
    P = np.zeros((2 * spokes, 2 * spokes + 1))
    for k in range(spokes):
        P[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = np.eye(2) + 0.3 * rng.normal(size=(2, 2))
    P[:, -1] = shared * rng.normal(size=2 * spokes)
    P[0] = 0.0  # holds nothing
    P[5] = 0.0
    P[5, -1] = 1.0
    P[7] = 2.0 * P[5]
    return csr_array(P), np.repeat(np.arange(spokes), 2)


@pytest.mark.parametrize("few", [True, False], ids=["settled first", "eliminated"])
def test_rows_with_columns_of_their_own_are_independent(monkeypatch, few):
    monkeypatch.setattr(module, "MANY", 10 if few else 10**6)
    P, blocks = many_blocks(np.random.default_rng(0), 40, 1.0)
    keep = module.independent_rows(P, blocks, 1e-9)
    assert list(np.flatnonzero(~keep)) == [0, 7]
    assert np.linalg.matrix_rank(P.toarray()) == np.count_nonzero(keep)


def test_blocks_far_apart_are_brought_together(monkeypatch):
    """Two families of blocks along one line, numbered one family after the other; the last block stays the last."""
    monkeypatch.setattr(module, "FEW", 10)
    count = 100
    place = np.concatenate([np.arange(0, count, 2), np.arange(1, count, 2)])  # of every block on the line
    rows, columns = np.repeat(np.arange(count), 2), np.stack([place, place + 1], 1).ravel()
    P = csr_array(
        (np.ones(2 * count + 1), (np.append(rows, count), np.append(columns, 3))), shape=(count + 1, count + 1)
    )
    blocks = np.arange(count + 1)
    found = module.banded(P, blocks, count)
    assert sorted(found) == list(range(count + 1))
    assert found[-1] == count
    along = found[np.argsort(place)]
    assert np.abs(np.diff(along)).max() <= 2
    np.testing.assert_array_equal(module.banded(P, blocks, 5), blocks)
    in_line = csr_array((P.data[:-1], (rows, np.stack([np.arange(count), np.arange(count) + 1], 1).ravel())))
    np.testing.assert_array_equal(module.banded(in_line, np.arange(count), count), np.arange(count))

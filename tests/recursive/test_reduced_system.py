"""The reduced system: shortest least squares of the rank that shows."""

import numpy as np
import pytest

from rtmbs.recursive.reduced_system import factor_border, lay_border, scratch_of, solve_border


def solved(delassus, right):
    """What the kernels give for -C = ``delassus``, with the rank and the rows in the order of their pivots."""
    b, none = len(right), np.zeros(0, np.int64)
    border = lay_border(none, b, ([-1] * b, [-1] * b), [], none, 0)
    scratch = scratch_of(border, b)
    scratch.C[:], scratch.right[:] = -np.tril(delassus).ravel(), -right
    scratch.bound[:] = np.diag(delassus).max()
    factor_border(border, 1e-12, scratch)
    solve_border(border, scratch)
    return scratch.x.copy(), int(scratch.rank[0]), scratch.order.copy()


@pytest.mark.parametrize(("b", "rank"), [(1, 1), (3, 3), (5, 2), (5, 4), (9, 9), (12, 7), (6, 0)])
def test_shortest_least_squares(b, rank):
    rng = np.random.default_rng(b * 31 + rank)
    for _ in range(20):
        F = rng.normal(size=(b, rank)) * 10.0 ** rng.uniform(-2.0, 2.0, size=(b, 1))
        A, right = F @ F.T, rng.normal(size=b)
        found, r, order = solved(A, right)
        assert r == rank
        if rank == 0:
            assert not found.any()
            continue
        scale = 1.0 / np.sqrt(np.diag(A))
        wanted = scale * np.linalg.lstsq(scale[:, None] * A * scale, scale * right, rcond=1e-10)[0]
        np.testing.assert_allclose(found / scale, wanted / scale, atol=1e-8 * np.abs(wanted / scale).max())
        assert np.linalg.matrix_rank((scale[:, None] * F)[order[:rank]]) == rank


def test_a_row_that_nothing_moves_has_no_multiplier():
    A = np.diag([4.0, 1e-30])
    found, rank, order = solved(A, np.array([2.0, 1.0]))
    np.testing.assert_allclose(found, [0.5, 0.0])
    assert (rank, list(order)) == (1, [0, 1])

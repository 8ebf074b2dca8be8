"""Elimination orders of a symmetric pattern: candidates, elimination tree, column counts, flops.

A pattern is a pair (pointer, index): the neighbours of row i, without i itself, are index[pointer[i]:pointer[i + 1]].
An order lists the rows as they are eliminated; the inverse, `place`, says when a row is eliminated.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu

from rtmbs.jit.compiled import kernel

Array = Any


def symmetric_pattern(n: int, rows: Array, cols: Array) -> tuple[Array, Array, Array]:
    """Return (pointer (n + 1,), index, keys): neighbours of every row, and sorted keys row n + col of all entries.

    The pattern is symmetrised; ``keys`` holds the diagonal too, ``index`` does not.
    """
    rows, cols = np.asarray(rows, np.int64).ravel(), np.asarray(cols, np.int64).ravel()
    diagonal = np.arange(n, dtype=np.int64)
    both = np.concatenate([rows, cols, diagonal]), np.concatenate([cols, rows, diagonal])
    matrix = coo_array((np.ones(len(both[0]), np.int8), both), shape=(n, n)).tocsr()
    matrix.sort_indices()
    row, col = np.repeat(diagonal, np.diff(matrix.indptr)), matrix.indices.astype(np.int64)
    pointer = matrix.indptr - np.arange(n + 1)  # without the diagonal
    return pointer.astype(np.int64), col[row != col], row * n + col


def minimum_degree(pointer: Array, index: Array) -> Array:
    """Return SuperLU's multiple minimum degree order of the pattern.

    SuperLU has no door to the order alone, so it factorises a matrix whose diagonal is far above the rest.
    """
    n = len(pointer) - 1
    diagonal = np.arange(n)
    rows = np.concatenate([np.repeat(diagonal, np.diff(pointer)), diagonal])
    values = np.concatenate([np.full(len(index), -1.0), np.full(n, 4.0 * n)])
    matrix = csc_array((values, (rows, np.concatenate([index, diagonal]))), shape=(n, n))
    options = {"SymmetricMode": True, "Equil": False}
    return inverse(splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options).perm_c)


def inverse(order: Array) -> Array:
    """Return the place of every row in ``order``."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


@kernel
def elimination_tree(pointer, index, order, place, ancestor, parent, counts):
    """Write for every place its parent place (-1: root) and the number of entries below its pivot.

    Both come from row subtrees: row i meets column k when k lies on the way up from a neighbour of i to i.
    """
    n = len(order)
    for i in range(n):
        parent[i] = ancestor[i] = -1
        for q in range(pointer[order[i]], pointer[order[i] + 1]):
            k = place[index[q]]
            while k != -1 and k < i:  # ancestor is a shortcut of parent, moved up to i as we pass
                above = ancestor[k]
                ancestor[k] = i
                if above == -1:
                    parent[k] = i
                k = above
    for i in range(n):
        counts[i], ancestor[i] = 0, i  # ancestor: the last row that met this column
        for q in range(pointer[order[i]], pointer[order[i] + 1]):
            k = place[index[q]]
            while k < i and ancestor[k] != i:
                counts[k] += 1
                ancestor[k] = i
                k = parent[k]


def analyse_order(pointer: Array, index: Array, order: Array) -> tuple[Array, Array, int]:
    """Return (parent, counts, flops) of eliminating in ``order``; c rows below a pivot cost c divisions and 2 c^2."""
    n = len(order)
    parent, counts, ancestor = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    elimination_tree(pointer, index, order, inverse(order), ancestor, parent, counts)
    return parent, counts, int(np.sum(counts + 2 * counts * counts))


def candidates(pointer: Array, index: Array, orders: Iterable[Array]) -> Iterator[Array]:
    """Yield elimination orders to compare: the caller's, last row first (leaves of a tree first), minimum degree."""
    n = len(pointer) - 1
    for order in orders:
        yield checked(order, n)
    yield np.arange(n - 1, -1, -1, dtype=np.int64)
    yield minimum_degree(pointer, index)


def checked(order: Array, n: int) -> Array:
    """Return the order as numbers; raises ValueError when it is no permutation."""
    order = np.asarray(order, np.int64)
    if not np.array_equal(np.sort(order), np.arange(n)):
        raise ValueError(f"an elimination order must be a permutation of 0 .. {n - 1}")
    return order


def best_order(
    pointer: Array, index: Array, orders: Iterable[Array] = (), only: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return (order, parent, counts) of the candidate with least flops, or of the ``only`` one there is.

    An order without fill cannot be beaten (the pattern is then chordal, and each fill edge only adds to the counts),
    so the search ends there.
    """
    if only is not None:
        only = checked(only, len(pointer) - 1)
        return only, *analyse_order(pointer, index, only)[:2]
    best, least = None, -1
    for order in candidates(pointer, index, orders):
        parent, counts, work = analyse_order(pointer, index, order)
        if best is None or work < least:
            best, least = (order, parent, counts), work
        if 2 * int(counts.sum()) == len(index):
            break
    assert best is not None
    return best

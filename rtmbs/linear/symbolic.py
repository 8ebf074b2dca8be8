"""Symbolic factorisation: from a pattern to the tables that the kernels of sparse_lu follow.

The matrix is stored as *fronts*. A front eliminates `width` rows, its own, and touches `rest` rows eliminated later.
Its values are two dense panels: *upper*, width x (width + rest), the own rows over own and rest columns; and *lower*,
width x rest, the own columns over the rest rows, transposed. What elimination does to the rest rows and columns is
gathered in a dense *remainder*, rest x rest, and handed to the parent front. The rest rows of a front stand in reverse
order of elimination, so that the rows that a child shares with its parent mostly have the same number in both; one
child, the *heir*, therefore gives its remainder to the parent in place.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from rtmbs.jit.struct import struct
from rtmbs.linear.ordering import best_order, inverse, symmetric_pattern
from rtmbs.linear.supernodes import group_fronts, heir_first

Array = Any

# Columns of `fronts`
FIRST, WIDTH, REST = 0, 1, 2  # first own place, number of own rows, number of rest rows
UPPER, LOWER = 3, 4  # start of the two panels in the values
LIST = 5  # start in `rest` and `relative`
REMAINDER, STRIDE = 6, 7  # start and row stride of the remainder in the work array
PARENT = 8  # parent front or -1
KEPT = 9  # rest rows that are also rest rows of the parent: the first ones
SAME = 10  # of these, how many have the same number in the parent: the first ones
STARTS, INHERITS = 11, 12  # 1: clears its own remainder; 1: is the heir of its parent
COLUMNS = 13


@struct
class SparseLU(NamedTuple):
    """A pattern, its elimination order and its storage; constant. Kernels take it next to the values."""

    n: int  # unknowns that callers give and get
    total: int  # with the condensed ones behind them, whose right-hand side is zero
    size: int  # length of the flat values
    remainder_size: int  # length of the work array of remainders
    factor_flops: int  # of the chosen order, without the zeros that merging adds
    factor_nonzeros: int  # entries of L and U together, the diagonal once, without those zeros
    order: Array  # (total,) int64: row eliminated at each place
    fronts: Array  # (fronts, COLUMNS) int64, children before parents
    rest: Array  # (lists,) int64: rest rows of each front, original numbering
    relative: Array  # (lists,) int64: their number in the parent: 0 .. width - 1 own, width + k its rest row k
    pattern: Array  # (entries,) int64: sorted row total + col of the entries that the caller may use


def analyse(
    n: int,
    rows: Array,
    cols: Array,
    orders: Iterable[Array] | None = None,
    order: Array | None = None,
    condensed: int = 0,
) -> SparseLU:
    """Return the static factorisation of a matrix for n unknowns with entries at (rows[k], cols[k]).

    The pattern is symmetrised and the diagonal is added. Of several elimination orders (those given in ``orders``, last
    row first, minimum degree) the one with least flops is kept, unless ``order`` says which one it is to be.
    Unknowns n to n + ``condensed`` - 1 are condensed: their right-hand side is zero, and solve takes and gives vectors
    without them. Raises ValueError when a number is negative, an index lies outside or an order is no permutation.
    """
    rows, cols = np.asarray(rows, np.int64).ravel(), np.asarray(cols, np.int64).ravel()
    total = n + condensed
    check_indices(total, rows, cols)
    pointer, index, keys = symmetric_pattern(total, rows, cols)
    order, parent, counts = best_order(pointer, index, orders or (), order)
    front_of_place, front_parent = group_fronts(parent, counts)
    front = front_of_place[inverse(order)]
    rests = rest_rows(front, len(front_parent), front_parent, pointer, index)
    sequence, heir = heir_first(front_parent, np.array([len(r) for r in rests], np.int64))
    final = order[np.argsort(inverse(sequence)[front_of_place], kind="stable")]
    fronts, rest, relative = tabulate(final, sequence, heir, front, front_parent, rests)
    size, remainder_size = lay_out(fronts)
    flops = int(np.sum(counts + 2 * counts * counts))
    return SparseLU(
        n, total, size, remainder_size, flops, total + 2 * int(counts.sum()), final, fronts, rest, relative, keys
    )  # fmt: skip


def check_indices(n: int, rows: Array, cols: Array) -> None:
    """Raise ValueError when the entries do not fit an n x n matrix."""
    if n < 0 or len(rows) != len(cols):
        raise ValueError(f"need n >= 0 and as many rows as columns, got n = {n}, {len(rows)} rows, {len(cols)} columns")
    wrong = np.flatnonzero((rows < 0) | (rows >= n) | (cols < 0) | (cols >= n))
    if len(wrong):
        k = wrong[0]
        raise ValueError(f"entry {k}, (row {rows[k]}, column {cols[k]}), lies outside a {n} x {n} matrix")


def rest_rows(front: Array, count: int, front_parent: Array, pointer: Array, index: Array) -> list[Array]:
    """Return for every front its rest rows: neighbours of its own rows and rest rows of its children, eliminated later.

    Neighbours are own rows, ancestors or descendants; ancestors have higher fronts.
    """
    rows = np.repeat(np.arange(len(front)), np.diff(pointer))
    later = front[index] > front[rows]
    rows, cols = rows[later], index[later]
    by_front = np.argsort(front[rows], kind="stable")
    starts = np.searchsorted(front[rows][by_front], np.arange(count + 1))
    cols = cols[by_front]
    parts: list[list[Array]] = [[cols[starts[s] : starts[s + 1]]] for s in range(count)]
    rests = []
    for s in range(count):
        rest = np.unique(np.concatenate(parts[s]))
        rests.append(rest)
        if front_parent[s] >= 0:
            parts[front_parent[s]].append(rest[front[rest] > front_parent[s]])
        parts[s] = []
    return rests


def tabulate(
    order: Array, sequence: Array, heir: Array, front: Array, front_parent: Array, rests: list[Array]
) -> tuple[Array, Array, Array]:
    """Return (fronts, rest, relative), the fronts in the order ``sequence``; see SparseLU."""
    place, number = inverse(order), inverse(sequence)
    count = len(sequence)
    fronts = np.zeros((count, COLUMNS), np.int64)
    fronts[:, WIDTH] = np.bincount(number[front], minlength=count)
    fronts[:, FIRST] = np.cumsum(fronts[:, WIDTH]) - fronts[:, WIDTH]
    fronts[:, REST] = [len(rests[s]) for s in sequence]
    fronts[:, LIST] = np.cumsum(fronts[:, REST]) - fronts[:, REST]
    fronts[:, PARENT] = np.where(front_parent[sequence] >= 0, number[front_parent[sequence]], -1)
    has_heir = heir[sequence] >= 0
    fronts[:, STARTS] = (fronts[:, REST] > 0) & ~has_heir
    fronts[number[heir[sequence[has_heir]]], INHERITS] = 1
    rests = [rests[s][np.argsort(-place[rests[s]])] for s in sequence]
    relative = [np.zeros(0, np.int64)]
    for s, p in enumerate(fronts[:, PARENT]):
        if p < 0:
            continue
        first, width = int(fronts[p, FIRST]), int(fronts[p, WIDTH])
        mine, theirs = place[rests[s]], place[rests[p]]
        own = mine < first + width
        numbers = np.where(own, mine - first, width + np.searchsorted(-theirs, -mine))
        kept = int(np.sum(~own))
        moved = np.flatnonzero(numbers[:kept] != width + np.arange(kept))
        fronts[s, KEPT], fronts[s, SAME] = kept, moved[0] if len(moved) else kept
        relative.append(numbers)
    return fronts, np.concatenate([np.zeros(0, np.int64), *rests]), np.concatenate(relative)


def lay_out(fronts: Array) -> tuple[int, int]:
    """Write where panels and remainders lie; return (size of the values, size of the remainders).

    A remainder passes from heir to parent in place, so a whole line of heirs shares one square; squares are stacked,
    because the other children of a parent are visited after the heir and are done before the parent.
    """
    widths, rests = fronts[:, WIDTH], fronts[:, REST]
    sizes = widths * (widths + 2 * rests)
    fronts[:, UPPER] = np.cumsum(sizes) - sizes
    fronts[:, LOWER] = fronts[:, UPPER] + widths * (widths + rests)
    stride = rests.copy()
    heirs = np.flatnonzero(fronts[:, INHERITS])
    parents = fronts[heirs, PARENT]
    for s, p in zip(heirs, parents, strict=True):  # up the line: the widest so far
        stride[p] = max(stride[p], stride[s])
    for s, p in zip(heirs[::-1], parents[::-1], strict=True):  # down: the widest of all
        stride[s] = stride[p]
    start = np.zeros(len(fronts), np.int64)
    top = highest = 0
    for front, above in enumerate(fronts[:, PARENT].tolist()):
        if fronts[front, STARTS]:
            start[front] = top
            top += int(stride[front]) ** 2
            highest = max(highest, top)
        if fronts[front, INHERITS]:
            start[above] = start[front]
        elif rests[front] > 0:
            top = int(start[front])
    fronts[:, REMAINDER], fronts[:, STRIDE] = start, stride
    return int(sizes.sum()), highest


def entries(lu: SparseLU, rows: Array, cols: Array) -> Array:
    """Return the (k,) int64 places in the flat values where entries (rows[k], cols[k]) are accumulated.

    Raises ValueError naming the first entry that is not in the analysed pattern.
    """
    rows, cols = np.asarray(rows, np.int64).ravel(), np.asarray(cols, np.int64).ravel()
    check_indices(lu.total, rows, cols)
    keys = rows * lu.total + cols
    found = np.minimum(np.searchsorted(lu.pattern, keys), len(lu.pattern) - 1)
    missing = np.flatnonzero(lu.pattern[found] != keys) if len(keys) else keys
    if len(missing):
        k = missing[0]
        raise ValueError(f"entry {k}, (row {rows[k]}, column {cols[k]}), is not in the analysed pattern")
    place = inverse(lu.order)
    row, col = place[rows], place[cols]
    low, high = np.minimum(row, col), np.maximum(row, col)
    s = np.searchsorted(lu.fronts[:, FIRST], low, side="right") - 1
    first, width, rest, upper, lower, start = (lu.fronts[s, c] for c in (FIRST, WIDTH, REST, UPPER, LOWER, LIST))
    owners = np.repeat(np.arange(len(lu.fronts)), lu.fronts[:, REST])
    number = np.searchsorted(owners * lu.total - place[lu.rest], s * lu.total - high) - start
    inside = high < first + width
    in_upper = upper + (row - first) * (width + rest) + np.where(inside, col - first, width + number)
    return np.where(inside | (row < col), in_upper, lower + (col - first) * rest + number)


def flops(lu: SparseLU) -> int:
    """Return additions, multiplications and divisions of one factorisation."""
    return lu.factor_flops


def nonzeros(lu: SparseLU) -> int:
    """Return the entries of L and U together, the diagonal once."""
    return lu.factor_nonzeros

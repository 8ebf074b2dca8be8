"""Symbolic factorisation: elimination order, elimination tree, supernodes, and storage of a sparse pattern.

The matrix is stored as *fronts*. A front eliminates `width` rows, its own, and touches `rest` rows eliminated later.
Its values are two dense panels: *upper*, width x (width + rest), the own rows over own and rest columns; and *lower*,
width x rest, the own columns over the rest rows, transposed. What elimination does to the rest rows and columns is
gathered in a dense *remainder*, rest x rest, and handed to the parent front. The rest rows of a front stand in reverse
order of elimination, so that the rows that a child shares with its parent mostly have the same number in both; one
child, the *heir*, therefore gives its remainder to the parent in place.

A pattern is a pair (pointer, index): the neighbours of row i, without i itself, are index[pointer[i]:pointer[i + 1]].
An order lists the rows as they are eliminated; the inverse, `place`, says when a row is eliminated. Supernodes are
merged while the predicted time falls, then wide ones are split again, because a chain of fronts costs no more than one.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csc_array
from scipy.sparse.linalg import splu

from rtmbs.jit.compiled import kernel
from rtmbs.jit.struct import struct

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
    """Pattern, elimination order and storage of a factorisation; constant. Kernels take it next to the values."""

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
    """Write the places of panels and remainders; return (size of the values, size of the remainders).

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


WIDEST = 24  # pivots in one front; more would push its panels out of the first cache


def front_time(width: int, rest: int) -> float:
    """Return the predicted time of one front [ns]: factorisation, and 1 ns a stored number to clear, copy and solve.

    Fitted to the kernels; only ratios matter.
    """
    stored = width * (width + 2 * rest)
    panels = width * (8.0 + width * (0.6 + 0.02 * width))
    if rest == 0:
        return 40.0 + stored + panels
    passes = max(width // 4, 1)
    update = rest * (1.5 * passes + 0.067 * rest * (passes + width))
    return 40.0 + stored + panels + width * width * (0.6 + 0.055 * rest) + update


def group_time(width: int, rest: int) -> float:
    """Return the predicted time of a group of ``width`` pivots, split into fronts of at most WIDEST."""
    total = 0.0
    while width > WIDEST:
        width -= WIDEST
        total += front_time(WIDEST, rest + width)
    return total + front_time(width, rest)


def hand_over_time(rest: int, leaf: bool, heir: bool) -> float:
    """Return the predicted time of adding a remainder to the parent: leaves clear it first; heirs need no addition."""
    return 60.0 + rest * (5.0 + rest * (0.06 * leaf + 0.25 * (not heir)))


def fundamental(parent: Array, counts: Array) -> tuple[Array, Array]:
    """Return (group of every place, parent of every group): chains whose columns have the same rows below.

    Groups are numbered by their last place, so that a parent comes after its children.
    """
    n = len(parent)
    heir = np.full(n, -1, np.int64)
    follows = np.flatnonzero(parent >= 0)
    follows = follows[counts[follows] == counts[parent[follows]] + 1]
    heir[parent[follows]] = follows  # of several such children one, the last, joins its parent
    joined = np.zeros(n, bool)
    joined[heir[heir >= 0]] = True
    last = np.flatnonzero(~joined)
    group = np.empty(n, np.int64)
    group[last] = np.arange(len(last))
    for i in np.flatnonzero(joined)[::-1]:
        group[i] = group[parent[i]]
    above = parent[last]
    return group, np.where(above >= 0, group[above], -1)


def merge(width: list[int], rest: list[int], parent: list[int]) -> list[int]:
    """Return for every group the group it is merged into (itself when it stays); children come before parents.

    Merging a child into its parent adds zeros to the child's columns, and saves a front and its hand-over.
    """
    into = list(range(len(width)))
    children: list[list[int]] = [[] for _ in width]
    for child, p in enumerate(parent):
        if p >= 0:
            children[p].append(child)
    for p, family in enumerate(children):
        family.sort(key=lambda c: -rest[c])
        for child in family:
            saved = hand_over_time(rest[child], not children[child], child == family[0])
            apart = group_time(width[child], rest[child]) + group_time(width[p], rest[p]) + saved
            if group_time(width[child] + width[p], rest[p]) <= apart:
                width[p] += width[child]
                into[child] = p
    for child in range(len(into) - 1, -1, -1):
        into[child] = into[into[child]]
    return into


def heir_first(parent: Array, rest: Array) -> tuple[Array, Array]:
    """Return (postorder of the groups, heir of every group or -1).

    The heir is the child with most rows below; visited first, it hands its remaining block to the parent in place.
    """
    count = len(parent)
    children: list[list[int]] = [[] for _ in range(count)]
    heir = np.full(count, -1, np.int64)
    for child in range(count):
        p = parent[child]
        if p >= 0:
            children[p].append(child)
            if rest[p] > 0 and (heir[p] < 0 or rest[child] > rest[heir[p]]):
                heir[p] = child
    for p in np.flatnonzero(heir >= 0):
        children[p].remove(heir[p])
        children[p].insert(0, heir[p])
    order: list[int] = []
    stack: list[int] = np.flatnonzero(parent < 0).tolist()
    while stack:  # parents first, children from last to first; reversed this is a postorder
        s = stack.pop()
        order.append(s)
        stack.extend(children[s])
    return np.array(order[::-1], np.int64), heir


def group_fronts(parent: Array, counts: Array) -> tuple[Array, Array]:
    """Return (front of every place, parent of every front), children before parents, from an elimination tree."""
    group, group_parent = fundamental(parent, counts)
    width = np.bincount(group).tolist()
    last = last_place(group, len(width))
    into = merge(width, counts[last].tolist(), group_parent.tolist())
    group = np.array(into, np.int64)[group]
    rank = rank_in_group(group)
    label = group * (len(parent) + 1) + rank // WIDEST  # a wide group is split
    _, front = np.unique(label, return_inverse=True)
    count = int(front.max(initial=-1)) + 1
    front = np.argsort(np.argsort(last_place(front, count)))[front]  # numbered by last place
    last = last_place(front, count)
    above = parent[last]
    front_parent = np.where(above >= 0, front[above], -1)
    by_group: dict[int, int] = {}
    for f in range(count - 1, -1, -1):
        g = int(group[last[f]])
        if g in by_group:
            front_parent[f] = by_group[g]
        by_group[g] = f
    return front, front_parent


def last_place(group: Array, count: int) -> Array:
    """Return the last place of every group."""
    last = np.zeros(count, np.int64)
    np.maximum.at(last, group, np.arange(len(group)))
    return last


def rank_in_group(group: Array) -> Array:
    """Return how many earlier places belong to the same group, for every place."""
    by_group = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[by_group], group[by_group])
    rank = np.empty(len(group), np.int64)
    rank[by_group] = np.arange(len(group)) - starts
    return rank

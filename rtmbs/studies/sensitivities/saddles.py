"""Saddle-point matrices [A, B; P, -compliance] of corrections and projections: factored or solved by iteration.

Independent loop equations allow a factor of the whole. Redundant ones leave it to rounding how they share a load. There
the step's own passes are taken: an augmented Lagrangian with the weight of the penalties (METHODS 1.12, 1.13).
Places that arrays hold are cast to unsigned (`at`), because numba folds negative ones, which takes as long as the work.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as at
from numpy.typing import NDArray

from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel
from rtmbs.jit.struct import struct

Array = Any  # numba types by value; the shapes stand on the fields

SOUND = 1e-9  # of its size: error of a known solution; a worse factor is one of rounding
PASSES, MOST_PASSES = 2, 8  # each leaves 1 / (1 + c) of the violation, and refines what rounding left
SETTLED = 1e-10  # of a solution: a larger last change asks for a further pass
FALLING, REMAINS = 1e-8, 1e-13  # likewise, unless changes fall so fast that the next one is smaller than what remains
PASSES_TAKEN, LOADED, FILLED = 2, 4, 5  # places among the facts
FEW = 2  # columns up to which they are solved one after the other: more are worked on together
LARGE = 32  # coordinates and rows from which passes cost less than a factor of the whole
DIAGONAL = 0.1  # of the largest entry of a column: a diagonal entry that large is the pivot of A + B weight P


@struct
class Saddle(NamedTuple):
    """Memory of one saddle-point matrix, its factor, and solutions with up to c columns."""

    row: Array  # (e,) int64 of the entries, sorted; pointer says where those of a row begin
    column: Array  # (e,) int64
    value: Array  # (e,)
    pointer: Array  # (n + m + 1,) int64
    loaded: Array  # (e,) int64: which entries are those of B
    factor: Array  # (n + m, n + m): L and U of the matrix, or in its corner of A + B weight P, last coordinate first
    exchanges: Array  # (n + m,) int64: the row that changed places with each
    below: Array  # (n + m,) int64 scratch: rows with an entry below a pivot
    # entries of L and U that are not zero, row by row: of row i those of L, from ends[2 i] on, then those of U
    places: Array  # ((n + m)^2 + 1,) int64: columns
    numbers: Array  # ((n + m)^2 + 1,)
    ends: Array  # (2 (n + m) + 1,) int64
    inverse: Array  # (n + m,) of the diagonal of U
    weight: Array  # (m,) 1 over the compliance of the penalties
    # (6,) int64: n, whether rows may be redundant, whether passes are taken, whether they come first, entries of B, and
    # 1 + the number of the pattern that is filled in, 0 before
    facts: Array
    left: Array  # (n + m, c) scratch
    found: Array  # (n + m, c) scratch
    change: Array  # (n + m, c) scratch
    share: Array  # (c,) scratch: last change of each solution, of its size


def saddle(n: int, weight: NDArray[np.float64], redundant: bool, columns: int, room: int | None = None) -> Saddle:
    """Return memory for matrices with n coordinates, rows of these weights, and ``room`` for entries."""
    size = n + len(weight)
    entries = size * size if room is None else room
    facts = np.array([n, redundant and len(weight) > 0, 0, len(weight) > 0 and size >= LARGE, 0, 0])
    scratch = (*(np.zeros((size, columns)) for _ in range(3)), np.zeros(columns))
    held = np.zeros(entries, np.int64), np.zeros(entries, np.int64), np.zeros(entries), np.zeros(size + 1, np.int64)
    square = np.zeros((size, size)), np.zeros(size, np.int64), np.zeros(size, np.int64)
    triangles = np.zeros(size**2 + 1, np.int64), np.zeros(size**2 + 1), np.zeros(2 * size + 1, np.int64), np.zeros(size)
    loaded = np.zeros(entries, np.int64)
    return Saddle(*held, loaded, *square, *triangles, np.ascontiguousarray(weight), facts, *scratch)


class Entries(NamedTuple):
    """Values (K, e) of the entries of K saddle-point matrices, at the same places row by row."""

    row: NDArray[np.int64]  # (e,) sorted
    column: NDArray[np.int64]  # (e,)
    values: NDArray[np.float64]  # (K, e)


def entries_of(row: NDArray[np.int64], column: NDArray[np.int64], values: NDArray[np.float64]) -> Entries:
    """Return entries at different places (e,) in any order, sorted by rows."""
    order = np.lexsort((column, row))
    return Entries(row[order], column[order], np.ascontiguousarray(values[:, order]))


def dense_entries(S: NDArray[np.float64]) -> Entries:
    """Return the entries of matrices (K, n + m, n + m)."""
    row, column = np.nonzero(np.any(S != 0.0, axis=0))
    return Entries(row, column, np.ascontiguousarray(S[:, row, column]))


def solved(
    given: Entries, n: int, weight: NDArray[np.float64], redundant: bool, right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the solutions (K, n + m, c) for right sides (K, n + m, c)."""
    found = np.array(right, order="C")
    solve_all(*given, saddle(n, weight, redundant, right.shape[2], len(given.row)), found, False)
    return found


@kernel
def solve_all(row: Array, column: Array, values: Array, own: Saddle, right: Array, transposed: bool) -> None:
    """Solve with each matrix, or its transpose, in place."""
    clear(own)
    for e in range(len(row)):
        put(own, row[e], column[e])
    for k in range(len(values)):
        for e in range(len(row)):
            own.value[e] = values[k, e]
        factor_saddle(own)
        if transposed:
            solve_saddle_transposed(own, right[k], 0)
        else:
            solve_saddle(own, right[k], 0)


@inlined_kernel
def clear(own: Saddle) -> None:
    """Forget all places of entries."""
    own.facts[LOADED] = 0
    for i in range(len(own.pointer)):
        own.pointer[i] = 0


@inlined_kernel
def put(own: Saddle, i: int, j: int) -> None:
    """Take the place of the next entry, those of a row before those of the next one."""
    size, n = len(own.pointer) - 1, own.facts[0]
    e = own.pointer[size]
    own.row[e], own.column[e] = i, j
    own.pointer[size] = e + 1
    if i + 1 < size:
        own.pointer[i + 1] = e + 1
    if i < n and j >= n:
        own.loaded[own.facts[LOADED]] = e
        own.facts[LOADED] += 1


@inner_kernel
def factor_saddle(own: Saddle) -> None:
    """Factor the matrix of the entries, and decide whether passes are taken.

    Large matrices take them first. Behind a matrix that needed passes they are taken again: they serve a sound matrix
    as well.
    """
    for i in range(1, len(own.pointer) - 1):  # rows without an entry end where the one before does
        own.pointer[i] = max(own.pointer[i], own.pointer[i - 1])
    if own.facts[3] == 1:
        own.facts[2] = 1
    if own.facts[2] == 0:
        factor_whole(own)
        own.facts[2] = own.facts[1] == 1 and not is_sound(own, own.facts[0], len(own.factor))
    if own.facts[2] == 1:
        factor_weighted(own)


@inner_kernel
def factor_whole(own: Saddle) -> None:
    """Factor [A, B; P, -compliance]."""
    size, F = len(own.factor), own.factor
    for i in range(size):
        for j in range(size):
            F[i, j] = 0.0
    for e in range(own.pointer[size]):
        F[own.row[e], own.column[e]] = own.value[e]
    factor_lu(F, size, own.exchanges, own.below, 1.0)
    list_triangles(own, size)


@inner_kernel
def factor_weighted(own: Saddle) -> None:
    """Factor A + B weight P, last coordinate first: coordinates of a tree then fill in nothing between branches."""
    n, F, column, value = own.facts[0], own.factor, own.column, own.value
    for i in range(n):
        for j in range(n):
            F[at(i), at(j)] = 0.0
    for e in range(own.pointer[n]):
        if column[at(e)] < n:
            F[at(n - 1 - own.row[at(e)]), at(n - 1 - column[at(e)])] += value[at(e)]
    for one in range(own.facts[LOADED]):
        e = own.loaded[at(one)]
        i, k = n - 1 - own.row[at(e)], column[at(e)]
        weighted = value[at(e)] * own.weight[at(k - n)]
        for f in range(own.pointer[at(k)], own.pointer[at(k + 1)]):
            if column[at(f)] < n:
                F[at(i), at(n - 1 - column[at(f)])] += weighted * value[at(f)]
    factor_lu(F, n, own.exchanges, own.below, DIAGONAL)
    list_triangles(own, n)


@inner_kernel
def is_sound(own: Saddle, n: int, size: int) -> bool:
    """Return whether the factor reproduces a known solution with two parts that load the upper rows equally."""
    mass, load = 0.0, 0.0
    for e in range(own.pointer[n]):
        if own.column[e] < n:
            mass = max(mass, abs(own.value[e]))
        else:
            load = max(load, abs(own.value[e]))
    force = mass / load if load > 0.0 else 1.0
    x = own.change
    for i in range(size):
        total = 0.0
        for e in range(own.pointer[i], own.pointer[i + 1]):
            j = own.column[e]
            total += own.value[e] * known(j) * (1.0 if j < n else force)
        x[i, 0] = total
    solve_lu(own, size, x, 0, 1)
    for i in range(size):
        one = 1.0 if i < n else force
        if not abs(x[i, 0] - known(i) * one) < SOUND * one:
            return False
    return True


@inlined_kernel
def known(i: int) -> float:
    """Return an entry of the known solution: between 1 and 2, of changing sign, in no simple ratio to others."""
    part = 1.0 + (0.6180339887498949 * i) % 1.0
    return -part if i % 2 else part


@inner_kernel
def solve_saddle(own: Saddle, b: Array, first: int) -> None:
    """Solve in place for the rows of b (ny, c) from ``first`` on."""
    if own.facts[2] == 0 or not take_passes(own, b, first, False):
        solve_lu(own, len(own.factor), b, first, b.shape[1])


@inner_kernel
def solve_saddle_transposed(own: Saddle, b: Array, first: int) -> None:
    """Solve with the transpose in place for the rows of b (ny, c) from ``first`` on."""
    if own.facts[2] == 0 or not take_passes(own, b, first, True):
        solve_lu_transposed(own, len(own.factor), b, first, b.shape[1])


@inner_kernel
def take_passes(own: Saddle, b: Array, first: int, transposed: bool) -> bool:
    """Solve by iteration; where it does not settle, factor the whole, leave b and return False.

    Redundant rows may have no sound factor of the whole. The last pass stands then. A column count known to the
    compiler makes one or two columns faster.
    """
    if b.shape[1] == 1:
        settled = passes(own, b, first, transposed, 1)
    elif b.shape[1] == 2:
        settled = passes(own, b, first, transposed, 2)
    else:
        settled = passes(own, b, first, transposed, b.shape[1])
    if settled:
        return True
    factor_whole(own)
    if own.facts[1] == 0 or is_sound(own, own.facts[0], len(own.factor)):
        own.facts[2] = 0
        return False
    factor_weighted(own)
    for i in range(len(own.factor)):
        for c in range(b.shape[1]):
            b[first + i, c] = own.found[i, c]
    return True


@inlined_kernel
def passes(own: Saddle, b: Array, first: int, transposed: bool, columns: int) -> bool:
    """Reduce the residual of both rows, several times; write b where it settles, and return whether it does."""
    n, size = own.facts[0], len(own.factor)
    left, found, change, weight = own.left, own.found, own.change, own.weight
    for i in range(size):
        for c in range(columns):
            found[i, c] = 0.0
    for c in range(columns):
        own.share[c] = 1.0
    settled, turn = False, 0
    while turn < PASSES or (not settled and turn < MOST_PASSES):
        for i in range(size):
            for c in range(columns):
                left[i, c] = b[first + i, c]
        if turn > 0:
            add_products(own, 0, size, -1.0, found, left, transposed, columns)
        weigh(own, left, change, transposed, columns)
        if transposed:
            solve_lu_transposed(own, n, change, 0, columns)
        else:
            solve_lu(own, n, change, 0, columns)
        for i in range(n):
            for c in range(columns):
                found[i, c] += change[n - 1 - i, c]
        for k in range(n, size):
            for c in range(columns):
                left[k, c] = -left[k, c]
        add_lower(own, change, left, transposed, columns)
        for k in range(n, size):
            for c in range(columns):
                found[k, c] += weight[k - n] * left[k, c]
        settled, turn = is_settled(change, found, own.share, n, columns), turn + 1
    if settled:
        for i in range(size):
            for c in range(columns):
                b[first + i, c] = found[i, c]
    return settled


@inlined_kernel
def is_settled(change: Array, found: Array, share: Array, n: int, columns: int) -> bool:
    """Return whether what is left to change of the coordinates is small in every column; keep the last ``share``."""
    settled = True
    for c in range(columns):
        largest, last = 0.0, 0.0
        for i in range(n):
            largest, last = max(largest, abs(found[i, c])), max(last, abs(change[i, c]))
        before = share[c] * largest
        share[c] = last / largest if largest > 0.0 else 1.0
        falls = last <= FALLING * largest and share[c] * last <= REMAINS * before
        if not (last <= SETTLED * largest or falls):
            settled = False
    return settled


@inlined_kernel
def add_products(
    own: Saddle, begin: int, end: int, factor: float, x: Array, b: Array, transposed: bool, columns: int
) -> None:
    """Add ``factor`` times the products of the entries of some rows and x (n + m, c) to b."""
    row, column, value, pointer = own.row, own.column, own.value, own.pointer
    if transposed or columns > FEW:
        for e in range(pointer[begin], pointer[end]):
            i, j, product = row[at(e)], column[at(e)], factor * value[at(e)]
            if transposed:
                i, j = j, i
            for c in range(columns):
                b[at(i), c] += product * x[at(j), c]
        return
    last = columns - 1  # sums of a row stay in registers: each would wait for the one before in memory
    for i in range(begin, end):
        one, other = b[at(i), 0], b[at(i), last]
        for e in range(pointer[at(i)], pointer[at(i + 1)]):
            j, product = column[at(e)], factor * value[at(e)]
            one += product * x[at(j), 0]
            if last > 0:
                other += product * x[at(j), last]
        b[at(i), 0] = one
        if last > 0:
            b[at(i), last] = other


@inlined_kernel
def weigh(own: Saddle, left: Array, right: Array, transposed: bool, columns: int) -> None:
    """Write right = left + B weight left in the rows of coordinates, last one first; of the transpose B is P^T."""
    n, size = own.facts[0], len(own.factor)
    for i in range(n):
        for c in range(columns):
            right[n - 1 - i, c] = left[i, c]
    begin = own.pointer[n] if transposed else 0
    for one in range(begin, own.pointer[size] if transposed else own.facts[LOADED]):
        e = one if transposed else own.loaded[at(one)]
        i, k = own.row[at(e)], own.column[at(e)]
        if transposed:
            i, k = k, i
        if i < n:
            value = own.value[at(e)] * own.weight[at(k - n)]
            for c in range(columns):
                right[at(n - 1 - i), c] += value * left[at(k), c]


@inlined_kernel
def add_lower(own: Saddle, x: Array, b: Array, transposed: bool, columns: int) -> None:
    """Add P x in the rows of loops of b, x with its last row first; of the transpose P is B^T."""
    n, size, row, column, value = own.facts[0], len(own.factor), own.row, own.column, own.value
    if transposed:
        for one in range(own.facts[LOADED]):
            e = own.loaded[at(one)]
            k, j = column[at(e)], row[at(e)]
            for c in range(columns):
                b[at(k), c] += value[at(e)] * x[at(n - 1 - j), c]
        return
    for k in range(n, size):
        for c in range(columns):
            total = b[at(k), c]
            for e in range(own.pointer[at(k)], own.pointer[at(k + 1)]):
                if column[at(e)] < n:
                    total += value[at(e)] * x[at(n - 1 - column[at(e)]), c]
            b[at(k), c] = total


@inner_kernel
def factor_lu(F: Array, n: int, exchanges: Array, below: Array, diagonal: float) -> None:
    """F (n, n) = P L U in place, with row exchanges where a pivot is below ``diagonal`` of its column's largest."""
    for c in range(n):
        p, largest, count = c, abs(F[at(c), at(c)]), 0
        for i in range(c + 1, n):
            size = abs(F[at(i), at(c)])
            if size > largest:
                p, largest = i, size
            if size != 0.0:
                below[at(count)] = i
                count += 1
        if p != c and abs(F[c, c]) >= diagonal * largest:
            p = c
        exchanges[c] = p
        if p != c:
            for j in range(n):
                F[c, j], F[p, j] = F[p, j], F[c, j]
            count = entries_below(F, n, c, below)
        inverse, first = 1.0 / F[c, c], c + 1
        if count > 0:  # branches of a tree come one after the other: a row begins with zeros
            while first < n and F[at(c), at(first)] == 0.0:
                first += 1
        for k in range(count):
            i = below[at(k)]
            factor = F[at(i), at(c)] * inverse
            F[at(i), at(c)] = factor
            for j in range(first, n):
                F[at(i), at(j)] -= factor * F[at(c), at(j)]


@inlined_kernel
def entries_below(F: Array, n: int, c: int, below: Array) -> int:
    """Fill in the rows with an entry below the diagonal of column c; return how many there are."""
    count = 0
    for i in range(c + 1, n):
        if F[at(i), at(c)] != 0.0:
            below[at(count)] = i
            count += 1
    return count


@inner_kernel
def list_triangles(own: Saddle, n: int) -> None:
    """List the entries of L and U that are not zero: several solutions then skip the others without a look.

    A zero is written too, and overwritten by the next entry: a branch for each would take longer.
    """
    F, places, numbers, count = own.factor, own.places, own.numbers, 0
    for i in range(n):
        own.ends[2 * i] = count
        for j in range(i):
            value = F[at(i), at(j)]
            places[at(count)], numbers[at(count)] = j, value
            count += 1 if value != 0.0 else 0
        own.ends[2 * i + 1] = count
        own.inverse[i] = 1.0 / F[i, i]
        for j in range(i + 1, n):
            value = F[at(i), at(j)]
            places[at(count)], numbers[at(count)] = j, value
            count += 1 if value != 0.0 else 0
    own.ends[2 * n] = count


@inner_kernel
def solve_lu(own: Saddle, n: int, b: Array, first: int, columns: int) -> None:
    """Solve in place for the rows of b from ``first`` on."""
    places, numbers, ends = own.places, own.numbers, own.ends
    for i in range(n):
        swap(b, first + i, first + own.exchanges[i], columns)
    if columns > FEW:
        for i in range(n):
            for e in range(ends[2 * i], ends[2 * i + 1]):
                take_away(b, first + i, numbers[at(e)], b, first + places[at(e)], columns)
        for i in range(n - 1, -1, -1):
            for e in range(ends[2 * i + 1], ends[2 * i + 2]):
                take_away(b, first + i, numbers[at(e)], b, first + places[at(e)], columns)
            for c in range(columns):
                b[first + i, c] *= own.inverse[i]
        return
    last = columns - 1  # two sums at once: each product waits for the one before in its own
    for i in range(n):
        one, other = b[first + i, 0], b[first + i, last]
        for e in range(ends[2 * i], ends[2 * i + 1]):
            number, j = numbers[at(e)], first + places[at(e)]
            one -= number * b[at(j), 0]
            other -= number * b[at(j), last]
        b[first + i, 0], b[first + i, last] = one, other
    for i in range(n - 1, -1, -1):
        one, other = b[first + i, 0], b[first + i, last]
        for e in range(ends[2 * i + 1], ends[2 * i + 2]):
            number, j = numbers[at(e)], first + places[at(e)]
            one -= number * b[at(j), 0]
            other -= number * b[at(j), last]
        b[first + i, 0], b[first + i, last] = one * own.inverse[i], other * own.inverse[i]


@inner_kernel
def solve_lu_transposed(own: Saddle, n: int, b: Array, first: int, columns: int) -> None:
    """Solve with the transpose in place for the rows of b from ``first`` on."""
    places, numbers, ends = own.places, own.numbers, own.ends
    if columns > FEW:
        for j in range(n):
            for c in range(columns):
                b[first + j, c] *= own.inverse[j]
            for e in range(ends[2 * j + 1], ends[2 * j + 2]):
                take_away(b, first + places[at(e)], numbers[at(e)], b, first + j, columns)
        for j in range(n - 1, -1, -1):
            for e in range(ends[2 * j], ends[2 * j + 1]):
                take_away(b, first + places[at(e)], numbers[at(e)], b, first + j, columns)
    else:
        for c in range(columns):
            for j in range(n):
                value = b[first + j, c] * own.inverse[j]
                b[first + j, c] = value
                for e in range(ends[2 * j + 1], ends[2 * j + 2]):
                    b[at(first + places[at(e)]), at(c)] -= numbers[at(e)] * value
            for j in range(n - 1, -1, -1):
                value = b[first + j, c]
                for e in range(ends[2 * j], ends[2 * j + 1]):
                    b[at(first + places[at(e)]), at(c)] -= numbers[at(e)] * value
    for i in range(n - 1, -1, -1):
        swap(b, first + i, first + own.exchanges[i], columns)


@inlined_kernel
def take_away(b: Array, i: int, factor: float, x: Array, j: int, columns: int) -> None:
    """Subtract factor times row j of x from row i of b; a loop over a single column costs more than its work."""
    if columns == 1:
        b[at(i), 0] -= factor * x[at(j), 0]
    else:
        for c in range(columns):
            b[at(i), c] -= factor * x[at(j), c]


@inlined_kernel
def swap(b: Array, i: int, j: int, columns: int) -> None:
    """Exchange two rows."""
    if i != j:
        for c in range(columns):
            b[i, c], b[j, c] = b[j, c], b[i, c]

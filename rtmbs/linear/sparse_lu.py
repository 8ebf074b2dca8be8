"""Compiled sparse LU without pivoting on a pattern analysed once: factor, solve, multiply, solve with refinement.

Multifrontal (see symbolic): every inner loop runs over contiguous numbers. Values are unsymmetric; only the pattern is
symmetric. Places and starts are cast to unsigned where a loop should vectorise, because numba folds negative indices.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as at

from rtmbs.compiled import kernel
from rtmbs.linear.symbolic import (
    FIRST,
    INHERITS,
    KEPT,
    LIST,
    LOWER,
    PARENT,
    REMAINDER,
    REST,
    SAME,
    STARTS,
    STRIDE,
    UPPER,
    WIDTH,
    SparseLU,
)

Array = Any

SMALL_PIVOT = 1e-10  # of the pivot's own diagonal before elimination: below, without pivoting nothing can be trusted
BACKWARD_ERROR = 1e-12  # componentwise; a Newton step needs no better, and a healthy factor gives 1e-15
MAX_REFINEMENTS = 3


class LUWorkspace(NamedTuple):
    """Scratch of one factorisation; allocated once."""

    original: Array  # (size,) values as accumulated, for the residual check of solve_refined
    factored: Array  # (size,) values overwritten by factor
    remainder: Array  # (remainder_size,) stack of remainders
    diagonal: Array  # (n,) diagonal before elimination, by place
    residual: Array  # (n,)
    scale: Array  # (n,)


def workspace(lu: SparseLU, dtype: type = np.float64) -> LUWorkspace:
    """Allocate the scratch that factor and solve need."""
    sizes = (lu.size, lu.size, lu.remainder_size, lu.n, lu.n, lu.n)
    return LUWorkspace(*(np.zeros(size, dtype) for size in sizes))


@kernel
def subtract_products(X, target, skip, rows, length, C, start, down, along, Y, source, step, pivots):
    """X[i, :] -= sum_p C[i, p] Y[p, :] for ``rows`` rows of X, four pivots at a time.

    Row i of X starts at target + i skip, C[i, p] is at start + i down + p along, row p of Y starts at source + p step.
    """
    p = 0
    while p + 4 <= pivots:
        y = source + p * step
        for i in range(rows):
            x, c = target + i * skip, start + i * down + p * along
            c0, c1, c2, c3 = C[at(c)], C[at(c + along)], C[at(c + 2 * along)], C[at(c + 3 * along)]
            for j in range(length):
                X[at(x + j)] = (
                    X[at(x + j)]
                    - c0 * Y[at(y + j)]
                    - c1 * Y[at(y + step + j)]
                    - c2 * Y[at(y + 2 * step + j)]
                    - c3 * Y[at(y + 3 * step + j)]
                )
        p += 4
    while p < pivots:
        y = source + p * step
        for i in range(rows):
            x, c0 = target + i * skip, C[at(start + i * down + p * along)]
            for j in range(length):
                X[at(x + j)] -= c0 * Y[at(y + j)]
        p += 1


@kernel
def eliminate(values, upper, lower, width, rest, diagonal, first):
    """Factorise the panels of a front; return 0 or 1 + the number of the own row whose pivot is too small.

    Afterwards: upper holds U right of the diagonal, 1 / pivot on it and unit L below; lower holds L of the rest rows.
    """
    stride = width + rest
    for begin in range(0, width, 4):
        end = min(begin + 4, width)
        for p in range(begin, end):  # the own columns of this block
            row = upper + p * stride
            pivot = values[at(row + p)]
            if not (abs(pivot) > SMALL_PIVOT * abs(diagonal[first + p]) and abs(pivot) < np.inf):
                return p + 1
            inverse = 1.0 / pivot
            values[at(row + p)] = inverse
            for q in range(p + 1, width):
                below = upper + q * stride
                factor = values[at(below + p)] * inverse
                values[at(below + p)] = factor
                for j in range(p + 1, end):
                    values[at(below + j)] -= factor * values[at(row + j)]
        for p in range(begin, end):  # rows of U and of L within the block
            row, low = upper + p * stride, lower + p * rest
            subtract_products(
                values, row + end, 0, 1, stride - end, values, row + begin, 0, 1,
                values, upper + begin * stride + end, stride, p - begin,
            )  # fmt: skip
            subtract_products(
                values, low, 0, 1, rest, values, upper + begin * stride + p, 0, stride,
                values, lower + begin * rest, rest, p - begin,
            )  # fmt: skip
            inverse = values[at(row + p)]
            for j in range(rest):
                values[at(low + j)] *= inverse
        row = upper + end * stride
        subtract_products(
            values, row + end, stride, width - end, stride - end, values, row + begin, stride, 1,
            values, upper + begin * stride + end, stride, end - begin,
        )  # fmt: skip
        subtract_products(
            values, lower + end * rest, rest, width - end, rest, values, upper + begin * stride + end, 1, stride,
            values, lower + begin * rest, rest, end - begin,
        )  # fmt: skip
    return 0


@kernel
def hand_over(fronts, relative, s, values, remainder):
    """Add the remainder of front ``s`` to the panels of its parent, and to the parent's remainder."""
    p = fronts[s, PARENT]
    rest, kept, same, start = fronts[s, REST], fronts[s, KEPT], fronts[s, SAME], fronts[s, LIST]
    mine, stride = fronts[s, REMAINDER], fronts[s, STRIDE]
    width, rest_p = fronts[p, WIDTH], fronts[p, REST]
    upper, lower, stride_p = fronts[p, UPPER], fronts[p, LOWER], width + rest_p
    for i in range(kept, rest):  # rows and columns that the parent eliminates
        own = relative[start + i]
        row, into, low = mine + i * stride, upper + own * stride_p, lower + own * rest_p
        for j in range(same):
            values[at(into + width + j)] += remainder[at(row + j)]
        for j in range(same, rest):
            values[into + relative[start + j]] += remainder[row + j]
        for j in range(same):
            values[at(low + j)] += remainder[at(mine + j * stride + i)]
        for j in range(same, kept):
            values[low + relative[start + j] - width] += remainder[mine + j * stride + i]
    if fronts[s, INHERITS] == 1:
        spread(remainder, mine, stride, relative, start, kept, same, width, rest_p)
    elif kept > 0:
        theirs, stride_p = fronts[p, REMAINDER], fronts[p, STRIDE]
        for i in range(kept):
            row, into = mine + i * stride, theirs + (relative[start + i] - width) * stride_p
            for j in range(same):
                remainder[at(into + j)] += remainder[at(row + j)]
            for j in range(same, kept):
                remainder[into + relative[start + j] - width] += remainder[row + j]


@kernel
def spread(remainder, mine, stride, relative, start, kept, same, width, rest):
    """Move the first ``kept`` rows and columns of a remainder to their numbers in the parent; clear the others.

    In place: numbers only grow, so rows go from last to first, and columns too.
    """
    free = rest  # rows from here on are done
    for i in range(kept - 1, -1, -1):
        number = i if i < same else relative[start + i] - width
        for row in range(number + 1, free):
            for j in range(rest):
                remainder[at(mine + row * stride + j)] = 0.0
        source, target = mine + i * stride, mine + number * stride
        last = rest
        for j in range(kept - 1, same - 1, -1):
            column = relative[start + j] - width
            moved = remainder[source + j]
            for k in range(column + 1, last):
                remainder[target + k] = 0.0
            remainder[target + column] = moved
            last = column
        for k in range(same, last):
            remainder[target + k] = 0.0
        if number != i:
            for j in range(same):
                remainder[target + j] = remainder[source + j]
        free = number
    for row in range(free):
        for j in range(rest):
            remainder[at(mine + row * stride + j)] = 0.0


@kernel
def factor(lu, values, work):
    """Factorise in place, without pivoting. Returns 0, or i + 1 when row i (original numbering) has too small a pivot.

    Too small: below SMALL_PIVOT of its own diagonal before elimination, zero, or not finite. Values are then spoilt.
    """
    fronts, remainder, diagonal = lu.fronts, work.remainder, work.diagonal
    for s in range(len(fronts)):
        first, width, upper = fronts[s, FIRST], fronts[s, WIDTH], fronts[s, UPPER]
        for p in range(width):
            diagonal[first + p] = values[upper + p * (width + fronts[s, REST] + 1)]
    for s in range(len(fronts)):
        width, rest, upper, lower = fronts[s, WIDTH], fronts[s, REST], fronts[s, UPPER], fronts[s, LOWER]
        bad = eliminate(values, upper, lower, width, rest, diagonal, fronts[s, FIRST])
        if bad > 0:
            return lu.order[fronts[s, FIRST] + bad - 1] + 1
        if rest > 0:
            mine, stride = fronts[s, REMAINDER], fronts[s, STRIDE]
            if fronts[s, STARTS] == 1:
                for k in range(rest * stride):
                    remainder[at(mine + k)] = 0.0
            subtract_products(
                remainder, mine, stride, rest, rest, values, lower, 1, rest,
                values, upper + width, width + rest, width,
            )  # fmt: skip
            hand_over(fronts, lu.relative, s, values, remainder)
    return 0


@kernel
def solve(lu, values, work, b):
    """Solve A x = b with factored values; ``b`` (n,) in original numbering becomes x."""
    fronts, order, rest_rows = lu.fronts, lu.order, lu.rest
    for s in range(len(fronts)):
        first, width, rest, start = fronts[s, FIRST], fronts[s, WIDTH], fronts[s, REST], fronts[s, LIST]
        upper, lower = fronts[s, UPPER], fronts[s, LOWER]
        for p in range(width):
            x = b[order[first + p]]
            for q in range(p + 1, width):
                b[order[first + q]] -= values[upper + q * (width + rest) + p] * x
            for j in range(rest):
                b[rest_rows[start + j]] -= values[lower + p * rest + j] * x
    for s in range(len(fronts) - 1, -1, -1):
        first, width, rest, start = fronts[s, FIRST], fronts[s, WIDTH], fronts[s, REST], fronts[s, LIST]
        for p in range(width - 1, -1, -1):
            row = fronts[s, UPPER] + p * (width + rest)
            x = b[order[first + p]]
            for q in range(p + 1, width):
                x -= values[row + q] * b[order[first + q]]
            for j in range(rest):
                x -= values[row + width + j] * b[rest_rows[start + j]]
            b[order[first + p]] = x * values[row + p]


@kernel
def multiply(lu, original, x, out):
    """out = A x with the values as accumulated, before factor; x and out (n,) in original numbering, two arrays."""
    for i in range(lu.n):
        out[i] = 0.0
    add_product(lu, original, x, 1.0, out)


@kernel
def add_product(lu, original, x, factor, out):
    """out += factor A x with the values as accumulated."""
    fronts, order, rest_rows = lu.fronts, lu.order, lu.rest
    for s in range(len(fronts)):
        first, width, rest, start = fronts[s, FIRST], fronts[s, WIDTH], fronts[s, REST], fronts[s, LIST]
        for p in range(width):
            i = order[first + p]
            row, low = fronts[s, UPPER] + p * (width + rest), fronts[s, LOWER] + p * rest
            total, own = 0.0 * x[i], factor * x[i]
            for q in range(width):
                total += original[row + q] * x[order[first + q]]
            for j in range(rest):
                k = rest_rows[start + j]
                total += original[row + width + j] * x[k]
                out[k] += original[low + j] * own
            out[i] += factor * total


@kernel
def add_magnitudes(lu, original, x, out):
    """out += |A| |x|, the yardstick of the componentwise backward error."""
    fronts, order, rest_rows = lu.fronts, lu.order, lu.rest
    for s in range(len(fronts)):
        first, width, rest, start = fronts[s, FIRST], fronts[s, WIDTH], fronts[s, REST], fronts[s, LIST]
        for p in range(width):
            i = order[first + p]
            row, low = fronts[s, UPPER] + p * (width + rest), fronts[s, LOWER] + p * rest
            own = abs(x[i])
            for q in range(width):
                out[i] += abs(original[row + q] * x[order[first + q]])
            for j in range(rest):
                k = rest_rows[start + j]
                out[i] += abs(original[row + width + j] * x[k])
                out[k] += abs(original[low + j]) * own


@kernel
def backward_error(lu, original, work, b, x):
    """Return max_i |b - A x|_i / (|A| |x| + |b|)_i and leave b - A x in work.residual (Oettli and Prager)."""
    for i in range(lu.n):
        work.residual[i] = b[i]
        work.scale[i] = abs(b[i])
    add_product(lu, original, x, -1.0, work.residual)
    add_magnitudes(lu, original, x, work.scale)
    worst = 0.0
    for i in range(lu.n):
        error = abs(work.residual[i])
        if error > 0.0 and not error <= worst * abs(work.scale[i]):
            worst = error / abs(work.scale[i])
    return worst


@kernel
def solve_refined(lu, original, factored, work, b, x):
    """Solve A x = b, check the residual once, refine only when it asks for it; returns the number of refinements.

    ``original``: values as accumulated; ``factored``: the same after factor; b and x (n,) are not the same array.
    """
    for i in range(lu.n):
        x[i] = b[i]
    solve(lu, factored, work, x)
    error = backward_error(lu, original, work, b, x)
    count = 0
    while error > BACKWARD_ERROR and count < MAX_REFINEMENTS:
        solve(lu, factored, work, work.residual)
        for i in range(lu.n):
            x[i] += work.residual[i]
        count += 1
        error, previous = backward_error(lu, original, work, b, x), error
        if error > 0.5 * previous:
            break
    return count

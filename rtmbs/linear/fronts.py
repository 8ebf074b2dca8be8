"""Compiled: elimination inside one front, and the way its remainder goes to the parent (see symbolic for the storage).

Every inner loop runs over contiguous numbers. Places are cast to unsigned (`at`) where a loop should vectorise, because
numba folds negative indices. Several rows are taken at a time, so that a number loaded is used more than once.
"""

import numpy as np
from numpy import uint64 as at

from rtmbs.jit.compiled import coarse_inner_kernel, inner_kernel
from rtmbs.linear.symbolic import INHERITS, KEPT, LIST, LOWER, PARENT, REMAINDER, REST, SAME, STRIDE, UPPER, WIDTH

SMALL_PIVOT = 1e-10  # of the pivot's own diagonal before elimination: below, without pivoting nothing can be trusted


@coarse_inner_kernel
def subtract_products(X, target, skip, rows, length, C, start, down, along, Y, source, step, pivots):
    """X[i, :] -= sum_p C[i, p] Y[p, :] for ``rows`` rows of X; each pass over X takes five, four, two or one pivots.

    Row i of X starts at target + i skip, C[i, p] is at start + i down + p along, row p of Y starts at source + p step.
    """
    p = 0
    while p < pivots:
        left = pivots - p
        x, c = target, start + p * along
        y0 = source + p * step
        y1, y2, y3, y4 = y0 + step, y0 + 2 * step, y0 + 3 * step, y0 + 4 * step
        if left >= 5 * (left % 4) > 0:
            for _ in range(rows):
                c0, c1, c2 = C[at(c)], C[at(c + along)], C[at(c + 2 * along)]
                c3, c4 = C[at(c + 3 * along)], C[at(c + 4 * along)]
                for j in range(length):
                    low = X[at(x + j)] - c0 * Y[at(y0 + j)] - c1 * Y[at(y1 + j)] - c2 * Y[at(y2 + j)]
                    X[at(x + j)] = low - c3 * Y[at(y3 + j)] - c4 * Y[at(y4 + j)]
                x, c = x + skip, c + down
            p += 5
        elif left >= 4:
            for _ in range(rows):
                c0, c1, c2, c3 = C[at(c)], C[at(c + along)], C[at(c + 2 * along)], C[at(c + 3 * along)]
                for j in range(length):
                    low = X[at(x + j)] - c0 * Y[at(y0 + j)] - c1 * Y[at(y1 + j)]
                    X[at(x + j)] = low - c2 * Y[at(y2 + j)] - c3 * Y[at(y3 + j)]
                x, c = x + skip, c + down
            p += 4
        elif left >= 2:
            for _ in range(rows):
                c0, c1 = C[at(c)], C[at(c + along)]
                for j in range(length):
                    X[at(x + j)] = X[at(x + j)] - c0 * Y[at(y0 + j)] - c1 * Y[at(y1 + j)]
                x, c = x + skip, c + down
            p += 2
        else:
            for _ in range(rows):
                c0 = C[at(c)]
                for j in range(length):
                    X[at(x + j)] -= c0 * Y[at(y0 + j)]
                x, c = x + skip, c + down
            p += 1


@inner_kernel
def bad_pivot(pivot, diagonal):
    """Return True for a pivot that is too small against its diagonal before elimination, zero, or not finite."""
    return not (abs(pivot) > SMALL_PIVOT * abs(diagonal) and abs(pivot) < np.inf)


@inner_kernel
def eliminate_four(values, row, stride, low, rest, below, diagonal, first):
    """Factorise a 4 x 4 diagonal block at ``row``, its rows and its columns; return 0 or which pivot, from 1, is bad.

    ``below`` own rows follow. The same 4 x 4 triangle clears the own rows below and the lower panel.
    """
    r0, r1, r2, r3 = row, row + stride, row + 2 * stride, row + 3 * stride
    u00, u01, u02, u03 = values[at(r0)], values[at(r0 + 1)], values[at(r0 + 2)], values[at(r0 + 3)]
    i0 = 1.0 / u00
    l10, l20, l30 = values[at(r1)] * i0, values[at(r2)] * i0, values[at(r3)] * i0
    u11, u12, u13 = values[at(r1 + 1)] - l10 * u01, values[at(r1 + 2)] - l10 * u02, values[at(r1 + 3)] - l10 * u03
    i1 = 1.0 / u11
    l21, l31 = (values[at(r2 + 1)] - l20 * u01) * i1, (values[at(r3 + 1)] - l30 * u01) * i1
    u22, u23 = values[at(r2 + 2)] - l20 * u02 - l21 * u12, values[at(r2 + 3)] - l20 * u03 - l21 * u13
    i2 = 1.0 / u22
    l32 = (values[at(r3 + 2)] - l30 * u02 - l31 * u12) * i2
    u33 = values[at(r3 + 3)] - l30 * u03 - l31 * u13 - l32 * u23
    i3 = 1.0 / u33
    if bad_pivot(u00, diagonal[at(first)]):
        return 1
    if bad_pivot(u11, diagonal[at(first + 1)]):
        return 2
    if bad_pivot(u22, diagonal[at(first + 2)]):
        return 3
    if bad_pivot(u33, diagonal[at(first + 3)]):
        return 4
    values[at(r0)] = i0
    values[at(r1)], values[at(r1 + 1)], values[at(r1 + 2)], values[at(r1 + 3)] = l10, i1, u12, u13
    values[at(r2)], values[at(r2 + 1)], values[at(r2 + 2)], values[at(r2 + 3)] = l20, l21, i2, u23
    values[at(r3)], values[at(r3 + 1)], values[at(r3 + 2)], values[at(r3 + 3)] = l30, l31, l32, i3
    for j in range(4, 4 + below + rest):
        x0 = values[at(r0 + j)]
        x1 = values[at(r1 + j)] - l10 * x0
        x2 = values[at(r2 + j)] - l20 * x0 - l21 * x1
        x3 = values[at(r3 + j)] - l30 * x0 - l31 * x1 - l32 * x2
        values[at(r1 + j)], values[at(r2 + j)], values[at(r3 + j)] = x1, x2, x3
    for q in range(4, 4 + below):
        k = row + q * stride
        x0 = values[at(k)] * i0
        x1 = (values[at(k + 1)] - x0 * u01) * i1
        x2 = (values[at(k + 2)] - x0 * u02 - x1 * u12) * i2
        x3 = (values[at(k + 3)] - x0 * u03 - x1 * u13 - x2 * u23) * i3
        values[at(k)], values[at(k + 1)], values[at(k + 2)], values[at(k + 3)] = x0, x1, x2, x3
    for j in range(rest):
        k = low + j
        x0 = values[at(k)] * i0
        x1 = (values[at(k + rest)] - x0 * u01) * i1
        x2 = (values[at(k + 2 * rest)] - x0 * u02 - x1 * u12) * i2
        x3 = (values[at(k + 3 * rest)] - x0 * u03 - x1 * u13 - x2 * u23) * i3
        values[at(k)], values[at(k + rest)], values[at(k + 2 * rest)], values[at(k + 3 * rest)] = x0, x1, x2, x3
    return 0


@coarse_inner_kernel
def eliminate(values, upper, lower, width, rest, diagonal, first):
    """Factorise the panels of a front; return 0 or 1 + the number of the own row whose pivot is too small.

    Afterwards: upper holds U right of the diagonal, 1 / pivot on it and unit L below; lower holds L of the rest rows.
    """
    stride = width + rest
    p = 0
    while p < width:
        row, low = upper + p * (stride + 1), lower + p * rest
        if p + 4 <= width:
            count = 4
            bad = eliminate_four(values, row, stride, low, rest, width - p - 4, diagonal, first + p)
            if bad > 0:
                return p + bad
        else:
            count = 1
            if bad_pivot(values[at(row)], diagonal[at(first + p)]):
                return p + 1
            inverse = 1.0 / values[at(row)]
            values[at(row)] = inverse
            for q in range(1, width - p):
                values[at(row + q * stride)] *= inverse
            for j in range(rest):
                values[at(low + j)] *= inverse
        if p + count < width:
            step, after = count * stride, width - p - count
            subtract_products(
                values, row + step + count, stride, after, after + rest, values, row + step, stride, 1,
                values, row + count, stride, count,
            )  # fmt: skip
            if rest > 0:
                subtract_products(
                    values, low + count * rest, rest, after, rest, values, row + count, 1, stride,
                    values, low, rest, count,
                )  # fmt: skip
        p += count
    return 0


@inner_kernel
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


@inner_kernel
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

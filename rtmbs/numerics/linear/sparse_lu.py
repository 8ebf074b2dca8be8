"""Multifrontal sparse LU without pivoting, compiled: factor, solve, multiply, solve with iterative refinement.

Fronts are dense blocks, children visited first; ``symbolic`` has the storage. Values are unsymmetric; only the pattern
is symmetric. Every inner loop runs over contiguous numbers. Places are cast to unsigned (`at`) where a loop should
vectorise, because numba folds negative indices. Several rows are taken at a time, so that a number loaded is used more
than once.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as at

from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inner_kernel, kernel
from rtmbs.jit.struct import struct
from rtmbs.numerics.linear.symbolic import (
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

BACKWARD_ERROR = 1e-12  # componentwise; a Newton step needs no better, and a healthy factor gives 1e-15
MAX_REFINEMENTS = 3
USELESS = 1e-6  # a backward error that stays above this says: the static order does not suit these values


@struct
class LUWorkspace(NamedTuple):
    """Work arrays of one factorisation; allocated once."""

    original: Array  # (size,) values as accumulated, for the residual check of solve_refined
    factored: Array  # (size,) values overwritten by factor
    remainder: Array  # (remainder_size,) stack of remainders
    diagonal: Array  # (total,) diagonal before elimination, by place
    residual: Array  # (total,)
    scale: Array  # (total,)
    solution: Array  # (total,)
    step: Array  # (1,) mark of what is in the factor, by whoever made it; 0 behind ``factor``


def workspace(lu: SparseLU, dtype: type = np.float64) -> LUWorkspace:
    """Return the work arrays that factor and solve need."""
    sizes = (lu.size, lu.size, lu.remainder_size, lu.total, lu.total, lu.total, lu.total, 1)
    return LUWorkspace(*(np.zeros(size, dtype) for size in sizes))


@coarse_kernel
def factor(lu, values, work):
    """Factorise in place, without pivoting. Returns 0, or i + 1 when row i (original numbering) has too small a pivot.

    Too small: below SMALL_PIVOT of its own diagonal before elimination, zero, or not finite. Values are then spoilt.
    """
    fronts, remainder, diagonal = lu.fronts, work.remainder, work.diagonal
    work.step[0] = 0.0
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


@inner_kernel
def substitute(lu, values, x):
    """Solve A x = b with factored values; ``x`` (total,) holds b before and the solution after."""
    fronts = lu.fronts
    for s in range(len(fronts)):
        own, rows = lu.order[fronts[s, FIRST] :], lu.rest[fronts[s, LIST] :]
        forward(values, x, own, rows, fronts[s, WIDTH], fronts[s, REST], fronts[s, UPPER], fronts[s, LOWER])
    for s in range(len(fronts) - 1, -1, -1):
        own, rows = lu.order[fronts[s, FIRST] :], lu.rest[fronts[s, LIST] :]
        backward(values, x, own, rows, fronts[s, WIDTH], fronts[s, REST], fronts[s, UPPER])


@inner_kernel
def extend(lu, b, x):
    """Set x (total,) to b (n,) followed by zeros in condensed rows."""
    for i in range(lu.n):
        x[i] = b[i]
    for i in range(lu.n, lu.total):
        x[i] = 0.0


@coarse_kernel
def solve(lu, values, work, b):
    """Solve A x = b with factored values; ``b`` (n,) in original numbering becomes x."""
    extend(lu, b, work.solution)
    substitute(lu, values, work.solution)
    for i in range(lu.n):
        b[i] = work.solution[i]


@inner_kernel
def subtract_product(lu, original, x, out, scale, scaled):
    """out -= A x, and when ``scaled``, scale += |A| |x|; with the values as accumulated."""
    fronts = lu.fronts
    for s in range(len(fronts)):
        own, rows = lu.order[fronts[s, FIRST] :], lu.rest[fronts[s, LIST] :]
        width, rest, upper, lower = fronts[s, WIDTH], fronts[s, REST], fronts[s, UPPER], fronts[s, LOWER]
        subtract_front(original, x, out, scale, scaled, own, rows, width, rest, upper, lower)


@kernel
def multiply(lu, original, x, out):
    """out = A x with the values as accumulated, before factor; x and out (total,) are two arrays."""
    for i in range(lu.total):
        out[i] = 0.0
    subtract_product(lu, original, x, out, out, False)
    for i in range(lu.total):
        out[i] = -out[i]


@inner_kernel
def backward_error(lu, original, work, b, x):
    """Return max_i |b - A x|_i / (|A| |x| + |b|)_i (Oettli and Prager), b - A x in work.residual; inf for NaN.

    b (n,); x and the residual (total,).
    """
    extend(lu, b, work.residual)
    for i in range(lu.total):
        work.scale[i] = abs(work.residual[i])
    subtract_product(lu, original, x, work.residual, work.scale, True)
    worst = 0.0
    for i in range(lu.total):
        error = abs(work.residual[i])
        if not error < np.inf:
            return np.inf
        if error > worst * work.scale[i]:
            worst = error / work.scale[i]
    return worst


@coarse_kernel
def solve_refined(lu, original, factored, work, b, x):
    """Solve A x = b, check the residual once, refine only when it asks for it; returns the number of refinements.

    Returns -1 when the backward error stays above USELESS or is not a number: take the pivoted dense factor.
    ``original``: values as accumulated; ``factored``: the same after factor; b and x (n,) are not the same array.
    """
    for i in range(lu.total):
        work.solution[i] = 0.0
    extend(lu, b, work.residual)
    error, count = np.inf, -1
    while error > BACKWARD_ERROR and count < MAX_REFINEMENTS:
        substitute(lu, factored, work.residual)
        for i in range(lu.total):
            work.solution[i] += work.residual[i]
        count += 1
        error, previous = backward_error(lu, original, work, b, work.solution), error
        if not error < 0.5 * previous:
            break
    for i in range(lu.n):
        x[i] = work.solution[i]
    return count if error < USELESS else -1


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
    """Return whether a pivot is too small against its diagonal before elimination, zero, or not finite."""
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
    """Add the remainder (update matrix) of front ``s`` to the panels of its parent, and to the parent's remainder."""
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
        spread_remainder(remainder, mine, stride, relative, start, kept, same, width, rest_p)
    elif kept > 0:
        theirs, stride_p = fronts[p, REMAINDER], fronts[p, STRIDE]
        for i in range(kept):
            row, into = mine + i * stride, theirs + (relative[start + i] - width) * stride_p
            for j in range(same):
                remainder[at(into + j)] += remainder[at(row + j)]
            for j in range(same, kept):
                remainder[into + relative[start + j] - width] += remainder[row + j]


@inner_kernel
def spread_remainder(remainder, mine, stride, relative, start, kept, same, width, rest):
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


@inner_kernel
def forward(values, b, order, rest_rows, width, rest, upper, lower):
    """Solve with L of one front: take its own rows out of the rows below, four at a time.

    Zeros are passed over: what acts near the root of a tree leaves most of its fronts alone.
    """
    stride = width + rest
    for p in range(0, width - 3, 4):
        row, low = upper + p * (stride + 1), lower + p * rest
        x0 = b[at(order[p])]
        x1 = b[at(order[p + 1])] - values[at(row + stride)] * x0
        x2 = b[at(order[p + 2])] - values[at(row + 2 * stride)] * x0 - values[at(row + 2 * stride + 1)] * x1
        x3 = b[at(order[p + 3])] - values[at(row + 3 * stride)] * x0 - values[at(row + 3 * stride + 1)] * x1
        x3 -= values[at(row + 3 * stride + 2)] * x2
        if x0 == 0.0 and x1 == 0.0 and x2 == 0.0 and x3 == 0.0:
            continue
        b[at(order[p + 1])], b[at(order[p + 2])], b[at(order[p + 3])] = x1, x2, x3
        for q in range(4, width - p):
            k = row + q * stride
            first, second = values[at(k)] * x0 + values[at(k + 1)] * x1, values[at(k + 2)] * x2 + values[at(k + 3)] * x3
            b[at(order[p + q])] -= first + second
        for j in range(rest):
            k = low + j
            first = values[at(k)] * x0 + values[at(k + rest)] * x1
            second = values[at(k + 2 * rest)] * x2 + values[at(k + 3 * rest)] * x3
            b[at(rest_rows[j])] -= first + second
    for p in range(width - width % 4, width):
        x0 = b[at(order[p])]
        if x0 == 0.0:
            continue
        for q in range(p + 1, width):
            b[at(order[q])] -= values[at(upper + q * stride + p)] * x0
        for j in range(rest):
            b[at(rest_rows[j])] -= values[at(lower + p * rest + j)] * x0


@inner_kernel
def backward(values, b, order, rest_rows, width, rest, upper):
    """Solve with U of one front: the last own rows one by one, the others four at a time."""
    stride = width + rest
    whole = width - width % 4
    for p in range(width - 1, whole - 1, -1):
        row = upper + p * stride
        x0 = b[at(order[p])]
        for q in range(p + 1, width):
            x0 -= values[at(row + q)] * b[at(order[q])]
        for j in range(rest):
            x0 -= values[at(row + width + j)] * b[at(rest_rows[j])]
        b[at(order[p])] = x0 * values[at(row + p)]
    for p in range(whole - 4, -1, -4):
        row = upper + p * stride
        x0, x1, x2, x3 = b[at(order[p])], b[at(order[p + 1])], b[at(order[p + 2])], b[at(order[p + 3])]
        for q in range(p + 4, width):
            k, x = row + q, b[at(order[q])]
            x0 -= values[at(k)] * x
            x1 -= values[at(k + stride)] * x
            x2 -= values[at(k + 2 * stride)] * x
            x3 -= values[at(k + 3 * stride)] * x
        for j in range(rest):
            k, x = row + width + j, b[at(rest_rows[j])]
            x0 -= values[at(k)] * x
            x1 -= values[at(k + stride)] * x
            x2 -= values[at(k + 2 * stride)] * x
            x3 -= values[at(k + 3 * stride)] * x
        k = row + p
        x3 *= values[at(k + 3 * stride + 3)]
        x2 = (x2 - values[at(k + 2 * stride + 3)] * x3) * values[at(k + 2 * stride + 2)]
        x1 = (x1 - values[at(k + stride + 2)] * x2 - values[at(k + stride + 3)] * x3) * values[at(k + stride + 1)]
        x0 = x0 - values[at(k + 1)] * x1 - values[at(k + 2)] * x2 - values[at(k + 3)] * x3
        b[at(order[p])], b[at(order[p + 1])] = x0 * values[at(k)], x1
        b[at(order[p + 2])], b[at(order[p + 3])] = x2, x3


@inner_kernel
def subtract_front(original, x, out, scale, scaled, own, rows, width, rest, upper, lower):
    """out -= A x for the entries of one front, four own rows at a time; when ``scaled``, scale += |A| |x| as well."""
    stride = width + rest
    for p in range(0, width, 4):
        last = width - 1 - p  # rows past the last own row repeat it and count for nothing
        q1, q2, q3 = min(1, last), min(2, last), min(3, last)
        i0, i1, i2, i3 = own[at(p)], own[at(p + q1)], own[at(p + q2)], own[at(p + q3)]
        x0, x1 = x[at(i0)], x[at(i1)] if last > 0 else 0.0
        x2, x3 = x[at(i2)] if last > 1 else 0.0, x[at(i3)] if last > 2 else 0.0
        a0 = upper + p * stride
        a1, a2, a3 = a0 + q1 * stride, a0 + q2 * stride, a0 + q3 * stride
        b0 = lower + p * rest
        b1, b2, b3 = b0 + q1 * rest, b0 + q2 * rest, b0 + q3 * rest
        r0 = r1 = r2 = r3 = s0 = s1 = s2 = s3 = 0.0
        for j in range(stride):
            k = own[at(j)] if j < width else rows[at(j - width)]
            y = x[at(k)]
            t0, t1 = original[at(a0 + j)] * y, original[at(a1 + j)] * y
            t2, t3 = original[at(a2 + j)] * y, original[at(a3 + j)] * y
            r0, r1, r2, r3 = r0 + t0, r1 + t1, r2 + t2, r3 + t3
            if scaled:
                s0, s1, s2, s3 = s0 + abs(t0), s1 + abs(t1), s2 + abs(t2), s3 + abs(t3)
        for j in range(rest):
            t0, t1 = original[at(b0 + j)] * x0, original[at(b1 + j)] * x1
            t2, t3 = original[at(b2 + j)] * x2, original[at(b3 + j)] * x3
            k = rows[at(j)]
            out[at(k)] -= (t0 + t1) + (t2 + t3)
            if scaled:
                scale[at(k)] += (abs(t0) + abs(t1)) + (abs(t2) + abs(t3))
        for q in range(min(4, width - p)):
            i = own[p + q]
            out[i] -= r0 if q == 0 else r1 if q == 1 else r2 if q == 2 else r3
            if scaled:
                scale[i] += s0 if q == 0 else s1 if q == 1 else s2 if q == 2 else s3

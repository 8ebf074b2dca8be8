"""Compiled sparse LU without pivoting on a pattern analysed once: factor, solve, multiply, solve with refinement.

Multifrontal: fronts are dense blocks, children visited first (see symbolic). Values are unsymmetric; only the pattern
is symmetric.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import uint64 as at

from rtmbs.jit.compiled import coarse_kernel, inner_kernel, kernel
from rtmbs.jit.struct import struct
from rtmbs.linear.fronts import eliminate, hand_over, subtract_products
from rtmbs.linear.substitution import backward, forward, subtract_front
from rtmbs.linear.symbolic import FIRST, LIST, LOWER, REMAINDER, REST, STARTS, STRIDE, UPPER, WIDTH, SparseLU

Array = Any

BACKWARD_ERROR = 1e-12  # componentwise; a Newton step needs no better, and a healthy factor gives 1e-15
MAX_REFINEMENTS = 3
USELESS = 1e-6  # a backward error that stays above this says: the static order does not suit these values


@struct
class LUWorkspace(NamedTuple):
    """Scratch of one factorisation; allocated once."""

    original: Array  # (size,) values as accumulated, for the residual check of solve_refined
    factored: Array  # (size,) values overwritten by factor
    remainder: Array  # (remainder_size,) stack of remainders
    diagonal: Array  # (total,) diagonal before elimination, by place
    residual: Array  # (total,)
    scale: Array  # (total,)
    solution: Array  # (total,)
    step: Array  # (1,) h of the Newton matrix that is in the factor [s]; 0 for any other matrix


def workspace(lu: SparseLU, dtype: type = np.float64) -> LUWorkspace:
    """Allocate the scratch that factor and solve need."""
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
    """Let x (total,) be b (n,) and zeros in condensed rows."""
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

"""Saddle-point matrices [A, B; P, -compliance] of corrections and projections: factored or solved by iteration.

Independent loop equations allow a factor of the whole. Redundant ones leave it to rounding how they share a load. There
the step's own passes are taken: an augmented Lagrangian with the weight of the penalties (METHODS 1.12, 1.13).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel
from rtmbs.jit.struct import struct

Array = Any  # numba types by value; the shapes stand on the fields

SOUND = 1e-9  # of its size: error of a known solution; a worse factor is one of rounding
PASSES = 3  # each leaves 1 / (1 + c) of the violation, and refines what rounding left


@struct
class Saddle(NamedTuple):
    """Memory of one saddle-point matrix, its factor, and solutions with up to c columns."""

    S: Array  # (n + m, n + m)
    factor: Array  # (n + m, n + m): L and U of S, or in its corner of A + B weight P
    exchanges: Array  # (n + m,) int64: the row that changed places with each
    weight: Array  # (m,) 1 over the compliance of the penalties
    facts: Array  # (3,) int64: n, whether rows may be redundant, whether passes are taken since a matrix needed them
    left: Array  # (n + m, c) scratch
    found: Array  # (n + m, c) scratch
    change: Array  # (n + m, c) scratch


def saddle(n: int, weight: NDArray[np.float64], redundant: bool, columns: int) -> Saddle:
    """Return memory for matrices with n coordinates and rows of these weights."""
    size = n + len(weight)
    facts = np.array([n, redundant and len(weight) > 0, 0])
    scratch = (np.zeros((size, columns)) for _ in range(3))
    square = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size, np.int64)
    return Saddle(*square, np.ascontiguousarray(weight), facts, *scratch)


def solved(
    S: NDArray[np.float64], n: int, weight: NDArray[np.float64], redundant: bool, right: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the solutions (K, n + m, c) of matrices S (K, n + m, n + m)."""
    found = np.array(right, order="C")
    solve_all(np.ascontiguousarray(S), saddle(n, weight, redundant, right.shape[2]), found, False)
    return found


@kernel
def solve_all(S: Array, own: Saddle, right: Array, transposed: bool) -> None:
    """Solve with each matrix, or its transpose, in place."""
    for k in range(len(S)):
        for i in range(S.shape[1]):
            for j in range(S.shape[1]):
                own.S[i, j] = S[k, i, j]
        factor_saddle(own)
        if transposed:
            solve_saddle_transposed(own, right[k], 0)
        else:
            solve_saddle(own, right[k], 0)


@inner_kernel
def factor_saddle(own: Saddle) -> None:
    """Factor the matrix in ``own.S``, and decide whether passes are taken.

    Behind a matrix that needed passes they are taken again: they serve a sound matrix as well.
    """
    if own.facts[2] == 0:
        factor_whole(own)
        own.facts[2] = own.facts[1] == 1 and not is_sound(own, own.facts[0], len(own.S))
    if own.facts[2] == 1:
        factor_weighted(own)


@inner_kernel
def factor_whole(own: Saddle) -> None:
    """Factor [A, B; P, -compliance]."""
    size, S, F = len(own.S), own.S, own.factor
    for i in range(size):
        for j in range(size):
            F[i, j] = S[i, j]
    factor_lu(F, size, own.exchanges)


@inner_kernel
def factor_weighted(own: Saddle) -> None:
    """Factor A + B weight P."""
    n, size, S, F = own.facts[0], len(own.S), own.S, own.factor
    for i in range(n):
        for j in range(n):
            F[i, j] = S[i, j]
        for k in range(n, size):
            weighted = S[i, k] * own.weight[k - n]
            for j in range(n):
                F[i, j] += weighted * S[k, j]
    factor_lu(F, n, own.exchanges)


@inner_kernel
def is_sound(own: Saddle, n: int, size: int) -> bool:
    """Return whether the factor reproduces a known solution with two parts that load the upper rows equally."""
    S, mass, load = own.S, 0.0, 0.0
    for i in range(n):
        for j in range(n):
            mass = max(mass, abs(S[i, j]))
        for j in range(n, size):
            load = max(load, abs(S[i, j]))
    force = mass / load if load > 0.0 else 1.0
    x = own.change
    for i in range(size):
        total = 0.0
        for j in range(size):
            total += S[i, j] * known(j) * (1.0 if j < n else force)
        x[i, 0] = total
    solve_lu(own.factor, size, own.exchanges, x, 0, 1)
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
    if own.facts[2] == 0:
        solve_lu(own.factor, len(own.S), own.exchanges, b, first, b.shape[1])
    else:
        take_passes(own, b, first, False)


@inner_kernel
def solve_saddle_transposed(own: Saddle, b: Array, first: int) -> None:
    """Solve with the transpose in place for the rows of b (ny, c) from ``first`` on."""
    if own.facts[2] == 0:
        solve_lu_transposed(own.factor, len(own.S), own.exchanges, b, first, b.shape[1])
    else:
        take_passes(own, b, first, True)


@inlined_kernel
def entry(S: Array, i: int, j: int, transposed: bool) -> float:
    """Return an entry of a matrix or of its transpose."""
    return S[j, i] if transposed else S[i, j]


@inner_kernel
def take_passes(own: Saddle, b: Array, first: int, transposed: bool) -> None:
    """Solve by iteration; a column count known to the compiler makes a single column faster."""
    if b.shape[1] == 1:
        passes(own, b, first, transposed, 1)
    else:
        passes(own, b, first, transposed, b.shape[1])


@inlined_kernel
def passes(own: Saddle, b: Array, first: int, transposed: bool, columns: int) -> None:
    """Reduce the residual of both rows, several times."""
    n, size, S = own.facts[0], len(own.S), own.S
    left, found, change, weight = own.left, own.found, own.change, own.weight
    for i in range(size):
        for c in range(columns):
            found[i, c] = 0.0
    for turn in range(PASSES):
        for i in range(size):
            for c in range(columns):
                left[i, c] = b[first + i, c]
            for j in range(size if turn > 0 else 0):
                take_away(left, i, entry(S, i, j, transposed), found, j, columns)
        for i in range(n):
            for c in range(columns):
                change[i, c] = left[i, c]
            for k in range(n, size):
                take_away(change, i, -entry(S, i, k, transposed) * weight[k - n], left, k, columns)
        if transposed:
            solve_lu_transposed(own.factor, n, own.exchanges, change, 0, columns)
        else:
            solve_lu(own.factor, n, own.exchanges, change, 0, columns)
        for i in range(n):
            for c in range(columns):
                found[i, c] += change[i, c]
        for k in range(n, size):
            for c in range(columns):
                left[k, c] = -left[k, c]
            for j in range(n):
                take_away(left, k, -entry(S, k, j, transposed), change, j, columns)
            for c in range(columns):
                found[k, c] += weight[k - n] * left[k, c]
    for i in range(size):
        for c in range(columns):
            b[first + i, c] = found[i, c]


@inner_kernel
def factor_lu(F: Array, n: int, exchanges: Array) -> None:
    """F (n, n) = P L U in place, with row exchanges."""
    for c in range(n):
        p = c
        for i in range(c + 1, n):
            if abs(F[i, c]) > abs(F[p, c]):
                p = i
        exchanges[c] = p
        if p != c:
            for j in range(n):
                F[c, j], F[p, j] = F[p, j], F[c, j]
        inverse = 1.0 / F[c, c]
        for i in range(c + 1, n):
            if F[i, c] != 0.0:
                factor = F[i, c] * inverse
                F[i, c] = factor
                for j in range(c + 1, n):
                    F[i, j] -= factor * F[c, j]


@inner_kernel
def solve_lu(F: Array, n: int, exchanges: Array, b: Array, first: int, columns: int) -> None:
    """Solve in place for the rows of b from ``first`` on."""
    for i in range(n):
        swap(b, first + i, first + exchanges[i], columns)
    for i in range(n):
        for j in range(i):
            if F[i, j] != 0.0:
                take_away(b, first + i, F[i, j], b, first + j, columns)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if F[i, j] != 0.0:
                take_away(b, first + i, F[i, j], b, first + j, columns)
        for c in range(columns):
            b[first + i, c] /= F[i, i]


@inner_kernel
def solve_lu_transposed(F: Array, n: int, exchanges: Array, b: Array, first: int, columns: int) -> None:
    """Solve with the transpose in place for the rows of b from ``first`` on."""
    for j in range(n):
        for c in range(columns):
            b[first + j, c] /= F[j, j]
        for i in range(j + 1, n):
            if F[j, i] != 0.0:
                take_away(b, first + i, F[j, i], b, first + j, columns)
    for j in range(n - 1, -1, -1):
        for i in range(j):
            if F[j, i] != 0.0:
                take_away(b, first + i, F[j, i], b, first + j, columns)
    for i in range(n - 1, -1, -1):
        swap(b, first + i, first + exchanges[i], columns)


@inlined_kernel
def take_away(b: Array, i: int, factor: float, x: Array, j: int, columns: int) -> None:
    """Subtract factor times row j of x from row i of b; a loop over a single column costs more than its work."""
    if columns == 1:
        b[i, 0] -= factor * x[j, 0]
    else:
        for c in range(columns):
            b[i, c] -= factor * x[j, c]


@inlined_kernel
def swap(b: Array, i: int, j: int, columns: int) -> None:
    """Exchange two rows."""
    if i != j:
        for c in range(columns):
            b[i, c], b[j, c] = b[j, c], b[i, c]

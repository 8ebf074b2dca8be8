"""The under-constrained linear solver of MKSim (METHODS 4), and the readable solution of least change.

A x = b with fewer equations than unknowns, or dependent ones: elimination picks as many unknowns as there are
independent equations, and leaves the others frozen at their previous values.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.jit.compiled import inner_kernel, kernel

KEEP = 0.1  # share of the row maximum above which a pivot of the last time is taken again


@kernel
def eliminate_rows(U, y, x, columns, rows, old, kept, dropped, least, full):
    """Eliminate in place; x holds the previous values and becomes the solution. Returns the rank.

    ``kept`` and ``dropped`` are places of rows in U. Columns are exchanged by number, and rows too where ``full``.
    """
    m, n = U.shape
    rank, gone = 0, 0
    for i in range(m):
        if full:
            bring_largest(U, y, columns, rows, i, rank)
        largest, place = -1.0, rank
        for j in range(rank, n):
            if abs(U[i, columns[j]]) > largest:
                largest, place = abs(U[i, columns[j]]), j
        if not largest > least:
            dropped[gone] = i
            gone += 1
            continue
        if old[i] >= 0:
            for j in range(rank, n):
                if columns[j] == old[i] and abs(U[i, old[i]]) >= KEEP * largest:
                    place = j
        columns[rank], columns[place] = columns[place], columns[rank]
        eliminate_column(U, y, columns, i, rank)
        kept[rank] = i
        rank += 1
    for r in range(rank - 1, -1, -1):
        total = y[kept[r]]
        for j in range(r + 1, n):
            total -= U[kept[r], columns[j]] * x[columns[j]]
        x[columns[r]] = total
    return rank


@inner_kernel
def bring_largest(U, y, columns, rows, i, rank):
    """Exchange row i with the one below that has the largest entry left."""
    m, n = U.shape
    best, at = -1.0, i
    for k in range(i, m):
        for j in range(rank, n):
            if abs(U[k, columns[j]]) > best:
                best, at = abs(U[k, columns[j]]), k
    for j in range(n):
        U[i, j], U[at, j] = U[at, j], U[i, j]
    y[i], y[at] = y[at], y[i]
    rows[i], rows[at] = rows[at], rows[i]


@inner_kernel
def eliminate_column(U, y, columns, i, rank):
    """Divide row i by its pivot and take its multiples from the rows below."""
    m, n = U.shape
    column = columns[rank]
    pivot = U[i, column]
    for j in range(rank, n):
        U[i, columns[j]] /= pivot
    y[i] /= pivot
    for k in range(i + 1, m):
        share = U[k, column]
        if share != 0.0:
            for j in range(rank, n):
                U[k, columns[j]] -= share * U[i, columns[j]]
            y[k] -= share * y[i]


Array = NDArray[np.float64]
PIVOTS = ("row", "full")


class Solution(NamedTuple):
    """Solution of an elimination, with its pivots."""

    x: Array  # (n,)
    pivots: NDArray[np.int64]  # (r,) the unknowns solved for, in the order of the rows kept
    dependent: NDArray[np.int64]  # rows dropped
    inconsistency: Array  # (m - r,) what was left of b in them


def eliminate(
    A: Any,
    b: Any,
    previous: Any = None,
    *,
    pivot: str = "full",
    tolerance: float = 1e-10,
    last: NDArray[np.int64] | None = None,
) -> Solution:
    """Solve A x = b (m, n) by elimination; unknowns that no pivot takes keep their value in ``previous`` (zero).

    Parameters
    ----------
    A : object
        Matrix (m, n).
    b : object
        Right-hand side (m,).
    previous : object, optional
        Values (n,) of unknowns without a pivot; zero unless given.
    pivot : str, default "full"
        "row" takes the rows in their order and the largest entry of each (the paper's rule); "full" takes the largest
        entry of all that is left, which reveals the rank and does not depend on the order of the rows.
    tolerance : float, default 1e-10
        A pivot is zero when it is at most this share of the largest entry of A.
    last : ndarray of int, optional
        Unknowns (m,) by row that were pivots before; with "row" they are taken again while above 0.1 of the maximum.

    Returns
    -------
    Solution
        Solution with its pivots and rank.

    Raises
    ------
    InputError
        For arguments out of range.
    """
    if pivot not in PIVOTS:
        raise InputError(f"pivot is {shown(pivot)}; it must be {' or '.join(map(repr, PIVOTS))}")
    U, y = np.array(A, np.float64), np.array(b, np.float64)
    m, n = U.shape
    x = np.zeros(n) if previous is None else np.array(previous, np.float64)
    kept, dropped = np.zeros(m, np.int64), np.zeros(m, np.int64)
    columns, rows = np.arange(n), np.arange(m)
    old = np.full(m, -1) if last is None else np.asarray(last, np.int64)
    rank = eliminate_rows(
        U, y, x, columns, rows, old, kept, dropped, tolerance * np.abs(U).max(initial=0.0), pivot == "full"
    )
    gone = dropped[: m - rank]
    return Solution(x, columns[:rank].copy(), rows[gone] if pivot == "full" else gone, y[gone])


def least_norm(A: Any, b: Any, previous: Any = None, size: Any = None, tolerance: float = 1e-10) -> Array:
    """Return x with A x = b (least squares where that is impossible) and the least change from ``previous`` (zero).

    Parameters
    ----------
    A : object
        Matrix (m, n).
    b : object
        Right-hand side (m,).
    previous : object, optional
        Values (n,) to stay near; zero unless given.
    size : object, optional
        (n,) what each unknown typically changes by; changes are weighed by it. Singular values below ``tolerance`` of
        the largest count as zero.
    tolerance : float, default 1e-10
        Smallest singular value that counts, relative to the largest.

    Returns
    -------
    ndarray
        X with A x = b (least squares where that is impossible) and the least change from ``previous`` (zero).
    """
    A = np.asarray(A, np.float64)
    x = np.zeros(A.shape[1]) if previous is None else np.array(previous, np.float64)
    scale = np.ones(A.shape[1]) if size is None else np.asarray(size, np.float64)
    change = np.linalg.lstsq(A * scale, np.asarray(b) - A @ x, rcond=tolerance)[0]
    return np.asarray(x + scale * change)

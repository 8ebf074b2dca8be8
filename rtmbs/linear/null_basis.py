"""Null spaces of many matrices of one size: pivots found once by QR, bases of all matrices by batched solutions."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.sparse import csr_array, lil_array
from scipy.sparse.linalg import splu

from rtmbs.linear.rank import eliminate

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

GROWTH = 1e4  # of a combination of basic columns, above which other pivots are looked for


class Pivots(NamedTuple):
    """A square block of full rank, and the columns that depend on its columns."""

    rows: Indices  # (r,)
    basic: Indices  # (r,)
    free: Indices  # (C - r,)


def find_pivots(A: Array, tolerance: float) -> Pivots:
    """Return pivots of A (n, C), whose entries are of order one, by QR with column pivoting."""
    none = np.zeros(0, np.int64)
    if not A.shape[0] or not A.shape[1]:
        return Pivots(none, none, np.arange(A.shape[1]))
    R, columns = qr(A, mode="r", pivoting=True, check_finite=False)
    sizes = np.abs(np.diagonal(R))
    rank = int(np.count_nonzero(sizes > tolerance * max(1.0, float(sizes[0]))))
    basic, free = columns[:rank].astype(np.int64), columns[rank:].astype(np.int64)
    return Pivots(independent_square(A[:, basic]), basic, free)


def sparse_pivots(A: csr_array, blocks: Indices, tolerance: float) -> tuple[Pivots, csr_array]:
    """Return pivots of a sparse A (n, C) without their rows, and X (r, C - r) with A[basic] X = A[free], least squares.

    Columns come in ``blocks`` (C,), as rows of ``rank.independent_rows``.
    """
    kept, R = eliminate(csr_array(A.T), blocks, tolerance)
    basic = np.asarray(kept, np.int64)
    free = np.setdiff1d(np.arange(A.shape[1]), basic)
    columns = A.tocsc()
    known, wanted = columns[:, basic], columns[:, free]
    moved = np.flatnonzero(abs(wanted).max(axis=0).toarray().ravel() > tolerance) if len(free) else free
    X = lil_array((len(basic), len(free)))
    if len(moved) and len(basic):
        factor = splu(R, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"Equil": False})
        right = wanted[:, moved].toarray()
        found = np.zeros((len(basic), len(moved)))
        for _ in range(2):  # the second round takes off what rounding left
            found += factor.solve(factor.solve(known.T @ (right - known @ found), trans="T"))
        X[:, moved] = found
    return Pivots(np.zeros(0, np.int64), basic, free), csr_array(X)


def independent_square(A: Array) -> Indices:
    """Return as many rows of A (n, r), of full column rank, as it has columns: their block is not singular."""
    if not A.shape[1]:
        return np.zeros(0, np.int64)
    return np.asarray(qr(A.T, mode="r", pivoting=True, check_finite=False)[1][: A.shape[1]], np.int64)


def dependence(known: Array, wanted: Array, rows: Indices, tolerance: float) -> tuple[Array, Mask]:
    """Return X (S, r, d) with known X = wanted in the given rows, and where all rows agree (S,).

    Parameters
    ----------
    known, wanted : (S, n, r) and (S, n, d)
    rows : (r,) rows of ``known`` whose block is not singular
    tolerance : by which all rows may differ, times the largest entry where above one
    """
    X = solved(known[:, rows], wanted[:, rows])
    left = np.abs(wanted - known @ X).max(axis=(1, 2), initial=0.0)
    size = np.maximum(1.0, np.abs(known).max(axis=(1, 2), initial=0.0))
    largest = np.abs(X).max(axis=(1, 2), initial=0.0)
    return X, (left <= tolerance * size) & (largest <= GROWTH)


def solved(known: Array, wanted: Array) -> Array:
    """Return the solutions of many square systems; not a number where one is singular."""
    try:
        return np.asarray(np.linalg.solve(known, wanted))
    except np.linalg.LinAlgError:
        found = np.full(wanted.shape, np.nan)
        for k, (one, right) in enumerate(zip(known, wanted, strict=True)):
            try:
                found[k] = np.linalg.solve(one, right)
            except np.linalg.LinAlgError:
                continue
        return found

"""Rank of a sparse matrix by multifrontal QR of the transpose, and null spaces of many dense matrices of one size.

A row is dependent when what is left of it, after the rows kept before it, is not larger than a tolerance. Rows come in
blocks; the largest of a block is taken first. Blocks are eliminated in the order given, so of two equal rows the one in
the later block is named. Every front is dense and as narrow as the rows that share columns with its block. What is
dropped bounds how far the matrix is from one of the rank found; that the kept rows are independent is tested by
inverse iteration with their triangular factor.

Null spaces of many matrices take the pivots of one QR factorisation, and batched solutions.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.linalg.lapack import dgeqp3, dormqr
from scipy.sparse import coo_array, csc_array, csr_array, lil_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from rtmbs.jit.compiled import inner_kernel, kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

EQUILIBRATIONS = 12
SMALL = 60  # rows and columns up to which a matrix is dense
MANY = 1000  # blocks beyond which rows are first settled by columns that no other block touches
FEW = 200  # blocks below which their order does not matter
FAR, NEARER = 30, 0.25  # distance of two blocks that share a column; of it, what another order must leave at most
SAFE = 1e-3  # of the largest singular value: rows above are independent beyond doubt
PROBES = 8  # directions of the inverse iteration; more when all of them turn out to be dependent
ITERATIONS = 3
GROWTH = 1e4  # of a combination of basic columns, above which other pivots are looked for


class PendingBlock(NamedTuple):
    """Rows of the transpose that wait for the next block that they touch: a dense matrix over ``columns``."""

    columns: Indices
    values: Array


def equilibrate(bound: csr_array | csc_array) -> tuple[Array, Array]:
    """Return row and column factors that bring the largest entry of every row and column of ``bound`` to one.

    ``bound`` (m, n) holds no negative number. Empty rows and columns keep the factor one.
    """
    entries = bound.tocoo()
    return equilibrate_entries(entries.coords[0], entries.coords[1], entries.data, bound.shape)


def equilibrate_entries(i: Indices, j: Indices, values: Array, shape: tuple[int, int]) -> tuple[Array, Array]:
    """Return the factors of ``equilibrate`` for the ``values`` of a matrix at rows i and columns j, each pair once."""
    some = values > 0.0
    if not some.all():
        i, j, values = i[some], j[some], values[some]
    row, column, tops = np.zeros(shape[0]), np.zeros(shape[1]), np.zeros((2, max(shape)))
    rows, columns = (np.ascontiguousarray(places, np.int64) for places in (i, j))
    equilibrate_logarithms(rows, columns, np.log2(values), row, column, tops)
    return np.exp2(np.round(row)), np.exp2(np.round(column))


@kernel
def equilibrate_logarithms(i: Any, j: Any, size: Any, row: Any, column: Any, tops: Any) -> None:
    """Let the logarithms ``row`` and ``column`` share what takes the largest of each row and column to zero."""
    for _ in range(EQUILIBRATIONS):
        largest(i, i, j, size, row, column, tops[0])
        largest(j, i, j, size, row, column, tops[1])
        take_off(0.5, i, tops[0], row)
        take_off(0.5, j, tops[1], column)
    largest(i, i, j, size, row, column, tops[0])
    take_off(1.0, i, tops[0], row)


@inner_kernel
def largest(place: Any, i: Any, j: Any, size: Any, row: Any, column: Any, top: Any) -> None:
    """Write the largest scaled entry at every ``place`` that has one to ``top``."""
    for k in range(len(place)):
        top[place[k]] = -np.inf
    for k in range(len(place)):
        top[place[k]] = max(top[place[k]], size[k] + row[i[k]] + column[j[k]])


@inner_kernel
def take_off(part: float, place: Any, top: Any, factor: Any) -> None:
    """Take a ``part`` of the largest entries off the logarithms of the factors at their places."""
    for k in range(len(place)):
        if top[place[k]] != 0.0:
            factor[place[k]] -= part * top[place[k]]
            top[place[k]] = 0.0


def independent_rows(P: csr_array, blocks: Indices, tolerance: float) -> Mask:
    """Return which rows of P (m, n) make up a basis of all rows, up to ``tolerance``.

    Parameters
    ----------
    P : (m, n), entries compared with ``tolerance`` after all scaling
    blocks : (m,) block of every row; blocks are eliminated in ascending order
    tolerance : a row is dependent when its part outside the rows kept before is at most so long
    """
    if max(P.shape) <= SMALL:
        return independent_rows_of_dense(P.toarray(), blocks, tolerance)
    keep = np.zeros(P.shape[0], np.bool_)
    left = np.arange(P.shape[0])
    if len(np.unique(blocks)) > MANY:
        settled, keep = private_rows(P, blocks, tolerance)
        left = np.flatnonzero(~settled)
        P, blocks = P[left], blocks[left]
    kept, R = eliminate(P, blocks, tolerance)
    keep[left[kept]] = True
    if len(kept):
        keep[left[kept[weak_columns(R, tolerance)]]] = False
    return keep


def independent_rows_of_dense(P: Array, blocks: Indices, tolerance: float) -> Mask:
    """Return the rows of ``independent_rows`` for a small dense P (m, n): one front, and singular values of its factor.

    Sparse arrays take ten times as long as the arithmetic there.
    """
    left, kept = np.asfortranarray(P.T), list[Indices]()
    columns = np.argsort(blocks, kind="stable")
    upper = np.zeros((len(left), P.shape[0]))
    sorted_blocks = blocks[columns].tolist()
    starts = [k for k, block in enumerate(sorted_blocks) if k == 0 or block != sorted_blocks[k - 1]]
    for first, last in itertools.pairwise([*starts, len(columns)]):
        if not len(left):
            break
        own, later = columns[first:last], columns[last:]
        triangle, rest, pivots = reduce_front(np.asfortranarray(left[:, columns[first:]]), len(own))
        rank = int(np.count_nonzero(np.abs(np.diagonal(triangle)) > tolerance))
        top = sum(map(len, kept))
        kept.append(own[pivots[:rank]])
        upper[top : top + rank, kept[-1]] = triangle[:rank, :rank]
        upper[top : top + rank, later] = rest[:rank]
        left = np.zeros((len(left) - rank, P.shape[0]), order="F")
        left[:, later] = rest[rank:]
    order = np.concatenate([np.zeros(0, np.int64), *kept])
    keep = np.zeros(P.shape[0], np.bool_)
    keep[order] = True
    if len(order):
        R = upper[: len(order)][:, order]
        if np.linalg.svd(R, compute_uv=False)[-1] <= tolerance:
            keep[order[weak_columns(csc_array(R), tolerance)]] = False
    return keep


def banded(P: csr_array, blocks: Indices, count: int) -> Indices:
    """Return other numbers (m,) of the blocks of rows, of the first ``count`` blocks, where these keep fronts narrow.

    Blocks far apart that share columns make fronts of all blocks between them. The order of Cuthill and McKee is taken
    where it brings them far nearer.
    """
    if count < FEW:
        return blocks
    row = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    some = (P.data != 0.0) & (blocks[row] < count)
    at = blocks[row[some]], P.indices[some]
    B = csr_array((np.ones(len(at[0])), at), shape=(count, P.shape[1]))
    if np.bincount(B.indices, minlength=1).max() > FEW:  # a column of so many blocks: no order keeps these apart
        return blocks
    joined = csr_array(B @ B.T)
    i, j = joined.nonzero()
    place = np.empty(count, np.int64)
    place[reverse_cuthill_mckee(joined, symmetric_mode=True)] = np.arange(count)
    near, before = np.abs(place[i] - place[j]).max(initial=0), np.abs(i - j).max(initial=0)
    if before <= FAR or near > NEARER * before:
        return blocks
    return np.where(blocks < count, place[np.minimum(blocks, count - 1)], blocks)


def private_rows(P: csr_array, blocks: Indices, tolerance: float) -> tuple[Mask, Mask]:
    """Return which rows are settled before any elimination, and which of these are independent.

    A row that is not longer than ``tolerance`` depends on nothing. Where columns that no other block touches hold all
    other rows of a block, these are independent, whatever the rows of other blocks are.
    """
    squares = np.bincount(np.repeat(np.arange(P.shape[0]), np.diff(P.indptr)), P.data**2, P.shape[0])
    rows, columns = P.nonzero()
    low, high = np.full(P.shape[1], len(blocks) + 1), np.full(P.shape[1], -1)
    number = np.unique(blocks, return_inverse=True)[1]
    np.minimum.at(low, columns, number[rows])
    np.maximum.at(high, columns, number[rows])
    short = np.sqrt(squares) <= tolerance
    settled, keep = short.copy(), np.zeros(P.shape[0], np.bool_)
    order = np.argsort(number, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        mine = own[~short[own]]
        touched = np.unique(np.concatenate([P.indices[P.indptr[row] : P.indptr[row + 1]] for row in mine] or [mine]))
        private = touched[low[touched] == high[touched]]
        if not 0 < len(mine) <= len(private):
            continue
        values = np.linalg.svd(dense_rows(P, mine, private), compute_uv=False)
        if values[-1] > max(SAFE * values[0], tolerance / SAFE):
            settled[mine] = keep[mine] = True
    return settled, keep


def dense_rows(P: csr_array, rows: Indices, columns: Indices) -> Array:
    """Return some rows and columns, ascending, of P as a dense matrix."""
    found = np.zeros((len(rows), len(columns)))
    for k, row in enumerate(rows):
        at = slice(P.indptr[row], P.indptr[row + 1])
        place = np.minimum(np.searchsorted(columns, P.indices[at]), len(columns) - 1)
        inside = columns[place] == P.indices[at]
        found[k, place[inside]] = P.data[at][inside]
    return found


def eliminate(P: csr_array, blocks: Indices, tolerance: float) -> tuple[Indices, csc_array]:
    """Return the rows kept, as they were eliminated, and the triangular factor R of their transpose, P_kept^T = Q R."""
    order = np.argsort(blocks, kind="stable")
    numbers, starts = np.unique(blocks[order], return_index=True)
    members = np.split(order, starts[1:])
    number = np.searchsorted(numbers, blocks)
    waiting: list[list[PendingBlock]] = [[] for _ in members]
    transposed, place = P.tocsc(), np.zeros(P.shape[0], np.int64)
    for j in range(P.shape[1]):
        at = slice(transposed.indptr[j], transposed.indptr[j + 1])
        touched, row = transposed.indices[at].astype(np.int64), transposed.data[at]
        if len(touched):
            waiting[int(number[touched].min())].append(PendingBlock(touched, row[None, :]))
    kept: list[Indices] = []
    upper: list[tuple[Indices, Array]] = []  # rows of R: columns as rows of P, and values
    for block, own in enumerate(members):
        if not waiting[block]:
            continue
        columns, front = assemble_front(waiting[block], own, place)
        waiting[block] = []
        triangle, rest, pivots = reduce_front(front, len(own))
        rank = int(np.count_nonzero(np.abs(np.diagonal(triangle)) > tolerance))
        kept.append(own[pivots[:rank]])
        upper.append(
            (np.concatenate([kept[-1], columns[len(own) :]]), np.hstack([triangle[:rank, :rank], rest[:rank]]))
        )
        pass_on(waiting, number, columns[len(own) :], rest[rank:])
    return in_one(kept, upper, P.shape[0])


def reduce_front(front: Array, width: int) -> tuple[Array, Array, Indices]:
    """Return the triangle of the first ``width`` columns, the other columns transformed, and the order of pivots."""
    factored, pivots, tau, _, _ = dgeqp3(front[:, :width])
    rest = front[:, width:]
    if rest.shape[1]:
        rest = dormqr("L", "T", factored[:, : len(tau)], tau, rest, 64 * rest.shape[1])[0]
    return np.triu(factored), rest, np.asarray(pivots - 1, np.int64)


def in_one(kept: list[Indices], upper: list[tuple[Indices, Array]], m: int) -> tuple[Indices, csc_array]:
    """Return the triangular factor assembled from its rows; columns of dropped rows are left out."""
    order = np.concatenate([np.zeros(0, np.int64), *kept])
    place = np.full(m, -1)
    place[order] = np.arange(len(order))
    parts, top = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))], 0
    for columns, values in upper:
        i, k = np.nonzero(values * (place[columns] >= 0))
        parts.append((top + i, place[columns[k]], values[i, k]))
        top += len(values)
    i, j, entries = (np.concatenate(part) for part in zip(*parts, strict=True))
    return order, csc_array(coo_array((entries, (i, j)), shape=(top, top)))


def assemble_front(pieces: list[PendingBlock], own: Indices, place: Indices) -> tuple[Indices, Array]:
    """Return the columns of a front, its own first, and its dense values; ``place`` (m,) is scratch."""
    touched = np.concatenate([piece.columns for piece in pieces])
    place[touched], place[own] = 1, 0
    columns = np.concatenate([own, np.unique(touched[place[touched] == 1])])
    place[columns] = np.arange(len(columns))
    front = np.zeros((sum(len(piece.values) for piece in pieces), len(columns)), order="F")
    top = 0
    for piece in pieces:
        front[top : top + len(piece.values), place[piece.columns]] = piece.values
        top += len(piece.values)
    return columns, front


def pass_on(waiting: list[list[PendingBlock]], number: Indices, columns: Indices, rest: Array) -> None:
    """Hand the remainder of a front, made no taller than wide, to the next block that it touches."""
    if not len(columns) or not len(rest):
        return
    if len(rest) > len(columns):
        rest = qr(rest, mode="r", check_finite=False)[0][: len(columns)]
    waiting[int(number[columns].min())].append(PendingBlock(columns, rest))


def weak_columns(R: csc_array, tolerance: float) -> Indices:
    """Return the columns of the upper triangular R without which no singular value is below ``tolerance``."""
    factor = splu(R, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"Equil": False})
    n = R.shape[0]
    probes = min(PROBES, n)
    while True:
        X = np.random.default_rng(0).standard_normal((n, probes))
        for _ in range(ITERATIONS):
            X = np.linalg.qr(factor.solve(factor.solve(X, trans="T")))[0]
        _, values, Vt = np.linalg.svd(R @ X, full_matrices=False)
        weak = int(np.count_nonzero(values <= tolerance))
        if weak < probes or probes == n:
            break
        probes = min(2 * probes, n)
    if weak == 0:
        return np.zeros(0, np.int64)
    null = X @ Vt[probes - weak :].T
    return np.asarray(qr(null.T, mode="r", pivoting=True, check_finite=False)[1][:weak], np.int64)


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

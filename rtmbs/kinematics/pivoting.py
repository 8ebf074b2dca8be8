"""The kernel of elimination with exchanged columns (METHODS 4)."""

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

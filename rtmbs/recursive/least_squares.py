"""Multipliers of the reduced system -PhiL lam = -(gamma + RHS): least squares at its numerical rank (METHODS 3.2).

-PhiL is Phi M^-1 Phi^T, symmetric and not negative. Scaled to a unit diagonal it is F F^T by Cholesky with the largest
pivot first, F (b, rank) cut where pivots are rounding. Of all least-squares solutions y = F (F^T F)^-2 F^T right is the
shortest: redundant rows share their load by the masses that they feel.
"""

from numpy import sqrt

from rtmbs.jit.compiled import inlined_kernel, kernel

STILL = 1e-20  # of the diagonal without cancellation: a row that no coordinate moves


@kernel
def factor_border(border, tolerance, sc):
    """Factor -C of every group; ``rank`` and ``order`` say which rows are independent of those before them."""
    for g in range(len(border.start) - 1):
        first, base = border.start[g], border.square[g]
        size = border.start[g + 1] - first
        take_scaled(border, first, base, size, sc)
        sc.rank[g] = pivoted_cholesky(first, base, size, tolerance, sc)
        if sc.rank[g] < size:
            factor_product(base, size, sc.rank[g], sc)


@inlined_kernel
def take_scaled(border, first, base, size, sc):
    """factor = -C scaled to a unit diagonal; rows that nothing moves are left out."""
    for k in range(size):
        row, diagonal = border.member[first + k], -sc.C[base + k * size + k]
        sc.scale[first + k] = 1.0 / sqrt(diagonal) if diagonal > STILL * sc.bound[row] else 0.0
        sc.order[first + k] = k
    for k in range(size):
        for l in range(k + 1):
            sc.factor[base + k * size + l] = -sc.C[base + k * size + l] * sc.scale[first + k] * sc.scale[first + l]


@inlined_kernel
def pivoted_cholesky(first, base, size, tolerance, sc):
    """Factor in place, rows and columns exchanged; returns the rank. Row k of F is then that of row order[k]."""
    F, order = sc.factor, sc.order
    for j in range(size):
        best = j
        for k in range(j + 1, size):
            if F[base + k * size + k] > F[base + best * size + best]:
                best = k
        if not F[base + best * size + best] > tolerance:
            return j
        if best != j:
            exchange(F, base, size, j, best)
            order[first + j], order[first + best] = order[first + best], order[first + j]
        pivot = sqrt(F[base + j * size + j])
        F[base + j * size + j] = pivot
        for k in range(j + 1, size):
            F[base + k * size + j] /= pivot
        for k in range(j + 1, size):
            x = F[base + k * size + j]
            for l in range(j + 1, k + 1):
                F[base + k * size + l] -= x * F[base + l * size + j]
    return size


@inlined_kernel
def exchange(F, base, size, j, k):
    """Exchange rows and columns j < k of the lower half."""
    for l in range(j):
        F[base + j * size + l], F[base + k * size + l] = F[base + k * size + l], F[base + j * size + l]
    for l in range(j + 1, k):
        F[base + l * size + j], F[base + k * size + l] = F[base + k * size + l], F[base + l * size + j]
    for l in range(k + 1, size):
        F[base + l * size + j], F[base + l * size + k] = F[base + l * size + k], F[base + l * size + j]
    a, b = base + j * size + j, base + k * size + k
    F[a], F[b] = F[b], F[a]


@inlined_kernel
def factor_product(base, size, rank, sc):
    """product = Cholesky factor of F^T F, F (size, rank) with its upper half zero."""
    F, G = sc.factor, sc.product
    for i in range(rank):
        for j in range(i + 1):
            total = 0.0
            for k in range(i, size):
                total += F[base + k * size + i] * F[base + k * size + j]
            for k in range(j):
                total -= G[base + i * size + k] * G[base + j * size + k]
            G[base + i * size + j] = sqrt(total) if i == j else total / G[base + j * size + j]


@kernel
def solve_border(border, sc):
    """x of every group for ``sc.right``."""
    for g in range(len(border.start) - 1):
        first, base, rank = border.start[g], border.square[g], sc.rank[g]
        size = border.start[g + 1] - first
        y = sc.work
        for k in range(size):
            row = border.member[first + sc.order[first + k]]
            y[first + k] = -sc.right[row] * sc.scale[first + sc.order[first + k]]
        if rank < size:
            shortest(first, base, size, rank, sc)
        else:
            lower(sc.factor, base, size, rank, first, y)
            upper(sc.factor, base, size, rank, first, y)
        for k in range(size):
            sc.x[border.member[first + sc.order[first + k]]] = y[first + k] * sc.scale[first + sc.order[first + k]]


@inlined_kernel
def shortest(first, base, size, rank, sc):
    """y = F (F^T F)^-2 F^T y."""
    F, y = sc.factor, sc.work
    for i in range(rank):
        total = 0.0
        for k in range(i, size):
            total += F[base + k * size + i] * y[first + k]
        y[first + i] = total
    for _ in range(2):
        lower(sc.product, base, size, rank, first, y)
        upper(sc.product, base, size, rank, first, y)
    for k in range(size - 1, -1, -1):
        total = 0.0
        for i in range(min(k + 1, rank)):
            total += F[base + k * size + i] * y[first + i]
        y[first + k] = total


@inlined_kernel
def lower(L, base, size, rank, first, y):
    """y = L^-1 y."""
    for k in range(rank):
        total = y[first + k]
        for l in range(k):
            total -= L[base + k * size + l] * y[first + l]
        y[first + k] = total / L[base + k * size + k]


@inlined_kernel
def upper(L, base, size, rank, first, y):
    """y = L^-T y."""
    for k in range(rank - 1, -1, -1):
        total = y[first + k]
        for l in range(k + 1, rank):
            total -= L[base + l * size + k] * y[first + l]
        y[first + k] = total / L[base + k * size + k]

"""Sparsity patterns and matrices that resemble those of mechanisms: trees, loops, stacked storeys."""

import numpy as np

from rtmbs.numerics.linear.symbolic import entries


def paths(parent):
    """Return for every node the nodes from its root to itself."""
    result = []
    for i, p in enumerate(parent):
        result.append([*(result[p] if p >= 0 else []), i])
    return result


def tree_pattern(parent, loops=()):
    """Return (n, rows, cols, branches): pairs (node, ancestor), and all pairs on the two branches of each loop."""
    way = paths(parent)
    pairs = [(i, j) for i, path in enumerate(way) for j in path]
    branches = []
    for a, b in loops:
        common = sum(x == y for x, y in zip(way[a], way[b], strict=False))
        branch = way[a][common:] + way[b][common:]
        branches.append(branch)
        pairs += [(i, j) for i in branch for j in branch]
    rows, cols = np.array(pairs, np.int64).reshape(-1, 2).T
    return len(parent), rows, cols, branches


def stacked(ny, nz):
    """Return `tree_pattern` of nz storeys of ny four-bars; a storey is rod 0, couplers 0 .. ny - 1, rods 1 .. ny."""
    per_storey = 2 * ny + 1
    parent, loops = [], []
    for k in range(nz):
        base, below = k * per_storey, (k - 1) * per_storey
        coupler_below = [below + 1 + j if k else -1 for j in range(ny)]
        parent += [coupler_below[0], base, *(base + j for j in range(1, ny)), *coupler_below]
        loops += [(base + 1 + j, base + ny + 1 + j) for j in range(ny)]
    return tree_pattern(parent, loops)


def blocks(count, width):
    """Return (n, rows, cols) of independent dense blocks."""
    row, col = np.divmod(np.arange(width * width), width)
    shift = width * np.repeat(np.arange(count), width * width)
    return count * width, shift + np.tile(row, count), shift + np.tile(col, count)


def dominant(n, rows, cols, rng):
    """Return a dense unsymmetric matrix with the symmetrised pattern and a heavy diagonal."""
    A = np.zeros((n, n))
    A[rows, cols] = rng.standard_normal(len(rows))
    A[cols, rows] = rng.standard_normal(len(rows))
    A[np.arange(n), np.arange(n)] = np.abs(A).sum(axis=1) + 1.0
    return A


def penalised(n, rows, cols, branches, rng, scale):
    """Return a matrix like M + q4 Phi_z^T alpha Phi_z: nearly symmetric, with huge terms of low rank."""
    A = dominant(n, rows, cols, rng)
    A = 0.5 * (A + A.T) + 1e-3 * (A - A.T)
    for branch in branches:
        P = rng.standard_normal((2, len(branch)))
        A[np.ix_(branch, branch)] += scale * P.T @ P
    return A


def accumulated(lu, A):
    """Return the flat values of the dense matrix A."""
    rows, cols = np.nonzero(A)
    values = np.zeros(lu.size)
    values[entries(lu, rows, cols)] = A[rows, cols]
    return values

"""Reduced system of the recursion: its unknowns, and their solution by least squares.

Unknowns of the reduced system: multipliers of cut joints, and coordinates to which nothing below gives inertia.

The backward pass carries a row P_r for every border unknown r that acts in the subtree of a dof. Which rows are carried
where never changes, so all places are found once.

Multipliers of the reduced system -PhiL lam = -(gamma + RHS): least squares at its numerical rank (METHODS 3.2).

-PhiL is Phi M^-1 Phi^T, symmetric and not negative. Scaled to a unit diagonal it is F F^T by Cholesky with the largest
pivot first, F (b, rank) cut where pivots are rounding. Of all least-squares solutions y = F (F^T F)^-2 F^T right is the
shortest: redundant rows share their load by the masses that they feel.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy import sqrt
from numpy.typing import NDArray

from rtmbs.jit.compiled import inlined_kernel, kernel
from rtmbs.jit.struct import struct
from rtmbs.system.tables import Tables, branch_dofs

Array = Any
Integers = NDArray[np.int64]

BALANCED = 20  # sweeps that bring the rows of an indefinite matrix to size one
INERTIA = 21  # numbers of an articulated inertia [A B; B^T D]: A (6), B row by row (9), D (6)


@struct
class Border(NamedTuple):
    """Places of b border unknowns: m multipliers, then the kept coordinates."""

    kept: Array  # (n,) int64: border unknown of a dof that is kept, or -1
    pointer: Array  # (n + 1,) int64 into row and up
    row: Array  # (e,) int64: border unknown of each row that a dof carries
    up: Array  # (e,) int64: place of the same unknown at the parent; -1 at ground
    above: Array  # (n,) int64: place of a kept dof's own unknown at its parent; -1 at ground
    at_a: Array  # (mf,) int64: place of a closure row between frames at its dof a; -1 on ground
    at_b: Array  # (mf,) int64: the same at dof b
    joint: Array  # (k,) int64: places of rows that act on the coordinate of a dof itself
    source: Array  # (k,) int64: entry of the flat Phi_z that such a row takes; -1: one, of a driver
    group: Array  # (n,) int64: group of the unknowns that a dof carries or keeps; -1 none
    local: Array  # (b,) int64: place of an unknown in its group
    start: Array  # (g + 1,) int64 into member
    member: Array  # (b,) int64: unknowns, group by group
    square: Array  # (g + 1,) int64: place of each group's matrix in the flat C


@struct
class BorderScratch(NamedTuple):
    """Scratch of the passes. Wrenches and accelerations of a dof are about its own origin, axes of the world."""

    inertia: Array  # (n, 21) M + K
    size: Array  # (n, 2) mass, and trace of D, of the subtree as if it were rigid
    U: Array  # (n, 6) (M + K) B2
    d: Array  # (n,) S = B2^T (M + K) B2
    P: Array  # (e, 6) rows PhiM
    h: Array  # (e,) PhiM B2, and what the row says of the coordinate itself
    bound: Array  # (b,) Delassus diagonal without any cancellation: what rounding is compared with
    L: Array  # (n, 6) L
    g: Array  # (n,) joint force with what comes from below
    Yd: Array  # (n, 6) accelerations
    C: Array  # (squares,) PhiL, group by group
    right: Array  # (b,) gamma + RHS
    x: Array  # (b,) multipliers, then accelerations of kept coordinates
    factor: Array  # (squares,) of -C, see the least squares below
    product: Array  # (squares,) likewise
    scale: Array  # (b,) of the rows
    order: Array  # (b,) int64: pivots of each group
    rank: Array  # (g,) int64
    work: Array  # (b,)
    f: Array  # (n,) joint forces to be balanced
    gamma: Array  # (m,) right side of the loop equations
    applied: Array  # (n,) applied part of Q
    zdd: Array  # (n,)
    lam: Array  # (m,)
    free: Array  # (n,) |Q|, of which forces alone would make free / d
    parts: Array  # (n,) sizes of the terms of Phidd, by coordinates
    reach: Array  # (entries,) |Phi_z|
    terms: Array  # (m,) sizes of the terms of Phidd
    left: Array  # (m,) what the accelerations leave of it


def border_of(tables: Tables, kept: Integers) -> Border:
    """Return the border of a mechanism whose dofs ``kept``, ascending, stay unknown to the end."""
    m = len(tables.closures.kind) + len(tables.drivers.dof)
    return lay_border(np.maximum(tables.dofs.parent, -1), m, frame_ends(tables), rows_on_coordinates(tables), kept)


def lay_border(
    parent: Integers,
    m: int,
    ends: tuple[list[int], list[int]],
    on_joints: list[tuple[int, int, int]],
    kept: Integers,
    trunk: int = -1,
) -> Border:
    """Return the border of m rows over a tree: dofs a and b of the first rows, and (dof, row, source) of others.

    With ``trunk``, 0 or more, the first dofs carry all rows, and all unknowns are in one group.
    """
    n = len(parent)
    carried: list[set[int]] = [set(range(m)) if i < trunk else set() for i in range(n)]
    for i, row in [*at_frames(ends), *[(i, row) for i, row, _ in on_joints]]:
        carried[i].add(row)
    number = np.full(n, -1, np.int64)
    number[kept] = m + np.arange(len(kept))
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            carried[parent[i]] |= carried[i] | ({int(number[i])} if number[i] >= 0 else set())
    lists = [sorted(rows) for rows in carried]
    pointer = np.concatenate([[0], np.cumsum([len(rows) for rows in lists])]).astype(np.int64)
    place = [{row: int(pointer[i]) + k for k, row in enumerate(rows)} for i, rows in enumerate(lists)]
    ground: dict[int, int] = {}
    over = [place[p] if p >= 0 else ground for p in parent]
    up = [over[i].get(row, -1) for i in range(n) for row in lists[i]]
    above = [over[i].get(int(number[i]), -1) for i in range(n)]
    at = [[place[i][row] if i >= 0 else -1 for row, i in enumerate(side)] for side in ends]
    groups = group_unknowns(lists, number, m + len(kept), trunk >= 0)
    flat = [r for rows in lists for r in rows]
    columns = [flat, up, above, *at, [place[i][r] for i, r, _ in on_joints], [source for *_, source in on_joints]]
    return Border(number, pointer, *(np.array(column, np.int64) for column in columns), *groups)


def frame_ends(tables: Tables) -> tuple[list[int], list[int]]:
    """Return dofs a and b of every closure row between frames; -1 for ground."""
    closures, connectors = tables.closures, tables.connectors
    a, b = [], []
    for l in range(int(tables.conditions.first[1])):
        rows = int(closures.row_pointer[l + 1] - closures.row_pointer[l])
        a += [max(int(connectors.a[closures.connector[l]]), -1)] * rows
        b += [max(int(connectors.b[closures.connector[l]]), -1)] * rows
    return a, b


def at_frames(ends: tuple[list[int], list[int]]) -> list[tuple[int, int]]:
    """Return (dof, row) of every end of a row between frames that is not ground."""
    return [(i, row) for side in ends for row, i in enumerate(side) if i >= 0]


def rows_on_coordinates(tables: Tables) -> list[tuple[int, int, int]]:
    """Return (dof, row, entry of the flat Phi_z) of couplers and conditions on coordinates; -1 for drivers."""
    closures, found = tables.closures, []
    for l in range(int(tables.conditions.first[1]), len(closures.point_a)):
        dofs, entry = branch_dofs(tables.connectors, closures.connector[l : l + 1]), int(closures.entry_pointer[l])
        for row in range(int(closures.row_pointer[l]), int(closures.row_pointer[l + 1])):
            found += [(int(i), row, entry + k) for k, i in enumerate(dofs)]
            entry += len(dofs)
    return found + [(int(i), len(closures.kind) + k, -1) for k, i in enumerate(tables.drivers.dof)]


def group_unknowns(lists: list[list[int]], number: Integers, count: int, one: bool) -> tuple[Integers, ...]:
    """Return group of each dof, local place, starts, members and squares: unknowns that meet at a dof share a group."""
    root = list(range(count))

    def find(r: int) -> int:
        while root[r] != r:
            root[r] = root[root[r]]
            r = root[r]
        return r

    together = [rows + ([int(number[i])] if number[i] >= 0 else []) for i, rows in enumerate(lists)]
    for rows in [list(range(count))] if one else together:
        for r in rows[1:]:
            root[find(r)] = find(rows[0])
    heads = sorted({find(r) for r in range(count)})
    index = {head: k for k, head in enumerate(heads)}
    members: list[list[int]] = [[] for _ in heads]
    for r in range(count):
        members[index[find(r)]].append(r)
    local = np.zeros(count, np.int64)
    for rows in members:
        local[rows] = np.arange(len(rows))
    sizes = np.array([len(rows) for rows in members], np.int64)
    group = np.array([index[find(rows[0])] if rows else -1 for rows in together], np.int64)
    start, square = (np.concatenate([[0], np.cumsum(part)]).astype(np.int64) for part in (sizes, sizes**2))
    flat = np.array([r for rows in members for r in rows], np.int64)
    return group, local, start, flat, square


def scratch_of(border: Border, m: int, entries: int = 0) -> BorderScratch:
    """Allocate the scratch of a border with ``m`` multipliers, and ``entries`` numbers in the flat Phi_z."""
    n, e, b, squares = len(border.kept), len(border.row), len(border.local), int(border.square[-1])
    shapes: dict[str, tuple[int, ...]] = {
        "inertia": (n, INERTIA), "size": (n, 2), "U": (n, 6), "d": (n,), "P": (e, 6), "h": (e,), "bound": (b,),
        "L": (n, 6), "g": (n,), "Yd": (n, 6), "C": (squares,), "right": (b,), "x": (b,), "factor": (squares,),
        "product": (squares,), "scale": (b,), "work": (b,), "f": (n,), "gamma": (m,), "applied": (n,), "zdd": (n,),
        "lam": (m,), "free": (n,), "parts": (n,), "reach": (entries,), "terms": (m,), "left": (m,),
    }  # fmt: skip
    integers = {"order": np.zeros(b, np.int64), "rank": np.zeros(len(border.start) - 1, np.int64)}
    return BorderScratch(**{name: np.zeros(shape) for name, shape in shapes.items()}, **integers)


def massless(tables: Tables) -> Integers:
    """Return the dofs whose subtree has no mass: their coordinates are kept from the first."""
    heavy = (tables.dofs.mass > 0.0) | (np.abs(tables.dofs.inertia).max(axis=(1, 2), initial=0.0) > 0.0)
    for i in range(len(heavy) - 1, -1, -1):
        if heavy[i] and tables.dofs.parent[i] >= 0:
            heavy[tables.dofs.parent[i]] = True
    return np.flatnonzero(~heavy)


def balance(C: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return factors of rows and columns that bring the largest entry of every row of the symmetric C to one."""
    scale = np.ones(len(C))
    for _ in range(BALANCED):
        largest = np.abs(scale[:, None] * C * scale).max(axis=1, initial=0.0)
        scale = scale / np.sqrt(np.where(largest > 0.0, largest, 1.0))
    return scale


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

"""Sparsity pattern of the tangent: paths, branches, interfaces of substructures, and places of their entries.

The pattern holds every pair (dof, ancestor), for every connector every pair of its two branches, and every pair of
joints that a force law couples. In a deep tree interfaces stand in for the pairs of dofs far from each other.

In joint coordinates every dof couples with all its ancestors: in a tower of n storeys the tangent has O(n^2) entries,
and eliminating them takes O(n^3). But a dof i below an interface c meets the dofs j from c upwards only through two
sums (``semirecursive.tangent`` has the names: entry (i, j) is left_i . X_j + left_coriolis_i . Y_j, (j, i) is
S_j . right_i)

    t_c = sum_j [X_j; Y_j] dz_j    9 numbers, over c and the dofs above it
    f_c = sum_i right_i dz_i       6 numbers, over the dofs below c

With t and f as unknowns of their own, in sections between interfaces that add up,

    t_c - t_up - sum_j [X_j; Y_j] dz_j = 0,    f_c - sum_i right_i dz_i - sum_below f = 0,

only pairs of dofs within a section, a substructure of the tree, remain entries, and everything grows with n.
Eliminated after the dofs below and before the interface itself, t and f have pivots 1, and what then joins them is the
articulated inertia of all that hangs on the interface. Their right-hand sides are zero, so ``linear`` condenses
them: callers of the factor do not see them.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from rtmbs.linear.symbolic import analyse, entries, flops
from rtmbs.system.closure_tables import pointer
from rtmbs.system.system import Integers, System
from rtmbs.system.tables import MOTION, WRENCH, Connectors, Interfaces, Paths, Tables

Pairs = list[tuple[int, int]]

WORTH_WHILE = 0.8  # part of the arithmetic that interfaces may leave at most: they have entries to fill, too


class TangentPattern(NamedTuple):
    """Static factorisation, and the tables of the tree with their places in its values."""

    lu: Any
    paths: Paths
    interfaces: Interfaces


def paths_to_ground(parent: Integers) -> list[Integers]:
    """Return the path of every dof: the dofs from ground to itself, itself last."""
    paths: list[Integers] = []
    for i, p in enumerate(parent):
        above = paths[p] if p >= 0 else np.zeros(0, np.int64)
        paths.append(np.append(above, np.int64(i)))
    return paths


def branches(paths: list[Integers], a: int, b: int) -> tuple[Integers, Integers]:
    """Return the dofs below the last common ancestor of ``a`` and ``b``: down to a, and down to b."""
    none = np.zeros(0, np.int64)
    way_a, way_b = paths[a] if a >= 0 else none, paths[b] if b >= 0 else none
    short = min(len(way_a), len(way_b))
    apart = np.flatnonzero(way_a[:short] != way_b[:short])
    common = int(apart[0]) if len(apart) else short
    return way_a[common:], way_b[common:]


def build_paths(paths: list[Integers]) -> Paths:
    """Return the paths as arrays, without places."""
    ways = pointer(np.array([len(path) for path in paths], np.int64))
    dofs = join(paths)
    return Paths(ways, dofs, np.zeros(len(dofs), np.int64), np.zeros(len(dofs), np.int64))


def build_connectors(paths: list[Integers], pairs: Pairs, couplers: Mapping[int, Integers]) -> Connectors:
    """Return the connectors between pairs of dofs, or of the dofs that a coupler joins; their places still open."""
    none = np.zeros(0, np.int64)
    found = [(none, couplers[l]) if l in couplers else branches(paths, a, b) for l, (a, b) in enumerate(pairs)]
    sizes = np.array([len(to_a) + len(to_b) for to_a, to_b in found], np.int64)
    blocks = pointer(sizes * sizes)
    return Connectors(
        a=np.array([a for a, _ in pairs], np.int64),
        b=np.array([b for _, b in pairs], np.int64),
        pointer=pointer(sizes),
        dof=join([branch for both in found for branch in both]),
        sign=np.concatenate(
            [np.zeros(0), *(np.full(len(s), sign) for both in found for s, sign in zip(both, (-1.0, 1.0), strict=True))]
        ),
        block_pointer=blocks,
        entry=np.zeros(int(blocks[-1]), np.int64),
    )


def lay_out(parent: Integers, pairs: Pairs, couplers: Mapping[int, Integers]) -> tuple[Paths, Interfaces, Connectors]:
    """Return paths to ground, no interfaces, and connectors between ``pairs`` of dofs, without places.

    ``couplers`` lists the dofs of connectors that join coordinates, by the number of the connector.
    """
    paths = paths_to_ground(parent)
    return build_paths(paths), no_interfaces(len(paths)), build_connectors(paths, pairs, couplers)


def give_places(tables: Tables, condensed: bool = True) -> tuple[Any, Tables]:
    """Return the static factorisation of the tangent, and the tables with the places of all entries in its values.

    Interfaces are chosen when they are allowed, by ``condensed``, and pay. Places in the flat Phi_z,
    ``Closures.entry_pointer``, are given with the others.
    """
    laws, parent, tip = tables.laws, tables.dofs.parent, tables.dofs.tip
    coupled = laws.row[laws.force_entry[:, 0]], laws.input[laws.force_entry[:, 1], 0]
    found = analyse_pattern(parent, tip, paths_to_ground(parent), tables.connectors, coupled, condensed)
    connectors = tables.connectors._replace(entry=block_places(found.lu, tables.connectors))
    diagonal = places(found.lu, np.arange(len(parent)), np.arange(len(parent)))
    rows_of, branches_of = np.diff(tables.closures.row_pointer), np.diff(tables.connectors.pointer)
    entry = np.column_stack((laws.force_entry[:, :3], places(found.lu, *coupled)))
    return found.lu, tables._replace(
        paths=found.paths,
        interfaces=found.interfaces,
        connectors=connectors,
        closures=tables.closures._replace(entry_pointer=pointer(rows_of * branches_of[tables.closures.connector])),
        drivers=tables.drivers._replace(entry=diagonal[tables.drivers.dof]),
        joint_forces=tables.joint_forces._replace(entry=diagonal[tables.joint_forces.dof]),
        laws=laws._replace(force_entry=entry),
    )


def uncondensed(system: System) -> System:
    """Return the System with all pairs of a path in its pattern: K and C of other sources need them."""
    if len(system.tables.interfaces.dof) == 0:
        return system
    lu, tables = give_places(system.tables, condensed=False)
    return replace(system, tables=tables, lu=lu)


def analyse_pattern(
    parent: Integers,
    tip: Integers,
    ways: list[Integers],
    connectors: Connectors,
    more: tuple[Integers, Integers],
    condensed: bool = True,
) -> TangentPattern:
    """Return the factorisation with least arithmetic, with interfaces (if allowed, by ``condensed``) or without.

    ``ways`` are the paths from ground. ``more`` are rows and columns of further entries: joints that a force law
    couples. Without interfaces the pattern holds all pairs of a path.
    """
    interfaces, of = choose_interfaces(parent, tip)
    rows, cols = block_pairs(connectors, len(parent))
    entries = np.concatenate([rows, more[0]]), np.concatenate([cols, more[1]])
    if not condensed or len(interfaces) == 0:
        return direct_pattern(ways, entries)
    short = condensed_pattern(interfaces, of, ways, entries)
    above = np.array([len(way) - 1 for way in ways])  # entries below a pivot, but for what loops add
    if flops(short.lu) <= WORTH_WHILE * np.sum(above + 2 * above * above):
        return short
    direct = direct_pattern(ways, entries)
    return short if flops(short.lu) <= WORTH_WHILE * flops(direct.lu) else direct


def direct_pattern(ways: list[Integers], entries: tuple[Integers, Integers]) -> TangentPattern:
    """Return the pattern of all pairs (dof, ancestor), and ``entries``."""
    n, paths = len(ways), build_paths(ways)
    row = np.repeat(np.arange(n, dtype=np.int64), np.diff(paths.pointer))
    lu = analyse(n, np.concatenate([row, entries[0]]), np.concatenate([paths.dof, entries[1]]))
    return TangentPattern(lu, located(lu, paths, row), no_interfaces(n))


def condensed_pattern(
    interfaces: Integers, of: Integers, ways: list[Integers], entries: tuple[Integers, Integers]
) -> TangentPattern:
    """Return the pattern of the pairs of each section of the tree, and of the unknowns of their interfaces."""
    n, unknowns = len(ways), UNKNOWNS * len(interfaces)
    cut = [len(ways[interfaces[r]]) if r >= 0 else 0 for r in of]
    short = [way[start:] for way, start in zip(ways, cut, strict=True)]
    paths = build_paths(short)
    under, below, above, starts, one, minus = condensed_entries(interfaces, of, short)
    row = np.repeat(np.arange(n, dtype=np.int64), np.diff(paths.pointer))
    pairs = np.concatenate([below.reshape(-1, 2), above.reshape(-1, 2), minus])
    rows, cols = np.concatenate([row, entries[0], pairs[:, 0]]), np.concatenate([paths.dof, entries[1], pairs[:, 1]])
    lu = analyse(n, rows, cols, order=interface_order(interfaces, n), condensed=unknowns)
    table = no_interfaces(n).below
    table[under] = places(lu, below[..., 0], below[..., 1]).reshape(below.shape[:-1])
    found = Interfaces(
        dof=interfaces,
        of=of,
        below=table,
        pointer=starts,
        above=places(lu, above[..., 0], above[..., 1]).reshape(above.shape[:-1]),
        one=places(lu, one[:, 0], one[:, 1]),
        minus=places(lu, minus[:, 0], minus[:, 1]),
    )
    return TangentPattern(lu, located(lu, paths, row), found)


def located(lu: Any, paths: Paths, row: Integers) -> Paths:
    """Return the paths with their places; ``row`` is the dof that each entry belongs to."""
    return paths._replace(entry=places(lu, row, paths.dof), entry_transposed=places(lu, paths.dof, row))


def block_pairs(connectors: Connectors, n: int) -> tuple[Integers, Integers]:
    """Return rows and columns of every entry in some connector's (branch, branch) block, each once.

    With B the connectors over the n dofs of their branches, these are the entries of B^T B: in a chain whose bodies are
    all tied to each other the blocks hold hundreds of times as many.
    """
    if len(connectors.dof) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    B = csr_array((np.ones(len(connectors.dof), np.int64), connectors.dof, connectors.pointer), (len(connectors.a), n))
    found = (B.T @ B).tocoo()
    return found.row.astype(np.int64), found.col.astype(np.int64)


def block_places(lu: Any, connectors: Connectors) -> Integers:
    """Return the places of every connector's (branch, branch) block, row by row, connector by connector.

    Blocks that hold more than the whole matrix read their places off a table of it, one connector at a time.
    """
    branches = np.split(connectors.dof, connectors.pointer[1:-1])
    if connectors.block_pointer[-1] <= lu.total * lu.total:
        rows = join([np.repeat(branch, len(branch)) for branch in branches])
        return places(lu, rows, join([np.tile(branch, len(branch)) for branch in branches]))
    table = np.zeros((lu.total, lu.total), np.int64)
    table.flat[lu.pattern] = places(lu, *np.divmod(lu.pattern, lu.total))
    found = np.empty(int(connectors.block_pointer[-1]), np.int64)
    for branch, start, end in zip(branches, connectors.block_pointer, connectors.block_pointer[1:], strict=False):
        found[start:end] = table[np.ix_(branch, branch)].ravel()
    return found


def places(lu: Any, rows: Integers, cols: Integers) -> Integers:
    return np.ascontiguousarray(entries(lu, rows, cols), np.int64)


def join(parts: list[Integers]) -> Integers:
    return np.concatenate([np.zeros(0, np.int64), *parts])


SPACING = 12  # dofs from interface to interface on a path; fewest entries and nearly least arithmetic in towers
UNKNOWNS = MOTION + WRENCH  # unknowns of an interface


def choose_interfaces(parent: Integers, tip: Integers) -> tuple[Integers, Integers]:
    """Return (interfaces, of): dofs that SPACING others separate from the one above and from the deepest tip.

    ``of`` (n,) is the index of the interface above every dof, or -1. Only the last dof of an element (``tip``, as in
    ``Dofs``) may be one: three rotation dofs turn each other's columns.
    """
    n = len(parent)
    height = np.zeros(n, np.int64)
    for i in range(n - 1, -1, -1):
        if parent[i] >= 0:
            height[parent[i]] = max(height[parent[i]], height[i] + 1)
    interfaces: list[int] = []
    of, since = np.full(n, -1, np.int64), np.ones(n, np.int64)
    own: dict[int, int] = {}
    for i, p in enumerate(np.asarray(parent).tolist()):
        if p in own:
            of[i] = own[p]
        elif p >= 0:
            of[i], since[i] = of[p], since[p] + 1
        if since[i] >= SPACING and height[i] >= SPACING and tip[i] == i:
            own[i] = len(interfaces)
            interfaces.append(i)
    return np.array(interfaces, np.int64), of


def condensed_entries(interfaces: Integers, of: Integers, paths: list[Integers]) -> tuple[Integers, ...]:
    """Return (below, above, pointer, one, minus): rows and columns, (..., 2), of the entries of interfaces.

    ``paths`` leads from the interface above every dof to the dof. Unknowns of interface r: n + UNKNOWNS r on, t
    before f. below (n, UNKNOWNS, 2): t of the interface above in the row of a dof, the dof in the rows of f; above
    (entries, UNKNOWNS, 2), step by step of an interface's path: the dof in the rows of t, f in the row of the dof.
    """
    n, count = len(of), len(interfaces)
    unknowns = n + UNKNOWNS * np.arange(count)[:, None] + np.arange(UNKNOWNS)  # (count, UNKNOWNS)
    dofs = np.arange(n)[:, None]
    under = np.flatnonzero(of >= 0)
    below = swap(dofs[under], unknowns[of[under]], range(MOTION, UNKNOWNS))
    pointer = np.cumsum([0, *(len(paths[c]) for c in interfaces)]).astype(np.int64)
    way = np.concatenate([np.zeros(0, np.int64), *(paths[c] for c in interfaces)]).astype(np.int64)
    above = swap(way[:, None], unknowns[np.repeat(np.arange(count), np.diff(pointer))], range(MOTION))
    one = np.stack([unknowns.ravel(), unknowns.ravel()], -1)
    fed = np.flatnonzero(of[interfaces] >= 0)
    minus = swap(unknowns[fed], unknowns[of[interfaces[fed]]], range(MOTION, UNKNOWNS))  # t_c, t_up and f_up, f_c
    return under, below, above, pointer, one, minus.reshape(-1, 2)


def swap(rows: Integers, columns: Integers, exchanged: range) -> Integers:
    """Return (count, UNKNOWNS, 2) pairs of rows and columns, the two exchanged in some of the UNKNOWNS."""
    pairs = np.stack(np.broadcast_arrays(rows, columns), -1)
    pairs[:, list(exchanged)] = pairs[:, list(exchanged), ::-1]
    return pairs


def interface_order(interfaces: Integers, n: int) -> Integers:
    """Return the elimination order: from the tips, f and t of an interface after all that hangs on it, then it."""
    own = {int(c): r for r, c in enumerate(interfaces)}
    order: list[int] = []
    for i in range(n - 1, -1, -1):
        if i in own:
            first = n + UNKNOWNS * own[i]
            order.extend(range(first + UNKNOWNS - 1, first - 1, -1))
        order.append(i)
    return np.array(order, np.int64)


def no_interfaces(n: int) -> Interfaces:
    """Return the tables of a tree without interfaces."""
    none = np.zeros(0, np.int64)
    return Interfaces(
        none, np.full(n, -1, np.int64), np.zeros((n, UNKNOWNS), np.int64), np.zeros(1, np.int64),
        np.zeros((0, UNKNOWNS), np.int64), none.copy(), none.copy(),
    )  # fmt: skip

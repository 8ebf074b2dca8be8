"""Sparsity pattern of the tangent, and its condensed unknowns.

Sparsity pattern of the tangent: paths, branches, interfaces of substructures, and places of their entries.

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

In a long tree the sums over all that hangs on a dof lose digits: the inertia of n links about a joint grows with n^3,
while what the joint feels grows with n. There left and right hold the bodies of the dof's own section only. With I and
2 B the inertia and the Coriolis part of the section below c, f_c takes over the rest:

    f_c - sum_i right_i dz_i - I t_c[X] - 2 B t_c[Y] - sum_below f = 0

A closure over long branches passes through interfaces as well: ``system.condensed_closures``. It needs the twist

    w_c - w_up - sum_j S_j dz_j = 0    6 numbers, over c and the dofs above it.

Condensed unknowns of the tangent: interfaces of deep trees, and closures over long branches.

Interfaces of substructures have their places, their unknowns and the entries of their equations here;
``system.pattern`` has the equations.

The penalty of a closure couples all dofs of its two branches with each other: in a loop of n bodies it has n^2 entries,
and eliminating them takes n^3. With q4 = h^2/4, rows P and wrenches G, row r of the closure and dof j meet in
P_rj = sign_j S_j . G_r only, so that P dz is the difference of two sums of S_j dz_j: the twist w of the interface above
b, with the dofs of b's own section, less that of a. The unknowns mu (one a row)

    mu_r - sqrt(q4 alpha_r) G_r . (twist of b - twist of a) = 0

stand for the penalty: sqrt(q4 alpha_r) mu_r G_r is a wrench on b and the opposite one on a, which interfaces carry
upwards with f. What lies above the last common ancestor of a and b cancels.

Tangents with the turning of loop wrenches (``lagged``, ``exact``) add to this the wrenches phi_b on b and phi_a on a,
linear in the two twists: phi_b - D_b twist_b - D_a twist_a = 0, and phi_a likewise. D_a = dF/d(twist of a) and D_b are
6 x 6. Where a dof moves b rigidly, what F turns by is the business of the dofs (``tangent``): F is added to the wrench
that the dof carries, and F x* is taken off D.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rtmbs.core.remembered import by_content
from rtmbs.numerics.linear.symbolic import analyse, analyse_order, entries, flops, nonzeros, symmetric_pattern
from rtmbs.system.closure_tables import pointer
from rtmbs.system.system import Integers, System
from rtmbs.system.tables import (
    MOTION,
    TWIST,
    WRENCH,
    Closures,
    CondensedClosures,
    Connectors,
    Interfaces,
    Paths,
    Tables,
)

SPACING = 12  # dofs from interface to interface on a path; fewest entries and nearly least arithmetic in towers
UNKNOWNS = MOTION + WRENCH  # unknowns of an interface, but for w
OWN_INERTIA = 16  # interfaces from which on a section counts its own bodies only: sums over longer trees lose digits


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


class Sections(NamedTuple):
    """Substructures of a tree between its interfaces, and the numbers of the unknowns of these."""

    interfaces: Integers  # (nr,) dofs
    of: Integers  # (n,) interface above every dof, or -1
    ways: list[Integers]  # from below that interface to the dof, itself last
    width: int  # unknowns of an interface: with w where closures pass through
    own_inertia: bool  # sections count their own bodies only

    @staticmethod
    def cut(interfaces: Integers, of: Integers, parent: Integers, twists: bool) -> "Sections":
        """Return the sections of a tree that ``interfaces`` cut; ``twists`` says whether they have w."""
        ways: list[Integers] = []
        for i, (p, r) in enumerate(zip(parent.tolist(), of.tolist(), strict=True)):
            own = np.array([i], np.int64)
            ways.append(own if p < 0 or (r >= 0 and interfaces[r] == p) else np.append(ways[p], own))
        width = UNKNOWNS + (TWIST if twists else 0)
        return Sections(interfaces, of, ways, width, twists or len(interfaces) >= OWN_INERTIA)

    @property
    def unknowns(self) -> Integers:
        """Numbers of the unknowns of every interface (nr, width): t, f, then w."""
        return len(self.of) + np.arange(self.width * len(self.interfaces)).reshape(-1, self.width)


class InterfaceEntries(NamedTuple):
    """Rows and columns (..., 2) of the entries that interfaces add, in the order of the tables of ``Interfaces``."""

    under: Integers  # dofs with an interface above
    below: Integers
    pointer: Integers
    above: Integers
    one: Integers
    minus: Integers
    inertia: Integers
    twist: Integers

    def all(self) -> Integers:
        """Return all rows and columns (entries, 2)."""
        parts = (self.below, self.above, self.minus, self.inertia, self.twist)
        return np.concatenate([part.reshape(-1, 2) for part in parts])


def interface_entries(sections: Sections) -> InterfaceEntries:
    """Return the entries of interfaces.

    Below (n, UNKNOWNS, 2) holds t of the interface above in the row of a dof, and the dof in the rows of f. Above
    (entries, UNKNOWNS, 2) holds, along an interface's path, the dof in the rows of t, and f in the row of the dof.
    """
    interfaces, of, ways, width, own_inertia = sections
    n, count, unknowns = len(of), len(interfaces), sections.unknowns
    dofs = np.arange(n)[:, None]
    under = np.flatnonzero(of >= 0)
    below = swap(dofs[under], unknowns[of[under], :UNKNOWNS], range(MOTION, UNKNOWNS))
    pointer = np.cumsum([0, *(len(ways[c]) for c in interfaces)]).astype(np.int64)
    way = np.concatenate([np.zeros(0, np.int64), *(ways[c] for c in interfaces)]).astype(np.int64)
    mine = unknowns[np.repeat(np.arange(count), np.diff(pointer))]
    above = swap(way[:, None], mine[:, :UNKNOWNS], range(MOTION))
    one = np.stack([unknowns.ravel(), unknowns.ravel()], -1)
    fed = np.flatnonzero(of[interfaces] >= 0)
    # t and t of the interface above, f of that and f, w and w of that
    minus = swap(unknowns[fed], unknowns[of[interfaces[fed]]], range(MOTION, UNKNOWNS))
    inertia = pairs(unknowns[:, MOTION:UNKNOWNS, None], unknowns[:, None, :MOTION]) if own_inertia else NONE
    twist = pairs(mine[:, UNKNOWNS:], way[:, None]) if width > UNKNOWNS else NONE
    return InterfaceEntries(under, below, pointer, above, one, minus.reshape(-1, 2), inertia, twist)


NONE = np.zeros((0, 1, 2), np.int64)  # no entries


def pairs(rows: Integers, columns: Integers) -> Integers:
    """Return (..., 2) pairs of rows and columns."""
    return np.stack(np.broadcast_arrays(rows, columns), -1).astype(np.int64)


def swap(rows: Integers, columns: Integers, exchanged: range) -> Integers:
    """Return (count, UNKNOWNS, 2) pairs of rows and columns, the two exchanged in some of the UNKNOWNS."""
    found = np.stack(np.broadcast_arrays(rows, columns), -1)
    found[:, list(exchanged)] = found[:, list(exchanged), ::-1]
    return found


def no_interfaces(n: int) -> Interfaces:
    """Return the tables of a tree without interfaces."""
    none = np.zeros(0, np.int64)
    return Interfaces(
        none, np.full(n, -1, np.int64), np.zeros((n, UNKNOWNS), np.int64), np.zeros(1, np.int64),
        np.zeros((0, UNKNOWNS), np.int64), none.copy(), none.copy(), np.zeros((0, WRENCH * MOTION), np.int64),
        np.zeros((0, TWIST), np.int64),
    )  # fmt: skip


LONG = 24  # dofs on the branches of a closure, from which on it may be condensed


def long_closures(closures: Closures, count: int, connectors: Connectors, of: Integers) -> Integers:
    """Return the closures, of the first ``count``, with long branches that leave the section of their end."""
    mine = closures.connector[:count]
    a, b = connectors.a[mine], connectors.b[mine]
    above = [np.where(end >= 0, of[np.maximum(end, 0)], -1) for end in (a, b)]
    width = np.diff(connectors.pointer)[mine]
    return np.flatnonzero((width >= LONG) & (above[0] != above[1]))


class CondensedEntries(NamedTuple):
    """Rows and columns (..., 2) of the entries of condensed closures, and what the tables need beside them."""

    plain: CondensedClosures  # with pairs of row and column in place of places; -1 where there is none
    first: Integers  # (mu + 12 k,) for each unknown the closure that it belongs to

    def all(self) -> Integers:
        """Return all rows and columns (entries, 2)."""
        found = np.concatenate([getattr(self.plain, name).reshape(-1, 2) for name in PLACES])
        return found[found[:, 0] >= 0]


PLACES = ("pulled", "seen", "twist", "wrench", "turned", "turning", "turned_wrench", "turning_twist", "one")


def condensed_entries(
    which: Integers, closures: Closures, connectors: Connectors, sections: Sections
) -> CondensedEntries:
    """Return the entries of the closures ``which``; their unknowns follow those of the interfaces, mu before phi."""
    rows = np.diff(closures.row_pointer)[which]
    first = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    begin = len(sections.of) + sections.width * len(sections.interfaces)
    mu = begin + np.arange(first[-1])
    phi = begin + first[-1] + np.arange(2 * WRENCH * len(which)).reshape(-1, 2, WRENCH)
    unknowns, none = sections.unknowns, np.full(sections.width, -1, np.int64)
    dof, sign, turned, turning, pulled, seen = [], [], [], [], [], []
    above, f, w = np.full((len(which), 2), -1, np.int64), [], []
    for k, l in enumerate(which):
        own = mu[first[k] : first[k + 1]]
        for side, end in enumerate((connectors.a[closures.connector[l]], connectors.b[closures.connector[l]])):
            way = sections.ways[end] if end >= 0 else np.zeros(0, np.int64)
            above[k, side] = sections.of[end] if end >= 0 else -1
            mine = unknowns[above[k, side]] if above[k, side] >= 0 else none
            f.append(mine[MOTION:UNKNOWNS])
            w.append(mine[UNKNOWNS:])
            dof.append(way)
            sign.append(np.full(len(way), (-1.0, 1.0)[side]))
            pulled.append(pairs(way[:, None], own).reshape(-1, 2))
            seen.append(pairs(own, way[:, None]).reshape(-1, 2))
            turned.append(pairs(way[:, None], phi[k, side]))
            turning.append(pairs(phi[k].ravel(), way[:, None]))
    wrenches, twists = np.array(f).reshape(-1, 2, WRENCH), np.array(w).reshape(-1, 2, TWIST)
    counts = np.array([len(way) for way in dof], np.int64).reshape(-1, 2).sum(axis=1)
    owner = np.repeat(np.arange(len(which)), rows)
    return CondensedEntries(
        CondensedClosures(
            closure=which,
            pointer=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            dof=np.concatenate(dof),
            sign=np.concatenate(sign),
            row=first,
            place=(np.cumsum(counts * rows) - counts * rows).astype(np.int64),
            pulled=np.concatenate(pulled),
            seen=np.concatenate(seen),
            interface=above,
            twist=present(pairs(mu[:, None, None], twists[owner])),
            wrench=present(pairs(wrenches[owner], mu[:, None, None])),
            turned=np.concatenate(turned),
            turning=np.concatenate(turning),
            turned_wrench=present(pairs(wrenches, phi)),
            turning_twist=present(pairs(phi.reshape(-1, 1, 2 * WRENCH, 1), twists[:, :, None, :])),
            one=pairs(np.concatenate([mu, phi.ravel()]), np.concatenate([mu, phi.ravel()])),
        ),
        np.concatenate([owner, np.repeat(np.arange(len(which)), 2 * WRENCH)]),
    )


def present(found: Integers) -> Integers:
    """Return the pairs, -1 for both where one of them is missing."""
    return np.where(np.any(found < 0, axis=-1, keepdims=True), -1, found)


def no_condensed() -> CondensedClosures:
    """Return the tables where no closure is condensed."""
    none = np.zeros(0, np.int64)
    zero = np.zeros(1, np.int64)
    return CondensedClosures(
        none, zero, none, np.zeros(0), zero, none, none, none, np.zeros((0, 2), np.int64),
        np.zeros((0, 2, 6), np.int64), np.zeros((0, 2, 6), np.int64), np.zeros((0, 6), np.int64),
        np.zeros((0, 12), np.int64), np.zeros((0, 2, 6), np.int64), np.zeros((0, 2, 12, 6), np.int64), none,
    )  # fmt: skip


Pairs = list[tuple[int, int]]

LARGE = 1000  # dofs beyond which another elimination order is looked at
WORTH_WHILE = 0.8  # part of the arithmetic that interfaces may leave at most: they have entries to fill, too


class TangentPattern(NamedTuple):
    """Static factorisation, and the tables of the tree with their places in its values."""

    lu: Any
    paths: Paths
    interfaces: Interfaces
    condensed: CondensedClosures


def paths_to_ground(parent: Integers) -> list[Integers]:
    """Return the path of every dof: the dofs from ground to itself, itself last."""
    paths: list[Integers] = []
    for i, p in enumerate(parent):
        above = paths[p] if p >= 0 else np.zeros(0, np.int64)
        paths.append(np.append(above, np.int64(i)))
    return paths


def depths(parent: Integers) -> Integers:
    """Return the number of dofs from ground to every dof (n,), itself included."""
    found = np.ones(len(parent), np.int64)
    for i, p in enumerate(parent.tolist()):
        if p >= 0:
            found[i] += found[p]
    return found


def branches(parent: list[int], depth: list[int], a: int, b: int) -> tuple[Integers, Integers]:
    """Return the dofs below the last common ancestor of ``a`` and ``b``: down to a, and down to b."""
    to_a: list[int] = []
    to_b: list[int] = []
    a, b = max(a, -1), max(b, -1)
    while a != b:
        if b < 0 or (a >= 0 and depth[a] >= depth[b]):
            to_a.append(a)
            a = max(parent[a], -1)
        else:
            to_b.append(b)
            b = max(parent[b], -1)
    return np.array(to_a[::-1], np.int64), np.array(to_b[::-1], np.int64)


def build_paths(paths: list[Integers]) -> Paths:
    """Return the paths as arrays, without places."""
    ways = pointer(np.array([len(path) for path in paths], np.int64))
    dofs = join(paths)
    return Paths(ways, dofs, np.zeros(len(dofs), np.int64), np.zeros(len(dofs), np.int64))


def build_connectors(parent: Integers, pairs: Pairs, couplers: Mapping[int, Integers]) -> Connectors:
    """Return the connectors between pairs of dofs, or of the dofs that a coupler joins; their places still open."""
    none = np.zeros(0, np.int64)
    above, depth = parent.tolist(), depths(parent).tolist()
    found = [(none, couplers[l]) if l in couplers else branches(above, depth, a, b) for l, (a, b) in enumerate(pairs)]
    sizes = np.array([len(to_a) + len(to_b) for to_a, to_b in found], np.int64)
    return Connectors(
        a=np.array([a for a, _ in pairs], np.int64),
        b=np.array([b for _, b in pairs], np.int64),
        pointer=pointer(sizes),
        dof=join([branch for both in found for branch in both]),
        sign=np.concatenate(
            [np.zeros(0), *(np.full(len(s), sign) for both in found for s, sign in zip(both, (-1.0, 1.0), strict=True))]
        ),
        block_pointer=np.zeros(len(sizes) + 1, np.int64),
        entry=none,
    )


def lay_out(
    parent: Integers, pairs: Pairs, couplers: Mapping[int, Integers]
) -> tuple[Paths, Interfaces, CondensedClosures, Connectors]:
    """Return paths, interfaces and condensed closures, all still empty, and connectors without places.

    The connectors stand between ``pairs`` of dofs. ``couplers`` lists the dofs of those that join coordinates, by the
    number of the connector.
    """
    return build_paths([]), no_interfaces(len(parent)), no_condensed(), build_connectors(parent, pairs, couplers)


def give_places(tables: Tables, condensed: bool = True, closures: bool = True) -> tuple[Any, Tables]:
    """Return the static factorisation of the tangent, and the tables with the places of all entries in its values.

    Interfaces and condensed closures are chosen when they are allowed, by ``condensed``, and pay; condensed closures
    by ``closures`` as well. Places in the flat Phi_z, ``Closures.entry_pointer``, are given with the others.
    """
    laws, parent = tables.laws, tables.dofs.parent
    coupled = laws.row[laws.force_entry[:, 0]], laws.input[laws.force_entry[:, 1], 0]
    found = analyse_pattern(tables, coupled, condensed, closures)
    connectors = with_places(found.lu, tables, found.condensed)
    diagonal = places(found.lu, np.arange(len(parent)), np.arange(len(parent)))
    rows_of, branches_of = np.diff(tables.closures.row_pointer), np.diff(tables.connectors.pointer)
    entry = np.column_stack((laws.force_entry[:, :3], places(found.lu, *coupled)))
    return found.lu, tables._replace(
        paths=found.paths,
        interfaces=found.interfaces,
        condensed=found.condensed,
        connectors=connectors,
        closures=tables.closures._replace(entry_pointer=pointer(rows_of * branches_of[tables.closures.connector])),
        drivers=tables.drivers._replace(entry=diagonal[tables.drivers.dof]),
        joint_forces=tables.joint_forces._replace(entry=diagonal[tables.joint_forces.dof]),
        laws=laws._replace(force_entry=entry),
    )


def with_places(lu: Any, tables: Tables, condensed: CondensedClosures) -> Connectors:
    """Return the connectors with the places of their blocks; condensed closures have none."""
    sizes = np.diff(tables.connectors.pointer)
    sizes[tables.closures.connector[condensed.closure]] = 0
    connectors = tables.connectors._replace(block_pointer=pointer(sizes * sizes))
    return connectors._replace(entry=block_places(lu, connectors))


def factor_text(system: System) -> str:
    """Return the sentence about the Newton matrix: its form, and the arithmetic and memory that one factor takes."""
    tables, lu = system.tables, system.lu
    interfaces, condensed = len(tables.interfaces.dof), len(tables.condensed.closure)
    form = "all pairs of a path" if interfaces == 0 else f"{interfaces} interfaces between sections of the tree"
    if condensed:
        form += f", {condensed} long loops closed by multipliers"
    return (
        f"Newton matrix        {form}; a factor takes {flops(lu):.2g} operations on {nonzeros(lu):.2g} numbers,"
        f" {lu.total} unknowns"
    )


def uncondensed(system: System) -> System:
    """Return the System with all pairs of a path in its pattern: K and C of other sources need them."""
    if len(system.tables.interfaces.dof) == 0:
        return system
    lu, tables = give_places(system.tables, condensed=False)
    return replace(system, tables=tables, lu=lu)


def with_blocks(system: System) -> System:
    """Return the System without condensed closures: the midpoint rule takes Phi_z of two poses."""
    if len(system.tables.condensed.closure) == 0:
        return system
    lu, tables = give_places(system.tables, closures=False)
    return replace(system, tables=tables, lu=lu)


def analyse_pattern(
    tables: Tables, more: tuple[Integers, Integers], condensed: bool = True, closures: bool = True
) -> TangentPattern:
    """Return the factorisation with least arithmetic, with interfaces (if allowed, by ``condensed``) or without.

    ``closures`` says whether closures over long branches may be condensed. ``more`` are rows and columns of further
    entries: joints that a force law couples. Without interfaces the pattern holds all pairs of a path.
    """
    parent = tables.dofs.parent
    interfaces, of = choose_interfaces(parent, tables.dofs.tip)
    if not condensed or len(interfaces) == 0:
        return direct_pattern(tables, more)
    far = long_closures(tables.closures, int(tables.contacts.first[0]) if closures else 0, tables.connectors, of)
    best = condensed_pattern(tables, Sections.cut(interfaces, of, parent, len(far) > 0), far, more)
    if len(far) and least_flops(tables, False) < flops(best.lu):
        best = cheaper(condensed_pattern(tables, Sections.cut(interfaces, of, parent, False), far[:0], more), best)
    if flops(best.lu) <= WORTH_WHILE * least_flops(tables, True):
        return best
    direct = direct_pattern(tables, more)
    return best if flops(best.lu) <= WORTH_WHILE * flops(direct.lu) else direct


def cheaper(one: TangentPattern, other: TangentPattern) -> TangentPattern:
    """Return the pattern with less arithmetic."""
    return one if flops(one.lu) <= flops(other.lu) else other


def least_flops(tables: Tables, whole_paths: bool) -> float:
    """Return a lower bound of the arithmetic of a pattern that holds the block of every connector.

    A block of k dofs has k pivots with up to k - 1 entries below them. ``whole_paths`` says whether all pairs of a
    path are in the pattern as well: entries below a pivot, but for what loops add.
    """
    block = float(np.diff(tables.connectors.pointer).max(initial=0))
    bound = block**2 / 2 + 2 * block**3 / 3 - 2 * block**2
    if whole_paths:
        above = depths(tables.dofs.parent) - 1
        bound = max(bound, float(np.sum(above + 2 * above * above)))
    return bound


def direct_pattern(tables: Tables, more: tuple[Integers, Integers]) -> TangentPattern:
    """Return the pattern of all pairs (dof, ancestor), of the blocks of connectors, and ``more``."""
    return pattern_of_paths(tables.dofs.parent, tables.connectors.dof, tables.connectors.pointer, more)


@by_content
def pattern_of_paths(
    parent: Integers, branch: Integers, branch_pointer: Integers, more: tuple[Integers, Integers]
) -> TangentPattern:
    """Return the pattern of ``direct_pattern``; mechanisms that differ in real numbers share it."""
    n, paths = len(parent), build_paths(paths_to_ground(parent))
    row = np.repeat(np.arange(n, dtype=np.int64), np.diff(paths.pointer))
    rows, cols = block_pairs(branch, branch_pointer, n)
    lu = analyse(n, np.concatenate([row, rows, more[0]]), np.concatenate([paths.dof, cols, more[1]]))
    return TangentPattern(lu, located(lu, paths, row), no_interfaces(n), no_condensed())


def condensed_pattern(
    tables: Tables, sections: Sections, far: Integers, more: tuple[Integers, Integers]
) -> TangentPattern:
    """Return the pattern of the pairs of each section of the tree, and of the unknowns of interfaces and closures.

    ``far`` are the closures that are condensed.
    """
    n, paths = len(sections.of), build_paths(sections.ways)
    row = np.repeat(np.arange(n, dtype=np.int64), np.diff(paths.pointer))
    added, closed = interface_entries(sections), None
    found = [np.column_stack((row, paths.dof)), np.column_stack(more), added.all()]
    if len(far):
        closed = condensed_entries(far, tables.closures, tables.connectors, sections)
        found.append(closed.all())
    blocks: NDArray[np.bool_] = np.ones(len(tables.connectors.a), np.bool_)
    blocks[tables.closures.connector[far]] = False
    found.append(np.column_stack(block_pairs(tables.connectors.dof, tables.connectors.pointer, n, blocks)))
    rows, cols = np.concatenate(found).T
    unknowns = sections.width * len(sections.interfaces) + (len(closed.first) if closed else 0)
    order = elimination_order(sections, tables.dofs.parent, closed, rows, cols, n + unknowns)
    lu = analyse(n, rows, cols, order=order, condensed=unknowns)
    interfaces = locate_interfaces(lu, sections, added)
    return TangentPattern(lu, located(lu, paths, row), interfaces, locate_closures(lu, closed))


def locate_interfaces(lu: Any, sections: Sections, added: Any) -> Interfaces:
    """Return the tables of interfaces with the places of their entries."""
    at = {
        name: pair_places(lu, getattr(added, name)) for name in ("below", "above", "one", "minus", "inertia", "twist")
    }
    empty = no_interfaces(len(sections.of))
    empty.below[added.under] = at["below"]
    return Interfaces(
        dof=sections.interfaces,
        of=sections.of,
        below=empty.below,
        pointer=added.pointer,
        above=at["above"],
        one=at["one"],
        minus=at["minus"],
        inertia=at["inertia"].reshape(-1, empty.inertia.shape[1]),
        twist=at["twist"].reshape(-1, empty.twist.shape[1]),
    )


def locate_closures(lu: Any, closed: CondensedEntries | None) -> CondensedClosures:
    """Return the tables of condensed closures with the places of their entries."""
    if closed is None:
        return no_condensed()
    return closed.plain._replace(**{name: pair_places(lu, getattr(closed.plain, name)) for name in PLACES})


def pair_places(lu: Any, found: Integers) -> Integers:
    """Return the places (...) of rows and columns (..., 2); -1 where there is none."""
    flat = found.reshape(-1, 2)
    given, out = flat[:, 0] >= 0, np.full(len(flat), -1, np.int64)
    out[given] = places(lu, flat[given, 0], flat[given, 1])
    return out.reshape(found.shape[:-1])


def located(lu: Any, paths: Paths, row: Integers) -> Paths:
    """Return the paths with their places; ``row`` is the dof that each entry belongs to."""
    return paths._replace(entry=places(lu, row, paths.dof), entry_transposed=places(lu, paths.dof, row))


def block_pairs(
    branch: Integers, branch_pointer: Integers, n: int, which: NDArray[np.bool_] | None = None
) -> tuple[Integers, Integers]:
    """Return rows and columns of every entry in some connector's (branch, branch) block, each once.

    With B the connectors over the n dofs of their branches, these are the entries of B^T B: in a chain whose bodies are
    all tied to each other the blocks hold hundreds of times as many. ``which`` (nl,) leaves connectors out.
    """
    if len(branch) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    B = csr_array((np.ones(len(branch), np.int64), branch, branch_pointer), (len(branch_pointer) - 1, n))
    if which is not None:
        B = B[np.flatnonzero(which)]
    found = (B.T @ B).tocoo()
    return found.row.astype(np.int64), found.col.astype(np.int64)


def block_places(lu: Any, connectors: Connectors) -> Integers:
    """Return the places of every connector's (branch, branch) block, row by row, connector by connector.

    Blocks that hold more than the whole matrix read their places off a table of it, one connector at a time.
    """
    branches = np.split(connectors.dof, connectors.pointer[1:-1])
    blocks, sizes = connectors.block_pointer, np.diff(connectors.block_pointer)
    branches = [branch if size else branch[:0] for branch, size in zip(branches, sizes, strict=False)]
    if blocks[-1] <= lu.total * lu.total:
        rows = join([np.repeat(branch, len(branch)) for branch in branches])
        return places(lu, rows, join([np.tile(branch, len(branch)) for branch in branches]))
    table = np.zeros((lu.total, lu.total), np.int64)
    table.flat[lu.pattern] = places(lu, *np.divmod(lu.pattern, lu.total))
    found = np.empty(int(blocks[-1]), np.int64)
    for branch, start, end in zip(branches, blocks, blocks[1:], strict=False):
        found[start:end] = table[np.ix_(branch, branch)].ravel()
    return found


def places(lu: Any, rows: Integers, cols: Integers) -> Integers:
    return np.ascontiguousarray(entries(lu, rows, cols), np.int64)


def join(parts: list[Integers]) -> Integers:
    return np.concatenate([np.zeros(0, np.int64), *parts])


# ---- elimination order ----------------------------------------------------------------------------------------------


def elimination_order(
    sections: Sections,
    parent: Integers,
    closed: CondensedEntries | None,
    rows: Integers,
    cols: Integers,
    total: int,
) -> Integers:
    """Return the elimination order: from the tips, unknowns of an interface after all that hangs on it, then it.

    Unknowns of a closure come before the first of the dofs that they meet. Dofs stand in the order of the tree; in
    large trees, and with condensed closures, whichever has less arithmetic, that or the order of their depths, so that
    branches side by side shrink together.
    """
    n = len(sections.of)
    listed = np.arange(n)[::-1]
    if closed is None and n <= LARGE:
        return ordered(listed, sections, closed)
    pointer, index, _ = symmetric_pattern(total, rows, cols)
    deepest = np.argsort(-depths(parent), kind="stable")
    found = [ordered(dofs, sections, closed) for dofs in (listed, deepest)]
    return min(found, key=lambda order: analyse_order(pointer, index, order)[2])


def ordered(dofs: Integers, sections: Sections, closed: CondensedEntries | None) -> Integers:
    """Return the order of all unknowns, for an order of the ``dofs`` with children before parents."""
    n = len(dofs)
    place = np.empty(n, np.int64)
    place[dofs] = np.arange(n)
    own = sections.unknowns[:, ::-1]
    at, step, number = (
        [place, np.repeat(place[sections.interfaces], own.shape[1])],
        [np.full(n, 2), np.zeros(own.size)],
        [
            np.arange(n),
            own.ravel(),
        ],
    )
    if closed is not None:
        plain = closed.plain
        meets = np.full(len(plain.closure), n, np.int64)
        np.minimum.at(meets, np.repeat(np.arange(len(meets)), np.diff(plain.pointer)), place[plain.dof])
        at.append(meets[closed.first])
        step.append(np.ones(len(closed.first)))
        number.append(plain.one[:, 0])
    order = np.lexsort((np.arange(sum(map(len, at))), np.concatenate(step), np.concatenate(at)))
    return np.concatenate(number)[order]

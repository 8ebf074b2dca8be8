"""Condensed unknowns of the tangent: interfaces of deep trees, and closures over long branches.

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

from typing import NamedTuple

import numpy as np

from rtmbs.system.system import Integers
from rtmbs.system.tables import MOTION, TWIST, WRENCH, Closures, CondensedClosures, Connectors, Interfaces

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

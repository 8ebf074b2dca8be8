"""Interfaces of substructures of a deep tree: where they stand, their unknowns, and the entries of their equations.

``system.pattern`` has the equations.
"""

from typing import NamedTuple

import numpy as np

from rtmbs.system.system import Integers
from rtmbs.system.tables import MOTION, TWIST, WRENCH, Interfaces

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

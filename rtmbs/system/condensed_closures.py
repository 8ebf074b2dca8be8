"""Closures over long branches: their multipliers and wrenches as condensed unknowns of the tangent.

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

from rtmbs.system.interfaces import UNKNOWNS, Sections, pairs
from rtmbs.system.system import Integers
from rtmbs.system.tables import MOTION, TWIST, WRENCH, Closures, CondensedClosures, Connectors

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

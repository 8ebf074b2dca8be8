"""Interfaces of substructures: dofs of a deep tree through which those below and those above act on each other.

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

from typing import Any

import numpy as np

from rtmbs.system.tables import MOTION, WRENCH, Interfaces

Integers = Any

SPACING = 12  # dofs from interface to interface on a path; fewest entries and nearly least arithmetic in towers
UNKNOWNS = MOTION + WRENCH  # unknowns of an interface


def choose_interfaces(parent: Integers, tip: Integers) -> tuple[Integers, Integers]:
    """Return (interfaces, of): dofs that SPACING others separate from the one above and as many from the deepest tip.

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
    """Return (below, above, pointer, one, minus): rows and columns, (..., 2), of the entries that interfaces bring.

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

"""From an elimination tree to fronts: rows eliminated together, so that the kernels meet dense blocks only.

A front has `width` pivots of its own and `rest` rows below them that its pivots touch. Groups are merged while the
predicted time falls, then wide ones are split again, because a chain of fronts costs no more than one.
"""

from typing import Any

import numpy as np

Array = Any

WIDEST = 24  # pivots in one front; more would push its panels out of the first cache


def front_time(width: int, rest: int) -> float:
    """Return the predicted time of one front [ns]: factorisation, and 1 ns a stored number to clear, copy and solve.

    Fitted to the kernels; only ratios matter.
    """
    stored = width * (width + 2 * rest)
    panels = width * (8.0 + width * (0.6 + 0.02 * width))
    if rest == 0:
        return 40.0 + stored + panels
    passes = max(width // 4, 1)
    update = rest * (1.5 * passes + 0.067 * rest * (passes + width))
    return 40.0 + stored + panels + width * width * (0.6 + 0.055 * rest) + update


def group_time(width: int, rest: int) -> float:
    """Return the predicted time of a group of ``width`` pivots, split into fronts of at most WIDEST."""
    total = 0.0
    while width > WIDEST:
        width -= WIDEST
        total += front_time(WIDEST, rest + width)
    return total + front_time(width, rest)


def hand_over_time(rest: int, leaf: bool, heir: bool) -> float:
    """Return the predicted time of handing a remainder over: leaves clear it first, others than heirs add it."""
    return 60.0 + rest * (5.0 + rest * (0.06 * leaf + 0.25 * (not heir)))


def fundamental(parent: Array, counts: Array) -> tuple[Array, Array]:
    """Return (group of every place, parent of every group): chains whose columns have the same rows below.

    Groups are numbered by their last place, so that a parent comes after its children.
    """
    n = len(parent)
    heir = np.full(n, -1, np.int64)
    follows = np.flatnonzero(parent >= 0)
    follows = follows[counts[follows] == counts[parent[follows]] + 1]
    heir[parent[follows]] = follows  # of several such children one, the last, joins its parent
    joined = np.zeros(n, bool)
    joined[heir[heir >= 0]] = True
    last = np.flatnonzero(~joined)
    group = np.empty(n, np.int64)
    group[last] = np.arange(len(last))
    for i in np.flatnonzero(joined)[::-1]:
        group[i] = group[parent[i]]
    above = parent[last]
    return group, np.where(above >= 0, group[above], -1)


def merge(width: list[int], rest: list[int], parent: list[int]) -> list[int]:
    """Return for every group the group it is merged into (itself when it stays); children come before parents.

    Merging a child into its parent adds zeros to the child's columns, and saves a front and its hand-over.
    """
    into = list(range(len(width)))
    children: list[list[int]] = [[] for _ in width]
    for child, p in enumerate(parent):
        if p >= 0:
            children[p].append(child)
    for p, family in enumerate(children):
        family.sort(key=lambda c: -rest[c])
        for child in family:
            saved = hand_over_time(rest[child], not children[child], child == family[0])
            apart = group_time(width[child], rest[child]) + group_time(width[p], rest[p]) + saved
            if group_time(width[child] + width[p], rest[p]) <= apart:
                width[p] += width[child]
                into[child] = p
    for child in range(len(into) - 1, -1, -1):
        into[child] = into[into[child]]
    return into


def heir_first(parent: Array, rest: Array) -> tuple[Array, Array]:
    """Return (postorder of the groups, heir of every group or -1).

    The heir is the child with most rows below; visited first, it hands its remaining block to the parent in place.
    """
    count = len(parent)
    children: list[list[int]] = [[] for _ in range(count)]
    heir = np.full(count, -1, np.int64)
    for child in range(count):
        p = parent[child]
        if p >= 0:
            children[p].append(child)
            if rest[p] > 0 and (heir[p] < 0 or rest[child] > rest[heir[p]]):
                heir[p] = child
    for p in np.flatnonzero(heir >= 0):
        children[p].remove(heir[p])
        children[p].insert(0, heir[p])
    order: list[int] = []
    stack: list[int] = np.flatnonzero(parent < 0).tolist()
    while stack:  # parents first, children from last to first; reversed this is a postorder
        s = stack.pop()
        order.append(s)
        stack.extend(children[s])
    return np.array(order[::-1], np.int64), heir


def group_fronts(parent: Array, counts: Array) -> tuple[Array, Array]:
    """Return (front of every place, parent of every front), children before parents, from an elimination tree."""
    group, group_parent = fundamental(parent, counts)
    width = np.bincount(group).tolist()
    last = last_place(group, len(width))
    into = merge(width, counts[last].tolist(), group_parent.tolist())
    group = np.array(into, np.int64)[group]
    rank = rank_in_group(group)
    label = group * (len(parent) + 1) + rank // WIDEST  # a wide group is split
    _, front = np.unique(label, return_inverse=True)
    count = int(front.max(initial=-1)) + 1
    front = np.argsort(np.argsort(last_place(front, count)))[front]  # numbered by last place
    last = last_place(front, count)
    above = parent[last]
    front_parent = np.where(above >= 0, front[above], -1)
    by_group: dict[int, int] = {}
    for f in range(count - 1, -1, -1):
        g = int(group[last[f]])
        if g in by_group:
            front_parent[f] = by_group[g]
        by_group[g] = f
    return front, front_parent


def last_place(group: Array, count: int) -> Array:
    """Return the last place of every group."""
    last = np.zeros(count, np.int64)
    np.maximum.at(last, group, np.arange(len(group)))
    return last


def rank_in_group(group: Array) -> Array:
    """Return how many earlier places belong to the same group, for every place."""
    by_group = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[by_group], group[by_group])
    rank = np.empty(len(group), np.int64)
    rank[by_group] = np.arange(len(group)) - starts
    return rank

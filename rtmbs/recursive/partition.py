"""Partition of a mechanism: cuts of its loops for even shares, and branches of the tree shared among ranks.

The trunk leads from ground to the base body, where the tree first branches; it is empty where several bodies hang on
ground. Branches whose elements depend on each other, as through a spring, stay together while there are enough of them.
Otherwise springs are parted, and branches are divided at bodies (METHODS 3.6). Cut joints do not count: their
multipliers are what the ranks solve for together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.convex import refuse_convex
from rtmbs.contact.joints import refuse_bearings
from rtmbs.contact.switched import refuse_rigid
from rtmbs.errors import InputError
from rtmbs.model.model import Model
from rtmbs.system.contact_tables import refuse_sets
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

SWEEPS = 10  # over the loops

Edge = tuple[str, str]  # bodies of a joint


def balanced_cuts(model: Model, ranks: int) -> list[str]:
    """Return the joints whose cut gives the most even shares of work.

    The work of a branch is counted in degrees of freedom of its joints. Joints that the model cuts already are where
    the search begins. Set ``cut=True`` for the joints returned.

    Parameters
    ----------
    model : Model
        Model with loops.
    ranks : int
        Number of ranks, 1 or more.

    Returns
    -------
    list[str]
        Names of the joints to cut, one for each loop.

    Raises
    ------
    InputError
        For fewer than one rank.

    Examples
    --------
    >>> balanced_cuts(rtmbs.library.build("loop", k=9), 2)  # doctest: +SKIP
    ['pair_5']
    """
    if not (isinstance(ranks, int) and ranks >= 1):
        raise InputError(f"ranks is {ranks!r}; a whole number of 1 or more is wanted")
    edges = {joint.name: (joint.a.name, joint.b.name) for joint in model.joints.values()}
    weights = {joint.name: len(joint.type.dofs()) for joint in model.joints.values()}
    root = model.ground.name
    wanted = [joint.name for joint in model.joints.values() if joint.cut]
    tree = spanning({name: edge for name, edge in edges.items() if name not in wanted}, root)
    cuts = [name for name in edges if name not in tree]
    for _ in range(SWEEPS):
        before = list(cuts)
        for k in range(len(cuts)):
            cuts[k] = best_cut(edges, weights, root, cuts, k, ranks)
        if cuts == before:
            break
    return sorted(cuts)


def spanning(edges: Mapping[str, Edge], root: str) -> dict[str, str]:
    """Return joints of a tree from the root, joint: the body it carries, in the order they are reached."""
    reached, found, more = {root}, {}, True
    while more:
        more = False
        for name, (a, b) in edges.items():
            if name not in found and (a in reached) != (b in reached):
                found[name] = b if a in reached else a
                reached.add(found[name])
                more = True
    return found


def best_cut(
    edges: Mapping[str, Edge], weights: Mapping[str, int], root: str, cuts: list[str], k: int, ranks: int
) -> str:
    """Return the joint that balances best in place of cut ``k``: one of its loop, or itself."""
    others = {name for j, name in enumerate(cuts) if j != k}
    usable = {name: edge for name, edge in edges.items() if name not in others}
    best, least = cuts[k], largest_share(edges, weights, root, {*cuts}, ranks)
    for name in usable:
        tried = {*others, name}
        left = {key: edge for key, edge in edges.items() if key not in tried}
        if len(spanning(left, root)) == len(left):
            share = largest_share(edges, weights, root, tried, ranks)
            if share < least:
                best, least = name, share
    return best


def largest_share(
    edges: Mapping[str, Edge], weights: Mapping[str, int], root: str, cuts: Iterable[str], ranks: int
) -> int:
    """Return the degrees of freedom of the busiest rank, when branches go to the rank with the least."""
    gone = set(cuts)
    tree = spanning({name: edge for name, edge in edges.items() if name not in gone}, root)
    work: dict[str, int] = {}
    branch = {root: ""}
    for name, body in tree.items():
        a, b = edges[name]
        above = a if body == b else b
        branch[body] = branch[above] or name
        work[branch[body]] = work.get(branch[body], 0) + weights[name]
    shares = [0] * ranks
    for amount in sorted(work.values(), reverse=True):
        shares[shares.index(min(shares))] += amount
    return max(shares)


Integers = NDArray[np.int64]


class Segment(NamedTuple):
    """A part of a tree below a body, that a cut of the partition parts from the rest (METHODS 3.6)."""

    attach: int  # dof of the body that both sides have a share of
    dofs: Integers  # ascending


@dataclass(frozen=True)
class Split:
    """The dofs of the trunk and of every rank, ascending, and the segments, those above before those below."""

    trunk: Integers
    shares: tuple[Integers, ...]
    segments: tuple[Segment, ...] = ()


def split(system: System, ranks: int, whole: bool = False) -> Split:
    """Return ``ranks`` shares of branches, the largest branch first to the rank with the fewest dofs.

    More ranks than branches part springs between branches first, then branches at bodies; ``whole``: neither.
    Raises InputError for more ranks than parts, and for what ranks cannot share.
    """
    refuse_bearings(system.bearings, "the recursion")
    refuse_convex(system.forces, "the recursion")
    refuse_sets(system, "the recursion")
    refuse_rigid(system.rigid, "the recursion")
    demand_sharable(system)
    parent = np.maximum(system.tables.dofs.parent, -1)
    trunk = trunk_of(parent)
    parts = branches_of(system.tables, parent, trunk)
    branches, segments = len(parts), list[Segment]()
    if ranks > branches and not whole:
        parts, segments = divided(system.tables, parent, branches_of(system.tables, parent, trunk, False), ranks)
    if ranks > len(parts):
        refuse_split(system, parent, trunk, (branches, len(parts)), ranks, whole)
    shares: list[list[int]] = [[] for _ in range(ranks)]
    for part in sorted(parts, key=len, reverse=True):
        min(shares, key=len).extend(part.tolist())
    return Split(trunk, tuple(np.array(sorted(share), np.int64) for share in shares), tuple(segments))


def refuse_split(
    system: System, parent: Integers, trunk: Integers, found: tuple[int, int], ranks: int, whole: bool
) -> NoReturn:
    """Raise InputError for more ranks than parts; ``found``: branches, and parts at most."""
    many = f"{found[0]} branches" if found[0] != 1 else "one branch"
    if whole and (force := coupling_force(system, parent, trunk)):
        raise InputError(
            f"{system.name} has {many} for {ranks} ranks: {force!r} acts between two branches, and these stay on "
            "one thread; take as many threads as branches at most, or ranks, which part them"
        )
    if whole:
        raise InputError(
            f"{system.name} has {many} for {ranks} ranks; take as many threads as branches at most, or cut a joint "
            "nearer the middle of a loop (cut=True)"
        )
    raise InputError(
        f"{system.name} has {many} for {ranks} ranks, and falls into {found[1]} parts at most; take as many ranks as "
        "parts at most. A part ends at a body with mass and inertia about every axis"
    )


UNEVEN = 1.25  # of an even share: a larger part is divided


def divided(
    tables: Tables, parent: Integers, parts: list[Integers], ranks: int
) -> tuple[list[Integers], list[Segment]]:
    """Return parts for so many ranks, and those of them that are segments: large parts are divided at bodies."""
    wanted = sum(map(len, parts)) / ranks
    solid = np.array([has_full_inertia(tables, i) for i in range(len(parent))], np.bool_)
    bound = np.unique(np.concatenate([tables.laws.row, tables.laws.input[:, 0]]))
    whole, attached = list[Integers](), {int(part[0]): -1 for part in parts}  # first dof: body that it is attached to
    open_parts = sorted(parts, key=len)
    while open_parts and (len(open_parts) + len(whole) < ranks or len(open_parts[-1]) > UNEVEN * wanted):
        part = open_parts.pop()
        goal = wanted if len(part) >= 1.5 * wanted else 0.5 * len(part)
        body, below = best_body(parent, part, goal, solid, bound)
        if body < 0:
            whole.append(part)
            continue
        attached[int(below[0])] = body
        open_parts = sorted([*open_parts, np.setdiff1d(part, below), below], key=len)
    found = [*whole, *open_parts]
    segments = [Segment(attached[int(part[0])], part) for part in found if attached[int(part[0])] >= 0]
    return found, sorted(segments, key=lambda one: int(one.dofs[0]))


def has_full_inertia(tables: Tables, i: int) -> bool:
    """Return whether the body of dof ``i`` has mass, and inertia about every axis: two parts can share it."""
    inertia = np.linalg.eigvalsh(tables.dofs.inertia[i])
    return bool(tables.dofs.tip[i] == i and tables.dofs.mass[i] > 0.0 and inertia[0] > FLAT * inertia[-1])


FLAT = 1e-6  # of the largest moment of inertia: a smaller one is none


def best_body(
    parent: Integers, part: Integers, goal: float, solid: NDArray[np.bool_], bound: Integers
) -> tuple[int, Integers]:
    """Return the body below which about ``goal`` dofs hang, and these; -1 where no body can be shared.

    Dofs that laws bind, ``bound``, stay together.
    """
    inside = set(part.tolist())
    under = dict.fromkeys(inside, 0)
    for i in part[::-1].tolist():
        if int(parent[i]) in inside:
            under[int(parent[i])] += under[i] + 1
    for body in sorted((i for i in inside if solid[i] and under[i]), key=lambda i: (abs(under[i] - goal), i)):
        below = {body}
        for i in part.tolist():
            if int(parent[i]) in below:
                below.add(i)
        found = np.array(sorted(below - {body}), np.int64)
        if len({bool(i in below and i != body) for i in bound.tolist() if i in inside}) < 2:
            return body, found
    return -1, part[:0]


def coupling_force(system: System, parent: Integers, trunk: Integers) -> str:
    """Return the name of a force between bodies of two branches of the tree, empty where there is none."""
    inner = {-1, *trunk.tolist()}

    def branch(body: str) -> int:
        head = i = max(system.bodies[body].dof, -1)
        while i not in inner:
            head, i = i, int(parent[i])
        return head

    for name, force in system.forces.items():
        if force.a in system.bodies and force.b in system.bodies:
            ends = branch(force.a), branch(force.b)
            if ends[0] != ends[1] and not inner & {*ends}:
                return name
    return ""


def trunk_of(parent: Integers) -> Integers:
    """Return the dofs from ground down to the first that more than one hangs on."""
    found: list[int] = []
    below = np.flatnonzero(parent < 0)
    while len(below) == 1:
        found.append(int(below[0]))
        below = np.flatnonzero(parent == below[0])
    return np.array(found if len(below) else found[:0], np.int64)


def branches_of(tables: Tables, parent: Integers, trunk: Integers, forces: bool = True) -> list[Integers]:
    """Return the dofs of every branch, with those that laws on coordinates couple in one, and those of ``forces``."""
    n, inner = len(parent), set(trunk.tolist())
    root = np.arange(n)

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = int(root[i])
        return i

    def unite(dofs: Sequence[int]) -> None:
        own = [i for i in dofs if i >= 0 and i not in inner]
        for i in own[1:]:
            root[find(i)] = find(own[0])

    for i in range(n):
        unite((i, int(parent[i])))
    connectors, closed = tables.connectors, set(tables.closures.connector.tolist())
    for l in range(len(connectors.a)):
        if forces and l not in closed:
            unite((int(connectors.a[l]), int(connectors.b[l])))
    unite([*tables.laws.row.tolist(), *tables.laws.input[:, 0].tolist()])
    head = np.array([find(i) for i in range(n)])
    outer = np.setdiff1d(np.arange(n), trunk)
    return [outer[head[outer] == h] for h in np.unique(head[outer])]


def demand_sharable(system: System) -> None:
    """Raise InputError for elements that no rank evaluates alone: laws in Python, states, relations of coordinates."""
    tables, named = system.tables, ""
    first = int(tables.conditions.first[1])
    if system.called:
        named = f"the law of {system.called[0].name} runs in Python"
    elif system.states:
        named = f"{system.states[0].force} has states"
    elif len(tables.contacts.normal):
        named = f"{system.closure_names[int(tables.contacts.first[0])]} binds rates"
    elif len(tables.closures.point_a) > first:
        row = int(tables.closures.row_pointer[first])
        named = f"{system.row_names[row]} relates joint coordinates"
    if named:
        raise InputError(f"{system.name} cannot be shared out: {named}; take formulations.Recursive on one processor")

"""Which joints of loops to cut, so that the branches that are left give every rank as much work."""

from collections.abc import Iterable, Mapping

from rtmbs.errors import InputError
from rtmbs.model.model import Model

SWEEPS = 10  # over the loops

Edge = tuple[str, str]  # bodies of a joint


def balanced_cuts(model: Model, ranks: int) -> list[str]:
    """Return the names of the joints whose cut gives the most even shares, one for each loop.

    The work of a branch is counted in degrees of freedom of its joints. Joints that the model cuts already are where
    the search begins. Set ``cut=True`` for the joints returned. Raises InputError for fewer than one rank.

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

"""Graph of a mechanism: spanning tree, cut joints, and paths to ground.

Bodies are vertices (0 is ground), joints are edges. Nothing here knows lengths, masses or equations.
"""

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import LISTED, TopologyError
from rtmbs.model.body import GROUND
from rtmbs.model.description import ModelDescription

ORDERS = ("listed", "breadth", "depth")
CLUSTERED = "clustered"  # another order, of large mechanisms with long loops
LARGE = 60  # bodies beyond which it is looked at
LONG_LOOP = 24  # bodies on the branches of a cut joint, in the mean, beyond which it is looked at
SHORTER = 0.5  # of the mean of the others: what its own must be below
SAMPLED = 200  # cut joints that the mean is of
RADIUS = 2  # joints from the middle of a cluster to its rim
ROD, DRIVEN_DISTANCE, CONSTRAINT = "Rod", "driven distance", "constraint"  # types of connectors
ROLLING, KNIFE_EDGE = "rolling", "knife edge"  # those that bind rates


@dataclass(frozen=True)
class Edge:
    """Joint as an edge of the graph."""

    name: str
    type: str
    a: int  # body
    b: int
    size: int  # elementary coordinates when it is in the tree; 0 welds
    equations: int  # when it is cut
    coordinates: tuple[str, ...] = ()  # public names
    needed: bool = False  # something acts on its coordinate
    cut: bool = False  # the user wants it cut
    floating: bool = False  # restrains nothing

    @property
    def weld(self) -> bool:
        return self.size == 0


class TreeJoint(NamedTuple):
    """Joint of the tree."""

    edge: int
    parent: int  # body
    child: int  # body
    reversed: bool  # the tree walks from b to a


class CutJoint(NamedTuple):
    """Joint that closes a loop."""

    edge: int
    auxiliary: bool  # its coordinate is needed: a tree joint to a massless frame that a Fixed closure holds to body b


class Connector(NamedTuple):
    """Loop closure that is no joint: a rod, a driven distance."""

    name: str
    type: str
    a: int  # body
    b: int  # body
    equations: int = 1


class Relation(NamedTuple):
    """Relation of coordinates: a gear, a screw."""

    name: str
    type: str
    coordinates: tuple[str, ...]
    equations: int = 1


@dataclass(frozen=True)
class Topology:
    """Tree and cuts of one mechanism; ``print`` it. Redundancy and mobility are filled in at the start."""

    name: str
    bodies: tuple[str, ...]  # ground first
    edges: tuple[Edge, ...]
    tree: tuple[TreeJoint, ...]  # a parent's branch before its children's
    cuts: tuple[CutJoint, ...]  # in the order of the joints
    connectors: tuple[Connector, ...] = ()
    relations: tuple[Relation, ...] = ()
    drivers: tuple[str, ...] = ()  # that prescribe a coordinate
    degrees_of_freedom: int | None = None  # coordinates less the rank
    rank: int | None = None  # of Phi_z at the start
    redundant: tuple[str, ...] = ()  # closures with equations that others already say

    @property
    def coordinates(self) -> int:
        """Number of elementary coordinates, auxiliary bodies included."""
        used = [branch.edge for branch in self.tree] + [cut.edge for cut in self.cuts if cut.auxiliary]
        return sum(self.edges[edge].size for edge in used)

    @property
    def equations(self) -> int:
        """Number of loop equations, drivers included."""
        cut = sum(6 if cut.auxiliary else self.edges[cut.edge].equations for cut in self.cuts)
        joined = sum(connector.equations for connector in self.connectors) + sum(
            one.equations for one in self.relations
        )
        return cut + joined + len(self.drivers)

    @property
    def T(self) -> NDArray[np.float64]:
        """Accessibility of bodies, (nb, nb) without ground: T[i, j] = 1 where body j stands on the way to body i."""
        parents = np.full(len(self.bodies) - 1, -1)
        for branch in self.tree:
            parents[branch.child - 1] = branch.parent - 1
        return accessibility(parents, [branch.child - 1 for branch in self.tree])

    def path(self, body: int) -> list[int]:
        """Return the bodies from ground to ``body``."""
        parent = {branch.child: branch.parent for branch in self.tree}
        way = [body]
        while way[-1] != 0:
            way.append(parent[way[-1]])
        return way[::-1]

    def loop(self, a: int, b: int) -> list[str]:
        """Return the bodies of the loop that a cut between ``a`` and ``b`` closes, from a over the tree to b."""
        way_a, way_b = self.path(a), self.path(b)
        common = sum(1 for one, other in zip(way_a, way_b, strict=False) if one == other)
        return [self.bodies[body] for body in (*way_a[common - 1 :][::-1], *way_b[common:])]

    def __str__(self) -> str:
        return "\n".join(describe(self))


def accessibility(
    parents: Sequence[int] | NDArray[np.int64], order: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """Return T (n, n): T[i, j] = 1 where j is i or an ancestor of i; parent -1 is ground.

    ``order`` visits parents before children; by default 0 .. n - 1 does.
    """
    T = np.eye(len(parents))
    for i in range(len(parents)) if order is None else order:
        if parents[i] >= 0:
            T[i] += T[parents[i]]
    return T


def spanning_trees(name: str, bodies: Sequence[str], edges: Sequence[Edge]) -> list[Topology]:
    """Return the different candidates, the user's order first.

    Welds come into the tree first, then joints whose coordinate is needed, then the others in the order of the
    candidate, and floating joints last. Where all of these close long loops, and clusters of neighbouring bodies give
    far shorter ones, that tree is the only candidate. Raises TopologyError for a body that no joint connects to ground,
    and for a joint between bodies that fixed joints already hold together.
    """
    found: list[Topology] = []
    for order in ORDERS:
        chosen = choose(len(bodies), edges, order)
        topology = grow(name, bodies, edges, chosen)
        if all(other.tree != topology.tree for other in found):
            found.append(topology)
    if len(bodies) > LARGE and (longest := min(map(mean_loop, found))) > LONG_LOOP:
        clustered = grow(name, bodies, edges, choose(len(bodies), edges, CLUSTERED))
        if mean_loop(clustered) < SHORTER * longest:
            return [clustered]
    return found


def mean_loop(topology: Topology) -> float:
    """Return the mean number of bodies on the branches of cut joints, of at most SAMPLED of them."""
    parent, depth = [0] * len(topology.bodies), [0] * len(topology.bodies)
    for branch in topology.tree:
        parent[branch.child], depth[branch.child] = branch.parent, depth[branch.parent] + 1
    sizes = []
    for cut in topology.cuts[:: max(1, len(topology.cuts) // SAMPLED)]:
        a, b, size = topology.edges[cut.edge].a, topology.edges[cut.edge].b, 0
        while a != b:
            a, b = (parent[a], b) if depth[a] >= depth[b] else (a, parent[b])
            size += 1
        sizes.append(size)
    return float(np.mean(sizes)) if sizes else 0.0


def choose(count: int, edges: Sequence[Edge], order: str) -> set[int]:
    """Return the edges of a spanning forest (Kruskal over ranked edges)."""
    groups = UnionFind(count)
    free = [k for k, edge in enumerate(edges) if not edge.cut]
    first = [k for k in free if edges[k].weld] + [k for k in free if edges[k].needed]
    chosen = {k for k in first if groups.join(edges[k].a, edges[k].b)}
    others = [k for k in free if not (edges[k].weld or edges[k].needed or edges[k].floating)]
    if order == CLUSTERED:
        others = list(clusters(count, edges, chosen, others))
    elif order != "listed":
        others = list(traverse(count, edges, chosen, others, deep=order == "depth"))
    last = [k for k in free if edges[k].floating]
    chosen.update(k for k in (*others, *last) if groups.join(edges[k].a, edges[k].b))
    return chosen


def traverse(count: int, edges: Sequence[Edge], chosen: set[int], others: list[int], deep: bool) -> Iterator[int]:
    """Yield ``others`` in the order of a walk from ground, breadth or depth first; ``chosen`` edges are free."""
    around: list[list[int]] = [[] for _ in range(count)]
    for k in (*sorted(chosen), *others):
        around[edges[k].a].append(k)
        around[edges[k].b].append(k)
    seen = [False] * count

    def reach(body: int) -> Iterator[int]:
        """Mark a body and all that chosen edges join to it; yield the other edges around them."""
        seen[body] = True
        group = [body]
        for member in group:
            for k in around[member]:
                if k not in chosen:
                    yield k
                    continue
                other = edges[k].b if edges[k].a == member else edges[k].a
                if not seen[other]:
                    seen[other] = True
                    group.append(other)

    for root in range(count):
        if seen[root]:
            continue
        waiting = deque(reach(root))
        while waiting:
            k = waiting.popleft()
            fresh = [body for body in (edges[k].a, edges[k].b) if not seen[body]]
            if fresh:
                yield k
                more = list(reach(fresh[0]))
                waiting.extendleft(reversed(more)) if deep else waiting.extend(more)


def clusters(count: int, edges: Sequence[Edge], chosen: set[int], others: list[int]) -> Iterator[int]:
    """Yield ``others`` in the order of nested clusters: trees within balls of RADIUS joints, then among the balls.

    Loops within a ball are short, and so are those between neighbouring balls (after Alon, Karp, Peleg and West 1995).
    """
    groups = UnionFind(count)
    for k in chosen:
        groups.join(edges[k].a, edges[k].b)
    while True:
        around: dict[int, list[tuple[int, int]]] = {}
        for k in others:
            a, b = groups.find(edges[k].a), groups.find(edges[k].b)
            if a != b:
                around.setdefault(a, []).append((k, b))
                around.setdefault(b, []).append((k, a))
        if not around:
            return
        yield from balls(around, groups)


def balls(around: dict[int, list[tuple[int, int]]], groups: "UnionFind") -> Iterator[int]:
    """Yield the edges of trees within balls around groups, breadth first, and join the groups of each ball.

    ``around`` lists edges and other ends for every group. A ball begins next to the one before it.
    """
    seen: set[int] = set()
    joined: list[tuple[int, int]] = []
    waiting = deque(sorted(around))
    while waiting:
        root = waiting.popleft()
        if root in seen:
            continue
        seen.add(root)
        shell = [root]
        for _ in range(RADIUS):
            outside = []
            for group in shell:
                for k, other in around[group]:
                    if other not in seen:
                        seen.add(other)
                        outside.append(other)
                        joined.append((group, other))
                        yield k
            shell = outside
        waiting.extendleft(other for group in shell for _, other in around[group] if other not in seen)
    for one, other in joined:
        groups.join(one, other)


def grow(name: str, bodies: Sequence[str], edges: Sequence[Edge], chosen: set[int]) -> Topology:
    """Return the tree of the chosen edges rooted at ground; branches as early as their joints were listed."""
    around: list[list[int]] = [[] for _ in bodies]
    for k in chosen:
        around[edges[k].a].append(k)
        around[edges[k].b].append(k)
    reached, tree = {0}, []
    frontier = list(around[0])
    heapq.heapify(frontier)
    while frontier:
        k = heapq.heappop(frontier)
        edge = edges[k]
        if edge.a in reached and edge.b in reached:
            continue
        parent, child = (edge.a, edge.b) if edge.a in reached else (edge.b, edge.a)
        tree.append(TreeJoint(k, parent, child, parent == edge.b))
        reached.add(child)
        for other in around[child]:
            heapq.heappush(frontier, other)
    check_connected(bodies, edges, reached)
    check_welds(bodies, edges, chosen)
    cuts = tuple(CutJoint(k, edges[k].needed) for k in range(len(edges)) if k not in chosen)
    return Topology(name, tuple(bodies), tuple(edges), tuple(tree), cuts)


def check_connected(bodies: Sequence[str], edges: Sequence[Edge], reached: set[int]) -> None:
    """Refuse bodies that the tree does not reach."""
    lost = {k for k in range(len(bodies)) if k not in reached}
    if not lost:
        return
    more = f" and {len(lost) - LISTED} more" if len(lost) > LISTED else ""
    names = ", ".join(repr(bodies[k]) for k in sorted(lost)[:LISTED]) + more
    what = f"body {names} is" if len(lost) == 1 else f"bodies {names} are"
    cut = [repr(edge.name) for edge in edges if edge.cut and (edge.a in lost) != (edge.b in lost)]
    if cut:
        raise TopologyError(
            f"{what} connected to ground only by what is cut ({', '.join(cut)}); "
            "leave out cut=True, or join it by Floating"
        )
    raise TopologyError(
        f"{what} not connected to ground; add a joint on the way to ground, a Floating one if it is free"
    )


def check_welds(bodies: Sequence[str], edges: Sequence[Edge], chosen: set[int]) -> None:
    """Refuse a joint between bodies that fixed joints of the tree hold together: it could not move."""
    groups = UnionFind(len(bodies))
    welds = [edges[k] for k in sorted(chosen) if edges[k].weld]
    for edge in welds:
        groups.join(edge.a, edge.b)
    for k, edge in enumerate(edges):
        if k not in chosen and groups.find(edge.a) == groups.find(edge.b):
            group = groups.find(edge.a)
            held = ", ".join(repr(weld.name) for weld in welds if groups.find(weld.a) == group)
            raise TopologyError(
                f"joint {edge.name!r} joins {bodies[edge.a]!r} and {bodies[edge.b]!r}, which fixed joints ({held}) "
                "already hold together; remove one of them, or give a fixed one cut=True to hold by equations"
            )


class UnionFind:
    """Disjoint sets of vertices (union-find)."""

    def __init__(self, count: int) -> None:
        self.above = list(range(count))

    def find(self, vertex: int) -> int:
        while self.above[vertex] != vertex:
            self.above[vertex] = self.above[self.above[vertex]]
            vertex = self.above[vertex]
        return vertex

    def join(self, one: int, other: int) -> bool:
        """Merge two groups; False when they were one already."""
        a, b = self.find(one), self.find(other)
        self.above[max(a, b)] = min(a, b)
        return a != b


def bodies_without_joints(model: ModelDescription) -> list[str]:
    """Return the first body of each group of bodies that no path of joints leads to ground from; cut joints left out.

    A floating joint at each gives the model a spanning tree.
    """
    number = {name: k for k, name in enumerate(model.bodies)}
    groups = UnionFind(len(number))
    for joint in model.joints.values():
        if not joint.cut:
            groups.join(number[joint.a.name], number[joint.b.name])
    ground = number[GROUND]
    return [name for name, k in number.items() if groups.join(ground, k)]


def describe(topology: Topology) -> Iterator[str]:
    """Yield the lines of the printed table."""
    known = topology.degrees_of_freedom
    freedom = "" if known is None else f", {known} degree{'s' * (known != 1)} of freedom"
    yield (
        f"{topology.name}: {len(topology.bodies)} bodies with ground, {topology.coordinates} coordinates, "
        f"{topology.equations} loop equations" + freedom
    )
    if topology.rank is not None:
        spare = topology.equations - topology.rank
        more = ", ..." if len(topology.redundant) > LISTED else ""
        names = f" ({', '.join(topology.redundant[:LISTED])}{more})" if topology.redundant else ""
        yield f"rank of the loop equations {topology.rank}, {spare} redundant{names}"
    bodies, edges = topology.bodies, topology.edges
    rows = [("tree", "type", "parent -> child", "coordinates")]
    for branch in topology.tree:
        edge = edges[branch.edge]
        names = ", ".join(f"{edge.name}.{name}" for name in edge.coordinates)
        shown = names or ("welded" if edge.weld else f"{edge.size} of a rotation")
        rows.append((edge.name, edge.type, f"{bodies[branch.parent]} -> {bodies[branch.child]}", shown))
    yield from table(rows)
    rows = [("cuts", "type", "equations", "loop")]
    for cut in topology.cuts:
        edge = edges[cut.edge]
        equations = f"6 of an auxiliary body, {edge.size} coordinates" if cut.auxiliary else str(edge.equations)
        rows.append((edge.name, edge.type, equations, ", ".join(topology.loop(edge.a, edge.b))))
    for connector in topology.connectors:
        rows.append(
            (
                connector.name,
                connector.type,
                str(connector.equations),
                ", ".join(topology.loop(connector.a, connector.b)),
            )
        )
    for relation in topology.relations:
        rows.append((relation.name, relation.type, str(relation.equations), ", ".join(relation.coordinates)))
    for driver in topology.drivers:
        rows.append((driver, "driver", "1", ""))
    if len(rows) > 1:
        yield from table(rows)


def table(rows: list[tuple[str, str, str, str]]) -> Iterator[str]:
    """Yield rows as aligned columns, the head after an empty line."""
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    yield ""
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()

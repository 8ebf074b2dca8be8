"""Trees, cuts and ways to ground, on graphs alone."""

from dataclasses import replace

import numpy as np
import pytest

from rtmbs.errors import TopologyError
from rtmbs.system.topology import Edge, accessibility, spanning_trees


def pin(name, a, b, **option):
    return Edge(name, "Revolute", a, b, **{"size": 1, "equations": 5, "coordinates": ("angle",), **option})


def weld(name, a, b, **option):
    return Edge(name, "Fixed", a, b, size=0, equations=6, **option)


def names(topology, items):
    return [topology.edges[item.edge].name for item in items]


BODIES = ["ground", "crank", "rod", "rocker"]
LOOP = [pin("a", 0, 1), pin("b", 1, 2), pin("c", 2, 3), pin("d", 3, 0)]


def test_the_listed_order_cuts_the_joint_that_closes_the_loop():
    first = spanning_trees("four-bar", BODIES, LOOP)[0]
    assert names(first, first.tree) == ["a", "b", "c"]
    assert names(first, first.cuts) == ["d"]
    assert (first.coordinates, first.equations) == (3, 5)
    assert first.loop(3, 0) == ["rocker", "rod", "crank", "ground"]


def test_breadth_first_shares_the_loop_between_two_branches():
    second = spanning_trees("four-bar", BODIES, LOOP)[1]
    assert names(second, second.cuts) == ["c"]
    assert second.tree[-1].reversed  # d is walked from ground, its b


def test_candidates_that_are_the_same_tree_are_listed_once():
    assert len(spanning_trees("chain", BODIES, LOOP[:3])) == 1


@pytest.mark.parametrize("chosen", "abcd")
def test_a_joint_marked_cut_is_cut(chosen):
    edges = [replace(edge, cut=edge.name == chosen) for edge in LOOP]
    for topology in spanning_trees("four-bar", BODIES, edges):
        assert names(topology, topology.cuts) == [chosen]


def test_needed_joints_come_first_and_get_auxiliary_bodies_only_when_all_are_needed():
    edges = [replace(edge, needed=edge.name in "cd") for edge in LOOP]
    for topology in spanning_trees("four-bar", BODIES, edges):
        assert {"c", "d"} <= set(names(topology, topology.tree))
        assert not topology.cuts[0].auxiliary
    for topology in spanning_trees("four-bar", BODIES, [replace(edge, needed=True) for edge in LOOP]):
        assert names(topology, topology.cuts) == ["d"]
        assert topology.cuts[0].auxiliary
        assert (topology.coordinates, topology.equations) == (4, 6)


def test_welds_are_never_cut_for_a_pin_and_a_floating_joint_is_the_last_to_be_used():
    edges = [pin("a", 0, 1), pin("b", 1, 2), weld("w", 0, 1)]
    with pytest.raises(TopologyError, match="'a' joins 'ground' and 'crank', which fixed joints \\('w'\\)"):
        spanning_trees("held", BODIES[:3], edges)
    locked = spanning_trees("locked", BODIES[:3], [*edges[:2], weld("w", 0, 1, cut=True)])[0]
    assert names(locked, locked.cuts) == ["w"]
    free = Edge("free", "Floating", 0, 1, size=6, equations=0, floating=True)
    first = spanning_trees("car", BODIES, [free, *LOOP])[0]
    assert names(first, first.cuts) == ["free", "d"]


def test_bodies_that_hang_on_nothing_are_named():
    with pytest.raises(TopologyError, match=r"bodies 'rod', 'rocker' are not connected to ground.*Floating"):
        spanning_trees("lost", BODIES, [LOOP[0], LOOP[2]])
    with pytest.raises(TopologyError, match=r"'rocker' is connected to ground only by what is cut \('c'\)"):
        spanning_trees("lost", BODIES, [*LOOP[:2], replace(LOOP[2], cut=True)])


@pytest.mark.parametrize("seed", range(10))
def test_every_candidate_of_a_random_graph_spans_it(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 30))
    edges = [pin(f"tree {k}", k, int(rng.integers(k))) for k in range(1, count)]
    for k in range(int(rng.integers(0, 20))):
        a, b = rng.choice(count, 2, replace=False)
        edges.append(pin(f"more {k}", int(a), int(b), needed=bool(rng.random() < 0.2)))
    edges = [edges[k] for k in rng.permutation(len(edges))]
    for topology in spanning_trees("random", [f"body {k}" for k in range(count)], edges):
        seen = {0}
        for branch in topology.tree:
            assert branch.parent in seen
            assert branch.child not in seen
            edge = edges[branch.edge]
            assert (edge.b, edge.a) == (branch.parent, branch.child) or not branch.reversed
            seen.add(branch.child)
        assert seen == set(range(count))
        assert len(topology.tree) + len(topology.cuts) == len(edges)
        for body in range(1, count):
            below = {k for k in range(1, count) if body in topology.path(k)}
            assert below == {k + 1 for k in np.flatnonzero(topology.T[:, body - 1])}


def test_breadth_first_finds_the_shortest_ways():
    count = 12
    edges = [pin(f"chain {k}", k, k + 1) for k in range(count - 1)] + [pin(f"foot {k}", 0, k) for k in range(2, count)]
    second = spanning_trees("comb", [f"body {k}" for k in range(count)], edges)[1]
    assert max(len(second.path(k)) for k in range(count)) == 2


def test_accessibility_of_a_fork():
    np.testing.assert_array_equal(
        accessibility([-1, 0, 0, 2]), [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]]
    )


def test_the_table_shows_tree_and_cuts_and_what_the_start_found():
    topology = spanning_trees("four-bar", BODIES, LOOP)[0]
    text = str(topology)
    assert "four-bar: 4 bodies with ground, 3 coordinates, 5 loop equations" in text
    assert "degrees of freedom" not in text
    assert [line.split() for line in text.splitlines()[3:6]] == [
        ["a", "Revolute", "ground", "->", "crank", "a.angle"],
        ["b", "Revolute", "crank", "->", "rod", "b.angle"],
        ["c", "Revolute", "rod", "->", "rocker", "c.angle"],
    ]
    assert text.splitlines()[-1].split(maxsplit=3) == ["d", "Revolute", "5", "rocker, rod, crank, ground"]
    known = replace(topology, degrees_of_freedom=1, rank=2, redundant=("d",))
    assert "5 loop equations, 1 degree of freedom" in str(known)
    assert "rank of the loop equations 2, 3 redundant (d)" in str(known)


def ladder(rungs):
    """Return bodies and joints of a ladder, as a user lists them: rails first, then rungs between them."""
    edges, body = [], lambda part, k: 1 + part * rungs + k
    for rail in range(2):
        edges += [pin(f"rail {rail} {k}", body(rail, k - 1) if k else 0, body(rail, k)) for k in range(rungs)]
    for k in range(rungs):
        edges.append(pin(f"near {k}", body(0, k), body(2, k)))
        edges.append(pin(f"far {k}", body(2, k), body(1, k)))
    return ["ground", *(f"body {k}" for k in range(3 * rungs))], edges


def test_clusters_keep_the_loops_of_a_long_ladder_short():
    """Along the rails the loop of a rung goes down to ground and up again."""
    bodies, edges = ladder(100)
    found = spanning_trees("ladder", bodies, edges)
    assert len(found) == 1
    assert max(len(found[0].loop(edges[cut.edge].a, edges[cut.edge].b)) for cut in found[0].cuts) < 20
    assert len(found[0].tree) == len(bodies) - 1
    assert len(found[0].cuts) == len(edges) - len(found[0].tree)


def test_clusters_are_not_looked_for_in_small_mechanisms_and_in_one_long_loop():
    assert len(spanning_trees("short", *ladder(15))) > 1
    count = 400
    ring = [pin(f"pin {k}", k, (k + 1) % (count + 1)) for k in range(count + 1)]
    found = spanning_trees("ring", ["ground", *(f"body {k}" for k in range(count))], ring)
    assert names(found[0], found[0].cuts) == [f"pin {count}"]


def test_clusters_hold_welds_and_needed_joints_in_the_tree():
    bodies, edges = ladder(100)
    edges = [replace(one, needed=True) if one.name == "far 50" else one for one in edges]
    edges.append(weld("plate", 20, 301))
    (found,) = spanning_trees("ladder", [*bodies, "plate"], edges)
    assert {"far 50", "plate"} <= set(names(found, found.tree))

"""What a model of many equal parts costs grows with the parts, not with their pairs; and the tables stay the same."""

import tracemalloc

import numpy as np

import rtmbs
from rtmbs.model.description import spread
from rtmbs.system.pattern import block_pairs, block_places, places

X = (1.0, 0.0, 0.0)


def tied_chain(count):
    """A chain of bodies with a spring between any two of them."""
    rng = np.random.default_rng(0)
    model = rtmbs.Model("tied")
    for i in range(count):
        model.add_body(f"b{i}", mass=1.0, inertia=(1, 1, 1), position=rng.normal(size=3))
        model.add_joint(f"j{i}", rtmbs.Revolute(rng.normal(size=3)), f"b{i - 1}" if i else "ground", f"b{i}")
        model.add_marker(f"m{i}", f"b{i}", point=rng.normal(size=3))
        for k in range(i):
            model.add_force(f"s{i} {k}", rtmbs.SpringDamper(1.0), between=(f"m{i}", f"m{k}"))
    return model


def test_places_off_the_table_are_those_of_single_entries():
    system = tied_chain(16).compile()
    connectors, lu = system.tables.connectors, system.lu
    assert connectors.block_pointer[-1] > lu.n * lu.n, "the table is used"
    for l in range(len(connectors.a)):
        branch = connectors.dof[connectors.pointer[l] : connectors.pointer[l + 1]]
        expected = places(lu, np.repeat(branch, len(branch)), np.tile(branch, len(branch)))
        np.testing.assert_array_equal(
            connectors.entry[connectors.block_pointer[l] : connectors.block_pointer[l + 1]], expected
        )
    np.testing.assert_array_equal(block_places(lu, connectors), connectors.entry)


def test_entries_of_links_are_listed_once_and_none_is_missing():
    system = tied_chain(9).compile()
    connectors = system.tables.connectors
    branches = np.split(connectors.dof, connectors.pointer[1:-1])
    wanted = {(int(i), int(k)) for branch in branches for i in branch for k in branch}
    rows, cols = block_pairs(connectors.dof, connectors.pointer, system.n)
    assert len(rows) == len(wanted)
    assert set(zip(rows.tolist(), cols.tolist(), strict=True)) == wanted


def test_the_largest_distance_is_that_of_all_pairs():
    rng = np.random.default_rng(1)
    for case in range(500):
        cloud = rng.normal(size=(rng.integers(2, 30), 3)) * 10.0 ** rng.uniform(-9, 9) + 1e6 * (case % 2)
        if case % 3 == 0:
            cloud = np.round(cloud / np.max(np.abs(cloud)))  # many at one distance, many at one point
        pairs = np.linalg.norm(cloud[:, None] - cloud[None], axis=2)
        assert spread(list(cloud)) == np.max(pairs), case


def peak(act):
    """Return the memory that ``act`` takes at most [bytes]."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_joints_on_one_body_take_memory_by_the_joint():
    rng = np.random.default_rng(2)
    few, many = (peak(lambda count=count: spread(list(rng.normal(size=(count, 3))))) for count in (1000, 4000))
    assert many < 6.0 * few


def test_springs_take_memory_by_what_they_store():
    system = tied_chain(40).compile()
    connectors, lu = system.tables.connectors, system.lu
    stored = 8 * int(connectors.block_pointer[-1])
    assert stored > 10 * 8 * lu.n**2
    assert peak(lambda: block_places(lu, connectors)) < 1.5 * stored
    assert peak(lambda: block_pairs(connectors.dof, connectors.pointer, system.n)) < 0.5 * stored

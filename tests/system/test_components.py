"""Components are found by what couples coordinates, and dealt out evenly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rtmbs
from rtmbs import library
from rtmbs.system.components import AS_EVEN, assign_groups, find_components, find_groups, predicted_work
from tests.contracts.machines import beside
from tests.system.parts import pair


def components_of(system):
    return find_components(system.tables, system.lu)


def pendulums(count):
    """Bars that hang on ground side by side."""
    model = rtmbs.Model("pendulums")
    for k in range(count):
        body = model.add_body(f"bar {k}", mass=1.0, center_of_mass=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
        model.add_joint(f"pin {k}", rtmbs.Revolute(axis=(1, 0, 0)), "ground", body, point=(k, 0, 0))
    return model


@pytest.mark.parametrize("nz", [1, 4])
def test_rows_of_the_parallel_fourbar_share_ground_only(nz):
    system = library.build("fourbar", ny=2, nz=nz, layout="parallel").compile()
    np.testing.assert_array_equal(components_of(system), np.repeat(np.arange(nz), 5))


def test_rows_of_the_stacked_fourbar_hang_together():
    assert not components_of(library.build("fourbar", ny=2, nz=3).compile()).any()


@pytest.mark.parametrize("seeds", [(0, 1), (2, 3), (5, 6, 7)], ids=str)
def test_models_side_by_side_fall_apart(seeds):
    system = pair(seeds).compile()
    owner = [int(name.split()[0]) for name in system.coordinate_names]
    label = components_of(system)
    for component in range(label.max() + 1):
        assert len({owner[i] for i in np.flatnonzero(label == component)}) == 1
    first = [int(np.flatnonzero(label == component)[0]) for component in range(label.max() + 1)]
    assert first == sorted(first)


def test_a_spring_joins_what_it_holds():
    model = pendulums(3)
    ends = model.add_marker("a", "bar 0", (0, 0, -1)), model.add_marker("b", "bar 2", (2, 0, -1))
    model.add_force("spring", rtmbs.SpringDamper(10.0), between=ends)
    assert components_of(model.compile()).tolist() == [0, 1, 0]


def test_a_law_joins_what_it_looks_at_without_a_derivative():
    """The torque on bar 1 switches with the sign of bar 0's angle: no entry of the matrix, but not to be parted."""
    model = pendulums(4)
    model.add_force(
        "switch", lambda t, k, p: np.stack((-k.z[0], np.where(k.z[0] > 0.0, 1.0, 2.0))), joints=["pin 0", "pin 1"]
    )
    model.add_force("own", lambda t, k, p: -(k.z**3), joints=["pin 2", "pin 3"])
    system = model.compile()
    assert len(system.lu.pattern) == 4
    assert components_of(system).tolist() == [0, 0, 1, 2]


def test_neighbours_stay_together():
    system = library.build("fourbar", ny=1, nz=5, layout="parallel").compile()
    groups = find_groups(system.tables, system.lu, 2)
    assert [group.tolist() for group in groups] in ([[*range(6)], [*range(6, 15)]], [[*range(9)], [*range(9, 15)]])
    assert [len(group) for group in find_groups(system.tables, system.lu, 64)] == [3] * 5


def test_work_counts_coordinates_and_the_factor():
    models = [library.build("fourbar", ny=2, nz=nz) for nz in (1, 6)]
    alone = [model.compile() for model in models]
    both = beside(*models).compile()
    label = components_of(both)
    work = predicted_work(label, both.lu)
    single = [predicted_work(np.zeros(system.n, np.int64), system.lu)[0] for system in alone]
    np.testing.assert_allclose(work, single, rtol=0.02)
    assert work[1] > 6.0 * work[0], "coupled storeys cost more than separate ones"


@given(st.lists(st.floats(1.0, 1e4), min_size=1, max_size=50), st.integers(1, 9))
def test_everybody_gets_a_fair_share(work, threads):
    work = np.array(work)
    group = assign_groups(work, threads)
    assert group.min() >= 0
    assert group.max() < threads
    heaviest = np.bincount(group, work, threads).max()
    least = max(work.sum() / threads, work.max())
    assert heaviest <= AS_EVEN * (least + work.max() * (1.0 - 1.0 / threads))


@given(st.integers(1, 60), st.integers(1, 9))
def test_equal_components_are_dealt_out_in_runs(count, threads):
    group = assign_groups(np.ones(count), threads)
    assert np.all(np.diff(group) >= 0)
    sizes = np.bincount(group)
    assert sizes.max() <= -(-count // threads)

"""What follows from a System alone is worked out once for it, and goes with it."""

import gc
import weakref

import numpy as np
import pytest

import rtmbs
from rtmbs import library
from rtmbs.semirecursive.loop_jacobian import loop_groups, loop_jacobian
from rtmbs.system.system import once_per_system


def test_a_function_is_asked_once_for_a_system():
    asked = []

    @once_per_system
    def names(system):
        asked.append(system)
        return tuple(system.coordinate_names)

    one, other = (library.build("crank_rocker").compile() for _ in range(2))
    assert names(one) is names(one)
    assert names(one) == names(other)
    assert asked == [one, other]


def test_nothing_stays_of_a_system_that_is_gone():
    system = library.build("crank_rocker").compile()
    rtmbs.Simulation(system).run(0.01)
    gone = weakref.ref(system)
    del system
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("name", ["crank_rocker", "bricard", "driven_fourbar", "top"])
def test_the_second_simulation_starts_as_the_first(name):
    """The rank and the first state are found at the pose each time; a System of the same model gives the same."""
    system = library.build(name).compile()
    sims = [rtmbs.Simulation(system), rtmbs.Simulation(system), rtmbs.Simulation(library.build(name).compile())]
    for sim in sims:
        sim.run(0.05)
    for sim in sims[1:]:
        assert sim.start_report == sims[0].start_report
        for field in ("z", "zd", "zdd", "lam"):
            np.testing.assert_array_equal(getattr(sim.state, field), getattr(sims[0].state, field))


@pytest.mark.parametrize("name", sorted(library.names()))
def test_every_entry_of_the_loops_has_a_place_of_its_own(name):
    """Two values for one place would be added up, and one of them would get lost here."""
    system = library.build(name).compile()
    places = loop_jacobian(system)
    assert len(set(zip(places.rows.tolist(), places.columns.tolist(), strict=True))) == len(places.rows)
    values = 1.0 + np.arange(len(places.rows))
    dense = np.zeros((system.m, system.n))
    dense[places.rows, places.columns] = values
    np.testing.assert_array_equal(places.sparse(values).toarray(), dense)
    assert places.sparse(values).has_canonical_format
    assert [(list(a.rows), list(a.columns)) for a in loop_groups(system)] == [
        (list(b.rows), list(b.columns)) for b in places.groups
    ]

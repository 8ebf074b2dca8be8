"""The live states of a Simulation: their arrays are parts of one row."""

import numpy as np
import pytest

from rtmbs import Simulation, library
from rtmbs.state import pack_row, row_arrays, row_layout, row_of, state_pair


@pytest.fixture
def sim() -> Simulation:
    return Simulation(library.build("top").compile(), h=1e-3)


def test_both_live_states_are_rows_and_stay_so_while_time_goes_by(sim):
    for _ in range(3):
        sim.step()
        for state in sim._store.states:
            assert row_of(state) is not None


@pytest.mark.parametrize(
    "change",
    [
        lambda sim: sim.restore(sim.state.copy()),
        lambda sim: sim.change(max_iterations=7),
        lambda sim: setattr(sim, "h", 2e-3),
        lambda sim: sim._store.step_from_here(5e-4),
    ],
    ids=["restore", "change", "h", "step_from_here"],
)
def test_they_are_rows_again_after_a_change(sim, change):
    sim.step()
    change(sim)
    assert all(row_of(state) is not None for state in sim._store.states)
    assert not np.shares_memory(*(row_of(state) for state in sim._store.states))


def test_a_row_has_the_numbers_of_the_state(sim):
    state = sim.state.copy()
    before = [array.tobytes() for array in row_arrays(state)]
    pack_row(state)
    row = row_of(state)
    assert [array.tobytes() for array in row_arrays(state)] == before
    for array, (start, end, shape) in zip(row_arrays(state), row_layout(row_arrays(state)), strict=True):
        assert row[start:end].tobytes() == array.tobytes()
        assert array.shape == shape


@pytest.mark.parametrize("name", ["z", "zd", "R0"])
def test_a_state_with_another_array_is_no_row(sim, name):
    state, _ = state_pair(sim.state.copy())
    assert row_of(state) is not None
    setattr(state, name, getattr(state, name).copy())
    assert row_of(state) is None


def test_arrays_that_changed_places_are_no_row(sim):
    state, _ = state_pair(sim.state.copy())
    state.z, state.zd = state.zd, state.z
    assert row_of(state) is None


def test_what_is_no_array_of_numbers_is_left_as_it_is(sim):
    state = sim.state.copy()
    state.zd = [0.0] * len(state.zd)
    pack_row(state)
    assert isinstance(state.zd, list)

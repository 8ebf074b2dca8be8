"""States that a session keeps: copies in blocks of memory that go back when nobody has a state of theirs any more."""

import gc
import threading
from dataclasses import fields

import numpy as np
import pytest

from rtmbs import Simulation, library
from rtmbs.viewer.session import history
from rtmbs.viewer.session.history import Pool, StateStore


@pytest.fixture
def sim() -> Simulation:
    return Simulation(library.build("crank_rocker").compile(), h=1e-3)


def test_a_kept_state_is_the_copy_to_the_byte_and_stays(sim):
    kept, copies = StateStore(), []
    for _ in range(50):
        sim.step()
        copies.append((sim.snapshot(kept.keep).state, sim.state.copy()))
    for mine, copy in copies:
        for f in fields(copy):
            if f.name != "memory":
                np.testing.assert_array_equal(getattr(mine, f.name), getattr(copy, f.name))
        assert {name: a.tobytes() for name, a in mine.memory.items()} == {
            name: a.tobytes() for name, a in copy.memory.items()
        }
        mine.check_fit(copy, "kept")


def test_going_on_from_a_kept_state_gives_the_same_numbers(sim):
    kept = StateStore().keep(sim.snapshot()).state
    for _ in range(20):
        sim.step()
    then = sim.state.copy()
    sim.restore(kept)
    for _ in range(20):
        sim.step()
    assert sim.state.z.tobytes() == then.z.tobytes()


def test_a_state_of_another_layout_begins_blocks_of_its_own(sim):
    kept = StateStore()
    other = Simulation(library.build("top").compile(), h=1e-3)
    for one in (sim, other, sim):
        state = kept.keep(one.snapshot()).state
        np.testing.assert_array_equal(state.z, one.state.z)
        assert state.R0.shape == one.state.R0.shape


@pytest.mark.parametrize("name", ["z", "lam", "u"])
def test_an_array_that_somebody_replaced_is_kept_too(sim, name):
    kept = StateStore()
    live = sim._store.states[0]
    kept.keep(live)
    setattr(live, name, getattr(live, name) + 1.0)
    np.testing.assert_array_equal(getattr(kept.keep(live).state, name), getattr(live, name))


def test_arrays_that_changed_places_are_kept_as_they_are(sim):
    kept = StateStore()
    sim.step()
    live = sim._store.states[0]
    kept.keep(live)
    live.z, live.zd = live.zd, live.z
    state = kept.keep(live).state
    np.testing.assert_array_equal(state.z, live.z)
    np.testing.assert_array_equal(state.zd, live.zd)
    assert not np.array_equal(state.z, state.zd)


def test_a_kept_state_says_when_it_was_without_being_made(sim):
    sim.step()
    kept = sim.snapshot(StateStore().keep)
    assert (kept.t, kept.h, kept.fingerprint) == (sim.t, sim.h, sim.system.fingerprint)
    size = kept.bytes
    assert kept.state is kept.state
    assert kept.bytes <= size < kept.bytes + 200, "the row has gaps of one number"


def test_no_two_rows_share_memory():
    pool = Pool(1000)
    rows = [pool.row() for _ in range(400)]
    for number, row in enumerate(rows):
        row[:] = number
    assert all((row == number).all() for number, row in enumerate(rows))


def waiting(pool):
    """Return where the memory lies that nobody uses."""
    return [memory.ctypes.data for memory in pool._free]


def settled():
    """Let the threads end that touch memory ahead."""
    for thread in threading.enumerate():
        if thread.name == "rtmbs memory":
            thread.join(10.0)


def test_memory_is_used_again_and_not_before_the_last_row_of_a_block_is_gone():
    pool = Pool(history.BLOCK // 80)  # ten rows a block
    first = [pool.row() for _ in range(10)]
    where = first[0].ctypes.data
    pool.row()
    settled()
    last = first.pop()
    last[:] = 7.0
    first.clear()
    gc.collect()
    assert where not in waiting(pool)
    for _ in range(100):
        pool.row()
    assert (last == 7.0).all()
    settled()
    pool._free.clear()
    del last
    gc.collect()
    assert waiting(pool) == [where]


def test_a_history_that_goes_leaves_no_more_than_a_few_blocks():
    pool = Pool(history.BLOCK // 8)  # a row a block
    rows = [pool.row() for _ in range(60)]
    rows.clear()
    gc.collect()
    settled()
    assert history.AHEAD <= len(waiting(pool)) <= 2 * history.AHEAD + history.AHEAD


def test_blocks_are_touched_ahead_by_a_thread():
    pool = Pool(history.BLOCK // 8)  # a row a block
    pool.row()
    pool.row()
    settled()
    assert len(waiting(pool)) >= history.AHEAD

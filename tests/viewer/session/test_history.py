"""History of a session: bounds of count and bytes, steps both ways, cut off by a change; copies of states in blocks."""

import gc
import threading
from dataclasses import fields

import numpy as np
import pytest

from rtmbs import Simulation, library
from rtmbs.errors import InputError
from rtmbs.viewer.session import history
from rtmbs.viewer.session.commands import Grab, MoveGrab, Release, SetInput, SetOption
from rtmbs.viewer.session.history import History, Moment, Pool, StateStore, StoredState
from tests.viewer.mechanisms import motored

SIM = Simulation(motored().compile())


def moment(step):
    state = SIM.state.copy()
    state.k = step
    return Moment(step, StoredState.of(state), SIM._store.options, None, None)


def filled(steps, **bounds):
    history = History(**bounds)
    history.begin(moment(0))
    for step in range(1, steps + 1):
        history.record(moment(step))
    return history


def test_the_count_is_bounded():
    history = filled(50, states=20)
    assert (len(history), history.oldest, history.newest, history.present.step) == (20, 31, 50, 50)


def test_the_bytes_are_bounded():
    one = filled(0).used
    history = filled(50, limit=10 * one + 1)
    assert len(history) == 10
    assert history.used == 10 * one


def test_one_moment_is_kept_whatever_it_takes():
    assert len(filled(5, limit=1)) == 1


@pytest.mark.parametrize(("wanted", "found"), [(40, 40), (35, 35), (31, 31), (0, 31), (99, 50)])
def test_seeking_finds_the_nearest(wanted, found):
    history = filled(50, states=20)
    assert history.seek(wanted).step == found
    assert (history.oldest, history.newest) == (31, 50)


def test_a_new_command_cuts_off_what_came_later():
    history = filled(10)
    used = history.used
    history.seek(4)
    history.log(SetInput("motor.torque", 1.0))
    assert (history.newest, len(history)) == (4, 5)
    assert history.used < used
    history.record(moment(5))
    assert history.present.commands == []
    assert history.seek(4).commands == [SetInput("motor.torque", 1.0)]


def test_going_forward_keeps_the_commands():
    history = filled(10)
    history.log(Release())
    history.seek(9)
    history.record(moment(10))
    assert history.present.commands == [Release()]


def test_a_moment_keeps_the_first_and_the_last_of_a_kind():
    """A slider that is moved ten thousand times while the session is paused takes no more room than twice."""
    one = moment(0)
    for k in range(10_000):
        one.log(SetInput("motor.torque", float(k)))
        one.log(MoveGrab((float(k), 0.0, 0.0)))
        one.log(SetOption("h", 1e-3 * (k + 1)))
    one.log(Grab("crank", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)))
    kinds = [type(command).__name__ for command in one.commands]
    assert kinds == ["SetInput", "MoveGrab", "SetOption"] * 2 + ["Grab"]
    assert one.commands[0].value == 0.0
    assert one.commands[3].value == 9999.0


@pytest.mark.parametrize("bounds", [{"states": 0}, {"limit": 0}])
def test_a_history_that_holds_nothing_is_refused(bounds):
    with pytest.raises(InputError, match="holds nothing"):
        History(**bounds)


# ---- copied states ---------------------------------------------------------------------------------------------------


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
            if f.name not in ("memory", "given"):
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
    assert kept.state is kept.state
    arrays = StoredState.of(kept.state).bytes
    assert arrays <= kept.bytes < arrays + 200, "the row has gaps of one number"


def taken(pool, count):
    """Return the numbers of so many rows."""
    rows = []
    for _ in range(count):
        place = pool.row()
        rows.append(pool.block[place])
    return rows


def test_no_two_rows_share_memory():
    pool = Pool(1000)
    rows = taken(pool, 400)
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
    first = taken(pool, 10)
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
    rows = taken(pool, 60)
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


def test_states_of_two_layouts_take_turns():
    """A pull gives a mechanism one more force: states with and without it are kept in one store, each as it was."""
    sims = [Simulation(library.build(name).compile(), h=1e-3) for name in ("pendulum", "fourbar", "pendulum")]
    store, kept, wanted = StateStore(), [], []
    for turn in range(60):
        sim = sims[turn % 3 if turn < 30 else turn // 10 - 3]
        assert sim.step().outcome.accepted
        kept.append(sim.snapshot(store.keep))
        wanted.append(sim.snapshot())
    for one, state in zip(kept, wanted, strict=True):
        for name in ("z", "zd", "zdd", "lam", "R0", "u", "s", "sd"):
            assert getattr(one.state, name).tobytes() == getattr(state, name).tobytes()
        assert [*one.state.memory] == [*state.memory]
        assert all(one.state.memory[name].tobytes() == state.memory[name].tobytes() for name in state.memory)
        assert one.bytes >= 8 * (state.z.size + state.lam.size)

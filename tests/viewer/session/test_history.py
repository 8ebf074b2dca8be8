"""The history: bounded by count and bytes, walked both ways, cut off by another story."""

import pytest

from rtmbs import Simulation
from rtmbs.errors import InputError
from rtmbs.viewer.session.commands import Grab, MoveGrab, Release, SetInput, SetOption
from rtmbs.viewer.session.history import History, Moment, StoredState
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
    one = moment(0).bytes()
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

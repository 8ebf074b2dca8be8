"""A session: what a command changes, and a history that gives the same bytes when it is walked again."""

import gc
import tracemalloc
from dataclasses import fields

import numpy as np
import pytest

from rtmbs import Motor, Outcome, Simulation, State, library
from rtmbs.errors import InputError, RtmbsError, StateError, UnknownNameError
from rtmbs.viewer.session.commands import Play, SetInput, SetOption
from rtmbs.viewer.session.controller import Controller
from rtmbs.viewer.session.history import History
from rtmbs.viewer.session.origin import FromFactory
from rtmbs.viewer.session.session import Session
from tests.contracts.machines import contents
from tests.viewer.mechanisms import failing, motored
from tests.viewer.outlets import Silent

MOTORED = motored().compile()
H = 5e-3

# What happens at which step of the story that is told again.
STORY = {
    0: [SetInput("motor.torque", 2.0)],
    10: [SetInput("gravity", (0.0, 1.0, -5.0)), SetInput("spring.stiffness", 80.0)],
    20: [SetOption("h", 2e-3)],
    25: [SetOption("jacobian", "complex-step"), SetInput("motor.torque", -1.5)],
    30: [SetOption("penalty", 1e7), SetOption("fixed_iterations", True), SetOption("max_iterations", 3)],
    35: [SetInput("motor.torque", 4.0), SetInput("motor.torque", -1.5), SetOption("h", 4e-3)],
    45: [SetOption("alpha", 1e6), SetOption("tangent_terms", "paper"), SetOption("fixed_iterations", False)],
    50: [SetOption("max_iterations", 8)],
}
STEPS = 60


def told(session, steps=STEPS, story=STORY):
    """Take steps with the commands of the story; return the contents of the states, before each step."""
    found = []
    for _ in range(steps):
        for command in story.get(session.step_number, []):
            session.apply(command)
        found.append(contents(session.state))
        assert session.step().outcome is Outcome.CONVERGED
    return [*found, contents(session.state)]


def forward(session, steps):
    """Take steps, the commands come from the history."""
    found = [contents(session.state)]
    for _ in range(steps):
        assert session.step().outcome is Outcome.CONVERGED
        found.append(contents(session.state))
    return found


@pytest.fixture
def session():
    return Session(Simulation(MOTORED, h=H))


def test_pictures_cost_the_next_step_no_look(monkeypatch):
    """A state that was shown is searched for changes: steps of a session that plays must not pay for that."""
    controller = Controller(FromFactory("tests.viewer.mechanisms:motored"), Silent())
    controller.build({}, {})
    looks = []
    motion = State.motion
    monkeypatch.setattr(State, "motion", lambda state: looks.append(1) or motion(state))
    for _ in range(3):
        controller.live.step()
        controller.publish()
        assert controller.sim.h > 0.0
    assert not looks
    controller.handle(SetInput("motor.torque", 1.0))
    controller.publish()  # shows what the input did: accelerations that no step has kept
    assert looks


@pytest.mark.parametrize("start", [0, 1, 9, 10, 20, 24, 33, 35, 59])
def test_going_forward_again_gives_the_same_bytes(session, start):
    first = told(session)
    session.seek(start)
    assert session.step_number == start
    assert forward(session, STEPS - start) == first[start:]


def test_every_state_is_as_it_was(session):
    first = told(session)
    for step in range(STEPS, -1, -1):
        session.seek(step)
        assert contents(session.state) == first[step]


def test_back_and_forth_many_times(session):
    first = told(session)
    for start, steps in ((30, 5), (34, 20), (10, 40), (50, 10), (0, 60)):
        session.seek(start)
        assert forward(session, steps) == first[start : start + steps + 1]


@pytest.mark.parametrize("start", [0, 9, 24, 40, 59])
def test_playing_through_what_is_stored_takes_no_step(session, start, monkeypatch):
    """The same states, options and inputs as they were, and beyond the newest one the steps go on as if unbroken."""
    first = told(session)
    session.seek(start)
    with monkeypatch.context() as patch:
        patch.setattr(type(session.sim), "step", lambda sim: pytest.fail("a stored step was computed"))
        for step in range(start + 1, STEPS + 1):
            assert session.stored
            session.forward()
            assert (session.step_number, session.report is not None) == (step, True)
            assert session.state.t == session.history.present.state.t
            if not session.history.present.commands:
                assert contents(session.state) == first[step]
    assert not session.stored
    beyond = Session(Simulation(MOTORED, h=H))
    told(beyond)
    for _ in range(5):
        session.step()
        beyond.step()
    assert contents(session.state) == contents(beyond.state)


def test_a_command_amid_what_is_stored_takes_effect_there(session):
    for _ in range(20):
        session.step()
    session.seek(5)
    for _ in range(7):
        session.forward()
    session.apply(SetInput("motor.torque", 3.0))
    assert (session.step_number, session.stored, session.sim.t) == (12, False, 12 * H)
    session.step()
    fresh = Session(Simulation(MOTORED, h=H))
    for _ in range(12):
        fresh.step()
    fresh.apply(SetInput("motor.torque", 3.0))
    fresh.step()
    assert contents(session.state) == contents(fresh.state)


def test_options_go_back_too(session):
    told(session)
    session.seek(28)
    assert (session.sim.h, session.sim._store.options.jacobian, session.sim.method.c) == (2e-3, "complex-step", 1e6)
    session.seek(5)
    assert (session.sim.h, session.sim._store.options.jacobian) == (H, "structured")
    session.seek(60)
    assert (session.sim.h, session.sim.method.alpha, session.sim.method.tangent_terms) == (4e-3, 1e6, "paper")


def test_looking_between_commands_changes_nothing():
    """A picture between two commands settles the accelerations; going forward again does not look, and agrees."""
    looked = Session(Simulation(MOTORED, h=H))
    looked.step()
    for torque in (1.0, 2.0, 0.0):
        looked.apply(SetInput("motor.torque", torque))
        _ = looked.state
    looked.step()
    last = contents(looked.state)
    looked.seek(1)
    looked.step()
    assert contents(looked.state) == last


def test_a_command_in_the_past_begins_another_story(session):
    first = told(session)
    session.seek(40)
    session.apply(SetInput("motor.torque", 9.0))
    assert session.history.newest == 40
    other = forward(session, 10)
    assert other[0] != first[40]
    assert other[-1] != first[50]
    session.seek(30)
    assert forward(session, 10) == [*first[30:40], other[0]]  # commands of the moment are part of it


def test_after_a_failure_the_history_stands():
    """The state stays the last good one; ten steps back and forward again the same numbers, and the same failure."""
    session = Session(Simulation(failing().compile(), h=H))
    found = [contents(session.state)]
    while (report := session.step()).outcome.accepted:
        found.append(contents(session.state))
    assert session.step_number == len(found) - 1 == 9
    assert session.outcome is Outcome.NOT_FINITE
    assert contents(session.state) == found[-1]
    assert "not finite" in session.failure(report)
    assert "motor" in session.failure(report)
    session.seek(2)
    assert session.outcome is Outcome.CONVERGED
    assert forward(session, 7) == found[2:]
    assert session.step().outcome is Outcome.NOT_FINITE
    session.seek(5)
    session.apply(SetOption("h", 1e-3))
    assert session.step().outcome is Outcome.CONVERGED


def test_a_function_of_time_that_raises_changes_nothing():
    times = []

    def torque(t):
        times.append(t)
        if t > 0.02:
            raise ValueError("no more current")
        return 1.0

    model = motored()
    del model.forces["motor"]
    model.add_force("motor", Motor(torque), joint="base")
    session = Session(Simulation(model.compile(), h=H))
    for _ in range(4):
        session.step()
    before = contents(session.state)
    with pytest.raises(ValueError, match="no more current"):
        session.step()
    assert (session.step_number, contents(session.state)) == (4, before)


def test_a_refused_command_changes_nothing(session):
    session.step()
    before = contents(session.state)
    for command, error in (
        (SetInput("motor.trque", 1.0), UnknownNameError),
        (SetInput("motor.torque", float("nan")), InputError),
        (SetInput("gravity", 3.0), InputError),
        (SetOption("h", -1.0), InputError),
        (SetOption("jacobian", "sympy"), UnknownNameError),
        (SetOption("colour", "red"), UnknownNameError),
        (Play(), InputError),
    ):
        with pytest.raises(error) as caught:
            session.apply(command)
        assert isinstance(caught.value, RtmbsError)
    assert contents(session.state) == before
    assert session.history.present.commands == []


def test_the_log_says_what_happened_when(session):
    for _ in range(3):
        session.step()
    message = session.apply(SetInput("motor.torque", 2.5))
    assert (message.kind, message.text, message.step, message.t) == ("log", "motor.torque = 2.5", 3, 3 * H)
    assert session.apply(SetInput("motor.torque", 2.5)) is None  # it stands there already


def test_restart(session):
    """Time zero and the inputs of the model; options stay, and inputs too when asked."""
    first = contents(session.state)
    for command in (SetInput("motor.torque", 2.0), SetOption("tol", 1e-8)):
        session.apply(command)
    forward(session, 5)
    session.restart()
    assert contents(session.state) == first
    assert session.sim.method.tol == 1e-8
    assert (session.step_number, session.history.newest) == (0, 0)
    session.apply(SetInput("motor.torque", 2.0))
    session.apply(SetOption("h", 1e-3))
    forward(session, 5)
    session.restart(keep_inputs=True)
    assert (session.sim.t, session.sim.h, session.sim.inputs["motor.torque"]) == (0.0, 1e-3, 2.0)
    fresh = Simulation(MOTORED, h=1e-3)
    np.testing.assert_array_equal(session.state.memory["alpha"], fresh.state.memory["alpha"])


def test_files(session, tmp_path):
    """The remembered steps as a result, the state to go on from."""
    told(session)
    session.seek(40)
    result = session.result()
    assert len(result) == 41
    assert result.t[-1] == session.sim.t
    place = result["crank.orientation"]
    np.testing.assert_allclose(np.linalg.norm(place, axis=1), 1.0, rtol=1e-12)
    session.state.save(tmp_path / "state.npz")
    last = contents(session.state)
    session.seek(3)
    session.load(State.load(tmp_path / "state.npz"))
    assert contents(session.state) == last
    assert (session.history.oldest, session.history.newest) == (0, 0)
    with pytest.raises(StateError, match="another model"):
        Session(Simulation(library.build("pendulum").compile())).load(State.load(tmp_path / "state.npz"))


@pytest.mark.slow
def test_memory_does_not_grow_beyond_the_history():
    """Three thousand steps with commands: once the history is full nothing is added."""

    session = Session(Simulation(MOTORED, h=1e-3), History(states=200))

    def steps(count):
        for k in range(count):
            if k % 10 == 0:
                session.apply(SetInput("motor.torque", float(k % 7)))
            session.step()

    steps(400)
    gc.collect()
    tracemalloc.start()
    steps(1000)
    gc.collect()
    first = tracemalloc.get_traced_memory()[0]
    steps(2000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - first
    tracemalloc.stop()
    assert grown < 0.02 * 2000 * session.history.present.taken
    assert len(session.history) == 200


def test_the_history_has_whole_states_of_its_own():
    """The copy after a step has every field, bit for bit, and shares no memory."""
    sim = Simulation(MOTORED, H)
    sim.step()
    copy, state = sim.snapshot(), sim.state
    assert contents(sim.snapshot()) == contents(copy), "once somebody saw the state, too"
    assert contents(copy) == contents(state) == contents(state.copy())
    for f in (one for one in fields(State) if one.name != "given"):
        value = getattr(state, f.name)
        pairs = (
            [(value[key], copy.memory[key]) for key in value]
            if f.name == "memory"
            else [(value, getattr(copy, f.name))]
        )
        assert not any(np.shares_memory(one, other) for one, other in pairs if isinstance(one, np.ndarray)), f.name


def test_a_step_of_a_session_lets_the_next_one_look_for_no_changes(monkeypatch):
    """Whoever sees ``sim.state`` makes the next step compare the motion and check all arrays; a session does not."""
    session, seen = Session(Simulation(MOTORED, H)), []
    motion = State.motion
    monkeypatch.setattr(State, "motion", lambda state: seen.append(1) or motion(state))
    session.step()
    session.step()
    seen.clear()
    for _ in range(5):
        session.step()
    assert session.t == session.history.present.state.t > 0.0
    assert seen == []
    assert session.sim.state.z is not session.history.present.state.z
    session.step()
    assert seen, "after somebody saw it"

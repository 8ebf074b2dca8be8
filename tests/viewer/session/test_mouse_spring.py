"""A pull by hand: an ordinary force, capped, part of the history, gone from what is saved."""

import math
import warnings

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation, State, library
from rtmbs.errors import InputError, StateError, UnknownNameError
from rtmbs.simulation.options import by_name
from rtmbs.viewer.session import mouse_spring
from rtmbs.viewer.session.commands import (
    Grab,
    LoadState,
    MoveGrab,
    Release,
    SaveState,
    SetInput,
    SetOption,
    StepForward,
)
from rtmbs.viewer.session.connect import connect
from rtmbs.viewer.session.session import Session, carried
from tests.cases import spread
from tests.contracts.machines import contents
from tests.viewer.mechanisms import motored
from tests.viewer.session.test_connections import told, wait
from tests.viewer.session.test_session import forward
from tests.viewer.session.test_session import told as tell

H = 5e-3
POINT = (0.0, 0.0, -0.4)  # of the crank: the knee

STORY = {
    3: [Grab("crank", POINT, (0.0, 0.1, -0.4))],
    **{k: [MoveGrab((0.0, 0.02 * k, -0.35))] for k in range(4, 20)},
    12: [SetOption("h", 2e-3), MoveGrab((0.0, 0.3, -0.3)), SetInput("motor.torque", 1.0)],
    20: [Release()],
    25: [Grab("rocker", (0.0, 1.0, -0.2), (0.1, 0.5, -0.2)), SetOption("jacobian", "complex-step")],
    30: [Grab("coupler", (0.0, 0.5, -0.4), (0.0, 0.9, -0.1))],
    35: [MoveGrab((0.0, 0.0, 0.0)), Release(), SetOption("jacobian", "structured")],
    40: [Grab("crank", POINT, (0.0, 0.1, -0.4)), Release(), Grab("rocker", POINT, (0.0, 1.0, -0.3))],
}


def session(model=None, **options):
    return Session(
        Simulation(mouse_spring.compiled_with_mouse_spring(model or motored()), **by_name(**{"h": H, **options}))
    )


def lent(model=None, **options):
    """Return a session whose mechanism has a mouse spring only while a hand pulls."""
    model = model or motored()
    sim = Simulation(model.compile(), **by_name(**{"h": H, **options}))
    return Session(sim, None, lambda: mouse_spring.compiled_with_mouse_spring(model))


@pytest.mark.parametrize("start", spread([0, 3, 4, 12, 19, 20, 22, 25, 30, 33, 35, 40, 44], 5))
def test_a_spring_that_is_lent_gives_the_same_bytes_again(start):
    story = lent()
    first = tell(story, 45, STORY)
    story.seek(start)
    assert forward(story, 45 - start) == first[start:]


def test_a_spring_that_is_lent_pulls_as_one_that_is_there():
    """The same numbers within rounding, and before the first pull not even rounding: the mechanism is the plain one."""
    always, now_and_then, plain = session(), lent(), Simulation(motored().compile(), h=H)
    for k in range(45):
        for command in STORY.get(k, []):
            always.apply(command)
            now_and_then.apply(command)
        if k < 3:
            assert now_and_then.sim.system.fingerprint == plain.system.fingerprint
            assert now_and_then.step().outcome.accepted
            plain.step()
            assert contents(now_and_then.state) == contents(plain.state)
            always.step()
            continue
        assert now_and_then.pulled == (now_and_then.hold is not None)
        assert always.step().outcome.accepted
        assert now_and_then.step().outcome.accepted
        np.testing.assert_allclose(now_and_then.plain_state.z, always.state.z, rtol=0, atol=1e-8)
        np.testing.assert_allclose(now_and_then.plain_state.zdd, always.state.zdd, rtol=0, atol=1e-3)
    result, other = now_and_then.result(), always.result()
    np.testing.assert_allclose(result["crank.position"], other["crank.position"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(result["elbow.reaction"], other["elbow.reaction"], rtol=0, atol=1e-3)


def test_playing_through_pulls_that_are_stored():
    story = lent()
    first = tell(story, 45, STORY)
    story.seek(0)
    for step in range(1, 46):
        story.forward()
        if not story.history.present.commands:
            assert contents(story.state) == first[step]
    story.apply(Grab("crank", POINT, (0.0, 0.2, -0.4)))
    assert story.spring_ready
    assert story.step().outcome.accepted


def test_letting_go_leaves_the_accelerations_of_the_free_mechanism():
    story = lent()
    story.apply(Grab("crank", POINT, (0.0, 0.4, -0.4)))
    for _ in range(5):
        story.step()
    story.apply(Release())
    fresh = Simulation(motored().compile(), h=H)
    fresh.restore(story.state)
    fresh.inputs["motor.torque"] = 1.0
    fresh.inputs["motor.torque"] = 0.0  # accelerations follow inputs
    np.testing.assert_allclose(story.state.zdd, fresh.state.zdd, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("start", [0, 3, 4, 12, 19, 20, 22, 25, 30, 33, 35, 40, 44])
def test_going_forward_through_pulls_gives_the_same_bytes(start):
    story = session()
    first = tell(story, 45, STORY)
    story.seek(start)
    assert forward(story, 45 - start) == first[start:]


def test_back_and_forth_through_pulls():
    story = session()
    first = tell(story, 45, STORY)
    for start, steps in ((30, 5), (2, 10), (26, 19), (0, 45), (38, 7), (5, 1)):
        story.seek(start)
        assert contents(story.state) == first[start]
        assert forward(story, steps) == first[start : start + steps + 1]


def test_an_open_hand_changes_nothing():
    """A mechanism with a mouse spring that holds nothing moves byte for byte as without, wherever it is attached."""
    with_hand, plain = session(), Simulation(motored().compile(), h=H)
    with_hand.apply(Grab("rocker", POINT, (0.0, 0.0, 0.0)))
    with_hand.apply(Release())
    with_hand.seek(0)
    for _ in range(30):
        with_hand.step()
        plain.step()
    np.testing.assert_allclose(with_hand.state.z, plain.state.z, rtol=0, atol=1e-13)
    other, bare = session(), Simulation(motored().compile(), h=H)
    for _ in range(30):
        other.step()
        bare.step()
    assert other.state.z.tobytes() == bare.state.z.tobytes()


def test_a_pull_is_a_spring_damper():
    """A bob pulled by its centre settles at the target, but for its weight over the stiffness; limit as it says."""
    model = rtmbs.Model("bob")
    model.add_body("bob", mass=2.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("free", rtmbs.Floating(), "ground", "bob")
    story = session(model)
    story.apply(Grab("bob", (0.0, 0.0, 0.0), (0.2, 0.0, 0.3)))
    omega = 2.0 * math.pi * mouse_spring.FREQUENCY
    assert story.hold.stiffness == pytest.approx(2.0 * omega**2)
    assert story.hold.damping == pytest.approx(2.0 * mouse_spring.DAMPING_RATIO * 2.0 * omega)
    for _ in range(400):
        assert story.step().outcome.accepted
    sag = 9.81 / omega**2
    np.testing.assert_allclose(story.result()["bob.position"][-1], (0.2, 0.0, 0.3 - sag), atol=1e-6)
    place = np.array([0.2, 0.0, 0.3 - sag])
    assert story.hold.force(place) == pytest.approx(2.0 * 9.81)
    story.apply(MoveGrab((1e6, 0.0, 0.0)))  # a mouse that runs away pulls no harder than the limit
    acceleration = story.state.zdd[0]
    assert acceleration == pytest.approx(story.hold.limit / 2.0, rel=1e-6)
    assert all(story.step().outcome.accepted for _ in range(20))


def test_newton_keeps_converging_while_pulled():
    """The force brings its derivative: a pull across the mechanism costs at most one iteration more."""
    story = session(library.build("fourbar", ny=2, nz=2))
    calm = max(story.step().iterations for _ in range(20))
    story.apply(Grab("rod_2_1", (0.0, 0.0, -1.0), (0.0, 1.0, -1.0)))
    pulled = []
    for k in range(100):
        story.apply(MoveGrab((0.0, 1.5 * math.sin(0.2 * k), -1.0)))
        report = story.step()
        assert report.outcome.accepted
        pulled.append(report.iterations)
    assert max(pulled) <= calm + 2
    assert np.mean(pulled) <= calm + 1


def test_what_cannot_be_pulled_is_refused():
    story = session()
    for command, error, words in (
        (Grab("ground", POINT, POINT), InputError, "stands still"),
        (Grab("crnk", POINT, POINT), UnknownNameError, "did you mean 'crank'"),
        (Grab("crank", (0.0, 0.0), POINT), InputError, "point of a grab"),
        (Grab("crank", POINT, (0.0, 0.0, float("nan"))), InputError, "target of a grab"),
    ):
        with pytest.raises(error, match=words):
            story.apply(command)
    assert story.hold is None
    plain = Session(Simulation(motored().compile()))
    with pytest.raises(InputError, match="without a mouse spring"):
        plain.apply(Grab("crank", POINT, POINT))


def test_the_model_stays_as_it_was():
    model = motored()
    mouse_spring.compiled_with_mouse_spring(model)
    assert list(model.forces) == ["motor", "spring"]
    assert not mouse_spring.has_mouse_spring(model.compile())


def test_a_hand_of_the_persons_own():
    """A program that makes its own Simulation adds the law, and the window pulls with it."""
    model = motored()
    model.add_force(
        "hand", library.force_laws.point_spring, body="rocker", point=POINT, parameters=mouse_spring.PARAMETERS
    )
    story = Session(Simulation(model.compile(), h=H))
    assert story.attachment == mouse_spring.Attachment("rocker", POINT)
    story.apply(Grab("crank", POINT, (0.0, 0.5, -0.4)))
    assert story.step().outcome.accepted


@pytest.mark.parametrize("mode", ["thread", "process"])
def test_a_drag_through_a_connection(mode, tmp_path):
    """Grab, move, release: the crank follows the mouse, the frame shows the line, the log tells, the file is clean."""
    connection = connect("tests.viewer.mechanisms:motored", mode)
    names = [one.name for one in connection.describe().inputs]
    assert not [name for name in names if name.startswith("hand")]
    connection.send(Grab("crank", POINT, (0.0, 0.0, -0.4)))
    frame = wait(connection, lambda f: f.grabbed == 1, "the grab")
    np.testing.assert_allclose(frame.grab_point, (0.0, 0.0, -0.4), atol=1e-12)
    told(connection, "crank is pulled", "log")
    for k in range(1, 21):
        connection.send(MoveGrab((0.0, 0.015 * k, -0.4)))
    connection.send(StepForward(200))
    frame = wait(connection, lambda f: f.step == 200, "200 steps")
    assert frame.grab_point[1] > 0.1
    assert frame.grab_force > 0.0
    np.testing.assert_allclose(frame.grab_target, (0.0, 0.3, -0.4))
    connection.send(Release())
    frame = wait(connection, lambda f: f.grabbed == -1, "the release")
    connection.send(SaveState(str(tmp_path / "state.npz")))
    told(connection, "saved to")
    sim = Simulation(motored().compile(), h=H)
    sim.restore(tmp_path / "state.npz")
    assert sim.state.z.tobytes() == frame.z.tobytes()
    assert sim.step().outcome.accepted
    sim.state.save(tmp_path / "later.npz")
    connection.send(LoadState(str(tmp_path / "later.npz")))
    frame = wait(connection, lambda f: f.step == 0, "loaded")
    assert frame.z.tobytes() == sim.state.z.tobytes()
    connection.close()


def test_states_are_carried_by_name():
    plain, with_hand = motored().compile(), mouse_spring.compiled_with_mouse_spring(motored())
    sim = Simulation(plain, h=H)
    sim.inputs["motor.torque"] = 3.5
    sim.step()
    there = carried(sim.state, plain, with_hand)
    back = carried(there, with_hand, plain)
    assert contents(back) == contents(sim.state)
    assert isinstance(there, State)
    other = library.build("pendulum").compile()
    with pytest.raises(StateError, match="another model"):
        carried(Simulation(other).state, plain, with_hand)
    with pytest.raises(StateError, match="coordinates"):
        carried(sim.state, plain, other)


def test_a_pull_is_no_change_of_the_model():
    with warnings.catch_warnings():
        warnings.simplefilter("error", rtmbs.RtmbsWarning)
        tell(lent(), 5)

"""Sampled controllers against the exact sampled motion of a linear plant; order, tolerance, events, restart."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.signal

import rtmbs
from rtmbs.errors import InputError, UnknownNameError
from tests.simulation.sampled_plant import CHANNELS, exact, two_masses

T_END = 0.4


def feedback(sim):
    """Return the input of a proportional law."""
    return {"mot.force": -4.0 * sim["y.displacement"] - 3.0 * sim["x.rate"]}


def same_feedback(x, memory):
    return -4.0 * x[1] - 3.0 * x[2], memory


@pytest.fixture(scope="module")
def plant():
    return two_masses().compile()


def error(sim, wanted):
    return np.abs(sim.read(CHANNELS) - wanted).max()


def controlled(plant, h, period, delay=0.0, method=None):
    sim = rtmbs.Simulation(plant, h=h, method=method)
    sim.add_controller(feedback, period, delay=delay)
    return sim


@pytest.mark.parametrize(
    ("period", "delay"),
    [pytest.param(0.02, 0.0, marks=pytest.mark.slow), pytest.param(0.02, 0.01, marks=pytest.mark.slow), (0.02, 0.05)],
)
def test_order_two_on_the_grid(plant, period, delay):
    """Halving h quarters the error against matrix exponentials, also with a delay longer than the period."""
    wanted, errors = exact(same_feedback, period, delay, T_END), []
    for h in (5e-3, 2.5e-3):
        sim = controlled(plant, h, period, delay)
        sim.run(T_END)
        errors.append(error(sim, wanted))
    assert errors[1] < 3e-3
    assert 3.9 < errors[0] / errors[1] < 4.1


@pytest.mark.slow
def test_order_two_off_the_grid(plant):
    """Steps end at samples and effects wherever they lie: the error falls at least as h^2."""
    wanted = exact(same_feedback, 0.013, 0.0041, T_END)
    errors = []
    for h in (2e-3, 5e-4):
        sim = controlled(plant, h, 0.013, 0.0041)
        result = sim.run(T_END)
        errors.append(error(sim, wanted))
    assert errors[0] / errors[1] > 13.0
    assert errors[1] < 2e-4
    assert np.min(np.abs(result.t - (0.013 + 0.0041))) < 1e-12  # the end of a part is recorded


@pytest.mark.parametrize("method", [pytest.param(None, marks=pytest.mark.slow), rtmbs.VariationalMidpoint()])
def test_tolerance(plant, method):
    end = 0.15  # eleven samples, each a kink that steps end at
    wanted = exact(same_feedback, 0.013, 0.0041, end)
    sim = controlled(plant, 5e-3, 0.013, 0.0041, method)
    result = sim.run(end, tolerance=1e-7, record=rtmbs.Every(0.05))
    assert error(sim, wanted) < 3e-7  # of rates as well
    assert result.t[-1] == end


def test_inputs_hold_between_samples(plant):
    """A Result shows the input before the sample of its time."""
    sim = controlled(plant, 5e-3, 0.02)
    result = sim.run(0.06)
    held = np.array(result["mot.force"])
    assert len(set(held[1:5])) == 1
    assert held[0] == 0.0
    assert held[5] != held[4]
    assert held[1] == pytest.approx(-4.0 * -0.1 - 3.0 * -0.2, rel=1e-12)


def discrete(dt=0.02):
    """Return matrices of a filter with two states that reads two channels."""
    A = np.array([[0.8, 0.1], [-0.2, 0.7]])
    return A, np.array([[0.5, 0.0], [0.1, -0.3]]), np.array([[-2.0, 1.0]]), np.array([[-1.0, 0.4]]), dt


def filtered(x, memory):
    A, B, C, D, _ = discrete()
    y = np.array([x[0], x[3]])
    return float((C @ memory + D @ y)[0]), A @ memory + B @ y


@pytest.mark.parametrize("kind", ["scipy", "control", "continuous"])
def test_state_spaces(plant, kind):
    """SciPy's and python-control's objects; a continuous one is the discrete one of its zero-order hold."""
    matrices, law = discrete(), filtered
    if kind == "scipy":
        space = scipy.signal.StateSpace(*matrices[:4], dt=matrices[4])
    elif kind == "control":
        control = pytest.importorskip("control")
        space = control.StateSpace(*matrices)
    else:
        space = scipy.signal.StateSpace([[-3.0]], [[2.0, 1.0]], [[-5.0]], [[0.0, -0.2]])
        a, b = np.exp(-0.06), (1.0 - np.exp(-0.06)) / 3.0

        def law(x, m):
            return float(-5.0 * m[0] - 0.2 * x[3]), a * m + b * (2.0 * x[0] + x[3])

    errors = []
    memory = np.zeros(1 if kind == "continuous" else 2)
    for h in (5e-3, 2.5e-3):
        sim = rtmbs.Simulation(plant, h=h)
        given = None if kind != "continuous" else 0.02
        sim.add_controller(space, given, channels=["x.displacement", "y.rate"], inputs=["mot.force"])
        sim.run(T_END)
        errors.append(error(sim, exact(law, 0.02, 0.0, T_END, memory)))
    assert 3.8 < errors[0] / errors[1] < 4.2
    assert errors[1] < 3e-3


def test_events_see_the_inputs_jump(plant):
    """An event on the input happens at the effect of a sample; another stops the run where the exact motion has it."""
    sim = controlled(plant, 1e-3, 0.02, 0.0105)
    jump = rtmbs.Event(lambda s: s["mot.force"] - 0.5, action=lambda sim: None, name="jump", direction=1)
    stop = rtmbs.Event(lambda s: s["x.displacement"] - 0.1, name="stop")
    result = sim.run(T_END, when=[jump, stop])
    assert result.events[0].event.name == "jump"
    assert result.events[0].t == pytest.approx(0.0105, abs=1e-9)
    assert result.events[-1].event.name == "stop"
    assert abs(exact(same_feedback, 0.02, 0.0105, sim.t)[0] - 0.1) < 1e-5


def test_restart_gives_the_same_bytes(plant):
    """From a State between samples with an effect to come; a copy of the Simulation has samples of its own."""
    sim = rtmbs.Simulation(plant, h=5e-3)
    space = scipy.signal.StateSpace(*discrete()[:4], dt=0.02)
    controller = sim.add_controller(space, delay=0.03, channels=["x.displacement", "y.rate"], inputs=["mot.force"])
    sim.run(0.105)
    saved = sim.state.copy()
    first = sim.run(T_END)["y.displacement"]
    taken = controller.taken
    sim.restore(saved)
    assert controller.taken < taken
    other = copy.copy(sim)
    np.testing.assert_array_equal(sim.run(T_END)["y.displacement"], first)
    np.testing.assert_array_equal(other.run(T_END)["y.displacement"], first)
    sim.restore(saved)
    while sim.t < T_END - 1e-9:
        assert sim.step().outcome.accepted
    assert sim["y.displacement"] == first[-1]
    fresh = rtmbs.Simulation(plant, h=5e-3)
    fresh.add_controller(space, delay=0.03, channels=["x.displacement", "y.rate"], inputs=["mot.force"])
    with pytest.raises(InputError, match="keeps its last 0 of 0 samples"):
        fresh.restore(saved)


def test_refusals(plant):
    sim = rtmbs.Simulation(plant, h=5e-3)
    for given, told in (
        ({"period": 0.0}, "period is"),
        ({"period": 0.1, "delay": -1.0}, "delay is"),
        ({"period": 0.1, "channels": ["x.rate"]}, "go with a state space"),
    ):
        with pytest.raises(InputError, match=told):
            sim.add_controller(feedback, **given)
    with pytest.raises(InputError, match="controller is 3"):
        sim.add_controller(3, 0.1)
    with pytest.raises(InputError, match="is a transfer function; it must be a state space"):
        sim.add_controller(
            scipy.signal.TransferFunction([1.0], [1.0, 2.0]), 0.1, channels=["x.rate"], inputs=["mot.force"]
        )
    space = SimpleNamespace(A=[[0.5]], B=[[1.0]], C=[[1.0]], D=[[0.0]], dt=0.02)
    with pytest.raises(InputError, match="must agree"):
        sim.add_controller(space, 0.03, channels=["x.rate"], inputs=["mot.force"])
    with pytest.raises(InputError, match="has 1 inputs and 1 outputs"):
        sim.add_controller(space, channels=["x.rate"])
    with pytest.raises(UnknownNameError):
        sim.add_controller(space, channels=["z.rate"], inputs=["mot.force"])
    with pytest.raises(UnknownNameError):
        sim.add_controller(space, channels=["x.rate"], inputs=["nothing"])
    sim.add_controller(lambda sim: 3.0, 0.007, name="number")
    with pytest.raises(InputError, match=r"'number' at t = 0 s returned 3.0"):
        sim.run(0.01)
    other = controlled(plant, 5e-3, 0.007)
    other.step()
    with pytest.raises(InputError, match=r"acts at t = 0.007 s, within"):
        other.step()

"""Events on dense output: where they are found, what they do, and functions that are none."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs import Event, Every, Simulation, library
from rtmbs.errors import InputError
from tests.simulation.falling import HEIGHT, G, falling

FLIGHT = math.sqrt(2.0 * HEIGHT / G)


def height(s):
    return s.z[0]


def bounce(sim):
    """Reverse the rate, with a coefficient of restitution of one half."""
    state = sim.state.copy()
    state.zd *= -0.5
    sim.restore(state)


def test_a_zero_is_found_to_1e_10():
    sim = falling()
    result = sim.run(1.0, tolerance=1e-6, when=height)
    assert sim.t == pytest.approx(FLIGHT, abs=1e-10)
    assert result.t[-1] == sim.t
    assert [(one.t, one.event.called) for one in result.events] == [(sim.t, "height")]
    assert sim.state.z[0] == pytest.approx(0.0, abs=1e-9)
    assert sim.h == 1e-2


@pytest.mark.parametrize("seed", range(12))
def test_random_zeros_are_found_to_1e_10(seed):
    rng = np.random.default_rng(seed)
    level, tolerance, scale = rng.uniform(-3.0, 0.9), 10.0 ** rng.uniform(-7, -3), 10.0 ** rng.uniform(-3, 3)
    sim = falling()
    sim.run(2.0, tolerance=tolerance, when=lambda s: (s.z[0] - level) * scale)
    assert sim.t == pytest.approx(math.sqrt(2.0 * (HEIGHT - level) / G), abs=1e-10)


def test_a_ball_bounces():
    sim = falling()
    result = sim.run(1.2, tolerance=1e-7, when=Event(height, action=bounce, direction=-1))
    times, t, left = [], FLIGHT, G * FLIGHT
    while t < 1.2:
        times.append(t)
        left *= 0.5
        t += 2.0 * left / G
    assert [one.t for one in result.events] == pytest.approx(times, abs=1e-9)
    assert np.all(np.diff(result.t) > 0.0)
    assert result["rail.displacement"].min() > -1e-9


def test_directions():
    sim = Simulation(library.build("pendulum").compile(), 5e-3)
    counts = {}
    for direction in (-1, 0, 1):
        sim = Simulation(library.build("pendulum").compile(), 5e-3)
        result = sim.run(4.0, tolerance=1e-3, when=Event(lambda s: s.zd[0], direction=direction, stop=False))
        signs = np.array([one.t for one in result.events])
        counts[direction] = len(signs)
    assert counts[0] == counts[1] + counts[-1]
    assert counts[1] >= 1
    assert counts[-1] >= 1


def test_several_events_in_their_order():
    seen = []
    events = [
        Event(lambda s: s.z[0] - 0.2, action=lambda sim: seen.append(("low", sim.t)), name="low"),
        Event(lambda s: s.z[0] - 0.9, action=lambda sim: seen.append(("high", sim.t)), name="high"),
        Event(lambda s: s["rail.displacement"], name="ground"),
        Event(lambda s: s.z[0] - 0.5, stop=False, name="middle"),
    ]
    sim = falling()
    result = sim.run(1.0, tolerance=1e-3, when=events)
    wanted = [("high", 0.9), ("middle", 0.5), ("low", 0.2), ("ground", 0.0)]
    assert [one.event.called for one in result.events] == [name for name, _ in wanted]
    times = [math.sqrt(2.0 * (HEIGHT - level) / G) for _, level in wanted]
    assert [one.t for one in result.events] == pytest.approx(times, abs=1e-10)
    assert seen == [("high", result.events[0].t), ("low", result.events[2].t)]


def test_an_action_sets_an_input_and_forces_jump():
    sim = falling(rtmbs.Input(0.0))
    name = next(iter(set(sim.inputs) - {"gravity"}))

    def hold(sim):
        sim.inputs[name] = 40.0

    result = sim.run(0.6, tolerance=1e-7, when=Event(lambda s: s.z[0] - 0.5, action=hold, direction=-1))
    (one,) = result.events
    assert one.t == pytest.approx(math.sqrt(0.1), abs=1e-10)
    left, rate = 0.6 - one.t, -G * one.t
    assert sim.state.z[0] == pytest.approx(0.5 + rate * left + 0.5 * G * left**2, abs=1e-8)
    assert sim.state.zdd[0] == pytest.approx(G, abs=1e-9)


def test_records_meet_their_times_and_the_stop():
    result = falling().run(1.0, tolerance=1e-5, when=height, record=Every(0.1))
    assert result.t.tolist() == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, FLIGHT], abs=1e-9)


@pytest.mark.slow
def test_rotations_and_loops_have_events_too():
    top = Simulation(library.build("top").compile(), 2e-3)
    body = next(name for name in top.system.bodies if name != "ground")
    start = top.run(1e-3 * 2)[f"{body}.mass_center"][0]
    found = []
    for tolerance in (1e-4, 1e-6):
        sim = Simulation(library.build("top").compile(), 2e-3)
        result = sim.run(1.0, tolerance=tolerance, when=lambda s: s[f"{body}.mass_center"][1] - start[1] - 1e-3)
        assert len(result.events) == 1
        assert result[f"{body}.mass_center"][-1][1] == pytest.approx(start[1] + 1e-3, abs=1e-9)
        found.append(sim.t)
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_an_event_that_never_happens_is_told():
    sim = falling()
    result = sim.run(0.2, tolerance=1e-4, when=Event(lambda s: s.z[0] + 9.0, name="floor"))
    assert sim.t == 0.2
    assert result.events == ()
    assert result.warnings == {"event 'floor' never changed its sign": 1}


def broken(s):
    raise ZeroDivisionError("by zero")


def late(s):
    return 1.0 / 0.0 if s.t > 0.1 else 1.0


BAD = (
    (broken, "event 'broken' at t = 0 s raised ZeroDivisionError: by zero; it must return a number"),
    (lambda s: math.nan, r"event '<lambda>' at t = 0 s returned nan; it must return one finite number"),
    (lambda s: math.inf, "returned inf; it must return one finite number"),
    (lambda s: s.z, r"returned array\(\[1.\]\); it must return one finite number"),
    (lambda s: None, "returned None; it must return one finite number"),
    (lambda s: "up", "returned 'up'; it must return one finite number"),
    (lambda s: [1.0, 2.0], r"returned \[1.0, 2.0\]; it must return one finite number"),
    (lambda s: 1j, "returned 1j; it must return one finite number"),
    (lambda s: s["nobody"], "raised UnknownNameError: there is no channel named 'nobody'"),
    (lambda: 1.0, "raised TypeError"),
)


@pytest.mark.parametrize(("function", "sentence"), BAD, ids=range(len(BAD)))
def test_functions_that_are_none_are_refused_and_nothing_changes(function, sentence):
    sim = falling()
    sim.run(0.0)
    before = sim.state.copy()
    with pytest.raises(InputError, match=sentence):
        sim.run(0.5, tolerance=1e-4, when=function)
    assert (sim.state.t_ref, sim.state.k, sim.state.h) == (before.t_ref, before.k, before.h)
    assert sim.state.motion() == before.motion()


def test_a_function_that_raises_later_leaves_the_last_whole_step():
    sim = falling()
    with pytest.raises(InputError, match=r"event 'late' at t = .* raised ZeroDivisionError") as caught:
        sim.run(0.5, tolerance=1e-4, when=late)
    result = caught.value.result
    assert result.t[-1] <= 0.1 + 1e-2
    assert sim.h == 1e-2
    sim.run(sim.t + 0.1)


def test_an_action_that_moves_time_is_refused():
    sim = falling()
    with pytest.raises(InputError, match=r"its action left the time at .* an action sets inputs"):
        sim.run(0.9, tolerance=1e-4, when=Event(height, action=lambda sim: sim.step()))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"when": 1.0}, "when is 1.0; it must be a function of the state"),
        ({"action": 2}, "action is 2; it must be a function of the Simulation"),
        ({"direction": 2}, "direction is 2; it must be -1, 0 or 1"),
        ({"direction": True}, "direction is True; it must be -1, 0 or 1"),
        ({"stop": "yes"}, "stop is 'yes'; it must be True or False"),
        ({"name": 3}, "name is 3; it must be a word"),
    ],
)
def test_options_of_an_event(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        Event(**{"when": height, **wrong})

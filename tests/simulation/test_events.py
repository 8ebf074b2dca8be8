"""Events of a run: as the user writes them, located, and run in order."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rtmbs
from rtmbs import Event, Every, Simulation, library
from rtmbs.errors import BusyError, InputError
from rtmbs.simulation.events import Accumulation, EventError
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
    start = sim.state.copy()
    with pytest.raises(InputError, match=r"its action left the time at .* an action sets inputs"):
        sim.run(0.9, tolerance=1e-4, when=Event(height, action=lambda sim: sim.restore(start)))


def test_an_action_that_steps_is_refused():
    with pytest.raises(BusyError, match=r"Simulation\.step was called by the action of event 'height'"):
        falling().run(0.9, tolerance=1e-4, when=Event(height, action=lambda sim: sim.step()))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"when": 1.0}, "when is 1.0; it must be a function of the state"),
        ({"action": 2}, "action is 2; it must be a function of the Simulation"),
        ({"direction": 2}, "direction is 2; it must be -1, 0 or 1"),
        ({"direction": True}, "direction is True; it must be -1, 0 or 1"),
        ({"stop": "yes"}, "stop is 'yes'; it must be True or False"),
        ({"name": 3}, "name is 3; it must be a word"),
        ({"priority": "high"}, "priority is 'high'; it must be a finite number"),
    ],
)
def test_options_of_an_event(wrong, sentence):
    with pytest.raises(InputError, match=sentence):
        Event(**{"when": height, **wrong})


def counted(names):
    """Return actions that write their name down."""
    return {name: (lambda sim, name=name: names.append(name)) for name in "abcde"}


SAME = {
    "twice": lambda s: 2.0 * (s.z[0] - 0.5),
    "opposite": lambda s: 0.5 - s.z[0],
    "cube": lambda s: s.z[0] ** 3 - 0.125,
    "channel": lambda s: s["rail.displacement"] - 0.5,
    "time": lambda s: s.t - math.sqrt(0.1),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("acts", [True, False])
def test_events_of_one_instant_all_happen(name, acts):
    called = []
    action = counted(called)
    events = [
        Event(function, action=action[letter] if acts else None, stop=False, name=letter)
        for letter, function in (("a", lambda s: s.z[0] - 0.5), ("b", SAME[name]))
    ]
    result = falling().run(0.4, tolerance=1e-4, when=events)
    assert [one.event.called for one in result.events] == ["a", "b"]
    assert result.events[0].t == result.events[1].t == pytest.approx(math.sqrt(0.1), abs=1e-12)
    assert called == (["a", "b"] if acts else [])


def test_priority_and_then_the_list_order_the_events_of_an_instant():
    called = []
    action = counted(called)
    events = [
        Event(lambda s: s.z[0] - 0.5, action=action["a"], name="a"),
        Event(lambda s: s.z[0] - 0.5, action=action["b"], priority=2, name="b"),
        Event(lambda s: s.z[0] - 0.5, action=action["c"], priority=-1.5, stop=True, name="c"),
        Event(lambda s: s.z[0] - 0.5, stop=False, priority=-2, name="d"),
        Event(lambda s: s.z[0] - 0.5, action=action["e"], direction=1, name="e"),
    ]
    sim = falling()
    result = sim.run(0.4, tolerance=1e-4, when=events)
    assert [one.event.called for one in result.events] == ["b", "a", "c", "d"]
    assert called == ["b", "a", "c"]
    assert sim.t == result.t[-1] == pytest.approx(math.sqrt(0.1), abs=1e-12)


def test_an_action_undoes_no_event_of_its_instant_and_causes_others():
    called = []
    action = counted(called)

    def lift(sim):
        called.append("lift")
        sim.set("rail.displacement", 2.0)

    events = [
        Event(lambda s: s.z[0] - 0.5, action=lift, direction=-1, name="lift"),
        Event(lambda s: s.z[0] - 0.5, action=action["a"], direction=-1),
        Event(lambda s: s.z[0] - 1.5, action=action["b"], direction=1, priority=1),
        Event(lambda s: s.z[0] - 1.5, action=action["c"], direction=-1),
        Event(lambda s: s.z[0] - 3.0, action=action["d"]),
    ]
    sim = falling()
    result = sim.run(0.4, tolerance=1e-4, when=events)
    assert called == ["lift", "b", "a"]
    left = 0.4 - math.sqrt(0.1)
    assert sim.state.z[0] == pytest.approx(2.0 - G * math.sqrt(0.1) * left - 0.5 * G * left**2, abs=1e-9)
    place = int(np.flatnonzero(result.t == result.events[0].t)[0])
    assert result["rail.displacement"][place] == 2.0
    assert np.all(np.diff(result.t) > 0.0)


def test_a_chain_without_end_is_told_and_named():
    events = [
        Event(lambda s: s.z[0] - 0.5, action=lambda sim: sim.set("rail.displacement", 0.2), name="down"),
        Event(lambda s: s.z[0] - 0.3, action=lambda sim: sim.set("rail.displacement", 0.8), name="up"),
        Event(lambda s: s.z[0] + 9.0, name="far"),
    ]
    with pytest.raises(EventError, match=r"a chain of events without end at t = 0.316227766 s: 'down', 'up'") as caught:
        falling().run(1.0, tolerance=1e-4, when=events)
    assert caught.value.events == ("down", "up")
    assert caught.value.t == pytest.approx(math.sqrt(0.1), abs=1e-12)


def restoring(share):
    return lambda sim: sim.set("rail.rate", -share * float(sim.state.zd[0]))


@pytest.mark.parametrize("share", [0.05, 0.5, 1e-9])
@pytest.mark.parametrize("direction", [-1, 0])
@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_bounces_that_accumulate_end_the_run_at_their_time(share, direction, floor):
    sim = falling()
    event = Event(lambda s: s.z[0] - floor, action=restoring(share), direction=direction, name="floor")
    with pytest.raises(EventError, match="event 'floor': events accumulate at t = ") as caught:
        sim.run(2.0, tolerance=1e-4, when=event)
    first = math.sqrt(2.0 * (HEIGHT - floor) / G)
    assert caught.value.t == pytest.approx(first * (1.0 + 2.0 * share / (1.0 - share)), abs=2e-9)
    assert sim.state.z[0] == pytest.approx(floor, abs=1e-12)
    assert caught.value.result.t[-1] == sim.t
    assert caught.value.result["rail.displacement"].min() > floor - 1e-12
    sim.run(sim.t + 0.02, tolerance=1e-4)


@pytest.mark.slow
def test_many_even_events_are_no_accumulation():
    due = [1e-3]

    def wind(sim):
        due[0] += 1e-3

    when = Event(lambda s: s.t - due[0], action=wind, name="tick")
    result = falling().run(1.0005, tolerance=1e-4, when=when)
    assert [one.t for one in result.events] == pytest.approx(np.arange(1, 1001) * 1e-3, abs=1e-12)


def test_an_action_that_leaves_a_body_at_rest_without_hold_ends_the_run():
    event = Event(lambda s: s.z[0], action=lambda sim: sim.set("rail.rate", 0.0), name="floor")
    sim = falling()
    with pytest.raises(EventError, match="event 'floor': its action left it at rest at its zero at t = ") as caught:
        sim.run(0.6, tolerance=1e-4, when=event)
    assert sim.t == caught.value.t == pytest.approx(caught.value.result.t[-1], abs=1e-12)
    assert sim.state.z[0] == pytest.approx(0.0, abs=1e-12)


def test_a_turning_point_with_an_action_is_no_rest():
    event = Event(lambda s: s.zd[0] + 1.0, action=lambda sim: None, name="turn")
    result = falling().run(0.6, tolerance=1e-4, when=event)
    assert [one.t for one in result.events] == pytest.approx([1.0 / G], abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(level=st.floats(0.2, 0.9), half=st.floats(-7.0, -1.5))
def test_two_crossings_between_two_looks_are_found(level, half):
    half = 10.0**half
    when = Event(lambda s: (s.t - level) ** 2 - half**2, action=lambda sim: None)
    result = falling().run(1.0, tolerance=1e-2, when=when)
    assert [one.t for one in result.events] == pytest.approx([level - half, level + half], abs=1e-9)


@pytest.mark.parametrize(("past", "count"), [(1e-9, 2), (-1e-9, 0), (0.0, 1)])
def test_a_graze_is_none_two_or_one_event(past, count):
    when = Event(lambda s: (s.t - 0.37) ** 2 - past, stop=False)
    result = falling().run(1.0, tolerance=1e-2, when=when)
    assert [one.t for one in result.events] == pytest.approx([0.37] * count, abs=1e-4)


def test_what_a_declared_jump_moves_across_zero_is_an_event():
    def push(t):
        return np.where(t < 0.21, 0.0, 50.0)

    push.jumps = (0.21,)
    for when in (lambda s: s.zdd[0], lambda s: s.u[-1] - 30.0):
        sim = falling(push)
        result = sim.run(0.4, tolerance=1e-4, when=when)
        assert [one.t for one in result.events] == pytest.approx([0.21], abs=1e-9)
        assert sim.t == result.events[0].t


def test_a_record_that_falls_on_an_event_is_behind_its_actions():
    event = Event(lambda s: s.t - 0.25, action=lambda sim: sim.set("rail.displacement", 5.0))
    result = falling().run(0.5, tolerance=1e-4, when=event, record=rtmbs.At((0.2, 0.25, 0.3)))
    assert result.t.tolist() == pytest.approx([0.0, 0.2, 0.25, 0.3], abs=1e-12)
    assert result["rail.displacement"][2] == 5.0


# ---- gaps that shrink without end, and gaps that do not -------------------------------------------------------------


def first(times):
    """Return after how many times a row is seen, or nothing, and the time at which it ends."""
    row = Accumulation()
    for k, t in enumerate(times):
        if row.add(t):
            return k, t + row.rest
    return None, None


@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.9, 0.99])
def test_a_geometric_row_is_seen_and_its_end_told(ratio):
    times = 1.0 + (1.0 - ratio ** np.arange(4000)) / (1.0 - ratio)
    place, end = first(times)
    assert place is not None
    assert end == pytest.approx(1.0 + 1.0 / (1.0 - ratio), rel=1e-9)


@pytest.mark.parametrize("gap", [1e-3, 1e-8])
def test_even_gaps_and_uneven_ones_go_on(gap):
    rng = np.random.default_rng(1)
    assert first(5.0 + gap * np.arange(5000)) == (None, None)
    assert first(5.0 + gap * np.cumsum(rng.uniform(0.1, 1.0, 5000))) == (None, None)


def test_a_burst_behind_a_long_gap_is_none():
    assert first([0.0, 3.0, *(5.0 + 1e-6 * np.arange(1, 50))]) == (None, None)

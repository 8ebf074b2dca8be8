"""Events of runs with steps of h: order, ends, grid, records, inputs, faults; tests/contracts has every method."""

import math
import pickle

import numpy as np
import pytest

import rtmbs
from rtmbs import Event, EventError, Every, Simulation, library
from rtmbs.errors import BusyError, InputError
from rtmbs.methods import Capability
from rtmbs.simulation import running
from tests.simulation.falling import HEIGHT, G, falling
from tests.test_faults import FAULTS, events, raised_at

FLIGHT = math.sqrt(2.0 * HEIGHT / G)
FALL = "rail.displacement", "rail.rate"


def height(s):
    return s.z[0]


def rebound(factor):
    return lambda sim: sim.set("rail.rate", -factor * sim["rail.rate"])


def test_events_of_one_step_happen_in_their_order_and_share_its_grid():
    """Three instants in one step, the last at its end; events of one time happen by priority."""
    seen = []
    levels = {"a": (0.203, 0.0), "b": (0.205, 0.0), "c": (0.203, 2.0), "d": (0.2, 0.0)}
    when = [
        Event(lambda s, x=x: s.z[0] - x, lambda sim, name=name: seen.append((name, sim.t)), name=name, priority=first)
        for name, (x, first) in levels.items()
    ]
    sim = falling()
    result = sim.run(0.6, when=when)
    assert [one.event.called for one in result.events] == ["b", "c", "a", "d"]
    wanted = [math.sqrt(2.0 * (HEIGHT - levels[name][0]) / G) for name, _ in seen]
    assert [one.t for one in result.events] == pytest.approx(wanted, abs=1e-13)
    assert seen == [(one.event.called, one.t) for one in result.events]
    times = list(dict.fromkeys(one.t for one in result.events))
    assert times[2] == 0.4
    assert result.t.tolist() == sorted([*(1e-2 * np.arange(61)), *times[:2]])
    np.testing.assert_allclose(result[FALL[0]], HEIGHT - 0.5 * G * result.t**2, atol=1e-12)


def test_a_dip_within_one_step_has_two_events_and_one_direction_each():
    """A throw that is above a level for a fifth of a step."""
    counts = {}
    for direction in (-1, 0, 1):
        sim = falling()
        sim.set("rail.rate", 3.0)
        top = HEIGHT + 9.0 / (2.0 * G)
        result = sim.run(0.5, when=Event(lambda s, top=top: s.z[0] - top + 5e-6, direction=direction, stop=False))
        counts[direction] = [one.t for one in result.events]
    assert counts[0] == pytest.approx([0.299, 0.301], abs=1e-9)
    assert counts[1] == counts[0][:1]
    assert counts[-1] == counts[0][1:]


def test_a_function_at_zero_at_the_start_has_no_event_there():
    sim = falling()
    result = sim.run(0.5, when=Event(lambda s: s.z[0] - HEIGHT, stop=True))
    assert result.events == ()
    assert result.warnings == {"event '<lambda>' never changed its sign": 1}


def test_a_ball_bounces_and_comes_to_rest_with_one_sentence():
    sim, factor = falling(), 0.5
    with pytest.raises(EventError, match=r"accumulate at t = 1\.34164") as caught:
        sim.run(3.0, when=Event(height, rebound(factor), direction=-1, name="floor"))
    error = caught.value
    assert error.t == pytest.approx(FLIGHT * (1.0 + factor) / (1.0 - factor), abs=1e-6)
    assert error.events == ("floor",)
    hits = [FLIGHT * (1.0 + 2.0 * sum(factor**k for k in range(1, n + 1))) for n in range(12)]
    assert [one.t for one in error.result.events][:12] == pytest.approx(hits, abs=1e-10)
    assert error.result.t[-1] == sim.t
    assert sim.h == 1e-2
    assert sim.step().outcome.accepted


def test_a_run_of_ever_more_events_within_a_step_ends(monkeypatch):
    monkeypatch.setattr(running, "MOST_INSTANTS", 5)
    sim = falling()
    next_time = [0.0105]

    def later(sim):
        next_time[0] += 1e-3

    with pytest.raises(EventError, match=r"more than 5 instants with events within one step of 0\.01 s"):
        sim.run(0.5, when=Event(lambda s: s.t - next_time[0], later, name="clock"))
    assert sim.t == pytest.approx(0.0145)


def test_the_state_behind_an_action_is_recorded_and_the_end_whatever_the_schedule():
    result = falling().run(1.0, when=height, record=Every(0.1))
    assert result.t.tolist() == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, FLIGHT], abs=1e-12)
    result = falling().run(0.5, when=Event(height, rebound(0.5)), channels=["rail.rate"])
    at = int(np.flatnonzero(result.t == result.events[0].t)[0])
    assert result["rail.rate"][at] == pytest.approx(0.5 * G * FLIGHT, rel=1e-12)
    assert result["rail.rate"][at - 1] < -4.0


def test_a_file_and_a_pickle_have_the_events(tmp_path):
    result = falling().run(0.5, when=Event(height, rebound(0.5), name="floor"), file=tmp_path / "run.h5")
    assert [one.event.called for one in result.events] == ["floor"]
    assert np.abs(rtmbs.load_result(tmp_path / "run.h5").t - FLIGHT).min() < 1e-12
    again = pickle.loads(pickle.dumps(falling().run(0.5, when=height)))
    assert [one.t for one in again.events] == pytest.approx([FLIGHT], abs=1e-12)
    assert falling().run(0.1).events == ()


def test_until_ends_a_run_with_events():
    result = falling().run(1.0, when=Event(height, rebound(1.0)), until=lambda sim: sim.t > 0.5)
    assert len(result.events) == 1
    assert result.t[-1] == pytest.approx(0.51)


def test_observers_see_the_step_to_an_event_with_the_state_behind_it():
    class Rates(rtmbs.Observer):
        def start(self, sim, steps):
            self.seen = {}

        def look(self, sim, report):
            self.seen[sim.state.t] = float(sim.state.zd[0])

    rates = Rates()
    result = falling().run(0.5, when=Event(height, rebound(0.5)), observers=[rates])
    assert list(rates.seen) == result.t[1:].tolist()
    assert rates.seen[result.events[0].t] == pytest.approx(0.5 * G * FLIGHT, rel=1e-12)


def test_an_action_sets_an_input_and_forces_jump():
    sim = falling(rtmbs.Input(0.0))

    def hold(sim):
        sim.inputs["push.force"] = 40.0

    result = sim.run(0.6, when=Event(lambda s: s.z[0] - 0.5, action=hold, direction=-1))
    (one,) = result.events
    assert one.t == pytest.approx(math.sqrt(0.1), abs=1e-12)
    left, rate = 0.6 - one.t, -G * one.t
    assert sim.state.z[0] == pytest.approx(0.5 + rate * left + 0.5 * G * left**2, abs=1e-12)


def test_a_ramp_goes_on_through_the_events_of_its_step():
    """A force that rises along the first step: the rates of two parts are those of the whole."""
    sim, h = falling(rtmbs.Input(0.0)), 1e-2
    sim.inputs.ramp("push.force")
    sim.inputs["push.force"] = 40.0
    forces = []
    sim.run(h, when=[Event(lambda s, t=t: s.t - t, lambda sim: forces.append(sim.state.u.max())) for t in (2e-3, 7e-3)])
    assert forces == pytest.approx([8.0, 28.0], rel=1e-9)
    assert sim.state.zd[0] == pytest.approx(-G * h + 0.5 * h * 40.0 / 2.0, rel=1e-12)
    sim.run(2 * h)
    assert sim.state.zd[0] == pytest.approx(-2.0 * G * h + 1.5 * h * 40.0 / 2.0, rel=1e-12)


def test_a_function_of_time_that_jumps_has_an_event_at_its_jump():
    sim = falling(lambda t: 30.0 if t > 0.2537 else 10.0)
    result = sim.run(0.4, when=Event(lambda s: s.u.max() - 20.0, lambda sim: None))
    assert [one.t for one in result.events] == pytest.approx([0.2537], abs=1e-9)
    assert sim.state.zd[0] == pytest.approx(-G * 0.4 + 0.5 * (10.0 * 0.2537 + 30.0 * (0.4 - 0.2537)), abs=1e-5)


def raises(s):
    raise ZeroDivisionError("no")


def other_step(sim):
    sim.h = 5e-3


BAD = {
    "raises": (Event(raises), "event 'raises' at t = 0 s raised ZeroDivisionError: no"),
    "no number": (Event(lambda s: "up"), "returned 'up'; it must return one finite number"),
    "no event": ([height, "stop"], "when is 'stop'; it must be a function of the state"),
    "another h": (Event(height, other_step), "its action changed the step from 0.01 s to 0.005 s"),
    "off the grid": (height, None),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_events_get_one_sentence(case):
    when, sentence = BAD[case]
    with pytest.raises(InputError, match=sentence or "no whole number of steps of h"):
        falling().run(0.5 if sentence else 0.5037, when=when)


def test_an_action_that_raises_ends_the_run_at_the_event():
    sim = falling()
    with pytest.raises(BusyError, match="event") as caught:
        sim.run(1.0, when=Event(height, lambda sim: sim.step()))
    assert sim.t == pytest.approx(FLIGHT, abs=1e-12)
    assert caught.value.result.t[-1] == sim.t


def test_a_method_without_events_is_refused():
    class Plain(rtmbs.AdamsBashforth):
        capabilities = rtmbs.AdamsBashforth.capabilities - {Capability.EVENTS}

    sim = Simulation(falling().system, 1e-2, Plain())
    with pytest.raises(InputError, match="needs a method that has events within its steps"):
        sim.run(1.0, when=height)


def test_a_step_that_fails_is_taken_in_parts_on_the_way_to_an_event():
    """A brake that is too stiff for whole steps; the event lies behind it."""
    sim = Simulation(library.build("pendulum").compile(), 0.2, rtmbs.PenaltyTrapezoidal(max_iterations=2, tries=0))
    result = sim.run(2.0, when=Event(lambda s: s.z[0] * 1.0, lambda sim: None))
    fine = Simulation(library.build("pendulum").compile(), 1e-3)
    wanted = fine.run(2.0, when=Event(lambda s: s.z[0] * 1.0, lambda sim: None))
    assert [one.t for one in result.events] == pytest.approx([one.t for one in wanted.events], abs=0.05)
    assert any("in parts" in one for one in result.warnings)


@pytest.mark.parametrize("kind", ["lines", pytest.param("calls", marks=pytest.mark.slow)])
def test_a_fault_anywhere_leaves_a_record_that_ends_at_the_state(kind):
    def run(sim):
        return sim.run(0.49, when=Event(height, rebound(0.5), direction=-1))

    def late():
        sim = falling()
        sim.run(0.42)
        return sim

    whole, watched = run(late()), late()
    count, short = events(kind, lambda: run(watched)), 0
    for at in range(0, count, max(count // 150, 1)):
        sim, fault = late(), FAULTS[at % len(FAULTS)]()
        try:
            if not raised_at(kind, at, fault, lambda sim=sim: run(sim)):
                continue
        except InputError as error:  # a fault in the event function is told as one of it
            if error.__cause__ is not fault:
                raise
            fault = error
        assert sim.h == 1e-2
        first = getattr(fault, "result", None)
        if first is None:
            continue
        assert first.t[-1] == sim.t, f"event {at} of {count}"
        short += len(first) < len(whole)
        same = len(first) - (sim.t == whole.events[0].t)  # the last state may be that before the action
        assert first["rail.rate"][:same].tobytes() == whole["rail.rate"][:same].tobytes()
        assert sim.step().outcome.accepted
    assert short > 10

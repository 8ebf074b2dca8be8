"""Functions of time are asked ahead by a run: the bytes of single steps, and their words where a function fails."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import StepError
from rtmbs.simulation.jumps import MOST_AHEAD, fill_timed_rows

H = 1e-3


def simulation(torque, **options):
    model = rtmbs.library.build("crank_rocker")
    model.add_force("motor", rtmbs.Motor(torque), joint="crank_pivot")
    return rtmbs.Simulation(model.compile(), h=H, **options)


def by_hand(sim, steps):
    for _ in range(steps):
        assert sim.step().outcome.accepted
    return sim.state


def bytes_of(state):
    return [getattr(state, name).tobytes() for name in ("z", "zd", "zdd", "lam", "u")]


SIGNALS = {
    "smooth": lambda t: 3.0 * math.sin(20.0 * t),
    "one jump": lambda t: 2.0 if t > 0.1034 else -1.0,
    "a jump at a step": lambda t: 2.0 if t >= 0.1 else -1.0,
    "a jump in every step": lambda t: math.floor(t / H + 0.3) % 3 - 1.0,
    "a kink": lambda t: max(0.0, t - 0.12) * 40.0,
}


@pytest.mark.parametrize("name", SIGNALS)
def test_a_run_has_the_bytes_of_steps(name):
    run, steps = simulation(SIGNALS[name]), simulation(SIGNALS[name])
    run.run(0.3)
    by_hand(steps, 300)
    assert bytes_of(run.state) == bytes_of(steps.state)


@pytest.mark.parametrize("name", ["smooth", "one jump"])
def test_chosen_steps_see_the_function(name):
    """A run with a tolerance takes rows back and goes on from them: its inputs are those of its times."""
    sim = simulation(SIGNALS[name])
    sim.run(0.3, tolerance=1e-5)
    assert sim.state.u[-1] == SIGNALS[name](sim.t)
    steps = simulation(SIGNALS[name])
    steps.change(h=5e-5) if hasattr(steps, "h_changes") else None
    fine = rtmbs.Simulation(steps.system, h=5e-5)
    fine.run(0.3)
    np.testing.assert_allclose(sim.state.z, fine.state.z, atol=1e-4)


def test_rows_end_where_a_step_must_look():
    sim = simulation(SIGNALS["one jump"])
    rows = np.tile(sim.state.u, (MOST_AHEAD + 50, 1))
    by_hand(sim, 90)
    assert fill_timed_rows(sim.system, sim.state, rows) == 13
    sim = simulation(SIGNALS["smooth"])
    assert fill_timed_rows(sim.system, sim.state, rows) == MOST_AHEAD
    t = H * np.arange(1, MOST_AHEAD + 1)
    slot = sim.system.signals[0].slot
    np.testing.assert_array_equal(rows[:MOST_AHEAD, slot], [SIGNALS["smooth"](one) for one in t])


def test_what_a_function_raises_passes_with_its_time():
    def torque(t):
        if t > 0.0505:
            raise ValueError("no torque is known")
        return 1.0

    sim = simulation(torque)
    with pytest.raises(ValueError, match="no torque is known") as caught:
        sim.run(0.2)
    assert caught.value.__notes__ == ["in the function of time 'motor.torque' at t = 0.051 s"]
    assert sim.t == pytest.approx(0.05)
    assert bytes_of(sim.state) == bytes_of(by_hand(simulation(torque), 50))


def test_a_value_that_is_no_number_fails_its_own_step():
    sim = simulation(lambda t: math.nan if t > 0.0505 else math.sin(t))
    with pytest.raises(StepError, match="motor"):
        sim.run(0.2)
    assert sim.t == pytest.approx(0.05)

"""States of force laws that the step does not resolve are told at the start and in a run, once."""

import warnings

import numpy as np
import pytest

import rtmbs
from rtmbs import RtmbsWarning
from rtmbs.simulation.step_checks import RESOLVED, transient_error

TIME = 0.5e-3  # [s] of the current


def motor(t, k, p, s):
    return 0.05 * s["current"], (p["volt"] - s["current"] - 0.05 * k.zd) / p["L"]


def system_of(law=motor, **options):
    model = rtmbs.Model("drive", gravity=(0, 0, 0))
    model.add_body("rotor", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("a", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "rotor", point=(0, 0, 0))
    given = {"parameters": {"volt": 12.0, "L": TIME}, "states": {"current": 0.0}}
    model.add_force("motor", law, joint="a", **(given | options))
    return model.compile()


def test_a_motor_current_that_is_too_fast_is_told_with_the_step_that_helps():
    with pytest.warns(RtmbsWarning, match="force 'motor': its state 'current' has a time constant of 0.0005 s") as said:
        result = rtmbs.Simulation(system_of(), h=1e-3).run(0.01)
    assert len(said) == 1
    assert "up to 14 %" in str(said[0].message)
    assert f"h = {RESOLVED * TIME:.3g} s resolves it" in str(said[0].message)
    assert list(result.warnings) == [str(said[0].message)]
    exact = 12.0 * (1.0 - np.exp(-result.t / TIME))  # the rotor hardly moves
    assert np.max(np.abs(result["motor.current"] - exact)) / 12.0 == pytest.approx(0.14, abs=0.01)


def test_the_step_that_is_named_resolves_it():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = rtmbs.Simulation(system_of(), h=RESOLVED * TIME).run(0.01)
    exact = 12.0 * (1.0 - np.exp(-result.t / TIME))
    assert np.max(np.abs(result["motor.current"] - exact)) / 12.0 < 0.003
    assert not result.warnings


def test_a_state_that_becomes_fast_is_told_at_the_end_of_the_run():
    def law(t, k, p, s):
        return 0.0 * k.z, -(1.0 + 1e4 * t) * s["x"]

    sim = rtmbs.Simulation(system_of(law, states={"x": 1.0}), h=1e-3)
    with pytest.warns(RtmbsWarning, match="its state 'x'"):
        result = sim.run(0.1)
    assert len(result.warnings) == 1


def test_the_fastest_of_several_states_is_named_and_an_oscillation_counts():
    def law(t, k, p, s):
        return 0.0 * k.z, (s["x"] - 2.0 * s["slow"], 3e3 * s["w"], -3e3 * s["v"], -1.0 * s["slow"])

    states = {"x": 0.0, "v": 1.0, "w": 0.0, "slow": 1.0}
    with pytest.warns(RtmbsWarning, match=r"its state '[vw]' has a time constant of 0.000333 s"):
        rtmbs.Simulation(system_of(law, states=states), h=1e-3)


@pytest.mark.parametrize(("x", "error"), [(-2.0, np.exp(-2.0)), (-0.25, 0.0019)])
def test_the_error_of_a_decay(x, error):
    assert transient_error(x) == pytest.approx(error, rel=0.03)

"""Checks of steps: bushings past half a turn, states of force laws too fast for the step."""

import warnings

import numpy as np
import pytest

import rtmbs
from rtmbs import RtmbsWarning
from rtmbs.errors import HalfTurnError
from rtmbs.simulation.step_checks import RESOLVED, transient_error

TORQUE, INERTIA = 5.0, 0.1


def turning(stiffness=(0, 0, 0, 0, 0, 1.0), joint=None, **options):
    model = rtmbs.Model("b", gravity=(0, 0, 0))
    model.add_body("rod", mass=1.0, inertia=(INERTIA,) * 3)
    model.add_joint("a", joint or rtmbs.Revolute(axis=(0, 0, 1)), "ground", "rod", point=(0, 0, 0))
    model.add_marker("g", "ground")
    model.add_marker("r", "rod")
    model.add_force("bush", rtmbs.Bushing(stiffness=stiffness, **options), between=("g", "r"))
    if joint is None:
        model.add_force("drive", rtmbs.Motor(TORQUE), joint="a")
    return model


def passage():
    """Return when the rod reaches half a turn: angle = T/k (1 - cos wt), exactly."""
    return float(np.arccos(1.0 - np.pi / TORQUE) / np.sqrt(1.0 / INERTIA))


@pytest.mark.parametrize("options", [{}, {"tolerance": 1e-6}, {"channels": ["a.angle", "bush.torque"]}])
@pytest.mark.parametrize("method", [rtmbs.PenaltyTrapezoidal(), rtmbs.RungeKutta()], ids=lambda one: type(one).__name__)
def test_a_run_ends_before_the_torque_flips(options, method):
    if "tolerance" in options and isinstance(method, rtmbs.RungeKutta):
        pytest.skip("a tolerance chooses the steps of PenaltyTrapezoidal")
    sim = rtmbs.Simulation(turning().compile(), h=1e-3, method=method)
    with pytest.raises(HalfTurnError, match="culprit force 'bush'") as caught:
        sim.run(3.0, **options)
    result = caught.value.result
    assert caught.value.t == pytest.approx(passage(), abs=2e-3)
    assert 3.12 < result["a.angle"][-1] < np.pi
    assert np.all(result["bush.torque"][1:, 2] < 0.0)  # it never flipped
    assert result.outcomes.keys() == {"CONVERGED"}


def test_a_step_by_hand_is_refused_and_leaves_the_state():
    sim = rtmbs.Simulation(turning().compile(), h=1e-3)
    while (report := sim.step()).outcome.accepted:
        before = sim.state.z.copy()
    assert report.outcome is rtmbs.Outcome.HALF_TURN
    assert report.worst == ("force 'bush'",)
    assert sim.state.z[0] == before[0] < np.pi
    sim.set("a.rate", -1.0)
    assert sim.step().outcome.accepted  # back again


def test_a_free_body_that_tumbles_is_refused_at_its_half_turn():
    model = turning((3e3, 3e3, 3e3, 1e-3, 1e-3, 1e-3), joint=rtmbs.Floating())
    model.set_initial("a", (0, 0, 0, 1, 0, 0, 0), (0, 0, 0, 3.0, 4.0, 0.0))
    with pytest.raises(HalfTurnError, match="force 'bush'") as caught:
        rtmbs.Simulation(model.compile(), h=1e-3).run(2.0)
    assert caught.value.t == pytest.approx(np.pi / 5.0, abs=2e-3)


def test_a_bushing_whose_rotation_moves_nothing_may_turn():
    sim = rtmbs.Simulation(turning((1.0, 1.0, 1.0, 0, 0, 0)).compile(), h=1e-3)
    result = sim.run(1.0)
    assert result["a.angle"][-1] == pytest.approx(0.5 * TORQUE / INERTIA, rel=1e-6)


def test_a_state_beyond_half_a_turn_may_be_set_and_stepped():
    sim = rtmbs.Simulation(turning().compile(), h=1e-3)
    sim.run(0.1)
    sim.set("a.angle", 4.0)  # 4 - 2 pi for the bushing
    assert sim.step().outcome.accepted
    assert sim["a.angle"] == pytest.approx(4.0, abs=0.02)
    assert sim["bush.torque"][2] == pytest.approx(2 * np.pi - sim["a.angle"], rel=1e-9)


def test_the_rotation_is_measured_only_where_half_a_turn_is_near(monkeypatch):
    sim = rtmbs.Simulation(turning().compile(), h=1e-4)
    calls, passed = [], sim._half_turns.passed
    monkeypatch.setattr(sim._half_turns, "passed", lambda samples: calls.append(1) or passed(samples))
    for _ in range(1000):
        sim.step()
    assert len(calls) < 10


# ---- states of force laws that the step does not resolve are told at the start and in -------------------------------


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

"""A bushing that turns past half a turn is refused, named and timed; one whose rotation moves no force is not."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import HalfTurnError

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
    assert caught.value.t == pytest.approx(np.pi / 5.0, rel=2e-2)


def test_a_bushing_whose_rotation_moves_nothing_may_turn():
    sim = rtmbs.Simulation(turning((1.0, 1.0, 1.0, 0, 0, 0)).compile(), h=1e-3)
    result = sim.run(1.0)
    assert result["a.angle"][-1] == pytest.approx(0.5 * TORQUE / INERTIA, rel=1e-6)


def test_a_state_beyond_half_a_turn_may_be_set_and_stepped():
    sim = rtmbs.Simulation(turning().compile(), h=1e-3)
    sim.run(0.1)
    sim.set("a.angle", 4.0)  # 4 - 2 pi for the bushing
    assert sim.step().outcome.accepted
    assert sim["bush.torque"][2] == pytest.approx(2 * np.pi - 4.0, abs=0.02)


def test_the_rotation_is_measured_only_where_half_a_turn_is_near(monkeypatch):
    sim = rtmbs.Simulation(turning().compile(), h=1e-4)
    calls, passed = [], sim._half_turns.passed
    monkeypatch.setattr(sim._half_turns, "passed", lambda samples: calls.append(1) or passed(samples))
    for _ in range(1000):
        sim.step()
    assert len(calls) < 10

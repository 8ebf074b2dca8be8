"""Loops that rest on a dead centre: the reaction there follows the penalty, and the report says so."""

import numpy as np
import pytest

import rtmbs
from rtmbs.library.linkages import add_bar

SPAN, MASS, DAMPING = 0.5, 2.0, 3.0  # [m], [kg], [N m s/rad]


def toggle(angle, span=SPAN, mass=MASS):
    """Two equal bars between fixed pivots, ``angle`` [rad] off their line, under their weight, damped."""
    model = rtmbs.Model("toggle")
    knee = (span * np.cos(angle), -span * np.sin(angle), 0.0)
    far = (2.0 * span * np.cos(angle), 0.0, 0.0)
    model.gravity = (0.0, -9.81, 0.0)
    add_bar(model, "left", (0.0, 0.0, 0.0), knee, mass, axial=1e-4)
    add_bar(model, "right", far, knee, mass, axial=1e-4)
    axis = rtmbs.Revolute(axis=(0.0, 0.0, 1.0))
    model.add_joint("O", axis, "ground", "left", point=(0.0, 0.0, 0.0))
    model.add_joint("B", axis, "ground", "right", point=far)
    model.add_joint("knee", axis, "left", "right", point=knee, cut=True)
    model.add_force("friction", rtmbs.TorsionSpring(0.0, DAMPING), joint="O")
    return model.compile()


def at_rest(system, penalty, method=rtmbs.PenaltyTrapezoidal):
    """Return the outcomes of the last steps of 2 s, and the largest multiplier [N]."""
    sim = rtmbs.Simulation(system, h=2e-3, method=method(penalty=penalty))
    outcomes = [sim.step().outcome.name for _ in range(1000)][-100:]
    return set(outcomes), float(np.abs(sim.state.lam).max()), sim


@pytest.mark.filterwarnings("ignore")
def test_a_reaction_that_follows_the_penalty_is_named():
    """The bars balance W / 2 = 2 N sin(a) at the knee, and yield by N / alpha = SPAN a^2: N goes by alpha^(1/3)."""
    system = toggle(0.0)
    (soft, N, _), (firm, larger, _) = (at_rest(system, penalty) for penalty in (1e6, 1e8))
    assert larger / N == pytest.approx(100.0 ** (1.0 / 3.0), rel=0.03)
    assert soft == firm == {"UNBALANCED"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fused", [True, False])
def test_a_reaction_that_follows_the_penalty_of_stages_is_named(fused):
    """Both forms of the step say so from the first step on."""
    sim = rtmbs.Simulation(toggle(0.0), h=2e-3, method=rtmbs.TRBDF2(penalty=1e8, fused=fused))
    assert [sim.step().outcome.name for _ in range(5)] == 5 * ["UNBALANCED"]


@pytest.mark.filterwarnings("ignore")
def test_no_wrong_reaction_of_random_bars_is_silent():
    """Random bars, off their line by 1e-4 to 0.03 rad: a converged step has H to 1 %, and many converge."""
    rng, converged = np.random.default_rng(5), 0
    for _ in range(24):
        angle, span, mass, penalty = 10.0 ** rng.uniform((-4.0, -0.5, -1.0, 5.5), (-1.5, 0.5, 2.0, 7.5))
        sim = rtmbs.Simulation(toggle(angle, span, mass), h=2e-3, method=rtmbs.TRBDF2(penalty=penalty))
        outcomes = [sim.step().outcome.name for _ in range(100)]
        if outcomes[-1] == "CONVERGED":
            converged += 1
            assert np.abs(sim.state.lam).max() == pytest.approx(0.5 * mass * 9.81 / np.tan(angle), rel=1e-2)
    assert 8 <= converged < 24


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", [rtmbs.PenaltyTrapezoidal, rtmbs.TRBDF2])
def test_a_reaction_that_balance_determines_is_not_named(method):
    """Equal bars meet at the knee with a level force H, H sin(a) = m g cos(a) / 2."""
    angle = 0.02
    outcomes, found, _ = at_rest(toggle(angle), 1e6, method)
    assert outcomes == {"CONVERGED"}
    assert found == pytest.approx(0.5 * MASS * 9.81 / np.tan(angle), rel=1e-3)

"""Loops that rest on a dead centre: the reaction there follows the penalty, and the report says so."""

import numpy as np
import pytest

import rtmbs
from rtmbs.library.linkages import add_bar

SPAN, MASS, DAMPING = 0.5, 2.0, 3.0  # [m], [kg], [N m s/rad]


def toggle(angle):
    """Two equal bars between fixed pivots, ``angle`` [rad] off their line, under their weight, damped."""
    model = rtmbs.Model("toggle")
    knee = (SPAN * np.cos(angle), -SPAN * np.sin(angle), 0.0)
    far = (2.0 * SPAN * np.cos(angle), 0.0, 0.0)
    model.gravity = (0.0, -9.81, 0.0)
    add_bar(model, "left", (0.0, 0.0, 0.0), knee, MASS, axial=1e-4)
    add_bar(model, "right", far, knee, MASS, axial=1e-4)
    axis = rtmbs.Revolute(axis=(0.0, 0.0, 1.0))
    model.add_joint("O", axis, "ground", "left", point=(0.0, 0.0, 0.0))
    model.add_joint("B", axis, "ground", "right", point=far)
    model.add_joint("knee", axis, "left", "right", point=knee, cut=True)
    model.add_force("friction", rtmbs.TorsionSpring(0.0, DAMPING), joint="O")
    return model.compile()


def at_rest(system, penalty):
    """Return the outcomes of the last steps of 2 s, and the largest multiplier [N]."""
    sim = rtmbs.Simulation(system, h=2e-3, method=rtmbs.PenaltyTrapezoidal(penalty=penalty))
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
def test_a_reaction_that_balance_determines_is_not_named():
    """Equal bars meet at the knee with a level force H, H sin(a) = m g cos(a) / 2."""
    angle = 0.02
    outcomes, found, _ = at_rest(toggle(angle), None)
    assert outcomes == {"CONVERGED"}
    assert found == pytest.approx(0.5 * MASS * 9.81 / np.tan(angle), rel=1e-3)

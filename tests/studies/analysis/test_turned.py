"""Redundant rows that are all rounding hold nothing, wherever a mechanism lies."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns import turned
from rtmbs.errors import InputError


@pytest.mark.parametrize("cases", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_every_analysis_answers_as_along_the_axes(cases):
    tally = turned.run(cases, 1000)
    assert tally.survived == cases, tally.failures
    assert tally.worst["equilibrium"] < 1e-7


@pytest.fixture
def skew_door():
    """A leaf on two hinges of one skew axis, with a spring that rests at the drawn pose."""
    model, axis = rtmbs.Model("door", gravity=(0.0, -9.81, 0.0)), np.array((0.3, 0.9, -0.4))
    foot = np.array((0.1, -0.2, 0.3))
    model.add_body("leaf", mass=3.0, inertia=(0.3, 0.2, 0.4), center_of_mass=(0.4, 0.1, 0.2))
    for k, name in enumerate(("low", "high")):
        model.add_joint(name, rtmbs.Revolute(axis=axis), model.ground, "leaf", point=foot + 0.8 * k * axis)
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=25.0, damping=0.3), joint="low")
    return rtmbs.Simulation(model.compile(), h=1e-3)


def test_the_slowest_modes_of_sparse_matrices(skew_door):
    rest = rtmbs.equilibrium(skew_door).simulation
    np.testing.assert_allclose(rtmbs.modes(rest, count=1).frequencies, rtmbs.modes(rest).frequencies, rtol=1e-8)


def test_two_hinges_of_one_axis_carry_the_door_together(skew_door):
    """Newton's law of the leaf; multipliers of rows of rounding would be rounding divided by rounding."""
    found = rtmbs.inverse_dynamics(skew_door.system, {"low": rtmbs.Sine(0.3, 2.0)}, np.linspace(0.0, 0.5, 6))
    force = found.result["low.reaction"][:, :3] + found.result["high.reaction"][:, :3]
    wanted = 3.0 * (found.result["mass_center.acceleration"] - np.array((0.0, -9.81, 0.0)))
    np.testing.assert_allclose(force, wanted, atol=1e-9)
    assert np.abs(found.result["high.reaction"]).max() < 100.0
    assert np.abs(found.forces["low"]).max() > 1.0


def test_an_input_without_effect_holds_nothing(skew_door):
    with pytest.raises(InputError, match=r"^'spring\.stiffness' cannot hold this pose: low\.angle would move; add an"):
        rtmbs.preload(skew_door, ["spring.stiffness"])

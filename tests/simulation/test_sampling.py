"""No step goes over more than a turn can be seen in: fast rotors, and how far bodies turn at the ends of chains."""

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation
from rtmbs.errors import InputError
from rtmbs.simulation.step_choice import LARGEST_MOVE, first_step

TOLERANCE = 1e-5


def rotor(rate, center=-0.5):
    model = rtmbs.Model("rotor")
    model.add_body("a", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0, 0, center))
    model.add_joint("j", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "a")
    model.set_initial("j", rate=rate)
    return Simulation(model.compile(), h=1e-3)


@pytest.mark.parametrize("rate", [18539.0, 452278.0])
def test_fast_unbalanced_rotors(rate):
    """Series in 1 / rate: phi = r t + k / r (sin(r t) / r - t), k = m g l / I, error of order k^2 / r^3."""
    span = 200.0 / rate
    result = rotor(rate).run(span, tolerance=TOLERANCE)
    k, t = 9.81 * 0.5 / 0.35, result.t
    exact = rate * t + k / rate * (np.sin(rate * t) / rate - t)
    assert np.abs(result["j.angle"] - exact).max() < TOLERANCE
    assert np.diff(result.t).max() * rate <= LARGEST_MOVE
    assert set(result.outcomes) == {"CONVERGED"}


def test_too_many_turns_are_told():
    with pytest.raises(InputError, match=r"a body by 1.5 rad at most, .*; most_steps = 1000"):
        rotor(1e5, center=0.0).run(1.0, tolerance=1e-2, most_steps=1000)


def test_rates_add_up_along_a_chain():
    model = rtmbs.Model("chain", gravity=(0.0, 0.0, 0.0))
    for k in range(3):
        model.add_body(f"b{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        model.add_joint(f"j{k}", rtmbs.Revolute(axis=(0, 1, 0)), f"b{k - 1}" if k else "ground", f"b{k}")
        model.set_initial(f"j{k}", rate=10.0)
    sim = Simulation(model.compile(), h=1e-3)
    assert first_step(sim.system, sim.equations, sim.state) == pytest.approx(0.2 / 30.0)

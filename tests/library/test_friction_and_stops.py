"""Friction and end stops of ``rtmbs.library.force_laws``, by energy and by closed forms."""

import numpy as np
import pytest

import rtmbs
from rtmbs.library.force_laws import coulomb_friction, stops


def slider(law, parameters, position=0.0, rate=0.0):
    m = rtmbs.Model("slider", gravity=(0, 0, 0))
    m.add_body("block", mass=2.0, inertia=(1, 1, 1))
    m.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), m.ground, "block")
    m.set_initial("rail", position, rate)
    m.add_force("law", law, joint="rail", parameters=parameters)
    return rtmbs.Simulation(m.compile(), h=1e-3)


def test_dry_friction_stops_a_block_after_its_braking_distance():
    """v^2 m / (2 F), and the time m v / F; the block then stands."""
    sim = slider(coulomb_friction, {"force": 4.0, "smoothing": 1e-3}, rate=1.0)
    result = sim.run(1.0)
    assert result["rail.displacement"][-1] == pytest.approx(0.25, abs=1e-3)
    assert result["rail.rate"][499] == pytest.approx(1.0 - 0.499 * 2.0, abs=1e-3)
    assert abs(result["rail.rate"][-1]) < 1e-6


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_stop_gives_back_the_energy_of_its_spring_on_both_sides(side):
    parameters = {"lower": -0.2, "upper": 0.1, "stiffness": 5e3, "exponent": 2.0, "damping": 0.0}
    sim = slider(stops, parameters, rate=side)
    result = sim.run(0.6)
    place, rate = result["rail.displacement"], result["rail.rate"]
    deepest = (3 * 0.5 * 2.0 / 5e3) ** (1 / 3)  # k d^3 / 3 = m v^2 / 2
    wall = parameters["upper" if side > 0.0 else "lower"]
    assert side * (place * side).max() == pytest.approx(wall + side * deepest, abs=2e-3)
    assert rate[np.argmax(side * place) + 120] == pytest.approx(-side, abs=5e-3)
    free = (place > -0.2) & (place < 0.1)
    np.testing.assert_allclose(result["law.force"][free], 0.0, rtol=0, atol=0)


def test_a_damped_stop_loses_energy_and_never_pulls():
    parameters = {"lower": -0.2, "upper": 0.1, "stiffness": 5e3, "exponent": 2.0, "damping": 2e3}
    result = slider(stops, parameters, rate=1.0).run(0.6)
    force, place = result["law.force"], result["rail.displacement"]
    assert np.all(force[place >= 0.1] <= 0.0)
    assert np.all(force[place <= -0.2] >= 0.0)
    assert 0.01 < abs(result["rail.rate"][-1]) < 0.9

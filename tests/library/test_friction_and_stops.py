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


def swinging(angle=0.0, **given):
    m = rtmbs.Model("arm")
    m.add_body("arm", mass=1.0, inertia=(1.0, 1.0, 1.0), position=(0, 0, -1.0))
    m.add_joint("hinge", rtmbs.Revolute((0, 1, 0)), m.ground, "arm")
    m.add_stop("stop", "hinge", **given or {"lower": -0.5, "upper": 0.5}, stiffness=1e5)
    m.set_initial("hinge", angle)
    return m


def test_limits_out_of_order_are_refused_and_name_the_one_to_set_first():
    """Both ends had pushed at once, and nothing told it."""
    sim = rtmbs.Simulation(swinging().compile(), h=1e-3)
    refused = (
        ("lower", 0.6, r"'stop.lower' would be 0.6 and 'stop.upper' 0.5; .*set 'stop.upper' first"),
        ("lower", 0.5, "lower must be below upper"),
        ("upper", np.array([-0.7]), r"'stop.lower' would be -0.5 and 'stop.upper' -0.7; .*set 'stop.lower' first"),
    )
    for ramped in (False, True):
        if ramped:
            sim.inputs.ramp("stop.lower", "stop.upper")
        for word, value, said in refused:
            with pytest.raises(rtmbs.errors.InputError, match=said):
                sim.inputs[f"stop.{word}"] = value
            with pytest.raises(rtmbs.errors.InputError, match="must be below"):
                sim.inputs.ramp_to({f"stop.{word}": float(np.ravel(value)[0])})
    assert (sim.inputs["stop.lower"], sim.inputs["stop.upper"]) == (-0.5, 0.5)
    sim.inputs.hold("stop.lower", "stop.upper")
    sim.inputs["stop.upper"] = 1.0
    sim.inputs["stop.lower"] = 0.6
    assert (sim.inputs["stop.lower"], sim.inputs["stop.upper"]) == (0.6, 1.0)


def test_a_law_of_the_library_with_its_limits_out_of_order_is_refused():
    m = rtmbs.Model("arm")
    m.add_body("arm", mass=1.0, inertia=(1.0, 1.0, 1.0), position=(0, 0, -1.0))
    m.add_joint("hinge", rtmbs.Revolute((0, 1, 0)), m.ground, "arm")
    numbers = {"lower": 0.5, "upper": -0.5, "stiffness": 1e3, "exponent": 2.0, "damping": 1.0}
    m.add_force("ends", stops, joint="hinge", parameters=numbers)
    with pytest.raises(rtmbs.errors.ModelError, match=r"'ends': lower is 0\.5 and upper -0\.5; lower must be below"):
        m.compile()


@pytest.mark.parametrize(("angle", "upper", "told"), [(0.8, 0.5, True), (0.5001, 0.5, False), (0.8, 0.9, False)])
def test_a_coordinate_that_begins_beyond_its_stop_is_told(angle, upper, told, recwarn):
    """The stop threw it back with no word, as it does with overlapping bodies."""
    rtmbs.Simulation(swinging(angle, lower=-0.5, upper=upper).compile(), h=1e-3)
    words = [str(one.message) for one in recwarn if "begins" in str(one.message)]
    assert len(words) == told
    assert not told or "stop 'stop' begins 0.3 rad beyond its limit" in words[0]

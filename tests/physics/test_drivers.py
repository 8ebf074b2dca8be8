"""Drivers: coordinates and distances follow their profiles up to the acceleration, and push as they must."""

import math

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from bench.measures.mechanisms import crank_rocker, five_bar, jib
from rtmbs import ConstantRate, Function, Simulation, Sine, SmoothStep, Spline

LENGTH = math.hypot(1.0, 1.0)  # of the ram at the reference pose [m]
PROFILES = {
    "sine": Sine(amplitude=0.2, frequency_rad_s=3.0, offset=LENGTH),
    "smooth step": SmoothStep(0.1, 0.8, LENGTH, LENGTH + 0.3),
    "constant rate": ConstantRate(rate=0.2, start=LENGTH),
    "table": Spline([0.0, 0.3, 0.6, 1.0], [LENGTH, LENGTH + 0.1, LENGTH + 0.05, LENGTH + 0.2]),
    "function": Function(lambda t: LENGTH + 0.1 * t**3, lambda t: 0.3 * t**2, lambda t: 0.6 * t),
}


@pytest.fixture(scope="module", params=PROFILES)
def ram(request):
    """A run of the jib, its profile at the samples (3, samples), and length, speed and acceleration of the ram."""
    profile = PROFILES[request.param]
    sim = Simulation(jib(profile).compile(), h=5e-3)
    result = sim.run(1.0)
    asked = profile.checked("test")
    wanted = np.array([asked(t) for t in result.t]).T
    lever, v, a = (result[f"eye.{part}"] - result[f"foot.{part}"] for part in ("position", "velocity", "acceleration"))
    length = np.linalg.norm(lever, axis=1)
    speed = np.sum(v * lever, axis=1) / length
    growth = (np.sum(a * lever, axis=1) + np.sum(v * v, axis=1) - speed**2) / length
    assert sim.start_report.degrees_of_freedom == 0
    return result, wanted, (length, speed, growth)


def test_a_distance_follows_its_profile(ram):
    _, wanted, found = ram
    for value, want, bound in zip(found, wanted, (1e-9, 1e-9, 1e-7), strict=True):
        np.testing.assert_allclose(value, want, atol=bound)


def test_a_driver_pushes_as_virtual_work_asks(ram):
    result, _, (length, _, _) = ram
    angle, spin = result["heel.angle"], result["heel.acceleration"]
    lever = result["eye.position"] - result["foot.position"]
    arm = np.cross(result["eye.position"], lever)[:, 2] / length  # d length / d angle
    force = (3.0 * 2.0**2 / 3.0 * spin + 3.0 * 9.81 * np.cos(angle)) / arm
    np.testing.assert_allclose(result["ram.force"], force, atol=1e-3)


def test_a_table_drives_a_crank():
    times, angles = np.linspace(0.0, 1.0, 6), np.array([0.0, 0.4, 1.0, 1.3, 2.0, 2.2])
    model = crank_rocker(rate=None)
    model.add_driver("drive", Spline(times, angles), joint="crank_pivot")
    result = Simulation(model.compile(), h=2.5e-3).run(1.0)
    table = CubicSpline(times, angles, bc_type="natural")
    for order, (part, bound) in enumerate((("angle", 1e-9), ("rate", 1e-8), ("acceleration", 1e-8))):
        np.testing.assert_allclose(result[f"crank_pivot.{part}"], table(result.t, order), atol=bound)


def test_a_driven_loop_keeps_its_speed():
    """METHODS 1.5: a projection that dropped the rheonomic terms would lose the prescribed speed."""
    result = Simulation(five_bar().compile(), h=5e-3).run(1.0)
    np.testing.assert_allclose(result["near_pivot.rate"], 2.0 * np.cos(4.0 * result.t), atol=2e-8)
    np.testing.assert_allclose(result["near_pivot.acceleration"], -8.0 * np.sin(4.0 * result.t), atol=1e-7)


def test_a_driver_pays_for_the_energy():
    steps, errors = (5e-3, 2.5e-3, 1.25e-3), []
    for h in steps:
        result = Simulation(five_bar().compile(), h).run(1.0)
        power = result["drive.force"] * result["near_pivot.rate"]
        work = np.sum((power[:-2:2] + 4.0 * power[1:-1:2] + power[2::2]) * h / 3.0)
        energy = result["energy.total"]
        errors.append(abs(energy[-1] - energy[0] - work))
    assert errors[-1] < 1e-5 * np.ptp(energy)
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 1.8

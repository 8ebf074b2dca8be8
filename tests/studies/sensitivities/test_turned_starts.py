"""A start that assembly turned about a ball joint: its pose is the nearest one that closes the loop."""

import numpy as np
import pytest

import rtmbs

SHARP = rtmbs.PenaltyTrapezoidal(tol=1e-12, projection_tol=1e-13)


def mechanism(reach=0.55, angle=0.35):
    """A crank pulls an arm on a ball joint by a rod; the given angle opens the loop, and the arm follows."""
    model = rtmbs.Model("puller", gravity=(0.3, -2.0, -9.81))
    model.add_body("arm", mass=1.2, inertia=(0.05, 0.09, 0.07), position=(0, 0, 0), center_of_mass=(0.2, 0.1, 0.05))
    model.add_body("crank", mass=0.8, inertia=(0.02, 0.03, 0.02), position=(0, 1, 0), center_of_mass=(0.1, 0, 0))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "arm", point=(0, 0, 0))
    model.add_joint("pin", rtmbs.Revolute((0.1, 0.3, 0.9)), "ground", "crank", point=(0, 1, 0))
    ends = model.add_marker("tip", "arm", (reach, 0.1, 0.2)), model.add_marker("eye", "crank", (0.4, 0.0, 0.1))
    model.add_rod("rod", between=ends, length=1.05)
    model.set_initial("pin", position=angle)
    return model


def last(reach):
    run = rtmbs.Simulation(mechanism(reach).compile(), h=2e-3, method=SHARP).run(0.04)
    return np.concatenate((run["arm.mass_center"][-1], run["arm.velocity"][-1], run["pin.angle"][-1:]))


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_the_pose_is_that_of_the_start(method):
    sim = rtmbs.Simulation(mechanism().compile(), h=2e-3, method=SHARP)
    assert np.abs(sim.state.R0[0] - sim.system.R0[0]).max() > 0.05  # assembly turned the arm

    def of(result):
        return np.concatenate((result["arm.mass_center"][-1], result["arm.velocity"][-1], result["pin.angle"][-1:]))

    found = rtmbs.sensitivity(
        sim, 0.04, of, ["reach"], model=mechanism, at={"reach": 0.55, "angle": 0.35}, method=method
    )
    size, places, weights = 1e-4, (-3, -2, -1, 1, 2, 3), np.array([-1.0, 9.0, -45.0, 45.0, -9.0, 1.0]) / 60.0
    wanted = sum(w * last(0.55 + size * p) for w, p in zip(weights, places, strict=True)) / size
    np.testing.assert_allclose(found.jacobian[:, 0], wanted, rtol=0, atol=2e-7 * np.abs(wanted).max())

"""Momenta and mass centre of a mechanism, against sums over its bodies' own channels and against their balance."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from tests.contracts.machines import closed_simulation


def rotations(quaternions):
    return Rotation.from_quat(quaternions[:, [1, 2, 3, 0]]).as_matrix()


@pytest.mark.parametrize("seed", [0, 2, 5, 7])
def test_sums_over_bodies(seed):
    sim = closed_simulation(seed, h=1e-3)
    result = sim.run(0.01)
    mass, p, L = 0.0, 0.0, 0.0
    for name, info in sim.system.bodies.items():
        if info.dof < 0:
            continue
        R, w = rotations(result[f"{name}.orientation"]), result[f"{name}.angular_velocity"]
        arm = np.einsum("sij,j->si", R, info.center_of_mass)
        x, v = result[f"{name}.position"] + arm, result[f"{name}.velocity"] + np.cross(w, arm)
        J = R @ info.inertia @ np.swapaxes(R, 1, 2)
        mass += info.mass
        p += info.mass * v
        L += np.einsum("sij,sj->si", J, w) + info.mass * np.cross(x, v)
    c = result["mass_center.position"]
    size = np.abs(L).max()
    np.testing.assert_allclose(result["momentum.linear"], p, rtol=0, atol=1e-12 * np.abs(p).max())
    np.testing.assert_allclose(result["mass_center.velocity"], p / mass, rtol=0, atol=1e-12 * np.abs(p).max())
    np.testing.assert_allclose(result["momentum.angular_about_origin"], L, rtol=0, atol=1e-12 * size)
    np.testing.assert_allclose(result["momentum.angular"], L - np.cross(c, p), rtol=0, atol=1e-11 * size)


def test_a_free_body_keeps_its_momenta_and_falls_with_its_mass_centre():
    model = rtmbs.Model("free", gravity=(0.3, 0.0, -9.81))
    model.add_body("stone", mass=2.0, inertia=(0.1, 0.2, 0.25), center_of_mass=(0.3, -0.1, 0.2))
    model.add_joint("float", rtmbs.Floating(), "ground", "stone")
    model.set_initial("float", rate=(0.1, 0.2, 0.3, 1.0, -2.0, 3.0))
    result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.5)
    spin = result["momentum.angular"]
    np.testing.assert_allclose(spin, spin[:1] + 0.0 * spin, rtol=0, atol=1e-5 * np.abs(spin).max())
    force = np.gradient(result["momentum.linear"], result.t, axis=0)[1:-1]
    np.testing.assert_allclose(force, np.broadcast_to([0.6, 0.0, -19.62], force.shape), atol=1e-4)  # order two
    np.testing.assert_allclose(
        result["mass_center.acceleration"], np.broadcast_to([0.3, 0.0, -9.81], spin.shape), atol=1e-9
    )


def test_a_mechanism_without_moving_mass_has_no_momentum():
    model = rtmbs.Model("still")
    model.add_body("post", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("weld", rtmbs.Fixed(), "ground", "post")
    model.add_body("arm", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("pin", rtmbs.Revolute(axis=(0, 1, 0)), "post", "arm")
    result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.01)
    np.testing.assert_allclose(result["mass_center.position"], 0.0, atol=1e-12)  # of the arm alone

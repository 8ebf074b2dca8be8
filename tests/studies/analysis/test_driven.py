"""Inputs of drivers in linear equations: against closed forms, and differences of the motion with drivers moved."""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.semirecursive.start.assembly import Assembly
from rtmbs.semirecursive.start.prepare import consistent_rates
from rtmbs.studies.analysis.neighbourhood import neighbourhood
from tests.formulations.systems import skew_loop
from tests.studies.analysis.cases import G, swing

LENGTH = 0.5


def cart(profile):
    """A pendulum on a cart that a driver moves along x."""
    model = rtmbs.Model("cart", gravity=(0, 0, -G))
    body = model.add_body("cart", mass=2.0, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", body)
    swing(model, body, "bob", LENGTH, 0.7, (0, 0, 0))
    model.add_driver("drive", profile, joint="rail")
    return model


def test_a_pendulum_on_a_driven_cart():
    """l q'' = -g q + a at small angles: a mass below its hinge lags behind, about +y."""
    sim = rtmbs.Simulation(cart(rtmbs.Input(0.0)).compile())
    outputs = ["bob.position", "rail.reaction"]
    lin = rtmbs.linearise(sim, inputs=["drive"], outputs=outputs)
    assert lin.inputs == ("drive[0]", "drive[1]", "drive[2]")
    np.testing.assert_allclose(lin.A, [[0, 1], [-G / LENGTH, 0]], atol=1e-9)
    np.testing.assert_allclose(lin.B, [[0, 0, 0], [0, 0, 1 / LENGTH]], atol=1e-9)
    np.testing.assert_allclose(lin.forces, [[0, 0, 0.7 * LENGTH]], atol=1e-9)
    x_of_bob = lin.outputs.index("bob.position[0]")
    np.testing.assert_allclose(lin.D[x_of_bob], [1, 0, 0], atol=1e-9)


def test_a_driver_that_follows_a_profile_is_no_input():
    sim = rtmbs.Simulation(cart(rtmbs.Sine(0.1, 3.0)).compile())
    with pytest.raises(InputError, match=r"^'drive' is a function of time and no input; give rtmbs\.Input"):
        rtmbs.linearise(sim, inputs=["drive"])


def driven_loop():
    """A loop of skew hinges in motion, one of them driven, with a bob on a skew hinge and a spring on its tip."""
    model = skew_loop(1)
    bodies = list(model.bodies)
    bob = model.add_body(
        "bob", mass=0.5, inertia=(0.01, 0.02, 0.03), position=(0.7, 0.4, 0.3), center_of_mass=(0.1, 0.05, -0.2)
    )
    model.add_joint("hang", rtmbs.Revolute(axis=(0.3, 1, 0.1)), bodies[-1], bob, point=(0.7, 0.4, 0.3))
    model.add_marker("post", "ground", point=(0.4, 0.3, 1.0))
    model.add_marker("tip", bob, point=(0.3, 0.2, -0.4))
    model.add_force("spring", rtmbs.SpringDamper(200.0, 5.0, 0.6), between=("post", "tip"))
    joint = next(name for name, one in model.joints.items() if type(one.type).__name__ == "Revolute")
    start = 0.0
    model.add_driver("drive", rtmbs.Input((start, 0.8, 0.4)), joint=joint)
    return model, {"hang": 1.1}


def hung_by_a_distance():
    """A free body that an actuator holds at a distance, in motion: rotation dofs, and Phi_z that an input changes."""
    model = rtmbs.Model("held", gravity=(0.4, -0.3, -G))
    body = model.add_body("plate", mass=1.0, inertia=(0.1, 0.12, 0.15), center_of_mass=(0.1, 0.05, -0.2))
    model.add_joint("ball", rtmbs.Spherical(), "ground", body)
    model.add_marker("post", "ground", point=(1.0, 0.2, 0.3))
    model.add_marker("lug", body, point=(0.1, -0.2, -0.6))
    model.add_driver("drive", rtmbs.Input((float(np.linalg.norm([0.9, 0.4, 0.9])), 0.3, 0.2)), between=("post", "lug"))
    model.add_body("bob", mass=0.3, inertia=(0.01, 0.02, 0.03), center_of_mass=(0.0, 0.1, -0.2))
    model.add_joint("hang", rtmbs.Revolute(axis=(0.3, 1, 0.1)), body, "bob")
    return model, {"hang": 1.5}


def accelerations_with(sim, slot, change):
    """Return accelerations of the independent coordinates, the number of a driver changed, loops closed anew."""
    near = neighbourhood(sim)
    equations, own = near.equations, near.independent
    equations.u = sim.state.u.copy()
    equations.u[slot] += change
    scale = np.where(equations.system.row_is_rotation, 1.0, equations.system.length)
    assembly = Assembly(equations, near.arrays.R0, scale, equations.system.typical)
    weights, kept = np.ones(equations.n), np.zeros(equations.n, bool)
    kept[own] = True
    z = assembly.solve(near.arrays.z + 0.0, kept, weights)
    equations.close(z, near.arrays.R0)
    zd = consistent_rates(assembly, near.arrays.zd.copy(), kept, weights)
    return equations.accelerations(z, zd, near.arrays.R0, near.arrays.s)[0][own]


@pytest.mark.parametrize("make", [driven_loop, hung_by_a_distance])
def test_loops_in_motion_against_differences(make):
    model, rates = make()
    for joint, rate in rates.items():
        model.set_initial(joint, rate=rate)
    sim = rtmbs.Simulation(model.compile())
    lin = rtmbs.linearise(sim, inputs=["drive"])
    f, first, size = len(lin.coordinates), sim.system.inputs["drive"].start, 1e-4
    wanted = [
        (accelerations_with(sim, first + j, size) - accelerations_with(sim, first + j, -size)) / (2 * size)
        for j in range(3)
    ]
    wanted = np.array(wanted).T
    assert np.abs(wanted[:, 2]).max() > 1e-3
    np.testing.assert_allclose(lin.B[f : 2 * f], wanted, atol=3e-6 * np.abs(wanted).max())


def test_a_driver_cannot_be_the_preload():
    sim = rtmbs.Simulation(cart(rtmbs.Input(0.0)).compile())
    with pytest.raises(InputError, match=r"^input 'drive\[0\]' is of a driver, which holds its coordinate"):
        rtmbs.preload(sim, ["drive"])

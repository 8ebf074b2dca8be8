"""Reactions of simulated single joints: closed forms, and the values ADAMS published (BENCHMARKS 3)."""

import numpy as np
import pytest

import rtmbs
from rtmbs import library

g = 9.81


def test_a_point_pendulum_pulls_as_the_closed_form_says():
    """Released at the angle a0 from the hanging pose: m (3 cos a - 2 cos a0) g along the bar, nothing across."""
    start = 1.2
    sim = rtmbs.Simulation(library.build("pendulum", angle=start).compile(), h=1e-3)
    result = sim.run(2.0)
    a = result["pivot.angle"]
    along = np.stack((-np.sin(a), np.cos(a), np.zeros_like(a)), axis=1)  # from the bob to the pivot
    expected = (3 * np.cos(a) - 2 * np.cos(start)) * g
    wrench = result["pivot.reaction"]
    force = np.einsum("sk,sk->s", wrench[:, :3], along)
    np.testing.assert_allclose(force, expected, atol=1e-4)
    np.testing.assert_allclose(wrench[:, :3], force[:, None] * along, atol=1e-9)
    np.testing.assert_allclose(wrench[:, 3:], 0.0, atol=1e-9)
    np.testing.assert_array_equal(sim.reaction("pivot"), wrench[-1])
    exact = start - 0.5 * g * np.sin(start) * 0.01**2
    assert abs(a[10] - exact) < 1e-6


def test_a_pendulum_drawn_the_other_way_round_has_the_opposite_reaction():
    """The same bar with the joint from bar to ground: the wrench on ground, and the opposite angle."""
    forces, angles = [], []
    for ends in (("ground", "bar"), ("bar", "ground")):
        model = rtmbs.Model("bar")
        model.add_body("bar", mass=2.0, center_of_mass=(0.3, 0, -0.4), inertia=(0.1, 0.2, 0.3))
        model.add_joint("pivot", rtmbs.Revolute(axis=(0, 1, 0)), *ends, point=(0.1, 0.2, 0.3))
        result = rtmbs.Simulation(model.compile(), h=2e-3).run(0.4)
        forces.append(result["pivot.reaction"])
        angles.append(result["pivot.angle"])
    np.testing.assert_allclose(forces[0], -forces[1], atol=1e-10)
    np.testing.assert_allclose(angles[0], -angles[1], atol=1e-13)
    assert np.ptp(angles[0]) > 0.2


@pytest.mark.parametrize(
    ("joint", "frame", "position", "expected"),
    [
        ("revolute", "origin", (-1.999680, 0, -0.0355587), (-0.510225, 0, -0.248259)),
        ("revolute", "tilted", (1.209960, 3.406400, 1.593600), (2.118950, 9.409770, -19.21640)),
        ("prismatic", "tilted", (3, -59.29160, -58.29160), (0, 4.903320, -4.903320)),
    ],
)
def test_against_adams(joint, frame, position, expected):
    """1 kg on one joint, 5 s; the reaction on ground."""
    sim = rtmbs.Simulation(library.build("single_joint", joint=joint, frame=frame).compile(), h=1e-3)
    result = sim.run(5.0)
    np.testing.assert_allclose(result["center.position"][-1], position, atol=2e-3)
    np.testing.assert_allclose(-sim.reaction("joint")[:3], expected, atol=2e-2)


def test_a_cut_joint_of_a_running_linkage_is_in_balance_with_its_neighbours():
    """Crank-rocker: the coupler hangs between pin and knee; forces of both, weight and inertia add up to zero.

    The multipliers of a state belong to its projected accelerations; what is left is what the projection did to them.
    """
    model = library.build("crank_rocker")
    coupler = model.bodies["coupler"]
    result = rtmbs.Simulation(model.compile(), h=1e-3).run(0.2)
    pin, knee = result["pin.reaction"], -result["knee.reaction"]
    center = result["coupler.mass_center"]
    lifted = np.gradient(np.gradient(center, result.t, axis=0), result.t, axis=0) + np.array((0, 0, g))
    up = coupler.mass * lifted
    size = np.abs(up).max()
    assert np.abs(pin[:, :3] + knee[:, :3] - up)[3:-3].max() < 2e-3 * size
    assert np.abs(result["pin.reaction"][:, 3]).max() < 1e-3 * size  # a hinge about x holds no moment about x

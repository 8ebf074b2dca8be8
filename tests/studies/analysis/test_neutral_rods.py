"""Equilibria of linkages whose coupler may turn about its own axis: a direction in which nothing holds it."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs


def across(axis, way):
    """Return the unit vector across ``axis`` nearest to ``way``."""
    way = np.array(way) - axis * (axis @ way)
    return way / np.linalg.norm(way)


def rssr(first_ball, turn):
    """A spatial crank-rocker of uneven masses, held by a spring; the whole world is turned by ``turn``."""
    axis, other = (np.array(n) / np.linalg.norm(n) for n in ((0.2, -0.3, 1.0), (1.0, 0.25, -0.1)))
    far = np.array([1.1, 0.35, 0.15])
    a, b = 0.31 * across(axis, [1.0, 0.4, 0.0]), far + 0.62 * across(other, [0.0, 0.3, 1.0])
    reach = np.linalg.norm(b - a)
    frame = Rotation.align_vectors([(b - a) / reach], [[1.0, 0.0, 0.0]])[0]
    model = rtmbs.Model("rssr", gravity=turn.apply([0.0, 0.0, -9.81]))
    at = {"orientation": turn.as_matrix()}
    model.add_body("crank", mass=1.9, center_of_mass=a / 2.0, inertia=(0.02, 0.021, 0.022), **at)
    model.add_body("rocker", mass=2.7, center_of_mass=(far + b) / 2.0, inertia=(0.08, 0.09, 0.07), **at)
    lie = (turn * frame).as_matrix()
    model.add_body(
        "coupler",
        mass=0.83,
        position=turn.apply(a),
        orientation=lie,
        center_of_mass=(0.41 * reach, 0.0, 0.0),
        inertia=(1e-3, 0.07, 0.07),
    )
    ball = rtmbs.Spherical() if first_ball == "ball" else rtmbs.Universal(axis_a=lie[:, 1], axis_b=lie[:, 2])
    model.add_joint("J1", rtmbs.Revolute(axis=turn.apply(axis)), model.ground, "crank", point=(0.0, 0.0, 0.0))
    model.add_joint("S1", ball, "crank", "coupler", point=turn.apply(a))
    model.add_joint("S2", rtmbs.Spherical(), "coupler", "rocker", point=turn.apply(b))
    model.add_joint("J2", rtmbs.Revolute(axis=turn.apply(other)), model.ground, "rocker", point=turn.apply(far))
    model.add_marker("A", "crank", turn.apply(a))
    model.add_marker("Q", model.ground, turn.apply([-0.4, 0.9, 0.9]))
    spring = rtmbs.SpringDamper(stiffness=173.0, damping=0.0, length=0.55)
    model.add_force("spring", spring, between=("A", "Q"))
    return model.compile()


@pytest.mark.parametrize("seed", [None, 0, 1, 2])
def test_a_coupler_between_two_balls_rests_where_one_that_cannot_turn_does(seed):
    turn = Rotation.identity() if seed is None else Rotation.random(random_state=seed)
    free, held = (rtmbs.equilibrium(rssr(ball, turn)) for ball in ("ball", "universal"))
    for name in ("J1.angle", "J2.angle"):
        assert free.simulation[name] == pytest.approx(held.simulation[name], abs=1e-10)
    assert free.simulation["J1.angle"] == pytest.approx(0.0500932, abs=1e-6)  # however the world is turned
    assert free.stable
    assert abs(free.stiffness[0]) < 1e-8 * free.stiffness[-1]  # its own turn
    assert free.stiffness[1] == pytest.approx(held.stiffness[0], rel=1e-5)  # that turn takes part by its inertia
    assert free.iterations < 30


@pytest.mark.parametrize("ball", ["ball", "universal"])
def test_relaxation_leaves_no_loop_open(ball):
    system = rssr(ball, Rotation.identity())
    straight, relaxed = rtmbs.equilibrium(system), rtmbs.equilibrium(system, relaxation=2.0)
    for name in ("J1.angle", "J2.angle"):
        assert relaxed.simulation[name] == pytest.approx(straight.simulation[name], abs=1e-10)

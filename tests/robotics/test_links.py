"""Recursions of a Robot about the links' own origins: all joints, light links far away, balls walked backwards."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs

INERTIA = (0.3, 0.4, 0.5, 0.02, -0.03, 0.01)
KINDS = (
    rtmbs.Floating(), rtmbs.Revolute((0.3, 1.0, 0.2)), rtmbs.Screw((0.1, 0.4, 1.0), 0.3),
    rtmbs.Cylindrical((1.0, 0.2, 0.1)), rtmbs.Planar((0.2, -0.3, 1.0)), rtmbs.Universal((1, 0, 0), (0, 1, 0)),
    rtmbs.Spherical(), rtmbs.Prismatic((0.6, 0.1, 0.8)),
)  # fmt: skip


@pytest.fixture(scope="module")
def chain():
    """A chain of all joints with skew frames; every second one is walked from its second body."""
    random, model = np.random.default_rng(5), rtmbs.Model("chain", gravity=(0.3, -0.2, -9.5))
    before = "ground"
    for k, kind in enumerate(KINDS):
        place, turn = random.normal(size=3), Rotation.random(rng=random).as_matrix()
        model.add_body(f"b{k}", mass=1.0, center_of_mass=0.2 * random.normal(size=3), inertia=INERTIA,
                       position=place, orientation=turn)  # fmt: skip
        ends = (f"b{k}", before) if k % 2 else (before, f"b{k}")
        model.add_joint(f"j{k}", kind, *ends, point=place + 0.3 * random.normal(size=3))
        before = f"b{k}"
    model.add_force("spring", rtmbs.TorsionSpring(3.0, 0.7, 0.1), joint="j1")
    return rtmbs.Robot(model)


def test_forces_and_mass_matrix_are_those_of_the_equations_of_motion(chain):
    """The equations of a simulation take moments about one origin and have other columns for balls."""
    random, T = np.random.default_rng(6), chain.coordinates.T
    for _ in range(3):
        q = chain.integrate(chain.neutral(), random.uniform(-1.0, 1.0, chain.nv))
        v, a = random.uniform(-1.0, 1.0, (2, chain.nv))
        chain._take(q, v, a)
        wanted = T.T @ chain._equations.ws.tau
        tau = chain.inverse_dynamics(q, v, a)
        np.testing.assert_allclose(tau, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
        M = chain.mass_matrix(q)
        left = tau - chain.bias_forces(q, v) - M @ a
        np.testing.assert_allclose(left, 0.0, rtol=0, atol=1e-12 * np.abs(tau).max())
        np.testing.assert_array_equal(M, M.T)


def test_difference_undoes_integrate_and_energies_belong_to_forces(chain):
    """The slope of the potential energy along rates is the power of the weight; T is v^T p / 2."""
    random, h = np.random.default_rng(7), 1e-6
    q, v = chain.integrate(chain.neutral(), random.uniform(-1, 1, chain.nv)), random.uniform(-1, 1, chain.nv)
    p = chain.integrate(q, v)
    np.testing.assert_allclose(chain.difference(q, p), v, rtol=0, atol=1e-12)
    ends = [chain.potential_energy(chain.integrate(q, side * h * v)) for side in (1.0, -1.0)]
    spring = chain.coordinates.places[[one.name for one in chain.coordinates.places].index("j1")]
    weight = chain.gravity_forces(q)
    weight[spring.v] -= 3.0 * (q[spring.q] - 0.1)
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(weight @ v, rel=1e-7)
    momenta = chain.inverse_dynamics(q, 0.0 * v, v) - chain.gravity_forces(q)
    assert chain.kinetic_energy(q, v) == pytest.approx(0.5 * v @ momenta, rel=1e-12)
    np.testing.assert_array_equal(chain.kinetic_energy([q, p], [v, v])[0], chain.kinetic_energy(q, v))


def test_a_light_link_far_away_keeps_its_digits():
    """M of the tip is I + m c^2, by 1e-9 of m r^2: moments about the world's origin would leave seven digits."""
    m, c, inertia, far = 1e-3, 1e-3, 1e-9, 10.0
    model = rtmbs.Model("crane")
    model.add_body("boom", mass=100.0, inertia=(1.0, 1.0, 1.0))
    model.add_body("tip", mass=m, center_of_mass=(0.0, 0.0, -c), inertia=(inertia,) * 3, position=(far, 0.0, 0.0))
    model.add_joint("slew", rtmbs.Revolute((0, 0, 1)), "ground", "boom")
    model.add_joint("swing", rtmbs.Revolute((0, 1, 0)), "boom", "tip", point=(far, 0.0, 0.0))
    robot = rtmbs.Robot(model)
    q = (0.7, 0.4)
    assert robot.mass_matrix(q)[1, 1] == pytest.approx(inertia + m * c**2, rel=1e-13)
    centripetal = 0.3**2 * (far - c * np.sin(0.4))
    tau = m * c * (centripetal * np.cos(0.4) + 9.81 * np.sin(0.4))
    assert robot.bias_forces(q, (0.3, 0.0))[1] == pytest.approx(tau, rel=1e-12)


def test_a_ball_that_the_tree_walks_backwards():
    """The same two links with the ends of the ball exchanged: its angular velocity changes its sign, nothing else."""

    def robot(ends):
        model, turned = rtmbs.Model("pair"), Rotation.from_rotvec((0.3, -0.2, 0.9)).as_matrix()
        model.add_body("base", mass=3.0, center_of_mass=(0.1, 0.0, 0.2), inertia=INERTIA)
        model.add_body("arm", mass=1.0, center_of_mass=(0.3, 0.1, 0.0), inertia=INERTIA, position=(1.0, 0.2, 0.1),
                       orientation=turned)  # fmt: skip
        model.add_joint("pin", rtmbs.Revolute((0.0, 1.0, 0.3)), "ground", "base")
        model.add_joint("ball", rtmbs.Spherical(), *ends, point=(1.0, 0.2, 0.1))
        return rtmbs.Robot(model)

    one, other = robot(("base", "arm")), robot(("arm", "base"))
    sign, random, h = np.array((1.0, -1.0, -1.0, -1.0)), np.random.default_rng(0), 1e-6
    q, (v, a) = one.integrate(one.neutral(), random.normal(size=4)), random.normal(size=(2, 4))
    x = np.concatenate((q[:2], -q[2:]))
    np.testing.assert_allclose(other.mass_matrix(x), sign[:, None] * one.mass_matrix(q) * sign, rtol=0, atol=1e-13)
    tau = other.inverse_dynamics(x, sign * v, sign * a)
    np.testing.assert_allclose(tau, sign * one.inverse_dynamics(q, v, a), rtol=0, atol=1e-12)
    np.testing.assert_allclose(other.jacobian(x, "arm"), one.jacobian(q, "arm") * sign, rtol=0, atol=1e-13)
    ends = [other.forward_kinematics(other.integrate(x, side * h * v), "arm").rotation for side in (1.0, -1.0)]
    turn = (ends[0] - ends[1]) @ one.forward_kinematics(q, "arm").rotation.T / (2 * h)
    omega = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
    np.testing.assert_allclose((other.jacobian(x, "arm") @ v)[3:], omega, rtol=0, atol=1e-8)


def test_a_rotor_without_mass_turns_about_z():
    """Its inertia about the other axes is zero, as that of a drive shaft in a car."""
    model = rtmbs.Model("shaft")
    made = model.add_body("shaft", mass=0.0)
    model.bodies["shaft"] = replace(made, inertia=np.diag([0.0, 0.0, 2.0]))
    model.add_joint("axle", rtmbs.Revolute((0.0, 0.0, 1.0)), "ground", "shaft", point=(0, 0, 0))
    robot = rtmbs.Robot(model)
    q, v, a = robot.neutral(), np.array([0.3]), np.array([1.5])
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), [3.0], rtol=1e-14)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, np.array([3.0]))[0], [1.5], rtol=1e-14)
    np.testing.assert_allclose(robot.mass_matrix(q), [[2.0]], rtol=1e-14)

"""``Robot`` against plain sums over links, differences and MuJoCo; inverse kinematics of open and closed chains."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.errors import InputError, UnknownNameError
from tests.formats.plain_urdf import PlainURDF

FILES = Path(__file__).parents[1] / "formats" / "files"


@pytest.fixture(scope="module")
def arm():
    model = rtmbs.read(FILES / "arm.urdf", meshes=False)
    model.couplers.pop("grip_mimic")
    model.forces.clear()
    return rtmbs.Robot(model)


@pytest.fixture(scope="module")
def four_bar():
    model = rtmbs.read(FILES / "four_bar.urdf")
    model.set_initial("crank_pin", 1.0)
    return rtmbs.Robot(model)


def poses(robot, count, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield tuple(random.uniform(-1.0, 1.0, (3, robot.nv)))


def test_kinematics_and_dynamics_of_a_tree(arm):
    """Placements, Jacobians, M and weight are those of plain sums; the rotor adds 0.05 kg m^2 to the shoulder."""
    plain = PlainURDF(FILES / "arm.urdf")
    assert arm.joint_names == plain.moving
    assert arm.nq == arm.nv == 4
    for q, v, a in poses(arm, 3):
        at = dict(zip(plain.moving, q, strict=True))
        for link in ("upper", "tool", "finger"):
            T, J = plain.pose(link, at)
            found = arm.forward_kinematics(q, link)
            np.testing.assert_allclose(found.position, T[:3, 3], rtol=0, atol=1e-14)
            np.testing.assert_allclose(found.rotation, T[:3, :3], rtol=0, atol=1e-14)
            np.testing.assert_allclose(arm.jacobian(q, link), J, rtol=0, atol=1e-14)
            local = arm.jacobian(q, link, "local")
            np.testing.assert_allclose(local[3:], T[:3, :3].T @ J[3:], rtol=0, atol=1e-14)
        M, weight = plain.mass_and_gravity(at)
        M[0, 0] += 50.0**2 * 2e-5
        np.testing.assert_allclose(arm.mass_matrix(q), M, rtol=0, atol=1e-13)
        np.testing.assert_allclose(arm.gravity_forces(q), weight, rtol=0, atol=1e-13)
        tau = arm.inverse_dynamics(q, v, a)
        np.testing.assert_allclose(tau, M @ a + arm.bias_forces(q, v), rtol=0, atol=1e-12)
        np.testing.assert_allclose(arm.forward_dynamics(q, v, tau).accelerations, a, rtol=0, atol=1e-10)


def test_names_of_pinocchio(arm):
    q, v, a = next(poses(arm, 1))
    np.testing.assert_array_equal(arm.rnea(q, v, a), arm.inverse_dynamics(q, v, a))
    np.testing.assert_array_equal(arm.crba(q), arm.mass_matrix(q))
    np.testing.assert_array_equal(arm.nonlinear_effects(q, v), arm.bias_forces(q, v))


def floating_robot():
    """Return a robot with a floating base, a ball and a hinge, none of them along an axis."""
    model = rtmbs.Model("free", gravity=(0.3, -0.2, -9.5))
    inertia = (0.3, 0.4, 0.5, 0.02, -0.03, 0.01)
    model.add_body("base", mass=3.0, center_of_mass=(0.1, 0.0, 0.2), inertia=inertia, position=(1.0, 0.0, 0.0))
    model.add_body("arm", mass=1.0, center_of_mass=(0.3, 0.1, 0.0), inertia=inertia, position=(1.0, 0.2, 0.1),
                   orientation=Rotation.from_rotvec((0.3, -0.2, 0.9)).as_matrix())  # fmt: skip
    model.add_body("tip", mass=0.5, center_of_mass=(0.0, 0.1, 0.2), inertia=inertia, position=(1.5, 0.2, 0.1))
    model.add_joint("free", rtmbs.Floating(), "ground", "base")
    model.add_joint("ball", rtmbs.Spherical(), "base", "arm", point=(1.0, 0.2, 0.1))
    model.add_joint("hinge", rtmbs.Revolute((0.2, 0.5, 1.0)), "arm", "tip", point=(1.5, 0.2, 0.1))
    model.add_marker("eye", "tip", (0.1, 0.2, 0.3), frame="tip", axes=Rotation.from_rotvec((0.1, 0.2, 0.3)).as_matrix())
    return rtmbs.Robot(model)


def test_jacobians_are_the_derivative_of_placements():
    """Along rates of a floating base, a ball and a hinge, by central differences of ``integrate``."""
    robot, random, h = floating_robot(), np.random.default_rng(2), 1e-6
    assert (robot.nq, robot.nv) == (12, 10)
    q = robot.integrate(robot.neutral(), random.uniform(-1.0, 1.0, 10))
    for frame in ("base", "arm", "eye"):
        J, here = robot.jacobian(q, frame), robot.forward_kinematics(q, frame)
        for k in range(10):
            ends = [robot.forward_kinematics(robot.integrate(q, side * h * np.eye(10)[k]), frame) for side in (1, -1)]
            speed = (ends[0].position - ends[1].position) / (2 * h)
            turn = (ends[0].rotation - ends[1].rotation) @ here.rotation.T / (2 * h)
            omega = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
            np.testing.assert_allclose(J[:, k], [*speed, *omega], rtol=0, atol=1e-8)


def test_power_of_a_free_motion():
    """v . (M a) is the change of kinetic energy that weight makes: a from forward dynamics, energies by differences."""
    robot, random = floating_robot(), np.random.default_rng(3)
    q, v = robot.integrate(robot.neutral(), random.uniform(-1, 1, 10)), random.uniform(-1, 1, 10)

    def energy(q, v):
        height = 0.0
        for name in ("base", "arm", "tip"):
            body, place = robot.model.bodies[name], robot.forward_kinematics(q, name)
            height -= body.mass * robot.model.gravity @ (place.position + place.rotation @ body.center_of_mass)
        return 0.5 * v @ robot.mass_matrix(q) @ v + height

    a, h = robot.forward_dynamics(q, v).accelerations, 1e-5
    ends = [energy(robot.integrate(q, s * h * v + 0.5 * h * h * a), v + s * h * a) for s in (1.0, -1.0)]
    assert abs(ends[0] - ends[1]) / (2 * h) < 1e-7 * abs(energy(q, v))


def test_a_closed_loop_accelerates_as_lagrange_says(four_bar):
    """One degree of freedom: (t^T M t) qdd = t^T (tau - bias - M tdot), with the tangent t by differences."""
    q, v = four_bar.assembled()

    def tangent(q):
        t = np.linalg.svd(four_bar.closure_jacobian(q))[2][-1]
        return t / t[0]

    def closed(crank):
        x = np.array(q)
        x[0] = crank
        for _ in range(20):
            J = four_bar.closure_jacobian(x)
            x[1:] -= np.linalg.lstsq(J[:, 1:], four_bar.closure_gap(x), rcond=None)[0]
        return x

    h, rate = 1e-5, 1.7
    here, t = closed(q[0]), tangent(closed(q[0]))
    slope = (tangent(closed(q[0] + h)) - tangent(closed(q[0] - h))) / (2 * h)
    v, tau = rate * t, np.array([0.3, -0.2, 0.5])
    M, bias = four_bar.mass_matrix(here), four_bar.bias_forces(here, v)
    qdd = t @ (tau - bias - M @ slope * rate**2) / (t @ M @ t)
    found = four_bar.forward_dynamics(here, v, tau)
    np.testing.assert_allclose(found.accelerations, t * qdd + slope * rate**2, rtol=0, atol=1e-7)
    assert found.residual < 1e-9
    left = M @ found.accelerations + bias - tau + four_bar.closure_jacobian(here).T @ found.multipliers
    assert np.abs(left).max() < 1e-9


def test_inverse_kinematics_of_a_tree(arm):
    limits = {"wrist": (0.0, 0.2)}
    goal = arm.forward_kinematics([0.4, -0.9, 0.15, 0.3], "tool")
    found = arm.inverse_kinematics({"tool": goal.position}, start=[0.0, -0.5, 0.05, 0.0], limits=limits)
    assert found.reached
    assert not found.reason
    assert np.abs(arm.forward_kinematics(found.q, "tool").position - goal.position).max() < 1e-10
    assert 0.0 <= found.q[2] <= 0.2
    far = arm.inverse_kinematics({"tool": (5.0, 0.0, 0.5)}, start=[0.1, 0.2, 0.1, 0.0], limits=limits)
    assert not far.reached
    assert "may be out of reach" in far.reason
    assert far.at_limits == ("wrist", "grip")  # the second by the limits of the file


def test_inverse_kinematics_of_a_closed_chain(four_bar):
    """The middle of the coupler goes to where another crank angle puts it; the loop stays closed."""
    q, _ = four_bar.assembled()
    there = four_bar.inverse_kinematics({"crank": ((0.0, 0.0, 0.0), Rotation.from_rotvec((0, -1.5, 0)).as_matrix())}, q)
    assert there.reached
    assert there.gap < 1e-10
    assert there.q[0] == pytest.approx(1.5, abs=1e-9)
    goal = four_bar.forward_kinematics(there.q, "coupler").position
    back = four_bar.inverse_kinematics({"coupler": goal}, q)
    assert back.reached
    np.testing.assert_allclose(back.q, there.q, rtol=0, atol=1e-8)


def test_inverse_kinematics_of_a_floating_base():
    robot, random = floating_robot(), np.random.default_rng(5)
    goal = robot.integrate(robot.neutral(), random.uniform(-0.8, 0.8, 10))
    place = {name: robot.forward_kinematics(goal, name) for name in ("base", "eye")}
    targets = {name: (one.position, one.rotation) for name, one in place.items()}
    found = robot.inverse_kinematics(targets, robot.neutral())
    assert found.reached, found.reason
    assert max(found.errors.values()) < 1e-10


def test_what_a_robot_refuses(arm):
    with pytest.raises(InputError, match="takes a Model"):
        rtmbs.Robot("robot.urdf")
    with pytest.raises(InputError, match=r"q has shape \(3,\)"):
        arm.mass_matrix(np.zeros(3))
    with pytest.raises(InputError, match="it must be 4 real numbers"):
        arm.mass_matrix("pose")
    with pytest.raises(UnknownNameError, match="no frame named 'tol'"):
        arm.forward_kinematics(np.zeros(4), "tol")
    with pytest.raises(InputError, match="axes is 'body'"):
        arm.jacobian(np.zeros(4), "tool", "body")
    with pytest.raises(InputError, match="targets is empty"):
        arm.inverse_kinematics({})
    with pytest.raises(InputError, match="no joint named 'elbo'"):
        arm.inverse_kinematics({"tool": (0, 0, 0)}, limits={"elbo": (0, 1)})


def test_accelerations_of_cassie_are_those_of_mujoco_with_hard_loops():
    """M, J and bias of MuJoCo at an assembled pose, solved here with J of full row rank."""
    mujoco = pytest.importorskip("mujoco")
    path = FILES / "cassie.xml"
    model = rtmbs.read(path, meshes=False)
    model.forces.clear()
    robot = rtmbs.Robot(model)
    assert robot.nv == 32
    reference = mujoco.MjModel.from_xml_path(str(path))
    assert robot.nq == reference.nq
    q, _ = robot.assembled()
    assert np.abs(robot.closure_gap(q)).max() < 1e-10
    M = robot.mass_matrix(q)
    assert np.linalg.eigvalsh(M)[0] > 0.0
    N = np.linalg.svd(robot.closure_jacobian(q))[2][10:].T
    assert np.abs(robot.closure_jacobian(q) @ N).max() < 1e-10
    found = robot.forward_dynamics(q, np.zeros(32))
    wanted = N @ np.linalg.solve(N.T @ M @ N, -N.T @ robot.gravity_forces(q))
    np.testing.assert_allclose(found.accelerations, wanted, rtol=0, atol=1e-8)


def test_out_of_reach_of_a_closed_chain_the_loops_stay_closed(four_bar):
    """The nearest pose found is closed, and its error is the least of all crank angles near it."""
    q, _ = four_bar.assembled()
    far = four_bar.inverse_kinematics({"coupler": (5.0, 0.0, 3.0)}, q)
    assert not far.reached
    assert far.gap < 1e-10
    assert np.abs(four_bar.closure_gap(far.q)).max() < 1e-10
    assert "may be out of reach" in far.reason
    t = np.linalg.svd(four_bar.closure_jacobian(far.q))[2][-1]
    miss = four_bar.forward_kinematics(far.q, "coupler").position - (5.0, 0.0, 3.0)
    assert abs(miss @ four_bar.jacobian(far.q, "coupler")[:3] @ t) < 1e-6 * np.linalg.norm(miss)


def test_reasons_and_limits_of_inverse_kinematics(arm):
    goal, start = arm.forward_kinematics([0.4, -0.9, 0.15, 0.3], "tool").position, [0.0, -0.5, 0.05, 0.0]
    short = arm.inverse_kinematics({"tool": goal}, start, iterations=1)
    assert "give more iterations" in short.reason
    assert "reach" not in short.reason
    held = arm.model.import_report.limits
    far = arm.inverse_kinematics({"tool": (9.0, 0.0, 9.0)}, start, limits={arm.joint_names[0]: (-0.1, 0.1)})
    assert abs(far.q[0]) <= 0.1
    for name, x in zip(arm.joint_names[1:], far.q[1:], strict=True):
        assert name not in held or held[name].lower <= x <= held[name].upper
    for given in ({"weights": {"tool": -1.0}}, {"weights": {"tool": 0}}, {"tolerance": -1.0}, {"iterations": 0}):
        with pytest.raises(InputError, match="must be a positive"):
            arm.inverse_kinematics({"tool": goal}, start, **given)
    with pytest.raises(InputError, match="of one coordinate"):
        arm.inverse_kinematics({"tool": goal}, start, limits={arm.joint_names[0]: 1.0})

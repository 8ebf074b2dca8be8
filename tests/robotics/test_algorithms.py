"""Batches, derivatives of Jacobians, centroidal momentum, operational inertia, scans and marker fits of ``Robot``.

References are plain sums over bodies, central differences along motions, forces pushed on frames, and closed forms.
"""

from pathlib import Path

import numpy as np
import pytest

import rtmbs
from bench.robots.loops import closed, null_space
from rtmbs.errors import InputError, LanguageError
from tests.robotics.test_robot import floating_robot

FILES = Path(__file__).parents[1] / "formats" / "files"


@pytest.fixture(scope="module")
def free():
    return floating_robot()


@pytest.fixture(scope="module")
def state(free):
    random = np.random.default_rng(5)
    q = free.integrate(free.neutral(), random.uniform(-1.0, 1.0, free.nv))
    return q, *random.uniform(-1.0, 1.0, (2, free.nv))


@pytest.fixture(scope="module")
def planar():
    """Return an arm of two links, 0.4 and 0.3 m, in a plane."""
    model = rtmbs.Model("planar")
    for name, length in (("upper", 0.4), ("lower", 0.3)):
        model.add_body(name, mass=1.0, inertia=(0.01,) * 3, center_of_mass=(0.5 * length, 0, 0),
                       position=(0.0 if name == "upper" else 0.4, 0, 0))  # fmt: skip
    model.add_joint("shoulder", rtmbs.Revolute((0, 0, 1)), "ground", "upper")
    model.add_joint("elbow", rtmbs.Revolute((0, 0, 1)), "upper", "lower", point=(0.4, 0, 0))
    model.add_marker("tip", "lower", (0.3, 0.0, 0.0), frame="lower")
    return rtmbs.Robot(model)


def test_batches_are_single_states(free):
    random = np.random.default_rng(1)
    V, A = random.uniform(-1, 1, (2, 5, free.nv))
    Q = np.array([free.integrate(free.neutral(), one) for one in random.uniform(-1, 1, (5, free.nv))])
    for k, (q, v, a) in enumerate(zip(Q, V, A, strict=True)):
        np.testing.assert_array_equal(free.inverse_dynamics(Q, V, A)[k], free.inverse_dynamics(q, v, a))
        np.testing.assert_array_equal(free.mass_matrix(Q)[k], free.mass_matrix(q))
        np.testing.assert_array_equal(free.jacobian(Q, "eye", "local")[k], free.jacobian(q, "eye", "local"))
        np.testing.assert_array_equal(free.forward_kinematics(Q, "eye").position[k],
                                      free.forward_kinematics(q, "eye").position)  # fmt: skip
        found = free.forward_dynamics(Q, V, A).accelerations[k]
        np.testing.assert_allclose(found, free.forward_dynamics(q, v, a).accelerations, rtol=1e-11)
    with pytest.raises(InputError, match="5 states"):
        free.inverse_dynamics(Q, V[:3], A)
    with pytest.raises(InputError, match=r"it must be \(12,\), or \(k, 12\)"):
        free.mass_matrix(V)
    with pytest.raises(InputError, match="zero quaternion"):
        free.mass_matrix(0.0 * Q)


@pytest.mark.parametrize("axes", ["world", "local"])
def test_time_variation_of_jacobians(free, state, axes):
    """Central differences of J along the motion; acceleration of the frame from its velocity."""
    q, v, a = state
    h = 1e-5
    ends = [free.jacobian(free.integrate(q, side * h * v), "eye", axes) for side in (1.0, -1.0)]
    found = free.jacobian_time_variation(q, v, "eye", axes)
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * h), rtol=0, atol=1e-8)
    J = free.jacobian(q, "eye", "world")
    moved = free.frame_acceleration(q, v, a, "eye")
    wanted = J @ a + free.jacobian_time_variation(q, v, "eye") @ v
    np.testing.assert_allclose(np.concatenate(moved), wanted, rtol=0, atol=1e-12)


def momentum(robot, q, v):
    """Return linear momentum and angular momentum about the mass centre by plain sums."""
    mass, first, parts = 0.0, np.zeros(3), []
    for name in ("base", "arm", "tip"):
        body, place = robot.model.bodies[name], robot.forward_kinematics(q, name)
        speed, R = robot.frame_velocity(q, v, name), place.rotation
        x = place.position + R @ body.center_of_mass
        xd = speed.linear + np.cross(speed.angular, R @ body.center_of_mass)
        parts.append((body.mass, x, xd, R @ body.inertia @ R.T @ speed.angular))
        mass, first = mass + body.mass, first + body.mass * x
    center = first / mass
    linear = sum(m * xd for m, _, xd, _ in parts)
    angular = sum(own + m * np.cross(x - center, xd) for m, x, xd, own in parts)
    return center, np.concatenate((linear, angular)), mass


def test_centroidal_momentum(free, state):
    q, v, a = state
    center, wanted, mass = momentum(free, q, v)
    np.testing.assert_allclose(free.center_of_mass(q), center, rtol=0, atol=1e-14)
    np.testing.assert_allclose(free.centroidal_momentum_matrix(q) @ v, wanted, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.concatenate(free.centroidal_momentum(q, v)), wanted, rtol=0, atol=1e-13)
    np.testing.assert_allclose(free.jacobian_center_of_mass(q) @ v, wanted[:3] / mass, rtol=0, atol=1e-13)
    assert free.mass == pytest.approx(mass, rel=1e-14)
    h = 1e-5
    ends = [free.ccrba(free.integrate(q, side * h * v)) for side in (1.0, -1.0)]
    np.testing.assert_allclose(free.dccrba(q, v), (ends[0] - ends[1]) / (2 * h), rtol=0, atol=1e-8)
    slope = free.centroidal_momentum_time_variation(q, v, a)
    force = free.inverse_dynamics(q, v, a)[:3] + mass * free.model.gravity  # the outer force on the floating base
    np.testing.assert_allclose(slope.linear, force, rtol=0, atol=1e-12)


def test_operational_space_inertia_answers_a_push(free, state, planar):
    """A force J^T f changes the acceleration of the frame by Lambda^-1 f; also in a closed loop."""
    q, v, _ = state
    f = np.array([1.0, -2.0, 0.5])
    J = free.jacobian(q, "eye")[:3]
    change = free.forward_dynamics(q, v, J.T @ f).accelerations - free.forward_dynamics(q, v).accelerations
    inertia = free.operational_space_inertia(q, "eye", rows=(0, 1, 2))
    np.testing.assert_allclose(inertia @ (J @ change), f, rtol=0, atol=1e-12)
    model = rtmbs.read(FILES / "four_bar.urdf")
    model.set_initial("crank_pin", 1.0)
    loop = rtmbs.Robot(model)
    q, v = loop.assembled()
    J = loop.jacobian(q, "rocker")[4]
    change = loop.forward_dynamics(q, v, 3.0 * J).accelerations - loop.forward_dynamics(q, v).accelerations
    assert loop.operational_space_inertia(q, "rocker", rows=[4])[0, 0] * (J @ change) == pytest.approx(3.0, rel=1e-9)
    with pytest.raises(InputError, match="cannot move in all of the 6 directions"):
        planar.operational_space_inertia([0.1, 0.5], "tip")
    with pytest.raises(InputError, match="rows is"):
        planar.manipulability([0.1, 0.5], "tip", rows=[7])


def test_scans_of_a_planar_arm(planar):
    """Manipulability l1 l2 |sin q2|, singular when stretched; the tip stays between the circles of the workspace."""
    q = np.random.default_rng(3).uniform(-2, 2, (20, 2))
    found = planar.manipulability(q, "tip", rows=(0, 1))
    np.testing.assert_allclose(found, 0.4 * 0.3 * np.abs(np.sin(q[:, 1])), rtol=0, atol=1e-14)
    scan = planar.scan("tip", [[0.3, 0.0], [0.3, 0.5]], rows=(0, 1))
    assert scan.singular.tolist() == [True, False]
    reach = np.linalg.norm(planar.workspace("tip", 500, limits={"elbow": (-1.0, 1.0)}).position, axis=1)
    nearest = np.sqrt(0.4**2 + 0.3**2 + 2 * 0.4 * 0.3 * np.cos(1.0))
    assert nearest - 1e-12 <= reach.min() < nearest + 0.01
    assert 0.69 < reach.max() <= 0.7 + 1e-12


def test_workspace_and_dead_centres_of_a_loop():
    """The rocker's end of a four-bar swings on its circle; a parallelogram in one line has a second freedom."""
    model = rtmbs.read(FILES / "four_bar.urdf")
    robot = rtmbs.Robot(model)
    scan = robot.workspace("rocker", 20, rows=[4])
    assert scan.closed.sum() >= 15
    assert set(scan.freedom[scan.closed].tolist()) == {1}
    flat = rtmbs.Model("parallelogram")
    for name, x, length in (("a", 0.0, 0.5), ("b", 0.5, 1.0), ("c", 1.0, 0.5)):
        flat.add_body(name, mass=1.0, inertia=(0.1,) * 3, position=(x, 0, 0), center_of_mass=(0.5 * length, 0, 0))
    flat.add_joint("p", rtmbs.Revolute((0, 0, 1)), "ground", "a", point=(0, 0, 0))
    flat.add_joint("q", rtmbs.Revolute((0, 0, 1)), "a", "b", point=(0.5, 0, 0))
    flat.add_joint("r", rtmbs.Revolute((0, 0, 1)), "ground", "c", point=(1.0, 0, 0))
    flat.add_joint("s", rtmbs.Revolute((0, 0, 1)), "b", "c", point=(1.5, 0, 0), cut=True)
    robot = rtmbs.Robot(flat)
    scan = robot.scan("c", [[0.0, 0.0, 0.0], [0.6, -0.6, 0.6]], rows=[5])
    assert scan.closed.tolist() == [True, True]
    assert scan.freedom.tolist() == [2, 1]
    assert scan.singular.tolist() == [True, False]


def marked_arm():
    model = rtmbs.read(FILES / "arm.urdf", meshes=False)
    model.couplers.pop("grip_mimic")
    model.forces.clear()
    for body in ("upper", "fore", "tool"):
        for k, point in enumerate(((0.1, 0.0, 0.05), (0.0, 0.1, 0.1), (0.2, -0.05, 0.0))):
            model.add_marker(f"{body}_{k}", body, point, frame=body)
    return rtmbs.Robot(model)


def test_markers_of_motion_capture(tmp_path):
    """Exact points give the motion back, also with a marker out of sight; noise leaves residuals of its size."""
    robot = marked_arm()
    t = np.linspace(0.0, 1.0, 11)
    q = np.zeros((11, robot.nq))
    q[:, 0], q[:, 1] = 0.5 * np.sin(3 * t), 0.3 + 0.4 * t
    names = list(robot.model.markers)
    points = {name: robot.forward_kinematics(q, name).position.copy() for name in names}
    points["fore_1"][3:5] = np.nan
    fit = robot.fit_markers(rtmbs.MarkerTrajectories(t, points), robot.neutral())
    assert np.all(fit.settled)
    np.testing.assert_allclose(fit.q[:, :2], q[:, :2], rtol=0, atol=1e-8)
    assert fit.rms < 1e-8
    assert np.isnan(fit.residuals["fore_1"][3])
    random = np.random.default_rng(2)
    noisy = {name: one + random.normal(0.0, 1e-3, one.shape) for name, one in points.items()}
    fit = robot.fit_markers(rtmbs.MarkerTrajectories(t, noisy), robot.neutral())
    assert np.all(fit.settled)
    assert 1e-3 < fit.rms < 1.8e-3
    assert np.abs(fit.q[:, :2] - q[:, :2]).max() < 0.02
    with pytest.raises(InputError, match="has points of shape"):
        robot.fit_markers(rtmbs.MarkerTrajectories(t, {"fore_1": np.zeros((3, 3))}))
    ezc3d = pytest.importorskip("ezc3d")
    file = ezc3d.c3d()
    file["parameters"]["POINT"]["RATE"]["value"] = [10.0]
    file["parameters"]["POINT"]["LABELS"]["value"] = tuple(names)
    file["parameters"]["POINT"]["UNITS"]["value"] = ("mm",)
    data = np.ones((4, len(names), 11))
    data[:3] = 1e3 * np.stack([points[name].T for name in names], axis=1)
    file["data"]["points"] = data
    file.write(str(tmp_path / "arm.c3d"))
    read = rtmbs.read_c3d(tmp_path / "arm.c3d")
    np.testing.assert_allclose(read.t, t, rtol=0, atol=1e-7)
    for name in names:
        np.testing.assert_allclose(read.points[name], points[name], rtol=0, atol=1e-6)  # C3D has single precision


def test_files_of_motion_capture_refuse(tmp_path):
    pytest.importorskip("ezc3d")
    with pytest.raises(LanguageError, match="is not there"):
        rtmbs.read_c3d(tmp_path / "nothing.c3d")
    (tmp_path / "bad.c3d").write_bytes(b"no such thing" * 100)
    with pytest.raises(LanguageError, match="cannot be read as C3D"):
        rtmbs.read_c3d(tmp_path / "bad.c3d")


def test_poses_of_a_loop_are_closed_within_the_limits():
    """Also where no random pose can be closed at once: a four-bar between narrow limits of all three hinges."""
    model = rtmbs.read(FILES / "four_bar.urdf")
    model.set_initial("crank_pin", 1.0)
    robot = rtmbs.Robot(model)
    q, _ = robot.assembled()
    limits = {name: (x - 0.2, x + 0.1) for name, x in zip(robot.joint_names, q, strict=True)}
    scan = robot.workspace("rocker", 40, limits=limits, rows=[4])
    assert np.all(scan.closed)
    assert np.all((q - 0.2 <= scan.q) & (scan.q <= q + 0.1))
    assert np.ptp(scan.q, axis=0).max() > 0.1
    assert np.abs([robot.closure_gap(one) for one in scan.q]).max() < 1e-10
    for samples in (0, -3):
        with pytest.raises(InputError, match="must be a positive whole number"):
            robot.workspace("rocker", samples)


def test_a_planar_arm_is_singular_only_where_it_is_stretched(planar):
    """Without rows: the tip moves in two of six directions at most poses."""
    scan = planar.scan("tip", [[0.3, 0.0], [0.3, 0.5]])
    assert scan.directions == 2
    assert not np.any(planar.workspace("tip", 20).singular)
    assert planar.scan("tip", [[0.3, 0.5]], rows=(0, 1, 2)).singular.tolist() == [True]  # it cannot leave its plane


@pytest.mark.parametrize("name", ["four_bar.urdf", "delta.urdf"])
def test_forward_dynamics_of_loops_in_a_batch(name):
    """M a + J^T lam = tau - h and J a = -dJ/dt v, the latter by differences; the same bits as state by state."""
    folder = FILES if name == "four_bar.urdf" else Path(__file__).parents[2] / "apps" / "gallery" / "files"
    robot, random = rtmbs.Robot(rtmbs.read(folder / name, meshes=False)), np.random.default_rng(3)
    first, _ = robot.assembled()
    found = []
    for _ in range(4):
        N = null_space(robot.closure_jacobian(first))
        q = first = closed(robot, robot.integrate(first, N @ random.uniform(-0.1, 0.1, N.shape[1])))
        N = null_space(robot.closure_jacobian(q))
        found.append((q, N @ random.uniform(-1, 1, N.shape[1]), random.uniform(-1, 1, robot.nv)))
    Q, V, T = (np.array(part) for part in zip(*found, strict=True))
    motion, J, h = robot.forward_dynamics(Q, V, T), robot.closure_jacobian(Q), 1e-5
    for k, (q, v, tau) in enumerate(found):
        a, lam = motion.accelerations[k], motion.multipliers[k]
        np.testing.assert_array_equal(robot.forward_dynamics(q, v, tau).accelerations, a)
        np.testing.assert_array_equal(robot.closure_jacobian(q), J[k])
        left = tau - robot.inverse_dynamics(q, v, a) - J[k].T @ lam
        assert np.abs(left).max() < 1e-11 * max(1.0, np.abs(tau).max())
        ahead, behind = (robot.closure_jacobian(robot.integrate(q, s * h * v)) @ v for s in (1, -1))
        np.testing.assert_allclose(J[k] @ a, -(ahead - behind) / (2 * h), rtol=0, atol=1e-8)
    assert np.abs(robot.closure_gap(Q)).max() < 1e-12


def test_forward_dynamics_under_a_single_equation():
    """A gear is the only row: M a + J^T lam = tau - h and J a = 0 by one dense system."""
    random = np.random.default_rng(2)
    model = rtmbs.Model("geared")
    for k in range(3):
        model.add_body(f"b{k}", mass=1.0 + k, inertia=(0.02, 0.03, 0.04), center_of_mass=(0.1, 0.2, -0.1))
        model.add_joint(
            f"j{k}", rtmbs.Revolute((k, 1, 1)), f"b{k - 1}" if k else "ground", f"b{k}", point=(0.3 * k, 0, 0)
        )
    model.add_coupler("gear", {"j0": 1.0, "j2": -0.6}, 0.2)
    robot = rtmbs.Robot(model)
    q, v, tau = np.array([0.5, -0.4, 0.5]), np.array([0.6, 0.3, 1.0]), random.uniform(-1, 1, 3)
    J = np.array([[1.0, 0.0, -0.6]])
    K = np.block([[robot.mass_matrix(q), J.T], [J, np.zeros((1, 1))]])
    wanted = np.linalg.solve(K, [*(tau - robot.inverse_dynamics(q, v, np.zeros(3))), 0.0])
    found = robot.forward_dynamics(q, v, tau)
    np.testing.assert_allclose([*found.accelerations, *found.multipliers], wanted, rtol=0, atol=1e-12)
    assert found.residual < 1e-13
    np.testing.assert_array_equal(robot.closure_jacobian(q), J)


def test_a_loop_with_opposite_axes_is_no_closed_one():
    """A hinge that closes a loop on a ball joint: products of axes vanish for a body on its head too."""
    model = rtmbs.Model("spinner")
    model.add_body("top", mass=1.0, inertia=(0.1, 0.1, 0.2), center_of_mass=(0, 0, 0.1))
    model.add_joint("ball", rtmbs.Spherical(), "ground", "top")
    model.add_joint("hinge", rtmbs.Revolute((0, 0, 1)), "ground", "top", cut=True)
    model.add_marker("rim", "top", (0.2, 0.0, 0.0), frame="top")
    robot, head = rtmbs.Robot(model), np.array([0.0, 1.0, 0.0, 0.0])
    assert np.abs(robot.closure_gap(head)).max() < 1e-15
    assert not robot.scan("rim", head[None]).closed[0]
    found = robot.inverse_kinematics({"rim": (0.0, 0.2, 0.0)}, start=head)
    assert found.reached, found.reason
    assert robot.forward_kinematics(found.q, "top").rotation[2, 2] > 0.99

"""A body whose position and orientation are prescribed: motion, wrench and drive forces against closed forms."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.errors import InputError, ModelError, UnknownNameError
from rtmbs.library import drive_pose
from rtmbs.library.benchmarks import angles_of

BASIS = Rotation.from_rotvec((0.7, -0.4, 1.1)).as_matrix()  # skew to the world
STANCE = Rotation.from_rotvec((0.2, 0.5, -0.3)).as_matrix()  # of the body at the reference pose
MASS, INERTIA, CENTER = 3.0, np.diag((0.2, 0.3, 0.45)), np.array((0.1, -0.2, 0.05))
GRAVITY, PLACE = np.array((0.4, -9.0, 2.0)), np.array((0.3, 0.2, 1.0))
SPIN, CONE, TILT = 5.0, 2.0, 0.6  # [rad/s], [rad/s], [rad]
SLIDES = (rtmbs.Sine(0.2, 3.0), rtmbs.Sine(0.1, 4.0, phase=0.3), rtmbs.ConstantRate(0.5))


def body():
    model = rtmbs.Model("platform", gravity=GRAVITY)
    model.add_body("plate", mass=MASS, inertia=INERTIA, center_of_mass=CENTER, position=PLACE, orientation=STANCE)
    return model


def coning(t):
    """Return the quaternion of Rz(CONE t) Ry(TILT) Rx(SPIN t) and its derivatives."""

    def about(k, angle):
        q = np.zeros(4)
        q[0], q[1 + k] = math.cos(angle / 2), math.sin(angle / 2)
        return q

    def product(a, b):
        return np.concatenate(([a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])))

    z, y, x = np.eye(4)[3], about(1, TILT), np.eye(4)[1]
    q = product(product(about(2, CONE * t), y), about(0, SPIN * t))

    def slope(p):  # of what turns so: from the left by CONE, from the right by SPIN
        return 0.5 * CONE * product(z, p) + 0.5 * SPIN * product(p, x)

    return q, slope(q), slope(slope(q))


def exact(t):
    """Return orientation, angular velocity and acceleration, wrench at the origin, and forces of the six drives."""
    Rz, Ry, Rx = (Rotation.from_euler(axis, angle).as_matrix() for axis, angle in
                  (("z", CONE * t), ("y", TILT), ("x", SPIN * t)))  # fmt: skip
    R = BASIS @ Rz @ Ry @ Rx @ BASIS.T @ STANCE
    yaw, pitch, roll = BASIS[:, 2], BASIS @ Rz[:, 1], BASIS @ Rz @ Ry[:, 0]
    w, alpha = CONE * yaw + SPIN * roll, np.cross(CONE * yaw, SPIN * roll)
    c, J = R @ CENTER, R @ INERTIA @ R.T
    a = BASIS @ [one(t)[2] for one in SLIDES] + np.cross(alpha, c) + np.cross(w, np.cross(w, c))
    f = MASS * (a - GRAVITY)
    n = J @ alpha + np.cross(w, J @ w) + np.cross(c, f)
    return R, w, alpha, np.concatenate((f, n)), np.concatenate((BASIS.T @ f, (yaw @ n, pitch @ n, roll @ n)))


def driven(**turn):
    model = body()
    drive_pose(model, "plate", position=SLIDES, axes=BASIS, **turn)
    return model.compile()


ANGLES = (rtmbs.ConstantRate(CONE), TILT, rtmbs.ConstantRate(SPIN))


@pytest.mark.parametrize("turn", [{"angles": ANGLES}, {"quaternion": coning}], ids=["angles", "quaternion"])
def test_motion_wrench_and_drives_on_a_skew_basis(turn):
    times = np.linspace(0.0, 4.0, 21)  # several whole turns
    found = rtmbs.inverse_dynamics(driven(**turn), None, times)
    names = [f"drive plate {one}" for one in ("x", "y", "z", "yaw", "pitch", "roll")]
    for k, t in enumerate(times):
        R, w, alpha, wrench, drives = exact(t)
        at = found.result
        place = PLACE + BASIS @ [one(t)[0] for one in SLIDES]
        np.testing.assert_allclose(at["plate.position"][k], place, atol=1e-9)
        np.testing.assert_allclose(
            Rotation.from_quat(np.roll(at["plate.orientation"][k], -1)).as_matrix(), R, atol=1e-9
        )
        np.testing.assert_allclose(at["plate.angular_velocity"][k], w, atol=1e-9)
        np.testing.assert_allclose(at["plate.angular_acceleration"][k], alpha, atol=1e-8)
        np.testing.assert_allclose(at["plate roll.reaction"][k], wrench, atol=1e-7)
        np.testing.assert_allclose([found.forces[name][k] for name in names], drives, atol=1e-7)


def test_a_simulation_follows_the_quaternion():
    sim = rtmbs.Simulation(driven(quaternion=coning), h=1e-3)
    sim.run(1.0)
    R, w, _, wrench, _ = exact(1.0)
    np.testing.assert_allclose(Rotation.from_quat(np.roll(sim["plate.orientation"], -1)).as_matrix(), R, atol=1e-6)
    np.testing.assert_allclose(sim["plate.angular_velocity"], w, atol=1e-5)
    np.testing.assert_allclose(sim["plate roll.reaction"], wrench, rtol=1e-3, atol=1e-2)


def test_an_input_moves_one_angle():
    model = body()
    drivers = drive_pose(model, "plate", angles=(rtmbs.Input(0.0), 0.0, 0.0))
    assert list(drivers) == ["x", "y", "z", "yaw", "pitch", "roll"]
    sim = rtmbs.Simulation(model.compile(), h=1e-2)
    for k in range(1, 11):
        t = 1e-2 * k
        sim.inputs["drive plate yaw"] = (0.5 * t**2, t, 1.0)
        assert sim.step().outcome.accepted
    assert sim["plate yaw.angle"] == pytest.approx(0.5 * t**2, abs=1e-9)
    assert sim["plate.angular_velocity"] == pytest.approx((0.0, 0.0, t), abs=1e-9)


def test_a_body_that_moves_relative_to_another():
    model = body()
    model.add_body("base", mass=1.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("turn", rtmbs.Revolute(axis=(0, 0, 1)), "ground", "base")
    model.add_driver("spin", rtmbs.ConstantRate(2.0), joint="turn")
    drive_pose(model, "plate", angles=(rtmbs.ConstantRate(-2.0), 0.0, 0.0), parent="base")
    found = rtmbs.inverse_dynamics(model.compile(), None, np.array([0.0, 0.4]))
    np.testing.assert_allclose(found.result["plate.angular_velocity"], 0.0, atol=1e-12)
    np.testing.assert_allclose(
        found.result["plate.position"][1], Rotation.from_euler("z", 0.8).apply(PLACE), atol=1e-12
    )


def test_angles_go_on_through_whole_turns_in_any_order_of_times():
    yaw, pitch, roll = angles_of(coning, "pose")
    times = np.random.default_rng(1).permutation(np.linspace(-20.0, 20.0, 101))
    for t in times:
        assert yaw(t) == pytest.approx((CONE * t, CONE, 0.0), abs=1e-9)
        assert pitch(t) == pytest.approx((TILT, 0.0, 0.0), abs=1e-9)
        assert roll(t) == pytest.approx((SPIN * t, SPIN, 0.0), abs=1e-9)


def test_what_cannot_be_prescribed_is_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'plate'"):
        drive_pose(body(), "plat")
    with pytest.raises(ModelError, match="give angles= or quaternion="):
        drive_pose(body(), "plate", angles=ANGLES, quaternion=coning)
    with pytest.raises(ModelError, match=r"angles is .*it must be three profiles"):
        drive_pose(body(), "plate", angles=(0.0, 1.0))
    with pytest.raises(ModelError, match="it must be a function of t"):
        drive_pose(body(), "plate", quaternion=(1.0, 0.0, 0.0, 0.0))
    with pytest.raises(ModelError, match=r"must return \(q, qd, qdd\)"):
        drive_pose(body(), "plate", quaternion=lambda t: (1.0, 0.0, 0.0, 0.0))
    with pytest.raises(ModelError, match=r"is \[0.0, 0.0, 0.0, 0.0\] at t = 0; no rotation is"):
        drive_pose(body(), "plate", quaternion=lambda t: np.zeros((3, 4)))
    upright = Rotation.from_euler("y", 90, degrees=True).as_quat()
    with pytest.raises(InputError, match="the pitch is 90 degrees at t = 0 s"):
        drive_pose(body(), "plate", quaternion=lambda t: np.array([np.roll(upright, 1), np.zeros(4), np.zeros(4)]))

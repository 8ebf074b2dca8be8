"""Motors and sensors against closed forms: gears, rotors, limits, responses; IMU, encoder, force-torque sensor."""

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.errors import InputError, UnknownNameError

INERTIA, RATIO, ROTOR = 0.2, 50.0, 2e-5
TOTAL = INERTIA + RATIO**2 * ROTOR


def wheel(kind, **options):
    """Return a Simulation of a wheel that turns about an upright axis, with a geared motor."""
    model = rtmbs.Model("wheel")
    model.add_body("wheel", mass=1.0, inertia=(0.1, 0.1, INERTIA))
    model.add_joint("axle", rtmbs.Revolute((0, 0, 1)), "ground", "wheel")
    rtmbs.add_motor(model, "drive", "axle", kind, gear_ratio=RATIO, rotor_inertia=ROTOR, **options)
    return rtmbs.Simulation(model.compile(), h=1e-3)


@pytest.mark.parametrize(("limit", "acts"), [(np.inf, 0.03), (0.02, 0.02)])
def test_torque_motor(limit, acts):
    """A constant torque: angle = N tau t^2 / (2 (I + N^2 J)), cut at the limit; a trapezoidal step is exact."""
    sim = wheel("torque", torque_limit=limit)
    sim.inputs["drive.target"] = 0.03
    result = sim.run(0.5)
    np.testing.assert_allclose(result["axle.angle"], RATIO * acts * result.t**2 / (2 * TOTAL), rtol=0, atol=1e-9)
    assert sim["drive_rotor.rate"] == pytest.approx(RATIO * sim["axle.rate"], rel=1e-9)


def test_velocity_motor():
    """The rate nears its target as 1 - exp(-N D t / (I + N^2 J))."""
    sim = wheel("velocity", damping=0.02)
    sim.inputs["drive.target"] = 3.0
    result = sim.run(0.5)
    wanted = 3.0 * (1.0 - np.exp(-RATIO * 0.02 / TOTAL * result.t))
    np.testing.assert_allclose(result["axle.rate"], wanted, rtol=0, atol=1e-5)


def test_position_motor_with_limit():
    """At the limit the angle grows as t^2; the motion behind it is that of a matrix exponential."""
    sim = wheel("position", stiffness=0.4, damping=0.04, torque_limit=0.1)
    sim.inputs["drive.target"] = 0.3
    result = sim.run(1.0)
    a = RATIO * 0.1 / TOTAL  # full torque until 0.4 (0.3 - q) - 0.04 qd = 0.1
    times = np.roots([0.2 * a, 0.04 * a, -0.02])
    t0 = float(times[times > 0][0])
    x0 = np.array([0.5 * a * t0**2 - 0.3, a * t0])
    A = np.array([[0.0, 1.0], [-RATIO * 0.4 / TOTAL, -RATIO * 0.04 / TOTAL]])
    for t, angle in zip(result.t[::50], result["axle.angle"][::50], strict=True):
        x = scipy.linalg.expm(A * max(t - t0, 0.0)) @ x0
        assert abs(0.4 * x[0] + 0.04 * x[1]) <= 0.1 + 1e-12
        wanted = 0.5 * a * t**2 if t <= t0 else 0.3 + x[0]
        assert angle == pytest.approx(wanted, abs=1e-5)


def test_motors_refuse():
    model = rtmbs.library.build("pendulum")
    for options, told in (
        ({"kind": "servo"}, "kind is"),
        ({"gear_ratio": 0.0}, "gear_ratio"),
        ({"damping": -1.0}, "zero or more"),
        ({"torque_limit": 0.0}, "above zero"),
    ):
        with pytest.raises(InputError, match=told):
            rtmbs.add_motor(model, "m", "pivot", **options)


MOUNT = Rotation.from_rotvec((0.4, -0.3, 0.8)).as_matrix()


def turning_arm(rate, noise=0.0):
    """Return an arm that turns about an upright axis at a constant rate, with a tool held by a fixed joint."""
    model = rtmbs.Model("arm")
    model.add_body("arm", mass=2.0, inertia=(0.1, 0.1, 0.1))
    model.add_body("tool", mass=0.5, inertia=(0.01, 0.01, 0.01), position=(0.8, 0, 0), center_of_mass=(0.1, 0, 0))
    model.add_joint("axle", rtmbs.Revolute((0, 0, 1)), "ground", "arm")
    model.add_joint("flange", rtmbs.Fixed(), "arm", "tool", point=(0.7, 0, 0))
    model.add_marker("chip", "arm", (0.5, 0.0, 0.1), frame="arm", axes=MOUNT)
    model.add_marker("tcp", "tool", (0.2, 0.0, 0.0), frame="tool", axes=MOUNT)
    model.set_initial("axle", 0.3, rate)
    return model


def test_imu_of_a_turning_arm():
    """Specific force: w^2 r inwards and g upwards; angular velocity along the axis; both in marker axes."""
    model = turning_arm(4.0)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    imu = rtmbs.IMU(model, "chip", gyroscope_bias=(0.0, 0.0, 0.1))
    result = sim.run(0.2)
    found = imu.channels(result)
    force, spin = MOUNT.T @ (-16.0 * 0.5, 0.0, 9.81), MOUNT.T @ (0.0, 0.0, 4.0) + (0.0, 0.0, 0.1)
    np.testing.assert_allclose(found["imu.acceleration"].values, np.tile(force, (201, 1)), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["imu.angular_velocity"].values, np.tile(spin, (201, 1)), rtol=0, atol=1e-9)
    assert found["imu.acceleration"].frame == "chip"
    np.testing.assert_array_equal(imu.read(sim)["acceleration"], found["imu.acceleration"].values[-1])


def test_force_torque_sensor():
    """The tool's weight and centripetal force at the flange; about the tool centre point by the lever arm."""
    model = turning_arm(4.0)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    found = rtmbs.ForceTorqueSensor(model, "flange").read(sim)
    force = np.array([-0.5 * 16.0 * 0.9, 0.0, 0.5 * 9.81])  # tool axes; its mass centre stands at 0.9 m
    np.testing.assert_allclose(found["force"], force, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["torque"], -np.cross((0.2, 0, 0), -force), rtol=0, atol=1e-9)
    about = rtmbs.ForceTorqueSensor(model, "flange", "tcp").read(sim)
    np.testing.assert_allclose(about["force"], MOUNT.T @ force, rtol=0, atol=1e-9)
    moment = np.cross((0.2, 0, 0), force) + np.cross((0.7 - 1.0, 0, 0), force)
    np.testing.assert_allclose(about["torque"], MOUNT.T @ moment, rtol=0, atol=1e-9)


def test_encoder_counts_and_noise_by_seed():
    model = turning_arm(4.0)
    sim = rtmbs.Simulation(model.compile(), h=1e-3)
    step = 2 * np.pi / 4096
    result = sim.run(0.5)
    plain = rtmbs.Encoder(model, "axle", resolution=step).channels(result)["axle_encoder.position"]
    np.testing.assert_array_equal(plain.values, np.floor(np.array(result["axle.angle"]) / step) * step)
    noisy = [rtmbs.Encoder(model, "axle.angle", noise=1e-3, seed=seed) for seed in (1, 1, 2)]
    one, same, other = (sensor.channels(result)["axle_encoder.position"].values for sensor in noisy)
    np.testing.assert_array_equal(one, same)
    error = one - np.array(result["axle.angle"])
    assert np.std(error) == pytest.approx(1e-3, rel=0.1)
    assert abs(np.mean(error)) < 2e-4
    assert abs(np.corrcoef(error, other - np.array(result["axle.angle"]))[0, 1]) < 0.2
    assert noisy[0].read(sim)["position"] == one[-1]


def test_sensors_refuse():
    model = turning_arm(1.0)
    with pytest.raises(UnknownNameError):
        rtmbs.IMU(model, "nowhere")
    with pytest.raises(UnknownNameError):
        rtmbs.ForceTorqueSensor(model, "nowhere")
    with pytest.raises(InputError, match="must be one coordinate"):
        rtmbs.Encoder(model, "flange")
    with pytest.raises(InputError, match="zero or more"):
        rtmbs.IMU(model, "chip", gyroscope_noise=-1.0)
    with pytest.raises(InputError, match="seed is"):
        rtmbs.IMU(model, "chip", seed=-1)

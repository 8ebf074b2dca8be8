"""Paths, driveline, drivers and a driven car: closed forms, an independent integrator, published tables, restarts."""

from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import rtmbs
from rtmbs.vehicle import (
    Arms,
    CarMotion,
    Driveline,
    DrivenCar,
    HeldSteering,
    Path,
    PathFollower,
    PedalTable,
    SpeedController,
    TwoWheelModel,
    read,
)
from rtmbs.vehicle.driveline import RPM, interpolated

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
TWO_WHEELS = {  # Cf, Cr [N/rad]; K [rad s^2/m]; gain at 10, 20, 30 m/s [1/s]; yaw mode at 20 m/s: f0 [Hz], zeta
    ("from_json", "pac2002"): (142744, 139611, 9.746e-05, (3.5860, 7.0977, 10.4655), 2.085, 1.087),
    ("from_json", "tmeasy"): (129189, 125395, 5.810e-05, (3.5911, 7.1375, 10.5965), 1.875, 1.090),
    ("from_models", "pac2002"): (139824, 143201, -1.068e-04, (3.6198, 7.3247, 11.2062), 1.999, 1.092),
    ("from_models", "tmeasy"): (112870, 115861, -1.154e-04, (3.6210, 7.3339, 11.2386), 1.615, 1.093),
}


@cache
def car_of(variant="from_models", tyres="pac2002"):
    return read("sedan", variant=variant, tyres=tyres)


@cache
def rest_of(variant="from_models", tyres="pac2002"):
    return car_of(variant, tyres).rest()


@cache
def model_of(variant="from_models", tyres="pac2002"):
    return TwoWheelModel.of_car(car_of(variant, tyres), rest_of(variant, tyres))


# ---------------------------------------------------------------------------------------------------------------- paths


def test_circle():
    """Points of the circle are at its radius from one centre; curvature and heading are those of a clothoid."""
    path = Path.circle(-80.0, laps=0.5, entry=40.0)
    s = np.linspace(55.0, path.length - 2.0, 200)
    centre = path.position(55.0) - 80.0 * np.array((-np.sin(path.heading(55.0)), np.cos(path.heading(55.0))))
    assert np.max(np.abs(np.linalg.norm(path.position(s) - centre, axis=1) - 80.0)) < 1e-6
    assert np.max(np.abs(path.curvature(s) + 1.0 / 80.0)) < 1e-6
    assert path.heading(50.0) == pytest.approx(
        -0.5 * 40.0 / 80.0, abs=1e-6
    )  # kinks of the curvature lie between points
    assert path.length == pytest.approx(50.0 + np.pi * 80.0, abs=1e-6)


def test_lanes():
    """The largest curvature of a change by d over l is 5.7735 d / l^2 (flat change); ends go straight on."""
    path = Path.lanes((0.0, 20.0, 120.0, 150.0), (0.0, 0.0, 1.0, 1.0))
    curvature = path.curvature(np.linspace(0.0, path.length, 4000))
    assert np.max(curvature) == pytest.approx(5.7735 / 100.0**2, rel=2e-3)
    assert np.min(curvature) == pytest.approx(-5.7735 / 100.0**2, rel=2e-3)
    assert np.allclose(path.position(path.length + 10.0), (160.0, 1.0), atol=1e-9)
    assert path.curvature(path.length + 10.0) == 0.0


def test_nearest():
    """The nearest point against a search over 10^5 points, beyond the ends too."""
    path = Path.lanes((0.0, 15.0, 45.0, 70.0, 95.0, 160.0), (0.0, 0.0, 3.5, 3.5, 0.0, 0.0))
    fine = np.linspace(-20.0, path.length + 20.0, 100_001)
    places = path.position(fine)
    for point in ((-5.0, 1.0), (30.0, 0.5), (60.0, 5.0), (85.0, -1.0), (170.0, 2.0)):
        wanted = fine[np.argmin(np.sum((places - point) ** 2, axis=1))]
        assert path.nearest(point) == pytest.approx(wanted, abs=2e-3)
        assert path.nearest(point, wanted + 1.5) == pytest.approx(path.nearest(point), abs=1e-8)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Path([[0, 0], [1, 0], [2, 0]]), "must be finite numbers"),
        (lambda: Path([[0, 0], [1, 0], [1, 0], [2, 0]]), "coincide"),
        (lambda: Path.circle(0.0), "each must be above zero in size"),
        (
            lambda: Path.lanes((0, 10, 5, 20), (0, 0, 3, 3)),
            "there are 4 stations and 4 offsets; stations must increase",
        ),
        (lambda: Path.lanes((0, 10), (0, 1, 2)), "there are 2 stations and 3 offsets"),
        (lambda: Path.of_curvature((0, 10), "bend"), "curvature is 'bend'; it must be two finite numbers or more"),
        (lambda: Path.of_curvature((1, 10), (0, 0.1)), "s begins with 1; it must begin with 0"),
    ],
)
def test_path_refusals(make, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        make()


def test_quick_numbers_are_those_of_the_libraries():
    """Positions one by one and tables of the driveline have the bytes of SciPy's spline and of ``np.interp``."""
    path, rng = Path.lanes((0.0, 20.0, 120.0, 150.0), (0.0, 0.0, 1.0, 1.0)), np.random.default_rng(8)
    s = np.concatenate((rng.uniform(-20.0, path.length + 30.0, 300), path._knots[:40], (0.0, path.length)))
    whole = path.position(s)
    few = np.concatenate([path.position(part) for part in np.array_split(s, 20)])
    assert np.array_equal(whole, few)
    assert path.position([]).shape == (0, 2)
    speeds, torques = np.sort(rng.normal(size=9)), rng.normal(size=9)
    for x in (*rng.normal(size=200).tolist(), *speeds.tolist(), -9.0, 9.0):
        assert interpolated(x, speeds.tolist(), torques.tolist()) == float(np.interp(x, speeds, torques))


# ------------------------------------------------------------------------------------------------------ two-wheel model


@pytest.mark.parametrize("case", TWO_WHEELS, ids="-".join)
def test_two_wheel_model(case):
    """Stiffnesses, understeer gradient, gains and yaw mode of the reference; its yaw inertia is that at rest."""
    Cf, Cr, K, gains, f0, zeta = TWO_WHEELS[case]
    model = model_of(*case)
    assert model.front_stiffness == pytest.approx(Cf, rel=3e-5)
    assert model.rear_stiffness == pytest.approx(Cr, rel=3e-5)
    assert model.understeer_gradient == pytest.approx(K, abs=7e-7)  # a difference of large numbers
    assert model.yaw_gain(np.array((10.0, 20.0, 30.0))) == pytest.approx(np.array(gains), rel=3e-4)
    a, b = np.linalg.eigvals(model.matrix(20.0)[2:4, 2:4])
    assert np.sqrt((a * b).real) / (2.0 * np.pi) == pytest.approx(f0, rel=1.5e-2)
    assert -(a + b).real / (2.0 * np.sqrt((a * b).real)) == pytest.approx(zeta, rel=1.5e-2)


def test_lateral_response():
    """The prediction of the preview against an adaptive integrator."""
    model, times = model_of(), np.array((0.2, 0.5, 1.0))
    vy, r, delta, V = 0.3, -0.1, 0.02, 22.0
    found = model.lateral_response(V, times) @ (vy, r, delta)
    A = model.matrix(V)
    run = solve_ivp(lambda t, x: A @ x, (0.0, 1.0), (0.0, 0.0, vy, r, delta), t_eval=times, rtol=1e-11, atol=1e-12)
    assert found == pytest.approx(run.y[0], abs=1e-9)


# -------------------------------------------------------------------------------------------------------------- drivers


def test_optimal_preview():
    """The angle minimises the squares of the predicted offsets: a search over angles finds no better one."""
    path = Path.lanes((0.0, 15.0, 45.0, 120.0), (0.0, 0.0, 3.5, 3.5))
    follower = PathFollower(path, model_of(), preview=0.7)
    at = CarMotion(0.0, 20.0, 0.1, 0.02, 22.5, 0.1, 0.05, 70.0)
    x, y = follower.centre(at)
    s = path.nearest((x, y))
    best, times = follower.wanted(at, s), follower.times
    speeds = (22.0, 23.0)  # the table is linear in between
    F = np.mean([model_of().lateral_response(V, times) for V in speeds], axis=0)
    ahead = path.position(s + at.speed * times)
    offset = -np.sin(at.yaw) * (ahead[:, 0] - x) + np.cos(at.yaw) * (ahead[:, 1] - y)
    state = (at.across + model_of().x * at.yaw_rate, at.yaw_rate)

    def cost(delta):
        return float(np.sum((offset - F @ (*state, delta)) ** 2))

    angles = best + np.linspace(-0.01, 0.01, 2001)
    assert abs(angles[np.argmin([cost(one) for one in angles])] - best) < 1.1e-5


def test_arms():
    """The lag is that of a critically damped oscillator, at order two; its rate stays below the limit."""
    errors = []
    for h in (2e-3, 1e-3):
        arms, state = Arms(frequency=20.0, largest_rate=1e3), (0.0, 0.0, 0.0)
        state = (0.0, 0.0, 20.0**2 * 0.1)  # the acceleration just behind the step of the wish
        for _ in range(round(0.05 / h)):
            state = arms.turned(state, 0.1, 16.0, h)
        errors.append(abs(state[0] - 0.1 * (1.0 - np.exp(-1.0) * 2.0)))
    assert errors[1] < 2e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    arms, state, rates = Arms(largest_rate=2.0), (0.0, 0.0, 0.0), []
    for _ in range(300):
        state = arms.turned(state, 1.0, 16.0, 1e-3)
        rates.append(state[1])
    assert max(rates) == pytest.approx(2.0)


def test_driveline():
    """Torques of the tables of the file through gears; shifts do not hunt."""
    line = Driveline.of_file(car_of().data.powertrain, 2000.0)
    speed = 2000.0 * RPM
    for gear, ratio in ((1, 0.265), (4, 1.063)):
        wheels = speed * ratio * 0.2
        assert line.engine_speed(wheels, gear) == pytest.approx(speed)
        assert line.torque(1.0, wheels, gear) == pytest.approx(370.0 / (ratio * 0.2))
        assert line.torque(0.0, wheels, gear) == pytest.approx(-15.0 / (ratio * 0.2))
    assert line.torque(0.0, 0.0, 1) == 0.0  # the drag of the engine does not push a car that stands
    gear, shifts = 1, []
    for wheels in np.concatenate((np.linspace(0.0, 150.0, 800), np.linspace(150.0, 0.0, 800))):
        new = line.shifted(wheels, gear)
        shifts += [new - gear] if new != gear else []
        gear = new
    assert shifts == [1] * shifts.count(1) + [-1] * shifts.count(-1)  # up while it gets faster, then down
    assert shifts.count(1) == shifts.count(-1) == 5


def test_full_throttle():
    """The torque is that of the table; it accelerates mass and spin inertia, but for the toe of a lifted front axle."""
    car = car_of().changed(steer=0.0)
    driven = DrivenCar(car, 20.0, PedalTable(lambda t: 1.0, lambda t: 0.0), rest=rest_of())
    result = driven.run(1.5)
    v = result["chassis.velocity"][:, 0]
    gear, wheels = round(driven.simulation.inputs["driver.gear"]), driven.motion().wheels
    torque = driven.driveline.torque(1.0, wheels, gear)
    radius = 20.0 / 59.35
    spin = sum(float(car.bodies[f"wheel_{c}"].inertia[1, 1]) for c in car.tyres)
    mass = 1678.299 + spin / radius**2
    assert driven.simulation.inputs["drive_fl.torque"] == pytest.approx(0.5 * torque)
    assert torque == pytest.approx(370.0 / (1.499 * 0.2))
    assert (v[400] - v[200]) / 0.2 == pytest.approx(torque / radius / mass, rel=0.02)


@pytest.mark.slow
def test_order_of_the_driveline():
    """Engine torques over the wheel speeds at both ends of a step: order two in h."""
    ends = []
    for h in (4e-3, 2e-3, 1e-3, 5e-4):
        pedals = PedalTable(lambda t: np.sin(2.0 * t) ** 2, lambda t: 0.0)
        line = Driveline.of_power(1e5)
        driven = DrivenCar(car_of().changed(steer=0.0), 20.0, pedals, driveline=line, rest=rest_of(), h=h)
        for _ in range(round(1.0 / h)):
            driven.step()
        ends.append(driven.simulation["chassis.position"][0])
    errors = np.abs(np.diff(ends))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.2)


@pytest.mark.slow
def test_speed_controller_and_restart():
    """The speed is reached without steady error; a restored State goes on with the same bytes."""
    path = Path.lanes((0.0, 30.0, 70.0, 400.0), (0.0, 0.0, 3.0, 3.0))
    steering = PathFollower(path, model_of())
    driven = DrivenCar(car_of(), 18.0, SpeedController.of_car(car_of(), 20.0), steering, rest=rest_of())
    driven.run(1.0)
    saved = driven.simulation.snapshot()
    driven.run(2.0)
    ends = [driven.simulation.state.z.copy(), dict(driven.simulation.inputs)]
    driven.simulation.restore(saved)
    driven.run(2.0)
    assert np.array_equal(ends[0], driven.simulation.state.z)
    for name, value in driven.simulation.inputs.items():
        assert np.array_equal(value, ends[1][name]), name
    driven.run(9.0)
    assert driven.motion().speed == pytest.approx(20.0, abs=0.05)
    assert driven.motion().y == pytest.approx(3.0, abs=0.03)


def test_restart_in_another_car():
    """A snapshot goes on in a car with a driver that was made anew, with the same bytes."""
    path = Path.lanes((0.0, 10.0, 40.0, 200.0), (0.0, 0.0, 2.0, 2.0))

    def made():
        pedals, steering = SpeedController.of_car(car_of(), 19.0), PathFollower(path, model_of())
        return DrivenCar(car_of(), 18.0, pedals, steering, rest=rest_of(), h=2e-3)

    first, second = made(), made()
    first.run(0.3)
    saved = first.simulation.snapshot()
    first.run(0.3)
    second.simulation.restore(saved)
    second.run(0.3)
    assert np.array_equal(first.simulation.state.z, second.simulation.state.z)
    assert np.array_equal(first.simulation.state.zd, second.simulation.state.zd)
    for name, value in first.simulation.inputs.items():
        assert np.array_equal(value, second.simulation.inputs[name]), name


@pytest.mark.slow
def test_mirrored_path():
    """The mirrored path is driven with the mirrored steering."""
    found = []
    for side in (1.0, -1.0):
        path = Path.lanes((0.0, 15.0, 45.0, 200.0), (0.0, 0.0, side * 3.0, side * 3.0))
        driven = DrivenCar(
            car_of(), 20.0, SpeedController.of_car(car_of(), 20.0), PathFollower(path, model_of()), rest=rest_of()
        )
        driven.run(3.0)
        found.append(driven.controls_as_arrays()["steering_angle"])
    assert np.max(np.abs(found[0])) > 0.05
    assert np.max(np.abs(found[0] + found[1])) < 1e-8


def test_held_steering():
    """The steering goes to the held angle and the car turns left."""
    driven = DrivenCar(
        car_of(),
        15.0,
        SpeedController.of_car(car_of(), 15.0),
        HeldSteering(0.2, model_of().steering_ratio),
        rest=rest_of(),
    )
    driven.run(1.5)
    assert driven.controls["steering_angle"][-1] == pytest.approx(0.2, abs=1e-6)
    assert driven.motion().yaw_rate > 0.1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PathFollower("road", model_of()), "path is 'road'; it must be a Path"),
        (lambda: PathFollower(Path.circle(50.0), model_of(), preview=0.0), "preview is 0; it must be above zero"),
        (lambda: PedalTable(0.2, float), "throttle is 0.2; it must be a function of time"),
        (lambda: HeldSteering("left"), "angle is 'left'; it must be one number"),
        (lambda: HeldSteering(0.1, 0.0), "ratio is 0; it must be"),
        (lambda: SpeedController("fast", 1e3, 0.3), "target is 'fast'; it must be one number"),
        (lambda: SpeedController(20.0, 0.0, 0.3), "mass is 0; it must be above zero"),
        (lambda: Driveline.of_power(-1.0), "power is -1; it must be above zero"),
        (lambda: Driveline.of_power(1e5, -1.0), "max_brake_torque is -1; it must be above zero"),
        (lambda: car_of().changed(brakes=-5.0), "brake 'brake_fl': torque is -5; it must be zero or more"),
        (lambda: car_of().changed(brakes={"f": 5.0}), "brakes has f; it must have f and r"),
        (lambda: car_of().changed(posts=3), "posts is 3; it must be True or profiles by corner"),
        (lambda: Arms(frequency=-1.0), "frequency is -1; it must be above zero"),
        (lambda: Driveline([[0, 1], [0, 2]], [[0, 0], [1, 0]], [1.0], 1e3), "full must be rows"),
        (lambda: Driveline([[0, 1], [1, 2]], [[0, 0], [1, 0]], [-1.0], 1e3), "ratios must be numbers above zero"),
        (lambda: Driveline([[0, 1], [1, 2]], [[0, 0], [1, 0]], [1.0], 1e3, 2.0), "front_brakes is 2"),
        (
            lambda: DrivenCar(car_of().changed(brakes=None), 10.0, PedalTable(float, float), rest=rest_of()),
            "has no brakes that a driver sets",
        ),
    ],
)
def test_refusals(make, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        make()


def test_pedals_beyond_their_range():
    """They count as the nearer end: a brake below zero would drive."""
    driven = DrivenCar(car_of(), 10.0, PedalTable(lambda t: 2.0, lambda t: -0.5), rest=rest_of())
    driven.step()
    inputs = driven.simulation.inputs
    assert (inputs["driver.throttle"], inputs["driver.brake"], inputs["brake_fl.torque"]) == (1.0, 0.0, 0.0)

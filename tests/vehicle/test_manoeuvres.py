"""Manoeuvres: metrics against a run of Chrono, closed forms and signals made by hand."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import bilinear, freqz, lfilter

import rtmbs
from bench.measures import steady_turn
from rtmbs.vehicle import (
    Braking,
    BrakingInTurn,
    Car,
    CoastDown,
    DoubleLaneChange,
    FrequencyResponse,
    SineSteer,
    SineSweep,
    SineWithDwell,
    SplitBraking,
    SteadyCircle,
    StepSteer,
    ThrottleRelease,
    TwoWheelModel,
    linear_response,
    read,
)
from rtmbs.vehicle.manoeuvres.closed_loop import cones_of, iso_3888_1, iso_3888_2
from rtmbs.vehicle.manoeuvres.report import first_peak, response_time, steady
from rtmbs.vehicle.manoeuvres.steer_inputs import ANSWERS, OneSine, estimates

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")


def as_in_chrono():
    """Return the sedan with the tyre of the reference run, without gyroscopic torque of drive shafts."""
    car = read("sedan", tyres="tmeasy", transient=False, slip_point="centre")
    front, rear = (replace(axle, shaft_inertia=0.0) for axle in (car.data.front, car.data.rear))
    return Car(car.data._replace(front=front, rear=rear), car.tyres, **car.options)


def test_step_steer_of_the_reference():
    """Response time 0.12 s, yaw gain over the mean road-wheel angle 0.02507 rad, roll per ay 0.00514."""
    car = as_in_chrono()
    angle = -0.0040579 / car.data.steering.ratio
    report = StepSteer(speed=18.212858, angle=angle, throttle="released", duration=3.0).run(car)
    assert report["yaw_response_time"] == pytest.approx(0.12, abs=0.008)
    assert report["yaw_gain"] * angle / 0.02507 == pytest.approx(7.165, rel=3e-3)  # table at 6.75 s
    assert report["roll_gradient"] == pytest.approx(0.00514, rel=0.01)
    assert report["lateral_acceleration"] > 0.0  # a positive angle turns left
    assert report["yaw_peak_time"] < 0.6
    assert "yaw_overshoot" in str(report)


def test_step_steer_finds_the_angle():
    """The angle gives the lateral acceleration; the held throttle keeps the speed within 2 %; V r equals ay."""
    car = read("sedan", variant="from_models")
    report = StepSteer(speed=20.0, lateral_acceleration=-3.0, duration=2.0).run(car)
    assert report["lateral_acceleration"] == pytest.approx(-3.0, rel=2e-3)
    assert report["steering_angle"] < 0.0
    assert report.signals["speed"][-1] == pytest.approx(20.0, rel=0.02)
    speed = steady(report.signals, "speed")
    assert report["yaw_rate"] * speed == pytest.approx(-3.0, rel=0.01)


@pytest.mark.slow
def test_braking():
    """Deceleration of the reference; the distance by it and half of the rise; the car stops straight and stays."""
    car = read("sedan", tyres="tmeasy")
    report = Braking(speed=20.0, torque=800.0, after=6.0).run(car)
    assert report["mfdd"] == pytest.approx(6.022, rel=4e-3)  # of the reference run, between 17 and 8 m/s
    v0 = report["speed"]
    assert report["stopping_distance"] == pytest.approx(v0**2 / (2 * report["mfdd"]) + 0.1 * v0, rel=0.01)
    weight = 1671.261 * 9.81
    assert report["front_load"] + report["rear_load"] == pytest.approx(weight, rel=1e-3)
    assert report["drift"] < 1e-9
    assert report["creep"] < 1e-3


def test_metrics_by_hand():
    """A first-order rise and a damped oscillation have known times."""
    t = np.linspace(0.0, 6.0, 6001)
    after = np.maximum(t - 1.0, 0.0)
    rise = {"t": t, "r": 1.0 - np.exp(-after / 0.2)}
    assert response_time(rise, "r", 1.0) == pytest.approx(0.2 * np.log(10.0), abs=1e-5)
    w, d = 6.0, 2.0
    swing = -(1.0 - np.exp(-d * after) * (np.cos(w * after) + d / w * np.sin(w * after)))  # to the right
    time, value = first_peak({"t": t, "r": swing}, "r", 1.0)
    assert time == pytest.approx(np.pi / w, abs=1e-3)
    assert value == pytest.approx(-(1.0 + np.exp(-d * np.pi / w)), rel=1e-5)


@pytest.mark.parametrize(
    ("manoeuvre", "words"),
    [
        (StepSteer(speed=0.0), "speed is 0; it must be above zero"),
        (StepSteer(speed=20.0, throttle="full"), "throttle is 'full'; it must be one of held, released"),
        (StepSteer(speed=20.0, steer_time=0.0), "step steer: steer_time is 0; it must be above zero"),
        (SplitBraking(duration=-1.0), "split braking: duration is -1; it must be above zero"),
        (Braking(speed=20.0, rise_time=0.0), "braking: rise_time is 0; it must be above zero"),
        (Braking(speed=20.0, torque=-1.0), "speed and torque must be above zero"),
    ],
)
def test_refusals(manoeuvre, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        manoeuvre.run(read("sedan"))


# ---------------------------------------------------------------------------------------------------- other manoeuvres


def test_courses():
    """Lengths and widths of both standards for a width of 1.85 m."""
    one, side, out = iso_3888_2(1.85)
    assert [round(lane.width, 3) for lane in (one, side, out)] == [2.285, 2.85, 3.0]
    assert out.end == 61.0
    assert side.centre - 0.5 * side.width - (one.centre + 0.5 * one.width) == pytest.approx(1.0)
    one, side, out = iso_3888_1(1.85)
    assert out.end == 125.0
    rights = [lane.centre - 0.5 * lane.width for lane in (one, side, out)]
    assert rights == pytest.approx([rights[0], rights[0] + 3.5, rights[0]])
    assert iso_3888_1(1.85, "centre-centre")[1].centre == 3.5


def test_cones_and_gaps():
    """The distance of the outline from a cone, by hand: a car of 2 m width that passes at 30 degrees."""
    car = read("sedan", variant="from_models")
    test = DoubleLaneChange(overhangs=(1.0, 1.0))
    front = car.data.front.wheel_centre[0] + 1.0
    angle = np.radians(30.0)
    corner = np.array((front * np.cos(angle) - np.sin(angle), front * np.sin(angle) + np.cos(angle)))
    places = np.array([[0.0, 0.0, angle], [100.0, 0.0, 0.0]])
    cones = np.array([(front + 99.5, -1.05), corner + np.array((0.0, 1.0))])
    gaps = test.gaps(car, places, cones, 2.0)
    assert gaps == pytest.approx([0.05 - 0.14, 1.0 - 0.14], abs=1e-12)


def test_a_lane_that_is_left_out_counts():
    """A car that goes straight on meets no cone: those of the side lane are on its wrong side. A stop reaches none."""
    car, test, course = read("sedan", variant="from_models"), DoubleLaneChange(), iso_3888_1(1.85)
    cones = cones_of(course, 30.0)
    x = np.arange(0.0, 180.0, 0.05)
    straight = np.stack((x, 0.0 * x, 0.0 * x), axis=1)
    gaps = test.gaps(car, straight, cones, 1.85).reshape(3, 3, 2)  # lane, place, side
    assert np.all(gaps[[0, 2]] > 0.0)
    assert np.all(gaps[1, :, 1] > 0.0)  # left ones of the side lane
    low = course[1].centre - 0.5 * course[1].width
    assert gaps[1, :, 0] == pytest.approx(-low - 0.5 * 1.85, abs=1e-9)
    gaps = test.gaps(car, straight[x < 40.0], cones, 1.85).reshape(3, 3, 2)
    front = float(x[x < 40.0][-1]) + float(car.data.front.wheel_centre[0]) + 0.9
    assert gaps[2, :, 0] == pytest.approx(front - 30.0 - np.array([95.0, 110.0, 125.0]))


@pytest.mark.slow
def test_double_lane_change(tmp_path):
    """The sedan passes ISO 3888-1 at 80 km/h; the page has the metrics and pictures."""
    report = DoubleLaneChange().run(read("sedan", variant="from_models"))
    assert report["cones_touched"] == 0.0
    assert report["clearance"] > 0.05
    assert report["entry_speed"] == pytest.approx(80.0 / 3.6, rel=2e-3)
    y = report.signals["y"]
    assert 3.3 < np.max(y) < 4.1
    assert abs(y[-1] - 0.185) < 0.2  # centre line of the exit lane
    loads = sum(report.signals[f"load_{corner}"] for corner in ("fl", "fr", "rl", "rr"))
    assert np.mean(loads) == pytest.approx(1678.299 * 9.81, rel=2e-3)
    report.to_html(tmp_path / "dlc.html")
    page = (tmp_path / "dlc.html").read_text(encoding="utf-8")
    assert page.count("<svg") == len(report.pictures) == 8
    assert "cones touched" in page
    assert "right-right" in page
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(identifiers)) == len(identifiers)


def test_sine_profile():
    """Rates are derivatives; the dwell holds the second peak; the end is at zero."""
    profile = OneSine(1.0, 0.3, 0.7, 0.5)
    h = 1e-6
    for t in (1.0, 1.005, 1.3, 2.07, 2.3, 2.8, profile.end + 0.005):
        (a, _, _), (_, fd, fdd), (b, _, _) = profile(t - h), profile(t), profile(t + h)
        assert fd == pytest.approx((b - a) / (2 * h), abs=1e-6)
        rates = profile(t - h)[1], profile(t + h)[1]
        assert fdd == pytest.approx((rates[1] - rates[0]) / (2 * h), abs=2e-2 + 1e-4 * abs(fdd))
    assert profile(2.3)[0] == pytest.approx(-0.3, abs=1e-9)
    assert profile(profile.end + 1.0)[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.slow
def test_sine_steer():
    """The amplitude gives the acceleration; gains in both half waves agree; yaw leads lateral acceleration."""
    report = SineSteer(speed=20.0, lateral_acceleration=2.0).run(read("sedan", variant="from_models"))
    assert report["lateral_acceleration_first_peak"] == pytest.approx(2.0, rel=2e-3)
    assert report["lateral_acceleration_second_gain"] == pytest.approx(
        report["lateral_acceleration_first_gain"], rel=0.03
    )
    assert 0.0 < report["lateral_acceleration_first_lag"] < 0.2
    assert report["yaw_rate_first_lag"] < report["lateral_acceleration_first_lag"]


@pytest.mark.slow
def test_sine_with_dwell():
    """A small amplitude is passed but for the displacement; the metrics by hand."""
    report = SineWithDwell(angle=0.15).run(read("sedan", variant="from_models"))
    assert report["yaw_rate_ratio_1s"] < 0.05
    assert report["yaw_rate_ratio_1_75s"] < 0.05
    assert report["second_peak_yaw_rate"] < -0.1
    assert report["passed"] == float(report["lateral_displacement"] >= 1.83)


@pytest.mark.slow
def test_steady_circle():
    """A held angle at the speed of the last level has its radius; a step steer is the turn that its inertia pushes."""
    car = read("sedan", variant="from_models")
    rest = car.changed(steer=0.0).rest()
    report = SteadyCircle(radius=100.0, most=4.0, step=4 / 3).run(car)
    signals = report.signals
    angle, speed = (float(signals[f"level_{name}"][-1]) for name in ("steering_angle", "speed"))
    held = steady_turn.held(car, angle, speed, rest)
    assert signals["level_radius"][-1] == pytest.approx(held.radius, rel=1.5e-3)  # its speed still falls a little
    assert signals["level_roll"][-1] == pytest.approx(held.roll, rel=3e-3)
    step, torque = steady_turn.stepped(car, angle, speed)
    at_its_speed = steady_turn.held(car, angle, step.speed, rest)
    pushed = steady_turn.pushed(car, angle, step, torque, rest)
    change = (held.radius - at_its_speed.radius) / (held.speed - at_its_speed.speed)
    assert at_its_speed.radius - step.radius > 0.5  # m, which the driver's throttle takes away
    assert pushed.radius + change * (step.speed - pushed.speed) == pytest.approx(step.radius, abs=0.1)
    ay = signals["level_acceleration"]
    assert ay == pytest.approx(np.array((4.0, 8.0, 12.0)) / 3.0, rel=0.01)
    ratio, wheelbase = (getattr(TwoWheelModel.of_car(car, rest), name) for name in ("steering_ratio", "wheelbase"))
    beyond = signals["level_steering_angle"] / ratio - wheelbase / signals["level_radius"]
    assert report["understeer_gradient"] == pytest.approx(np.polyfit(ay, beyond, 1)[0], rel=1e-9)
    assert report["side_slip_gradient"] < 0.0


@pytest.mark.slow
def test_throttle_release():
    """The car slows down and keeps its circle within decimetres."""
    report = ThrottleRelease(settle=4.0, after=1.2).run(read("sedan", variant="from_models"))
    assert report["speed"] == pytest.approx(20.0, rel=2e-3)
    assert report["deceleration"] > 0.05
    assert report["yaw_rate_ratio_1s"] == pytest.approx(1.0, abs=0.05)
    assert abs(report["path_deviation_1s"]) < 0.2


def test_throttle_release_metrics():
    """A car that turns in by a known circle: yaw rate ratio and path deviation by geometry."""
    t = np.linspace(0.0, 3.0, 3001)
    R, v, tight = 100.0, 20.0, 80.0
    r = np.where(t <= 1.0, v / R, v / tight)
    yaw = np.concatenate(([0.0], np.cumsum(0.5 * (r[1:] + r[:-1]) * 1e-3)))
    x = np.concatenate(([0.0], np.cumsum(0.5 * v * (np.cos(yaw[1:]) + np.cos(yaw[:-1])) * 1e-3)))
    y = np.concatenate(([0.0], np.cumsum(0.5 * v * (np.sin(yaw[1:]) + np.sin(yaw[:-1])) * 1e-3)))
    signals = {"t": t, "x": x, "y": y, "yaw": yaw, "yaw_rate": r, "speed": np.full_like(t, v), "side_slip": 0.0 * t}
    found = ThrottleRelease().metrics(signals, 1.0)
    chord = 2.0 * (R - tight) * np.sin(0.5 * v / tight)  # between the centres, seen from the tight circle
    inward = R - np.hypot(tight + (R - tight) * np.cos(v / tight), (R - tight) * np.sin(v / tight))
    assert chord > 0.0
    assert found["yaw_rate_ratio_1s"].value == pytest.approx(R / tight, rel=1e-6)
    assert found["path_deviation_1s"].value == pytest.approx(inward, abs=2e-3)


def test_sweep_profile():
    """Rates are derivatives, in both fades too; the frequency grows from low to high."""
    profile, h = SineSweep(1.0, 0.3, 0.2, 4.0, 30.0), 1e-5
    for t in (1.2, 3.7, 6.01, 12.3, 28.6, 30.2):
        (a, _, _), (_, fd, fdd), (b, _, _) = profile(t - h), profile(t), profile(t + h)
        assert fd == pytest.approx((b - a) / (2 * h), abs=1e-7)
        rates = profile(t - h)[1], profile(t + h)[1]
        assert fdd == pytest.approx((rates[1] - rates[0]) / (2 * h), abs=2e-5)
    assert profile(0.5) == profile(31.5) == (0.0, 0.0, 0.0)
    inside = np.linspace(6.0, 28.0, 200_001)
    values = np.array([profile(t)[0] for t in inside[::10]])
    assert np.max(np.abs(values)) == pytest.approx(0.3, rel=1e-3)


def test_frequency_response_of_a_filter():
    """Gain, phase and coherence of a linear filter of second order against its transfer function."""
    h, w0, d = 2e-3, 9.0, 0.4
    t = np.arange(0.0, 34.0, h)
    x = np.array([SineSweep(0.5, 0.3, 0.2, 4.0, 30.0)(one)[0] for one in t])
    b, a = bilinear([w0**2], [1.0, 2.0 * d * w0, w0**2], fs=1.0 / h)
    y = lfilter(b, a, x)
    found = estimates({"t": t, "steering_angle": x} | dict.fromkeys(ANSWERS, y), h, 0.15, 0.2, 4.0)
    f = found["frequency"]
    exact = freqz(b, a, worN=2.0 * np.pi * f * h)[1]
    good = (f > 0.4) & (f < 3.0)
    assert found["gain_roll"][good] == pytest.approx(np.abs(exact)[good], rel=0.02)
    assert np.max(np.abs(np.angle(np.exp(1j * found["phase_roll"]) / exact))[good]) < 0.035
    assert np.min(found["coherence_roll"][good]) > 0.99


@pytest.mark.slow
def test_frequency_response():
    """The sweep has the response of the linearised car: 2 % and 2 degrees below 2 Hz; a slow one is the two-wheel's."""
    car = read("sedan", variant="from_models")
    rest = car.changed(steer=0.0).rest()
    report = FrequencyResponse(speed=20.0, angle=0.02).run(car)
    f = report.signals["frequency"]
    linear, below = linear_response(car, 20.0, f, rest=rest), f < 2.0
    for name in ANSWERS:
        exact = getattr(linear, name)
        assert report.signals[f"gain_{name}"][below] == pytest.approx(np.abs(exact)[below], rel=0.02)
        turned = np.angle(np.exp(1j * report.signals[f"phase_{name}"]) / exact)
        assert np.max(np.abs(turned[below])) < np.radians(2.0)
        assert np.min(report.signals[f"coherence_{name}"][below]) > 0.99
    assert report["yaw_rate_equivalent_time"] < 0.2
    assert abs(report["yaw_rate_phase_1hz"]) < 0.2


@pytest.mark.slow
def test_braking_in_a_turn():
    """The car slows down as its brakes are set, and turns in."""
    car = read("sedan", variant="from_models")
    report = BrakingInTurn(settle=4.0, after=1.2).run(car)
    torque = 0.25 * 2.0 * (0.5 + 0.5) * car.data.max_brake_torque * 2.0
    assert report["deceleration"] == pytest.approx(0.9 * torque / 0.33 / 1730.0, rel=0.2)  # rises in 0.2 s, engine drag
    assert report["yaw_rate_ratio_1s"] > 1.0
    assert abs(report["path_deviation_1s"]) < 1.0


@pytest.mark.slow
def test_split_braking():
    """The car turns to the side with more friction; mirrored friction, mirrored motion; a driver holds it."""
    car = read("sedan", variant="from_models")
    driven = SplitBraking(duration=2.0).run(car)
    held = [SplitBraking(left=a, right=b, steering="held", duration=1.0).run(car) for a, b in ((1.0, 0.4), (0.4, 1.0))]
    assert held[0]["yaw_1s"] > 0.1
    assert held[0]["yaw_1s"] == pytest.approx(-held[1]["yaw_1s"], rel=1e-6)
    assert driven["yaw"] < held[0]["yaw"]
    assert driven["peak_steering"] > 0.1


@pytest.mark.slow
def test_coast_down():
    """Rolling resistance of TMeasy: the moment f R0 Fz over loaded radius, mass and spin inertia."""
    car = read("sedan", tyres="tmeasy")
    report = CoastDown(speed=20.0, duration=4.0).run(car)
    tyre, rest = car.tyres["fl"], car.rest()
    height = rest.wheel_heights["fl"]
    radius = (2.0 * tyre.free_radius + height) / 3.0
    moving = car.at_speed(20.0, rest)
    spin = sum(float(moving.bodies[f"wheel_{c}"].inertia[1, 1]) for c in car.tyres)
    mass = 1671.261 + spin / radius**2
    wanted = tyre.rolling_resistance * tyre.free_radius / radius * 1671.261 * 9.81 / mass
    toe = 129189 * np.mean(np.square(list(rest.toe.values()))) * 2 / mass  # side forces of toe drag too
    assert report["mean_deceleration"] == pytest.approx(wanted + toe, rel=0.05)
    mean = 0.5 * (report["initial_speed"] + report["final_speed"])
    assert report["distance"] == pytest.approx(mean * report["duration"], rel=1e-3)


@pytest.mark.parametrize(
    ("manoeuvre", "words"),
    [
        (DoubleLaneChange(standard="ISO 1"), "standard is 'ISO 1'; it must be one of ISO 3888-1, ISO 3888-2"),
        (DoubleLaneChange(speed=-1.0), "speed is -1; it must be above zero"),
        (DoubleLaneChange(width=0.0), "width is 0; it must be above zero"),
        (SineSteer(speed=20.0, frequency=0.0), "must be above zero"),
        (SineWithDwell(speed=0.0), "speed is 0; it must be above zero"),
        (SteadyCircle(radius=3.0), "the radius must be 10 m or more"),
        (SteadyCircle(step=2.0), "three levels must lie from 1 to 4"),
        (ThrottleRelease(lateral_acceleration=-4.0), "the acceleration above zero"),
        (CoastDown(speed=3.0), "the first must be above the second"),
        (FrequencyResponse(speed=20.0, band=0.01), "three lines in the band"),
        (BrakingInTurn(brake=2.0), "the brake above 0 and at most 1"),
        (SplitBraking(left=0.0), "must be above zero"),
        (SplitBraking(steering="free"), "it must be one of driver, held"),
    ],
)
def test_more_refusals(manoeuvre, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        manoeuvre.run(read("sedan", variant="from_models"))

"""Step steer and braking: metrics against a run of Chrono, closed forms and signals made by hand."""

from dataclasses import replace

import numpy as np
import pytest

import rtmbs
from rtmbs.vehicle import Braking, Car, StepSteer, read
from rtmbs.vehicle.manoeuvres import first_peak, response_time, steady

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
        (Braking(speed=20.0, torque=-1.0), "speed and torque must be above zero"),
    ],
)
def test_refusals(manoeuvre, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        manoeuvre.run(read("sedan"))

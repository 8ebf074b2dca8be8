"""Trailer behind a car: moments about the hitch, the balance of power, a slow circle, and a road under its wheels."""

from functools import cache

import numpy as np
import pytest

import rtmbs
from bench.measures import trailer_roll, trailer_sway
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import (
    Differential,
    DrivenCar,
    GridRoad,
    HeldSteering,
    PedalTable,
    PlaneRoad,
    Ramp,
    RoadUnderWheels,
    SpeedController,
    TandemCams,
    Trailer,
    power_balance,
    read,
)
from rtmbs.vehicle.manoeuvres.report import signals_of
from rtmbs.vehicle.manoeuvres.steer_inputs import OneSine, held_torque

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
SIZES = {
    "hitch": (-2.3, 0.0, 0.05), "mass": 600.0, "com": (-2.3, 0.0, 0.3), "inertia": (200.0, 900.0, 950.0),
    "wheel_centre": (-2.5, 0.8, -0.1), "stiffness": 4e4, "damping": 3e3,
}  # fmt: skip
BALL = np.array(SIZES["hitch"])
GRID = np.linspace(-8.0, 4.0, 121), np.linspace(-4.0, 4.0, 81)
ROUGH = (*GRID, 0.02 * np.sin(7.0 * GRID[0])[:, None] * np.cos(5.0 * GRID[1] + 1.0))


@cache
def car_of():
    return read("sedan", variant="from_models", trailer=Trailer(**SIZES))


@cache
def rest_of():
    return car_of().changed(steer=0.0).rest()


def test_rest():
    """Loads sum to the weight; the moments of weights and wheel loads of the trailer about the hitch are equal."""
    found = rest_of().equilibrium.simulation
    bodies = car_of().bodies
    loads = {corner: float(found[f"tyre_{corner}.force"][2]) for corner in ("tl", "tr")}
    weight = 9.81 * sum(body.mass for body in bodies.values())
    assert sum(rest_of().wheel_loads.values()) + sum(loads.values()) == pytest.approx(weight, rel=1e-10)
    ball = found["chassis.position"] + rotations(found["chassis.orientation"]) @ BALL
    own = ("trailer", "arm_tl", "arm_tr", "wheel_tl", "wheel_tr")
    moment = sum(9.81 * bodies[name].mass * (found[f"{name}.position"] - ball)[0] for name in own)
    held = sum(load * (found[f"wheel_{corner}.position"] - ball)[0] for corner, load in loads.items())
    assert held == pytest.approx(moment, rel=1e-9)
    alone = read("sedan", variant="from_models", steer=0.0).rest()
    assert rest_of().wheel_loads["rl"] > alone.wheel_loads["rl"]  # the hitch carries a part of the trailer
    assert rest_of().wheel_loads["fl"] < alone.wheel_loads["fl"]


def test_a_start_is_straight():
    """Nothing holds the heading of a trailer at rest; a truck that is not symmetric begins with a straight train."""
    trailer = Trailer(**(SIZES | {"hitch": (-2.6, 0.0, 0.1)}))
    truck = read("hmmwv", trailer=trailer, steer=0.0)
    rest = truck.rest()
    sim = rtmbs.Simulation(truck.at_speed(5.0, rest).compile(), h=1e-3)
    R = {name: rotations(sim[f"{name}.orientation"]) for name in ("chassis", "trailer")}
    assert np.arctan2(R["trailer"][1, 0], R["trailer"][0, 0]) == pytest.approx(0.0, abs=1e-9)
    assert np.arctan2(R["chassis"][1, 0], R["chassis"][0, 0]) == pytest.approx(0.0, abs=1e-9)
    at_rest = rest.equilibrium.simulation
    for corner in ("tl", "tr", "rl"):
        load = at_rest[f"tyre_{corner}.force"][2]
        assert sim[f"tyre_{corner}.force"][2] == pytest.approx(load, rel=1e-6)
    turn = rotations(at_rest["trailer.orientation"])
    assert abs(np.arctan2(turn[1, 0], turn[0, 0])) > 1e-3  # what the start takes away


def test_hitch_load():
    """While it brakes and turns, the reaction of the hitch is what the trailer lacks to mass times acceleration."""
    car = car_of().changed(steer=Ramp(0.05, 0.25, 0.0, 0.3)).at_speed(20.0, rest_of())
    sim = rtmbs.Simulation(car.compile(), h=2e-3)
    for corner in ("fl", "fr", "rl", "rr"):
        sim.inputs[f"brake_{corner}.torque"] = 400.0
    result = sim.run(0.6)
    own = ("trailer", "arm_tl", "arm_tr", "wheel_tl", "wheel_tr")
    weight = np.array((0.0, 0.0, -9.81)) * sum(car.bodies[name].mass for name in own)
    needed = sum(car.bodies[name].mass * result[f"{name}.acceleration"] for name in own) - weight
    hitch = needed - result["tyre_tl.force"] - result["tyre_tr.force"]
    assert np.max(hitch[100:, 0]) < -500.0  # the trailer pushes the car: the hitch holds it back
    assert np.max(np.abs(hitch[100:, 1])) > 200.0
    assert result["hitch.reaction"][:, :3] == pytest.approx(hitch, abs=1e-5 * np.max(np.abs(hitch)))


@pytest.mark.parametrize("damping", [0.0, pytest.param(trailer_sway.STABILISER, marks=pytest.mark.slow)])
def test_sway(damping):
    """Frequency and damping of the sway are those of an own single-track model; a stabiliser damps it."""
    car = trailer_sway.stiffened(trailer_sway.towing(hitch_damping=damping))
    (frequency, ratio, left), own = trailer_sway.measured(car, trailer_sway.rest_of(car), 15.0)
    assert left < 0.01
    assert frequency == pytest.approx(own[0], rel=0.02)
    assert ratio == pytest.approx(own[1], abs=0.025)
    assert damping == 0.0 or ratio > 0.28


@pytest.mark.slow
def test_sway_with_roll():
    """With the springs of the data, an own model with roll has the damping; roll and roll steer take it away."""
    car = trailer_sway.towing()
    rest = trailer_sway.rest_of(car)
    (frequency, ratio, _), single = trailer_sway.measured(car, rest, 15.0)
    own, fixed = (
        trailer_sway.least_damped(trailer_roll.roll_modes(car, rest, 15.0, lack)) for lack in ("", "roll steer")
    )
    assert frequency == pytest.approx(own[0], rel=0.015)
    assert ratio == pytest.approx(own[1], abs=0.02)
    assert own[1] < fixed[1] - 0.02
    assert fixed[1] < single[1] - 0.08


@pytest.mark.slow
@pytest.mark.parametrize("brakes", ["rear wheels", "trailer"])
def test_jackknife(brakes):
    """Locked rear wheels of the car let the trailer fold it; brakes of the trailer alone stretch the train."""
    car = car_of().changed(steer=OneSine(0.1, 0.05, 2.0), friction=0.5).at_speed(20.0, rest_of())
    sim = rtmbs.Simulation(car.compile(), h=2e-3)
    for side in "lr":
        sim.inputs[f"brake_{'r' if brakes == 'rear wheels' else 't'}{side}.torque"] = 3000.0
    angle = np.abs(trailer_sway.angle_of(sim.run(2.5)))
    assert np.max(angle) > 0.6 if brakes == "rear wheels" else np.max(angle) < 0.1


def test_power_balance():
    """Power of all elements, those of the trailer and its stabiliser too, gives what the energy changes."""
    car = car_of().changed(trailer=Trailer(**SIZES, hitch_damping=2000.0))
    pedals = PedalTable(lambda t: max(0.0, np.sin(12.0 * t)), lambda t: 0.3 * max(0.0, -np.sin(12.0 * t)))
    driven = DrivenCar(car, 20.0, pedals, HeldSteering(0.15), rest=rest_of())
    driven.simulation.inputs["brake_tl.torque"] = driven.simulation.inputs["brake_tr.torque"] = 100.0
    result = driven.run(0.4)
    balance = power_balance(driven.car, result)
    assert balance.error < 1e-6
    turn = rotations(result["chassis.orientation"]).transpose(0, 2, 1) @ rotations(result["trailer.orientation"])
    spin = np.gradient(turn, result["t"], axis=0) @ turn.transpose(0, 2, 1)  # cross-product matrix of the rate
    heat = 2000.0 * np.trapezoid((0.5 * (spin[:, 1, 0] - spin[:, 0, 1])) ** 2, result["t"])
    assert heat > 1e-4 * balance.exchanged  # a hundred times the allowed error
    assert -balance.work["stabiliser"] == pytest.approx(heat, rel=1e-4)
    assert balance.work["brake_tl"] < -100.0
    assert abs(balance.work["spring_tl"]) > 0.1


def test_held_throttle():
    """The held torque carries the spin of heavy trailer wheels and of a heavy differential: the speed stays."""
    heavy = Trailer(**SIZES, wheel_inertia=(8.0, 15.0))
    car = car_of().changed(steer=0.0, trailer=heavy, differentials={"front": Differential(inertia=20.0)})
    torque, slows = held_torque(car, 20.0, 2e-3, 1.0, rest_of()), []
    for drive in (0.0, torque):
        moving = car.at_speed(20.0, rest_of())
        sim = rtmbs.Simulation(moving.compile(), h=2e-3)
        sim.inputs["drive.torque"] = drive
        signals = signals_of(moving, sim.run(1.0))
        slows.append(np.mean(signals["longitudinal_acceleration"][signals["t"] > 0.5]))
    assert slows[0] < -0.01
    assert abs(slows[1]) < 0.01 * abs(slows[0])


@pytest.mark.slow
def test_slow_circle():
    """On a slow circle the trailer has the angle of rolling wheels: its axle points to the centre of the path."""
    driven = DrivenCar(car_of(), 2.0, SpeedController.of_car(car_of(), 2.0), HeldSteering(0.5), rest=rest_of(), h=2e-3)
    result = driven.run(14.0, every=0.1)
    R = {name: rotations(result[f"{name}.orientation"][-1]) for name in ("chassis", "trailer")}
    w = result["chassis.angular_velocity"][-1]
    v = result["chassis.velocity"][-1] + np.cross(w, R["chassis"] @ BALL)
    path = np.arctan2(v[1], v[0]) - np.arctan2(R["chassis"][1, 0], R["chassis"][0, 0])
    wanted = np.arcsin(2.5 * w[2] / np.linalg.norm(v[:2])) - path
    turn = R["trailer"].T @ R["chassis"]
    assert wanted > 0.1
    assert np.arctan2(turn[1, 0], turn[0, 0]) == pytest.approx(wanted, rel=0.015)


@pytest.mark.slow
def test_on_a_road():
    """A road that rises lies under the wheels of the trailer too."""
    pedals = PedalTable(lambda t: 0.0, lambda t: 0.0)
    driven = DrivenCar(car_of(), 5.0, pedals, rest=rest_of(), road=PlaneRoad(grade=0.02))
    driven.run(0.05)
    assert driven.simulation.inputs["tyre_tl.plane"][1] == pytest.approx(0.02)


def own_plane(road, centre, ahead, radius, cams):
    """Return height and slopes along x and y under two cams on two tracks, by the equation of the ellipse."""
    left, spots = np.array((-ahead[1], ahead[0])), {}
    for fore in (-0.5, 0.5):
        for side in (-0.5, 0.5):
            along = np.linspace(-cams.a, cams.a, 4001) * radius
            low = -cams.b * radius * (1.0 - np.abs(along / (cams.a * radius)) ** cams.c) ** (1.0 / cams.c)
            at = centre[:2, None] + (fore * cams.shift + along) * ahead[:, None] + side * cams.width * left[:, None]
            spots[fore, side] = np.max(road.height(*at) - low) - cams.b * radius
    slope = (spots[0.5, 0.5] + spots[0.5, -0.5] - spots[-0.5, 0.5] - spots[-0.5, -0.5]) / (2.0 * cams.shift)
    tilt = (spots[0.5, 0.5] + spots[-0.5, 0.5] - spots[0.5, -0.5] - spots[-0.5, -0.5]) / (2.0 * cams.width)
    return (sum(spots.values()) / 4.0, *(slope * ahead + tilt * left))


def test_envelope_of_a_turned_trailer():
    """Cams under the wheels of a trailer at an angle lie along its wheels, square to the line of both centres."""
    moving = car_of().changed(steer=0.0, uneven=True).at_speed(0.0, rest_of())
    half = 0.25
    del moving.initials["hitch"]
    moving.set_initial("hitch", (np.cos(half), 0.0, 0.0, np.sin(half)), pin=False, weight=1e9)
    sim, cams = rtmbs.Simulation(moving.compile(), h=1e-3), TandemCams()
    place = {corner: np.array(sim[f"wheel_{corner}.position"]) for corner in ("tl", "tr", "rl", "rr")}
    road = GridRoad(*ROUGH)
    found = RoadUnderWheels(sim, moving, road, cams).under(0.0)
    for axle, angle in (("t", 0.5), ("r", 0.0)):
        line = place[f"{axle}l"] - place[f"{axle}r"]
        ahead = np.array((line[1], -line[0])) / np.hypot(*line[:2])
        assert np.arctan2(ahead[1], ahead[0]) == pytest.approx(angle, abs=1e-3)
        for corner in (f"{axle}l", f"{axle}r"):
            z, dx, dy = own_plane(road, place[corner], ahead, moving.tyres["rl"].free_radius, cams)
            (c, a, b), _ = found[corner]
            assert (a, b) == pytest.approx((dx, dy), abs=1e-4)
            assert c + a * place[corner][0] + b * place[corner][1] == pytest.approx(z, abs=1e-5)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"mass": 0.0}, "mass is 0; it must be above zero"),
        ({"damping": -1.0}, "damping is -1; it must be zero or more"),
        ({"wheel_centre": (0.5, 0.8, 0.0)}, "it must be behind and left of the hitch"),
        ({"wheel_inertia": (0.6, -1.0)}, r"wheel_inertia is \(0.6, -1.0\); both must be above zero"),
        ({"wheel_inertia": (0.6, 1.3)}, "wheel_inertia .* breaks the triangle inequality"),
        ({"wheel_inertia": 1.0}, "trailer: wheel_inertia"),
        ({"tyre": 3}, "tyre is 3; it must be a Tyre"),
    ],
)
def test_refusals(wrong, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        Trailer(**(SIZES | wrong))


def test_no_trailer():
    with pytest.raises(rtmbs.errors.ModelError, match="trailer is 3; it must be a Trailer"):
        car_of().changed(trailer=3)

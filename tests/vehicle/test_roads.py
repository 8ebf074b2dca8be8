"""Roads: slopes against differences, spectra, rotated tyre laws, cars over bumps, enveloping cams, split friction."""

import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import welch

import rtmbs
from rtmbs.model.forces import Kinematics
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import (
    DrivenCar,
    GridRoad,
    HeldSteering,
    ObstacleRoad,
    PedalTable,
    PlaneRoad,
    ProfileRoad,
    Road,
    RoadUnderWheels,
    TandemCams,
    bump,
    cleat,
    hump,
    iso_8608,
    plateau,
    read,
    split_friction,
)
from rtmbs.vehicle.tyre_force import TyreLaw, on_plane

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
X, Y = np.linspace(0.0, 12.0, 61), np.linspace(-3.0, 3.0, 31)
WAVES = 0.05 * np.sin(X)[:, None] * np.cos(0.7 * Y)
ROADS = {
    "plane": PlaneRoad(0.1, -0.03),
    "grid": GridRoad(X, Y, WAVES),
    "profile": ProfileRoad(X, 0.05 * np.sin(X), 0.03 * np.cos(X)),
    "obstacles": ObstacleRoad([bump(1.0, 0.05, 1.0), hump(3.0), plateau(7.0, top=1.0)]),
    "random": iso_8608("C", 8.0, seed=3, lead=1.0),
}


@cache
def car_of():
    return read("sedan", variant="from_models", steer=0.0)


@cache
def rest_of():
    return car_of().rest()


def rolling(road, speed, h=1e-3, envelope=None, brake=0.0):
    """Return the car that rolls straight on over a road."""
    pedals = PedalTable(lambda t: 0.0, lambda t: brake)
    return DrivenCar(car_of(), speed, pedals, rest=rest_of(), road=road, envelope=envelope, h=h)


@pytest.mark.parametrize("name", ROADS)
def test_slopes(name):
    """Slopes equal central differences; along a grid and beyond its edges too."""
    road, h = ROADS[name], 1e-6
    x, y = np.array([0.53, 1.37, 3.91, 7.36, 8.57, 11.0, 14.0]), np.array([0.4, -0.3, 0.6, 0.2, -0.5, 0.1, 4.0])
    dx, dy = road.slopes(x, y)
    assert np.broadcast_to(dx, x.shape) == pytest.approx(
        (road.height(x + h, y) - road.height(x - h, y)) / (2 * h), abs=2e-6
    )
    assert np.broadcast_to(dy, x.shape) == pytest.approx(
        (road.height(x, y + h) - road.height(x, y - h)) / (2 * h), abs=2e-6
    )


def test_grid_has_its_heights():
    assert ROADS["grid"].height(X[5:9], Y[4:8]) == pytest.approx(np.diag(WAVES[5:9, 4:8]), abs=1e-12)
    assert ROADS["grid"].height(5.03, 0.33) == pytest.approx(0.05 * np.sin(5.03) * np.cos(0.7 * 0.33), abs=1e-6)


@pytest.mark.slow
def test_spectrum():
    """The spectral density of class B is 64e-6 (n / 0.1)^-2 m^3, in octaves from 0.05 to 1.6 cycles a metre."""
    road = iso_8608("B", 4000.0, seed=1, two_tracks=True)
    x = np.arange(100.0, 4000.0, 0.1)
    for y in (0.75, -0.75):
        n, G = welch(road.height(x, y), fs=10.0, nperseg=4096)
        for low in 0.05 * 2.0 ** np.arange(5):
            band = (n >= low) & (n < 2.0 * low)
            assert np.mean(G[band] * (n[band] / 0.1) ** 2) == pytest.approx(64e-6, rel=0.12)
    left, right = road.height(x, 0.75), road.height(x, -0.75)
    assert abs(np.corrcoef(left, right)[0, 1]) < 0.3
    again = iso_8608("B", 40.0, seed=7)
    assert np.array_equal(again.height(x[:50], 0.0), iso_8608("B", 40.0, seed=7).height(x[:50], 0.0))


def test_law_on_a_plane_is_the_flat_law_turned():
    """Force, moment and rates on an inclined plane equal those on the flat road in turned axes."""
    rng, tyre = np.random.default_rng(4), car_of().tyres["fl"]
    law = TyreLaw(tyre, True)
    states = {"slip_x": 0.002, "slip_y": -0.003}
    for _ in range(20):
        q = np.array([1.0, *rng.uniform(-0.1, 0.1, 3)])
        R = rotations(q / np.linalg.norm(q))
        v, w = rng.uniform(-1, 1, 3), rng.normal(size=3)
        v[0], w[1] = v[0] + 15.0, w[1] + 45.0
        flat = Kinematics(np.array([*rng.uniform(-5, 5, 2), 0.33]), R, v, w)
        plane = rng.uniform(-0.2, 0.2, 3)
        turn, _ = on_plane(flat, plane)
        assert turn @ turn.T == pytest.approx(np.eye(3), abs=1e-14)
        assert turn[:, 2] @ (1.0, 0.0, plane[1]) == pytest.approx(0.0, abs=1e-14)
        assert turn[:, 2] @ (0.0, 1.0, plane[2]) == pytest.approx(0.0, abs=1e-14)
        moved = Kinematics(turn @ flat.r + (0, 0, plane[0]), turn @ R, turn @ flat.v, turn @ flat.w)
        (f, n), rates = law(0.0, flat, {"friction": 1.0, "side": 1.0}, states)
        (g, m), found = law(0.0, moved, {"friction": 1.0, "side": 1.0, "plane": plane}, states)
        assert g == pytest.approx(turn @ f, abs=1e-7)
        assert m == pytest.approx(turn @ n, abs=1e-7)
        assert found == pytest.approx(rates, abs=1e-9)


def test_grade_slows_down():
    """On a grade of 5 % the car that rolls loses g sin, with the spin inertia of its wheels."""
    driven = rolling(PlaneRoad(0.05), 15.0)
    driven.run(1.0)
    before = np.linalg.norm(driven.simulation["chassis.velocity"])
    driven.run(2.0)
    lost = before - np.linalg.norm(driven.simulation["chassis.velocity"])
    spin = sum(float(driven.car.bodies[f"wheel_{c}"].inertia[1, 1]) for c in driven.car.tyres)
    mass = 1678.299 * (1.0 + spin / 0.337**2 / 1678.299)
    drag = 0.3  # m/s^2 at most: engine and toe
    expected = 1678.299 * 9.81 * np.sin(np.arctan(0.05)) / mass
    assert expected < lost < expected + drag


class Swell(Road):
    """A smooth bump without an edge."""

    def height(self, x, y):
        return 0.02 * np.exp(-(((x - 6.0) / 1.5) ** 2)) + 0.0 * y


@pytest.mark.slow
def test_stands_on_a_grade():
    """On a grade of 10 % the car brakes to rest from 3 m/s uphill, rocks, and stays within 1 mm for 10 s."""
    driven = rolling(PlaneRoad(0.1), 3.0, 2e-3, brake=1.0)
    driven.run(6.0, every=0.1)
    place = driven.simulation["chassis.position"]
    result = driven.run(16.0, every=0.1)
    away = np.linalg.norm(result["chassis.position"] - place, axis=1)
    assert np.max(away) < 1e-3
    assert np.ptp(away[-50:]) < 1e-6  # the rocking has died, and nothing creeps


@pytest.mark.parametrize(
    "road",
    [ProfileRoad(X, np.full(len(X), -0.3)), PlaneRoad(0.1), PlaneRoad(-0.08, 0.06)],
    ids=["low", "grade", "bank"],
)
def test_a_car_begins_on_its_road(road):
    """A driven car begins in its pose of rest on a plane road: loads along the normal are those of rest."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        driven = rolling(road, 8.0)
    assert not any("begins" in str(one.message) for one in told)
    sim = driven.simulation
    a, b = (float(slope) for slope in road.slopes(0.0, 0.0))
    normal = np.array((-a, -b, 1.0)) / np.sqrt(1.0 + a * a + b * b)
    for corner, load in rest_of().wheel_loads.items():
        assert float(normal @ sim[f"tyre_{corner}.force"]) == pytest.approx(load, rel=1e-8)
    velocity, R = sim["chassis.velocity"], rotations(sim["chassis.orientation"])
    assert velocity == pytest.approx(8.0 * np.array((1.0, 0.0, a)) / np.sqrt(1.0 + a * a), abs=1e-12)
    assert abs(R[1, 0]) < 1e-3  # straight on


def test_a_flat_road_changes_no_digit():
    """On a road of height 0 the car begins with the bytes of one without a road."""
    poses = [car_of().changed(uneven=True).at_speed(8.0, rest_of(), road=road).initials for road in (None, PlaneRoad())]
    assert poses[0]["chassis_pose"].position.tobytes() == poses[1]["chassis_pose"].position.tobytes()
    with pytest.raises(rtmbs.errors.ModelError, match=r"road is 0\.1; it must be a Road"):
        car_of().at_speed(8.0, rest_of(), road=0.1)


@pytest.mark.parametrize(("height", "words"), [(-0.3, r"above the road"), (0.2, "deep in the road")])
def test_a_wrong_height_at_the_start_is_told(height, words):
    """A car stands on the height 0 when it is not given its road; a file of a road may begin anywhere."""
    car = car_of().changed(uneven=True).at_speed(8.0, rest_of())
    sim = rtmbs.Simulation(car.compile(), h=1e-3)
    with pytest.warns(rtmbs.RtmbsWarning, match=rf"wheel_fl begins .* m {words}, .*; give the road to at_speed"):
        RoadUnderWheels(sim, car, ProfileRoad(X, np.full(len(X), height)))


@pytest.mark.slow
def test_order_over_a_bump():
    """The motion over a smooth bump converges with order two although planes are set between steps."""
    ends = []
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4):
        car = car_of().changed(uneven=True).at_speed(8.0, rest_of())
        sim = rtmbs.Simulation(car.compile(), h=h)
        under = RoadUnderWheels(sim, car, Swell())
        for _ in range(round(0.8 / h)):
            under.act()
            assert sim.step().outcome.accepted
        ends.append(sim["chassis.position"][2])
    errors = np.abs(np.diff(ends))
    assert errors[-1] < 1e-5
    assert errors[0] / errors[1] > 3.0
    assert errors[1] / errors[2] > 3.0


@pytest.mark.slow
def test_wheels_follow_a_long_bump():
    """At walking pace wheel centres follow a long bump within 3 mm, and the loads sum to the weight afterwards."""
    driven = rolling(ObstacleRoad([bump(2.0, 0.06, 8.0)]), 3.0, 2e-3)
    result = driven.run(2.4)
    wheel = result["wheel_fl.position"]
    road = driven.road.road.height(wheel[:, 0], 0.0)
    assert np.max(np.abs(wheel[200:, 2] - road[200:] - rest_of().wheel_heights["fl"])) < 3e-3
    assert np.max(road) > 0.055


def test_cams():
    """Flat roads stay flat; a long wave is followed; a cleat has a basic curve that is longer and lower than a step."""
    cams, R = TandemCams(), 0.344
    ahead = np.array((1.0, 0.0))
    assert cams.plane(PlaneRoad(), np.zeros(2), ahead, R) == pytest.approx((0.0, 0.0, 0.0), abs=1e-15)
    long = ObstacleRoad([bump(0.0, 0.02, 12.0)])
    z, dx, dy = cams.plane(long, np.array((3.0, 0.0)), ahead, R)
    assert z == pytest.approx(float(long.height(3.0, 0.0)), abs=1e-4)
    assert dx == pytest.approx(float(long.slopes(3.0, 0.0)[0]), abs=1e-3)
    assert dy == pytest.approx(0.0, abs=1e-12)
    road = ObstacleRoad([cleat(1.0, 0.01, 0.03)])
    x = 1.015 + np.linspace(-0.5, 0.5, 801)
    z, slope, _ = np.array([cams.plane(road, np.array((at, 0.0)), ahead, R) for at in x]).T
    assert np.max(z) == pytest.approx(0.005, abs=2e-4)  # one of both cams on top
    assert np.ptp(x[z > 1e-6]) > 0.03 + 0.12  # longer than cleat and distance of the cams
    assert z == pytest.approx(z[::-1], abs=4e-4)
    assert np.trapezoid(slope, x) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.slow
def test_over_a_cleat():
    """A cleat of 15 mm at 8 m/s: the load rises and falls, the car settles, the run repeats."""
    road = ObstacleRoad([cleat(4.0, 0.015, 0.03)])
    result = rolling(road, 8.0, envelope=TandemCams()).run(0.8)
    load = result["tyre_fl.force"][:, 2]
    rest = rest_of().wheel_loads["fl"]
    assert np.max(load) > 1.2 * rest
    assert abs(load[-1] - rest) < 0.25 * rest


def test_split_friction():
    """On a road that is slippery on the right the braking car turns to the left."""
    road = PlaneRoad(friction=split_friction(1.0, 0.2))
    driven = rolling(road, 20.0, brake=0.5)
    driven.steering = None
    driven.run(0.6)
    assert driven.motion().yaw_rate > 0.05
    assert driven.simulation.inputs["tyre_fl.friction"] == 1.0
    assert driven.simulation.inputs["tyre_fr.friction"] == 0.2


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PlaneRoad(friction=0.0), "friction is 0.0; it must be above zero"),
        (lambda: GridRoad([0, 1, 2], Y, WAVES), "x of the grid must be at least four increasing numbers"),
        (lambda: GridRoad(X, Y, WAVES.T), "heights have shape"),
        (lambda: ProfileRoad([0, 1, 1, 2], np.zeros(4)), "x of a profile must be at least four"),
        (lambda: iso_8608("Z", 10.0), "class is 'Z'; it must be one of A, B"),
        (lambda: iso_8608("A", -1.0), "length is -1; it must be above zero"),
        (lambda: iso_8608("A", 10.0, spacing=0.0), "spacing is 0; it must be above zero"),
        (lambda: iso_8608("A", 1e9), "at the spacing 0.05 is too long; 1e.07 points at most"),
        (lambda: iso_8608("A", 10.0, seed=-1), "seed is -1; it must be a whole number, zero or more"),
        (lambda: iso_8608("A", 10.0, lead=-1.0), "lead is -1; it must be zero or more"),
        (
            lambda: ProfileRoad(X, np.full(len(X), np.nan)),
            "left has numbers that are not finite; every number must be finite",
        ),
        (lambda: ProfileRoad(X, 0.0 * X, track=0.0), "track is 0; it must be above zero"),
        (lambda: GridRoad("a", Y, WAVES), "x is 'a'; it must be numbers"),
        (lambda: bump(0.0, 0.1, 0.0), "bump: length is 0; it must be above zero"),
        (lambda: hump(0.0, 0.0), "hump: height is 0; it must be above zero"),
        (lambda: plateau(0.0, 0.1, 0.0), "plateau: ramp is 0; it must be above zero"),
        (lambda: cleat(0.0, 0.01, 1e-3), "cleat: length is 0.001; it must be twice the edge of 0.001 or more"),
        (lambda: split_friction(0.0, 1.0), "left friction is 0; it must be above zero"),
        (lambda: ObstacleRoad(hump(0.0)), "obstacles is .*; it must be a list of them"),
        (lambda: ObstacleRoad([hump(0.0)], (1.0, -1.0)), "its first number must be below its second one"),
        (lambda: TandemCams(c=0.0), "c is 0; it must be above zero"),
        (lambda: RoadUnderWheels(None, car_of(), "lane"), "it must be a Road such as GridRoad"),
        (
            lambda: RoadUnderWheels(SimpleNamespace(), car_of(), PlaneRoad()),
            "it must have the option uneven=True for a road",
        ),
    ],
)
def test_refusals(make, words):
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        make()


@pytest.mark.slow
def test_held_steering_on_a_random_road():
    """A class C road: the car stays near its line, and every step converges."""
    driven = DrivenCar(
        car_of(), 15.0, PedalTable(lambda t: 0.0, lambda t: 0.0), HeldSteering(0.0), rest=rest_of(),
        road=iso_8608("C", 40.0, seed=2, lead=2.0),
    )  # fmt: skip
    result = driven.run(2.0)
    assert result.warnings == {}
    assert np.ptp(result["wheel_fl.position"][:, 2]) > 0.01
    assert abs(driven.motion().y) < 1.0

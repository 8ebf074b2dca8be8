"""Suspension templates: freedoms, kinematics against closed forms and data, rest, mirrored sides; struts and stops."""

from dataclasses import replace

import numpy as np
import pytest

import rtmbs
from bench.campaigns.car_designs import LINKS as FIVE_LINK
from bench.campaigns.car_designs import STRUT_TOWER as MACPHERSON
from bench.campaigns.car_designs import WISHBONES as WISHBONE
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.vehicle import (
    AntiRollBar,
    Axle,
    Car,
    Damper,
    DoubleWishbone,
    FiveLink,
    MacPherson,
    RackAndPinion,
    Ramp,
    Spring,
    Stops,
    part,
    read,
)
from rtmbs.vehicle.data_file import read_data
from rtmbs.vehicle.struts import knots_of
from tests.cases import spread

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
STRUT = {"spring": Spring(free_length=0.55, stiffness=9e4), "damper": Damper(4e3)}


def car_of(front: Axle | None = None, rear: Axle | None = None, **options) -> Car:
    """Return the sedan with other axles."""
    data = read_data("sedan", "from_models")
    data = data._replace(front=front or data.front, rear=rear or data.rear)
    return Car(data, read("sedan").tyres, **options)


@pytest.mark.parametrize(
    ("front", "rear"),
    spread(
        [
            (DoubleWishbone(**WISHBONE, **STRUT, steered=True), None),
            (MacPherson(**MACPHERSON, **STRUT, steered=True), None),
            (None, FiveLink(**FIVE_LINK, **STRUT)),
        ],
        1,
    ),
)
def test_templates_stand_and_steer(front, rear):
    """14 freedoms; loads sum to the weight; both sides are mirror images; the car turns left for a positive angle."""
    car = car_of(front and front.axle(), rear and rear.axle(), steer=Ramp(0.1, 0.3, 0.0, 0.4))
    rest = car.rest()
    weight = 9.81 * sum(body.mass for body in car.bodies.values())
    assert sum(rest.wheel_loads.values()) == pytest.approx(weight, rel=1e-8)
    for axle in "fr":
        assert rest.wheel_loads[f"{axle}l"] == pytest.approx(rest.wheel_loads[f"{axle}r"], rel=1e-6)
        assert rest.toe[f"{axle}l"] == pytest.approx(-rest.toe[f"{axle}r"], abs=1e-8)
    sim = rtmbs.Simulation(car.at_speed(15.0).compile(), 1e-3)
    assert sim.start_report.degrees_of_freedom == 14
    result = sim.run(0.8)
    assert result["chassis.angular_velocity"][-1][2] > 0.05


def test_a_car_of_parts():
    """A car without a file: chassis, templates, steering, a tyre of the user."""
    tyre = read("sedan").tyres["fl"]
    rack = part("steering_link", 2.0, (1.2, 0.0, 0.13), (0.1, 0.001, 0.1), "rack")
    parts = {
        "chassis": part("body", 1300.0, (0.0, 0.0, 0.25), (300.0, 1400.0, 1600.0), "chassis"),
        "front": DoubleWishbone(**WISHBONE, **STRUT, steered=True),
        "rear": FiveLink(**FIVE_LINK, **STRUT),
        "steering": RackAndPinion(rack, np.array([1.2, 0.0, 0.13]), 0.03, 2.5),
    }
    car = Car(name="mine", tyres=tyre, **parts, steer=0.0)
    rest = car.rest()
    assert sum(rest.wheel_loads.values()) == pytest.approx(9.81 * sum(one.mass for one in car.bodies.values()))
    assert car.driven == ("rl", "rr")
    with pytest.raises(rtmbs.errors.ModelError, match="car 'mine': rear, steering is missing"):
        Car(name="mine", tyres=tyre, chassis=parts["chassis"], front=parts["front"])
    with pytest.raises(rtmbs.errors.ModelError, match="tyres is missing"):
        Car(name="mine", **parts)
    with pytest.raises(rtmbs.errors.ModelError, match="2 is no axle"):
        Car(name="mine", tyres=tyre, **parts | {"rear": 2})
    with pytest.raises(rtmbs.errors.ModelError, match="driven is 'both'"):
        Car(name="mine", tyres=tyre, **parts, driven="both")
    with pytest.raises(rtmbs.errors.ModelError, match="'shaft_fl': its inertia is 0; it must be above zero"):
        Car(name="mine", tyres=tyre, **parts, driven="all")


def test_double_wishbone_equals_the_file():
    """The template with the masses of the file is the axle of the file."""
    given = read_data("sedan", "from_json")
    parts = {one.name: one for one in given.front.parts}
    laws = {one.name: one.law for one in given.front.struts}
    template = DoubleWishbone(
        **WISHBONE, spring=laws["spring"], damper=laws["shock"], steered=True, upright=parts["upright"],
        spindle=given.front.spindle, shaft_inertia=given.front.shaft_inertia,
    ).axle()  # fmt: skip
    own = tuple(parts.get(one.name, one) for one in template.parts)
    data = given._replace(front=replace(template, parts=own))
    rest = Car(data, read("sedan").tyres).rest()
    assert rest.wheel_loads["fl"] == pytest.approx(4178.172, rel=1e-6)
    assert rest.pitch == pytest.approx(0.04562288, abs=1e-7)


def test_camber_and_toe_at_design():
    """Static angles of a template are those of the wheel."""
    front = DoubleWishbone(**WISHBONE, **STRUT, steered=True, toe=0.01, camber=-0.02).axle()
    assert front.spin_axis == pytest.approx((-0.01, 1.0, -0.02), abs=3e-4)
    plain, set_up = car_of(DoubleWishbone(**WISHBONE, **STRUT, steered=True).axle()).rest(), car_of(front).rest()
    assert set_up.toe["fl"] - plain.toe["fl"] == pytest.approx(0.01, abs=1e-3)
    assert set_up.toe["fr"] - plain.toe["fr"] == pytest.approx(-0.01, abs=1e-3)
    assert set_up.camber["fl"] - plain.camber["fl"] == pytest.approx(-0.02, abs=1e-3)
    assert set_up.camber["fr"] - plain.camber["fr"] == pytest.approx(0.02, abs=1e-3)


def test_anti_roll_bar():
    """A bar changes nothing at rest on a level road, and raises the frequency of roll only."""
    data = read_data("sedan", "from_json")
    place, light = np.array([0.95, 0.0, -0.02]), {"mass": 1e-3, "moments": (1e-4, 1e-4, 1e-4)}
    bar = AntiRollBar(place, 0.5, 0.4, -0.02, 60000.0, 50.0, **light)
    tyres = read("sedan").tyres
    plain = Car(data, tyres).rest()
    barred = Car(data._replace(front=replace(data.front, anti_roll_bar=bar)), tyres).rest()
    assert barred.wheel_loads["fl"] == pytest.approx(plain.wheel_loads["fl"], rel=1e-4)
    free, held = (sorted(f for f in rest.modes.frequencies if f > 0.1) for rest in (plain, barred))
    assert held[:2] == pytest.approx(free[:2], rel=2e-3)  # heave, pitch
    assert held[2] > 1.01 * free[2]  # roll


def test_springs_with_stops():
    """Forces by hand; knots on straight lines are left out without a change."""
    stops = Stops(0.2, 0.3, [[0, 0], [0.01, 100.0], [0.02, 200.0]], [[0, 0], [0.01, 50.0], [0.02, 200.0]])
    spring = Spring(free_length=0.25, preload=10.0, stiffness=1000.0, stops=stops)
    for length, wanted in (
        (0.25, 10.0),
        (0.24, 20.0),
        (0.195, 10.0 + 55.0 + 50.0),
        (0.305, 10.0 - 55.0 - 25.0),
        (0.315, 10.0 - 65.0 - 125.0),
        (0.1, 10.0 + 150.0 + 200.0),
    ):
        assert spring.force(length) == pytest.approx(wanted)
    assert len(knots_of(stops.bump)[0]) == 2
    assert len(knots_of(stops.rebound)[0]) == 3
    assert Damper(table=[[-1, -300.0], [0, 0], [1, 900.0]]).force(0.5) == pytest.approx(-450.0)
    assert Damper(table=[[-1, -300.0], [0, 0], [1, 900.0]]).force(-0.5) == pytest.approx(150.0)
    law = Spring(free_length=0.25, preload=10.0, stiffness=1000.0).law()
    assert law.length == pytest.approx(0.26)  # the preload lengthens a linear spring


def test_refusals():
    with pytest.raises(rtmbs.errors.ModelError, match="it must be on the left, y above zero"):
        DoubleWishbone(**WISHBONE | {"wheel_centre": (1.4, -0.8, 0.1)}, **STRUT).axle()
    with pytest.raises(rtmbs.errors.ModelError, match="FiveLink: 3 links; it must be 4 beside the tie rod"):
        FiveLink(**FIVE_LINK | {"links": FIVE_LINK["links"][:3]}, **STRUT).axle()
    with pytest.raises(rtmbs.errors.ModelError, match="mass is -1; it must be zero or more"):
        part("arm", -1.0, (0, 0, 0), (1, 1, 1), "part 'arm'")
    with pytest.raises(rtmbs.errors.ModelError, match=r"inertia has shape \(2,\); give 3 numbers or 3 x 3"):
        part("arm", 1.0, (0, 0, 0), (1, 1), "part 'arm'")
    with pytest.raises(rtmbs.errors.ModelError, match="preload needs a stiffness above zero"):
        Spring(free_length=0.3, preload=10.0, stiffness=0.0).law()


def test_steering_ratio():
    rack = RackAndPinion(part("rack", 1.0, (0, 0, 0), (1, 1, 1), "rack"), np.zeros(3), 0.03, 2.0)
    assert rack.ratio == -0.03  # positive angles turn left, the rack goes right


@pytest.mark.parametrize("case", ["upright off its point", "locked centre"])
def test_a_car_starts_in_its_pose_of_rest(case):
    """A free part whose centre of mass is off its joint point, and wheels that a locked differential turns together."""
    if case == "locked centre":
        locked = {"front": "open", "rear": "open", "centre": "locked"}
        car = read("sedan", variant="from_models", differentials=locked, steer=0.0)
    else:
        upright = part("upright", 12.0, (-1.36, 0.7, 0.16), (0.2, 0.2, 0.15), "upright")
        car = car_of(rear=FiveLink(**FIVE_LINK, **STRUT, upright=upright).axle(), steer=0.0)
    rest = car.rest()
    found, sim = rest.equilibrium.simulation, rtmbs.Simulation(car.at_speed(20.0, rest).compile(), 1e-3)
    ways = [(one["chassis.position"], rotations(one["chassis.orientation"]), one) for one in (found, sim)]
    for body in ("wheel_fl", "wheel_fr", "wheel_rl", "wheel_rr"):
        a, b = (R.T @ (one[f"{body}.position"] - place) for place, R, one in ways)
        assert np.max(np.abs(a - b)) < 1e-9, body


def test_points_in_millimetres_are_refused():
    """Hard points far from the car are in another unit, all of them or one."""
    millimetres = {name: 1000.0 * np.array(point) for name, point in WISHBONE.items()}
    with pytest.raises(rtmbs.errors.ModelError, match=r"front axle: hard point 'wheel_centre' is \[1388.* give metres"):
        car_of(front=DoubleWishbone(**millimetres, **STRUT, steered=True).axle())
    car = read("sedan", variant="from_models")
    far = {"tie_rod.a": 1000.0 * car.data.front.hard_points["tie_rod.a"]}
    with pytest.raises(rtmbs.errors.ModelError, match=r"hard point 'tie_rod.a' is .* m; it must be within 30 m of"):
        car.with_points("front", far)

"""Suspension templates: freedoms, kinematics against closed forms and data, rest, mirrored sides; struts and stops.

Solid axle and twist beam: kinematics against own closures, torque of the beam, rest, refusals.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq, root
from scipy.spatial.transform import Rotation

import rtmbs
from bench.campaigns.car_designs import LINKS as FIVE_LINK
from bench.campaigns.car_designs import STRUT_TOWER as MACPHERSON
from bench.campaigns.car_designs import WISHBONES as WISHBONE
from rtmbs.commands.cli import main
from rtmbs.errors import ModelError
from rtmbs.numerics.rotations.quaternions import rotations
from rtmbs.studies.analysis.equilibrium import equilibrium
from rtmbs.vehicle import (
    AntiRollBar,
    Axle,
    Car,
    Damper,
    DoubleWishbone,
    DrivenCar,
    FiveLink,
    HeldSteering,
    MacPherson,
    Part,
    PedalTable,
    RackAndPinion,
    Ramp,
    SolidAxle,
    Spring,
    Stops,
    TwistBeam,
    part,
    power_balance,
    read,
    rig,
)
from rtmbs.vehicle.axle import knots_of
from rtmbs.vehicle.data_file import data_path, read_data
from rtmbs.vehicle.rig import padded_model
from tests.cases import quick, spread

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


CENTRE = np.array([-1.388, 0.76, 0.125])
SOLID = {"wheel_centre": CENTRE, "strut_chassis": (-1.35, 0.5, 0.5), "strut_axle": (-1.388, 0.5, 0.15), **STRUT}
LOWER = ((-0.9, 0.5, 0.0), (-1.38, 0.6, 0.02))
UPPER = ((-0.95, 0.5, 0.2), (-1.38, 0.15, 0.26))  # both upper links lead to the middle and hold it sideways
MIDDLE, PANHARD = ((-0.95, 0.05, 0.22), (-1.38, 0.02, 0.26)), ((-1.5, -0.5, 0.17), (-1.5, 0.5, 0.15))
TWIST = {
    "wheel_centre": CENTRE, "strut_chassis": (-1.3, 0.55, 0.5), "strut_axle": (-1.3, 0.55, 0.05),
    "hinge_outer": (-0.95, 0.65, 0.17), "hinge_inner": (-0.99, 0.4, 0.16), **STRUT,
}  # fmt: skip
TRAVELS = (-0.05, 0.0, 0.04)


def jittered(rng, ends):
    """Return a pair of points with random moves of 20 mm."""
    return tuple(np.array(point) + rng.uniform(-0.02, 0.02, 3) for point in ends)


def beam_pose(links, left, right):
    """Return the turn and the displacement of the beam at travels of both wheel centres, by an own closure solver."""
    centres = [CENTRE, CENTRE * (1.0, -1.0, 1.0)]
    middle = CENTRE * (1.0, 0.0, 1.0)

    def missed(x):
        R = Rotation.from_rotvec(x[3:]).as_matrix()
        placed = [middle + x[:3] + R @ (point - middle) for point in (*(b for _, b in links), *centres)]
        gaps = [np.dot(p - a, p - a) - np.dot(b - a, b - a) for p, (a, b) in zip(placed, links, strict=False)]
        return [*gaps, placed[-2][2] - CENTRE[2] - left, placed[-1][2] - CENTRE[2] - right]

    x = root(missed, np.zeros(6), tol=1e-14).x
    assert np.max(np.abs(missed(x))) < 1e-14
    R = Rotation.from_rotvec(x[3:]).as_matrix()
    return R, middle + x[:3] + R @ (CENTRE - middle) - CENTRE


@pytest.mark.parametrize("panhard", [False, True])
def test_solid_axle(panhard):
    """Path, toe and camber in heave and roll over random links; 14 freedoms; loads sum to the weight."""
    rng = np.random.default_rng(4)
    pairs = [jittered(rng, LOWER)] if panhard else [jittered(rng, LOWER), jittered(rng, UPPER)]
    once = {"upper_link": jittered(rng, MIDDLE), "panhard_rod": jittered(rng, PANHARD)} if panhard else {}
    car = car_of(rear=SolidAxle(**SOLID, links=tuple(pairs), **once, toe=0.01, camber=-0.02).axle(), steer=0.0)
    mirror = np.array((1.0, -1.0, 1.0))
    links = [*pairs, *(tuple(mirror * point for point in ends) for ends in pairs), *once.values()]
    n0 = car.spin_axis("rl")
    for motion, sign in (("bump", 1.0), ("roll", -1.0)):
        wheel = rig(car, "rear", motion, values=TRAVELS).left
        for k, travel in enumerate(TRAVELS):
            R, moved = beam_pose(links, travel, sign * travel)
            n = R @ n0
            wanted = (*moved, np.arcsin(n[2]), np.arctan2(-n[0], n[1]))
            found = (wheel.x[k], wheel.y[k], wheel.z[k], wheel.camber[k], wheel.toe[k])
            assert found == pytest.approx(wanted, abs=1e-9)
    rest = car.rest()
    weight = 9.81 * sum(body.mass for body in car.bodies.values())
    assert sum(rest.wheel_loads.values()) == pytest.approx(weight, rel=1e-8)
    assert panhard or rest.wheel_loads["rl"] == pytest.approx(rest.wheel_loads["rr"], rel=1e-6)
    sim = rtmbs.Simulation(car.at_speed(15.0, rest).compile(), 1e-3)
    assert sim.start_report.degrees_of_freedom == 14


def test_twist_beam():
    """The wheel turns about its hinge; the beam twists by its stiffness times the angle between both arms."""
    car = car_of(rear=TwistBeam(**TWIST, torsion_stiffness=6000.0, toe=0.01).axle(), steer=0.0)
    outer, inner = np.array(TWIST["hinge_outer"]), np.array(TWIST["hinge_inner"])
    axis = (outer - inner) / np.linalg.norm(outer - inner)
    wheel = rig(car, "rear", "roll", values=TRAVELS).left

    def turned(angle):
        R = Rotation.from_rotvec(angle * axis).as_matrix()
        return R, outer + R @ (CENTRE - outer) - CENTRE

    for k, travel in enumerate(TRAVELS):
        R, moved = turned(brentq(lambda angle, z=travel: turned(angle)[1][2] - z, -0.3, 0.3, xtol=1e-15))
        n = R @ car.spin_axis("rl")
        found = (wheel.x[k], wheel.y[k], wheel.camber[k], wheel.toe[k])
        assert found == pytest.approx((*moved[:2], np.arcsin(n[2]), np.arctan2(-n[0], n[1])), abs=1e-9)
    level = TWIST | {"hinge_inner": (-0.95, 0.4, 0.17)}  # along y: angles about one axis
    bar = AntiRollBar(np.array([-1.2, 0.0, 0.1]), 0.4, -0.1, 0.05, 1e3, part="trailing_arm")
    car = car_of(
        rear=TwistBeam(**level, torsion_stiffness=6000.0, anti_roll_bar=bar).axle(), steer=Ramp(0.05, 0.15, 0.0, 0.4)
    )
    result = rtmbs.Simulation(car.at_speed(15.0).compile(), 1e-3).run(0.3)
    angle = result["arm_hinge_rl.angle"] + result["arm_hinge_rr.angle"]  # the right axis is a mirror image
    assert np.max(np.abs(angle)) > 0.02
    assert np.linalg.norm(result["twist_r.torque"], axis=1) == pytest.approx(6000.0 * np.abs(angle), abs=1e-6)


def test_roll_stiffness_of_the_beam():
    """Loads that differ roll the axle; the beam adds k (track / arm)^2 to its roll stiffness."""
    level, shift, found = TWIST | {"hinge_inner": (-0.95, 0.4, 0.17)}, 5.0, {}
    for k in (0.0, 6000.0):
        model = padded_model(car_of(rear=TwistBeam(**level, torsion_stiffness=k).axle()), "rear", 4e3, 0.3, False)
        sim = equilibrium(model.compile()).simulation
        arm = sim["wheel_rl.position"][0] - sim["chassis.position"][0] - level["hinge_outer"][0]
        for side, sign in (("l", 1.0), ("r", -1.0)):
            sim.inputs[f"pad_r{side}.load"] = 4e3 + sign * shift
        rolled = equilibrium(sim).simulation
        track = 2.0 * CENTRE[1]
        roll = (rolled["wheel_rl.position"][2] - rolled["wheel_rr.position"][2]) / track
        found[k] = shift * track / roll
    assert found[6000.0] - found[0.0] == pytest.approx(6000.0 * (track / arm) ** 2, rel=1e-5)


def test_roll_centre_of_a_panhard_rod():
    """Links along x leave the sideways hold to the rod: the roll centre lies on it; a live axle drives like brakes."""
    along = {"links": (((-0.9, 0.5, 0.05), (-1.388, 0.5, 0.05)),), "upper_link": ((-0.95, 0, 0.25), (-1.388, 0, 0.25))}
    rod = ((-1.388, -0.5, 0.17), (-1.388, 0.5, 0.17))
    car = car_of(rear=SolidAxle(**SOLID, **along, panhard_rod=rod).axle())
    rolled = rig(car, "rear", "roll", values=(-1e-3, 0.0, 1e-3), wheel_radius=0.3)
    assert rolled.roll_centre_height[1] == pytest.approx(0.17 - (CENTRE[2] - 0.3), rel=1e-9)
    heaved = rig(car, "rear", "bump", values=TRAVELS)
    assert heaved.roll_centre_height is None
    assert rolled.live
    contact = rolled.left.rates["brake_x"][1]
    assert rolled.anti_squat(1.0, 2.776, 0.5)[1] == pytest.approx(-contact * 2.776 / 0.5, rel=1e-12)


@pytest.mark.parametrize("differentials", quick([None, {"rear": "open"}, {"rear": "locked"}], None))
def test_power_of_a_live_axle(differentials):
    """Engine, brakes, tyres, springs and dampers balance the energy; the reaction of the engine is on the beam."""
    axle = SolidAxle(**SOLID, links=(LOWER,), upper_link=MIDDLE, panhard_rod=PANHARD, shaft_inertia=0.4)
    car = car_of(rear=axle.axle(), differentials=differentials)
    car = Car(car.data._replace(driven="rear"), car.tyres, **car.options)
    check_balance(car, "drive_rl" if differentials is None else "drive")


def test_power_of_a_twist_beam_and_bushings():
    beam = TwistBeam(**TWIST, torsion_stiffness=6e3, torsion_damping=30.0).axle()
    soft = rtmbs.Bushing(stiffness=(5e6, 8e6, 8e6, 3e3, 2e4, 2e4), damping=(2e3, 2e3, 2e3, 20.0, 20.0, 20.0))
    check_balance(car_of(rear=beam, bushings={"front": {"lower_arm_hinge": soft}}), "drive_fl")


def check_balance(car, drive):
    """Check the balance of power of a car that accelerates, brakes and turns; a static rest as its start."""
    rest, errors = car.changed(steer=0.0).rest(), []
    for h in (2e-3, 1e-3):
        pedals = PedalTable(lambda t: max(0.0, np.sin(12.0 * t)), lambda t: 0.3 * max(0.0, -np.sin(12.0 * t)))
        driven = DrivenCar(car, 20.0, pedals, HeldSteering(0.15), rest=rest, h=h)
        balance = power_balance(driven.car, driven.run(0.4))
        errors.append(balance.error)
    assert errors[1] < 1e-6
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)
    assert balance.work[drive] > 300.0


def test_panhard_rod_on_a_bushing():
    """An elastic rod in place of the Panhard rod: one freedom more, and sideways it gives as the spring says."""
    rod = ((-1.388, -0.5, 0.17), (-1.388, 0.5, 0.17))
    along = {"links": (((-0.9, 0.5, 0.05), (-1.388, 0.5, 0.05)),), "upper_link": ((-0.95, 0, 0.25), (-1.388, 0, 0.25))}
    axle = SolidAxle(**SOLID, **along, panhard_rod=rod).axle()
    curves = {}
    for k in (2e8, 4e8):  # so stiff that the weight of the springs does not count
        car = car_of(rear=axle, bushings={"rear": {"panhard_rod": rtmbs.SpringDamper(k)}})
        curves[k] = rig(car, "rear", "lateral", values=(-100.0, 0.0, 100.0))
    softer = curves[2e8].at(0.0, "y") - curves[4e8].at(0.0, "y")
    slope = curves[2e8].left.z[1] / 1.0  # sine of the rod of 1 m that the load has turned
    assert abs(slope) > 0.1  # the axle rolls under the force, which turns the struts: 2 % of the force
    assert softer == pytest.approx(2.0 * (1 / 2e8 - 1 / 4e8) / (1.0 - slope**2), rel=0.03)


def test_template_in_a_file(tmp_path, capsys):
    """The axle of a template in a vehicle file, in a shell; fields that are unknown or missing are named."""
    sedan = json.loads(data_path("sedan").read_text(encoding="utf-8"))
    variant = sedan["variants"]["from_models"]
    for name in ("total_mass", "design", "rotating_assembly"):
        variant.pop(name, None)
    given = {
        "name": "rear", "template": "SolidAxle", "wheel_centre": CENTRE.tolist(), "links": [LOWER],
        "upper_link": MIDDLE, "panhard_rod": PANHARD, "strut_chassis": SOLID["strut_chassis"],
        "strut_axle": SOLID["strut_axle"], "spring": {"free_length": 0.55, "stiffness": 9e4},
        "damper": {"table": [[-1.0, -3e3], [0.0, 0.0], [1.0, 5e3]]},
        "beam": {"mass": 70.0, "com": [-1.388, 0.0, 0.125], "inertia": [10.0, 0.5, 10.0]},
        "bushings": {"panhard_rod": {"stiffness": 3e6}},
    }  # fmt: skip
    variant["axles"][1] = given
    path = tmp_path / "pickup.json"

    def written():
        path.write_text(json.dumps(sedan), encoding="utf-8")
        return ["vehicle", "rig", str(path), "--variant", "from_models", "--axle", "rear", "--motion", "roll"]

    assert main(written()) == 0
    assert "rear axle, roll, left wheel" in capsys.readouterr().out
    car = read(path, variant="from_models")
    assert car.bodies["beam_r"].mass == 70.0
    assert "panhard_rod_r" in car.forces
    for change, words in (
        ({"panhard_rods": PANHARD}, "did you mean 'panhard_rod'"),
        ({"template": "SolidAxl"}, "did you mean 'SolidAxle'"),
        ({"spring": {"free_length": 0.5}}, "spring: field 'table' is missing"),
        ({"wheel_centre": "here"}, "SolidAxle: wheel_centre"),
        ({"bushings": {"panhard": {"stiffness": 1.0}}}, "did you mean 'panhard_rod'"),
    ):
        variant["axles"][1] = given | change
        assert main(written()) != 0
        assert words in capsys.readouterr().err
    variant["axles"][1] = {name: value for name, value in given.items() if name != "damper"}
    assert main(written()) != 0
    assert "field 'damper' is missing" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------- a right side of its own


MOVED = (1.19, 0.424, 0.121)  # [m] of a tie rod's end on the rack


def test_a_right_side_of_its_own():
    """Points of the right side alone: its curves are those of the car with both moved, the left ones stay."""
    car = read("sedan", variant="from_models")
    x, y, z = MOVED
    other = car.with_points("front", {"tie_rod.a": (x, -y, z)}, side="right")
    assert other.data.front.right_hard_points["tie_rod.a"] == pytest.approx((x, -y, z))
    assert other.data.front.hard_points["tie_rod.a"] == pytest.approx(car.data.front.hard_points["tie_rod.a"])
    values = np.linspace(-0.04, 0.04, 5)
    plain, both, one = (
        rig(c, "front", values=values) for c in (car, car.with_points("front", {"tie_rod.a": MOVED}), other)
    )
    for name, sign in (("toe", -1.0), ("camber", -1.0), ("contact_x", 1.0), ("contact_y", -1.0)):
        assert getattr(one.left, name) == pytest.approx(getattr(plain.left, name), abs=1e-12)
        assert getattr(one.right, name) == pytest.approx(sign * getattr(both.left, name), abs=1e-12)
    assert abs(one.right.toe[0] + one.left.toe[0]) > 1e-3
    same = car.with_points("front", {"tie_rod.a": car.data.front.right_hard_points["tie_rod.a"]}, side="right")
    found = rig(same, "front", values=values).roll_centre_height
    assert found == pytest.approx(rig(car, "front", values=values).roll_centre_height, abs=1e-12)


def test_roll_centre_of_two_sides():
    """The lines from the contacts to the instant centres of both sides meet at the roll centre."""
    car = read("sedan", variant="from_models")
    x, y, z = car.data.front.hard_points["upper_ball"]
    other = car.with_points("front", {"upper_ball": (x, -y, z + 0.03)}, side="right")
    curves = rig(other, "front", values=(-0.01, 0.0, 0.01))
    lines = []  # through the contact at (y, 0), square to its velocity (slope, 1)
    for side, half in ((curves.left, 1.0), (curves.right, -1.0)):
        contact = half * 0.5 * float(curves.track[1])
        lines.append((contact, float(side.rates["contact_y"][1])))
    (a, slope), (b, beside) = lines
    at = np.linalg.solve([[slope, 1.0], [beside, 1.0]], [slope * a, beside * b])
    assert curves.roll_centre_height[1] == pytest.approx(at[1], abs=1e-9)
    assert abs(at[0]) > 0.01  # beside the middle


def test_two_sides_and_their_mirror_image():
    """A car with another left tie rod and right spring is the mirror image of one with both exchanged, on its way."""
    car = read("sedan", variant="from_models", impossible_inertia="nearest")
    axle = car.data.front
    moved = axle.with_points({"tie_rod.a": MOVED})
    stiff = replace(axle, struts=tuple(replace(one, law=stiffer(one.law)) for one in axle.struts))
    runs = []
    for pair, sign in (((moved, stiff), 1.0), ((stiff, moved), -1.0)):
        one = Car(
            car.data, car.tyres, front=pair, impossible_inertia="nearest", steer=Ramp(0.05, 0.15, 0.0, 0.3 * sign)
        )
        rest = one.changed(steer=0.0).rest()
        assert abs(rest.wheel_loads["fl"] - rest.wheel_loads["fr"]) > 5.0
        runs.append(rtmbs.Simulation(one.at_speed(20.0, rest).compile(), 1e-3).run(0.5))
    left, right = (one["chassis.position"] for one in runs)
    assert np.max(np.abs(left - right * (1.0, -1.0, 1.0))) < 1e-10


def stiffer(law):
    """Return a spring that pushes a tenth more; a damper as it is."""
    return law if isinstance(law, Damper) else replace(law, stiffness=1.1 * law.stiffness)


def test_a_right_side_in_a_file(tmp_path):
    sedan = json.loads(data_path("sedan").read_text(encoding="utf-8"))
    x, y, z = MOVED
    axle, path = sedan["variants"]["from_models"]["axles"][0], tmp_path / "uneven.json"
    axle["right"] = {"points": {"tie_rod.a": [x, -y, z]}}
    path.write_text(json.dumps(sedan), encoding="utf-8")
    car = read(path, variant="from_models")
    assert car.data.front.right_hard_points["tie_rod.a"] == pytest.approx((x, -y, z))
    for wrong, words in (
        ({"points": {"tie_rods.a": [x, -y, z]}}, "did you mean 'tie_rod.a'"),
        ({"spring": 1}, "no field of .*right.* named 'spring'"),
        ({}, "field 'points' is missing"),
        ({"anti_roll_bar": {}}, "anti_roll_bar belongs to both sides; give it outside of right"),
        ({"force_elements": [{"name": "springs"}]}, "did you mean 'spring'"),
        ({"force_elements": {"name": "spring"}}, "it must be a list of those that differ"),
    ):
        axle["right"] = wrong
        path.write_text(json.dumps(sedan), encoding="utf-8")
        with pytest.raises(ModelError, match=words):
            read(path, variant="from_models")


def test_parts_and_springs_of_a_right_side_in_a_file(tmp_path):
    """A right side of a file has parts, springs and arguments of a template of its own, as a pair of axles has."""
    sedan, path = json.loads(data_path("sedan").read_text(encoding="utf-8")), tmp_path / "uneven.json"
    x, y, z = MOVED
    axle = sedan["variants"]["from_models"]["axles"][0]
    left = {one["name"]: one for one in axle["force_elements"]}["spring"]["stiffness"]
    axle["right"] = {
        "force_elements": [{"name": "spring", "stiffness": 1.1 * left}],
        "bodies": [{"name": "upright", "mass": 40.0}],
        "points": {"tie_rod.a": [x, -y, z]},
    }
    path.write_text(json.dumps(sedan), encoding="utf-8")
    with pytest.raises(ModelError, match=r"total_mass is .* follows from other fields"):  # the right upright counts
        read_data(path, "from_models")
    upright = next(one for one in axle["bodies"] if one["name"] == "upright")
    sedan["variants"]["from_models"]["total_mass"] += 40.0 - upright["mass"]
    path.write_text(json.dumps(sedan), encoding="utf-8")
    found, plain = (read_data(one, "from_models").front for one in (path, "sedan"))
    other = plain.with_points({"tie_rod.a": (x, -y, z)}, side="right").right
    k = [one.name for one in plain.parts].index("upright")
    assert [strut.law.stiffness for strut in found.right.struts if strut.name == "spring"] == [1.1 * left]
    assert [strut.law.stiffness for strut in found.struts if strut.name == "spring"] == [left]
    assert (found.right.parts[k].mass, found.parts[k].mass) == (40.0, plain.parts[k].mass)
    for name, point in other.hard_points.items():
        assert np.array_equal(found.right.hard_points[name], point)
    car = read(path, variant="from_models", impossible_inertia="nearest")
    pair = Car(car.data, car.tyres, front=(plain, found.right), impossible_inertia="nearest")
    loads = [one.rest().wheel_loads for one in (car, pair)]
    assert loads[0] == loads[1]
    assert loads[0]["fr"] != pytest.approx(loads[0]["fl"], abs=5.0)


def test_a_right_side_of_a_template_in_a_file(tmp_path):
    """Toe and damper of the right side of a twist beam; what both sides have together is refused."""
    sedan, path = json.loads(data_path("sedan").read_text(encoding="utf-8")), tmp_path / "beam.json"
    given = {
        "name": "rear", "template": "TwistBeam", "wheel_centre": [-1.388, 0.76, 0.125],
        "hinge_outer": [-0.95, 0.65, 0.17], "hinge_inner": [-0.95, 0.4, 0.17], "torsion_stiffness": 6000,
        "strut_chassis": [-1.3, 0.55, 0.5], "strut_axle": [-1.3, 0.55, 0.05],
        "spring": {"free_length": 0.55, "stiffness": 90000}, "damper": {"damping": 4000},
    }  # fmt: skip
    variant = sedan["variants"]["from_models"]
    variant["axles"][1] = given
    for name in ("total_mass", "design", "rotating_assembly"):
        del variant[name]
    given["right"] = {"toe": 0.01, "damper": {"damping": 5000}}
    path.write_text(json.dumps(sedan), encoding="utf-8")
    axle = read_data(path, "from_models").rear
    assert axle.right.spin_axis[0] == pytest.approx(-np.sin(0.01))
    assert axle.spin_axis[0] == 0.0
    assert [one.law.damping for one in (axle.struts[1], axle.right.struts[1])] == [4000.0, 5000.0]
    for wrong, words in (
        ({"torsion_stiffness": 5000}, "torsion_stiffness belongs to both sides"),
        ({"tow": 0.01}, "did you mean 'toe'"),
    ):
        given["right"] = wrong
        path.write_text(json.dumps(sedan), encoding="utf-8")
        with pytest.raises(rtmbs.RtmbsError, match=words):
            read_data(path, "from_models")


def test_refusals_of_a_right_side():
    axle = read_data("sedan", "from_models").front
    with pytest.raises(ModelError, match=r"connections of its right side are .*; they must be those of the left side"):
        replace(axle, right=replace(axle, connections=axle.connections[1:]))
    with pytest.raises(ModelError, match="right is 'other'; it must be an Axle"):
        replace(axle, right="other")
    with pytest.raises(ModelError, match="side is 'both'; it must be one of left, right"):
        axle.with_points({}, side="both")
    with pytest.raises(ModelError, match="give metres"):
        car_of(front=axle.with_points({"tie_rod.a": (1190.0, -424.0, 121.0)}, side="right"))


def test_refusals_of_beam_axles():
    with pytest.raises(rtmbs.errors.ModelError, match="SolidAxle: 3 links; it must be 4: two for each pair"):
        SolidAxle(**SOLID, links=(LOWER,), upper_link=MIDDLE).axle()
    with pytest.raises(rtmbs.errors.ModelError, match="it must be on the left, y above zero"):
        SolidAxle(**SOLID | {"wheel_centre": (-1.4, -0.8, 0.1)}, links=(LOWER, UPPER)).axle()
    with pytest.raises(rtmbs.errors.ModelError, match="torsion_stiffness is -1 and torsion_damping 0; they must be"):
        TwistBeam(**TWIST, torsion_stiffness=-1.0).axle()


STOP = ((0.0, 0.0), (0.01, 500.0))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Spring(0.5, 2e4), "spring: stiffness or table; neither is given, it must be one of them"),
        (lambda: Spring(0.5, stiffness=2e4, table=STOP), "spring: stiffness or table; both are given"),
        (lambda: Spring(0.5, stiffness=-2e4), "spring: stiffness is -20000; it must be zero or more"),
        (lambda: Spring("long", stiffness=2e4), "spring: free_length is 'long'; it must be one number"),
        (lambda: Spring(0.5, stiffness=2e4, stops=STOP), "spring: stops is .*; it must be Stops"),
        (lambda: Damper(), "damper: damping or table; neither is given"),
        (lambda: Damper(table=[(0.0, 1.0)]), "damper: table is .*; it must be two pairs of finite numbers or more"),
        (lambda: Damper(table=STOP[::-1]), "damper: table is .*; the first numbers of its pairs must increase"),
        (lambda: Stops(0.5, 0.3, STOP, STOP), "stops: min_length is 0.5; it must be below max_length, which is 0.3"),
        (
            lambda: Stops(0.3, 0.5, (*STOP[1:], (0.02, 9000.0)), STOP),
            "bump begins with .*; it must begin with travel 0",
        ),
        (lambda: AntiRollBar((1.2, 0.0, 0.0), 0.4, 0.0, 0.1, 2e4), "anti-roll bar: arm is 0; it must have a length"),
        (lambda: AntiRollBar((1.2, 0.0, 0.0), 0.4, 0.2, 0.1, -1.0), "anti-roll bar: stiffness is -1; it must be zero"),
        (lambda: Ramp(1.0, 1.0, 0.0, 0.2), "ramp: t1 is 1; it must be above t0, which is 1"),
        (lambda: RackAndPinion("rack", (1, 0, 0), 0.01, 8.0), "rack: rack is 'rack'; it must be a Part"),
        (lambda: Part("rack", -1.0, (1, 0, 0), (1, 1, 1)), "part 'rack': mass is -1; it must be zero or more"),
    ],
)
def test_laws_and_parts_are_checked(make, words):
    with pytest.raises(ModelError, match=words):
        make()

"""Solid axle and twist beam: kinematics against own closures, torque of the beam, rest, refusals."""

import json

import numpy as np
import pytest
from scipy.optimize import brentq, root
from scipy.spatial.transform import Rotation

import rtmbs
from rtmbs.commands.cli import main
from rtmbs.studies.analysis.equilibrium import equilibrium
from rtmbs.vehicle import (
    AntiRollBar,
    Car,
    DrivenCar,
    HeldSteering,
    PedalTable,
    Ramp,
    SolidAxle,
    TwistBeam,
    power_balance,
    read,
    rig,
)
from rtmbs.vehicle.compliance import padded_model
from rtmbs.vehicle.data_file import data_path
from tests.cases import quick
from tests.vehicle.test_suspensions import STRUT, car_of

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
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


def test_refusals():
    with pytest.raises(rtmbs.errors.ModelError, match="SolidAxle: 3 links; it must be 4: two for each pair"):
        SolidAxle(**SOLID, links=(LOWER,), upper_link=MIDDLE).axle()
    with pytest.raises(rtmbs.errors.ModelError, match="it must be on the left, y above zero"):
        SolidAxle(**SOLID | {"wheel_centre": (-1.4, -0.8, 0.1)}, links=(LOWER, UPPER)).axle()
    with pytest.raises(rtmbs.errors.ModelError, match="torsion_stiffness is -1 and torsion_damping 0; they must be"):
        TwistBeam(**TWIST, torsion_stiffness=-1.0).axle()

"""The rig against tables of an own closure solver that the data files carry, its derivatives, and roll centres.

Compliance of an axle against an own statics solution, symmetry, and bushings in files and in whole cars.
"""

import json
from functools import cache

import numpy as np
import pytest

import rtmbs
from rtmbs.vehicle import Car, Damper, DoubleWishbone, Spring, compare_on_rig, read, rig, rig_report
from rtmbs.vehicle.data_file import data_path
from tests.cases import spread

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
CARS = [("sedan", "from_json"), ("sedan", "from_models"), ("hmmwv", "from_json")]
# at rest: travel of the wheel centre in the chassis [m], pitch, loaded radius [m]; shock ratio -dl/dz, contact dy/dz
AT_REST = {
    ("sedan", "from_json", "front"): (0.0316125, 0.0456229, 0.32912, 0.7174, 0.52141, 0.1344),
    ("sedan", "from_json", "rear"): (0.0304443, 0.0456229, 0.32969, 0.6888, 0.52132, 0.1374),
    ("sedan", "from_models", "front"): (-0.0070541, 0.0104307, 0.32965, -0.1355, 0.51905, 0.2239),
    ("sedan", "from_models", "rear"): (-0.0315256, 0.0104307, 0.32904, -0.8252, 0.67885, 0.0594),
    ("hmmwv", "from_json", "front"): (-0.1025211, 0.002862, 0.45521, -0.9432, 0.49075, 0.4258),
    ("hmmwv", "from_json", "rear"): (-0.1115041, 0.002862, 0.45604, -2.4062, 0.48266, 0.4897),
}


@cache
def car_of(file, variant):
    return read(file, variant=variant)


def checks(file, variant):
    return json.loads(data_path(file).read_text(encoding="utf-8"))["variants"][variant]["checks"]


@pytest.mark.parametrize("axle", ["front", "rear"])
@pytest.mark.parametrize(("file", "variant"), spread(CARS, 2))
def test_bump(file, variant, axle):
    """Wheel centre, camber, toe and strut lengths at nine travels: seven digits after the point."""
    wanted = np.array(checks(file, variant)["kinematics_left"][axle])
    curves = rig(car_of(file, variant), axle, "bump", values=wanted[:, 0])
    wheel = curves.left
    camber = np.arctan(np.tan(wheel.camber) / np.cos(wheel.toe))  # as the table has it: seen from the front
    found = (wheel.z, wheel.x, wheel.y, np.degrees(camber), np.degrees(wheel.toe), *wheel.lengths.values())
    assert np.max(np.abs(np.stack(found, axis=1) - wanted)) < 1.1e-7
    right = curves.right
    assert np.allclose((right.y, right.toe, right.camber), (-wheel.y, -wheel.toe, -wheel.camber), atol=1e-9)


@pytest.mark.parametrize(("file", "variant"), CARS[:2])
def test_steer(file, variant):
    """Angles of both wheels over the travel of the rack."""
    wanted = np.array(checks(file, variant)["steering_at_design_height"])[::-1]
    car = car_of(file, variant)
    curves = rig(car, "front", "steer", values=wanted[:, 0] / car.data.steering.ratio)
    assert np.max(np.abs(np.degrees(curves.left.toe) - wanted[:, 1])) < 1e-6
    assert np.max(np.abs(np.degrees(curves.right.toe) - wanted[:, 2])) < 1e-6
    assert np.all(curves.left.rates["toe"] > 0.0)  # positive angles turn left
    with pytest.raises(rtmbs.errors.ModelError, match="anti_squat is of wheel travel, and the motion is steer"):
        curves.anti_squat(1.0, 2.776, 0.5)


@pytest.mark.parametrize("case", AT_REST)
def test_at_rest(case):
    """Motion ratio of the shock and path of the contact point at rest, against the energy model.

    Its contact point belongs to a road that stays, which adds the tangent of the camber.
    """
    file, variant, axle = case
    travel, pitch, radius, camber, ratio, contact = AT_REST[case]
    values = sorted((0.0, travel))
    curves = rig(car_of(file, variant), axle, "bump", values=values, pitch=pitch, wheel_radius=radius)
    k = values.index(travel)
    assert -curves.left.rates["shock"][k] == pytest.approx(ratio, abs=1.2e-5)
    slope = curves.roll_centre_height[k] / (0.5 * curves.track[k])
    assert slope + np.tan(np.radians(camber)) == pytest.approx(contact, abs=6e-4)


def test_rates_are_derivatives():
    """Rates of all curves equal central differences of them."""
    h = 1e-4
    for axle, motion in (("rear", "bump"), ("rear", "roll"), ("front", "steer")):
        curves = rig(car_of("sedan", "from_models"), axle, motion, values=[-2 * h, -h, 0.0, h, 2 * h])
        for wheel in (curves.left, curves.right):
            named = {name: getattr(wheel, name) for name in ("x", "y", "z", "camber", "toe", "contact_x", "contact_y")}
            for name, values in (named | dict(wheel.lengths) | dict(wheel.kingpin)).items():
                slope = (values[3] - values[1]) / (2 * h)
                assert wheel.rates[name][2] == pytest.approx(slope, abs=2e-6), (motion, name)


def test_roll():
    """The left wheel rises, the right one falls; in roll each wheel has the curve that it has in bump."""
    car, values = car_of("sedan", "from_models"), np.linspace(-0.04, 0.04, 5)
    roll, bump = rig(car, "rear", "roll", values=values), rig(car, "rear", "bump", values=values)
    assert np.allclose(roll.left.toe, bump.left.toe, atol=1e-9)
    assert np.allclose(roll.right.toe, bump.right.toe[::-1], atol=1e-9)
    assert roll.roll_centre_height is None
    assert bump.at(0.01, "toe") == pytest.approx(np.interp(0.01, values, bump.left.rates["toe"]))
    assert "rear axle, roll, left wheel" in str(roll)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("middle", "bump", None), "axle is 'middle'; it must be one of front, rear"),
        (("front", "jump", None), "motion is 'jump'; it must be one of bump, roll, steer"),
        (("front", "bump", [0.01, 0.02]), "increasing numbers with 0 among them"),
        (("front", "bump", [0.0, -0.02]), "increasing numbers with 0 among them"),
    ],
)
def test_refusals(given, words):
    axle, motion, values = given
    with pytest.raises(rtmbs.errors.ModelError, match=words):
        rig(car_of("sedan", "from_json"), axle, motion, values=values)


def test_unknown_curve():
    curves = rig(car_of("sedan", "from_json"), "front", values=[-0.01, 0.0, 0.01])
    with pytest.raises(rtmbs.errors.ModelError, match="'wobble' is no curve; it must be one of"):
        curves.at(0.0, "wobble")
    with pytest.raises(rtmbs.errors.ModelError, match="'rod' is no strut; it must be one of spring, shock"):
        curves.left.motion_ratio("rod")


def test_kingpin():
    """Caster, inclination, scrub radius and trail at design by the two ball points; both sides alike."""
    car = car_of("sedan", "from_json")
    curves = rig(car, "front", "bump", values=[-0.01, 0.0, 0.01])
    points = car.data.front.hard_points
    k = points["upper_ball"] - points["lower_ball"]
    contact = points["wheel_centre"] - (0.0, 0.0, car.tyres["fl"].free_radius)
    meets = points["lower_ball"] + (contact - points["lower_ball"])[2] / k[2] * k
    for wheel in (curves.left, curves.right):
        found = {name: values[1] for name, values in wheel.kingpin.items()}
        assert found["caster"] == pytest.approx(np.arctan(-k[0] / k[2]), abs=1e-12)
        assert found["kingpin_inclination"] == pytest.approx(np.arctan(-k[1] / k[2]), abs=1e-12)
        assert found["scrub_radius"] == pytest.approx(contact[1] - meets[1], abs=1e-12)
        assert found["trail"] == pytest.approx(meets[0] - contact[0], abs=1e-12)
    assert rig(car_of("sedan", "from_models"), "rear", values=[0.0, 0.01]).left.kingpin == {}


def test_anti_dive():
    """Parallel equal arms with hinges inclined by an angle: all points move at this angle, without rotation."""
    angle = 0.1
    slope = np.tan(angle)

    def points(z):
        return {"front": (1.388 + 0.15, 0.42, z + 0.15 * slope), "back": (1.388 - 0.15, 0.42, z - 0.15 * slope)}

    upper, lower = points(0.355), points(-0.07)
    axle = DoubleWishbone(
        wheel_centre=(1.388, 0.798, 0.130), upper_front=upper["front"], upper_back=upper["back"],
        upper_ball=(1.388, 0.72, 0.355), lower_front=lower["front"], lower_back=lower["back"],
        lower_ball=(1.388, 0.72, -0.07), tie_rod_inner=(1.238, 0.42, 0.13), tie_rod_outer=(1.238, 0.72, 0.13),
        strut_chassis=(1.348, 0.52, 0.48), strut_arm=(1.388, 0.62, -0.07),
        spring=Spring(free_length=0.55, stiffness=7e4), damper=Damper(5e3), steered=True,
    ).axle()  # fmt: skip
    car = car_of("sedan", "from_json")
    curves = rig(Car(car.data, car.tyres, front=axle), "front", "bump", values=[-0.01, 0.0, 0.01])
    assert curves.left.rates["brake_x"][1] == pytest.approx(-slope, abs=1e-9)
    assert curves.left.rates["x"][1] == pytest.approx(-slope, abs=1e-9)
    assert curves.anti_dive(0.6, 2.776, 0.5)[1] == pytest.approx(-0.6 * slope * 2.776 / 0.5, rel=1e-8)
    assert curves.anti_squat(1.0, 2.776, 0.5)[1] == pytest.approx(-slope * 2.776 / 0.5, rel=1e-8)


@pytest.mark.slow
def test_report(tmp_path):
    """The report has gradients at design and a page with a picture for each curve."""
    car = car_of("sedan", "from_json")
    report = rig_report(car, "front", "bump")
    curves = rig(car, "front", "bump")
    assert report["toe_gradient"] == pytest.approx(np.degrees(curves.at(0.0, "toe")))
    assert report["caster"] == pytest.approx(5.376705, abs=1e-6)
    assert report["motion_ratio_spring"] == pytest.approx(0.51936, abs=1e-5)
    report.to_html(tmp_path / "rig.html")
    page = (tmp_path / "rig.html").read_text(encoding="utf-8")
    assert page.count("<svg") == len(report.pictures) == 11


FULL = np.diag((4e6, 6e6, 7e6, 60.0, 2e3, 3e3))
FULL[0, 1] = FULL[1, 0] = 5e5
FULL[2, 3] = FULL[3, 2] = 800.0
SOFT = {
    "front": {
        "lower_arm_hinge": rtmbs.Bushing(stiffness=FULL, damping=1e-4 * FULL),
        "upper_arm_hinge": rtmbs.Bushing(stiffness=0.5 * FULL, damping=1e-4 * FULL),
        "tie_rod": rtmbs.SpringDamper(stiffness=2e7, damping=2e3),
    }
}
LOAD = 4000.0


@cache
def bushed_sedan():
    return read("sedan", variant="from_models", bushings=SOFT)


def spin(v):
    """Return the cross-product matrix of a vector."""
    return np.array([[0.0 * v[0], -v[2], v[1]], [v[2], 0.0 * v[0], -v[0]], [-v[1], v[0], 0.0 * v[0]]])


def turned(v):
    """Return the rotation of a rotation vector, complex ones too."""
    square = v @ v
    if abs(square) < 1e-20:
        return np.eye(3) + spin(v) + 0.5 * spin(v) @ spin(v)
    angle = np.sqrt(square + 0j)
    R = np.eye(3) + np.sin(angle) / angle * spin(v) + (1.0 - np.cos(angle)) / square * spin(v) @ spin(v)
    return R if np.iscomplexobj(v) else R.real


def vector_of(R):
    """Return the rotation vector of a small rotation."""
    w = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine = np.sqrt(w @ w + 0j)
    return w * (np.arcsin(sine) / sine if abs(sine) > 1e-9 else 1.0 + w @ w / 6.0)


def own_axes(joint):
    """Return axes as columns: x along the hinge, y level and square to it, z as near to upright as may be."""
    x, up = joint.axis, np.array([0.0, 0.0, 1.0])
    z = up - (up @ x) * x
    z = z / np.linalg.norm(z)
    return np.array([x, np.cross(z, x), z]).T


def own_statics(forces, radius):
    """Return wheel centre displacement, toe and camber of the left front wheel by virtual work and Newton.

    Three bodies have a place and a rotation vector each. The multipliers are those of both balls. ``forces`` are
    Fx, Fy and Mz on the road.
    """
    data = bushed_sedan().data
    axle = data.front
    joints = {one.name: one for one in axle.connections}
    points = axle.hard_points
    parts = {one.name: [(one.mass, one.com)] for one in axle.parts}
    parts["upright"] += [(one.mass, axle.wheel_centre) for one in (data.rim, data.tyre)]
    parts["upright"].append((axle.spindle.mass, axle.spindle.com))
    names = ("lower_arm", "upper_arm", "upright")

    def energy(poses, multipliers):
        """Return the energy with the constraints times their multipliers, and the constraints."""
        at = {name: (lambda x, p=p, R=R: p + R @ x) for name, (p, R) in zip(names, poses, strict=True)}
        at |= {"chassis": lambda x: x, "steering_link": lambda x: x}
        total = 0.0
        for name in names:
            total += sum(9.81 * mass * at[name](com)[2] for mass, com in parts[name])
        for arm, (_, R) in zip(names[:2], poses[:2], strict=True):
            joint = joints[f"{arm}_hinge"]
            A = own_axes(joint)
            q = np.concatenate((A.T @ (at[arm](joint.point) - joint.point), vector_of(A.T @ R @ A)))
            total += 0.5 * q @ (SOFT["front"][joint.name].stiffness @ q)
        length = np.linalg.norm(points["tie_rod.a"] - points["tie_rod.b"])
        way = at["upright"](points["tie_rod.b"]) - points["tie_rod.a"]
        total += 0.5 * 2e7 * (np.sqrt(way @ way) - length) ** 2
        for strut in axle.struts:
            if hasattr(strut.law, "free_length"):
                way = at[strut.b](strut.point_b) - at[strut.a](strut.point_a)
                now = np.sqrt(way @ way)
                total += 0.5 * strut.law.stiffness * (now - strut.law.free_length) ** 2 - strut.law.preload * now
        gaps = [
            at[joints[b].a](joints[b].point) - at[joints[b].b](joints[b].point) for b in ("lower_ball", "upper_ball")
        ]
        gap = np.concatenate(gaps)
        return total + 1e4 * multipliers @ gap, gap

    def residual(x):
        poses = [(x[6 * k : 6 * k + 3], turned(x[6 * k + 3 : 6 * k + 6])) for k in range(3)]
        found = np.zeros(24)
        for i in range(18):
            moved = [(p + 0j, R + 0j) for p, R in poses]
            k, d = divmod(i, 6)
            step = np.zeros(3, complex)
            step[d % 3] = 1e-30j
            p, R = moved[k]
            moved[k] = (p + step, R) if d < 3 else (p, turned(step) @ R)
            found[i] = energy(moved, x[18:])[0].imag / 1e-30
        p, R = poses[2]
        n = R @ axle.spin_axis
        down = np.array([0.0, 0.0, -1.0])
        down = down - n * (n @ down)
        contact = p + R @ axle.wheel_centre + radius * down / np.linalg.norm(down)
        F = np.array((forces[0], forces[1], LOAD))
        found[12:15] -= F
        found[15:18] -= np.cross(contact - p, F) + np.array((0.0, 0.0, forces[2]))
        found[18:] = 1e6 * energy(poses, x[18:])[1]
        return found / 1e4

    best, change, size = np.zeros(24), np.ones(24), np.inf
    while np.max(np.abs(change)) > 1e-11:  # Newton by differences, with the old matrix as long as it serves
        here = residual(best)
        if np.max(np.abs(change)) > 0.2 * size or size == np.inf:
            J = np.array([(residual(best + e) - here) / 1e-7 for e in 1e-7 * np.eye(24)]).T
        size = np.max(np.abs(change))
        change = np.linalg.solve(J, here)
        best = best - change * min(1.0, 0.05 / np.max(np.abs(change[:18])))
    R = turned(best[15:18])
    centre = best[12:15] + R @ axle.wheel_centre
    n = R @ axle.spin_axis
    return [*(centre - axle.wheel_centre), np.arctan2(-n[0], n[1]), np.arcsin(n[2])]


@pytest.mark.parametrize(
    ("motion", "value"),
    [
        ("lateral", 2000.0),
        pytest.param("lateral", -2000.0, marks=pytest.mark.slow),
        pytest.param("longitudinal", -1500.0, marks=pytest.mark.slow),
        pytest.param("aligning", 100.0, marks=pytest.mark.slow),
    ],
)
def test_own_statics(motion, value):
    """Wheel centre, toe and camber under a force equal those of an own statics solution."""
    curves = rig(bushed_sedan(), "front", motion, values=sorted((0.0, value)), load=LOAD, wheel_radius=0.32)
    k = curves.values.tolist().index(value)
    found = [getattr(curves.left, name)[k] for name in ("x", "y", "z", "toe", "camber")]
    place = ("longitudinal", "lateral", "aligning").index(motion)
    wanted = own_statics([value if i == place else 0.0 for i in range(3)], 0.32)
    assert found == pytest.approx(wanted, abs=2e-9)


def test_rates_are_derivatives_of_compliance():
    """Gradients by the force equal differences of equilibria; forces on both sides mirror each other."""
    h = 4.0
    for motion, phase in (("lateral", "opposite"), ("longitudinal", "parallel"), ("aligning", "opposite")):
        curves = rig(bushed_sedan(), "front", motion, values=[-h, 0.0, h], phase=phase)
        for wheel in (curves.left, curves.right):
            for name in ("x", "y", "z", "camber", "toe", "contact_x", "contact_y"):
                values = getattr(wheel, name)
                slope = (values[2] - values[0]) / (2 * h)
                assert wheel.rates[name][1] == pytest.approx(slope, abs=3e-11, rel=5e-5), (motion, name)
        left, right = curves.left, curves.right
        with pytest.raises(rtmbs.errors.ModelError, match=f"the motion is {motion}; it must be one of bump, roll"):
            left.motion_ratio("spring")
        with pytest.raises(rtmbs.errors.ModelError, match=f"anti_dive is of wheel travel, and the motion is {motion}"):
            curves.anti_dive(0.6, 2.7, 0.5)
        mirrored = (right.x, -right.y, right.z, -right.toe, -right.camber)
        assert np.allclose((left.x, left.y, left.z, left.toe, left.camber), mirrored, atol=1e-9)


@pytest.mark.slow
def test_point_of_the_force():
    """A brake force acts in the contact point, a driving force at the centre: their difference is a wind-up torque."""
    values = [-500.0, 0.0, 500.0]
    braked, driven = (
        rig(bushed_sedan(), "front", "longitudinal", values=values, point=p) for p in ("contact", "centre")
    )
    assert abs(braked.at(0.0, "caster")) > 3.0 * abs(driven.at(0.0, "caster"))
    alone = rig(bushed_sedan(), "front", "longitudinal", values=values, phase="left")
    assert np.ptp(alone.right.toe) < 1e-10
    assert alone.left.toe == pytest.approx(braked.left.toe, abs=1e-9)  # the rack is held


@pytest.mark.slow
def test_stiff_bushings_are_joints():
    """A thousand times stiffer bushings leave a thousandth of the compliance."""
    stiff = {
        "front": {
            "lower_arm_hinge": rtmbs.Bushing(stiffness=(1e10, 1e10, 1e10, 0.0, 1e7, 1e7)),
            "upper_arm_hinge": rtmbs.Bushing(stiffness=(1e10, 1e10, 1e10, 0.0, 1e7, 1e7)),
        }
    }
    values = [-1000.0, 0.0, 1000.0]
    with_joints = rig(bushed_sedan().changed(bushings=None), "front", "lateral", values=values)
    nearly = rig(bushed_sedan().changed(bushings=stiff), "front", "lateral", values=values)
    assert np.max(np.abs(nearly.left.toe - with_joints.left.toe)) < 4e-6
    assert np.max(np.abs(nearly.left.z - with_joints.left.z)) < 4e-6


def test_whole_car_with_bushings():
    """Loads at rest sum to the weight; the car at speed begins in its pose of rest."""
    car = bushed_sedan()
    rest = car.rest()
    weight = 9.81 * sum(body.mass for body in car.bodies.values())
    assert sum(rest.wheel_loads.values()) == pytest.approx(weight, rel=1e-8)
    sim = rtmbs.Simulation(car.changed(steer=0.0).at_speed(0.0, rest).compile(), h=1e-3)
    result = sim.run(0.1)
    for corner in car.tyres:
        assert np.ptp(result[f"wheel_{corner}.position"][:, 2]) < 1e-5
    assert sim["chassis.position"][2] == pytest.approx(rest.height, abs=1e-5)


def test_in_a_file(tmp_path):
    """The file of a car may have bushings by axle and joint; bump on the rig takes joints nevertheless."""
    given = json.loads(data_path("sedan").read_text(encoding="utf-8"))
    front = next(one for one in given["variants"]["from_json"]["axles"] if one["name"] == "front")
    path = tmp_path / "car.json"

    def car(bushings):
        front["bushings"] = bushings
        path.write_text(json.dumps(given), encoding="utf-8")
        return read(path)

    hinge = {"stiffness": [5e6, 5e6, 5e6, 0, 1e3, 1e3], "damping": 100}
    soft = car({"lower_arm_hinge": hinge, "tie_rod": {"stiffness": 1e7}})
    assert set(soft.bushings("fl")) == {"lower_arm_hinge", "tie_rod"}
    table = compare_on_rig(read("sedan"), soft, "front", "aligning", ("joints", "bushings"))
    assert table["toe_gradient"] > 0.5
    assert table.gradients["toe_gradient"][1].unit == "deg/kN m"
    assert "toe_gradient" in str(table)
    with pytest.raises(rtmbs.errors.RtmbsError, match=r"there is no joint of .* named 'hinge'"):
        car({"hinge": hinge})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: bushed_sedan().changed(bushings={"front": {"tie_rod": rtmbs.Bushing(1e6)}}),
            "must be a SpringDamper",
        ),
        (lambda: bushed_sedan().changed(bushings={"left": {}}), "there is no axle with bushings named 'left'"),
        (lambda: bushed_sedan().changed(bushings=3.0), "it must map front and rear to bushings by joint"),
        (lambda: rig(bushed_sedan(), "front", "lateral", pitch=0.1), "forces take no ride and no pitch"),
        (
            lambda: rig(bushed_sedan(), "front", "lateral", phase="both"),
            "phase is 'both'; it must be one of parallel",
        ),
        (
            lambda: rig(bushed_sedan(), "front", "bump", load=3000.0),
            "bump takes no load, but it is 3000.0; give it for forces",
        ),
        (lambda: rig(bushed_sedan(), "front", "roll", phase="left"), "roll takes no phase, but it is 'left'"),
        (
            lambda: rig(bushed_sedan(), "front", "steer", point="centre"),
            "steer takes no point, but it is 'centre'",
        ),
        (
            lambda: rig(bushed_sedan(), "front", "lateral", point="centre"),
            "lateral takes no point, but it is 'centre'",
        ),
    ],
)
def test_refusals_of_compliance(make, words):
    with pytest.raises(rtmbs.errors.RtmbsError, match=words):
        make()

"""The rig against tables of an own closure solver that the data files carry, its derivatives, and roll centres."""

import json
from functools import cache

import numpy as np
import pytest

import rtmbs
from rtmbs.vehicle import Car, Damper, DoubleWishbone, Spring, read, rig, rig_report
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

"""Branches of suspensions: wrong rods, steering and hard points are refused by name; small ones are taken."""

from dataclasses import replace

import numpy as np
import pytest

import rtmbs
from bench.campaigns.suspension_branches import made, sides_of
from rtmbs.errors import ModelError, RtmbsWarning
from rtmbs.vehicle import read, rig
from rtmbs.vehicle.axle_joints import AxleJoints, check_rest, sides_at, sign_of

pytestmark = pytest.mark.filterwarnings("ignore:car .*inertia:rtmbs.RtmbsWarning")


def with_rod(car, name, longer):
    """Return the car with a rod of another length."""
    car = car.changed()
    car.rods[name] = replace(car.rods[name], length=car.rods[name].length + longer)
    return car


@pytest.mark.parametrize(
    ("longer", "words"),
    [
        (
            -0.2,
            "front left suspension is assembled, but it is on another branch than at design: lower_arm_fl is turned",
        ),
        (-0.3, "front left suspension is assembled, but it is far from its design: lower_arm_fl is turned by 2.46 rad"),
        (0.3, "cannot be assembled: rod 'tie_rod_fl' is 0.653553 m long, and its ends tie_rod_fl.a and tie_rod_fl.b"),
    ],
)
def test_a_wrong_tie_rod_is_refused(longer, words):
    """The message names the rod, its length, its ends and their distance at design."""
    with pytest.raises(ModelError, match=words) as caught:
        with_rod(made("sedan"), "tie_rod_fl", longer).compile()
    assert "apart at design; correct this, or the hard points" in str(caught.value)


def test_the_branch_of_the_steering():
    """A long tie rod pulls the relay rod of a Pitman arm to its other side."""
    with pytest.raises(ModelError, match=r"the steering is assembled, but it is on another branch.*rod 'tie_rod_fr'"):
        with_rod(made("hmmwv"), "tie_rod_fr", 0.2677).compile()


def test_steering_beyond_its_end():
    with pytest.raises(ModelError, match=r"steer is 10 rad at the start, and the steering ends at 2\.667 rad"):
        read("sedan", variant="from_models", steer=10.0).compile()


def test_small_changes_are_taken():
    """A tie rod that sets the toe is taken in silence; one that turns the wheel far is told."""
    car = with_rod(made("sedan"), "tie_rod_fl", 2e-3)
    sim = rtmbs.Simulation(car.compile(), 1e-3)
    (own,) = (found for found in sides_at(car, sim) if found.place.startswith("front left"))
    assert not own.wrong
    assert 0.005 < own.turns["upright_fl"] < 0.05
    with pytest.warns(RtmbsWarning, match="the assembly turns upright_fl by 0.376 rad .* rod 'tie_rod_fl' is 0.303553"):
        with_rod(made("sedan"), "tie_rod_fl", -0.05).compile()


@pytest.mark.parametrize("kind", ["sedan", "hmmwv", "MacPherson", "five links", "solid axle"])
def test_every_axle_has_a_sign(kind):
    """Each side has as many equations as freedoms, and its determinant is that of own differences."""
    car, rng, e = made(kind), np.random.default_rng(5), 1e-6
    for side in sides_of(car):
        joints = AxleJoints(car, "front" if side.axle is car.data.front else "rear", (), side.corners[0][1])
        design = {body: (at, np.eye(3)) for body, at in joints.design.items()}
        assert abs(sign_of(joints, design)) == 1.0
        A, still = joints.equations(design)[0], dict.fromkeys(side.corners, 0.0)
        x = rng.normal(size=A.shape[1])  # twists about the origin; those of the reference are about the parts
        turns = x.reshape(-1, 6)
        about = [np.hstack((v + np.cross(w, joints.design[body]), w)) for (v, w), body in zip(
            ((one[:3], one[3:]) for one in turns), joints.unknown, strict=True)]  # fmt: skip
        ways = [
            side.missed(side.moved(side.design, k * e * np.concatenate(about)), side.lengths, still) for k in (-1, 1)
        ]
        rates = (ways[1] - ways[0]) / (2.0 * e)
        own = np.linalg.norm(A @ x)
        assert own == pytest.approx(np.linalg.norm(rates * row_sizes(side)), rel=1e-6)


def row_sizes(side):
    """Return the lengths of rods, by which rows of rods exceed the rates of lengths; 1 for all others."""
    sizes = []
    for _, one in side.joints:
        count = {"revolute": 5, "spherical": 3, "universal": 4, "distance": 1, "line": 2}[one.kind]
        sizes += [np.linalg.norm(one.point_b - one.point) if one.kind == "distance" else 1.0] * count
    return np.array(sizes + [1.0] * len(side.corners))


def test_rest_on_another_branch():
    """A car at rest whose joints are those of the other branch is refused with the hard points of the turned part."""
    car = with_rod(made("sedan"), "tie_rod_fl", -0.2)
    sim = rtmbs.Simulation(rtmbs.Model.compile(car), 1e-3)
    with pytest.raises(
        ModelError, match=r"on another branch than at design: .*hard points lower_arm_hinge, lower_ball, or"
    ):
        check_rest(car, sim)


def test_rods_of_another_length_are_kept():
    """Rest, start, rig and other options of a car take the lengths of its rods: both rods longer by 2 mm toe in."""
    car, longer = made("sedan"), 2e-3
    for side in "lr":
        car = with_rod(car, f"tie_rod_f{side}", longer)
    plain, rest = made("sedan").rest(), car.rest()
    points = car.data.front.hard_points
    a, b, low, high = (points[name] for name in ("tie_rod.a", "tie_rod.b", "lower_ball", "upper_ball"))
    kingpin = low + (high - low) * (b - low)[2] / (high - low)[2]  # at the height of the rod
    wanted = longer * np.linalg.norm(b - a) / (b - a)[1] / (b - kingpin)[0]  # [rad]; the rod is behind the kingpin
    assert wanted < -0.01
    assert rest.toe["fl"] - plain.toe["fl"] == pytest.approx(wanted, rel=0.05)
    assert rest.toe["fr"] == pytest.approx(-rest.toe["fl"], abs=1e-8)
    sim = rtmbs.Simulation(car.changed(friction=0.8).at_speed(20.0, rest).compile(), 1e-3)
    for name in ("tie_rod_fl", "tie_rod_fr"):
        apart = np.linalg.norm(sim[f"{name}.a.position"] - sim[f"{name}.b.position"])
        assert apart == pytest.approx(np.linalg.norm(b - a) + longer, abs=1e-12)
    curves = rig(car, "front", "bump", values=(-0.01, 0.0, 0.01))
    assert curves.left.toe[1] == pytest.approx(wanted, rel=0.05)


def test_rods_of_another_length_outlive_moved_hard_points():
    """A length that the user gave stays when hard points of either axle move, its own ends included."""
    longer, car = 2e-3, with_rod(made("sedan"), "tie_rod_fl", 2e-3)
    points = car.data.front.hard_points
    wanted = np.linalg.norm(points["tie_rod.b"] - points["tie_rod.a"]) + longer
    for axle, name in (("rear", "tie_rod.b"), ("front", "upper_ball"), ("front", "tie_rod.a")):
        at = getattr(car.data, axle).hard_points[name] + (0.0, 1e-3, 1e-3)
        car = car.with_points(axle, {name: at})
        assert car.rods["tie_rod_fl"].length == pytest.approx(wanted, abs=1e-12)
    a, b = (car.data.front.hard_points[f"tie_rod.{end}"] for end in "ab")
    assert car.rods["tie_rod_fr"].length == pytest.approx(np.linalg.norm(b - a), abs=1e-12)  # as designed
    sim = rtmbs.Simulation(car.compile(), 1e-3)
    apart = np.linalg.norm(sim["tie_rod_fl.a.position"] - sim["tie_rod_fl.b.position"])
    assert apart == pytest.approx(wanted, abs=1e-12)


def test_a_beam_is_named_as_an_axle():
    """A beam belongs to both sides, so messages say "rear axle"."""
    car = made("solid axle")
    places = [found.place for found in sides_at(car, rtmbs.Simulation(car.compile(), 1e-3))]
    assert places == ["steering", "front left suspension", "front right suspension", "rear axle"]

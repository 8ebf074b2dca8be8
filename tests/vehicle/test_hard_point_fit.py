"""Fit of hard points: derivatives of the curves against differences of the rig, known moves found again, refusals."""

from dataclasses import replace

import numpy as np
import pytest

import rtmbs
from rtmbs.vehicle import FiveLink, MacPherson, SolidAxle, fit_hard_points, read, rig
from rtmbs.vehicle.hard_point_fit import OnRig, distances
from tests.cases import quick
from tests.vehicle.test_suspensions import FIVE_LINK, LOWER, MACPHERSON, MIDDLE, PANHARD, SOLID, STRUT, car_of

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")


def with_rod(car, name, longer):
    """Return the car with a rod of another length, which it keeps when hard points move."""
    car.rods[name] = replace(car.rods[name], length=car.rods[name].length + longer)
    return car


VALUES = np.array([-0.04, 0.0, 0.05])
CARS = {
    "double wishbone": (lambda: read("sedan", variant="from_models"), "rear", "roll"),
    "solid axle": (
        lambda: car_of(rear=SolidAxle(**SOLID, links=(LOWER,), upper_link=MIDDLE, panhard_rod=PANHARD).axle()),
        "rear",
        "roll",
    ),
    "steered": (lambda: read("sedan", variant="from_models"), "front", "steer"),
    "MacPherson": (lambda: car_of(front=MacPherson(**MACPHERSON, **STRUT, steered=True).axle()), "front", "bump"),
    "five links": (lambda: car_of(rear=FiveLink(**FIVE_LINK, **STRUT).axle()), "rear", "bump"),
    "multi-link with universal joints": (lambda: read("sedan"), "rear", "bump"),
    "Pitman arm": (lambda: read("hmmwv"), "front", "steer"),
    "adjusted tie rod": (lambda: with_rod(read("sedan", variant="from_models"), "tie_rod_fl", 4e-3), "front", "bump"),
    "adjusted Panhard rod": (
        lambda: with_rod(
            car_of(rear=SolidAxle(**SOLID, links=(LOWER,), upper_link=MIDDLE, panhard_rod=PANHARD).axle()),
            "panhard_rod_r",
            5e-3,
        ),
        "rear",
        "bump",
    ),
}


@pytest.mark.parametrize("case", quick(CARS, "solid axle", "steered", "adjusted tie rod"))
def test_derivatives(case):
    """All points move at once in a random direction; differences of fourth order of the rig."""
    (make, axle, motion), rng, e = CARS[case], np.random.default_rng(3), 1e-5
    car = make()
    points = getattr(car.data, axle).hard_points
    ways = {name: rng.normal(size=3) for name in points}
    slopes = OnRig(car, axle, motion, VALUES, tuple(points)).slopes()
    zero = dict.fromkeys(slopes, np.zeros(len(VALUES)))

    def moved(k):
        at = {name: points[name] + k * e * ways[name] for name in points}
        return distances(car.with_points(axle, at), axle, motion, VALUES, zero)

    runs = [moved(k) for k in (-2, -1, 1, 2)]
    for name, slope in slopes.items():
        exact = slope @ np.concatenate(list(ways.values()))
        far, near, right, farther = (run[name] for run in runs)
        assert (far - 8.0 * near + 8.0 * right - farther) / (12.0 * e) == pytest.approx(exact, abs=3e-8)


def test_moves_are_found_again():
    """Bump steer of a car with a moved end of the tie rod: the fit finds the moves."""
    car = read("sedan", variant="from_models")
    points, moves = car.data.front.hard_points, {"tie_rod.a": (0.0, 0.004, -0.006)}
    wanted = car.with_points("front", {name: points[name] + np.array(move) for name, move in moves.items()})
    values = np.linspace(-0.06, 0.06, 5)
    target = rig(wanted, "front", "bump", values=values).left
    ranges = {"tie_rod.a": (0.0, 0.02, 0.02)}
    fit = fit_hard_points(car, "front", {"toe": target.toe, "spring": target.lengths["spring"]}, ranges, values=values)
    assert fit.success
    assert fit.before["toe"] > 1e-3
    assert fit.after["toe"] < 1e-10
    for name, move in moves.items():
        assert fit.moves[name] == pytest.approx(np.array(move), abs=1e-11)


def lopsided(car, axle):
    """Return the car with a right side of its own."""
    rng, known = np.random.default_rng(5), getattr(car.data, axle).right_hard_points
    return car.with_points(axle, {name: at + 2e-3 * rng.normal(size=3) for name, at in known.items()}, "right")


BEAM = CARS["solid axle"][0]
RIGHT_CARS = {
    "mirrored": (lambda: read("sedan", variant="from_models"), "rear", "bump"),
    "own points": (lambda: lopsided(read("sedan", variant="from_models"), "front"), "front", "steer"),
    "beam": (BEAM, "rear", "roll"),
    "beam with own points": (lambda: lopsided(BEAM(), "rear"), "rear", "roll"),
}


@pytest.mark.parametrize("case", quick(RIGHT_CARS, "own points", "beam"))
def test_derivatives_of_the_right_side(case):
    """Points of the right side alone, against differences of the rig; the left wheel keeps its curves."""
    (make, axle, motion), rng, e = RIGHT_CARS[case], np.random.default_rng(4), 1e-5
    car = make()
    points = getattr(car.data, axle).right_hard_points
    assert all(point[1] <= 0.0 for point in points.values())
    ways = {name: rng.normal(size=3) for name in points}
    slopes = OnRig(car, axle, motion, VALUES, tuple(points), "right").slopes()
    zero = dict.fromkeys(slopes, np.zeros(len(VALUES)))

    def moved(k):
        at = {name: points[name] + k * e * ways[name] for name in points}
        return car.with_points(axle, at, "right")

    runs = [distances(moved(k), axle, motion, VALUES, zero, "right") for k in (-2, -1, 1, 2)]
    for name, slope in slopes.items():
        exact = slope @ np.concatenate(list(ways.values()))
        far, near, right, farther = (run[name] for run in runs)
        assert np.max(np.abs(exact)) > 0.0
        assert (far - 8.0 * near + 8.0 * right - farther) / (12.0 * e) == pytest.approx(exact, abs=3e-8)
    if not getattr(car.data, axle).shared:
        stays = [distances(one, axle, motion, VALUES, zero) for one in (car, moved(2))]
        for name, curve in stays[0].items():
            assert stays[1][name] == pytest.approx(curve, abs=1e-12)


def test_moves_of_the_right_side_are_found_again():
    """A tie rod of the right side alone: the fit finds its move, and the left side stays as it is."""
    car, move = read("sedan", variant="from_models"), np.array((0.0, 0.003, -0.005))
    at = car.data.front.right_hard_points["tie_rod.a"] + move
    values = np.linspace(-0.06, 0.06, 5)
    target = rig(car.with_points("front", {"tie_rod.a": at}, "right"), "front", "bump", values=values).right
    ranges = {"tie_rod.a": (0.0, 0.02, 0.02)}
    fit = fit_hard_points(car, "front", {"toe": target.toe}, ranges, side="right", values=values)
    assert fit.success
    assert fit.before["toe"] > 1e-3
    assert fit.after["toe"] < 1e-10
    assert fit.moves["tie_rod.a"] == pytest.approx(move, abs=1e-10)
    assert fit.car.data.front.right_hard_points["tie_rod.a"] == pytest.approx(at, abs=1e-10)
    assert np.array_equal(fit.car.data.front.hard_points["tie_rod.a"], car.data.front.hard_points["tie_rod.a"])


def test_refusals():
    car = read("sedan", variant="from_models")
    some = {"tie_rod.a": (0.0, 0.0, 0.01)}
    for given, error, words in (
        (({"tow": np.zeros(25)}, some), rtmbs.errors.UnknownNameError, "no curve of the rig named 'tow'"),
        (({"toe": np.zeros(25)}, {"rod": (0, 0, 1)}), rtmbs.errors.UnknownNameError, "no hard point named 'rod'"),
        (({"toe": np.zeros(3)}, some), rtmbs.errors.ModelError, "target 'toe'"),
        (({}, some), rtmbs.errors.ModelError, "no curve of the rig is given"),
        (({"toe": np.zeros(25)}, {"tie_rod.a": (0, 0, 0)}), rtmbs.errors.ModelError, "the range of 'tie_rod.a' is"),
        (({"toe": np.zeros(25)}, some, "roll", {"camber": 2.0}), rtmbs.errors.UnknownNameError, "target with a weight"),
        (({"toe": np.zeros(25)}, some, "lateral"), rtmbs.errors.ModelError, "motion is 'lateral'; it must be one of"),
    ):
        with pytest.raises(error, match=words):
            fit_hard_points(car, "front", *given[:3], **dict(zip(("weights", "most"), given[3:], strict=False)))
    with pytest.raises(rtmbs.errors.ModelError, match="side is 'up'; it must be one of left, right"):
        fit_hard_points(car, "front", {"toe": np.zeros(25)}, some, side="up")
    rods = car_of(rear=SolidAxle(**SOLID, links=(LOWER,), upper_link=MIDDLE, panhard_rod=PANHARD).axle())
    with pytest.raises(rtmbs.errors.UnknownNameError, match=r"no hard point named 'panhard_rod\.a'"):  # is there once
        fit_hard_points(rods, "rear", {"toe": np.zeros(25)}, {"panhard_rod.a": (0, 0, 0.01)}, side="right")
    with pytest.raises(rtmbs.errors.ModelError, match="most is 0; it must be a whole number above zero"):
        fit_hard_points(car, "front", {"toe": np.zeros(25)}, some, most=0)


def test_joints_that_hold_twice():
    """Two equal links beside each other: a move of one of them has no motion of the axle."""
    links = (*FIVE_LINK["links"][:3], FIVE_LINK["links"][0])
    car = car_of(rear=FiveLink(**FIVE_LINK | {"links": links}, **STRUT).axle())
    joints = OnRig(car, "rear", "bump", np.array([-1e-3, 0.0]), ("link_1.b",))
    with pytest.raises(rtmbs.errors.ModelError, match="hold the axle more than once"):
        joints.slopes()

"""Fit of hard points: derivatives of the curves against differences of the rig, known moves found again, refusals."""

import numpy as np
import pytest

import rtmbs
from rtmbs.vehicle import FiveLink, MacPherson, SolidAxle, fit_hard_points, read, rig
from rtmbs.vehicle.hard_point_fit import curve_derivatives, distances
from tests.vehicle.test_beam_axles import LOWER, SOLID, UPPER
from tests.vehicle.test_suspensions import FIVE_LINK, MACPHERSON, STRUT, car_of

pytestmark = pytest.mark.filterwarnings("ignore:car:rtmbs.RtmbsWarning")
VALUES = np.array([-0.04, 0.0, 0.05])


@pytest.mark.parametrize(
    ("make", "axle", "motion"),
    [
        (lambda: read("sedan", variant="from_models"), "rear", "roll"),
        (lambda: read("sedan", variant="from_models"), "front", "steer"),
        (lambda: car_of(front=MacPherson(**MACPHERSON, **STRUT, steered=True).axle()), "front", "bump"),
        (lambda: car_of(rear=FiveLink(**FIVE_LINK, **STRUT).axle()), "rear", "bump"),
    ],
    ids=["double_wishbone", "steered", "macpherson", "five_link"],
)
def test_derivatives(make, axle, motion):
    """All points move at once in a random direction."""
    car, rng, e = make(), np.random.default_rng(3), 1e-5
    points = getattr(car.data, axle).hard_points
    ways = {name: rng.normal(size=3) for name in points}
    slopes = curve_derivatives(car, axle, motion, VALUES, tuple(points))
    zero = dict.fromkeys(slopes, np.zeros(len(VALUES)))
    runs = [
        distances(
            car.with_points(axle, {name: points[name] + k * e * ways[name] for name in points}),
            axle,
            motion,
            VALUES,
            zero,
        )
        for k in (-2, -1, 1, 2)
    ]
    for name, slope in slopes.items():
        exact = slope @ np.concatenate(list(ways.values()))
        two, one, right, far = (run[name] for run in runs)
        assert (two - 8.0 * one + 8.0 * right - far) / (12.0 * e) == pytest.approx(exact, abs=2e-8)


def test_moves_are_found_again():
    """Bump steer of a car with moved ends of the tie rod: the fit finds the moves."""
    car = read("sedan", variant="from_models")
    points, moves = car.data.front.hard_points, {"tie_rod.a": (0.0, 0.004, -0.006), "tie_rod.b": (0.003, 0.0, 0.0)}
    wanted = car.with_points("front", {name: points[name] + np.array(move) for name, move in moves.items()})
    values = np.linspace(-0.06, 0.06, 7)
    target = rig(wanted, "front", "bump", values=values).left
    ranges = {"tie_rod.a": (0.0, 0.02, 0.02), "tie_rod.b": (0.02, 0.0, 0.0)}
    fit = fit_hard_points(car, "front", {"toe": target.toe, "spring": target.lengths["spring"]}, ranges, values=values)
    assert fit.success
    assert fit.before["toe"] > 1e-3
    assert fit.after["toe"] < 1e-9
    for name, move in moves.items():
        assert fit.moves[name] == pytest.approx(np.array(move), abs=1e-6)


def test_refusals():
    car = read("sedan", variant="from_models")
    some = {"tie_rod.a": (0.0, 0.0, 0.01)}
    for given, error, words in (
        (({"tow": np.zeros(25)}, some), rtmbs.errors.UnknownNameError, "no curve of the rig named 'tow'"),
        (({"toe": np.zeros(25)}, {"rod": (0, 0, 1)}), rtmbs.errors.UnknownNameError, "no hard point named 'rod'"),
        (({"toe": np.zeros(3)}, some), rtmbs.errors.ModelError, "target 'toe'"),
        (({}, some), rtmbs.errors.ModelError, "no curve of the rig is given"),
        (({"toe": np.zeros(25)}, {"tie_rod.a": (0, 0, 0)}), rtmbs.errors.ModelError, "the range of 'tie_rod.a' is"),
        (({"toe": np.zeros(25)}, some, "lateral"), rtmbs.errors.ModelError, "motion is 'lateral'; it must be one of"),
    ):
        with pytest.raises(error, match=words):
            fit_hard_points(car, "front", *given)
    solid = car_of(rear=SolidAxle(**SOLID, links=(LOWER, UPPER)).axle())
    with pytest.raises(rtmbs.errors.ModelError, match="the rear axle has parts of both sides"):
        fit_hard_points(solid, "rear", {"toe": np.zeros(25)}, {"link_1.a": (0, 0, 0.01)})

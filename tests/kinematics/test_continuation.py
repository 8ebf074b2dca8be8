"""Near singular poses a mechanism stays on its branch; through them it goes on smoothly, and the report says so."""

import numpy as np
import pytest

import rtmbs
from bench.campaigns.near_singular import LIMIT, run
from rtmbs.kinematics import Analysis, MotionError
from rtmbs.kinematics.design import FourBar, four_bars
from rtmbs.model import ConstantRate, Prismatic, Revolute

Z = (0.0, 0.0, 1.0)


def slider_crank(rod, start=0.3):
    """Return a crank of length 1 that turns at 2 pi rad/s, with a rod and a slider."""
    model = rtmbs.Model("slider-crank", gravity=(0.0, 0.0, 0.0))
    pin = (np.cos(start), np.sin(start), 0.0)
    end = (np.cos(start) + np.sqrt(rod**2 - np.sin(start) ** 2), 0.0, 0.0)
    model.add_body("crank", mass=0.0)
    model.add_body("rod", mass=0.0, position=pin)
    model.add_body("slider", mass=0.0, position=end)
    model.add_joint("A", Revolute(axis=Z), "ground", "crank", point=(0.0, 0.0, 0.0))
    model.add_joint("B", Revolute(axis=Z), "crank", "rod", point=pin)
    model.add_joint("C", Revolute(axis=Z), "rod", "slider", point=end)
    model.add_joint("P", Prismatic(axis=(1.0, 0.0, 0.0)), "ground", "slider", point=end)
    model.add_driver("drive", ConstantRate(2.0 * np.pi), joint="A")
    return model


@pytest.mark.parametrize("interval", [0.0048, 0.0233, 0.1])
@pytest.mark.parametrize("eps", [1e-7, 1e-5, 1e-3])
def test_a_slider_crank_near_its_change_point_stays_on_its_branch(eps, interval):
    motion = Analysis(slider_crank(1.0 + eps)).run(0.0, 1.0, interval)
    angle = 0.3 + 2.0 * np.pi * motion.t
    wanted = np.cos(angle) + np.sqrt((1.0 + eps - np.sin(angle)) * (1.0 + eps + np.sin(angle)))
    np.testing.assert_allclose(motion["slider.position"][:, 0], wanted, rtol=0, atol=1e-9)
    assert not motion.report.singular


@pytest.mark.parametrize("interval", [0.0048, 0.0233, 0.05])
def test_a_change_point_is_passed_smoothly_and_told(interval):
    motion = Analysis(slider_crank(1.0)).run(0.0, 1.0, interval)
    wanted = 2.0 * np.cos(0.3 + 2.0 * np.pi * motion.t)
    np.testing.assert_allclose(motion["slider.position"][:, 0], wanted, rtol=0, atol=1e-9)
    told = [pose.t for pose in motion.report.singular]
    np.testing.assert_allclose(told, (np.pi * np.array([0.5, 1.5]) - 0.3) / (2.0 * np.pi), rtol=0, atol=1e-4)


@pytest.mark.parametrize("interval", [0.0048, 0.05])
def test_a_gap_between_two_samples_is_not_jumped(interval):
    with pytest.raises(MotionError) as caught:
        Analysis(slider_crank(1.0 - 1e-5)).run(0.0, 1.0, interval)
    assert caught.value.t == pytest.approx((0.5 * np.pi - 0.3) / (2.0 * np.pi), abs=interval)


def test_frozen_pivots_stay_on_the_branch_too():
    motion = Analysis(slider_crank(1.0 + 1e-4), method="freeze").run(0.0, 0.5, 0.013)
    angle = 0.3 + 2.0 * np.pi * motion.t
    wanted = np.cos(angle) + np.sqrt((1.0 + 1e-4) ** 2 - np.sin(angle) ** 2)
    np.testing.assert_allclose(motion["slider.position"][:, 0], wanted, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("lengths", "eps"), [([3.0, 2.0, 4.0, 3.0], 1e-3), ([5.0, 3.0, 6.0, 4.0], 1e-4)])
def test_four_bars_near_change_points_move_as_their_closed_form(lengths, eps):
    sizes = np.array(lengths) * [1.0, 1.0 - eps, 1.0, 1.0]
    bar = FourBar(*sizes)
    for interval in (0.0098, 0.0264):
        motion = Analysis(bar.model(2.0 * np.pi, 0.95)).run(0.0, 1.0, interval)
        angles = 0.95 + 2.0 * np.pi * motion.t
        first, turned = bar.motion(np.array([0.95])).rocker[0], motion["D.angle"]
        wanted = four_bars([sizes], angles).rocker[0] - first
        assert np.abs(np.angle(np.exp(1j * (turned - wanted)))).max() < 1e-9


def test_cases_of_the_campaign():
    tally = run(12, 0)
    assert tally.tried == tally.survived, tally.failures
    assert tally.worst["error, in sizes or rad"] < 1e-3 * LIMIT

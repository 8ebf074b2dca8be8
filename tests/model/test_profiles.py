"""Every registered profile: its derivatives, and what it promises at its ends."""

import numpy as np
import pytest

from rtmbs.model import PROFILES, ConstantRate, Function, Sine, SmoothStep, Spline
from rtmbs.model.profiles import Profile, checked_profile

EXAMPLES = {
    "ConstantRate": ConstantRate(rate=2.0, start=-1.0),
    "Sine": Sine(amplitude=0.7, frequency_rad_s=3.0, phase=0.2, offset=5.0),
    "SmoothStep": SmoothStep(t0=0.5, t1=2.0, start=-1.0, end=3.0),
    "Spline": Spline(t=(0.0, 0.4, 1.0, 1.7, 2.5), values=(0.0, 1.0, -1.0, 2.0, 0.5)),
    "Function": Function(np.exp, np.exp, np.exp),
}


def test_every_registered_profile_has_an_example():
    assert EXAMPLES.keys() == PROFILES.keys()


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_derivatives_are_those_of_the_value(name):
    profile = checked_profile(EXAMPLES[name], "driver")
    assert isinstance(profile, Profile)
    size = 1e-5
    for t in np.random.default_rng(0).uniform(-1.0, 4.0, 50):
        (before, rate_before, _), (_, rate, acceleration), (after, rate_after, _) = (
            profile(t + shift) for shift in (-size, 0.0, size)
        )
        scale = max(1.0, abs(after))
        assert rate == pytest.approx((after - before) / (2 * size), abs=1e-8 * scale)
        assert acceleration == pytest.approx((rate_after - rate_before) / (2 * size), abs=1e-7 * scale, rel=1e-7)


def test_smooth_step_rests_at_both_ends():
    step = EXAMPLES["SmoothStep"]
    for t, value in ((-1.0, -1.0), (0.5, -1.0), (2.0, 3.0), (9.0, 3.0)):
        assert step(t) == pytest.approx((value, 0.0, 0.0), abs=1e-12)


def test_spline_meets_its_table_and_goes_on_straight():
    table = EXAMPLES["Spline"]
    spline = checked_profile(table, "driver")
    for t, value in zip(table.t, table.values, strict=True):
        assert spline(t)[0] == pytest.approx(value, abs=1e-13)
    end = spline(2.5)
    assert spline(3.5) == pytest.approx((end[0] + end[1], end[1], 0.0))
    assert checked_profile(Spline((0.0, 2.0), (1.0, 5.0)), "driver")(1.0) == pytest.approx((3.0, 2.0, 0.0))


def test_spline_agrees_with_scipy():
    from scipy.interpolate import CubicSpline

    table = EXAMPLES["Spline"]
    spline, reference = checked_profile(table, "driver"), CubicSpline(table.t, table.values, bc_type="natural")
    for t in np.linspace(0.0, 2.5, 23):
        np.testing.assert_allclose(spline(t), [reference(t, order) for order in range(3)], atol=1e-12)

"""Four-bars and slider-cranks through change points and at limits, against closed forms and circles that intersect."""

from dataclasses import replace

import numpy as np
import pytest

from rtmbs.kinematics.design import FourBar, SliderCrank, four_bars, tolerances

TURNS = np.linspace(-7.0, 20.0, 109)
CHANGING = [(0.7, 0.3, 0.7, 0.3), (1 / 3, 1 / 7, 1 / 3, 1 / 7), (0.3, 0.1, 0.1, 0.3), (0.3, 0.3, 0.4, 0.4),
            (5.0, 2.0, 4.0, 3.0), (2.0, 5.0, 3.0, 4.0), (4.0, 3.0, 2.0, 5.0), (1.0, 1.0, 1.0, 1.0)]  # fmt: skip


def met(bar, crank):
    """Return both places of C where the circles about B and D meet, from the chord of their difference."""
    B = bar.crank * np.exp(1j * crank)
    d = bar.ground - B
    along = (bar.coupler**2 - bar.rocker**2 + np.abs(d) ** 2) / (2.0 * np.abs(d))
    beside = np.sqrt(np.maximum(bar.coupler**2 - along**2, 0.0))
    return B + d / np.abs(d) * (along + 1j * np.array([1.0, -1.0])[:, None] * beside)


def test_a_parallelogram_stays_one_over_whole_turns():
    bar = FourBar(0.7, 0.3, 0.7, 0.3, point=(0.2, 0.1))
    m = bar.motion(TURNS, 1.3, 0.4)
    at_change = bar.motion(np.pi * np.arange(-4, 5), 1.3, 0.4)
    for one in (m, at_change):
        for found, wanted in (
            (one.coupler, 0.0),
            (one.coupler_rate, 0.0),
            (one.rocker_rate, 1.3),
            (one.rocker_acceleration, 0.4),
        ):
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)
    np.testing.assert_allclose(m.point, np.c_[0.3 * np.cos(TURNS) + 0.2, 0.3 * np.sin(TURNS) + 0.1], rtol=0, atol=1e-14)
    assert replace(bar, branch=-1).motion(np.pi).rocker_rate[0] == pytest.approx(-1.3 / 1.3 * 0.4 / 1.0)


@pytest.mark.parametrize("lengths", CHANGING)
@pytest.mark.parametrize("branch", [1, -1])
def test_change_points_are_passed_smoothly(lengths, branch):
    bar = FourBar(*lengths, point=(0.2, 0.1), branch=branch)
    assert bar.grashof == "change-point"
    angles = bar.crank_angles(4001)
    step, m = angles[1] - angles[0], bar.motion(angles)
    C = bar.ground + bar.rocker * np.exp(1j * m.rocker)
    apart = np.abs(np.abs(C - bar.crank * np.exp(1j * angles)) - bar.coupler)
    assert apart.max() < 1e-12
    away = np.abs(bar.ground - bar.crank * np.exp(1j * angles)) > 1e-3
    assert np.abs(met(bar, angles[away]) - C[away]).min(axis=0).max() < 2e-8  # the root of rounding at a change point
    inside = slice(40, -40) if not bar.crank_turns else slice(1, -1)
    for values, rates in ((m.coupler, m.coupler_rate), (m.rocker, m.rocker_rate)):
        slope = np.angle(np.exp(1j * (values[2:] - values[:-2]))) / (2.0 * step)
        np.testing.assert_allclose(slope[inside], rates[1:-1][inside], rtol=1e-3, atol=1e-3)
    for rates, rise in ((m.coupler_rate, m.coupler_acceleration), (m.rocker_rate, m.rocker_acceleration)):
        slope = (rates[2:] - rates[:-2]) / (2.0 * step)
        np.testing.assert_allclose(slope[inside], rise[1:-1][inside], rtol=1e-2, atol=1e-2)
    if bar.crank_turns:
        np.testing.assert_allclose(m.point[0], m.point[-1], rtol=0, atol=1e-12)  # a curve that closes
    many = four_bars([lengths], TURNS, bar.point, branch)
    np.testing.assert_allclose(many.point[0], bar.motion(TURNS).point, rtol=0, atol=1e-12)
    poses = {(round(one.crank, 9), one.kind, one.stretched) for one in bar.dead_centres()}
    assert len(poses) == len(bar.dead_centres())


def test_ends_of_paths_are_limits():
    rng, limited = np.random.default_rng(3), 0
    for _ in range(400):
        lengths = np.exp(0.6 * rng.normal(size=4)) * 10.0 ** rng.uniform(-3.0, 3.0)
        if 2.0 * lengths.max() >= lengths.sum():
            continue
        bar = FourBar(*lengths, point=tuple(lengths[2] * rng.normal(size=2)), branch=int(rng.choice([1, -1])))
        assert np.all(np.isfinite(bar.path(17)))
        if bar.crank_turns:
            continue
        limited += 1
        for angle in bar.crank_angles(2):
            reach = abs(bar.ground - bar.crank * np.exp(1j * angle))
            ends = np.array([bar.coupler + bar.rocker, abs(bar.coupler - bar.rocker)])
            assert np.abs(reach - ends).min() < 1e-12 * lengths.sum()
    assert limited > 100


def test_strokes_against_the_way_of_the_slider():
    assert SliderCrank(1.0, 1.2, 0.5).stroke == pytest.approx(2.0 * np.sqrt(2.2**2 - 0.5**2), abs=1e-14)
    rng = np.random.default_rng(4)
    for _ in range(60):
        a, b = np.exp(0.5 * rng.normal(size=2))
        e = rng.uniform(-1.0, 1.0) * (a + b)
        one = SliderCrank(a, b, e, branch=int(rng.choice([1, -1])))
        x = np.linspace(-a - b, a + b, 200001)
        way = np.hypot(x, e)
        reached = x[(way <= a + b) & (way >= abs(b - a))]
        if abs(e) < abs(b - a):
            reached = reached[np.sign(reached) == one.branch]
        assert one.stroke == pytest.approx(np.ptp(reached), abs=1e-4 * (a + b))
        for angle, place in one.dead_centres():
            pin = a * np.exp(1j * angle)
            rod = place + 1j * e - pin
            assert abs(abs(rod) - b) < 1e-12 * (a + b)
            assert abs((rod * pin.conjugate()).imag) < 1e-12 * (a + b) ** 2
        assert np.all(np.isfinite(one.path(33)))


def test_slider_cranks_pass_change_points():
    m = SliderCrank(1.0, 1.0).motion(TURNS, 1.3, 0.4)
    np.testing.assert_allclose(m.slider, 2.0 * np.cos(TURNS), rtol=0, atol=1e-13)
    np.testing.assert_allclose(m.slider_rate, -2.6 * np.sin(TURNS), rtol=0, atol=1e-13)
    wanted = -2.0 * (1.69 * np.cos(TURNS) + 0.4 * np.sin(TURNS))
    np.testing.assert_allclose(m.slider_acceleration, wanted, rtol=0, atol=1e-12)
    for offset in (0.5, -0.5):
        one = SliderCrank(1.0, 1.5, offset, branch=-1)
        t = np.linspace(0.0, 4.0 * np.pi, 4001)
        m, step = one.motion(t), t[1]
        np.testing.assert_allclose(np.gradient(m.slider, step)[1:-1], m.slider_rate[1:-1], rtol=0, atol=1e-4)
        np.testing.assert_allclose(one.path(5)[0], one.path(5)[-1], rtol=0, atol=1e-12)


def test_tolerances_of_a_parallelogram_follow_it():
    bar = FourBar(0.7, 0.3, 0.7, 0.3, point=(0.2, 0.1))
    found = tolerances(bar, {"crank": 1e-5, "rocker": 1e-5}, np.array([1.0, 2.0, 4.0, 5.0, 8.0]), samples=4000)
    np.testing.assert_allclose(found.point_sampled, found.point_rss / 3.0, rtol=0.05, atol=1e-9)

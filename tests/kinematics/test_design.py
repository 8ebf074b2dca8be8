"""Design of linkages against closed forms, differences, and the kinematic analysis of the same linkage."""

from dataclasses import replace

import numpy as np
import pytest

from rtmbs.errors import InputError, RtmbsError
from rtmbs.kinematics import Analysis
from rtmbs.kinematics.design import (
    FourBar,
    SliderCrank,
    assemblies,
    four_bars,
    function_generator,
    motion_generator,
    path_generator,
    plot_path,
    tolerances,
)
from rtmbs.kinematics.design.synthesis import PathTask
from rtmbs.model import ConstantRate, Model, Prismatic, Revolute

BAR = FourBar(8.0, 2.0, 7.0, 5.0, point=(3.5, 2.0), pivot=(1.0, -0.5), tilt=0.3)
ANGLES = np.linspace(0.0, 6.0, 41)
H = 1e-5


def random_bars(count, seed=0):
    """Yield four-bars with uneven links, on both branches."""
    rng = np.random.default_rng(seed)
    while count:
        lengths = np.exp(rng.normal(size=4) * 0.7)
        if 2.0 * lengths.max() > 0.98 * lengths.sum():
            continue
        count -= 1
        yield FourBar(*lengths, tuple(rng.normal(size=2)), tuple(rng.normal(size=2)), rng.normal(), rng.choice([1, -1]))


def test_motion_is_that_of_the_kinematic_analysis():
    for bar in (BAR, replace(BAR, branch=-1)):
        motion = Analysis(bar.model(rate=2.0)).run(0.0, 3.0, 0.05)
        found = bar.motion(motion["A.angle"], rate=2.0)
        np.testing.assert_allclose(found.point, motion["point.position"][:, :2], rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.velocity, motion["point.velocity"][:, :2], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.acceleration, motion["point.acceleration"][:, :2], rtol=0, atol=1e-8)
        np.testing.assert_allclose(found.rocker_rate, motion["D.rate"], rtol=0, atol=1e-9)


def test_loops_close_and_rates_are_derivatives():
    for bar in random_bars(200):
        t = bar.crank_angles(15)[2:-2]
        m, ahead, behind = (bar.motion(t + k * H, rate=1.5) for k in (0, 1, -1))
        loop = bar.crank * np.exp(1j * t) + bar.coupler * np.exp(1j * m.coupler)
        np.testing.assert_allclose(loop, bar.ground + bar.rocker * np.exp(1j * m.rocker), rtol=0, atol=1e-12)
        well = np.sin(m.transmission) > 0.2
        np.testing.assert_allclose(
            ((ahead.point - behind.point) / (2 * H) * 1.5)[well], m.velocity[well], rtol=1e-6, atol=1e-6
        )
        rise = (ahead.velocity - behind.velocity) / (2 * H) * 1.5
        np.testing.assert_allclose(rise[well], m.acceleration[well], rtol=1e-5, atol=1e-5)
        C = bar.coupler * np.exp(1j * m.coupler) / (bar.rocker * np.exp(1j * m.rocker))
        np.testing.assert_allclose(np.abs(np.angle(C)), bar.transmission_angle(t), rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("lengths", "kind"),
    [
        ((8.0, 2.0, 7.0, 5.0), "crank-rocker"),
        ((2.0, 5.0, 7.0, 8.0), "double-crank"),
        ((5.0, 8.0, 2.0, 7.0), "double-rocker"),
        ((8.0, 5.0, 7.0, 2.0), "rocker-crank"),
        ((4.0, 4.0, 4.0, 9.0), "triple-rocker"),
        ((4.0, 2.0, 4.0, 2.0), "change-point"),
    ],
)
def test_the_type_of_grashof(lengths, kind):
    assert FourBar(*lengths).grashof == kind


def test_a_crank_that_turns_closes_everywhere_and_another_one_does_not():
    for bar in random_bars(200, 3):
        whole = np.isfinite(bar.angles(np.linspace(0.0, 2.0 * np.pi, 721))[0])
        assert np.all(whole) == bar.crank_turns
        assert bar.crank_turns == (bar.grashof in ("crank-rocker", "double-crank"))
        assert np.all(np.isfinite(bar.path(50)[1:-1]))


def test_dead_centres_are_where_rates_vanish():
    found = BAR.dead_centres()
    assert [one.kind for one in found] == ["limit of the rocker"] * 4
    for one in found:
        rates = [replace(BAR, branch=branch).motion(one.crank).rocker_rate[0] for branch in (1, -1)]
        assert min(np.abs(rates)) < 1e-12
    ends = [one.rocker for one in found if one.rocker > 0.0]
    swing = BAR.motion(np.linspace(0.0, 2.0 * np.pi, 20001)).rocker
    np.testing.assert_allclose([min(ends), max(ends)], [swing.min(), swing.max()], rtol=0, atol=1e-7)
    for bar in random_bars(100, 4):
        for one in bar.dead_centres():
            if one.kind == "limit of the crank":
                reach = abs(bar.ground - bar.crank * np.exp(1j * one.crank))
                wanted = bar.coupler + bar.rocker if one.stretched else abs(bar.coupler - bar.rocker)
                assert reach == pytest.approx(wanted, abs=1e-9)
                C = bar.ground + bar.rocker * np.exp(1j * one.rocker)
                assert abs(C - bar.crank * np.exp(1j * one.crank)) == pytest.approx(bar.coupler, abs=1e-9)


def test_transmission_is_worst_with_the_crank_on_the_ground_line():
    angles = BAR.transmission_angle(np.linspace(0.0, 2.0 * np.pi, 3601))
    assert BAR.worst_transmission == pytest.approx(np.minimum(angles, np.pi - angles).min(), abs=1e-6)
    assert FourBar(4.0, 4.0, 4.0, 9.0).worst_transmission == 0.0


def test_poles_stand_still():
    for bar in random_bars(60, 5):
        t = bar.crank_angles(9)[2:-2]
        m, at = bar.motion(t, 1.3, 0.4), np.exp(1j * bar.tilt)
        B = complex(*bar.pivot) + at * bar.crank * np.exp(1j * t)
        pole = bar.velocity_pole(t) @ [1.0, 1j]
        velocity = 1.3j * at * bar.crank * np.exp(1j * t) + 1j * m.coupler_rate * (pole - B)
        np.testing.assert_allclose(velocity, 0.0, rtol=0, atol=1e-9 * (1.0 + np.abs(pole).max()))
        still = bar.acceleration_pole(t, 1.3, 0.4) @ [1.0, 1j]
        of_pin = at * bar.crank * np.exp(1j * t) * (0.4j - 1.69)
        left = of_pin + (1j * m.coupler_acceleration - m.coupler_rate**2) * (still - B)
        np.testing.assert_allclose(left, 0.0, rtol=0, atol=1e-9 * (1.0 + np.abs(of_pin).max()))


def test_cognates_trace_the_same_curve():
    for bar in random_bars(100, 6):
        m = bar.motion(bar.crank_angles(9)[1:-1])
        for one in bar.cognates():
            ways = [replace(one, branch=branch).motion(m.coupler).point - m.point for branch in (1, -1)]
            gaps = np.min(np.abs(ways).max(axis=2), axis=0)
            np.testing.assert_allclose(gaps, 0.0, rtol=0, atol=1e-9)
            np.testing.assert_allclose(
                sum(sorted(one.lengths)[::3]) / sum(one.lengths), sum(sorted(bar.lengths)[::3]) / sum(bar.lengths)
            )  # of Grashof
    with pytest.raises(InputError, match=r"samples is .*; it must be a whole number of two or more"):
        bar.path(np.linspace(0.0, 1.0, 5))
    with pytest.raises(InputError, match="its coupler point is a pin"):
        replace(BAR, point=(7.0, 0.0)).cognates()


def test_derivatives_by_lengths_are_exact():
    names = ("ground", "crank", "coupler", "rocker")
    for bar in random_bars(60, 7):
        t = bar.crank_angles(9)[2:-2]
        t = t[np.sin(bar.motion(t).transmission) > 0.2]
        point, rocker = bar.derivatives(t)
        for k in range(6):
            ends = []
            for step in (1e-6, -1e-6):
                if k < 4:
                    ends.append(replace(bar, **{names[k]: getattr(bar, names[k]) + step}).motion(t))
                else:
                    moved = tuple(value + step * (j == k - 4) for j, value in enumerate(bar.point))
                    ends.append(replace(bar, point=moved).motion(t))
            slope = (ends[0].point - ends[1].point) / 2e-6
            np.testing.assert_allclose(point[:, :, k], slope, rtol=1e-5, atol=1e-6)
            turn = np.angle(np.exp(1j * (ends[0].rocker - ends[1].rocker))) / 2e-6
            np.testing.assert_allclose(rocker[:, k], turn, rtol=1e-5, atol=1e-6)


def test_many_four_bars_at_once():
    bars = list(random_bars(50, 8))
    found = four_bars([bar.lengths for bar in bars], ANGLES, [bar.point for bar in bars], [bar.branch for bar in bars])
    for k, bar in enumerate(bars):
        alone = replace(bar, pivot=(0.0, 0.0), tilt=0.0).motion(ANGLES)
        np.testing.assert_allclose(found.point[k], alone.point, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.rocker[k], alone.rocker, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.transmission[k], bar.transmission_angle(ANGLES), rtol=0, atol=1e-7)
    with pytest.raises(InputError, match="rows of four lengths"):
        four_bars([[1.0, 2.0]], ANGLES)
    with pytest.raises(InputError, match="branch is"):
        four_bars([[1.0, 2.0, 2.0, 2.0]], ANGLES, branch=0)


def test_the_derivatives_of_a_path_are_those_of_its_residuals():
    rng = np.random.default_rng(0)
    for timing, sense in ((None, 0.0), (np.linspace(0.0, 2.0, 5), 0.0), (None, 1.0), (None, -1.0)):
        task = PathTask(rng.normal(size=5) + 1j * rng.normal(size=5), timing, sense)
        x = task.start(rng)
        steps = 1e-6 * np.eye(len(x))
        slopes = np.stack([(task.residuals(x + h) - task.residuals(x - h)) / 2e-6 for h in steps], axis=1)
        np.testing.assert_allclose(task.jacobian(x), slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_synthesis_meets_points_functions_and_poses():
    points = BAR.motion(np.linspace(0.2, 2.5, 5)).point
    path = path_generator(points, starts=8)
    assert path.error < 1e-7
    assert np.abs(path.mechanism.motion(path.crank).point - points).max() == pytest.approx(path.error, abs=1e-12)
    timed = path_generator(points[:4], np.linspace(0.0, 1.725, 4), starts=20)
    assert timed.error < 1e-6
    x = np.linspace(0.2, 2.0, 5)
    turned = BAR.angles(x)[1]
    function = function_generator(x, turned - turned[0])
    assert function.error < 1e-8
    rocker = np.unwrap(function.mechanism.angles(function.crank)[1])
    np.testing.assert_allclose(rocker - rocker[0], turned - turned[0], rtol=0, atol=1e-7)
    poses = [(0.0, 0.0, 0.0), (1.0, 0.6, 0.4), (1.6, 1.5, 0.9)]
    motion = motion_generator(poses, starts=15)
    assert motion.error < 1e-8
    found = motion.mechanism.motion(motion.crank)
    np.testing.assert_allclose(found.point, np.array(poses)[:, :2], rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.unwrap(found.coupler) - found.coupler[0], [0.0, 0.4, 0.9], rtol=0, atol=1e-8)


def test_synthesis_refuses_what_is_no_task():
    with pytest.raises(InputError, match="at least three rows"):
        path_generator([[0.0, 0.0]])
    with pytest.raises(InputError, match="angles are"):
        path_generator(np.eye(3)[:, :2], [0.0])
    with pytest.raises(InputError, match="lists of equal length"):
        function_generator([0.0, 1.0, 2.0], [0.0])
    with pytest.raises(InputError, match="at least two rows"):
        motion_generator([[0.0, 0.0]])
    with pytest.raises(InputError, match="starts is 0; it must be a whole number"):
        path_generator(BAR.path(7), starts=0)


def test_tolerances_to_first_order_and_by_random_four_bars():
    found = tolerances(BAR, {"crank": 1e-3, "coupler": 2e-3, "u": 1e-3}, ANGLES, samples=20000)
    changed = replace(BAR, crank=BAR.crank + 1e-3).motion(ANGLES).point - BAR.motion(ANGLES).point
    np.testing.assert_allclose(found.point_by[:, :, 0] * 1e-3, changed, rtol=0, atol=5e-6)
    np.testing.assert_allclose(found.point_sampled, found.point_rss / 3.0, rtol=0.05, atol=1e-6)
    np.testing.assert_allclose(found.rocker_sampled, found.rocker_rss / 3.0, rtol=0.05, atol=1e-7)
    assert np.all(found.point_rss <= found.point_worst + 1e-15)
    assert found.open == 0.0
    with pytest.raises(RtmbsError, match="did you mean 'crank'"):
        tolerances(BAR, {"krank": 1e-3}, ANGLES)
    with pytest.raises(InputError, match="zero or more"):
        tolerances(BAR, {"crank": -1e-3}, ANGLES)
    with pytest.raises(InputError, match="whole number from 2 on"):
        tolerances(BAR, {}, ANGLES, samples=1)
    with pytest.raises(InputError, match=r"^tolerance of crank is 50, and crank is .* long; it must be below that"):
        tolerances(BAR, {"crank": 50.0}, ANGLES)
    wide = tolerances(BAR, {"crank": 0.999 * BAR.crank}, ANGLES[:3], samples=20000)  # some lengths are below zero
    assert wide.open > 0.0
    with pytest.raises(InputError, match=r"^lengths have the row \[8.0, -1.0, 7.0, 5.0\]; they must be rows of four"):
        four_bars([[8.0, 2.0, 7.0, 5.0], [8.0, -1.0, 7.0, 5.0]], ANGLES)


def slider_model(crank, rod, offset):
    """Return a slider-crank with a driven crank at angle zero."""
    end = crank + np.sqrt(rod**2 - offset**2)
    model = Model("slider-crank")
    model.add_body("crank", mass=0.0)
    model.add_body("rod", mass=0.0, position=(crank, 0, 0))
    model.add_body("slider", mass=0.0, position=(end, offset, 0))
    model.add_joint("A", Revolute(axis=(0, 0, 1)), "ground", "crank", point=(0, 0, 0))
    model.add_joint("B", Revolute(axis=(0, 0, 1)), "crank", "rod", point=(crank, 0, 0))
    model.add_joint("C", Revolute(axis=(0, 0, 1)), "rod", "slider", point=(end, offset, 0))
    model.add_joint("way", Prismatic(axis=(1, 0, 0)), "ground", "slider", point=(0, 0, 0))
    model.add_driver("drive", ConstantRate(3.0), joint="A")
    return model


def test_the_slider_crank_against_the_kinematic_analysis():
    one = SliderCrank(1.0, 3.0, offset=0.5)
    motion = Analysis(slider_model(1.0, 3.0, 0.5)).run(0.0, 2.0, 0.05)
    found = one.motion(motion["A.angle"], rate=3.0)
    np.testing.assert_allclose(found.slider, motion["slider.position"][:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.slider_rate, motion["slider.velocity"][:, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.slider_acceleration, motion["slider.acceleration"][:, 0], rtol=0, atol=1e-8)
    assert one.crank_turns
    whole = one.motion(np.linspace(0.0, 2.0 * np.pi, 100001)).slider
    assert one.stroke == pytest.approx(whole.max() - whole.min(), abs=1e-8)
    for angle, place in one.dead_centres():
        assert one.motion(angle).slider[0] == pytest.approx(place, abs=1e-12)
        assert one.motion(angle).slider_rate[0] == pytest.approx(0.0, abs=1e-12)
    assert one.path(5).shape == (5, 2)
    with pytest.raises(InputError, match="offset is 5 m"):
        SliderCrank(1.0, 3.0, offset=5.0)
    with pytest.raises(InputError, match="rod is -1"):
        SliderCrank(1.0, -1.0)
    with pytest.raises(InputError, match="branch is 2"):
        SliderCrank(1.0, 3.0, branch=2)


@pytest.mark.slow
def test_all_assemblies_of_a_four_bar_and_of_a_slider_crank():
    analysis = Analysis(BAR.model())
    found = assemblies(analysis, starts=60)
    points = sorted(one.positions["coupler"].tolist() + one.orientations["coupler"][0].tolist() for one in found)
    assert len(found) == 2
    assert len(points) == 2
    turns = sorted(np.arctan2(one.orientations["coupler"][1, 0], one.orientations["coupler"][0, 0]) for one in found)
    wanted = sorted(replace(BAR, branch=branch).motion(0.0).coupler[0] + BAR.tilt for branch in (1, -1))
    np.testing.assert_allclose(turns, wanted, rtol=0, atol=1e-9)
    assert len(BAR.assemblies(0.3)) == 2
    assert len(assemblies(Analysis(slider_model(1.0, 3.0, 0.5)), starts=60)) == 2
    free = BAR.model()
    del free.drivers["drive"]
    with pytest.raises(InputError, match="has 1 free directions"):
        assemblies(Analysis(free))
    with pytest.raises(InputError, match="starts is 0"):
        assemblies(analysis, starts=0)


def test_a_path_is_drawn_over_two_coordinates(tmp_path):
    pytest.importorskip("matplotlib")
    figure = plot_path(BAR.path(), file=tmp_path / "curve.png", marks=BAR.path(5))
    assert (tmp_path / "curve.png").stat().st_size > 1000
    np.testing.assert_allclose(figure.axes[0].lines[0].get_xydata(), BAR.path())
    motion = Analysis(BAR.model()).run(0.0, 1.0, 0.1)
    drawn = plot_path(motion, "point", axes="yx").axes[0].lines[0].get_xydata()
    np.testing.assert_allclose(drawn, motion["point.position"][:, [1, 0]])
    for wrong, words in (({"axes": "xx"}, "two of x, y and z"), ({"file": "a.txt"}, "a picture ends in")):
        with pytest.raises(InputError, match=words):
            plot_path(motion, "point", **wrong)
    with pytest.raises(InputError, match="needs a point"):
        plot_path(motion)


def test_what_is_no_four_bar_is_refused():
    with pytest.raises(InputError, match="the longest link is 9 m and the others are 6 m together"):
        FourBar(9.0, 2.0, 2.0, 2.0)
    with pytest.raises(InputError, match="crank is 0"):
        FourBar(1.0, 0.0, 1.0, 1.0)
    with pytest.raises(InputError, match="branch is 0"):
        FourBar(1.0, 1.0, 1.0, 1.0, branch=0)
    with pytest.raises(InputError, match="the crank does not reach"):
        FourBar(4.0, 4.0, 4.0, 9.0).model(start=0.0)

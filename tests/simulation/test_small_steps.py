"""Runs with small tolerances: smooth motions whose accelerations round off, forces with kinks, and forces that jump."""

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation, library
from rtmbs.errors import InputError
from rtmbs.library.force_laws import stops
from rtmbs.simulation.local_error import smoothed
from rtmbs.simulation.step_choice import bend
from tests.cases import quick, spread


def crank_of_a_heavy_rocker():
    """Return a four-bar whose rocker weighs a thousand times its crank: dead centres throw the crank about."""
    model = rtmbs.Model("four-bar", gravity=(0.0, -9.81, 0.0))
    points = np.array([[0, 0, 0], [0, 0.4, 0], [1, 0.9, 0], [1, 0, 0]])
    for name, at, mass, center in (("crank", 0, 1.0, 0.2), ("coupler", 1, 1.0, 0.0), ("rocker", 3, 1e3, 0.2)):
        inertia = (0.01 * mass,) * 3
        model.add_body(name, mass=mass, position=points[at], center_of_mass=(0, center, 0), inertia=inertia)
    ends = (("a", "ground", "crank"), ("b", "crank", "coupler"), ("c", "coupler", "rocker"), ("d", "ground", "rocker"))
    for (name, one, other), point in zip(ends, points, strict=True):
        model.add_joint(name, rtmbs.Revolute(axis=(0, 0, 1)), one, other, point=point)
    model.set_initial("a", rate=0.5)
    return model.compile(), "a.angle"


def light_four_bar():
    model = rtmbs.Model("four-bar", gravity=(0.0, -9.81, 0.0))
    points = np.array([[0, 0, 0], [0, 0.4, 0], [1, 0.9, 0], [1, 0, 0]])
    for name, at in (("crank", 0), ("coupler", 1), ("rocker", 3)):
        model.add_body(name, mass=1.0, position=points[at], inertia=(0.01,) * 3)
    ends = (("a", "ground", "crank"), ("b", "crank", "coupler"), ("c", "coupler", "rocker"), ("d", "ground", "rocker"))
    for (name, one, other), point in zip(ends, points, strict=True):
        model.add_joint(name, rtmbs.Revolute(axis=(0, 0, 1)), one, other, point=point)
    model.set_initial("a", rate=6.0)
    return model.compile(), "a.angle"


SMOOTH = {
    "heavy rocker": (crank_of_a_heavy_rocker, 1e-5, 1.0),
    "four-bar": (light_four_bar, 1e-8, 0.1),
    "singular pose": (lambda: (library.build("windows").compile(), "hinge_1.angle"), 1e-4, 1.0),
}


@pytest.mark.parametrize("case", quick(SMOOTH, "four-bar"))
def test_what_projections_leave_is_no_bend_of_a_smooth_motion(case):
    build, tolerance, t_end = SMOOTH[case]
    system, channel = build()
    found, coarse = (Simulation(system, 1e-3).run(t_end, tolerance=one) for one in (tolerance, 10.0 * tolerance))
    assert abs(found[channel][-1] - coarse[channel][-1]) < 10.0 * tolerance
    assert found.steps.refused < 0.1 * found.steps.steps


def swing(law, **options):
    """Return a pendulum about a horizontal hinge, on a spring, with a law or a motor."""
    model = rtmbs.Model("swing")
    model.add_body("arm", mass=2.0, center_of_mass=(0.3, 0, 0), inertia=(0.05,) * 3)
    model.add_joint("hinge", rtmbs.Revolute(axis=(0, 1, 0)), model.ground, "arm", point=(0, 0, 0))
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=3.0, damping=0.1), joint="hinge")
    model.add_force("thing", law, joint="hinge", **options)
    return Simulation(model.compile(), 1e-3)


def late(t):
    return 6.0 * max(t - 0.3333, 0.0)


STOP = {"lower": -9.0, "upper": 1.0, "stiffness": 4000.0, "exponent": 2.0, "damping": 60.0}
KINKS = {
    "damped stop": (stops, {"parameters": STOP}),
    "bump": (lambda t, k, p: -200.0 * np.maximum(k.z - 0.7, 0.0), {}),
    "ramp in time": (rtmbs.Motor(late), {}),
}


@pytest.mark.parametrize("case", spread(KINKS, 1))
def test_kinks_of_forces_are_passed(case):
    """Each makes one error of order two: errors sum up to one and a half tolerances at most."""
    law, options = KINKS[case]
    ends = {}
    for tolerance in (1e-4, 1e-5, 1e-7):
        result = swing(law, **options).run(0.5, tolerance=tolerance)
        log = result.steps
        assert np.sum((log.error * log.h)[log.taken]) < 1.5 * 0.5
        assert log.refused < 60
        assert log.h[log.taken].min() > 0.1 * tolerance
        ends[tolerance] = result["hinge.angle"][-1]
    assert abs(ends[1e-4] - ends[1e-7]) < 1e-4
    assert abs(ends[1e-5] - ends[1e-7]) < 1e-5


def pulse(t):
    return 8.0 if 0.25 < t < 0.2501 else 0.0


@pytest.mark.parametrize(
    ("law", "words"),
    [
        (lambda t, k, p: -8.0 * np.where(k.z > 0.7, 1.0, 0.0), "'thing' jumps or has a kink there; smooth its law"),
        (lambda t, k, p: -1.0 * np.sign(k.zd), "'thing' jumps or has a kink there; smooth its law"),
        (rtmbs.Motor(pulse), "'thing' jumps or has a kink there; declare the jumps of its function of time"),
    ],
    ids=["jump", "sign", "pulse"],
)
def test_the_force_that_jumps_is_named(law, words):
    with pytest.raises(InputError, match=rf"asks for steps below .* because of 'hinge\.angle': force {words}"):
        swing(law).run(1.0, tolerance=1e-7)


def test_rounding_of_accelerations_is_no_bend():
    rng, h = np.random.default_rng(2), np.full((16, 1), 1e-6)
    smooth = np.linspace(1.0, 1.1, 16)[:, None] * (1.0, -2.0)
    noise = 50.0 * rng.choice((-1.0, 1.0), size=(16, 1)) * np.array((1.0, 0.0))
    explained = np.full(2, 1e-10)
    np.testing.assert_array_equal(smoothed(smooth, h, explained), smooth)
    found = smoothed(smooth + noise - noise.mean(axis=0), h, explained)
    np.testing.assert_allclose(found[:, 0], smooth[:, 0].mean(), rtol=1e-12)
    np.testing.assert_array_equal(found[:, 1], smooth[:, 1])
    np.testing.assert_array_equal(smoothed(noise[:4], h[:4], explained), noise[:4])
    np.testing.assert_array_equal(smoothed(noise, h, 0.1 * explained), noise)  # ringing is larger


def test_what_bends():
    rng = np.random.default_rng(2)
    x = np.linspace(0.0, 1.0, 17)
    assert bend(np.sin(x)) == 0.0
    assert bend(1e3 + 1e-13 * rng.normal(size=17)) == 0.0
    assert bend(np.maximum(x - 0.5, 0.0)) == pytest.approx(1.0 / 16.0)
    assert bend(np.where(x > 0.5, 1.0, -1.0)) == 2.0

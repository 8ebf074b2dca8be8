"""How the next step follows from the error of the last one."""

import math

import numpy as np
import pytest

import rtmbs
from rtmbs import Simulation, library
from rtmbs.errors import InputError
from rtmbs.library.force_laws import stops
from rtmbs.simulation.dense_output import smoothed
from rtmbs.simulation.step_choice import GROW, LARGEST_MOVE, SHRINK, UNJUDGED, StepBound, StepChoice, bend, first_step
from tests.cases import quick, spread


@pytest.fixture
def choice():
    return StepChoice(library.build("pendulum").compile(), 1e-6, 0.0, 2.0)


def test_factors_are_bounded_and_fall_with_the_root_of_the_error(choice):
    assert choice.factor(0.0) == GROW
    assert choice.factor(1e9) == SHRINK
    assert choice.factor(math.nan) == SHRINK
    assert choice.factor(math.inf) == SHRINK
    assert choice.factor(1.0) / choice.factor(4.0) == pytest.approx(2.0)
    assert choice.factor(1.0) < 1.0


def test_errors_that_shrink_make_the_step_shrink(choice):
    h = 1e-3
    for _ in range(5):
        smaller = choice.after_refusal(0.5, h, 4.0 * (h / 1e-3) ** 2, 2e-3)
        assert smaller < 0.71 * h
        assert choice.unjudged == 0
        h = smaller


def test_errors_that_do_not_shrink_with_the_step_are_passed_over_in_loops():
    choice = StepChoice(library.build("fourbar").compile(), 1e-6, 0.0, 2.0)
    h = choice.after_refusal(0.5, 1e-3, 4.0, 2e-3)
    assert choice.unjudged == 0
    assert choice.after_refusal(0.5, h, 4.0 * 1e-3 / h, 2e-3) == 2e-3
    assert choice.unjudged == UNJUDGED


def test_a_tree_has_no_steps_off_its_loops(choice):
    h = choice.after_refusal(0.5, 1e-3, 4.0, 2e-3)
    assert choice.after_refusal(0.5, h, 4.0 * 1e-3 / h, 2e-3) < h
    assert choice.unjudged == 0


def test_halves_that_disagree_let_steps_be_judged_after_all():
    choice = StepChoice(library.build("fourbar").compile(), 1e-6, 0.0, 2.0)
    choice.unjudged = UNJUDGED
    choice.excuse(0.5e-6)
    assert choice.unjudged == UNJUDGED
    choice.excuse(0.6e-6)
    assert choice.unjudged == 0
    assert choice.excused < 0.0


def test_refusals_at_other_times_are_not_compared(choice):
    choice.after_refusal(0.5, 1e-3, 4.0, 2e-3)
    choice.after_refusal(0.6, 5e-4, 8.0, 2e-3)
    assert choice.unjudged == 0


TOLERANCE = 1e-5


def rotor(rate, center=-0.5):
    model = rtmbs.Model("rotor")
    model.add_body("a", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(0, 0, center))
    model.add_joint("j", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "a")
    model.set_initial("j", rate=rate)
    return Simulation(model.compile(), h=1e-3)


@pytest.mark.parametrize("rate", [18539.0, 452278.0])
def test_fast_unbalanced_rotors(rate):
    """Series in 1 / rate: phi = r t + k / r (sin(r t) / r - t), k = m g l / I, error of order k^2 / r^3."""
    span = 200.0 / rate
    result = rotor(rate).run(span, tolerance=TOLERANCE)
    k, t = 9.81 * 0.5 / 0.35, result.t
    exact = rate * t + k / rate * (np.sin(rate * t) / rate - t)
    assert np.abs(result["j.angle"] - exact).max() < TOLERANCE
    assert np.diff(result.t).max() * rate <= LARGEST_MOVE
    assert set(result.outcomes) == {"CONVERGED"}


def test_too_many_turns_are_told():
    with pytest.raises(InputError, match=r"a body by 1.5 rad at most, .*; most_steps = 1000"):
        rotor(1e5, center=0.0).run(1.0, tolerance=1e-2, most_steps=1000)


def test_rates_add_up_along_a_chain():
    model = rtmbs.Model("chain", gravity=(0.0, 0.0, 0.0))
    for k in range(3):
        model.add_body(f"b{k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        model.add_joint(f"j{k}", rtmbs.Revolute(axis=(0, 1, 0)), f"b{k - 1}" if k else "ground", f"b{k}")
        model.set_initial(f"j{k}", rate=10.0)
    sim = Simulation(model.compile(), h=1e-3)
    assert first_step(sim.system, sim.equations, sim.state) == pytest.approx(0.2 / 30.0)


def test_a_hopeless_run_ends_after_a_hundredth_of_its_steps():
    bound = StepBound(1000, 1e-6, 1.0)
    for tried in range(11):
        bound.check(tried, 0.0, 1e-9, "x")
    with pytest.raises(InputError, match=r"asks for about 1e\+09 steps to t_end = 1 s.*most_steps = 1000"):
        bound.check(11, 0.0, 1e-9, "the error of 'x'")


def test_a_stretch_of_small_steps_passes():
    bound = StepBound(1000, 1e-6, 1.0)
    for tried in range(100):
        bound.check(tried, 0.0, 1e-3 / 1.5, "x")
    bound.check(100, 0.5, 1e-2, "x")
    bound.check(340, 0.6, 4e-4, "x")


def test_no_run_tries_more_than_it_may():
    bound = StepBound(1000, 1e-6, 1.0)
    for tried in range(991):
        bound.check(tried, 0.0, 1e-1, "x")
    bound.within = 999
    with pytest.raises(InputError, match="a larger most_steps"):
        bound.check(1000, 0.0, 1e-1, "x")


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

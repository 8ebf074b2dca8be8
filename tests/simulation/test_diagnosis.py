"""A step that fails names the driver, the law or the loop at fault, and gives sizes."""

from types import SimpleNamespace

import numpy as np
import pytest

import rtmbs
from rtmbs import Outcome, PenaltyTrapezoidal, Simulation, library
from rtmbs.errors import StepError
from rtmbs.library.force_laws import stribeck_friction
from rtmbs.semirecursive.equations import out_of_range, stiffness
from tests.semirecursive.start.cases import parallelogram

X = (1.0, 0.0, 0.0)


def arm(profile, between=False):
    """A slider-crank in the plane YZ, its slider or its distance from ground driven: 0.5 to 1.5 m are in reach."""
    model = rtmbs.Model("reach", gravity=(0.0, 0.0, 0.0))
    crank, end = np.array((0.0, 0.3, 0.4)), np.array((0.0, 0.3 + np.sqrt(1.0 - 0.16), 0.0))
    model.add_body("crank", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=crank / 2)
    model.add_body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1), center_of_mass=(crank + end) / 2)
    model.add_body("slider", mass=1.0, inertia=(0.1, 0.1, 0.1), position=end)
    model.add_joint("pivot", rtmbs.Revolute(X), "ground", "crank", point=(0, 0, 0))
    model.add_joint("pin", rtmbs.Revolute(X), "crank", "rod", point=crank)
    model.add_joint("rail", rtmbs.Prismatic((0, 1, 0)), "ground", "slider", point=end)
    model.add_joint("eye", rtmbs.Revolute(X), "rod", "slider", point=end, cut=True)
    if between:
        marks = model.add_marker("foot", "ground"), model.add_marker("head", "slider", end)
        model.add_driver("winch", profile(end[1]), between=marks)
    else:
        model.add_driver("winch", profile(0.0), joint="rail")
    return model


@pytest.mark.parametrize("between", [False, True], ids=["coordinate", "distance"])
@pytest.mark.parametrize("h", [1e-3, 1e-2])
@pytest.mark.parametrize("rate", [1.0, -2.0])
def test_a_driver_beyond_reach_is_named(between, h, rate):
    sim = Simulation(arm(lambda start: rtmbs.ConstantRate(rate, start=start), between).compile(), h=h)
    with pytest.raises(StepError) as caught:
        sim.run(1.0)
    error = caught.value
    assert error.worst[0] == "winch"
    assert "driver 'winch' is beyond reach" in error.reason
    assert error.reason in str(error)
    assert "try a smaller step" not in str(error)
    assert error.result.t[-1] == sim.t > 0.05


def test_drivers_that_part_later_are_named_together():
    """Both sides of a parallelogram; each alone could be followed. Steps before the loop opens are UNPROJECTED."""
    model = parallelogram()
    same = rtmbs.Function(lambda t: 0.1 * t, lambda t: 0.1, lambda t: 0.0)
    parts = rtmbs.Function(lambda t: 0.1 * t + 0.01 * t**3, lambda t: 0.1 + 0.03 * t**2, lambda t: 0.06 * t)
    for name, side, profile in (("one", "A", same), ("other", "D", parts)):
        model.add_driver(name, profile, joint=side)
    with pytest.raises(StepError, match="drivers 'one', 'other' cannot be followed together") as caught:
        Simulation(model.compile(), h=5e-3).run(3.0)
    assert set(caught.value.worst[:2]) == {"one", "other"}
    assert caught.value.result.outcomes["UNPROJECTED"] > 10


def test_a_driver_within_reach_is_not_blamed():
    """The same loop fails for a brake that jumps; its driver only moves gently."""
    model = arm(lambda start: rtmbs.Sine(0.01, 3.0, offset=start))
    model.add_body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    model.add_joint("hub", rtmbs.Revolute(X), "ground", "wheel")
    values = {"static": 3.0, "sliding": 3.0, "stribeck_rate": 0.1, "viscous": 0.0, "smoothing": 1e-9}
    model.add_force("brake", stribeck_friction, joint="hub", parameters=values)
    model.set_initial("hub", position=1.0, rate=50.0)
    with pytest.raises(StepError) as caught:
        Simulation(model.compile(), h=1e-2, method=PenaltyTrapezoidal(tries=0)).run(5.0, on_failure="raise")
    assert caught.value.worst[0] == "brake"
    assert "winch" not in str(caught.value)
    assert "rate times step is" in caught.value.reason


def test_a_law_that_jumps_is_named():
    """Friction smoothed to next to nothing, and no tries: the law is least linear, not the mechanism."""
    model = library.build("crank_rocker")
    values = {"static": 4.0, "sliding": 3.0, "stribeck_rate": 0.1, "viscous": 0.0, "smoothing": 1e-7}
    model.add_force("brake", stribeck_friction, joint="rocker_pivot", parameters=values)
    sim = Simulation(model.compile(), h=5e-3, method=PenaltyTrapezoidal(tries=0))
    with pytest.raises(StepError) as caught:
        sim.run(2.0, on_failure="raise")
    assert caught.value.worst[0] == "brake"
    assert "least linear over the step: brake" in caught.value.reason


def test_sizes_are_those_of_the_step():
    """k h^2 / m of a slider with an unstable spring, by hand."""
    model = rtmbs.Model("slider")
    model.add_body("block", mass=2.0, inertia=(1.0, 1.0, 1.0))
    model.add_joint("rail", rtmbs.Prismatic(X), "ground", "block")
    model.add_force("push", rtmbs.TorsionSpring(-4.0 * 2.0 / 0.01**2), joint="rail")
    model.set_initial("rail", position=1.0)
    report = Simulation(model.compile(), h=0.01).step()
    assert report.outcome is Outcome.SINGULAR_TANGENT
    assert "stiffness times step squared over mass is 4 at 'rail.displacement'" in report.reason


def test_only_penalties_that_are_not_positive_are_out_of_range():
    sim = Simulation(library.build("crank_rocker").compile())
    alpha, names = np.full(sim.system.m, 0.5), sim.system.row_names
    assert out_of_range(sim.system, sim.state, alpha) == ()
    alpha[1], alpha[2] = 0.0, np.inf
    assert out_of_range(sim.system, sim.state, alpha) == (f"alpha of {names[1]}", f"alpha of {names[2]}")


@pytest.mark.parametrize(
    ("k", "c", "says"),
    [(1e4, 3.0, "stiffness times step squared over mass is 0.5 "), (1.0, 1e2, "damping times step over mass is 0.5 ")],
)
def test_the_larger_of_stiffness_and_damping_is_given(k, c, says):
    """k h^2 / m and c h / m of a mass of 2 kg at h = 0.01 s."""
    model = rtmbs.Model("oscillator", gravity=(0.0, 0.0, 0.0))
    model.add_body("mass", mass=2.0)
    model.add_joint("rail", rtmbs.Prismatic(X), "ground", "mass")
    model.add_force("spring", rtmbs.TorsionSpring(stiffness=k, damping=c), joint="rail")
    sim = Simulation(model.compile(), h=1e-2)
    assert list(stiffness(sim.equations, SimpleNamespace(h=1e-2), sim.state)) == [f"{says}at 'rail.displacement'"]

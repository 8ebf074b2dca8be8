"""Motions in parts: the same numbers for any number of parts, and those of the other methods."""

import numpy as np
import pytest

import rtmbs
from rtmbs.dae import RungeKutta, integrate
from rtmbs.errors import InputError, StepError
from rtmbs.formulations import Baumgarte, JointCoordinates, Recursive
from rtmbs.recursive.motion import run
from rtmbs.recursive.threads import run_threads
from tests.recursive.machines import branched, start_of


def largest_difference(a, b):
    """Of coordinates and rates, in terms of the largest rate and of one."""
    return max(np.abs(getattr(a, k) - getattr(b, k)).max() / max(1.0, np.abs(getattr(a, k)).max()) for k in ("z", "zd"))


@pytest.mark.parametrize(
    ("branches", "free", "parts"),
    [(2, False, 2), (2, True, 2), (4, True, 4), (3, False, 3)],
)
def test_parts_make_no_difference(branches, free, parts):
    model, unit = branched(5, branches=branches, free=free)
    system, z, zd = start_of(model, unit)
    times, h = np.linspace(0.0, 0.02 * unit.time, 3), 1e-3 * unit.time
    one = run(system, z, zd, times, h)
    shared = run_threads(system, z, zd, times, h, parts)
    assert shared.ranks == parts
    assert largest_difference(one, shared) < 1e-12
    np.testing.assert_allclose(one.R0, shared.R0, atol=1e-12)


def test_it_is_the_motion_of_the_other_methods():
    """Four stages of Kutta's method over ``formulations.Recursive``, the same steps."""
    system = JointCoordinates(rtmbs.library.build("slider_crank").compile())
    state = rtmbs.Simulation(system.equations.compiled, h=1e-3).state
    times = np.linspace(0.0, 0.1, 11)
    found = run(system.equations.compiled, state.z, state.zd, times, 1e-3, alpha=20.0, beta=20.0)
    method = RungeKutta(formulation=Baumgarte(20.0, 20.0, within=Recursive()))
    right = integrate(system, method, state.z, state.zd, 0.1, 1e-3)
    error = np.abs(found.z - right.q[::10]).max()
    assert error < 1e-7  # two methods of order four


def test_order_four_with_ball_joints():
    """Rotation vectors start anew at every step."""
    model, unit = branched(7)
    system, z, zd = start_of(model, unit)
    times = np.array([0.0, 0.1 * unit.time])
    ends = [run(system, z, zd, times, times[1] / n) for n in (10, 20, 80)]
    first, second = (np.abs(one.zd[-1] - ends[-1].zd[-1]).max() for one in ends[:2])
    assert 10.0 < first / second < 25.0


def test_bad_input():
    model, unit = branched(0, driven=True)
    system, z, zd = start_of(model, unit)
    times = np.array([0.0, 0.1])
    with pytest.raises(InputError, match="drive is a function of time, which threads cannot call"):
        run_threads(system, z, zd, times, 1e-3, 2)
    for bad in (times[::-1], times[:1], np.array([0.0, np.nan])):
        with pytest.raises(InputError, match="times of the recursion are an ascending row"):
            run(system, z, zd, bad, 1e-3)
    for h in (0.0, -1.0, np.nan):
        with pytest.raises(InputError, match=r"h is .* above 0 is wanted"):
            run(system, z, zd, times, h)


def test_a_motion_that_flies_apart_is_said():
    system = rtmbs.library.build("slider_crank").compile()
    state = rtmbs.Simulation(system, h=1e-3).state
    with pytest.raises(StepError, match="the motion is not finite"):
        run(system, state.z, 1e200 * state.zd, np.array([0.0, 10.0]), 1.0)
    with pytest.raises(StepError, match="the motion is not finite"):
        run_threads(system, state.z, 1e200 * state.zd, np.array([0.0, 10.0]), 1.0, 2)


def test_a_force_without_a_value_is_said():
    """The spring stands between points that coincide, so it has no direction; no loop notices it."""
    model = rtmbs.Model("slide")
    model.add_body("block", mass=1.0, inertia=(1, 1, 1))
    model.add_joint("rail", rtmbs.Prismatic((1, 0, 0)), "ground", "block")
    ends = model.add_marker("a", "ground", (0, 0, 0)), model.add_marker("b", "block", (0, 0, 0))
    model.add_force("spring", rtmbs.SpringDamper(100.0, 1.0, 0.5), between=ends)
    system = model.compile()
    for steps in (run, lambda *arguments: run_threads(*arguments, 1)):
        with pytest.raises(StepError, match=r"not finite at t = 0.01; .* a spring between points that coincide"):
            steps(system, system.z0, np.zeros(1), np.array([0.0, 0.01]), 1e-3)


def test_a_massless_coordinate_is_named():
    model = rtmbs.library.build("fourbar", ny=1, nz=1)
    cut = next(joint for joint in model.joints.values() if joint.cut)
    model.add_force("ghost", rtmbs.Motor(0.3), joint=cut)
    system = model.compile()
    with pytest.raises(InputError, match=r"has no inertia of its own; ranks need one"):
        run(system, system.z0, np.zeros(len(system.z0)), np.array([0.0, 0.1]), 1e-3)


def thin_rod():
    """A rod without inertia about its own axis, on a hinge along it."""
    model = rtmbs.Model("rod", gravity=(0.0, 0.0, -9.81))
    arm = model.add_body("arm", mass=2.0, center_of_mass=(0.1, 0.2, 0.0), inertia=(0.1, 0.1, 0.15))
    rod = model.add_body("rod", mass=1.0, center_of_mass=(0.5, 0.0, 0.0), inertia=(0.0, 0.1, 0.1))
    model.add_joint("pin", rtmbs.Revolute(axis=(0.0, 1.0, 0.0)), "ground", arm, point=(0.0, 0.0, 0.0))
    model.add_joint("spin", rtmbs.Revolute(axis=(1.0, 0.0, 0.0)), arm, rod, point=(0.0, 0.0, 0.0))
    return model


def test_a_coordinate_without_inertia_at_a_state_is_named():
    system = thin_rod().compile()
    with pytest.raises(StepError, match=r"spin.* can move without inertia at t = 0"):
        run(system, np.zeros(2), np.zeros(2), np.array([0.0, 0.1]), 1e-3)

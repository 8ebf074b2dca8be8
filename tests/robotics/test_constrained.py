"""Motions without inertia, numbers that are not finite, and gaps of loops in the answers of ``Robot``.

References: a massless link between two hinges on one axis, whose two turns have one inertia; closed forms of gears.
"""

import numpy as np
import pytest

import rtmbs
from rtmbs.errors import InputError

AXIS = np.array((1.0, 2.0, 3.0)) / np.sqrt(14.0)


def two_hinges(middle=0.0, size=1.0, turn=(1.0, 2.0, 3.0)):
    """Return two hinges, the first one about ``AXIS``; the link between has an inertia ``middle`` about every axis."""
    model = rtmbs.Model("hinges")
    model.add_body("a", mass=0.0, inertia=(size * middle,) * 3)
    model.add_body("b", mass=size, inertia=(0.1 * size,) * 3)
    model.add_joint("j", rtmbs.Revolute(AXIS), "ground", "a")
    model.add_joint("k", rtmbs.Revolute(turn), "a", "b")
    return model


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e12])
def test_a_motion_without_inertia_is_refused_at_any_size(size):
    robot = rtmbs.Robot(two_hinges(size=size))
    for tau in ((size, 0.0), (0.0, 0.0)):
        with pytest.raises(InputError, match="a motion of 'j' and 'k' has no inertia"):
            robot.forward_dynamics((0.1, 0.2), (0.0, 0.0), tau)
    with pytest.raises(InputError, match="of state 0: a motion of"):
        robot.forward_dynamics(np.zeros((2, 2)), np.zeros((2, 2)))


@pytest.mark.parametrize("middle", [1.0, 1e-5, 1e-9])
def test_light_links_pass(middle):
    """On one axis: J_a a_j = tau_j - tau_k, J_b (a_j + a_k) = tau_k, at a mass centre on the axis."""
    found = rtmbs.Robot(two_hinges(middle)).forward_dynamics((0.1, 0.2), (0.0, 0.0), (3.0, 1.0)).accelerations
    first, both = 2.0 / middle, 1.0 / 0.1
    np.testing.assert_allclose(found, (first, both - first), rtol=1e-12)


def test_hinges_that_a_gear_holds_need_no_inertia_between():
    """J_b (1 + r) a_k = (tau_k + r tau_j) / (1 + r) with j = r k: the gear leaves one turn of b."""
    model = two_hinges()
    model.add_coupler("gear", {"j": 1.0, "k": -2.0})
    found = rtmbs.Robot(model).forward_dynamics((0.4, 0.2), (0.2, 0.1), (3.0, 1.0))
    slope = (1.0 + 2.0 * 3.0) / (0.1 * 9.0)
    np.testing.assert_allclose(found.accelerations, (2.0 * slope, slope), rtol=1e-12)


def test_gaps_of_states_that_open_a_gear():
    model = two_hinges(1.0)
    model.add_coupler("gear", {"j": 1.0, "k": -2.0})
    robot = rtmbs.Robot(model)
    found = robot.forward_dynamics([(0.4, 0.2), (0.3, 0.3)], [(0.2, 0.1), (1.0, 0.1)])
    Phi = robot.closure_gap([(0.4, 0.2), (0.3, 0.3)])
    rates = robot.closure_jacobian((0.3, 0.3)) @ (1.0, 0.1)
    np.testing.assert_allclose(found.gap, np.abs(Phi[:, 0]), atol=1e-16)
    np.testing.assert_allclose(found.rate_gap, (0.0, abs(rates[0])), atol=1e-15)
    assert found.gap[1] > 0.1
    single = robot.forward_dynamics((0.3, 0.3), (1.0, 0.1))
    assert (single.gap, single.rate_gap) == (found.gap[1], found.rate_gap[1])
    tree = rtmbs.Robot(two_hinges(1.0)).forward_dynamics((0.3, 0.3), (1.0, 0.1))
    assert (tree.residual, tree.gap, tree.rate_gap) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_numbers_that_are_not_finite_are_refused_by_name(bad):
    robot, good, wrong = rtmbs.Robot(two_hinges(1.0)), np.zeros(2), np.array((0.0, bad))
    batch, still = np.array((good, good, wrong)), lambda x: np.zeros(np.shape(x))
    calls = {
        "q": [
            lambda x: robot.mass_matrix(x), lambda x: robot.jacobian(x, "b"), lambda x: robot.closure_gap(x),
            lambda x: robot.forward_dynamics(x, still(x)),
            lambda x: robot.manipulability(x, "b", rows=(3,)), lambda x: robot.center_of_mass(x),
            lambda x: robot.operational_space_inertia(x, "b", rows=(3,)), lambda x: robot.gravity_forces(x),
        ],
        "v": [lambda x: robot.forward_dynamics(still(x), x), lambda x: robot.bias_forces(still(x), x),
              lambda x: robot.jacobian_time_variation(still(x), x, "b"),
              lambda x: robot.dccrba(still(x), x)],
        "a": [lambda x: robot.inverse_dynamics(still(x), still(x), x)],
        "tau": [lambda x: robot.forward_dynamics(still(x), still(x), x)],
        "poses": [lambda x: robot.scan("b", x, rows=(3,))],
    }  # fmt: skip
    for name, every in calls.items():
        for call in every:
            with pytest.raises(InputError, match=rf"^{name} of state 2: entry 1 is .*; it must be finite"):
                call(batch)
            with pytest.raises(InputError, match=rf"^{name}: entry 1 is .*; it must be finite"):
                call(wrong)
    for one in (lambda: robot.integrate(good, wrong), lambda: robot.difference(wrong, good),
                lambda: robot.inverse_kinematics({"b": (0, 0, 0)}, start=wrong)):  # fmt: skip
        with pytest.raises(InputError, match="it must be finite"):
            one()


def test_complex_numbers_and_answers_beyond_all_numbers_are_refused():
    robot = rtmbs.Robot(two_hinges(1.0))
    with pytest.raises(InputError, match="it must be 2 real numbers"):
        robot.mass_matrix(np.array((1j, 0.0)))
    light = rtmbs.Robot(two_hinges(1.0, size=1e-150))
    with pytest.raises(InputError, match="too large for a number"):
        light.forward_dynamics((0.0, 0.0), (0.0, 0.0), (1e99, 1e100))

"""Newton's iteration of the implicit methods at steps so small that positions over h^2 round coarsely."""

import numpy as np
import pytest
from scipy.optimize import brentq

import rtmbs
from rtmbs.dae.contract import Counts
from rtmbs.dae.newton import Newton, may_bend


@pytest.mark.parametrize("h", [1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("method", [rtmbs.methods.HHT(), rtmbs.methods.GeneralisedAlpha(), rtmbs.methods.RadauGGL()])
def test_small_steps_end_in_rounding_and_are_right(method, h):
    sim = rtmbs.Simulation(rtmbs.library.build("driven_fourbar").compile(), h=h, method=method)
    fine = rtmbs.Simulation(sim.system, h=h, method=rtmbs.methods.CVODE(rtol=1e-11, atol=1e-13))
    for _ in range(8):
        assert sim.step().outcome.name == "CONVERGED"
        assert fine.step().outcome.accepted
    for name, bound in (("z", 1e-12 + 20 * h**3), ("zd", 1e-9 + 2e-15 / h + 20 * h**2)):
        np.testing.assert_allclose(getattr(sim.state, name), getattr(fine.state, name), rtol=0, atol=bound)


def test_what_is_added_to_an_unknown_rounds_and_what_is_not_does_not():
    """x + 1e9 = 1e9 + 1/3 is solved to the rounding of 1e9; a wrong matrix without such a sum is refused."""
    newton = Newton(Counts(), "this test")
    third, one = 1.0 / 3.0, np.eye(1)
    rounded = lambda x: (x + 1e9) - (1e9 + third) + 3e-8 * np.sign(x - third)  # noqa: E731
    found = newton.solve(rounded, lambda x: one, np.zeros(1), np.ones(1), 0.0, np.full(1, 1e9))
    assert abs(found[0] - third) < 1e-6
    with pytest.raises(rtmbs.dae.MotionError, match="does not converge"):
        Newton(Counts(), "this test").solve(lambda x: np.sign(x - third), lambda x: one, np.zeros(1), np.ones(1), 0.0)


@pytest.mark.parametrize("kept", [False, True])
def test_what_converged_behind_a_bend_is_right(kept):
    """Slopes of 1 + s before a bend and 1 behind it, beside ``brentq``: rates told of 1e-13, and 6e-3 was left.

    A matrix that is kept is that of the side before.
    """
    rng, worst = np.random.default_rng(3), 0.0
    for _ in range(2000):
        s, bend, side = 10.0 ** rng.uniform(0.0, 4.5), rng.uniform(-0.5, 0.5), rng.choice([-1.0, 1.0])
        first = bend + side * 10.0 ** rng.uniform(-9.0, 0.0)
        lands = bend - side * 10.0 ** rng.uniform(-12.0, 0.0) * abs(first - bend)
        bent = lambda x: x + s * side * max(side * (x - bend), 0.0)  # noqa: B023, E731
        load = bent(first) - (1.0 + s) * (first - lands)
        slope = lambda x: np.array([[1.0 + (s if side * (x[0] - bend) > 0.0 else 0.0)]])  # noqa: B023, E731
        newton = Newton(Counts(), "this test", may_bend=True)
        if kept:
            newton.factor(np.array([[1.0 + s]]), 0.0)
        found = newton.solve(lambda x: np.array([bent(x[0]) - load]), slope, np.array([first]), np.ones(1), 0.0)  # noqa: B023
        exact = brentq(lambda x: bent(x) - load, -2e5, 2e5, xtol=1e-300, rtol=1e-15, maxiter=2000)  # noqa: B023
        worst = max(worst, abs(found[0] - exact) / (1.0 + s))
    assert worst <= 2e-14


def test_functions_of_the_user_may_bend_and_smooth_systems_do_not():
    fourbar = rtmbs.formulations.JointCoordinates(rtmbs.library.build("fourbar").compile())
    assert not may_bend(fourbar)
    mass, force = (lambda q, t: np.eye(2)), (lambda q, v, t: -np.abs(q))
    assert may_bend(rtmbs.formulations.FunctionSystem(2, 1, mass, force, lambda q, t: [q[0] - q[1]]))

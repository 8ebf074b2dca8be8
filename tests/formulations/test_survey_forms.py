"""What is particular to Wampler's speeds and to the least-squares completion: states off the constraints."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from rtmbs.formulations import Direct, FormulationError, LeastSquaresCompletion, Wampler
from rtmbs.formulations.function_system import pendulum
from tests.formulations.systems import T, states, system_of

AT = np.array([0.6, -0.8])


def test_what_the_rates_violate_has_no_part_in_the_accelerations_of_wampler():
    """The independent rate of the pendulum is that of x at this state; v_y follows from it."""
    q = np.array([0.1, -0.99])
    found = [Wampler().accelerations(pendulum(), q, np.array([2.0, y]), 0.0)[0] for y in (0.2, 5.0)]
    np.testing.assert_array_equal(*found)
    u = 2.0
    v = np.array([u, -q[0] / q[1] * u])  # by hand: q . v = 0 and q . a = -v . v
    C, D = np.array([1.0, -q[0] / q[1]]), np.array([0.0, -(v @ v) / q[1]])
    wanted = C * (C @ (np.array([0.0, -9.81]) - D)) / (C @ C) + D
    np.testing.assert_allclose(found[0], wanted, rtol=1e-13)
    off = [Direct().accelerations(pendulum(), q, np.array([2.0, y]), 0.0)[0] for y in (0.2, 5.0)]
    assert np.abs(off[0] - off[1]).max() > 1.0


def array(x, q, v):
    """Residuals of the derivative array of the pendulum, 1 m and 1 kg, row by row as printed."""
    rate, a, second, lam = x[:2], x[2:4], x[4:6], x[6]
    size = np.linalg.norm(q)
    return np.concatenate((
        rate - v, second - a, a + q * lam - (0.0, -9.81), [q @ rate / size, (q @ second + rate @ rate) / size]
    ))  # fmt: skip


@pytest.mark.parametrize(("q", "v"), [(AT, [0.8, 0.6]), (AT, [0.9, 0.7]), (1.2 * AT, [2.0, -1.0])])
def test_the_completion_is_the_least_sum_of_squares(q, v):
    v = np.array(v)
    best = least_squares(array, np.zeros(7), args=(q, v), xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    a, lam = LeastSquaresCompletion().accelerations(pendulum(), q, v, 0.0)
    np.testing.assert_allclose(a, best[2:4], atol=1e-6)
    np.testing.assert_allclose(lam, best[6:], atol=1e-6)


def test_a_state_far_from_the_constraints_is_told():
    system = system_of("slider-crank in bodies")
    q, v = states("slider-crank in bodies", 1)[0]
    with pytest.raises(FormulationError, match=r"least-squares completion leaves a change of .*take a state nearer"):
        LeastSquaresCompletion().accelerations(system, q, v + 1e8 * np.cos(np.arange(5.0)), T)

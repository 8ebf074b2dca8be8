"""Errors of differences are those of theory: truncation by the next derivative, rounding by the size of Q.

That all sources agree, pair by pair, is held by tests/contracts/test_sources.py.
"""

import numpy as np
import pytest

from rtmbs.ad.function_sources import INCREMENTS
from rtmbs.semirecursive.sources import make_source
from tests.mechanisms import mechanism_of, random_model, random_motion

SEEDS = (11, 12, 13)
PROBE = 1e-3  # step by which exact Jacobians are differentiated once and twice more
EXACT = "complex-step"
ROUNDINGS = 30 * np.finfo(float).eps  # in the difference of two Q, relative to its largest entry (measured: 7)


@pytest.fixture(scope="module", params=SEEDS)
def case(request):
    """A random system, x = [z, zd] with open loops, and functions of x by source: J (n, 2 n) = dQ/dx."""
    system = random_model(request.param, 9).compile()
    mechanism, motion = mechanism_of(request.param, system), random_motion(request.param, system.tables)
    n = system.n

    def jacobian(name):
        source = make_source(name, system)
        return lambda x: -np.hstack(source(x[:n], x[n:], mechanism.R0, mechanism.u))

    force = make_source("finite-difference", system).derivatives.value
    p = np.concatenate([mechanism.u, mechanism.R0.ravel()])
    return system, np.concatenate([motion.z, motion.zd]), jacobian, np.abs(force(np.r_[motion.z, motion.zd], p)).max()


def along_itself(jacobian, x):
    """Return the second and third derivative of Q by each coordinate alone (n, 2 n), from exact Jacobians."""
    second, third = np.empty((2, *jacobian(x).shape))
    here = jacobian(x)
    for j in range(len(x)):
        move = PROBE * (np.arange(len(x)) == j)
        ahead, behind = jacobian(x + move)[:, j], jacobian(x - move)[:, j]
        second[:, j] = (ahead - behind) / (2 * PROBE)
        third[:, j] = (ahead - 2 * here[:, j] + behind) / PROBE**2
    return second, third


@pytest.mark.parametrize("name", ["finite-difference", "finite-difference-page"])
def test_forward_differences_are_as_wrong_as_theory_says(case, name):
    """Error of column j: s/2 |Q_jj| and rounding of Q over s, with the paper's s = 1e-8."""
    _, x, jacobian, size = case
    s = INCREMENTS["forward"]
    error = np.abs(jacobian(name)(x) - jacobian(EXACT)(x))
    second, _ = along_itself(jacobian(EXACT), x)
    assert np.all(error <= s * np.abs(second) + ROUNDINGS * size / s)
    assert error.max() > 1e-2 * np.finfo(float).eps * size / s, "differences that are exact are no differences"


def test_central_differences_are_as_wrong_as_theory_says(case):
    """Error of column j: s^2/6 |Q_jjj| and rounding of Q over s, with s = 6e-6 of the typical size."""
    system, x, jacobian, size = case
    s = INCREMENTS["central"] * np.concatenate([system.typical, np.maximum(system.typical, np.abs(x[system.n :]))])
    error = np.abs(jacobian("central-difference")(x) - jacobian(EXACT)(x))
    _, third = along_itself(jacobian(EXACT), x)
    assert np.all(error <= s**2 * np.abs(third) + ROUNDINGS * size / s)
    assert error.max() < 1e-2 * np.abs(jacobian("finite-difference")(x) - jacobian(EXACT)(x)).max() + 1e-8 * size

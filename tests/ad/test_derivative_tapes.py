"""The derivative along a direction as a tape: against the Jacobian, and once more against differences of it."""

import numpy as np

from rtmbs.ad.derivative_tapes import tangent_tape
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.trace import record

RNG = np.random.default_rng(3)


def curved(x, p):
    """R^5 -> R^4 with a branch, an output that is constant and one that is an input."""
    bent = np.where(x[0] > 0.0, x[1] * x[2], np.sin(x[3]))
    return np.stack([bent * x[4] + p[0], np.arctan2(x[0], p[1] + x[1] ** 2), x[2], 3.0 * p[0] + 0.0 * x[0]])


def test_the_tangent_is_the_jacobian_times_the_direction():
    known = record(curved, 5, k=2)
    own, along = Evaluator(known), Evaluator(tangent_tape(known))
    for _ in range(20):
        x, p, v = RNG.normal(size=5), RNG.normal(size=2), RNG.normal(size=5)
        found = along.value(x, np.concatenate((p, v)))
        np.testing.assert_allclose(found, own.jacobian(x, p) @ v, rtol=1e-13, atol=1e-13)


def test_twice_is_the_second_derivative_along_two_directions():
    known = record(lambda x: np.stack([x[0] * x[1] * x[2], np.exp(x[0]) * np.cos(x[2])]), 3)
    twice = Evaluator(tangent_tape(tangent_tape(known)))
    own = Evaluator(known)
    for _ in range(20):
        x, v, w = RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=3)
        H = [v @ own.hessian(x, unit) @ w for unit in np.eye(2)]
        np.testing.assert_allclose(twice.value(x, np.concatenate((v, w))), H, rtol=1e-12, atol=1e-12)

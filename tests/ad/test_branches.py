"""Functions recorded along the branches that they take at a point."""

import math

import numpy as np
import pytest

from rtmbs.ad.branches import MOST, path_at
from rtmbs.ad.errors import DerivativeError
from rtmbs.ad.evaluator import Evaluator

PARAMETERS = np.array([0.5])


def forked(x, p):
    """Four ways, one of which asks a condition more; min of Python, and a loop that ends by a value."""
    total = 0.0 * x[0]
    while total < p[0]:
        total = total + x[1] * x[1]
    if x[0] > p[0]:
        return np.stack([total, min(x[0] ** 2, x[1])])
    return np.stack([total, -x[0] if x[0] > 0.0 else np.sin(x[0])])


POINTS = [np.array(x) for x in ((0.9, 0.4), (0.6, 0.11), (0.3, 0.4), (-0.2, 0.2), (0.7, 2.0))]


@pytest.mark.parametrize("x", POINTS)
def test_a_path_has_the_values_and_derivatives_of_the_function(x):
    path = path_at(forked, 2, x, PARAMETERS)
    found = Evaluator(path.tape)
    outputs = found.value(x, PARAMETERS)
    assert path.holds(outputs[None])[0]
    np.testing.assert_allclose(outputs[:2], forked(x, PARAMETERS), rtol=1e-15)
    h = 1e-6
    wanted = [(forked(x + h * e, PARAMETERS) - forked(x - h * e, PARAMETERS)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(found.jacobian(x, PARAMETERS)[:2], np.transpose(wanted), rtol=1e-8, atol=1e-9)


def test_a_path_holds_where_its_conditions_do():
    paths = [path_at(forked, 2, x, PARAMETERS) for x in POINTS]
    for k, path in enumerate(paths):
        outputs = np.array([Evaluator(path.tape).value(x, PARAMETERS) for x in POINTS])
        for j in np.flatnonzero(path.holds(outputs)):
            np.testing.assert_allclose(outputs[j, :2], forked(POINTS[j], PARAMETERS), rtol=1e-15)
        assert path.holds(outputs)[k]
    assert len({path.truths for path in paths}) == len(POINTS)


def test_a_path_that_no_tape_holds_is_refused():
    with pytest.raises(DerivativeError, match="float"):
        path_at(lambda x, p: np.stack([x[0] * math.sin(x[0])]), 1, np.ones(1), PARAMETERS)
    with pytest.raises(DerivativeError, match=f"more than {MOST} conditions"):
        path_at(endless, 1, np.ones(1), PARAMETERS)


def endless(x, p):
    while x[0] > 0.0:
        x = x * 1.0
    return x


def test_a_condition_without_a_recorder_of_branches_is_refused():
    from rtmbs.ad.trace import record

    with pytest.raises(DerivativeError, match="truth value"):
        record(forked, 2, k=1)

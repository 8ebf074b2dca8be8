"""Functions recorded along the branches that they take at a point.

Functions with branches, recorded along all of them into one tape.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.ad import TraceError, record_branches, sparse_jacobian
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.trace import MOST, path_at
from rtmbs.errors import DerivativeError

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


P = np.array([0.25])


def elifs(x, p):
    """Early returns, a chain, and, or, not, min, max, abs; roots and quotients that only one side may take."""
    if not x[0] <= 1.0:
        return np.stack([x[0] / (x[0] - 1.0), x[1]])
    if -0.5 < x[0] <= p[0] and x[1] != 0.0:
        return np.stack([np.sqrt(p[0] - x[0]), 1.0 / x[1]])
    elif x[1] > 0.0 or x[0] < -1.0:
        return np.stack([min(x[0], x[1]), max(x[0], x[1], p[0]) ** 2])
    return np.stack([abs(x[0]) * x[1], np.log(-x[1] + 1e-3)])


def unset(x, p):
    """A variable that one branch sets and a later one, asked in another way, uses; a loop of fixed length."""
    if x[0] > 0.0:
        a = x[1]
    total = 0.0 * x[0]
    for k in range(3):
        if x[1] > 0.3 * k:
            total = total + x[0] ** k
    if x[0] <= 0.0:
        a = total
    return np.stack([a * total, [1.0, 2.0][int(x[0] > 0.5)] * float(x[1] > 0.1)])


def tape_of(function, **options):
    return record_branches(function, 2, 2, k=1, **options)


BORDERS = (-1.0, -0.5, 0.0, 0.1, 0.3, 0.5, 0.6)  # of the branches, beside the parameters
RECORDED = {f: Evaluator(sparse_jacobian(tape_of(f)[0], values=True).tape) for f in (elifs, unset)}
ENTRIES = {f: sparse_jacobian(tape_of(f)[0], values=True) for f in (elifs, unset)}


def of_tape(function, x):
    out, sparse = RECORDED[function].value(x, P), ENTRIES[function]
    J = np.zeros((2, 2))
    J[sparse.row, sparse.column] = out[2:]
    return out[:2], J


@pytest.mark.parametrize("function", [elifs, unset])
@given(x=st.tuples(*[st.floats(-2.0, 2.0)] * 2))
def test_values_are_those_of_the_function_and_slopes_those_of_its_side(function, x):
    x = np.array(x)
    with np.errstate(all="ignore"):
        wanted = function(x, P)
        values, J = of_tape(function, x)
        steps = [(function(x + 1e-7 * e, P), function(x - 1e-7 * e, P)) for e in np.eye(2)]
        slopes = [((up - wanted) / 1e-7, (wanted - down) / 1e-7) for up, down in steps]
    sound = np.isfinite(wanted)
    np.testing.assert_allclose(values[sound], wanted[sound], rtol=1e-13, atol=1e-15)
    if np.min(np.abs(np.subtract.outer(x, [*BORDERS, *P]))) < 1e-6 or abs(x[0] - x[1]) < 1e-6:
        return  # on a border both neighbours may agree with the value by chance, and not with its side
    for column, (one, other) in enumerate(slopes):
        smooth = sound & (np.abs(one) < 1e3)
        smooth[smooth] &= np.abs(one - other)[smooth] <= 1e-4 * (1 + np.abs(one[smooth]))
        np.testing.assert_allclose(J[smooth, column], 0.5 * (one[smooth] + other[smooth]), rtol=1e-3, atol=1e-3)


def test_both_sides_of_an_edge_have_their_own_slope_and_the_edge_that_of_the_side_taken():
    evaluator = Evaluator(record_branches(lambda x: 3.0 * x if x[0] > 1.0 else x * x, 1, 1)[0])
    for x, slope in ((np.nextafter(1.0, 2.0), 3.0), (1.0, 2.0), (0.5, 1.0)):
        assert evaluator.jacobian(np.array([x]))[0, 0] == slope


def test_a_side_that_is_not_taken_spoils_neither_value_nor_slope():
    def guarded(x):
        return (np.sqrt(x) + np.log(x) / x) if x[0] > 0.0 else 1.0 / (x - 1.0)

    evaluator = Evaluator(record_branches(guarded, 1, 1)[0])
    for x in (-1.0, 0.0, 1.0, 4.0):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, slope = evaluator.value(np.array([x]))[0], evaluator.jacobian(np.array([x]))[0, 0]
        wanted = (np.sqrt(x) + np.log(x) / x, 0.5 / np.sqrt(x) + (1 - np.log(x)) / x**2) if x > 0 else (
            1 / (x - 1), -1 / (x - 1) ** 2)  # fmt: skip
        np.testing.assert_allclose((value, slope), wanted, rtol=1e-14)


def test_a_condition_asked_again_is_no_further_way():
    def asks(x):
        total = x
        for _ in range(50):
            total = total + (1.0 if x[0] > 0.5 else -1.0)
        return total

    tape, ways = record_branches(asks, 1, 1)
    assert ways == 2
    assert Evaluator(tape).value(np.array([0.6]))[0] == 50.6


def test_what_no_tape_holds_is_refused():
    def halved(x):
        while x[0] > 1e-3:
            x = 0.5 * x
        return x

    asked = []

    def remembers(x):
        asked.append(len(asked))
        return x if x[0] > float(len(asked)) else -x

    with pytest.raises(TraceError, match=r"more than 64 ways through its conditions \(test_branches.py:\d+\)"):
        record_branches(halved, 1, 1)
    with pytest.raises(TraceError, match="other conditions when it is called again"):
        record_branches(remembers, 1, 1)
    with pytest.raises(ValueError, match="too far"):
        record_branches(too_far, 1, 1)


def too_far(x):
    if x[0] > 1.0:
        raise ValueError("too far")
    return x


def test_a_refusal_that_the_function_catches_is_a_refusal():
    def catches(x):
        try:
            while x[0] > 1e-3:
                x = 0.5 * x
        except TypeError:
            pass
        return x

    with pytest.raises(TraceError, match="more than 64 ways"):
        record_branches(catches, 1, 1)

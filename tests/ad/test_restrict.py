"""A part of a program gives the numbers of the whole bit for bit, and says what it hangs on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtmbs.ad import evaluate, joined, lowered, memory_of
from rtmbs.ad.interpret import flows, restricted
from rtmbs.ad.trace import record


def mixed(x, p):
    """Sums of products, every kind of operation, a constant output, an output that is an input."""
    a, b, c, d = (x[i] for i in range(4))
    both = a * b + np.sin(c) * p[0] - a * a
    picked = np.where(c > 0.0, d, b)
    more = (both, picked, np.hypot(c, d) / (1.0 + c * c), p[1] * np.maximum(a, b), np.sqrt(p[0] ** 2 + 1.0))
    return np.stack((*more, np.arctan2(a, 2.0), b, 0.0 * a + 3.0, both * picked + a * d - c))


N, K, M = 4, 2, 9


def program_of(copies=1):
    return lowered(joined([record(mixed, N, M, k=K)] * copies))


def evaluator(program, x, p):
    y = np.zeros(len(program.output))
    evaluate(program, memory_of(program), x, p, y)
    return y


def inputs_of(program, output):
    """Return the inputs that an output hangs on at most, by the pairs that flow together."""
    pairs, source = flows(program)
    found, last = {int(source[output])} - {-1}, None
    while found != last:
        last = set(found)
        for pair in pairs.tolist():
            if found & set(pair):
                found |= set(pair)
    return np.array(sorted(found), np.int64)


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, M - 1)), st.integers(0, 2**32 - 1))
def test_any_outputs_are_those_of_the_whole(chosen, seed):
    rng = np.random.default_rng(seed)
    program, outputs = program_of(), np.array(sorted(chosen), np.int64)
    part, parameters = restricted(program, np.arange(N), outputs)
    x, p = rng.normal(size=N), rng.normal(size=K)
    np.testing.assert_array_equal(evaluator(part, x, p[parameters]), evaluator(program, x, p)[outputs])
    assert [type(one) for one in part] == [type(one) for one in program]
    assert [one.dtype for one in part] == [one.dtype for one in program], "another type would compile again"


def test_nothing_is_kept_that_is_not_needed():
    part, parameters = restricted(program_of(), np.array([0, 1]), np.array([3]))
    assert len(parameters) == 1
    assert part.count.sum() == 2, "a maximum and a product"
    assert part.sizes.tolist() == [2, 1, len(part.constants) + 2 + 1 + 2]
    none, parameters = restricted(program_of(), np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert (len(none.operation), len(none.code), len(parameters)) == (0, 0, 0)


def test_functions_of_separate_inputs_come_apart():
    """Three functions in one program: the part of the last is that function alone, under new numbers of its inputs."""
    whole, alone = program_of(3), program_of()
    inputs, outputs = np.arange(2 * N, 3 * N), np.arange(2 * M, 3 * M)
    part, parameters = restricted(whole, inputs, outputs)
    assert parameters.tolist() == [2 * K, 2 * K + 1]
    assert part.count.sum() == alone.count.sum()
    x, p = np.linspace(-1.0, 2.0, N), np.array([0.3, -2.0])
    np.testing.assert_array_equal(evaluator(part, x, p), evaluator(alone, x, p))


def test_what_flows_together():
    program = program_of(2)
    assert inputs_of(program, 3).tolist() == inputs_of(program, 0).tolist() == [0, 1, 2, 3]
    assert inputs_of(program, M + 1).tolist() == [4, 5, 6, 7], "the second function"
    assert inputs_of(program, 4).tolist() == inputs_of(program, 7).tolist() == [], "parameters, constants"
    apart = lowered(
        record(lambda x, p: np.stack((x[0] * p[0], x[2] + p[0], np.where(x[1] > 0.0, 1.0, 2.0))), 3, 3, k=1)
    )
    assert flows(apart)[0].tolist() == []
    assert flows(apart)[1].tolist() == [0, 2, 1]


def test_an_input_that_is_needed_must_be_named():
    with pytest.raises(ValueError, match=r"inputs \[1\] too"):
        restricted(program_of(), np.array([0]), np.array([3]))

"""Programs read operation by operation: the values of the compiled loop, in every namespace.

A part of a program gives the numbers of the whole bit for bit, and says what it hangs on.
"""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad
from hypothesis import given, settings
from hypothesis import strategies as st

from rtmbs.ad import evaluate, joined, lowered, memory_of
from rtmbs.ad import operations as o
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.interpret import flows, instructions, interpreted, needed, restricted
from rtmbs.ad.trace import record

RNG = np.random.default_rng(4)


def everything(x, p):
    """A function with every operation that a force law may hold."""
    a, b, c = x[0], x[1], x[2]
    unit = np.tanh(b)
    smooth = np.sin(a) + np.cos(b) * np.tan(0.3 * c) + np.arctan(a * b) + np.exp(-a * a) + np.log(1.0 + b * b)
    smooth = smooth + np.arcsin(0.9 * unit) + np.arccos(0.9 * unit) + np.sqrt(1.0 + c * c) + np.sinh(0.2 * a)
    smooth = smooth + np.cosh(0.2 * b) + np.arcsinh(c) + np.arctanh(0.9 * unit) + np.expm1(0.1 * a) + np.log1p(b * b)
    corners = np.abs(a) + np.maximum(b, 0.3) - np.minimum(c, a) + np.where(a > b, a * c, b) + np.arctan2(a, 2.0 + b * b)
    corners = corners + np.where(a <= c, 1.0, -c) + np.hypot(a, b) + np.arccosh(1.5 + c * c)
    corners = corners + np.sign(a) * b + np.floor(2.0 * c)
    return np.stack((smooth, corners, p[0] * a**3 - b / (2.0 + c * c) + (a * b - b * c) + p[1], np.abs(a) ** p[1] - c))


TAPE = record(everything, 3, 4, k=2)
PROGRAM = lowered(TAPE)
X, P = RNG.normal(size=(7, 3)), np.array([1.3, 2.5])


def test_the_values_of_the_compiled_loop():
    expected = np.stack([Evaluator(TAPE).value(x, P) for x in X])
    np.testing.assert_allclose(interpreted(np, PROGRAM, X, P, slice(None)), expected, rtol=1e-14)


@pytest.mark.parametrize("output", range(4))
def test_single_outputs_do_only_what_they_need(output):
    whole = interpreted(np, PROGRAM, X, P, slice(None))
    np.testing.assert_array_equal(
        interpreted(np, PROGRAM, X, P, slice(output, output + 1)), whole[:, output : output + 1]
    )
    assert len(needed(PROGRAM, PROGRAM.output[output : output + 1])) < len(list(instructions(PROGRAM)))


def test_autograd_goes_through():
    J = np.stack([Evaluator(TAPE).jacobian(x, P) for x in X])
    for row in range(4):
        gradient = elementwise_grad(lambda x, row=row: interpreted(anp, PROGRAM, x, P, slice(row, row + 1))[:, 0])
        np.testing.assert_allclose(gradient(X), J[:, row], rtol=1e-10, atol=1e-12)


def test_the_recorder_goes_through():
    again = record(lambda x, p: interpreted(np, PROGRAM, x[None], p, slice(None))[0], 3, 4, k=2)
    for x in X:
        np.testing.assert_allclose(Evaluator(again).value(x, P), Evaluator(TAPE).value(x, P), rtol=1e-14)


def test_every_operation_of_the_alphabet_is_in_the_example_or_cannot_come_from_a_law():
    used = {int(op) for op in TAPE.op}
    inner = {o.TRUTH, o.EQUAL, o.GUARDED, o.LESS, o.LESS_EQUAL, o.NEGATE, o.POWER, o.DIVIDE}
    assert set(range(len(o.NAMES))) - used <= inner


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

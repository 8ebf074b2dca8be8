"""Programs read operation by operation: the values of the compiled loop, in every namespace."""

import autograd.numpy as anp
import numpy as np
import pytest
from autograd import elementwise_grad

from rtmbs.ad import operations as o
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.interpret import instructions, interpreted, needed
from rtmbs.ad.program import lowered
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

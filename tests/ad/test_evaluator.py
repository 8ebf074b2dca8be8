"""Evaluators of derivatives: every mode against complex steps, differences, closed forms; branches follow values."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import block_diag

from rtmbs.ad import operations as o
from rtmbs.ad.derivative_graph import FACTORS
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.function_sources import ComplexStep, FiniteDifference
from rtmbs.ad.program import evaluate, lowered, memory_of
from rtmbs.ad.tape import joined
from rtmbs.ad.trace import Traced, record
from rtmbs.errors import DerivativeError
from rtmbs.jit.compiled import kernel

RNG = np.random.default_rng(11)


def chain(x, xp=np):
    """R^12 -> R^10, analytic, sparse: a small chain of vectors turned by angles."""
    angle, length = x[..., :6], x[..., 6:]
    total, rows = 0 * angle[..., 0], []
    for i in range(6):
        total = total + angle[..., i] * (1.0 + 0.1 * length[..., i])
        rows += [length[..., i] * xp.sin(total), xp.cos(total) * xp.exp(-(length[..., i] ** 2))]
    return xp.stack([*rows[:9], xp.tanh(rows[3] * rows[10]) + 3.0], axis=-1)


X = RNG.uniform(-1, 1, 12)


@pytest.mark.parametrize("mode", ["sparse", "dense", "compressed"])
def test_every_mode_gives_the_complex_step(mode):
    for f, n in ((chain, 12), (lambda x: chain(x).T @ chain(x)[:, None], 12)):
        made = Traced(f, n, mode=mode)
        for x in (X, 2 * X):
            np.testing.assert_allclose(made.jacobian(x), ComplexStep(f, n).jacobian(x), rtol=1e-12, atol=1e-13)


def test_structural_zeros_are_not_computed():
    made = Traced(chain, 12)
    assert len(made.row) == np.count_nonzero(ComplexStep(chain, 12).jacobian(X)) == np.count_nonzero(made.pattern)
    J = np.zeros((10, 12))
    J[made.row, made.column] = made.entries(X)
    np.testing.assert_array_equal(J, made.jacobian(X))


def test_passes_take_one_or_many_directions():
    made = Traced(chain, 12)
    J, V, W = made.jacobian(X), RNG.normal(size=(12, 19)), RNG.normal(size=(21, 10))
    np.testing.assert_allclose(made.forward(X, V), J @ V, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(made.reverse(X, W), W @ J, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(made.forward(X, V[:, 0]), J @ V[:, 0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(made.reverse(X, W[0]), W[0] @ J, rtol=1e-12, atol=1e-13)


def test_second_derivatives_against_complex_steps_of_the_gradient():
    made, w = Traced(chain, 12), RNG.normal(size=10)
    np.testing.assert_allclose(made.gradient(X, w), w @ made.jacobian(X), rtol=1e-12, atol=1e-13)

    def gradient(x):  # central difference in the imaginary direction would do as well; this one is exact
        return np.stack([w @ ComplexStep(chain, 12).jacobian(x)])[0]

    H = FiniteDifference(gradient, 12, scheme="central").jacobian(X)
    np.testing.assert_allclose(made.hessian(X, w), H, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(made.hessian(X, w), made.hessian(X, w).T, rtol=1e-12, atol=1e-13)
    V = RNG.normal(size=(12, 3))
    np.testing.assert_allclose(made.hessian_product(X, V, w), made.hessian(X, w) @ V, rtol=1e-12, atol=1e-12)
    one = Traced(lambda x: np.stack((x @ x,)), 3)
    np.testing.assert_array_equal(one.hessian(np.ones(3)), 2 * np.eye(3))


def test_parameters_change_without_a_new_tape():
    calls = []

    def f(x, p):
        calls.append(1)
        return p[0] * x * x + p[1]

    made = Traced(f, 3, k=2)
    x = np.array([1.0, 2.0, 3.0])
    for p in ([2.0, 5.0], [7.0, -1.0]):
        np.testing.assert_allclose(made.value(x, p), p[0] * x * x + p[1])
        np.testing.assert_allclose(made.jacobian(x, p), np.diag(2 * p[0] * x))
        np.testing.assert_allclose(made.hessian(x, np.ones(3), p), 2 * p[0] * np.eye(3))
    assert len(calls) == 1


def test_outputs_that_are_inputs_constants_or_each_other():
    made = Traced(lambda x: np.stack((x[1], 3.0, x[0] * x[1], x[0] * x[1], x[1], -x[0])), 3)
    x = np.array([2.0, 5.0, 7.0])
    J = [[0, 1, 0], [0, 0, 0], [5, 2, 0], [5, 2, 0], [0, 1, 0], [-1, 0, 0]]
    np.testing.assert_array_equal(made.value(x), [5, 3, 10, 10, 5, -2])
    for made.mode in ("sparse", "dense", "compressed"):
        np.testing.assert_array_equal(made.jacobian(x), J)
    np.testing.assert_array_equal(made.reverse(x, np.ones(6)), np.sum(J, axis=0))
    np.testing.assert_array_equal(made.gradient(x, np.ones(6)), np.sum(J, axis=0))


def test_a_function_of_nothing_has_no_derivative():
    made = Traced(lambda x: np.array([1.0, 2.0]), 2)
    for made.mode in ("sparse", "dense", "compressed"):
        np.testing.assert_array_equal(made.jacobian(np.ones(2)), np.zeros((2, 2)))
    np.testing.assert_array_equal(made.value(np.ones(2)), [1.0, 2.0])


def test_joined_tapes_run_as_one():
    one = record(lambda x, p: np.stack((x[0] * p[0], np.sin(x[1]) + 2.0)), 2, k=1)
    other = record(lambda x: x * x[::-1] - 2.0, 3)
    both = Evaluator(joined([one, other, one]))
    x, p = RNG.normal(size=7), RNG.normal(size=2)
    parts = (Evaluator(one), x[:2], p[:1]), (Evaluator(other), x[2:5], None), (Evaluator(one), x[5:], p[1:])
    np.testing.assert_array_equal(both.value(x, p), np.concatenate([part.value(*at) for part, *at in parts]))
    np.testing.assert_array_equal(both.jacobian(x, p), block_diag(*(part.jacobian(*at) for part, *at in parts)))
    assert Evaluator(joined([])).value(np.zeros(0)).shape == (0,)


@kernel
def twice(program, memory, x, p, y):
    """A kernel that calls a tape by name."""
    evaluate(program, memory, x, p, y)
    for i in range(len(x)):
        x[i] = y[i]
    evaluate(program, memory, x, p, y)


def test_kernels_replay_programs():
    program = lowered(record(lambda x, p: np.cos(x * p[0]), 2, k=1))
    x, y = np.array([0.3, 0.7]), np.zeros(2)
    expected = np.cos(3 * np.cos(3 * x))
    twice(program, memory_of(program), x, np.array([3.0]), y)
    np.testing.assert_allclose(y, expected, rtol=1e-15)


# ----------------------------------------------------------------------------------------------------------- branches


def bump(x):
    """A bump stop with a power law: the branch not taken is not a number."""
    depth = x - 0.5
    return np.where(depth > 0.0, 3.0 * depth**1.5 + np.sqrt(depth), 0.0)


@pytest.mark.parametrize("mode", ["sparse", "dense", "compressed"])
def test_a_branch_not_taken_leaves_nothing_behind(mode):
    made = Traced(bump, 3, mode=mode)
    x = np.array([0.2, 0.5, 1.5])
    np.testing.assert_allclose(made.value(x), [0.0, 0.0, 4.0])
    np.testing.assert_allclose(made.jacobian(x), np.diag([0.0, 0.0, 5.0]))
    H = made.hessian(x, np.ones(3))
    np.testing.assert_allclose(H, np.diag([0.0, 0.0, 3.0 * 0.75 - 0.25]))
    np.testing.assert_allclose(made.hessian_product(x, np.ones(3), np.ones(3)), np.diag(H))
    np.testing.assert_allclose(made.reverse(x, np.ones(3)), [0.0, 0.0, 5.0])


def test_branches_follow_the_values():
    made = Traced(lambda x: np.stack((np.abs(x[0]), np.minimum(x[0], x[1]), np.maximum(x[0], x[1]))), 2)
    np.testing.assert_array_equal(made.jacobian(np.array([-2.0, 1.0])), [[-1, 0], [1, 0], [0, 1]])
    np.testing.assert_array_equal(made.jacobian(np.array([3.0, 1.0])), [[1, 0], [0, 1], [1, 0]])
    np.testing.assert_array_equal(made.jacobian(np.zeros(2)), [[0, 0], [1, 0], [1, 0]])


@pytest.mark.parametrize("mode", ["sparse", "dense", "compressed"])
def test_a_branch_not_taken_may_hold_constants_that_are_no_numbers(mode):
    """0 times a constant infinity stays guarded: the constant is folded, the condition follows the values."""
    bad = {
        "division by zero": lambda x: np.log(-x * x - 1.0) / (x - x),
        "infinity": lambda x: np.inf * x,
        "no number": lambda x: np.nan * x - np.inf,
    }
    for name, branch in bad.items():
        traced = Traced(lambda x, branch=branch: np.sin(np.where(x < 50.0, x, branch(x))), 1, mode=mode)
        np.testing.assert_allclose(traced.jacobian(np.array([0.4])), [[np.cos(0.4)]], rtol=1e-15, err_msg=name)


@pytest.mark.parametrize("mode", ["sparse", "dense", "compressed"])
def test_logaddexp_where_both_are_equal(mode):
    """A soft plus at rest: its halves meet there, and the derivative is one half."""
    traced = Traced(lambda x: np.logaddexp(x[0], x[1]) + np.logaddexp(0.0, x[0]), 2, mode=mode)
    for x in ([0.0, 0.0], [3.0, 3.0], [0.3, -0.4], [700.0, -700.0], [-800.0, 800.0]):
        a, b, c = (1.0 / (1.0 + np.exp(np.clip(d, -750.0, 700.0))) for d in (x[1] - x[0], x[0] - x[1], -x[0]))
        np.testing.assert_allclose(traced.jacobian(np.array(x)), [[a + c, b]], rtol=1e-13, atol=1e-300)


def test_powers_at_zero():
    made = Traced(lambda x: np.stack((x[0] ** x[1], x[0] ** 2.5, np.float64(2.0) ** x[1])), 2)
    np.testing.assert_allclose(made.jacobian(np.array([0.0, 2.0])), [[0, 0], [0, 0], [0, 4 * np.log(2)]], atol=1e-15)


# -------------------------------------------------------------------------------------------------------------- rules

UNARY = {
    "NEGATE": np.negative, "SIN": np.sin, "COS": np.cos, "TAN": np.tan, "ARCSIN": np.arcsin, "ARCCOS": np.arccos,
    "ARCTAN": np.arctan, "SINH": np.sinh, "COSH": np.cosh, "TANH": np.tanh, "ARCSINH": np.arcsinh, "EXP": np.exp,
    "ARCCOSH": lambda x: np.arccosh(1 + x), "ARCTANH": np.arctanh, "EXPM1": np.expm1, "LOG": np.log, "LOG1P": np.log1p,
    "SQRT": np.sqrt, "ABS": lambda x: np.abs(x - 0.5), "SIGN": lambda x: np.sign(x - 0.5) * x,
    "FLOOR": lambda x: np.floor(9.0 * x) * x, "TRUTH": lambda x: np.logical_and(x, x) * x,
}  # fmt: skip
BINARY = {
    "ADD": np.add, "SUBTRACT": np.subtract, "MULTIPLY": np.multiply, "DIVIDE": np.divide, "POWER": np.power,
    "ARCTAN2": np.arctan2, "HYPOT": np.hypot, "MINIMUM": np.minimum, "MAXIMUM": np.maximum,
    "LESS": lambda a, b: (a < b) * a, "LESS_EQUAL": lambda a, b: (a <= b) * b, "EQUAL": lambda a, b: (a == b) * b,
    "SELECT": lambda a, b: np.where(a < b, np.sin(a), np.cos(b)),
    "GUARDED": lambda a, b: np.where(a < b, np.sin(a * b), np.cos(b) * a),
}  # fmt: skip


def test_every_operation_has_a_rule():
    assert set(FACTORS) == set(range(o.NEGATE, len(o.NAMES)))
    assert {*UNARY, *BINARY} == {o.NAMES[op] for op in FACTORS}
    assert [o.NAMES.index(name) for name in ("TRUTH", "ADD", "GUARDED", "SELECT")] == [
        o.TRUTH,
        o.ADD,
        o.GUARDED,
        o.SELECT,
    ]


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_rules_against_differences(name):
    """First derivatives of every operation, and second ones: the derivatives of the rules."""
    f = UNARY[name] if name in UNARY else lambda x: BINARY[name](x[::2], x[1::2])
    x = np.array([0.31, 0.62, 0.83, 0.14])
    made = Traced(f, 4)
    expected = FiniteDifference(f, 4, scheme="central").jacobian(x)
    np.testing.assert_allclose(made.jacobian(x), expected, rtol=1e-7, atol=1e-8)
    w = np.arange(1.0, made.m + 1)
    H = FiniteDifference(lambda x: w @ made.jacobian(x), 4, scheme="central").jacobian(x)
    np.testing.assert_allclose(made.hessian(x, w), H, rtol=1e-6, atol=1e-7)


# ---------------------------------------------------------------------------------------------------------- bad input


def test_wrong_shapes_are_named():
    made = Traced(chain, 12)
    for call, words in (
        (lambda: made.value(np.zeros(3)), "takes 12 inputs"),
        (lambda: made.value(X, np.zeros(1)), "0 parameters"),
        (lambda: made.forward(X, np.zeros((3, 2))), "directions"),
        (lambda: made.reverse(X, np.zeros((2, 3))), "adjoints"),
        (lambda: made.hessian(X), "10 outputs"),
        (lambda: made.hessian(X, np.ones(3)), "weights"),
        (lambda: Traced(chain, 12, mode="fast"), "sparse, dense, compressed"),
        (lambda: Traced(lambda x: x[:, None], 12), "returned an array"),
    ):
        with pytest.raises(DerivativeError, match=words):
            call()


SCRIPT = """
import numpy as np
from rtmbs.ad.trace import Traced
def f(x):
    a = np.where(x[:3] > 0, np.exp(x[:3]), x[3:] ** 2)
    return np.cross(a, np.arctan2(x[3:], x[:3])) * np.hypot(x[:3], a) / (x[0] ** x[1] + np.tanh(a) ** -3)
made, x = Traced(f, 6), np.array([0.3, 0.8, -0.4, 0.9, 0.2, 0.6])
print(repr([made.value(x).tolist(), made.jacobian(x).tolist(), made.hessian(x, np.ones(3)).tolist()]))
"""


def test_kernels_give_the_same_numbers_without_the_compiler():
    def run(**environment):
        command = [sys.executable, "-W", "ignore", "-c", SCRIPT]
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
        return eval(done.stdout, {"nan": np.nan})

    for compiled, plain in zip(run(), run(NUMBA_DISABLE_JIT="1"), strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-13)

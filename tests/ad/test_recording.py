"""What can be recorded gives NumPy's own numbers at every evaluation; what cannot says so and names a way out."""

import math

import numpy as np
import pytest

from rtmbs.ad.trace import Trace, Traced, record
from rtmbs.ad.traced import Namespace, recorder
from rtmbs.errors import TraceError, UnsupportedFunctionError

X = np.random.default_rng(3).uniform(0.2, 0.9, 12)
A, B = (lambda x: x[:6].reshape(2, 3)), (lambda x: x[6:].reshape(3, 2))
MASK = np.array([True, False] * 6)

# Every function of NumPy that mechanics is likely to call, by an expression of x (12,).
EXPRESSIONS = {
    "arithmetic": lambda x: (x + 2) * (3 - x) / (x + 0.5) - -x,
    "reflected": lambda x: 2.0 / x + (1 - x) + 2.0**x,
    "powers": lambda x: x**2 + x**3 + x**-1 + x**0.5 + x**-2.5 + x**0 + x**x,
    "trigonometry": lambda x: np.sin(x) + np.cos(x) * np.tan(x),
    "arcs": lambda x: np.arcsin(x) - np.arccos(x) * np.arctan(x),
    "hyperbolic": lambda x: np.sinh(x) + np.cosh(x) * np.tanh(x),
    "area": lambda x: np.arcsinh(x) + np.arccosh(1 + x) * np.arctanh(x),
    "exponentials": lambda x: np.exp(x) + np.expm1(x) - np.exp2(x),
    "logarithms": lambda x: np.log(x) + np.log1p(x) + np.log2(x) - np.log10(x),
    "roots": lambda x: np.sqrt(x) + np.cbrt(x) + np.square(x) + np.reciprocal(x),
    "arctan2": lambda x: np.arctan2(x[:6] - 0.5, x[6:] - 0.5),
    "hypot": lambda x: np.hypot(x[:6], x[6:]),
    "abs": lambda x: np.abs(x - 0.5) + abs(0.4 - x),
    "sign": lambda x: np.sign(x - 0.5),
    "rounding": lambda x: np.floor(10 * x) + np.ceil(10 * x) + (5 * x) // 1.0 + (7 * x) % 2.0,
    "minimum": lambda x: np.minimum(x[:6], x[6:]) + np.minimum(x[:6], 0.5),
    "maximum": lambda x: np.maximum(x[:6], x[6:]) + np.maximum(0.5, x[:6]),
    "clip": lambda x: np.clip(x, 0.3, 0.6) + x.clip(0.4, 0.5),
    "where": lambda x: np.where(x > 0.5, x, -x) + np.where(MASK, x, 1.0),
    "comparisons": lambda x: (x > 0.5) * 1.0 + (x >= 0.5) + 2.0 * (x < 0.4) + (x <= 0.4) + (x == x) + (x != 0.5),
    "conditions": lambda x: np.where((x > 0.3) & ~(x > 0.7) | (x < 0.25), 1.0, 0.0),
    "logical": lambda x: np.where(np.logical_xor(x > 0.3, np.logical_not(x > 0.6)), x, 0.0),
    "any, all": lambda x: np.where(np.any(x > 0.8), x, 0.0) + np.where(np.all(x > 0.1), x, 0.0),
    "heaviside": lambda x: np.heaviside(x - 0.5, 0.5) + np.copysign(x, x - 0.5),
    "angles": lambda x: np.deg2rad(x) + np.rad2deg(x) + np.radians(x) + np.degrees(x),
    "logaddexp": lambda x: np.logaddexp(x[:6], 5 * x[6:]),
    "sums": lambda x: np.sum(x) + x.sum() + np.sum(A(x), axis=0).sum() + A(x).sum(axis=1, keepdims=True)[0, 0],
    "means": lambda x: np.mean(A(x), axis=1) * x.mean(),
    "products": lambda x: np.prod(A(x), axis=0) + np.cumprod(x[:3]),
    "cumsum": lambda x: np.cumsum(x)[:6] + (np.cumsum(A(x), axis=0) * np.cumsum(A(x), axis=1)).ravel(),
    "extremes": lambda x: np.max(A(x), axis=0) + np.min(A(x)) + x.max() - np.amin(x),
    "dot": lambda x: np.dot(A(x), B(x)).ravel() + np.dot(x, x) + x[:6].dot(x[6:]) + np.vdot(x, x) + np.inner(x, x),
    "matmul": lambda x: (A(x) @ B(x)).ravel() + (np.ones(3) @ B(x)).sum() + (A(x) @ np.ones(3)).sum() + x @ x,
    "batched matmul": lambda x: (x.reshape(2, 2, 3) @ (np.ones((3, 1)) + x.reshape(2, 3, 2))).ravel(),
    "outer": lambda x: np.outer(x[:2], x[2:4]).ravel() + np.multiply.outer(x[:2], x[2:4]).ravel(),
    "tensordot": lambda x: np.tensordot(A(x), B(x), 1).ravel() + np.tensordot(A(x), B(x), ((0, 1), (1, 0))),
    "einsum": lambda x: np.einsum("ij,jk->ik", A(x), B(x)).ravel() + np.einsum("ii->", x[:4].reshape(2, 2)),
    "einsum without arrow": lambda x: np.einsum("i,i", x, x) * np.einsum("ij,j", A(x), x[:3]),
    "cross": lambda x: np.cross(x[:3], x[3:6]) + np.cross(A(x), B(x).T).sum(axis=0),
    "norm": lambda x: np.linalg.norm(A(x), axis=1) * np.linalg.norm(x) + np.linalg.norm(x, 1),
    "largest norm": lambda x: np.linalg.norm(x, np.inf) + np.linalg.norm(A(x), axis=0, keepdims=True)[0],
    "trace": lambda x: np.stack((np.trace(x[:9].reshape(3, 3)), np.diff(x)[0], np.polyval(x[:3], x[3]))),
    "indexing": lambda x: x[::-1] + x[[3, 1, 2, 0, 5, 4, 7, 6, 9, 8, 11, 10]] * x[np.arange(12)],
    "masks": lambda x: x[MASK] + x[..., None][:6, 0],
    "assignment": lambda x: assigned(x),
    "stacking": lambda x: np.stack((x[:3], x[3:6])).ravel() + np.concatenate((x[6:9], np.zeros(2), x[9:10])),
    "joining": lambda x: np.hstack((x[:2], 1.0, x[3:6])) + np.vstack((x[:3], x[3:6])).ravel() + np.append(x[:5], 1.0),
    "columns": lambda x: np.column_stack((x[:3], x[3:6])).ravel() * np.block([[A(x)], [np.ones((1, 3))]]).ravel()[3:],
    "shapes": lambda x: np.moveaxis(x.reshape(2, 3, 2), 0, -1).ravel() + x.reshape(3, 4).T.ravel() + np.ravel(x)[0],
    "repeats": lambda x: np.tile(x[:3], 4) + np.repeat(x[:6], 2) + np.roll(x, 2) + np.flip(x),
    "broadcasts": lambda x: np.broadcast_to(x[:3], (4, 3)).ravel() + np.expand_dims(x, 1)[:, 0] + np.squeeze(x[None]),
    "triangles": lambda x: (np.triu(x[:9].reshape(3, 3)) - np.tril(x[:9].reshape(3, 3), -1) + np.diag(x[:3])).ravel(),
    "padding": lambda x: np.pad(x[:4], (1, 2)) + np.diag(x[:9].reshape(3, 3)).sum(),
    "parts": lambda x: np.split(x, 3)[1] + np.take(x, [0, 1, 2, 3]) + np.zeros_like(x[:4]) + np.ones_like(x[:4]),
    "object array": lambda x: np.sin(np.array([x[0], x[2], x[1]])) * x[:3] + np.array([x[3], x[4], 0.0]),
    "in place": lambda x: in_place(x),
    "sequence": lambda x: [x[0], 2.0, x[1] * x[2]],
}  # fmt: skip


def assigned(x):
    y = x.copy()
    y[0], y[1:3] = 2.0, x[3:5] * x[5]
    return y


def in_place(x):
    y = x * 1.0
    y += 2.0
    y *= x
    return y


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_evaluator_gives_numpys_numbers(name):
    f = EXPRESSIONS[name]
    traced = Traced(f, 12)
    for x in (X, X[::-1].copy(), np.roll(X, 5)):  # the branches differ from one to the next
        plain = np.atleast_1d(np.asarray(f(x), dtype=float))
        np.testing.assert_allclose(traced.value(x), plain, rtol=1e-13, atol=1e-15)


def test_namespace_builds_arrays_of_traced_values():
    def f(x, xp):
        assert xp is recorder
        y = xp.array([[x[0], 1.0], [x[1], x[2]]])
        return xp.arctan2(y, xp.asarray([2.0, x[3]])).ravel()

    y = np.arctan2([[X[0], 1.0], [X[1], X[2]]], [2.0, X[3]]).ravel()
    np.testing.assert_allclose(Traced(f, 12).value(X), y, rtol=1e-15)
    assert Namespace(path_sum=sum).path_sum is sum


def test_trace_on_and_off_record_what_is_marked():
    trace = Trace()
    trace.trace_on()
    x, p, y = trace.independent(2), trace.parameter(1), trace.independent((1, 1))
    trace.dependent(x * p)
    trace.dependent(y + 1.0)
    trace.trace_off()
    assert (trace.tape.n, trace.tape.k, trace.tape.m) == (3, 1, 3)
    from rtmbs.ad.evaluator import Evaluator

    evaluator = Evaluator(trace.tape)
    np.testing.assert_array_equal(evaluator.value(np.array([1.0, 2.0, 5.0]), np.array([3.0])), [3.0, 6.0, 6.0])
    np.testing.assert_array_equal(evaluator.jacobian(np.ones(3), np.array([3.0])), np.diag([3.0, 3.0, 1.0]))


def fork(x):
    return x if x[0] > 0 else -x


REFUSED = {
    "if": (fork, TraceError, "where"),
    "and": (lambda x: x if x[0] > 0 and x[1] > 0 else -x, TraceError, "&"),
    "max": (lambda x: max(x[0], x[1]) * x, TraceError, "maximum"),
    "math": (lambda x: math.sin(x[0]) * x, TraceError, "numpy.sin"),
    "float": (lambda x: float(x[0]) * x, TraceError, "stack"),
    "float array": (lambda x: put(np.zeros(3), 0, x[0]), TraceError, "stack"),
    "added in place": (lambda x: np.zeros(12).__iadd__(x), TraceError, "stack"),
    "index": (lambda x: np.ones(3)[x[0]] * x, TraceError, "index"),
    "mask": (lambda x: x[x > 0.5], TraceError, "where"),
    "complex": (lambda x: x * 1j, TraceError, "complex"),
    "array of both": (lambda x: np.sin(np.array([x[0], 2.0])), TraceError, "numpy.stack"),
    "sort": (np.sort, UnsupportedFunctionError, "numpy.sort cannot be recorded.*minimum"),
    "inv": (lambda x: np.linalg.inv(x[:9].reshape(3, 3)).ravel(), UnsupportedFunctionError, "linalg.inv.*Write"),
    "solve": (lambda x: np.linalg.solve(np.eye(3), x[:3]), UnsupportedFunctionError, "linalg.solve.*Write"),
    "fmax": (lambda x: np.fmax(x, 0.0), UnsupportedFunctionError, "numpy.fmax cannot be recorded. Write numpy.maximum"),
    "isnan": (lambda x: np.isnan(x), UnsupportedFunctionError, "numpy.isnan"),
    "logaddexp2": (lambda x: np.logaddexp2(x, 1.0), UnsupportedFunctionError, "Spell it"),
}


def put(array, place, value):
    array[place] = value
    return array


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_recorded_says_so(name):
    f, error, words = REFUSED[name]
    with pytest.raises(error, match=words):
        record(f, 12)


def test_values_of_two_traces_do_not_meet():
    with Trace() as first:
        x = first.independent(1)
        first.dependent(x)
        with pytest.raises(TraceError, match="two tapes"), Trace() as second:
            second.dependent(second.independent(1) + x)
    with pytest.raises(TraceError, match="closed"):
        _ = x + 1.0


def test_the_order_of_calls_is_checked():
    trace = Trace()
    with pytest.raises(TraceError, match="trace_on"):
        trace.independent(1)
    trace.trace_on()
    with pytest.raises(TraceError, match="dependent"):
        trace.trace_off()
    with pytest.raises(TraceError, match="once"):
        trace.trace_on()
    with pytest.raises(TraceError, match="not finished"):
        _ = trace.tape

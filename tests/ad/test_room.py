"""No writer of the recorder goes past its arrays: room is asked for where it is taken, however long a sum is."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rtmbs.ad import builder as building
from rtmbs.ad import operations as o
from rtmbs.ad import traced
from rtmbs.ad.builder import PER_EMIT, PER_POWER, Builder, constant, emit, emit_power, emit_select, new_builder, step
from rtmbs.ad.derivative_tapes import ORDERS, sparse_jacobian
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.function_sources import ComplexStep
from rtmbs.ad.trace import Traced, record
from rtmbs.errors import TapeSizeError
from tests.patience import LONGEST

ROOT = Path(__file__).parents[2]
UNTOUCHED = -7


# ------------------------------------------------------------------------------------------------------ one operation


def arguments(builder):
    """Return steps of every kind that a normal form looks at: constants, negated ones, products with constants."""
    x, y = (step(builder, o.INPUT, k, 0, 0, 0.0) for k in range(2))
    three, less = constant(builder, 3.0), constant(builder, -2.5)
    product, negated = emit(builder, o.MULTIPLY, three, x), emit(builder, o.NEGATE, y, 0)
    return [0, 1, x, y, three, less, constant(builder, np.inf), product, negated, emit(builder, o.SUBTRACT, x, y)]


def tight(builder, room):
    """Return the builder with exactly so many free places, and the memory behind them."""
    size = int(builder.size[0])
    code, value = builder.code.copy(), builder.value.copy()
    code[size + room :], value[size + room :] = UNTOUCHED, UNTOUCHED
    part = value[: size + room]
    copy = Builder(code[: size + room], part, part.view(np.int64), builder.table.copy(), builder.size.copy())
    return copy, (code[size + room :], value[size + room :])


def untouched(behind):
    return all(np.all(part == UNTOUCHED) for part in behind)


@pytest.fixture
def steps():
    builder = new_builder(64)
    return builder, arguments(builder)


def test_an_operation_takes_the_room_that_is_said(steps):
    builder, given = steps
    most = 0
    for op in (*range(o.NEGATE, o.SELECT),):
        for a in given:
            for b in given if op >= o.ADD else given[:1]:
                room, behind = tight(builder, PER_EMIT)
                emit(room, op, a, b)
                assert untouched(behind), (o.NAMES[op], a, b)
                most = max(most, int(room.size[0] - builder.size[0]))
    assert most == PER_EMIT, "the bound is reached, so it is no guess"


def test_a_choice_takes_one_step(steps):
    builder, given = steps
    for a in given:
        room, behind = tight(builder, 1)
        emit_select(room, a, given[2], given[3])
        assert untouched(behind)


@pytest.mark.parametrize("exponent", [*range(-66, 67), 0.5, -0.5, 2.5, -1e300, np.inf])
def test_a_power_takes_the_room_that_is_said(steps, exponent):
    builder, given = steps
    for a in given:
        room, behind = tight(builder, PER_POWER)
        emit_power(room, a, float(exponent))
        assert untouched(behind), (a, exponent)


# ---------------------------------------------------------------------------------------------------------- long sums


def horner(degree):
    def f(x):
        s = 0.0
        for _ in range(degree):
            s = s * x[0] + 0.9 * x[1]
        return s

    return f


def chain(length):
    def f(x):
        s = x[0]
        for _ in range(length):
            s = np.sin(s) + 0.1 * x[1]
        return s

    return f


def wide(count):
    return lambda x: np.sum(np.sin(np.arange(1.0, count) * x[0]) * np.cos(x[1] * np.arange(1.0, count)))


@pytest.mark.parametrize("f", [horner(25), horner(400), chain(200), chain(2000), wide(3000)])
def test_entries_that_are_long_sums(f):
    """Each of these is one sum of thousands of products in reverse order."""
    x = np.array([0.4, 0.3])
    exact = ComplexStep(f, 2).jacobian(x)
    for order in ORDERS:
        made = Evaluator(sparse_jacobian(record(f, 2), orders=(order,)).tape).value(x)
        np.testing.assert_allclose(made, exact[0], rtol=1e-11, atol=1e-11 * np.abs(exact).max(), err_msg=order)
    traced = Traced(f, 2)
    np.testing.assert_allclose(traced.jacobian(x), exact, rtol=1e-11, atol=1e-11 * np.abs(exact).max())
    np.testing.assert_allclose(traced.reverse(x, np.ones(1)), exact[0], rtol=1e-11, atol=1e-11 * np.abs(exact).max())


def test_hessians_of_long_sums():
    traced, x = Traced(horner(60), 2), np.array([0.4, 0.3])
    exact = ComplexStep(gradient_of_horner, 2).jacobian(x)
    np.testing.assert_allclose(traced.hessian(x), exact, atol=1e-12 * np.abs(exact).max())


def gradient_of_horner(x):
    """The gradient of horner(60), which is 0.9 y (1 + x + ... + x^59)."""
    k = np.arange(60)
    return np.stack((0.9 * x[1] * np.sum(k[1:] * x[0] ** (k[1:] - 1)), 0.9 * np.sum(x[0] ** k)))


# ---------------------------------------------------------------------------------------------------------- too large


def test_a_tape_that_grows_too_large_is_refused(monkeypatch):
    with pytest.raises(TapeSizeError, match=r"more than 100 steps.*fewer turns"):
        record(chain(100), 2, limit=100)
    long = record(lambda x: chain(50)((np.prod(x), np.sum(np.sin(x)))) * x[::-1], 30)
    monkeypatch.setattr(building, "LARGEST", 1000)
    with pytest.raises(TapeSizeError, match="more than 1,000 steps"):
        sparse_jacobian(long)
    assert traced.LARGEST < 1 << 30, "a literal is twice a step, in 32 bits"


def test_one_order_that_grows_too_large_leaves_the_others(monkeypatch):
    """Ten inputs and one output: forward takes ten times the products of reverse."""
    long = record(lambda x: chain(300)((np.sum(x * x), np.prod(x))), 10)
    whole = sparse_jacobian(long)
    monkeypatch.setattr("rtmbs.ad.vertex_elimination.LARGEST", 2000)
    with pytest.raises(TapeSizeError):
        sparse_jacobian(long, orders=("forward",))
    part = sparse_jacobian(long)
    assert "forward" not in part.products
    x = np.linspace(0.2, 0.7, 10)
    np.testing.assert_allclose(Evaluator(part.tape).value(x), Evaluator(whole.tape).value(x), rtol=1e-12)


# ------------------------------------------------------------------------------------------------ under bounds checks


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_the_recorder_stays_within_its_arrays(tmp_path):
    """Every index of every kernel is checked: numba raises IndexError where a plain kernel would write past the end."""
    parts = [str(path) for path in sorted(Path(__file__).parent.glob("test_*.py"))]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow", *parts]
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "RTMBS_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert any(tmp_path.iterdir())

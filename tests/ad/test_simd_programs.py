"""A program for rows, eight at a time, against the program run row by row: the same bytes."""

import numpy as np
import pytest

from rtmbs.ad import simd_programs
from rtmbs.ad.evaluator import ProgramRunner
from rtmbs.ad.simd_programs import SimdProgram
from rtmbs.ad.trace import record
from rtmbs.ad.traced import recorder

xp = recorder


def function(x, p):
    """Operations of every kind: sums of products, unary ones, binary ones, a choice."""
    a, b, c = x[0], x[1], x[2]
    total = a * b + b * c - a * c * p[0] + 2.0 * a * a + b - c
    turned = xp.sin(a) * xp.cos(b) - xp.sqrt(1.0 + c * c) / (2.0 + a * a)
    chosen = xp.where(a > b, xp.exp(a), xp.arctan2(b, c))
    over = a / (b - b) * p[0]
    return xp.stack([total, turned, chosen, -a, p[1] * total - turned * chosen, over, a / c])


@pytest.mark.parametrize("count", [1, 7, 8, 9, 40])
def test_rows_are_those_of_the_program(count):
    tape = record(function, 3, k=2, xp=recorder)
    one = ProgramRunner(tape)
    rng = np.random.default_rng(count)
    x, p = rng.normal(size=(count, 3)), rng.normal(size=(count, 2))
    found = SimdProgram(one.program)(x, p)
    wanted = np.array([one(row, given).copy() for row, given in zip(x, p, strict=True)])
    assert found.tobytes() == wanted.tobytes()
    assert found.shape == (count, 7)
    assert len(np.unique(found[:, 2] > 0)) >= 1


@pytest.mark.parametrize("short", [1 << 16, 0])
def test_codes_of_two_and_of_four_bytes_and_many_outputs(short, monkeypatch):
    monkeypatch.setattr(simd_programs, "SHORT", short)
    one = ProgramRunner(record(lambda x, p: xp.concatenate([x[:1] * x, x + p[0], x[1:] * x[:1]]), 9, k=1, xp=recorder))
    x, p = np.random.default_rng(3).normal(size=(11, 9)), np.full((11, 1), 0.3)
    rows = SimdProgram(one.program)
    wanted = np.array([one(row, given).copy() for row, given in zip(x, p, strict=True)])
    assert rows.program.code.itemsize == (2 if short else 4)
    assert rows(x, p).tobytes() == wanted.tobytes()


def test_choices_and_roots_have_the_bytes_of_the_program():
    """Zeros of both signs, infinity and what is no number among them."""
    odd = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5])
    x = np.array([[a, b] for a in odd for b in odd])

    def choices(x, p):
        a, b = x[0], x[1]
        least, most = xp.minimum(a, b), xp.maximum(a, b)
        tests = [xp.where(test, a, p[0]) for test in (a < b, a <= b, a == b)]
        return xp.stack([least, most, *tests, -a, xp.sqrt(b)])

    one = ProgramRunner(record(choices, 2, k=1, xp=recorder))
    p = np.full((len(x), 1), 3.0)
    found = SimdProgram(one.program)(x, p)
    with np.errstate(all="ignore"):
        wanted = np.array([one(row, given).copy() for row, given in zip(x, p, strict=True)])
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    known = ~np.isnan(found)
    assert found[known].tobytes() == wanted[known].tobytes()

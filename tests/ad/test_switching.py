"""Switching functions of tapes: one for every comparison that outputs depend on."""

import numpy as np
import pytest

from rtmbs.ad import Evaluator, record_branches, switching_tape
from rtmbs.ad.derivative_tapes import sparse_jacobian

X = np.array([0.7, -1.3])


def clearance(x, p):
    return np.stack([np.where(x[0] > 0.5, x[0] - 0.5, 0.0), x[1] ** 2])


def branch(x, p):
    if x[0] > p[0]:
        return np.stack([x[1] * 2.0])
    return np.stack([x[1]])


CASES = {
    "where": (clearance, 2, [0.2]),
    "if": (branch, 1, [0.7 - 0.3]),
    "abs": (lambda x, p: np.stack([np.abs(x[0] * x[1])]), 1, [0.7 * 1.3]),
    "clip": (lambda x, p: np.stack([np.clip(x[0], -1.0, 2.0)]), 1, [1.3, 1.7]),
    "floor": (lambda x, p: np.stack([np.floor(x[1])]), 1, [abs(np.sin(-1.3 * np.pi))]),
    "and": (lambda x, p: np.stack([np.where((x[0] > 0.0) & (x[1] > 1.0), x[0], 0.0)]), 1, [0.7, 2.3]),
}


@pytest.mark.parametrize("name", CASES)
def test_one_function_a_comparison(name):
    f, m, sizes = CASES[name]
    tape, _ = record_branches(f, 2, m, k=1)
    found = switching_tape(sparse_jacobian(tape, values=True).tape, m)
    values = np.abs(Evaluator(found).value(X, np.array([0.3])))
    np.testing.assert_allclose(np.sort(values), np.sort(sizes), rtol=1e-14)


def test_smooth_functions_have_none():
    tape, _ = record_branches(lambda x, p: np.stack([np.sin(x[0]) * x[1]]), 2, 1, k=1)
    assert switching_tape(tape, 1) is None


def test_comparisons_of_other_outputs_do_not_count():
    tape, _ = record_branches(lambda x, p: np.stack([x[0] ** 2, np.abs(x[1])]), 2, 2, k=1)
    assert switching_tape(tape, 1) is None
    assert switching_tape(tape, 2).m == 1

"""A Jacobian with links is the Jacobian: products along the links against entries, on random functions."""

import numpy as np
import pytest

from rtmbs.ad import derivative_tapes as own
from rtmbs.ad.derivative_tapes import linked_jacobian
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.trace import record

N, M = 12, 14


def assembled(found, x, p, n, m):
    """Return the values and the Jacobian of entries and links."""
    out = Evaluator(found.tape).value(x, p)
    A = np.zeros((m + found.kept, n + found.kept))
    A[found.row, found.column] = out[m:]
    by, chain = A[:, :n], A[:, n:]
    inner = np.linalg.solve(np.eye(found.kept) - chain[m:], by[m:])
    return out[:m], by[:m] + chain[:m] @ inner


def narrow(x, p):
    """Every output depends on every input through two numbers: entries are many, links are few."""
    a, b = np.sum(x * p[:N]), np.sum(np.sin(x) * p[:N])
    return np.stack([np.sin(a * (k + 1.0)) * b * x[k % N] + p[0] for k in range(M)])


def random_function(seed):
    """Return a function of random sums of products, with a branch."""
    rng = np.random.default_rng(seed)
    places = rng.integers(N, size=(3, 40))

    def function(x, p):
        values = [x[k] for k in range(N)]
        for a, b, c in places.T:
            values.append(values[a] * values[len(values) - 1 - b] + p[c] * np.cos(values[len(values) - 1 - c]))
        values.append(np.where(values[N] > 0.0, values[N + 1], values[N + 2] * x[0]))
        return np.stack([values[len(values) - 1 - k] for k in range(M)])

    return function


def test_a_narrow_part_is_linked():
    rng = np.random.default_rng(1)
    known, by, of = record(narrow, N, k=N), np.ones(N, np.bool_), np.ones(M, np.bool_)
    found = linked_jacobian(known, by, of)
    assert found.kept > 0
    assert len(found.row) < N * M / 2
    for _ in range(5):
        x, p = rng.normal(size=N), rng.normal(size=N)
        values, J = assembled(found, x, p, N, M)
        np.testing.assert_array_equal(values, Evaluator(known).value(x, p))
        np.testing.assert_allclose(J, Evaluator(known).jacobian(x, p), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_any_part_may_be_linked(seed, monkeypatch):
    monkeypatch.setattr(own, "SAVED", -(10**9))
    rng = np.random.default_rng(seed)
    known, by, of = record(random_function(seed), N, k=N), rng.random(N) < 0.6, rng.random(M) < 0.6
    found = linked_jacobian(known, by, of)
    assert not np.any(~of[found.row[(found.column >= N) & (found.row < M)]])  # other rows have entries alone
    assert np.all(found.column[found.row >= M] - N < found.row[found.row >= M] - M)  # a link follows what it needs
    x, p = rng.normal(size=N), rng.normal(size=N)
    J = Evaluator(known).jacobian(x, p)
    np.testing.assert_allclose(assembled(found, x, p, N, M)[1], J, rtol=1e-11, atol=1e-11 * np.abs(J).max())


def test_what_links_do_not_save_is_entries():
    known = record(lambda x: x * x[::-1], 4)
    found = linked_jacobian(known, np.ones(4, np.bool_), np.ones(4, np.bool_))
    assert found.kept == 0

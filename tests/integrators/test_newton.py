"""The arithmetic of Newton's iteration alone: norm, rate, verdict (METHODS 1.11)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtmbs.integrators.newton import (
    ACCEPT,
    BENT,
    DIVERGED,
    GO_ON,
    NOT_A_NUMBER,
    REMAINDER,
    ROUNDING,
    SLOW_RATE,
    SMALL_FIRST,
    contraction_rate,
    scaled_norm,
    sure_below,
    verdict,
)
from tests.integrators.toy import settings

numbers = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(numbers, numbers, st.floats(1e-12, 1e3)), min_size=1, max_size=8), st.floats(0, 1e-2))
def test_scaled_norm(rows, relative):
    dz, predicted, absolute = np.array(rows).T.copy()
    expected = math.sqrt(np.mean((dz / (absolute + relative * np.abs(predicted))) ** 2))
    assert scaled_norm(dz, predicted, absolute, relative) == pytest.approx(expected, rel=1e-12)


def test_norm_of_nothing_is_zero():
    nothing = np.zeros(0)
    assert scaled_norm(nothing, nothing, nothing, 1e-6) == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_norm_shows_what_is_not_finite(bad):
    assert not np.isfinite(scaled_norm(np.array([0.0, bad]), np.ones(2), np.ones(2), 0.0))


def test_rate():
    assert contraction_rate(1.0, 4.0) == 0.25
    assert contraction_rate(1.0, 0.0) == 0.0


@pytest.mark.parametrize(
    ("iteration", "norm", "rate", "slow", "answer"),
    [
        (1, SMALL_FIRST, 0.0, 0, ACCEPT),
        (1, 1.01 * SMALL_FIRST, 0.0, 0, GO_ON),  # one correction says nothing about the next
        (1, 1e9, 0.0, 0, GO_ON),
        (2, 1.0, 1e-3, 0, ACCEPT),
        (2, 1.0, 0.5, 0, GO_ON),  # 0.5 / 0.5 1 = 1 still to come
        (2, REMAINDER, 0.5, 0, ACCEPT),
        (2, 1.01 * REMAINDER, 0.5, 0, GO_ON),
        (2, 0.01, 1.5, 0, GO_ON),  # theta / (1 - theta) is negative, and no reason to accept
        (2, 0.01, 1.0, 0, GO_ON),
        (3, 5.0, 1.2, 1, GO_ON),
        (3, 5.0, 1.2, 2, DIVERGED),
        (9, SMALL_FIRST, 5.0, 7, ACCEPT),  # rounding noise has no rate
        (1, np.nan, 0.0, 0, NOT_A_NUMBER),
        (4, np.inf, np.inf, 3, NOT_A_NUMBER),
        (2, np.inf, np.nan, 0, NOT_A_NUMBER),
        (2, 1.0, np.nan, 0, GO_ON),
    ],
)
def test_verdict(iteration, norm, rate, slow, answer):
    assert verdict(iteration, norm, rate, slow, np.inf) == answer


@given(st.integers(1, 48), st.floats(0.0, 1e9), st.floats(0.0, 1e3), st.integers(0, 10))
def test_acceptance_promises_a_small_remainder(iteration, norm, rate, slow):
    if verdict(iteration, norm, rate, slow, np.inf) == ACCEPT and norm > SMALL_FIRST:
        assert iteration > 1
        assert rate / (1.0 - rate) * norm <= REMAINDER * (1.0 + 1e-12)


def test_no_correction_is_the_last_where_a_bend_may_leave_more_than_its_share():
    """BENT over the share of forces in the factor; no less than the rounding of a place; no bound without such laws."""
    bent, still = settings(may_bend=True), np.zeros(2)
    assert sure_below(settings(), 1e6, still) == np.inf
    assert sure_below(bent, 0.5, still) == BENT
    assert sure_below(bent, 100.0, still) == pytest.approx(BENT / 100.0)
    assert sure_below(bent, 1e12, np.array([3.0, -2e3])) == pytest.approx(2e3 * ROUNDING / 1e-9)
    assert verdict(2, 2.0 * BENT, 1e-9, 0, np.inf) == ACCEPT
    assert verdict(2, 2.0 * BENT, 1e-9, 0, BENT) == GO_ON
    assert verdict(1, SMALL_FIRST, 0.0, 0, 0.1 * SMALL_FIRST) == GO_ON


@given(st.floats(SLOW_RATE, 1.5), st.floats(1.0, 1e6))
def test_a_slow_sequence_ends(rate, norm):
    """Twice slower than SLOW_RATE is divergence, so no iteration drags on."""
    answers = [verdict(k + 1, norm * rate**k, rate if k else 0.0, k, np.inf) for k in range(4)]
    assert DIVERGED in answers or ACCEPT in answers

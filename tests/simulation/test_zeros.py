"""Zeros of functions within a step: random polynomials, pairs, touches, and starts at a zero."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtmbs.simulation.events import zeros_within

places = st.lists(st.floats(0.02, 0.98), min_size=1, max_size=5)


def product(roots):
    return lambda t: math.prod((t - root for root in roots), start=1.0)


@settings(max_examples=60, deadline=None)
@given(places, st.floats(-3.0, 3.0))
def test_roots_of_polynomials(roots, power):
    roots = sorted(roots)
    if any(b - a < 1e-3 for a, b in pairwise(roots)):
        return
    factor = 10.0**power
    f = product(roots)
    found = zeros_within(lambda t: factor * f(t), 0.0, 1.0, factor * f(0.0), False)
    assert [zero.t for zero in found.zeros] == pytest.approx(roots, abs=1e-9)
    signs = [np.sign(f(0.0)) * (-1) ** k for k in range(len(roots))]
    assert [zero.side for zero in found.zeros] == signs


def test_a_function_far_from_zero_takes_four_looks():
    seen = []
    found = zeros_within(lambda t: seen.append(t) or 3.0 + math.sin(t), 0.0, 1.0, 3.0, False)
    assert (found.zeros, len(seen)) == ([], 4)


def test_looks_are_bounded_whatever_the_function():
    rng, seen = np.random.default_rng(3), []
    zeros_within(lambda t: seen.append(t) or float(rng.normal()), 0.0, 1.0, 1.0, False)
    assert len(seen) < 5000


def test_many_zeros_of_a_swing_within_a_step():
    found = zeros_within(lambda t: math.sin(40.0 * t + 0.1), 0.0, 1.0, math.sin(0.1), False)
    assert [zero.t for zero in found.zeros] == pytest.approx((np.pi * np.arange(1, 13) - 0.1) / 40.0, abs=1e-12)


@pytest.mark.parametrize("flight", [1e-5, 1e-3, 0.3])
def test_a_start_at_a_zero_has_no_sign(flight):
    found = zeros_within(lambda t: t * (flight - t) - 1e-17, 0.0, 1.0, -1e-17, True)
    assert [zero.side for zero in found.zeros] == [1]
    assert found.zeros[0].t == pytest.approx(flight, abs=2e-12)
    assert found.first == 1


def test_a_function_that_reaches_zero_and_stays_has_one_zero():
    found = zeros_within(lambda t: max(0.0, 0.4 - t), 0.0, 1.0, 0.4, False)
    assert [(zero.t, zero.side) for zero in found.zeros] == [(pytest.approx(0.4, abs=1e-12), 1)]
    assert found.side == 0


def test_a_zero_at_the_end_is_found_in_this_step():
    found = zeros_within(lambda t: 1.0 - t + 1e-17, 0.0, 1.0, 1.0, False)
    assert [zero.t for zero in found.zeros] == pytest.approx([1.0], abs=1e-12)

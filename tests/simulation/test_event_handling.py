"""Gaps that shrink without end, and gaps that do not."""

import numpy as np
import pytest

from rtmbs.simulation.events import Accumulation


def first(times):
    """Return after how many times a row is seen, or nothing, and the time at which it ends."""
    row = Accumulation()
    for k, t in enumerate(times):
        if row.add(t):
            return k, t + row.rest
    return None, None


@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.9, 0.99])
def test_a_geometric_row_is_seen_and_its_end_told(ratio):
    times = 1.0 + (1.0 - ratio ** np.arange(4000)) / (1.0 - ratio)
    place, end = first(times)
    assert place is not None
    assert end == pytest.approx(1.0 + 1.0 / (1.0 - ratio), rel=1e-9)


@pytest.mark.parametrize("gap", [1e-3, 1e-8])
def test_even_gaps_and_uneven_ones_go_on(gap):
    rng = np.random.default_rng(1)
    assert first(5.0 + gap * np.arange(5000)) == (None, None)
    assert first(5.0 + gap * np.cumsum(rng.uniform(0.1, 1.0, 5000))) == (None, None)


def test_a_burst_behind_a_long_gap_is_none():
    assert first([0.0, 3.0, *(5.0 + 1e-6 * np.arange(1, 50))]) == (None, None)

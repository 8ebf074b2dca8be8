"""A long curve in few points: extremes are exact wherever they stand."""

import numpy as np
import pytest

from rtmbs.viewer.scene.plot_data import envelope


@pytest.mark.parametrize("count", [0, 1, 5, 2999, 3000, 3001, 4500, 60_001, 65_536])
def test_extremes_and_ends_are_exact(count):
    rng = np.random.default_rng(count)
    t = np.cumsum(rng.uniform(0.1, 1.0, count))
    y = rng.normal(size=count).cumsum()
    if count > 10:
        y[int(rng.integers(count))] += 1e3  # a spike of one sample
    found_t, found = envelope(t, y)
    assert len(found) <= max(2 * 1500 + 2, min(count, 3000))
    if count:
        assert (found.max(), found.min()) == (y.max(), y.min())
        assert found_t[np.argmax(found)] == t[np.argmax(y)]
        assert (found_t[0], found_t[-1], found[0], found[-1]) == (t[0], t[-1], y[0], y[-1])
    assert np.all(np.diff(found_t) > 0.0)
    np.testing.assert_array_equal(np.isin(found_t, t), True)


def test_every_part_keeps_its_own_extremes():
    t, y = np.arange(30_000.0), np.sin(np.arange(30_000.0) * 2.0)  # a periodic motion that pictures would alias
    found_t, found = envelope(t, y, parts=100)
    for part in range(100):
        inside = (found_t >= 300 * part) & (found_t < 300 * (part + 1))
        own = y[300 * part : 300 * (part + 1)]
        assert (found[inside].max(), found[inside].min()) == (own.max(), own.min())


def test_extremes_of_a_curve_that_has_no_numbers_at_first():
    t, y = np.arange(30_000.0), np.sin(np.arange(30_000.0) * 2.0)
    y[:10_010] = np.nan  # up to the middle of a part
    y[10_015] = 5.0
    found_t, found = envelope(t, y, parts=100)
    assert found_t[np.nanargmax(found)] == 10_015
    assert np.all(np.isnan(found[found_t < 10_010]))

"""Content of plots: panels, colours, windows of time, thinning, ranges, numbers of axes, spectra."""

import numpy as np
import pytest

from rtmbs.core.colors import COLORS
from rtmbs.errors import InputError
from rtmbs.results.curves import (
    DASHES,
    LEAST,
    MOST_CURVES,
    Curve,
    checked_window,
    offset_of,
    panels_of,
    span_of,
    spectrum,
    thinned,
    tick_texts,
    value_range,
    visible,
    wrapped,
    zoomed,
)

# ---- thinning ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 5, 2999, 3000, 3001, 4500, 60_001, 65_536])
def test_extremes_and_ends_are_exact(count):
    rng = np.random.default_rng(count)
    t = np.cumsum(rng.uniform(0.1, 1.0, count))
    y = rng.normal(size=count).cumsum()
    if count > 10:
        y[int(rng.integers(count))] += 1e3  # a spike of one sample
    k = thinned(y[:, None])
    found_t, found = t[k], y[k]
    assert len(found) <= max(2 * 1500 + 2, min(count, 3000))
    if count:
        assert (found.max(), found.min()) == (y.max(), y.min())
        assert found_t[np.argmax(found)] == t[np.argmax(y)]
        assert (found_t[0], found_t[-1], found[0], found[-1]) == (t[0], t[-1], y[0], y[-1])
    assert np.all(np.diff(found_t) > 0.0)
    np.testing.assert_array_equal(np.isin(found_t, t), True)


def test_every_part_keeps_its_own_extremes():
    t, y = np.arange(30_000.0), np.sin(np.arange(30_000.0) * 2.0)  # a periodic motion that pictures would alias
    k = thinned(y[:, None], 200)
    found_t, found = t[k], y[k]
    for part in range(100):
        inside = (found_t >= 300 * part) & (found_t < 300 * (part + 1))
        own = y[300 * part : 300 * (part + 1)]
        assert (found[inside].max(), found[inside].min()) == (own.max(), own.min())


def test_extremes_of_a_curve_that_has_no_numbers_at_first():
    t, y = np.arange(30_000.0), np.sin(np.arange(30_000.0) * 2.0)
    y[:10_010] = np.nan  # up to the middle of a part
    y[10_015] = 5.0
    k = thinned(y[:, None], 200)
    found_t, found = t[k], y[k]
    assert found_t[np.nanargmax(found)] == 10_015
    assert np.all(np.isnan(found[found_t < 10_010]))


# ---- spectra ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_sines_show_their_amplitudes_at_their_frequencies(seed):
    """Three sines over whole periods, a mean, odd units of time: exact within rounding where bins are apart."""
    rng = np.random.default_rng(seed)
    count, step = int(rng.integers(400, 5000)), 10.0 ** rng.uniform(-5, 2)
    bins = np.sort(rng.choice(np.arange(5, 190, 5), 3, replace=False))
    amplitudes = 10.0 ** rng.uniform(-6, 6) * rng.uniform(0.1, 1.0, 3)
    t = 100.0 * rng.normal() * step + step * np.arange(count)
    y = rng.normal() * amplitudes[0] + sum(
        a * np.sin(2.0 * np.pi * k * (t - t[0]) / (count * step) + rng.uniform(0, 6))
        for a, k in zip(amplitudes, bins, strict=True)
    )
    f, found = spectrum(t, y)
    np.testing.assert_allclose(f[bins - 1], bins / (count * step), rtol=1e-9)
    np.testing.assert_allclose(found[bins - 1], amplitudes, rtol=1e-6)
    assert np.max(np.delete(found, np.concatenate([bins - 2, bins - 1, bins]))) < 1e-6 * amplitudes.max()


def test_uneven_steps_and_gaps():
    rng = np.random.default_rng(3)
    t = np.sort(rng.uniform(0.0, 10.0, 4000))
    y = 2.0 * np.sin(2.0 * np.pi * 3.0 * t)
    y[::97] = np.nan
    f, found = spectrum(t, y)
    assert f[np.argmax(found)] == pytest.approx(3.0, abs=0.1)
    assert found.max() == pytest.approx(2.0, rel=0.05)
    assert len(spectrum(t[: LEAST - 1], y[: LEAST - 1])[0]) == 0


@pytest.mark.parametrize("count", [64, 200, 1000])
def test_an_oscillation_between_two_frequencies_reads_a_little_less(count):
    """The scalloping of a window of Hann, as docs/viewer.md states: 0.84 of the amplitude at least."""
    t, rng = 0.01 * np.arange(count), np.random.default_rng(count)
    for cycles in np.append(np.linspace(5.0, 6.0, 11), 5.5):
        _, found = spectrum(t, 0.1 * np.sin(2.0 * np.pi * cycles / (0.01 * count) * t + rng.uniform(0.0, 6.0)))
        assert 0.084 <= found.max() <= 0.1 + 1e-9
        assert cycles not in (5.0, 6.0) or found.max() == pytest.approx(0.1)


def test_the_mean_is_no_part_of_the_first_line():
    """Less than a period and a half, and a mean: the first line is that of the curve without its mean in the window."""
    t = 0.01 * np.arange(500)
    y = 3.0 + np.cos(2.0 * np.pi * 0.27 * t)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(500) / 500)
    centred = (y - np.average(y, weights=window)) * window
    wanted = 2.0 * np.abs(np.sum(centred * np.exp(-2j * np.pi * np.arange(500) / 500))) / window.sum()
    assert spectrum(t, y)[1][0] == pytest.approx(wanted, rel=1e-9)
    np.testing.assert_allclose(spectrum(t, y + 1e3)[1], spectrum(t, y)[1], atol=1e-9)

"""Content of plots: panels, colours, windows of time, thinning, ranges, numbers of axes, spectra."""

import numpy as np
import pytest

from rtmbs.errors import InputError
from rtmbs.results.curves import (
    COLORS,
    LEAST,
    MOST_CURVES,
    SECONDS,
    Abscissa,
    Curve,
    bracketed,
    checked_window,
    frequency_range,
    has_one_scale,
    least_span,
    offset_of,
    panels_of,
    shown_lines,
    span_of,
    spectrum,
    thinned,
    tick_texts,
    value_range,
    visible,
    wrapped,
    zoomed,
)

# ---- colours and panels ----------------------------------------------------------------------------------------------

# Simulated sight in linear RGB (Machado, Oliveira, Fernandes 2009, severity 1).
SIGHTS = {
    "common": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colors):
    """Return the linear RGB (k, 3) of colours."""
    rgb = np.array([[int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)] for color in colors])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """Return CIELAB (k, 3) of linear RGB."""
    scaled = np.clip(rgb, 0.0, 1.0) @ XYZ.T / XYZ.sum(axis=1)
    f = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16.0 / 116.0)
    return np.stack([116.0 * f[:, 1] - 16.0, 500.0 * (f[:, 0] - f[:, 1]), 200.0 * (f[:, 1] - f[:, 2])], axis=1)


@pytest.mark.parametrize(("theme", "panel"), [("white", "#ffffff"), ("dark", "#23282f")])
def test_colours_differ_in_every_sight_and_from_the_panel(theme, panel):
    colors = COLORS[theme]
    for matrix in SIGHTS.values():
        seen = lab(linear(colors) @ np.array(matrix).T)
        apart = np.linalg.norm(seen[:, None] - seen, axis=2) + 1e3 * np.eye(len(seen))
        assert apart.min() >= 18.0
        assert apart[:4, :4].min() >= 35.0
    light, ground = linear(colors) @ XYZ[1], float((linear([panel]) @ XYZ[1])[0])
    contrast = (np.maximum(light, ground) + 0.05) / (np.minimum(light, ground) + 0.05)
    assert contrast.min() >= 3.4


def curve(label, unit="m", run=0, values=(0.0, 1.0), x=None):
    values = np.array(values)
    return Curve(label, unit, np.arange(len(values), dtype=float), values, x, run, "ab"[run])


def test_panels_by_unit_and_by_channel():
    named = [curve("a.p[x]"), curve("a.p[y]"), curve("b.p[x]"), curve("a.v[x]", "m/s"), curve("a.p[x]", run=1)]
    one, other = panels_of(named)
    assert [(each.label, each.run) for each in one.curves] == [
        ("a.p[x]", 0),
        ("a.p[x]", 1),
        ("a.p[y]", 0),
        ("b.p[x]", 0),
    ]
    assert one.colors == (0, 0, 1, 2), "a number has one colour in both runs"
    assert (one.y_label, other.y_label) == ("p [m]", "v [m/s]")
    assert one.heading == ("", [("a.p[x]", 0), ("a.p[y]", 1), ("b.p[x]", 2)])
    assert one.runs == {0: "a", 1: "b"}
    first, *_ = by_channel = panels_of(named, "channel")
    assert len(by_channel) == 3
    assert first.heading == ("a.p", [("x", 0), ("y", 1)])
    many = panels_of([curve(f"a{k}.p") for k in range(20)])
    assert [len(panel.curves) for panel in many] == [MOST_CURVES, 20 - MOST_CURVES]
    assert bracketed("m/s^2") == " [m/s\N{SUPERSCRIPT TWO}]"
    assert bracketed("1") == bracketed("") == ""


def test_lengths_of_like_spans_have_one_scale():
    over = Abscissa("a.p[x]", "m", None)

    def panel(height, unit="m"):
        return panels_of([curve("a.p[y]", unit, values=(0.0, height), x=np.array([0.0, 1.0]))])[0]

    assert has_one_scale(panel(0.1), over)
    assert not has_one_scale(panel(1e-3), over), "a straight line that is none would be one"
    assert not has_one_scale(panel(0.1, "m/s"), over)


# ---- windows of time -------------------------------------------------------------------------------------------------


def test_a_window_follows_and_stays_where_the_present_is_in_it():
    assert span_of(None, 0.0, 40.0, 7.0) == (0.0, 40.0)
    assert span_of((1.0, 2.0), 0.0, 40.0, 7.0) == (1.0, 2.0)
    assert span_of(5.0, 0.0, 2.0, 2.0) == (0.0, 5.0), "a short run begins at the left"
    assert span_of(5.0, 0.0, 40.0, 40.0) == (35.0, 40.0)
    assert span_of(5.0, 0.0, 40.0, 36.0, (35.0, 40.0)) == (35.0, 40.0), "a click moves nothing"
    assert span_of(5.0, 0.0, 41.0, 41.0, (35.0, 40.0)) == (36.0, 41.0)
    low, high = span_of(5.0, 0.0, 40.0, 20.0, (35.0, 40.0))
    assert low < 20.0 < high
    assert span_of(None, 3.0, 3.0, 3.0)[1] > 3.0
    assert 5.0 in SECONDS


def test_a_zoom_keeps_the_place_of_the_mouse_and_stays_in_the_run():
    low, high = zoomed((0.0, 10.0), 4.0, 0.5, 0.0, 10.0)
    assert (low, high) == (2.0, 7.0)
    assert (4.0 - low) / (high - low) == pytest.approx(0.4)
    assert zoomed((2.0, 7.0), 4.0, 100.0, 0.0, 10.0) == (0.0, 10.0)
    span = (2.0, 7.0)
    for _ in range(200):
        span = zoomed(span, 4.0, 0.8, 0.0, 10.0)
    assert 0.0 < span[1] - span[0] < 1e-6, "nearer and nearer, and never empty"
    low, high = zoomed((0.0, 10.0), 5.0, 0.8, 0.0, 1.05)
    assert (low, high) == (pytest.approx(0.21), 1.05), "about the end of the run, where the mouse is beyond it"


@pytest.mark.parametrize("window", [0.0, -1.0, "all", (2.0, 1.0), (1.0,), (0.0, np.nan), [1.0, 2.0, 3.0], [[1.0, 2.0]]])
def test_a_window_that_is_none_is_refused(window):
    with pytest.raises(InputError, match="it must be the last seconds"):
        checked_window(window)


def test_samples_in_a_span_have_a_neighbour_on_each_side():
    t = np.arange(10.0)
    assert t[visible(t, (3.5, 6.5))].tolist() == [3.0, 4.0, 5.0, 6.0, 7.0]
    assert t[visible(t, (-5.0, 50.0))].tolist() == t.tolist()


# ---- ranges and numbers of axes --------------------------------------------------------------------------------------


def test_ranges_of_constants_gaps_and_nothing():
    assert value_range([np.array([np.nan, 1.0, np.inf, 3.0])]) == pytest.approx((0.9, 3.1))
    assert value_range([np.full(5, 12.5)]) == (6.25, 18.75)
    assert value_range([np.zeros(3)]) == (-1.0, 1.0)
    assert value_range([np.zeros(0), np.full(2, np.nan)]) == (0.0, 1.0)
    low, high = value_range([1e6 + 1e-3 * np.sin(np.arange(100.0))])
    assert 2e-3 < high - low < 2.3e-3, "no rounding"
    assert value_range([1.0 + 1e-15 * np.arange(5)]) == pytest.approx((0.5, 1.5))


def test_rounding_about_zero_is_no_signal():
    noise = 3e-17 * np.sin(np.arange(50.0))
    for unit in ("rad", "rad/s", "deg/s^2", "m", "m/s^2"):
        assert value_range([noise], least_span(unit)) == (-1.0, 1.0), unit
    for unit, small in (("N", 1e-17), ("J", 4e-21), ("m", 1e-12), ("rad", 1e-9)):  # of small mechanisms
        low, high = value_range([small * np.array([-1.0, 1.0])], least_span(unit))
        assert high - low == pytest.approx(2.2 * small), unit
    assert value_range([2.0 + noise], least_span("rad")) == (1.0, 3.0)


def test_moments_without_a_lever_beside_their_forces_are_no_signal():
    t, rounding = np.arange(5.0), 1e-14 * np.array([0.0, 1.0, -1.0, 0.5, 0.0])

    def moments(factor, owner="pin.reaction"):
        curves = [Curve("pin.reaction[fz]", "N", t, 6.0 + t), Curve(f"{owner}[nx]", "N m", t, factor * rounding)]
        return next(panel for panel in panels_of(curves) if panel.unit == "N m")

    assert moments(1.0).y_range == pytest.approx((-1.0, 1.0))
    for panel in (moments(1e4), moments(1.0, "hinge.reaction")):  # a lever of 1e-11 m; no forces are known
        low, high = panel.y_range
        assert high - low == pytest.approx(1.1 * np.ptp(panel.curves[0].y))


def test_a_small_range_far_away_counts_from_a_round_number():
    assert offset_of(1e6 - 1e-3, 1e6 + 1e-3) == 1e6
    assert offset_of(-0.2, 0.3) == 0.0
    assert offset_of(100.0, 101.0) == 0.0
    for shift in np.linspace(0.0, 1e-3, 7):
        assert offset_of(1e6 - 1e-3 + shift, 1e6 + shift) == 1e6, "the same while a window goes on"


@pytest.mark.parametrize(
    ("ticks", "step", "texts"),
    [
        ([-0.5, 0.0, 0.5], 0.5, ["-0.5", "0", "0.5"]),
        ([0.25, 0.5], 0.25, ["0.25", "0.50"]),
        ([36_001.0, 36_002.0], 1.0, ["36001", "36002"]),
        ([0.0, 5e-7, 1e-6], 5e-7, ["0", "5e-7", "1e-6"]),
        ([2e6, 2.5e6], 5e5, ["2e6", "2.5e6"]),
        ([], 1.0, []),
    ],
)
def test_numbers_of_ticks(ticks, step, texts):
    assert tick_texts(ticks, step) == texts


def test_a_legend_wraps():
    assert wrapped([50.0, 50.0, 50.0, 300.0], 130.0, 10.0) == [0, 0, 1, 2]


# ---- thinning --------------------------------------------------------------------------------------------------------


def test_a_gap_and_a_peak_of_one_sample_stay():
    y = np.sin(np.arange(100_000) / 50.0)
    y[77_777], y[33_333] = 9.0, np.nan
    kept = thinned(np.column_stack([y, np.zeros(100_000)]), 1000)
    assert len(kept) <= 1010
    assert {0, 33_333, 77_777, 99_999} <= {*kept.tolist()}


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


def test_the_axis_of_a_spectrum_ends_behind_its_content():
    """A swing of 1 Hz at 1 kHz, with a tenth at 3 Hz and rounding: up to 4.5 Hz, and not to 500 Hz."""
    t, rng = 1e-3 * np.arange(10_000), np.random.default_rng(4)
    y = np.sin(2.0 * np.pi * t) + 0.1 * np.sin(6.0 * np.pi * t) + 1e-9 * rng.normal(size=len(t))
    f, found = spectrum(t, y)
    low, high = frequency_range([(f, found)])
    assert low == 0.0
    assert high == pytest.approx(4.5, abs=1.5 * 3 / t[-1]), (
        "the last line of the window of Hann about 3 Hz, and half more"
    )
    assert np.max(found[f > high]) < 0.01 * found.max(), "nothing that is seen is left out"
    quiet = (f, np.full(len(f), 1e-5))
    assert frequency_range([(f, found), quiet])[1] == high, "a curve that is as flat as the axis asks for nothing"
    assert frequency_range([quiet])[1] == f[-1], "alone it is noise of every frequency"
    assert frequency_range([quiet], least=1e-4)[1] == pytest.approx(f[11]), "and rounding shows a few lines"
    assert frequency_range([(f, found)], stretch=2.0)[1] == pytest.approx(2.0 * high)
    assert frequency_range([(f, found)], stretch=1e6)[1] == f[-1]
    assert frequency_range([(f, found)], stretch=1e-6)[1] == f[0]
    assert frequency_range([]) == (0.0, 1.0)
    assert frequency_range([(f, 0.0 * f)])[1] == pytest.approx(f[11])


def test_lines_that_are_shown_are_all_kept():
    f = 0.01 * np.arange(1, 200_001)
    y = np.where(f < 12.0, 1.0 / (1.0 + (f - 1.0) ** 2), 1e-3)
    y[150_000] = 5e-3
    rows = shown_lines(f, y[:, None], (0.0, 12.0))
    assert np.array_equal(rows[:1200], np.arange(1200))
    assert len(rows) < 2500
    assert 150_000 in rows, "no peak beyond is lost"
    assert np.all(np.diff(rows) > 0)

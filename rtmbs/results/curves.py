"""Content of plots: which curves share an axis, labels, units, colours, dashes, windows of time, thinning, spectra.

Figures of matplotlib (``figure.py``), the window of the viewer and its pages draw what is decided here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.results.channel import TIME, Array, Channel, Record, channel_or_component

# Any two differ by 18 in CIELAB at least, the first four by 35, also in the sight of protanopes, deuteranopes and
# tritanopes; each has a contrast of 3.4 to the panel that it is drawn on.
COLORS = {
    "white": ("#0b38d2", "#d46d00", "#009c73", "#7c3391", "#000000", "#865510", "#6b85d1", "#c03149"),
    "dark": ("#8cadd0", "#e89833", "#3bed9e", "#b877ff", "#f5f5f5", "#ebe048", "#818a97", "#f0705c"),
}


# ---- dashes and points -----------------------------------------------------------------------------------------------

DASHES: tuple[tuple[float, ...], ...] = ((), (5.0, 2.5), (6.0, 2.0, 1.5, 2.0), (1.5, 2.0))  # [line widths], one a run
MOST_CURVES = 16  # of one run in a panel: eight colours, and as many dashed; the next begins another panel
MARKED = 7.0  # [pixels] diameter of the point at the present time of a curve over another one


# ---- curves and panels -----------------------------------------------------------------------------------------------

OVER_TIME, FREQUENCY = "time", "frequency"  # words for what is drawn over; a channel is the third choice
TOGETHER = ("channel", "unit")  # what shares a panel
QUANTITIES = 2  # named beside an axis
DEGREES = {"rad": "deg", "rad/s": "deg/s", "rad/s^2": "deg/s^2"}
SUPERSCRIPTS = {"^2": "\N{SUPERSCRIPT TWO}", "^3": "\N{SUPERSCRIPT THREE}", "^4": "\N{SUPERSCRIPT FOUR}"}
FORCE, MOMENT = "N", "N m"
SQUARE = 20.0  # spans of two lengths, up to which they have one scale


class Curve(NamedTuple):
    """One number of a channel over the samples of a run."""

    label: str  # without unit
    unit: str
    t: Array  # (k,) [s]
    y: Array  # (k,)
    x: Array | None = None  # (k,) of a curve over another number, or its frequencies
    run: int = 0  # place in DASHES: that of the run among those compared
    run_name: str = ""  # "" where there is one run

    @property
    def over(self) -> Array:
        """Numbers that it is drawn over."""
        return self.t if self.x is None else self.x

    @property
    def said(self) -> str:
        """Words of the legend."""
        return f"{self.run_name}: {self.label}" if self.run_name else self.label


class Panel(NamedTuple):
    """Curves that share their axes; those of one number have one colour, those of one run one dash."""

    unit: str
    curves: tuple[Curve, ...]
    colors: tuple[int, ...]  # places in a row of COLORS
    title: str = ""  # of curves that are no channels
    log: bool = False  # True: a logarithmic axis
    forces: tuple[Curve, ...] = ()  # of the channels whose moments these are

    @property
    def least(self) -> float:
        """Span of the values that is rounding, whatever the size of a mechanism; 0 where none is known."""
        forces = [float(np.max(np.abs(y[np.isfinite(y)]), initial=0.0)) for _, _, _, y, *_ in self.forces]
        return max(least_span(self.unit), NO_LEVER * max(forces, default=0.0))

    @property
    def y_range(self) -> "Span":
        """Range of its axis; of a logarithmic one in powers of ten."""
        values = (curve.y for curve in self.curves)
        return log_range(values) if self.log else value_range(values, self.least)

    def frequencies(self, stretch: float = 1.0) -> "Span":
        """Return the range of the axis of its spectra [Hz]; ``stretch`` of a user who wants to see more."""
        return frequency_range([(curve.over, curve.y) for curve in self.curves], self.least, stretch)

    @property
    def y_label(self) -> str:
        """Label of the axis: the quantities, where they are few, and the unit."""
        if self.title:
            return f"{self.title}{bracketed(self.unit)}"
        return quantity([curve.label for curve in self.curves], self.unit)

    @property
    def unit_words(self) -> str:
        """The unit in brackets, for a heading."""
        return bracketed(self.unit)

    @property
    def heading(self) -> tuple[str, list[tuple[str, int]]]:
        """Words above the panel, and the names of its curves with their colours; of one channel only its axes."""
        names = dict(zip((curve.label for curve in self.curves), self.colors, strict=True))
        owners = {channel_name(name) for name in names}
        if self.title or len(owners) > 1:
            return self.title, list(names.items())
        (owner,) = owners
        if names.keys() == owners:
            return "", list(names.items())
        return owner, [(name[len(owner) + 1 : -1], color) for name, color in names.items()]

    @property
    def runs(self) -> dict[int, str]:
        """Names of the runs by their place in DASHES, where there are several."""
        found = {curve.run: curve.run_name or "this run" for curve in self.curves}
        return found if len(found) > 1 else {}


def panels_of(curves: Iterable[Curve], together: str = "unit", most: int = MOST_CURVES) -> list[Panel]:
    """Return the panels of curves: one a unit, or one a channel and unit; each of ``most`` numbers of a run at most."""
    groups: dict[tuple[str, str], dict[str, list[Curve]]] = {}
    forces: dict[str, list[Curve]] = {}
    for curve in curves:
        channel = channel_name(curve.label)
        owner = channel if together == "channel" else ""
        groups.setdefault((owner, curve.unit), {}).setdefault(curve.label, []).append(curve)
        if curve.unit == FORCE:
            forces.setdefault(channel, []).append(curve)
    found = []
    for (_, unit), numbers in groups.items():
        named = list(numbers.values())
        for first in range(0, len(named), most):
            shared = named[first : first + most]
            colors = tuple(place for place, runs in enumerate(shared) for _ in runs)
            channels = dict.fromkeys(channel_name(runs[0].label) for runs in shared) if unit == MOMENT else ()
            beside = tuple(force for channel in channels for force in forces.get(channel, ()))
            found.append(Panel(unit, tuple(curve for runs in shared for curve in runs), colors, forces=beside))
    return found


def channel_name(label: str) -> str:
    """Return the name of the channel of a number: ``block.velocity[x]`` is of ``block.velocity``."""
    return label.partition("[")[0]


def shown_unit(unit: str) -> str:
    """Return a unit as it is written beside an axis; numbers without one have none."""
    for plain, raised in SUPERSCRIPTS.items():
        unit = unit.replace(plain, raised)
    return "" if unit == "1" else unit


def bracketed(unit: str) -> str:
    """Return a unit behind a name, in brackets."""
    shown = shown_unit(unit)
    return f" [{shown}]" if shown else ""


def quantity(labels: Sequence[str], unit: str) -> str:
    """Return the label of an axis: the quantities, where they are few, and the unit."""
    named = list(dict.fromkeys(channel_name(label).rpartition(".")[2].replace("_", " ") for label in labels))
    words = ", ".join(named) if len(named) <= QUANTITIES else ""
    return f"{words}{bracketed(unit)}".strip()


def same_scale(x_unit: str, y_unit: str, x_span: float, y_span: float) -> bool:
    """True where both axes of a curve have one scale: two lengths of like spans, as of a coupler curve."""
    return x_unit == y_unit == "m" and max(x_span, y_span) <= SQUARE * min(x_span, y_span)


# ---- windows of time -------------------------------------------------------------------------------------------------

Window = float | tuple[float, float] | None  # the last seconds, a chosen span [s], or the whole run
Span = tuple[float, float]
WHOLE, CHOSEN = "whole run", "chosen"
SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)  # of windows that follow


def window_words(seconds: float) -> str:
    """Return the words for a window of the last seconds."""
    return f"last {seconds:g} s"


LIVE_WINDOW = 10.0  # [s] that plots of a live session show at first; a recorded run is shown whole
WINDOWS: Mapping[str, Window] = {WHOLE: None, **{window_words(one): one for one in SECONDS}}


def checked_window(window: object) -> Window:
    """Return a window; InputError for anything that is none."""
    if window is None:
        return None
    ends = np.asarray(window, dtype=object)
    try:
        numbers = [float(one) for one in ends.ravel()]
    except (TypeError, ValueError):
        numbers = []
    if ends.shape == () and len(numbers) == 1 and 0.0 < numbers[0] < np.inf:
        return numbers[0]
    if ends.shape == (2,) and len(numbers) == 2 and np.all(np.isfinite(numbers)) and numbers[0] < numbers[1]:
        return numbers[0], numbers[1]
    raise InputError(f"window is {window!r}; it must be the last seconds (5.0) or two times ((1.0, 2.0)) in order")


def span_of(window: Window, first: float, last: float, now: float, before: Span | None = None) -> Span:
    """Return the times that are shown.

    A window of the last seconds stays where it was ``before`` while the present time is in it, so that a click in a
    plot moves nothing. A run that is shorter than the window begins at its left end.
    """
    if isinstance(window, tuple):
        return window
    if window is None:
        return first, last if last > first else first + 1.0
    low = now - window
    if before is not None and abs(before[1] - before[0] - window) < 1e-9 * window and before[0] <= now <= before[1]:
        low = before[0]
    elif before is not None and now < before[0]:
        low = now - 0.5 * window
    low = max(min(low, last - window), first)
    return low, low + window


def zoomed(span: Span, at: float, factor: float, first: float, last: float) -> Span:
    """Return a span of ``factor`` times the length about a time that stays where it is, inside of the run.

    Beyond an end of the run it is that end: a window that follows has room for times to come.
    """
    at = min(max(at, first), last)
    low, high = at - factor * (at - span[0]), at + factor * (span[1] - at)
    least = 1e-9 * max(abs(first), abs(last), 1e-3)
    if high - low < least or high <= first or low >= last:
        return span
    return max(low, first), min(high, last) if last > first else high


def visible(t: Array, span: Span) -> slice:
    """Return the samples in a span, and one more on each side."""
    low, high = span
    return slice(max(int(np.searchsorted(t, low)) - 1, 0), int(np.searchsorted(t, high, side="right")) + 1)


# ---- thinning --------------------------------------------------------------------------------------------------------

POINTS = 3000  # of a curve that is drawn; a plot is rarely wider than half as many pixels


def thinned(columns: Array, most: int = POINTS) -> NDArray[np.int64]:
    """Return the rows of ``columns`` (k, c) that a picture needs, about ``most`` at most.

    Every part of the rows keeps those with the least and the greatest number of every column, and a gap its first row;
    the ends are kept. So no peak and no gap is lost. Up to ``most`` rows are all kept.
    """
    count, width = columns.shape
    if count <= most:
        return np.arange(count)
    length = -(-count // max(most // (2 * max(width, 1)), 1))
    kept = [np.array([0, count - 1])]
    starts = length * np.arange(-(-count // length))
    for column in columns.T:
        padded = np.append(column, np.full(-count % length, column[-1])).reshape(-1, length)
        known = np.isfinite(padded)
        kept.append(starts + np.argmin(np.where(known, padded, np.inf), axis=1))
        kept.append(starts + np.argmax(np.where(known, padded, -np.inf), axis=1))
        gaps = ~known.all(axis=1)
        kept.append((starts + np.argmin(known, axis=1))[gaps])
    return np.unique(np.minimum(np.concatenate(kept), count - 1))


# ---- ranges and numbers of axes --------------------------------------------------------------------------------------

MARGIN = 0.05  # of the span of the values, above and below
ROUNDING = 1e-12  # of the largest number: a span below is rounding, and the curve a constant
NO_ANGLE, NO_LENGTH = 1e-12, 1e-15  # [rad, deg; m] and their rates: spans below are rounding about zero
NO_LEVER = 1e-12  # [m]: a moment below this times the forces of its channel is rounding
DECADE, LOG_MARGIN = 1.0, 0.2  # [powers of ten] least span of a logarithmic axis, and what it adds to its values
OFFSET = 1e4  # spans that numbers lie away from zero, from which on an axis counts from a number of its own


def least_span(unit: str) -> float:
    """Return the span of values in a unit that is rounding, whatever the size of a mechanism; 0 where none is known."""
    base = unit.partition("/")[0]
    return NO_ANGLE if base in ("rad", "deg") else NO_LENGTH if base == "m" else 0.0


def value_range(curves: Iterable[Array], least: float = 0.0) -> Span:
    """Return the range of an axis that shows these values, with margins; a constant stands in the middle.

    least: span that is rounding.
    """
    low, high = np.inf, -np.inf
    for y in curves:
        known = y[np.isfinite(y)]
        if len(known):
            low, high = min(low, float(known.min())), max(high, float(known.max()))
    if low > high:
        return 0.0, 1.0
    largest = max(abs(low), abs(high))
    if high - low <= max(ROUNDING * largest, least):
        half = 0.5 * largest if largest > least else 1.0
        return low - half, high + half
    margin = MARGIN * (high - low)
    return low - margin, high + margin


def log_range(curves: Iterable[Array]) -> Span:
    """Return the range of a logarithmic axis, in powers of ten, a decade at least."""
    known = np.concatenate([np.zeros(0), *(y[np.isfinite(y) & (y > 0.0)] for y in curves)])
    if not len(known):
        return -1.0, 0.0
    low, high = float(np.log10(known.min())), float(np.log10(known.max()))
    missing = max(DECADE - (high - low), LOG_MARGIN)
    return low - 0.5 * missing, high + 0.5 * missing


def offset_of(low: float, high: float) -> float:
    """Return the number that an axis counts from: 0 unless the range is tiny beside its place."""
    span = high - low
    if not span > 0.0 or max(abs(low), abs(high)) < OFFSET * span:
        return 0.0
    step = 10.0 ** (np.ceil(np.log10(span)) + 1.0)  # a round number, and the same while a window goes on
    return float(np.rint(0.5 * (low + high) / step) * step)


def offset_words(offset: float) -> str:
    """Return the words for the number that an axis counts from, "" for 0."""
    return f"axis counts from {offset:.15g}" if offset else ""


def tick_texts(ticks: Sequence[float], step: float) -> list[str]:
    """Return the numbers at the ticks of an axis, all with as many places as their distance asks for."""
    largest = max((abs(tick) for tick in ticks), default=0.0)
    if largest == 0.0 or 1e-4 <= largest < 1e6:
        places = next((k for k in range(10) if abs(round(step, k) - step) <= 1e-6 * step), 10)
        return [f"{tick + 0.0:.{places}f}" if abs(tick) > 1e-6 * step else "0" for tick in ticks]
    return [exponential(tick, step) for tick in ticks]


def exponential(tick: float, step: float) -> str:
    """Return a very large or small number as "2.5e-7"."""
    if abs(tick) < 1e-6 * step:
        return "0"
    power = int(np.floor(np.log10(abs(tick)) + 1e-9))
    shown = f"{tick / 10.0**power:.{min(max(power - int(np.floor(np.log10(step))) + 1, 1), 9)}f}"
    return f"{shown.rstrip('0').rstrip('.')}e{power}"


# ---- spectra ---------------------------------------------------------------------------------------------------------

LEAST = 8  # samples of which a spectrum says something
EVEN = 1e-6  # of a step, that steps of one length may differ by
SEEN = 0.01  # of the largest amplitude of a panel: a smaller one is about as high as a line is thick
BEYOND = 1.5  # times the last frequency with an amplitude that is seen, that an axis reaches
FEWEST_LINES = 12  # of a spectrum that are shown
TINIEST = 1e-300  # an amplitude of nothing


def spectrum(t: Array, y: Array) -> tuple[Array, Array]:
    """Return frequencies [Hz] and amplitudes of (t, y) (k,) without its mean; empty for fewer than LEAST samples.

    A sine of amplitude a over whole periods shows a at its frequency. The window of Hann keeps neighbours apart; steps
    of several lengths are brought to their mean by lines between samples.
    """
    known = np.isfinite(y)
    t, y = t[known], y[known]
    if len(t) < LEAST:
        return np.zeros(0), np.zeros(0)
    step = float(t[-1] - t[0]) / (len(t) - 1)
    if np.ptp(np.diff(t)) > EVEN * step:
        even = t[0] + step * np.arange(len(t))
        t, y = even, np.interp(even, t, y)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(len(y)) / len(y))
    mean = window @ y / window.sum()  # as the window sees it: the plain one would leave a part in the first line
    amplitudes = 2.0 * np.abs(np.fft.rfft((y - mean) * window)) / window.sum()
    return np.asarray(np.fft.rfftfreq(len(y), step)[1:]), np.asarray(amplitudes[1:])


def frequency_range(spectra: Sequence[tuple[Array, Array]], least: float = 0.0, stretch: float = 1.0) -> Span:
    """Return the frequencies [Hz] that a panel of ``spectra``, pairs (k,) of frequencies and amplitudes, shows.

    They reach BEYOND times the last one whose amplitude is seen beside the largest: what lies farther to the right is
    as flat as the axis. No axis goes beyond the last frequency. ``least``: amplitude that is rounding. ``stretch``: of
    a user who wants to see more, or less.
    """
    spectra = [(f, y) for f, y in spectra if len(f)]
    if not spectra:
        return 0.0, 1.0
    seen = max(SEEN * max(float(np.max(y)) for _, y in spectra), least, TINIEST)
    ends = [BEYOND * float(f[np.flatnonzero(y >= seen)[-1]]) for f, y in spectra if np.max(y) >= seen]
    lines = [float(f[min(FEWEST_LINES, len(f)) - 1]) for f, _ in spectra]
    first, last = (max(float(f[k]) for f, _ in spectra) for k in (0, -1))
    return 0.0, min(max(stretch * max([*ends, *lines]), first), last)


def shown_lines(f: Array, columns: Array, span: Span, most: int = POINTS) -> NDArray[np.int64]:
    """Return the rows of a spectrum ``columns`` (k, c) that a picture needs: those in ``span`` as finely as it can."""
    count = visible(f, span).stop
    rest = count + thinned(columns[count:], most // 4)
    return np.concatenate((thinned(columns[:count], most), rest))


# ---- curves of a record ----------------------------------------------------------------------------------------------


class Abscissa(NamedTuple):
    """Number that curves are drawn over."""

    name: str  # TIME, FREQUENCY, or a component
    unit: str
    values: Array | None  # None for frequencies, which every curve has of its own

    @property
    def label(self) -> str:
        """Label of the axis."""
        return f"{self.name}{bracketed(self.unit)}"


def has_one_scale(panel: Panel, over: Abscissa) -> bool:
    """True for curves of lengths over a length."""
    if over.name in (TIME, FREQUENCY):
        return False
    across, up = ([getattr(curve, name) for curve in panel.curves] for name in ("over", "y"))
    return same_scale(over.unit, panel.unit, spread(across), spread(up))


def spread(columns: Sequence[Array]) -> float:
    """Return the span of finite numbers."""
    values = np.concatenate([column[np.isfinite(column)] for column in columns])
    return float(np.ptp(values)) if len(values) else 0.0


def abscissa(record: Record, name: str | None, degrees: bool = False) -> Abscissa:
    """Return the number that is drawn over: time unless named, FREQUENCY, or one component of a channel.

    Raises UnknownNameError for a channel that does not exist, and InputError for one of several components.
    """
    if name in (None, TIME):
        return Abscissa(TIME, "s", record.t)
    if name == FREQUENCY:
        return Abscissa(FREQUENCY, "Hz", None)
    parts = components(channel_or_component(record, str(name)), degrees)
    if len(parts) > 1:
        raise InputError(f"x is {name!r}, which has several numbers; name one: {', '.join(one[0] for one in parts)}")
    return Abscissa(*parts[0])


def curves_of(
    record: Record,
    names: Sequence[str],
    *,
    x: str | None = None,
    degrees: bool = False,
    window: Window = None,
    run: int = 0,
    run_name: str = "",
) -> list[Curve]:
    """Return the curves of channels or components over the number ``x``, in a window of time.

    Raises UnknownNameError for a channel that does not exist, and InputError for an ``x`` of several numbers.
    """
    over, t = abscissa(record, x, degrees), record.t
    part = slice(None)
    if window is not None and len(t):
        part = visible(t, span_of(window, float(t[0]), float(t[-1]), float(t[-1])))
    found = []
    for name in names:
        for label, unit, values in components(channel_or_component(record, name), degrees):
            own = None if over.name == TIME or over.values is None else over.values[part]
            curve = Curve(label, unit, t[part], values[part], own, run, run_name)
            found.append(spectral(curve) if over.name == FREQUENCY else curve)
    return found


def components(channel: Channel, degrees: bool) -> list[tuple[str, str, Array]]:
    """Return name, unit and values of the components of a channel, angles in degrees where wanted."""
    return [
        (name, DEGREES[unit], np.rad2deg(values)) if degrees and unit in DEGREES else (name, unit, values)
        for name, unit, values in channel.components
    ]


def spectral(curve: Curve) -> Curve:
    """Return the spectrum of a curve over time."""
    f, amplitudes = spectrum(curve.t, curve.y)
    return curve._replace(x=f, t=np.zeros(len(f)), y=amplitudes)


# ---- words -----------------------------------------------------------------------------------------------------------


def one_of(name: str, value: str, known: Iterable[str]) -> str:
    """Return a word of a choice; UnknownNameError lists them."""
    if value not in (words := list(known)):
        raise unknown_name(name, value, words)
    return value


def wrapped(widths: Sequence[float], room: float, gap: float) -> list[int]:
    """Return the line that every word of a legend stands in, of words of these widths."""
    lines, line, taken = [], 0, 0.0
    for width in widths:
        if taken and taken + gap + width > room:
            line, taken = line + 1, 0.0
        taken += width + (gap if taken else 0.0)
        lines.append(line)
    return lines

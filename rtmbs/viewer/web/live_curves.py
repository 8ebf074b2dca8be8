"""Curves of a live page: rows of the strip of a session in the window of time of one browser, or their spectra."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.curves import Curve, Span, Window, span_of, visible
from rtmbs.viewer.scene.frame import FIRST, Frame, Strip, T
from rtmbs.viewer.session.plotted import Plotted
from rtmbs.viewer.web.plots import OtherRun, channel_content, in_runs, panel_content, spectra, tables
from rtmbs.viewer.web.requests import RequestReader

Array = NDArray[np.float64]

SAMPLES = 1600  # rows of the curves that are sent, about; a plot is rarely wider in pixels


class View(NamedTuple):
    """What the plots of one browser show."""

    window: Window = None
    spectrum: bool = False


def curves_state(strip: Strip | None, reader: RequestReader, frame: Frame, view: View) -> tuple[Any, ...] | None:
    """Return a value that changes with the curves of a view; None while there are none."""
    if strip is None or not reader.plotted.names or strip.ticket != reader.ticket:
        return None
    return strip.stamp, reader.ticket, view, frame.t if isinstance(view.window, float) else 0.0


def curves_of_view(
    strip: Strip | None, plotted: Plotted, frame: Frame, view: View, other: OtherRun | None
) -> tuple[dict[str, Any], Array] | None:
    """Return what a message says of the curves, and their numbers; None where there are none.

    Numbers: of each run the times before its last one, and values relative to a number of each channel, since a message
    has single precision; then frequencies and amplitudes of every number, where spectra are wanted.
    """
    rows = None if strip is None else strip.read(range(FIRST + len(plotted.columns)))
    if strip is None or rows is None or not len(rows):
        return None
    ends = float(rows[0, T]), float(rows[-1, T])
    span = span_of(view.window, *ends, frame.t) if view.spectrum else reach(view.window, frame.t, *ends)
    curves = {name: curves_in(plotted, name, rows, strip.start_energy, span, other) for name in plotted.names}
    ordered = in_runs(curves)
    made = tables(ordered, SAMPLES)
    values = [column for table in made for column in table[:, 1:].T]
    bases = [float(column[known][0]) if (known := np.isfinite(column)).any() else 0.0 for column in values]
    last = [float(table[-1, 0]) if len(table) else 0.0 for table in made]
    found = spectra(ordered) if view.spectrum else []
    head = {
        "channels": [channel_content(plotted, curve) for curve in ordered],
        "names": [curve.label for curve in ordered],
        "rows": [len(table) for table in made],
        "last": last,
        "ends": ends,
        "bases": bases,
        "spectra": [len(f) for f, _ in found],
        "panels": panel_content(plotted, curves),
    }
    return head, np.concatenate([*relative(made, last, bases), *(part for pair in found for part in pair)])


def curves_in(
    plotted: Plotted, name: str, rows: Array, zero: float, span: Span, other: OtherRun | None
) -> Sequence[Curve]:
    """Return the curves of a name in a span of time, with those of the other run."""
    own = plotted.curves(name, rows[visible(rows[:, T], span)], zero)
    if other is None:
        return own
    return own + plotted.other(name, other.result, other.name, visible(other.result.t, span))


def relative(made: Sequence[Array], last: Sequence[float], bases: Sequence[float]) -> list[Array]:
    """Return the columns of all tables one after another, relative to the last times and to the bases."""
    found, number = [np.zeros(0)], 0
    for table, end in zip(made, last, strict=True):
        found.append(table[:, 0] - end)
        for column in table[:, 1:].T:
            found.append(column - bases[number])
            number += 1
    return found


def reach(window: Window, now: float, first: float, last: float) -> Span:
    """Return the times that a window may show: one of the last seconds stays while the present time is in it."""
    if window is None:
        return first, last
    if isinstance(window, tuple):
        return window
    return min(now, last) - window, max(now, first) + window

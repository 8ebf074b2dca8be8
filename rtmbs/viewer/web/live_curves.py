"""Curves of a live page: rows of the strip of a session in the window of time of one browser."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.curves import Span, Window, thinned, visible
from rtmbs.viewer.scene.frame import FIRST, Frame, Strip, T
from rtmbs.viewer.web.plots import panel_content, units
from rtmbs.viewer.web.requests import RequestReader

Array = NDArray[np.float64]

SAMPLES = 1600  # rows of the curves that are sent, about; a plot is rarely wider in pixels


def curves_state(strip: Strip | None, reader: RequestReader, frame: Frame, window: Window) -> tuple[Any, ...] | None:
    """Return a value that changes with the curves of a window; None while there are none."""
    if strip is None or not reader.plotted or strip.ticket != reader.ticket:
        return None
    return strip.stamp, reader.ticket, window, frame.t if isinstance(window, float) else 0.0


def curves_of_window(
    strip: Strip | None, reader: RequestReader, frame: Frame, window: Window
) -> tuple[dict[str, Any], Array] | None:
    """Return what a message says of the curves, and their rows (k, 1 + columns); None where there are none.

    Times are those before the last one, and values are relative to a number of each channel: a message has single
    precision.
    """
    names = reader.plotted
    rows = None if strip is None else strip.read([T, *range(FIRST, FIRST + len(names))])
    if rows is None or not len(rows):
        return None
    ends = float(rows[0, 0]), float(rows[-1, 0])
    rows = rows[visible(rows[:, 0], reach(window, frame.t, *ends))]
    table = rows[thinned(rows[:, 1:], SAMPLES)]
    bases = [float(column[known][0]) if (known := np.isfinite(column)).any() else 0.0 for column in table[:, 1:].T]
    last = float(table[-1, 0]) if len(table) else 0.0
    head = {
        "names": list(names),
        "rows": len(table),
        "last": last,
        "ends": ends,
        "bases": bases,
        "panels": panel_content(names, units(reader.description)),
    }
    return head, table - np.r_[last, bases]


def reach(window: Window, now: float, first: float, last: float) -> Span:
    """Return the times that a window may show: one of the last seconds stays while the present time is in it."""
    if window is None:
        return first, last
    if isinstance(window, tuple):
        return window
    return min(now, last) - window, max(now, first) + window

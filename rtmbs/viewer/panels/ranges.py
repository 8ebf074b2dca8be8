"""What the axes of a plot span, and which samples they show."""

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray

from rtmbs.viewer.panels.export import Curve

Array = NDArray[np.float64]

ROUNDING = 1e-10  # of the largest number
BESIDE = 0.01  # of what samples span: a cursor so far beside them has their values


def widen(plot: pg.PlotItem, curves: list[Curve]) -> None:
    """Let no axis show a span that is rounding alone: Qt ends the process at a path of such numbers."""
    x, y = ([curve.x for curve in curves], [curve.y for curve in curves])
    plot.getViewBox().setLimits(minXRange=ROUNDING * largest(x) or None, minYRange=ROUNDING * largest(y) or None)


def largest(samples: list[Array]) -> float:
    """Return the largest size of a number in some curves, 0 for none."""
    return max((float(np.max(np.abs(one[np.isfinite(one)]), initial=0.0)) for one in samples), default=0.0)


def within(x: float, samples: Array) -> bool:
    """True for a place among samples, or a hair beside them."""
    known = samples[np.isfinite(samples)]
    if not len(known):
        return False
    low, high = float(known.min()), float(known.max())
    return low - BESIDE * (high - low) <= x <= high + BESIDE * (high - low)


def seen(t: Array, plot: pg.PlotItem) -> slice:
    """Return the samples that a plot shows, and one more on each side; all while it follows its data."""
    if plot.getViewBox().autoRangeEnabled()[0]:
        return slice(None)
    low, high = plot.viewRange()[0]
    return slice(max(int(np.searchsorted(t, low)) - 1, 0), int(np.searchsorted(t, high)) + 2)

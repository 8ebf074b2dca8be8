"""Profiler (F3): step times, Newton iterations, phases of the kernel."""

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from rtmbs.integrators.settings import PHASES
from rtmbs.viewer.qt.widgets import axis_style, missed_deadlines, styled
from rtmbs.viewer.scene.frame import STEPS, Frame
from rtmbs.viewer.scene.theme import Theme
from rtmbs.viewer.text import with_unit

Array = NDArray[np.float64]

BINS = 48
SLOWEST_BIN = 3.0  # range of the histogram in 99th percentiles, at most
KEPT = 0.8  # share of the old mean in that of the phases: steady enough to read, quick enough to see a switch


class Profiler(pg.GraphicsLayoutWidget):
    """Histogram, strip and bars; shows a frame a few times a second."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._phases: Array | None = None  # [us]
        self._steps_taken = 0
        self.times, self.strip, self.bars = (self.addPlot(row=0, col=k, enableMenu=False) for k in range(3))
        for column, share in enumerate((4, 3, 3)):
            self.ci.layout.setColumnStretchFactor(column, share)
        self._histogram = pg.BarGraphItem(x0=[], x1=[], height=[])
        self.times.addItem(self._histogram)
        self._marks = {name: pg.InfiniteLine(angle=90) for name in ("p50", "p99", "deadline")}
        for mark in self._marks.values():
            self.times.addItem(mark)
        self._newton = pg.PlotDataItem(stepMode="center", fillLevel=0.0)
        self.strip.addItem(self._newton)
        self._phase_bars = pg.BarGraphItem(x0=[], width=[], y=[], height=0.6)
        self.bars.addItem(self._phase_bars)
        self._amounts = [pg.TextItem(anchor=(0.0, 0.5)) for _ in PHASES]
        for amount in self._amounts:
            self.bars.addItem(amount)
        self._arrange()
        self.set_theme(theme)

    def _arrange(self) -> None:
        for plot in (self.times, self.strip, self.bars):
            plot.hideButtons()
            plot.setMouseEnabled(x=False, y=False)
        self.times.setLabel("bottom", "wall time of a step", units="s")
        self.times.setLabel("left", "steps")
        self.strip.setLabel("bottom", f"last {STEPS} steps")
        self.strip.setLabel("left", "Newton iterations")
        self.strip.setXRange(-STEPS, 0, padding=0.0)
        self.bars.setLabel("bottom", "mean time in a step", units="s")
        self.bars.getAxis("left").setTicks([list(enumerate(reversed(PHASES)))])
        self.bars.setYRange(-0.6, len(PHASES) - 0.4, padding=0.0)

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.setBackground(theme.panel)
        for plot in (self.times, self.strip, self.bars):
            axis_style(plot, theme)
        self._histogram.setOpts(brush=theme.plots[0], pen=pg.mkPen(theme.panel, width=0.5))
        for (name, mark), color in zip(self._marks.items(), (theme.good, theme.warning, theme.bad), strict=True):
            mark.setPen(
                pg.mkPen(color, width=1.6, style=Qt.PenStyle.DashLine if name == "deadline" else Qt.PenStyle.SolidLine)
            )
        self._newton.setPen(pg.mkPen(theme.plots[3], width=1.0))
        self._newton.setBrush(pg.mkBrush(theme.plots[3] + "70"))
        self._phase_bars.setOpts(brush=theme.plots[2], pen=pg.mkPen(None))
        for amount in self._amounts:
            amount.setColor(theme.text)

    def show_frame(self, frame: Frame) -> None:
        """Draw the statistics of ``frame``."""
        self._show_times(frame)
        self._show_iterations(frame)
        self._show_phases(frame)

    def _show_times(self, frame: Frame) -> None:
        known = frame.step_times[np.isfinite(frame.step_times)]
        marks = [f"{name} {with_unit(getattr(frame, name), 's')}" for name in self._marks]
        late = f"missed {missed_deadlines(frame)}" if frame.deadlines else missed_deadlines(frame)
        title = " &nbsp; ".join([*marks, late])
        self.times.setTitle(styled(title, self._theme))
        if not len(known):
            return
        last = 1.15 * max(min(float(known.max()), SLOWEST_BIN * frame.p99), frame.p99)
        counts, edges = np.histogram(np.minimum(known, 0.999 * last), bins=BINS, range=(0.0, last))
        self._histogram.setOpts(x0=edges[:-1], x1=edges[1:], height=counts)
        for name, mark in self._marks.items():
            mark.setValue(getattr(frame, name))
        self.times.setXRange(0.0, max(last, min(1.05 * frame.deadline, 4.0 * last)), padding=0.0)
        self.times.setYRange(0.0, 1.1 * max(int(counts.max()), 1), padding=0.0)

    def _show_iterations(self, frame: Frame) -> None:
        values = np.nan_to_num(frame.iterations)
        self._newton.setData(np.arange(-len(values), 1), values)
        self.strip.setYRange(0.0, max(float(values.max()), 3.0) + 0.5, padding=0.0)
        known = frame.iterations[np.isfinite(frame.iterations)]
        self.strip.setTitle(
            styled(f"mean {known.mean():.2f}   most {known.max():.0f}" if len(known) else "", self._theme)
        )

    def _show_phases(self, frame: Frame) -> None:
        new = frame.steps_taken != self._steps_taken
        self._steps_taken = frame.steps_taken
        if self._phases is None or not np.any(self._phases):
            self._phases = frame.phases.copy()
        elif new:
            self._phases = KEPT * self._phases + (1.0 - KEPT) * frame.phases
        places = np.arange(len(PHASES))[::-1]
        self._phase_bars.setOpts(x0=np.zeros(len(PHASES)), width=self._phases, y=places)
        longest = max(float(self._phases.max()), 1e-9)
        self.bars.setXRange(0.0, 1.35 * longest, padding=0.0)
        for amount, place, value in zip(self._amounts, places, self._phases, strict=True):
            amount.setText(with_unit(float(value), "s"))
            amount.setPos(float(value) + 0.02 * longest, float(place))
        self.bars.setTitle(styled(phases_title(float(self._phases.sum()), frame.p50), self._theme))


def phases_title(together: float, step: float) -> str:
    """Return the time of all phases together, and the rest of the median step time [s]."""
    if not step > together > 0.0:
        return f"phases together {with_unit(together, 's')}"
    rest = f"{with_unit(step - together, 's')} Python around them"
    return f"phases together {with_unit(together, 's')}, {rest}"

"""Plots (F4): energy balance, loop violation, chosen channels; profiler (F3): step times, Newton iterations, phases."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from rtmbs.integrators.settings import PHASES
from rtmbs.results.channel import units_of
from rtmbs.viewer.qt.capture import Curve, write_plot
from rtmbs.viewer.qt.model_panel import children, tops
from rtmbs.viewer.qt.widgets import axis_style, escaped, missed_deadlines, styled
from rtmbs.viewer.scene.description import ChannelDescription, SceneDescription, components
from rtmbs.viewer.scene.elements import Distance
from rtmbs.viewer.scene.frame import ACCELERATION, ELASTIC, FIRST, KINETIC, PLOTS, POSITION, STEPS, Frame, Strip, T
from rtmbs.viewer.scene.theme import Theme
from rtmbs.viewer.session.channels import (
    ENERGY,
    ENERGY_CURVES,
    LEAST_VIOLATION,
    VIOLATION,
    VIOLATION_CURVES,
    ComparedResult,
    bracketed,
    built_in_plots,
    envelope,
    labels,
    length,
    spectrum,
)
from rtmbs.viewer.text import with_unit

Array = NDArray[np.float64]

LEAST_HEIGHT = 130  # [pixels] of a plot; more plots than there is room for are scrolled
COLUMNS = 2  # of plots, from the third on


class Plots(QSplitter):
    """A tree of channels, and one plot for each that is ticked; ``wanted`` asks for their numbers."""

    wanted = Signal(tuple, int)  # names, ticket

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.filter, self.tree, self.area = QLineEdit(), QTreeWidget(), pg.GraphicsLayoutWidget()
        self.filter.setPlaceholderText("find a channel")
        self.filter.setClearButtonEnabled(True)
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        side, column = QWidget(), QVBoxLayout()
        column.setContentsMargins(4, 4, 4, 4)
        column.addWidget(self.filter)
        column.addWidget(self.tree)
        side.setLayout(column)
        self.addWidget(side)
        self.bar, drawn = PlotBar(), QWidget()
        stack = QVBoxLayout(drawn)
        stack.setContentsMargins(0, 0, 0, 0)
        stack.setSpacing(0)
        stack.addWidget(self.bar)
        self.scrolled = QScrollArea(widgetResizable=True)
        self.scrolled.setFrameShape(QFrame.Shape.NoFrame)
        self.scrolled.setWidget(self.area)
        stack.addWidget(self.scrolled, 1)
        self.addWidget(drawn)
        self.setSizes([230, 900])
        self._plots: dict[str, pg.PlotItem] = {}
        self._curves: dict[str, list[pg.PlotDataItem]] = {}
        self._nows: list[pg.InfiniteLine] = []  # where the session stands
        self._columns: tuple[str, ...] = ()  # subscribed components, in the order of the columns
        self._channels: dict[str, ChannelDescription] = {}
        self._distances: dict[str, Distance] = {}  # that are measured, by name
        self._description: SceneDescription | None = None
        self.ticket = 0  # of the subscription whose rows are drawn
        self._zero = 0.0  # energy of the first step of the run [J]
        self._drawn: tuple[object, ...] = ()
        self.seen: dict[str, list[Curve]] = {}  # by plot, every sample that it shows
        self._other: ComparedResult | None = None  # that is compared
        self._others: dict[str, list[pg.PlotDataItem]] = {}
        self._cursors: list[pg.InfiniteLine] = []
        self.bar.changed.connect(self._lay_out)
        self.area.scene().sigMouseMoved.connect(self._point)
        self.filter.textChanged.connect(self._filter)
        self.tree.itemChanged.connect(self._ticked)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme = theme
        self.area.setBackground(theme.panel)
        self._lay_out()

    # ---- choosing ---------------------------------------------------------------------------------------------------

    def measure(self, measured: list[Distance]) -> None:
        """Add distances to the list of channels."""
        self.set_distances(measured)
        if self._description is not None:
            self.describe(self._description)

    def set_distances(self, measured: list[Distance]) -> None:
        """Set the measured distances that the next mechanism offers as channels."""
        self._distances = {one.name: one for one in measured}

    def describe(self, description: SceneDescription) -> None:
        """List the channels of a mechanism; ticks of existing channels are kept."""
        known = {channel.name for channel in description.channels} | self._distances.keys()
        kept, self._description = [name for name in self.chosen() if name in known], description
        built_in = [name for name in (ENERGY, VIOLATION) if name in self.chosen() or not self._channels]
        self._channels = {channel.name: channel for channel in description.channels}
        self._channels |= {name: ChannelDescription(name, (), "m") for name in self._distances}
        self.tree.blockSignals(True)
        self.tree.clear()
        for name in built_in_plots(description):
            self._leaf(self.tree.invisibleRootItem(), name, name, name in built_in)
        parents: dict[str, QTreeWidgetItem] = {}
        for name in (*self._distances, *(name for name in self._channels if name not in self._distances)):
            owner, _, word = ("", "", name) if name in self._distances else name.rpartition(".")
            if owner and owner not in parents:
                parents[owner] = QTreeWidgetItem(self.tree, [owner])
            above = parents[owner] if owner else self.tree.invisibleRootItem()
            self._leaf(above, word or name, name, name in kept)
        self.tree.blockSignals(False)
        self._filter(self.filter.text())
        self._lay_out(anew=True)

    def _leaf(self, parent: QTreeWidgetItem, text: str, name: str, ticked: bool) -> None:
        item = QTreeWidgetItem(parent, [text])
        item.setData(0, Qt.ItemDataRole.UserRole, name)
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(0, Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)

    def _leaves(self) -> list[QTreeWidgetItem]:
        """Return all items of channels."""
        return [leaf for top in tops(self.tree) for leaf in children(top) or [top]]

    def chosen(self) -> list[str]:
        """Return the names that are ticked, in the order of the tree."""
        checked = [item for item in self._leaves() if item.checkState(0) == Qt.CheckState.Checked]
        return [item.data(0, Qt.ItemDataRole.UserRole) for item in checked]

    def choose(self, name: str, ticked: bool = True) -> None:
        """Tick a channel, or take its tick away."""
        for item in self._leaves():
            if item.data(0, Qt.ItemDataRole.UserRole) == name:
                item.setCheckState(0, Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)

    def _ticked(self, item: QTreeWidgetItem) -> None:
        """A tick changed; one too many is taken back."""
        if item.data(0, Qt.ItemDataRole.UserRole) is None:
            return
        if len(self._components(self.chosen())) > PLOTS and item.checkState(0) == Qt.CheckState.Checked:
            item.setCheckState(0, Qt.CheckState.Unchecked)
            return
        self._lay_out()

    def _filter(self, text: str) -> None:
        """Show the channels whose names hold every word of ``text``."""
        words = text.lower().split()
        for top in tops(self.tree):
            leaves = children(top)
            for item in leaves:
                item.setHidden(not all(word in str(item.data(0, Qt.ItemDataRole.UserRole)).lower() for word in words))
            own = not leaves and all(word in top.text(0).lower() for word in words)
            top.setHidden(not own and all(item.isHidden() for item in leaves))
            top.setExpanded(bool(words) and len(words[0]) > 2)

    def _components(self, names: list[str]) -> tuple[str, ...]:
        """Return the columns that ``names`` need: "name" or "name[axis]"."""
        return tuple(dict.fromkeys(part for name in names if name in self._channels for part in self._parts(name)))

    def _parts(self, name: str) -> tuple[str, ...]:
        """Return the columns of one channel, or of both ends of a distance."""
        if (distance := self._distances.get(name)) is None:
            return components(self._channels[name])
        return tuple(part for end in (distance.start, distance.end) if end is not None for part in components(end))

    # ---- drawing ----------------------------------------------------------------------------------------------------

    def _lay_out(self, anew: bool = False) -> None:
        """Make one plot for each chosen name, and request the numbers; ``anew`` requests them from a new session."""
        self._drawn = ()
        self.area.clear()
        self._plots, self._curves, self._nows, self._others, self._cursors, self.seen = {}, {}, [], {}, [], {}
        names = self.chosen()
        asked = self._components(names)
        self.bar.offer(asked)
        self.bar.show_values("")  # those at a cursor that is gone
        columns = COLUMNS if len(names) > 2 else max(len(names), 1)
        self.area.setMinimumHeight(LEAST_HEIGHT * -(-len(names) // columns))
        for number, name in enumerate(names):
            self._add_plot(name, number // columns, number % columns)
        if asked != self._columns or anew:
            self._columns, self.ticket = asked, self.ticket + 1
            self.wanted.emit(asked, self.ticket)

    def _add_plot(self, name: str, row: int, column: int) -> None:
        plot = self.area.addPlot(row=row, col=column)
        axis_style(plot, self._theme)
        plot.setLogMode(y=name == VIOLATION)
        plot.setLabel("bottom", self._x_label())
        names = {ENERGY: ENERGY_CURVES, VIOLATION: VIOLATION_CURVES}.get(name) or self._channels[name].axes
        colors = [self._theme.plots[k % len(self._theme.plots)] for k in range(max(len(names), 1))]
        self._curves[name] = [plot.plot([], [], pen=pg.mkPen(color, width=1.4)) for color in colors]
        # The legend is the title: over the curves it would hide some of them.
        legend = [
            f'<span style="color: {color}"><b>{escaped(label)}</b></span>'
            for color, label in zip(colors, names, strict=False)
        ]
        plot.setTitle(styled(" &nbsp; ".join([escaped(f"{name}{self._unit(name)}"), *legend]), self._theme))
        dashed = [pg.mkPen(color, width=1.2, style=Qt.PenStyle.DashLine) for color in colors]
        self._others[name] = [plot.plot([], [], pen=pen) for pen in dashed]
        now, cursor = (pg.InfiniteLine(angle=90, pen=pg.mkPen(self._theme.muted, width=width)) for width in (1.0, 0.6))
        now.setVisible(self.bar.over == TIME)
        cursor.hide()
        for line, lines in ((now, self._nows), (cursor, self._cursors)):
            plot.addItem(line, ignoreBounds=True)
            lines.append(line)
        self._plots[name] = plot

    def _x_label(self) -> str:
        """Return the quantity of the horizontal axis, with its unit."""
        if self.bar.over in (TIME, FREQUENCY):
            return "t [s]" if self.bar.over == TIME else "frequency [Hz]"
        over = self.bar.over
        return next((label for label in self._component_labels() if label.split(" [")[0] == over), over)

    def _component_labels(self) -> Iterator[str]:
        """Yield every component of the channels that are drawn or measured with its own unit."""
        ends = [end for distance in self._distances.values() for end in (distance.start, distance.end) if end]
        for channel in (*self._channels.values(), *ends):
            yield from labels(channel)

    def _unit(self, name: str) -> str:
        """Return the units of a plot, each once."""
        if name in (ENERGY, VIOLATION):
            return " [J]" if name == ENERGY else ""
        channel = self._channels[name]
        return bracketed(", ".join(dict.fromkeys(units_of(channel.axes, channel.unit))))

    def redraw(self, strip: Strip | None, now: float) -> None:
        """Draw every step of ``strip``, and a line at the present time [s]; a few times a second."""
        if strip is None or strip.ticket != self.ticket:
            return  # the steps with the channels that were asked for are on their way
        for line in self._nows:
            line.setValue(now)
        ranges = tuple(tuple(plot.viewRange()[0]) for plot in self._plots.values())
        if (drawn := (strip.stamp, ranges)) == self._drawn:
            return
        rows = strip.read(range(FIRST + len(self._columns)))
        if rows is None or not len(rows):
            return
        self._drawn, self._zero = drawn, strip.start_energy
        for name, curves in self._curves.items():
            values, labels = self._values(name, rows), self._labels(name)
            self.seen[name] = [
                self._over(Curve("t [s]", labels[k], rows[:, T], values[:, k]), name, rows) for k in range(len(curves))
            ]
            for curve, shown in zip(curves, self.seen[name], strict=True):
                curve.setData(*(envelope(shown.x, shown.y) if self.bar.over in (TIME, FREQUENCY) else shown[2:]))
            self._draw_other(name, labels)
            bound_ranges(self._plots[name], self.seen[name])

    def _over(self, curve: Curve, name: str, rows: Array) -> Curve:
        """Return a curve over time as it is to be drawn: over time, frequency or another component."""
        if self.bar.over == FREQUENCY:
            return Curve("frequency [Hz]", curve.y_label, *spectrum(curve.x, curve.y))
        if self.bar.over in self._columns:
            return curve._replace(x_label=self._x_label(), x=rows[:, FIRST + self._columns.index(self.bar.over)])
        part = seen(curve.x, self._plots[name])
        return curve._replace(x=curve.x[part], y=curve.y[part])

    def _labels(self, name: str) -> list[str]:
        """Return the names of the curves of a plot with their unit."""
        if name == ENERGY:
            return [f"{word} [J]" for word in ENERGY_CURVES]
        return list(VIOLATION_CURVES) if name == VIOLATION else labels(self._channels[name])

    # ---- another run, values, files ---------------------------------------------------------------------------------

    def compare(self, path: str) -> str:
        """Draw the channels of a recorded result beside those of the session, dashed; "" leaves it off.

        Returns a sentence with the plots that the result has nothing for. Raises ResultError or InputError for a file
        that cannot be read.
        """
        if path:
            from rtmbs.results.result import load_result

            self._other = ComparedResult(load_result(Path(path)))
        else:
            self._other = None
        self.bar.show_compared(Path(path).name)
        self._lay_out()
        lacking = [name for name in self._plots if self._other is not None and self._other_values(name) is None]
        if not path:
            return "nothing is compared"
        return f"compared with {path}" + (f"; it has nothing for {', '.join(lacking)}" if lacking else "")

    def _other_values(self, name: str) -> Array | None:
        """Return the values (S, curves) of a plot in the other run, None where it has none."""
        other = self._other
        return None if other is None else other.plot(name, self._channels.get(name), self._distances.get(name))

    def _draw_other(self, name: str, labels: list[str]) -> None:
        """Draw a plot of the other run, over the horizontal axis of the session's."""
        values, other = self._other_values(name), self._other
        if values is None or other is None:
            return
        x = None if self.bar.over in (TIME, FREQUENCY) else other.component(self.bar.over)
        for k, curve in enumerate(self._others[name]):
            shown = Curve("t of the other [s]", f"{labels[k]}, other", other.t, values[:, k])
            if x is not None:
                shown = shown._replace(x_label=f"{self._x_label()}, other", x=x)
            elif self.bar.over in (TIME, FREQUENCY):
                shown = self._over(shown, name, np.zeros((0, 0)))
            else:
                return  # it has no such channel to be drawn over
            self.seen[name].append(shown)
            curve.setData(*(envelope(shown.x, shown.y) if x is None else shown[2:]))

    def _point(self, place: QPointF) -> None:
        """Put the cursor under the mouse, and show the values of the curves there."""
        for name, plot in self._plots.items():
            if plot.sceneBoundingRect().contains(place) and self.seen.get(name):
                x = float(plot.getViewBox().mapSceneToView(place).x())
                for cursor in self._cursors:
                    cursor.setValue(x)
                    cursor.show()
                self.bar.show_values(self.values_at(name, x))

    def values_at(self, name: str, x: float) -> str:
        """Return the values of the curves of a plot at the sample that is nearest to ``x``."""
        said: list[str] = []
        over = ""
        for curve in self.seen[name]:
            if len(curve.x) and within(x, curve.x):
                k = int(np.argmin(np.nan_to_num(np.abs(curve.x - x), nan=np.inf)))
                place, over = f"{curve.x_label} {curve.x[k]:.6g}", over
                said += [place] * (place != over) + [f"{curve.y_label} {curve.y[k]:.6g}"]
                over = place
        return "   ".join(said)

    def export(self, path: str) -> str:
        """Write the visible plots: samples as numbers (.csv), a picture (.png) or a drawing (.svg). Return a sentence.

        Raises InputError for a file that cannot be written.
        """
        write_plot(path, self.area, [curve for name in self._plots for curve in self._named(name)])
        return f"exported: {path}"

    def _named(self, name: str) -> list[Curve]:
        """Return the curves of a plot with complete names, for use without the title of the plot."""
        title = f"{name.lower()}, " if name in (ENERGY, VIOLATION) else ""
        return [curve._replace(y_label=title + curve.y_label) for curve in self.seen.get(name, [])]

    def _values(self, name: str, rows: Array) -> Array:
        """Return the columns (k, curves) of a plot."""
        if name == VIOLATION:
            return np.maximum(rows[:, POSITION : ACCELERATION + 1], LEAST_VIOLATION)
        if name == ENERGY:
            parts = rows[:, KINETIC : ELASTIC + 1]
            return np.column_stack((parts, parts.sum(axis=1) - self._zero))
        if (distance := self._distances.get(name)) is not None:
            return length(self._columns_of(rows, distance.start), self._columns_of(rows, distance.end))
        return self._columns_of(rows, self._channels[name])

    def _columns_of(self, rows: Array, channel: ChannelDescription | None) -> Array:
        """Return the columns (k, components) of a channel; zeros (k, 3) for none, the place of ground."""
        if channel is None:
            return np.zeros((len(rows), 3))
        return rows[:, [FIRST + self._columns.index(part) for part in components(channel)]]


# ---- the bar over the plots ------------------------------------------------------------------------------------------

TIME, FREQUENCY = "time", "frequency"
RESULTS = "Results (*.npz *.h5 *.hdf5)"
EXPORTS = "Numbers (*.csv);;Picture (*.png);;Drawing (*.svg)"


class ElidedLabel(QLabel):
    """A line of text that ends in a mark where it has too little room; its tip has the whole."""

    def say(self, text: str) -> None:
        """Show a text."""
        self.setToolTip(text)
        self._cut()

    def _cut(self) -> None:
        fitting = self.fontMetrics().elidedText(self.toolTip(), Qt.TextElideMode.ElideRight, self.width())
        self.setText(fitting)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._cut()
        super().resizeEvent(event)


class PlotBar(QWidget):
    """Tool bar of the plots: emits requests; paths come from dialogs."""

    changed = Signal()  # another choice of ``over``
    compared = Signal(str)  # path of a result, "" to leave off
    exported = Signal(str)  # path

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choice, self.values = QComboBox(), ElidedLabel()
        self.compare, self.export = QPushButton("Compare ..."), QPushButton("Export ...")
        self.choice.setToolTip("what the plots are drawn over: time, frequency, or another channel that is ticked")
        self.compare.setToolTip("draw the same channels of a recorded result beside these, dashed")
        self.export.setToolTip("write what is seen: numbers (.csv), a picture (.png) or a drawing (.svg)")
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        # The values take what room there is: a long text would push the tree of channels away.
        self.values.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 2, 4, 2)
        for widget, stretch in ((QLabel("over"), 0), (self.choice, 0), (self.values, 1)):
            row.addWidget(widget, stretch)
        for button in (self.compare, self.export):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
            row.addWidget(button)
        self.choice.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.offer(())
        self.choice.currentTextChanged.connect(lambda _: self.changed.emit())
        self.compare.clicked.connect(self._ask_for_result)
        self.export.clicked.connect(self._ask_for_path)

    @property
    def over(self) -> str:
        """Abscissa of the plots: TIME, FREQUENCY or a component of a channel."""
        return self.choice.currentText() or TIME

    def offer(self, components: Sequence[str]) -> None:
        """Offer these components; a choice that is no longer among them becomes TIME."""
        old = self.over
        offered = [TIME, FREQUENCY, *components]
        with QSignalBlocker(self.choice):
            self.choice.clear()
            self.choice.addItems(offered)
            self.choice.setCurrentText(old if old in offered else TIME)

    def show_values(self, text: str) -> None:
        """Show the values at the cursor; where there is too little room, the tip has them all."""
        self.values.say(text)

    def show_compared(self, name: str) -> None:
        """Show the name of the compared run on the button."""
        self.compare.setText(f"Leave off {name}" if name else "Compare ...")

    def _ask_for_result(self) -> None:
        if self.compare.text() != "Compare ...":
            self.compared.emit("")
        elif path := QFileDialog.getOpenFileName(self, "Compare with a recorded result", "", RESULTS)[0]:
            self.compared.emit(path)

    def _ask_for_path(self) -> None:
        path, kind = QFileDialog.getSaveFileName(self, "Export what is seen", "plot.csv", EXPORTS)
        if path:
            self.exported.emit(with_ending(path, kind))


def with_ending(path: str, kind: str) -> str:
    """Return a path with the ending of the ``kind`` that a dialog has chosen, "Picture (*.png)", where it has none."""
    ending = kind.partition("*")[2].rstrip(")")
    return path if Path(path).suffix else f"{path}{ending}"


# ---- ranges of axes --------------------------------------------------------------------------------------------------

ROUNDING = 1e-10  # of the largest number
BESIDE = 0.01  # of what samples span: a cursor so far beside them has their values


def bound_ranges(plot: pg.PlotItem, curves: list[Curve]) -> None:
    """Bound the ranges of the axes above rounding: Qt ends the process at a path of such numbers."""
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


# ---- profiler --------------------------------------------------------------------------------------------------------

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

"""Plots (F4): energy balance, loop violation and chosen channels over time, frequency or another channel."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt, Signal
from PySide6.QtGui import QCursor, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QLineEdit,
    QScrollArea,
    QSplitter,
    QToolTip,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from rtmbs.errors import InputError
from rtmbs.results import channel
from rtmbs.results.curves import (
    FREQUENCY,
    LIVE_WINDOW,
    WINDOWS,
    Abscissa,
    Curve,
    Panel,
    Span,
    Window,
    bracketed,
    offset_of,
    span_of,
    value_range,
    visible,
    zoomed,
)
from rtmbs.results.figure import PICTURES, Look, draw, save_figure, shown_samples
from rtmbs.viewer.qt.capture import unwritten
from rtmbs.viewer.qt.model_panel import children, tops
from rtmbs.viewer.qt.plot_widgets import TIME, PlotBar, Shown, make_plot, set_heading
from rtmbs.viewer.scene.description import ChannelDescription, SceneDescription
from rtmbs.viewer.scene.elements import Distance, second_names
from rtmbs.viewer.scene.frame import FIRST, PLOTS, Strip, T
from rtmbs.viewer.scene.theme import Theme
from rtmbs.viewer.session.commands import Seek
from rtmbs.viewer.session.plotted import (
    COMPARED,
    ENERGY,
    TIPS,
    VIOLATION,
    ComparedResult,
    Plotted,
    built_in_plots,
    step_at,
)

Array = NDArray[np.float64]

LEAST_WIDTH = 330  # [pixels] of a plot; with less room the plots stand below another
COLUMNS = 2  # of plots, from the third on
BETWEEN = "   "  # values at the cursor
HINT = "tick a channel in the list to plot it"
BESIDE = 0.01  # of what samples span: a cursor so far beside them has their values


class Column(NamedTuple):
    """One curve as it is seen, every sample of it, with complete names."""

    x_label: str
    y_label: str
    x: Array  # (k,)
    y: Array  # (k,)


class Room(QScrollArea):
    """Room of the plots, which scroll."""

    resized = Signal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.resized.emit()


class Plots(QSplitter):
    """A tree of channels, and plots of those that are ticked; ``wanted`` asks for their numbers."""

    wanted = Signal(tuple, int)  # names, ticket
    sought = Signal(object)  # a Seek

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.filter, self.tree, self.area = QLineEdit(), QTreeWidget(), pg.GraphicsLayoutWidget()
        self.filter.setPlaceholderText("find a channel")
        self.filter.setClearButtonEnabled(True)
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        self.bar, self.hint = PlotBar(), QLabel(HINT, alignment=Qt.AlignmentFlag.AlignCenter)
        self._add_sides()
        self.shown: dict[str, Shown] = {}  # plots by the name of their first channel
        self.window_of_time: Window = None
        self._followed: Window = None  # window that a double click comes back to
        self._stretch = 1.0  # of the axes of spectra
        self._span: Span = (0.0, 1.0)
        self._before: Span | None = None  # span of the last drawing, which a window stays at
        self._columns: tuple[str, ...] = ()  # subscribed components, in the order of the columns
        self._channels: dict[str, ChannelDescription] = {}
        self._twice: dict[str, str] = {}  # second names of channels, with the first
        self._distances: dict[str, Distance] = {}  # that are measured, by name
        self._description: SceneDescription | None = None
        self.plotted = Plotted()
        self.ticket = 0  # of the subscription whose rows are drawn
        self._rows, self._stamp = np.zeros((0, FIRST)), -1
        self._now, self._step = 0.0, 0
        self._zero = 0.0  # energy of the first step of the run [J]
        self._drawn: tuple[object, ...] = ()
        self._other: ComparedResult | None = None  # that is compared
        self._other_name = ""
        self._per_row = 1
        self.bar.changed.connect(self._lay_out)
        self.scrolled.resized.connect(self._fit_columns)
        self.bar.windowed.connect(self._choose_window)
        self.area.scene().sigMouseMoved.connect(self._point)
        self.filter.textChanged.connect(self._filter)
        self.tree.itemChanged.connect(self._ticked)
        self.set_theme(theme)

    def _add_sides(self) -> None:
        """Put the tree on the left, and bar and plots on the right."""
        side, column = QWidget(), QVBoxLayout()
        column.setContentsMargins(4, 4, 4, 4)
        column.addWidget(self.filter)
        column.addWidget(self.tree)
        side.setLayout(column)
        self.addWidget(side)
        drawn = QWidget()
        stack = QVBoxLayout(drawn)
        stack.setContentsMargins(0, 0, 0, 0)
        stack.setSpacing(0)
        stack.addWidget(self.bar)
        self.scrolled = Room(widgetResizable=True)
        self.scrolled.setFrameShape(QFrame.Shape.NoFrame)
        self.scrolled.setWidget(self.area)
        stack.addWidget(self.hint, 1)
        stack.addWidget(self.scrolled, 1)
        self.addWidget(drawn)
        self.setSizes([230, 900])
        for one, following in pairwise((self.filter, self.tree, *self.bar.controls)):
            self.setTabOrder(one, following)

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
        kept = [name for name in self.chosen() if name in known]
        if self._description is None or self._description.live != description.live:
            self.show_window(LIVE_WINDOW if description.live else None)
        self._description = description
        built_in = [name for name in (ENERGY, VIOLATION) if name in self.chosen() or not self._channels]
        self._twice = second_names(description)
        kept = [self._twice.get(name, name) for name in kept]
        self._channels = {one.name: one for one in description.channels if one.name not in self._twice}
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
        item.setToolTip(0, TIPS.get(name, name))
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
        """Tick a channel, or take its tick away; one that stands twice is listed by its first name."""
        name = self._twice.get(name, name)
        for item in self._leaves():
            if item.data(0, Qt.ItemDataRole.UserRole) == name:
                item.setCheckState(0, Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)

    def _ticked(self, item: QTreeWidgetItem) -> None:
        """A tick changed; one too many is taken back."""
        if item.data(0, Qt.ItemDataRole.UserRole) is None:
            return
        if (
            len(Plotted(tuple(self.chosen()), self._channels, self._distances).columns) > PLOTS
            and item.checkState(0) == Qt.CheckState.Checked
        ):
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

    # ---- drawing ----------------------------------------------------------------------------------------------------

    def _lay_out(self, anew: bool = False) -> None:
        """Make the plots of the chosen names, and request their numbers; ``anew`` requests them of a new session."""
        self._drawn, self.shown, self._stretch = (), {}, 1.0
        self.area.clear()
        names = self.chosen()
        bare = Plotted(tuple(names), self._channels, self._distances)
        self.bar.offer(bare.columns)
        over = channel.TIME if self.bar.over == TIME else self.bar.over
        self.plotted = replace(bare, over=over, together=self.bar.together, degrees=self.bar.degrees)
        self.bar.show_values("")  # those at a cursor that is gone
        panels = self.plotted.panels({name: self._nothing(name) for name in names})
        self.hint.setVisible(not panels)
        self.scrolled.setVisible(bool(panels))
        self._per_row = self._columns_of_plots(len(panels))
        self.area.setMinimumHeight(self.bar.height_of_plots * -(-len(panels) // self._per_row))
        for column in range(COLUMNS):
            self.area.ci.layout.setColumnStretchFactor(column, 1 if column < self._per_row else 0)
            self.area.ci.layout.setColumnPreferredWidth(column, 1.0 if column < self._per_row else 0.0)
        for number, panel in enumerate(panels):
            self._add_plot(panel, number, len(panels))
        if self.plotted.columns != self._columns or anew:
            self._columns, self.ticket = self.plotted.columns, self.ticket + 1
            self._rows, self._stamp = np.zeros((0, FIRST)), -1  # those that are there have other columns
            self.wanted.emit(self._columns, self.ticket)
        else:
            self._redraw_kept()

    def _columns_of_plots(self, count: int) -> int:
        """Return how many plots stand side by side."""
        return COLUMNS if count > COLUMNS and self.scrolled.width() >= COLUMNS * LEAST_WIDTH else 1

    def _fit_columns(self) -> None:
        """Put the plots side by side, or below another, as the room asks for."""
        if self._columns_of_plots(len(self.shown)) != self._per_row:
            self._lay_out()

    def _nothing(self, name: str) -> list[Curve]:
        """Return the curves of a name without samples, also those of the other run."""
        return self.plotted.nothing(name) + self._others(name, slice(0, 0))

    def _others(self, name: str, part: slice) -> list[Curve]:
        """Return the curves of a name in the other run."""
        return [] if self._other is None else self.plotted.other(name, self._other, self._other_name, part)

    def _add_plot(self, panel: Panel, number: int, count: int) -> None:
        shown = make_plot(panel, self._theme)
        self.area.addItem(shown.plot, row=number // self._per_row, col=number % self._per_row)
        lowest = number + self._per_row >= count
        axis = shown.plot.getAxis("bottom")
        axis.setLabel(self.plotted.abscissa.label)
        axis.showLabel(lowest)
        shown.now.setVisible(self.bar.over == TIME)
        shown.box.zoomed.connect(self._zoom)
        shown.box.moved.connect(self._move)
        shown.box.left.connect(self._come_back)
        shown.box.clicked.connect(self._seek)
        shown.box.sigResized.connect(self._write_heading)
        set_heading(shown, self._theme)
        self.shown[self._key(panel)] = shown

    def _key(self, panel: Panel) -> str:
        """Return a name of a plot that no other has."""
        name = panel.title or panel.heading[0] or panel.curves[0].label
        return name if name not in self.shown else f"{name}{panel.unit_words}, {len(self.shown)}"

    def redraw(self, strip: Strip | None, now: float, step: int = 0) -> None:
        """Draw every step of ``strip`` in the window of time, and mark the present time [s]; a few times a second.

        step: number of the present step.
        """
        if strip is None or strip.ticket != self.ticket:
            return  # the steps with the channels that were asked for are on their way
        self._now, self._step = now, step
        if (stamp := strip.stamp) != self._stamp:
            rows = strip.read(range(FIRST + len(self._columns)))
            if rows is None or not len(rows):
                return
            self._rows, self._stamp, self._zero = rows, stamp, strip.start_energy
        self._redraw_kept()

    def _redraw_kept(self) -> None:
        """Draw the rows that were read last."""
        if not len(self._rows):
            return
        first, last = self._ends()
        self._span = span_of(self.window_of_time, first, last, self._now, self._before)
        self._before = self._span
        if (drawn := (self._stamp, self._span)) != self._drawn:
            self._drawn = drawn
            self._draw()
        for shown in self.shown.values():
            shown.now.setValue(self._now)
            mark_present(shown, self._now)

    def _ends(self) -> Span:
        """Return the first and the last time of all runs."""
        first, last = float(self._rows[0, T]), float(self._rows[-1, T])
        if self._other is not None and len(self._other.t) and self.window_of_time is None:
            first, last = min(first, float(self._other.t[0])), max(last, float(self._other.t[-1]))
        return first, last

    def _draw(self) -> None:
        """Draw all curves in the span."""
        rows = self._rows[visible(self._rows[:, T], self._span)]
        part = slice(0, 0) if self._other is None else visible(self._other.t, self._span)
        found = {
            name: self.plotted.curves(name, rows, self._zero) + self._others(name, part) for name in self.plotted.names
        }
        for shown, panel in zip(self.shown.values(), self.plotted.panels(found), strict=True):
            shown.panel = panel
            self._fill(shown)

    def _fill(self, shown: Shown) -> None:
        """Draw the samples of one plot, and fit its axes."""
        panel, before = shown.panel, shown.offset
        y_range = panel.y_range
        shown.offset = 0.0 if panel.log else offset_of(*y_range)
        x_range = self._span
        if self.bar.over != TIME:
            spectra = self.bar.over == FREQUENCY
            x_range = panel.frequencies(self._stretch) if spectra else value_range(curve.over for curve in panel.curves)
            shown.x_offset = 0.0 if spectra else offset_of(*x_range)
        for curve, line in zip(panel.curves, shown.lines, strict=True):
            seen = shown_samples(panel, curve, self.plotted.abscissa)
            line.setData(curve.over[seen] - shown.x_offset, curve.y[seen] - shown.offset)
        shown.box.setAspectLocked(self.plotted.one_scale(panel))
        shown.box.setRange(
            xRange=[end - shown.x_offset for end in x_range],
            yRange=[end - shown.offset for end in y_range],
            padding=0.0,
        )
        if before != shown.offset:
            set_heading(shown, self._theme)

    # ---- windows of time --------------------------------------------------------------------------------------------

    def _choose_window(self, words: str) -> None:
        if words in WINDOWS:
            self.show_window(WINDOWS[words])

    def show_window(self, window: Window) -> None:
        """Show the last seconds, a chosen span or the whole run; in all plots."""
        if not isinstance(window, tuple):
            self._followed = window
            self._before = None
        self.window_of_time = window
        self.bar.show_window(window)
        self._redraw_kept()

    def _zoom(self, at: float, factor: float) -> None:
        if self.bar.over == FREQUENCY and len(self._rows):
            self._show_frequencies(self._stretch * factor)
        elif self.bar.over == TIME and len(self._rows):
            self.show_window(zoomed(self._span, at, factor, *self._ends()))

    def _move(self, by: float) -> None:
        if self.bar.over == TIME and len(self._rows):
            first, last = self._ends()
            low, high = self._span
            by = min(max(by, first - low), max(last - high, 0.0))
            self.show_window((low + by, high + by))

    def _show_frequencies(self, stretch: float) -> None:
        """Let the axes of spectra reach so many times as far as they do by themselves."""
        panels = [shown.panel for shown in self.shown.values()]
        if any(panel.frequencies(stretch) != panel.frequencies(self._stretch) for panel in panels):
            self._stretch, self._drawn = stretch, ()
            self._redraw_kept()

    def _come_back(self) -> None:
        """Show the window that was left for a chosen one, or the frequencies that spectra show by themselves."""
        if self.bar.over == FREQUENCY:
            self._show_frequencies(1.0)
        else:
            self.show_window(self._followed)

    def _write_heading(self, box: object) -> None:
        """Write the heading of the plot with this field anew."""
        for shown in self.shown.values():
            if shown.box is box:
                set_heading(shown, self._theme)

    def _seek(self, box: object, x: float, y: float) -> None:
        """Go to the step at a place of a plot."""
        shown = next((one for one in self.shown.values() if one.box is box), None)
        if shown is None:
            return
        t = x if self.bar.over == TIME else nearest_time(shown, x, y)
        if t is None or not len(self._rows):
            return
        self.sought.emit(Seek(step_at(self._rows[:, T], t, self._now, self._step)))

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
        self._other_name = Path(path).name
        self.bar.show_compared(self._other_name)
        self._lay_out()
        if not path:
            return "nothing is compared"
        lacking = [name for name in self.plotted.names if not self._others(name, slice(0, 0))]
        return f"compared with {path}" + (f"; it has nothing for {', '.join(lacking)}" if lacking else "")

    def _point(self, place: QPointF) -> None:
        """Put the cursor under the mouse, and show the values of the curves there."""
        for name, shown in self.shown.items():
            if shown.plot.sceneBoundingRect().contains(place) and len(self._rows):
                x = float(shown.box.mapSceneToView(place).x()) + shown.x_offset
                for one in self.shown.values():
                    one.cursor.setValue(x - one.x_offset)
                    one.cursor.show()
                self.bar.show_values(words := self.values_at(name, x))
                if self.bar.values.cut:
                    QToolTip.showText(QCursor.pos(), words.replace(BETWEEN, "\n"), self.area.viewport())

    def values_at(self, name: str, x: float) -> str:
        """Return the values of the curves of a plot at the sample that is nearest to ``x``."""
        said: list[str] = []
        over = ""
        for curve in self.shown[name].panel.curves:
            if len(curve.over) and within(x, curve.over):
                k = int(np.argmin(np.nan_to_num(np.abs(curve.over - x), nan=np.inf)))
                place = f"{self.plotted.abscissa.label} {curve.over[k]:.6g}"
                words = f"{curve.said}{bracketed(curve.unit)} {curve.y[k]:.6g}"
                said += [place] * (place != over) + [words]
                over = place
        return BETWEEN.join(said)

    def export(self, path: str) -> str:
        """Write what is seen: every sample as numbers (.csv), or a figure (.pdf, .svg, .png); return a sentence.

        Raises InputError for a file that cannot be written.
        """
        panels = [shown.panel for shown in self.shown.values()]
        abscissa = self.plotted.abscissa
        span = self._span if self.bar.over == TIME else None
        columns = [self._column(panel, curve) for panel in panels for curve in panel.curves]
        write_plot(path, panels, abscissa, span, self.bar.look, columns)
        return f"exported: {path}"

    def _column(self, panel: Panel, curve: Curve) -> Column:
        """Return a curve with complete names, for use without the title of the plot."""
        title = f"{panel.title.lower()}, " if panel.title else ""
        other = "" if curve.run != COMPARED else ", other"
        abscissa = self.plotted.abscissa.label
        if other:
            abscissa = abscissa.replace("t [", "t of the other [") if self.bar.over == TIME else f"{abscissa}, other"
        return Column(abscissa, f"{title}{curve.label}{bracketed(curve.unit)}{other}", curve.over, curve.y)


# ---- ranges and places -----------------------------------------------------------------------------------------------


def mark_present(shown: Shown, now: float) -> None:
    """Put a point on every curve over another number at the present time."""
    for curve, point in zip(shown.panel.curves, shown.points, strict=True):
        if curve.x is None or not len(curve.t) or not curve.t[0] <= now <= curve.t[-1] or curve.t[-1] == curve.t[0]:
            point.setData([], [])
            continue
        k = int(np.argmin(np.abs(curve.t - now)))
        point.setData([curve.x[k] - shown.x_offset], [curve.y[k] - shown.offset])


def nearest_time(shown: Shown, x: float, y: float) -> float | None:
    """Return the time of the sample that is drawn nearest to a place of a plot."""
    (left, right), (low, high) = shown.box.viewRange()
    best, found = np.inf, None
    for curve in shown.panel.curves:
        if curve.x is None or not len(curve.t) or curve.t[-1] == curve.t[0]:
            continue
        away = ((curve.x - shown.x_offset - x) / (right - left)) ** 2
        away = np.nan_to_num(away + ((curve.y - shown.offset - y) / (high - low)) ** 2, nan=np.inf)
        if (least := float(away.min())) < best:
            best, found = least, float(curve.t[int(np.argmin(away))])
    return found


def within(x: float, samples: Array) -> bool:
    """True for a place among samples, or a hair beside them."""
    known = samples[np.isfinite(samples)]
    if not len(known):
        return False
    low, high = float(known.min()), float(known.max())
    return low - BESIDE * (high - low) <= x <= high + BESIDE * (high - low)


# ---- export as a figure of a stated size and style, or as numbers ----------------------------------------------------


def write_plot(
    path: str, panels: Sequence[Panel], over: Abscissa, span: Span | None, look: Look, columns: Iterable[Column]
) -> None:
    """Write panels as a figure of a size and style (.pdf, .svg, .png), or their ``columns`` as numbers (.csv).

    Raises InputError for another ending, for a folder that is not there, for nothing to draw, without matplotlib, and
    for a disk that takes no more.
    """
    ending, folder = Path(path).suffix.lower(), Path(path).absolute().parent
    if not folder.is_dir():
        raise unwritten(path, f"there is no folder {str(folder)!r}; make it first, or name another one")
    if ending not in (".csv", *PICTURES):
        raise InputError(f"{path!r}: the ending {ending!r} is not known; it must be .csv, {', '.join(PICTURES)}")
    if not panels:
        raise InputError(f"{path!r}: an export needs a channel that is ticked")
    if ending == ".csv":
        write_csv(path, columns)
    else:
        save_figure(draw(panels, over, span=span, look=look), path, look)


def write_csv(path: str, curves: Iterable[Column]) -> None:
    """Write a column for each curve; curves over the same samples share that of the samples."""
    headings: list[str] = []
    columns: list[list[float]] = []
    samples: list[tuple[str, Array]] = []
    for curve in curves:
        if not any(curve.x_label == label and np.array_equal(x, curve.x) for label, x in samples):
            headings.append(curve.x_label)
            columns.append(curve.x.tolist())
            samples.append((curve.x_label, curve.x))
        headings.append(curve.y_label)
        columns.append(curve.y.tolist())
    try:
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(headings)
            writer.writerows(zip_longest(*columns, fillvalue=""))
    except OSError as error:
        raise unwritten(path, error.strerror or str(error)) from error

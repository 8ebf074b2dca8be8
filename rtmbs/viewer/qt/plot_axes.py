"""Axes of the plots in the window: ticks as everywhere, wheel and drag on time only, a click that seeks, headings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF
from PySide6.QtWidgets import QGraphicsSceneWheelEvent

from rtmbs.results.curves import DASHES, MARKED, Panel, offset_words, tick_texts, wrapped
from rtmbs.viewer.qt.widgets import axis_style, escaped
from rtmbs.viewer.scene.theme import Theme

LEFT = 62  # [pixels] of the numbers left of a plot, of all plots, so that times stand below another
DECADE = 22  # [pixels] between numbers of a logarithmic axis
LINE = 15  # [pixels] height of a line of a heading
MOST_LINES = 4  # of a heading
GAP = 10  # [pixels] between names
LETTERS = 9  # [pt]
NOTCH = 120  # of a wheel
NEARER = 0.8  # factor of the span of one notch
WIDTH = 1.4  # [pixels] of a curve


class Axis(pg.AxisItem):
    """Axis with the numbers of ``curves.tick_texts``; a logarithmic one has decades that do not overlap."""

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Return the numbers at ticks."""
        if self.logMode:
            return [f"1e{round(value)}" for value in values]
        return tick_texts([float(value) for value in values], float(spacing))

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, Any]]:
        """Return spacing and ticks of every level."""
        if not self.logMode:
            found: list[tuple[float, Any]] = super().tickValues(minVal, maxVal, size)
            return found
        low, high = sorted((minVal, maxVal))
        every = max(1, math.ceil((high - low) * DECADE / max(size, 1.0)))
        first = math.ceil(low / every) * every
        return [(float(every), [float(first + every * k) for k in range(int((high - first) // every) + 1)])]


class Heading(pg.LabelItem):
    """Text above a plot, which takes the room that there is: a long one does not push the plot out of the panel."""

    def updateMin(self) -> None:
        """Ask for no width."""
        height, hint = self.itemRect().height(), Qt.SizeHint
        self._sizeHint = {hint.MinimumSize: (0.0, 0.0), hint.PreferredSize: (1.0, height), hint.MaximumSize: (-1, -1)}
        self.updateGeometry()


class TimeBox(pg.ViewBox):
    """Field of a plot: the wheel zooms and a drag moves the time; values follow by themselves."""

    zoomed = Signal(float, float)  # place, factor of the span
    moved = Signal(float)  # by how much, in numbers of the horizontal axis
    clicked = Signal(object, float, float)  # itself, and the place
    left = Signal()  # a double click

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.disableAutoRange()

    def wheelEvent(self, ev: QGraphicsSceneWheelEvent, axis: int | None = None) -> None:
        """Zoom the time about the mouse; beside the curves the wheel scrolls the panel."""
        if axis == 1:
            ev.ignore()
            return
        ev.accept()
        self.zoomed.emit(float(self.mapSceneToView(ev.scenePos()).x()), NEARER ** (ev.delta() / NOTCH))

    def mouseDragEvent(self, ev: Any, axis: int | None = None) -> None:
        """Move the time with the left button."""
        ev.accept()
        if ev.button() == Qt.MouseButton.LeftButton and axis != 1:
            before, now = (self.mapToView(place).x() for place in (ev.lastPos(), ev.pos()))
            self.moved.emit(float(before - now))

    def mouseClickEvent(self, ev: Any) -> None:
        """Say where the left button clicked."""
        if ev.button() != Qt.MouseButton.LeftButton:
            return
        ev.accept()
        if ev.double():
            self.left.emit()
        else:
            place = self.mapSceneToView(ev.scenePos())
            self.clicked.emit(self, float(place.x()), float(place.y()))


@dataclass
class Shown:
    """One plot with what is drawn in it."""

    panel: Panel
    plot: pg.PlotItem
    box: TimeBox
    lines: list[pg.PlotDataItem] = field(default_factory=list)
    points: list[pg.PlotDataItem] = field(default_factory=list)  # at the present time, of curves over another number
    now: Any = None
    cursor: Any = None
    offset: float = 0.0  # what the vertical axis counts from
    x_offset: float = 0.0
    heading: str = ""


def make_plot(panel: Panel, theme: Theme) -> Shown:
    """Return a plot without samples."""
    box = TimeBox()
    plot = pg.PlotItem(viewBox=box, enableMenu=False, axisItems={side: Axis(side) for side in ("left", "bottom")})
    plot.layout.removeItem(plot.titleLabel)
    plot.titleLabel.setParentItem(None)
    plot.titleLabel = Heading(parent=plot)
    plot.layout.addItem(plot.titleLabel, 0, 1)
    plot.hideButtons()
    plot.setLogMode(y=panel.log)
    axis_style(plot, theme)
    plot.getAxis("left").setWidth(LEFT)
    shown = Shown(panel, plot, box)
    for curve, place in zip(panel.curves, panel.colors, strict=True):
        color = theme.plots[place % len(theme.plots)]
        dash = DASHES[(curve.run + place // len(theme.plots)) % len(DASHES)]
        shown.lines.append(plot.plot([], [], pen=pg.mkPen(color, width=WIDTH, dash=dash or None), connect="finite"))
        shown.points.append(
            plot.plot([], [], pen=None, symbol="o", symbolSize=MARKED, symbolBrush=color, symbolPen=None)
        )
    shown.now, shown.cursor = (
        pg.InfiniteLine(angle=90, pen=pg.mkPen(theme.muted, width=width)) for width in (1.0, 0.6)
    )
    shown.cursor.hide()
    for line in (shown.now, shown.cursor):
        plot.addItem(line, ignoreBounds=True)
    return shown


# ---- headings --------------------------------------------------------------------------------------------------------


def set_heading(shown: Shown, theme: Theme) -> None:
    """Write the names of the curves above a plot, in their colours, in as many lines as they need."""
    title, names = shown.panel.heading
    words = [(title, theme.text, False)]
    for name, number in names:
        again, own = divmod(number, len(theme.plots))
        words.append((f"{dash_words(again)} {name}" if again else name, theme.plots[own], True))
    words += [(shown.panel.unit_words.strip(), theme.text, False), (offset_words(shown.offset), theme.muted, False)]
    words += [(f"{dash_words(run)} {name}", theme.muted, False) for run, name in shown.panel.runs.items()]
    words = [one for one in words if one[0]]
    font = QFont()
    font.setPointSize(LETTERS)
    font.setBold(True)
    measure = QFontMetricsF(font)
    room = max(shown.box.width(), 120.0)
    lines = wrapped([measure.horizontalAdvance(text) for text, *_ in words], room, GAP)
    html = ""
    for k, ((text, color, bold), line) in enumerate(zip(words, lines, strict=True)):
        if line >= MOST_LINES:
            html += f' <span style="color: {theme.muted}">and {len(words) - k} more</span>'
            break
        between = "" if k == 0 else "<br>" if line != lines[k - 1] else " &nbsp; "
        shown_text = f"<b>{escaped(text)}</b>" if bold else escaped(text)
        html += f'{between}<span style="color: {color}">{shown_text}</span>'
    if html == shown.heading:
        return
    shown.heading = html
    shown.plot.setTitle(f'<div style="font-size: {LETTERS}pt">{html}</div>')
    label, height = shown.plot.titleLabel, LINE * (min(lines[-1], MOST_LINES - 1) + 1) + 4 if lines else LINE
    label.setMaximumHeight(height)
    shown.plot.layout.setRowFixedHeight(0, height)


def dash_words(run: int) -> str:
    """Return a line as text, as the curves of a run are drawn."""
    return ("\N{EM DASH}\N{EM DASH}", "- - -", "- \N{MIDDLE DOT} -", "\N{MIDDLE DOT} \N{MIDDLE DOT} \N{MIDDLE DOT}")[
        run % len(DASHES)
    ]

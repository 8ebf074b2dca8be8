"""Widgets of the plots: the bar over them, and axes with a wheel and a drag of time only and a click that seeks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QFont, QFontMetricsF, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QGraphicsSceneWheelEvent,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from rtmbs.results.curves import (
    CHOSEN,
    DASHES,
    FREQUENCY,
    MARKED,
    OVER_TIME,
    WINDOWS,
    Panel,
    Window,
    offset_words,
    tick_texts,
    wrapped,
)
from rtmbs.results.figure import LEAST, MOST, SIZES, STYLES, Look
from rtmbs.viewer.qt.widgets import axis_style, escaped
from rtmbs.viewer.scene.theme import Theme

TIME = OVER_TIME
RESULTS = "Results (*.npz *.h5 *.hdf5)"
EXPORTS = "Drawing (*.pdf);;Drawing (*.svg);;Picture (*.png);;Numbers (*.csv)"
HEIGHTS = {"small plots": 110, "medium plots": 170, "large plots": 320}  # [pixels]
LAYOUTS = {"one plot a channel": "channel", "one plot a unit": "unit"}
OWN_SIZE = "width x height"
NARROWEST = 84  # [pixels] of a list in the bar


class ElidedLabel(QLabel):
    """A line of text that ends in a mark where it has too little room; its tip has the whole."""

    def say(self, text: str) -> None:
        """Show a text."""
        self.setToolTip(text)
        self._cut()

    @property
    def cut(self) -> bool:
        """True where the text has too little room."""
        return self.text() != self.toolTip()

    def _cut(self) -> None:
        fitting = self.fontMetrics().elidedText(self.toolTip(), Qt.TextElideMode.ElideRight, self.width())
        self.setText(fitting)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._cut()
        super().resizeEvent(event)


class PlotBar(QWidget):
    """Tool bar of the plots: emits requests; paths come from dialogs."""

    changed = Signal()  # another choice of ``over``, of what shares a plot, of height, of degrees
    windowed = Signal(str)  # one of WINDOWS
    compared = Signal(str)  # path of a result, "" to leave off
    exported = Signal(str)  # path

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choice, self.window_choice, self.values = QComboBox(), QComboBox(), ElidedLabel()
        self.layout_button = QToolButton()
        self.compare, self.export = QPushButton("Compare ..."), QPushButton("Export ...")
        self.layout_button.setText("Layout")
        self.layout_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.look = Look("page")  # of exported figures
        self.choice.setToolTip("what the plots are drawn over: time, frequency, or another channel that is ticked")
        self.window_choice.setToolTip(
            "times that are shown; the wheel zooms the time, a drag moves it, a double click comes back to this window"
        )
        self.compare.setToolTip("draw the same channels of a recorded result beside these, dashed")
        self.export.setToolTip("write what is seen: a figure of a stated size (.pdf, .svg, .png) or numbers (.csv)")
        for choice in (self.choice, self.window_choice):
            choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            choice.setMinimumContentsLength(8 if choice is self.window_choice else 18)
            choice.setMinimumWidth(NARROWEST)  # a small screen has no room for all of it
        self.window_choice.addItems(list(WINDOWS))
        # The values take what room there is: a long text would push the tree of channels away.
        self.values.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.layout_button.setMenu(self._make_menu())
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 2, 4, 2)
        for widget in (QLabel("over"), self.choice, self.window_choice, self.layout_button):
            row.addWidget(widget)
        row.addWidget(self.values, 1)
        for button in (self.compare, self.export):
            row.addWidget(button)
        self.controls: tuple[QWidget, ...] = (
            self.choice, self.window_choice, self.layout_button, self.compare, self.export,
        )  # fmt: skip
        for one in self.controls:
            one.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # after a click keys belong to the window
        self.offer(())
        self.choice.currentTextChanged.connect(lambda _: self.changed.emit())
        self.window_choice.textActivated.connect(self.windowed.emit)
        self.compare.clicked.connect(self._ask_for_result)
        self.export.clicked.connect(self._ask_for_path)

    def _make_menu(self) -> QMenu:
        """Return the menu of the layout."""
        menu = QMenu(self)
        self.layouts, self.heights = (self._choices(menu, list(words)) for words in (LAYOUTS, HEIGHTS))
        self.layouts[0].setChecked(True)
        self.heights[1].setChecked(True)
        self.angles = QAction("angles in degrees", menu, checkable=True)
        self.angles.triggered.connect(lambda _: self.changed.emit())
        menu.addAction(self.angles)
        return menu

    def _choices(self, menu: QMenu, words: Sequence[str]) -> list[QAction]:
        """Add actions to a menu, of which one is on."""
        group = QActionGroup(self)
        actions = [QAction(word, menu, checkable=True) for word in words]
        for action in actions:
            group.addAction(action)
            menu.addAction(action)
            action.triggered.connect(lambda _: self.changed.emit())
        menu.addSeparator()
        return actions

    @property
    def over(self) -> str:
        """Abscissa of the plots: TIME, FREQUENCY or a component of a channel."""
        return self.choice.currentText() or TIME

    @property
    def together(self) -> str:
        """What shares a plot: "channel" or "unit"."""
        return next(LAYOUTS[action.text()] for action in self.layouts if action.isChecked())

    @property
    def height_of_plots(self) -> int:
        """Least height of a plot [pixels]."""
        return next(HEIGHTS[action.text()] for action in self.heights if action.isChecked())

    @property
    def degrees(self) -> bool:
        """True for angles in degrees."""
        return self.angles.isChecked()

    def offer(self, components: Sequence[str]) -> None:
        """Offer these components; a choice that is no longer among them becomes TIME."""
        old = self.over
        offered = [TIME, FREQUENCY, *components]
        with QSignalBlocker(self.choice):
            self.choice.clear()
            self.choice.addItems(offered)
            self.choice.setCurrentText(old if old in offered else TIME)

    def show_window(self, window: Window) -> None:
        """Show the window of time; a chosen one is offered while it lasts."""
        words = next((words for words, one in WINDOWS.items() if one == window), CHOSEN)
        place = self.window_choice.findText(CHOSEN)
        if words == CHOSEN and place < 0:
            self.window_choice.addItem(CHOSEN)
        elif words != CHOSEN and place >= 0:
            self.window_choice.removeItem(place)
        self.window_choice.setCurrentText(words)

    def show_values(self, text: str) -> None:
        """Show the values at the cursor; where there is too little room, a tip beside the mouse has them all."""
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
        dialog = LookDialog(self.look, self)
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return
        self.look = dialog.look
        path, kind = QFileDialog.getSaveFileName(self, "Export what is seen", "plot.pdf", EXPORTS)
        if path:
            self.exported.emit(with_ending(path, kind))


class LookDialog(QDialog):
    """Dialog for size and style of an exported figure."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Export what is seen")
        self.size_choice, self.style_choice = QComboBox(), QComboBox()
        for name, (width, height) in SIZES.items():
            self.size_choice.addItem(f"{name}, {width:g} x {height:g} mm", name)
        self.size_choice.addItem(OWN_SIZE, "")
        self.style_choice.addItems(list(STYLES))
        self.numbers = [QDoubleSpinBox(minimum=LEAST, maximum=MOST, decimals=1, suffix=" mm") for _ in range(2)]
        form = QFormLayout(self)
        form.addRow("size", self.size_choice)
        for label, number in zip(("width", "height"), self.numbers, strict=True):
            form.addRow(label, number)
        form.addRow("style", self.style_choice)
        form.addRow(QLabel("letters of 8 points; numbers (.csv) have no size"))
        kinds = QDialogButtonBox.StandardButton
        buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        form.addRow(buttons)
        self.size_choice.currentIndexChanged.connect(lambda _: self._show_numbers())
        named = look.size if isinstance(look.size, str) else ""
        self.size_choice.setCurrentIndex(self.size_choice.findData(named))
        self.style_choice.setCurrentText(look.style)
        self._show_numbers()
        if not named and look.size is not None:
            for number, value in zip(self.numbers, look.size, strict=True):
                number.setValue(value)

    def _show_numbers(self) -> None:
        name = self.size_choice.currentData()
        for k, number in enumerate(self.numbers):
            number.setEnabled(not name)
            if name:
                number.setValue(SIZES[name][k])

    @property
    def look(self) -> Look:
        """Size and style that are chosen."""
        name = self.size_choice.currentData()
        size = name or tuple(number.value() for number in self.numbers)
        return Look(size, self.style_choice.currentText())


def with_ending(path: str, kind: str) -> str:
    """Return a path with the ending of the ``kind`` that a dialog has chosen, "Picture (*.png)", where it has none."""
    ending = kind.partition("*")[2].rstrip(")")
    return path if Path(path).suffix else f"{path}{ending}"


# ---- axes ------------------------------------------------------------------------------------------------------------

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

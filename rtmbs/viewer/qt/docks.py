"""Docks of a window and their panels, made when they are first opened; transport bar with a slider over the history.

Before that a window imports nothing for plots and editors, so its first picture comes earlier.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QMouseEvent, QPainter, QPaintEvent, QPixmap, QPolygonF
from PySide6.QtWidgets import (
    QComboBox,
    QDockWidget,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QScrollArea,
    QSlider,
    QStyle,
    QStyleOptionSlider,
    QToolButton,
    QWidget,
)

from rtmbs.viewer.keys import BY_ACTION, shown
from rtmbs.viewer.qt.canvas import Selection
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.elements import Choice, Distance, distances
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.theme import Theme
from rtmbs.viewer.session.commands import SPEEDS, Command, Inspect, Seek, Subscribe
from rtmbs.viewer.session.connection import Connection

if TYPE_CHECKING:
    from rtmbs.viewer.qt.model_panel import ModelPanel
    from rtmbs.viewer.qt.parameters import Parameters
    from rtmbs.viewer.qt.plots import Plots
    from rtmbs.viewer.qt.profiler import Profiler


# ---- transport bar ---------------------------------------------------------------------------------------------------

SIZE = 32  # [pixels] drawn; shown smaller
UPPER, LOWER, CENTER = 6.0, 26.0, 16.0  # [pixels] from the upper edge

# Triangles by their corners, bars by (left, width).
SHAPES: dict[str, tuple[list[list[tuple[float, float]]], list[tuple[float, float]]]] = {
    "play": ([[(9, UPPER), (9, LOWER), (26, CENTER)]], []),
    "pause": ([], [(8, 5), (19, 5)]),
    "forward": ([[(7, UPPER), (7, LOWER), (20, CENTER)]], [(22, 4)]),
    "back": ([[(25, UPPER), (25, LOWER), (12, CENTER)]], [(6, 4)]),
    "start": (
        [[(28, UPPER), (28, LOWER), (18, CENTER)], [(18, UPPER), (18, LOWER), (8, CENTER)]],
        [(4, 3)],
    ),
}


def icon(name: str, color: str) -> QIcon:
    """Return one of ``SHAPES`` in a colour ``#rrggbb``."""
    triangles, bars = SHAPES[name]
    picture = QPixmap(SIZE, SIZE)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(color))
    for corners in triangles:
        painter.drawPolygon(QPolygonF([QPointF(x, y) for x, y in corners]))
    for left, width in bars:
        painter.drawRect(QRectF(left, UPPER, width, LOWER - UPPER))
    painter.end()
    return QIcon(picture)


# ---- the bar ---------------------------------------------------------------------------------------------------------

PAGES = 20  # clicks beside the handle from one end of the slider to the other
BUTTONS = (  # action of the table of keys, name of an icon
    ("reset", "start"),
    ("step_back", "back"),
    ("play_or_pause", "play"),
    ("step_forward", "forward"),
)


class MarkedSlider(QSlider):
    """A slider with a line at every step that the user has marked."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.marks: set[int] = set()
        self.color = "#000000"

    def places(self) -> list[int]:
        """Return the pixels of the marks within the range."""
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        handle = self.style().pixelMetric(QStyle.PixelMetric.PM_SliderLength, option, self)
        room = self.width() - handle
        inside = [step for step in sorted(self.marks) if self.minimum() <= step <= self.maximum()]
        at = QStyle.sliderPositionFromValue
        return [handle // 2 + at(self.minimum(), self.maximum(), step, room) for step in inside]

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Jump to the place of the click; the handle then follows the mouse."""
        if event.button() == Qt.MouseButton.LeftButton:
            option = QStyleOptionSlider()
            self.initStyleOption(option)
            handle = self.style().pixelMetric(QStyle.PixelMetric.PM_SliderLength, option, self)
            place = round(event.position().x()) - handle // 2
            self.setValue(QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), place, self.width() - handle))
        super().mousePressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.marks:
            painter = QPainter(self)
            for x in self.places():
                painter.fillRect(x - 1, 0, 2, self.height(), QColor(self.color))


class Transport(QWidget):
    """Buttons call actions of the window; the slider asks for steps of the history."""

    called = Signal(str)  # an action
    sought = Signal(object)  # a Seek
    speed_chosen = Signal(float)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 3, 8, 3)
        self.buttons: dict[str, QToolButton] = {}
        self._playing, self._color, self._counted = False, theme.text, "step"
        for action, _ in BUTTONS:
            button = QToolButton()
            button.setAutoRaise(True)
            button.setToolTip(f"{BY_ACTION[action].text} ({shown(BY_ACTION[action].keys)})")
            button.clicked.connect(lambda _=False, action=action: self.called.emit(action))
            row.addWidget(button)
            self.buttons[action] = button
        self.slider = MarkedSlider()
        self.slider.color = theme.text
        self.slider.valueChanged.connect(lambda step: self.sought.emit(Seek(step)))
        self.time = QLabel("t = 0.000 s")
        self.time.setMinimumWidth(150)
        self.time.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.speed = QComboBox()
        for factor in SPEEDS:
            self.speed.addItem(speed_text(factor), factor)
        self.speed.setCurrentIndex(SPEEDS.index(1.0))
        self.speed.activated.connect(lambda index: self.speed_chosen.emit(self.speed.itemData(index)))
        for widget, stretch in ((self.slider, 1), (self.time, 0), (QLabel("   speed"), 0), (self.speed, 0)):
            row.addWidget(widget, stretch)
        self._draw_icons()
        for quiet in (*self.buttons.values(), self.slider, self.speed):
            quiet.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._color = self.slider.color = theme.text
        self._draw_icons()

    def show_marks(self, marks: set[int]) -> None:
        """Draw the steps that are marked."""
        self.slider.marks = marks
        self.slider.update()

    def _draw_icons(self) -> None:
        for action, name in BUTTONS:
            self.buttons[action].setIcon(icon("pause" if name == "play" and self._playing else name, self._color))

    def describe(self, description: SceneDescription) -> None:
        """Describe the range of the slider in its tip."""
        self._counted = "step" if description.live else "sample"
        what = "the remembered steps" if description.live else "the recorded samples"
        self.slider.setToolTip(f"click or drag to go through {what}")

    def show_frame(self, frame: Frame) -> None:
        """Show time, place in the history and whether it plays."""
        with QSignalBlocker(self.slider):
            self.slider.setRange(frame.oldest, newest := max(frame.newest, frame.step))
            self.slider.setPageStep(max((newest - frame.oldest) // PAGES, 1))
            if not self.slider.isSliderDown():
                self.slider.setValue(frame.step)
        self.time.setText(f"t = {frame.t:.3f} s   {self._counted} {frame.step}")
        if frame.playing != self._playing:
            self._playing = frame.playing
            self._draw_icons()
        nearest = min(range(len(SPEEDS)), key=lambda k: abs(math.log(SPEEDS[k] / frame.desired_speed)))
        if nearest != self.speed.currentIndex():
            self.speed.setCurrentIndex(nearest)


def speed_text(factor: float) -> str:
    """Return a speed as users write it."""
    return "1 \N{MULTIPLICATION SIGN} real time" if factor == 1.0 else f"{factor:g} \N{MULTIPLICATION SIGN}"


# ---- docks -----------------------------------------------------------------------------------------------------------

NAMES = ("model", "parameters", "profiler", "plots")
DESCRIBED = ("parameters", "plots", "model")  # that show what a mechanism has
Panel = TypeVar("Panel", bound=QWidget)


class PanelHost(Protocol):
    """The members of the window that its panels use."""

    theme: Theme
    description: SceneDescription | None
    connection: Connection
    selection: Selection
    docks: dict[str, "Dock"]

    def guarded(self, slot: Callable[..., Any]) -> Callable[..., None]:
        """Return a slot whose exceptions are shown."""

    def send(self, command: Command) -> None:
        """Send a command to the session."""

    def ask(self, command: Command) -> None:
        """Send the command of a panel."""

    def tell(self, sentence: str) -> None:
        """Show a sentence in the status bar."""

    def refuse(self, sentence: str) -> None:
        """Show why a text was refused."""


class Panels:
    """Attributes make a panel at the first use; ``name in panels`` says whether that has happened."""

    def __init__(self, window: PanelHost) -> None:
        self._window = window

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def make(self, name: str) -> None:
        """Make the panel of a dock, unless it is there already or is no panel of this kind."""
        if name in NAMES:
            getattr(self, name)

    @cached_property
    def model(self) -> "ModelPanel":
        """The tree of the mechanism with the inspector (F9)."""
        from rtmbs.viewer.qt.model_panel import ModelPanel

        window = self._window
        panel = ModelPanel(window.selection, window.guarded)
        panel.inspector.wanted.connect(window.guarded(lambda names, ticket: window.send(Inspect(names, ticket))))
        panel.inspector.asked.connect(window.guarded(window.send))
        for part in (panel.inspector, panel.cutting):
            part.refused.connect(window.guarded(window.refuse))
        return self._in_its_dock("model", panel)

    @cached_property
    def parameters(self) -> "Parameters":
        """Options, parameters of the mechanism, and inputs (F6)."""
        from rtmbs.viewer.qt.parameters import Parameters

        window, panel = self._window, Parameters()
        panel.asked.connect(window.guarded(window.ask))
        panel.refused.connect(window.guarded(window.refuse))
        return self._in_its_dock("parameters", panel)

    @cached_property
    def profiler(self) -> "Profiler":
        """Step times (F3)."""
        from rtmbs.viewer.qt.profiler import Profiler

        return self._in_its_dock("profiler", Profiler(self._window.theme))

    @cached_property
    def plots(self) -> "Plots":
        """Energy, loop violations and channels over time (F4)."""
        from rtmbs.viewer.qt.plots import Plots

        window, panel = self._window, Plots(self._window.theme)
        panel.bar.compared.connect(window.guarded(lambda path: window.tell(panel.compare(path))))
        panel.bar.exported.connect(window.guarded(lambda path: window.tell(panel.export(path))))
        panel.wanted.connect(window.guarded(lambda names, ticket: window.send(Subscribe(names, ticket))))
        panel.sought.connect(window.guarded(window.send))
        if window.description is not None:
            panel.set_distances(distances(window.description, window.selection.pairs))
        return self._in_its_dock("plots", panel)

    def _in_its_dock(self, name: str, panel: Panel) -> Panel:
        """Give a new panel its place, and the mechanism that the window shows."""
        window, made = self._window, cast(Any, panel)
        window.docks[name].room.setWidget(panel)
        if window.description is not None and name in DESCRIBED:
            made.describe(window.description)
        return panel

    # ---- for the panels that are there ----------------------------------------------------------------------------

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        for name in ("profiler", "plots"):
            if name in self:
                getattr(self, name).set_theme(theme)

    def describe(self, description: SceneDescription) -> None:
        """Take another mechanism."""
        for name in DESCRIBED:
            if name in self:
                getattr(self, name).describe(description)

    def choose(self, choice: Choice | None) -> None:
        """Show the chosen element."""
        if "model" in self:
            self.model.choose(choice)

    def tick(self, hidden: set[Choice]) -> None:
        """Show the hidden elements."""
        if "model" in self:
            self.model.tick(hidden)

    def measure(self, measured: list[Distance]) -> None:
        """Offer these distances as channels, and list all measurements."""
        if "model" in self:
            self.model.measuring.take(self._window.selection.pairs)
        if "plots" in self:
            self.plots.measure(measured)

    def set_distances(self, measured: list[Distance]) -> None:
        """Set the measured distances that the next mechanism offers as channels."""
        if "plots" in self:
            self.plots.set_distances(measured)

    def refused(self, description: SceneDescription) -> None:
        """Show the present parameters again, after a refused build."""
        if "parameters" in self:
            self.parameters.describe(description)

    def show_frame(self, frame: Frame) -> None:
        """Show a frame in the panels that the user sees."""
        window = self._window
        for name in NAMES:
            if not window.docks[name].isVisible():
                continue
            if name == "plots":
                self.plots.redraw(window.connection.strip(), frame.t, frame.step)
            else:
                getattr(self, name).show_frame(frame)


# ---- docks -----------------------------------------------------------------------------------------------------------

RIGHT, BOTTOM = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
SIDE, LOW, HIGH = 420, 230, 320  # pixels of the docks at the right and at the bottom


def make_docks(window: QMainWindow, panels: Panels, log: QWidget, changed: Callable[[], None]) -> "dict[str, Dock]":
    """Give a window its docks, all hidden, and return them by the name of their action.

    log: the widget of the log.  changed: called when a dock is shown or hidden.
    """
    docks = {
        name: Dock(window, name, area, panels)
        for area, names in ((RIGHT, ("model", "parameters")), (BOTTOM, ("profiler", "plots", "log")))
        for name in names
    }
    docks["log"].room.setWidget(log)
    for dock in docks.values():
        dock.visibilityChanged.connect(changed)
    window.tabifyDockWidget(docks["model"], docks["parameters"])
    window.tabifyDockWidget(docks["profiler"], docks["plots"])
    window.tabifyDockWidget(docks["plots"], docks["log"])
    window.resizeDocks([docks["model"], docks["parameters"]], [SIDE, SIDE], Qt.Orientation.Horizontal)
    window.resizeDocks([docks["profiler"], docks["plots"]], [LOW, HIGH], Qt.Orientation.Vertical)
    return docks


class Dock(QDockWidget):
    """A hidden dock whose panel scrolls where there is too little room: a small screen has all panels."""

    def __init__(self, window: QMainWindow, name: str, area: Qt.DockWidgetArea, panels: Panels) -> None:
        super().__init__(name.capitalize(), window)
        self._panels, self._name = panels, name
        self.setObjectName(name.capitalize())
        room = self.room = QScrollArea(widgetResizable=True)
        room.setFrameShape(QFrame.Shape.NoFrame)
        room.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
        self.setWidget(room)
        window.addDockWidget(area, self)
        self.hide()

    def setVisible(self, visible: bool) -> None:
        if visible:
            self._panels.make(self._name)
        super().setVisible(visible)

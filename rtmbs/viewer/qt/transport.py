"""Transport bar: play, step, speed, and a slider over the history or a recorded result."""

import math

from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPainter, QPaintEvent, QPixmap, QPolygonF
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSlider, QStyle, QStyleOptionSlider, QToolButton, QWidget

from rtmbs.viewer.keys import BY_ACTION, shown
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.theme import Theme
from rtmbs.viewer.session.commands import SPEEDS, Seek

SIZE = 32  # [pixels] drawn; shown smaller
HIGH, LOW, MIDDLE = 6.0, 26.0, 16.0

# Triangles by their corners, bars by (left, width).
SHAPES: dict[str, tuple[list[list[tuple[float, float]]], list[tuple[float, float]]]] = {
    "play": ([[(9, HIGH), (9, LOW), (26, MIDDLE)]], []),
    "pause": ([], [(8, 5), (19, 5)]),
    "forward": ([[(7, HIGH), (7, LOW), (20, MIDDLE)]], [(22, 4)]),
    "back": ([[(25, HIGH), (25, LOW), (12, MIDDLE)]], [(6, 4)]),
    "start": ([[(28, HIGH), (28, LOW), (18, MIDDLE)], [(18, HIGH), (18, LOW), (8, MIDDLE)]], [(4, 3)]),
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
        painter.drawRect(QRectF(left, HIGH, width, LOW - HIGH))
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
        """Say in the tip of the slider what it goes through."""
        self._counted = "step" if description.live else "sample"
        what = "the remembered steps" if description.live else "the recorded samples"
        self.slider.setToolTip(f"drag to go through {what}")

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

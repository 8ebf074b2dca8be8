"""The bar under the picture: play, step, speed, and a slider over the history or a recorded result."""

import math

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSlider, QStyle, QStyleOptionSlider, QToolButton, QWidget

from rtmbs.viewer.icons import icon
from rtmbs.viewer.keys import BY_ACTION, shown
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.theme import Theme
from rtmbs.viewer.session.commands import SPEEDS, Seek

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

"""A section across an axis of the world: axis, place and side."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QWidget

from rtmbs.viewer.panels.inputs import SliderSpin
from rtmbs.viewer.scene.drawing import AXIS_NORMALS, Section, across

NONE = "nothing"
REACH = 1.1  # of the slider, in the half size of the mechanism


class Cutting(QWidget):
    """``changed`` has the Section, or None; ``refused`` why a text was not taken."""

    changed, refused = Signal(object), Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.axis, self.turned, self.place = QComboBox(), QCheckBox("the other side"), SliderSpin(0.0, "m")
        self.axis.addItems([NONE, *AXIS_NORMALS])
        form = QFormLayout(self)
        form.setContentsMargins(8, 8, 8, 8)
        form.addRow("cut across", self.axis)
        form.addRow("at", self.place)
        form.addRow("", self.turned)
        self.axis.currentTextChanged.connect(lambda _: self._changed())
        self.turned.toggled.connect(lambda _: self._changed())
        self.place.changed.connect(lambda _: self._changed())
        self.place.refused.connect(lambda why: self.refused.emit(f"section: {why}"))
        self._enable()

    def set_size(self, size: float) -> None:
        """Let the slider reach beyond a mechanism of this size about the origin [m]."""
        self.place.low, self.place.high = -REACH * size, REACH * size
        self.place.set_value(self.place.value())

    def section(self) -> Section | None:
        """Return what is cut."""
        axis = self.axis.currentText()
        return None if axis == NONE else across(axis, self.place.value(), self.turned.isChecked())

    def _changed(self) -> None:
        self._enable()
        self.changed.emit(self.section())

    def _enable(self) -> None:
        for one in (self.place, self.turned):
            one.setEnabled(self.axis.currentText() != NONE)

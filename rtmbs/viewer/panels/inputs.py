"""A slider with a number beside it, as a row of a parameter tree: rough by hand, exact by typing."""

from typing import Any

from pyqtgraph.parametertree import Parameter, registerParameterType
from pyqtgraph.parametertree.parameterTypes import WidgetParameterItem
from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QSlider, QWidget

from rtmbs.viewer.panels.number_box import NumberBox
from rtmbs.viewer.panels.number_rows import refuse

NOTCHES = 1000
REACH = 2.0  # a slider goes from 0 to so many default values
ALONE = 10.0  # where a default of 0 says nothing about the size


class SliderSpin(QWidget):
    """The slider moves within ``low`` and ``high``; a number typed beyond them moves the border."""

    changed = Signal(float)
    refused = Signal(str)  # why a text was not taken

    def __init__(self, value: float, unit: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.low, self.high = slider_range(value)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, NOTCHES)
        self.slider.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.spin = NumberBox(
            value=value, suffix=f" {unit}" if unit else "", dec=True, step=0.1, minStep=1e-9, compactHeight=False
        )
        self.slider.setMinimumWidth(48)
        self.spin.setMinimumWidth(124)
        self.spin.setOpts(format="{value:.6g}{suffix}")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.slider, 2)
        row.addWidget(self.spin, 3)
        self.set_value(value)
        self.slider.valueChanged.connect(self._slid)
        self.spin.sigValueChanged.connect(self._typed)
        self.spin.refused.connect(self.refused)

    def value(self) -> float:
        """Return the number."""
        return float(self.spin.value())

    def set_value(self, value: float) -> None:
        """Show a number without telling anybody."""
        with QSignalBlocker(self.slider), QSignalBlocker(self.spin):
            self.spin.setValue(value)
            self._place(value)

    def _place(self, value: float) -> None:
        self.low, self.high = min(self.low, value), max(self.high, value)
        self.slider.setValue(round(NOTCHES * (value - self.low) / (self.high - self.low)))

    def _slid(self, notch: int) -> None:
        value = self.low + (self.high - self.low) * notch / NOTCHES
        with QSignalBlocker(self.spin):
            self.spin.setValue(value)
        self.changed.emit(value)

    def _typed(self) -> None:
        with QSignalBlocker(self.slider):
            self._place(self.value())
        self.changed.emit(self.value())


def slider_range(value: float) -> tuple[float, float]:
    """Return the ends of a slider for a default value."""
    if value == 0.0:
        return -ALONE, ALONE
    return min(0.0, REACH * value), max(0.0, REACH * value)


class SliderItem(WidgetParameterItem):
    """The row of a NUMBER parameter."""

    def makeWidget(self) -> QWidget:
        """Return the widget in the shape that a parameter tree asks for."""
        opts = self.param.opts
        widget: Any = SliderSpin(float(opts["value"]), opts.get("unit", ""))
        widget.sigChanged, widget.setValue = widget.changed, widget.set_value
        widget.refused.connect(lambda why: refuse(self, why))
        self.hideWidget = False
        return widget


class NumberParameter(Parameter):
    """A number with a slider. Options: value, unit."""

    itemClass = SliderItem


NUMBER = "number"
registerParameterType(NUMBER, NumberParameter, override=True)

"""Number fields with units and messages, their rows in a parameter tree, and sliders."""

import math
import re
from typing import Any

from pyqtgraph import SpinBox
from pyqtgraph.parametertree import Parameter, registerParameterType
from pyqtgraph.parametertree.parameterTypes import NumericParameterItem, SimpleParameter, WidgetParameterItem
from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent
from PySide6.QtWidgets import QHBoxLayout, QSlider, QWidget

from rtmbs.viewer.scene.numbers import PREFIXES

NUMBER_TEXT = re.compile(r"([-+\d.,]*(?:[eE][-+]?\d+)?)\s*(.*)", re.DOTALL)  # and what stands behind the number
SIZES = {prefix: factor for factor, prefix in PREFIXES} | {"u": 1e-6}


def scale(unit: str, suffix: str) -> float:
    """Return what one ``unit`` is worth in the unit of a field: 1000 for s in ms; not a number for another unit."""
    if unit in ("", suffix):
        return 1.0
    worth = [(own, a / b) for own, a in readings(unit) for other, b in readings(suffix) if own == other]
    return worth[0][1] if worth else math.nan


def readings(unit: str) -> list[tuple[str, float]]:
    """Return the ways to read a unit: without a prefix, and with each prefix that it begins with."""
    return [(unit[len(p) :], size) for p, size in SIZES.items() if unit.startswith(p) and len(unit) > len(p)]


class NumberBox(SpinBox):
    """A SpinBox; ``refused`` has the sentence of a text that was not taken. The number before stays."""

    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None, **options: Any) -> None:
        super().__init__(parent, **options)

    def interpret(self) -> float | int | bool:
        """Return the number that the text says, with or without the unit; False when it says none."""
        number, unit = NUMBER_TEXT.match(self.lineEdit().text().strip()).groups()  # type: ignore[union-attr]
        factor = scale(unit, self.opts["suffix"].strip())
        try:
            value = float(number.replace(",", ".")) * factor
        except ValueError:
            return False
        if not math.isfinite(value) or (self.opts["int"] and not value.is_integer()):
            return False
        low, high = self.opts["bounds"]
        if (low is not None and value < low) or (high is not None and value > high):
            return False
        return int(value) if self.opts["int"] else value

    def fixup(self, text: str) -> str:
        """Refuse a text at the end of an edit."""
        self.refused.emit(f"{text!r} is refused; it must be {self.wanted()}")
        return str(super().fixup(text))

    def wanted(self) -> str:
        """Return what the field takes, in words."""
        low, high = self.opts["bounds"]
        kind = "whole number" if self.opts["int"] else "number"
        unit = f" of {self.opts['suffix'].strip()}" if self.opts["suffix"].strip() else ""
        if high is None:
            return f"a {'' if low is None else 'positive '}{kind}{unit}"
        return f"a {kind}{unit} from {float(low):g} to {float(high):g}"


# ---- rows of a parameter tree ----------------------------------------------------------------------------------------

REAL, WHOLE = "real", "whole"
STAYS = (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason)  # the user comes back
OPTIONS = ("step", "dec", "suffix", "minStep")  # of rows and of fields
ROOM = 4  # [pixels] of a row over the field


class NumberItem(NumericParameterItem):
    """The row of a REAL or WHOLE parameter."""

    def __init__(self, param: Any, depth: int) -> None:
        super().__init__(param, depth)
        hint = self.widget.sizeHint()
        self.setSizeHint(1, QSize(hint.width() + self.defaultBtn.width(), hint.height() + ROOM))

    def makeWidget(self) -> NumberBox:
        """Return the field in the shape that a parameter tree asks for."""
        opts = self.param.opts
        low, high = opts.get("limits") or (None, None)
        whole = opts["type"] == WHOLE
        options: dict[str, Any] = {"minStep": 1.0} if whole else {}
        options |= {name: opts[name] for name in OPTIONS if name in opts}
        # The compact height of pyqtgraph is that of the letters: the frame of the field takes half of them.
        box = NumberBox(value=opts["value"], int=whole, bounds=(low, high), compactHeight=False, **options)
        box.sigChanged, box.sigChanging = box.sigValueChanged, box.sigValueChanging
        box.refused.connect(lambda why: refuse(self, why))
        return box

    def widgetEventFilter(self, obj: QObject, ev: QEvent) -> bool:
        """Close the field when the keyboard goes elsewhere."""
        if isinstance(ev, QFocusEvent) and ev.lostFocus() and ev.reason() not in STAYS:
            self.treeWidget().setCurrentItem(None)  # a click on the row chooses it anew
            self.hideEditor()
        return bool(super().widgetEventFilter(obj, ev))


def refuse(item: Any, why: str) -> None:
    """Show in the tree of a row why a text was refused."""
    if (tree := item.treeWidget()) is not None:
        tree.refuse(item.param, why)


class NumberRow(SimpleParameter):
    """A number. Options: value, suffix, limits, step, dec, minStep."""

    itemClass = NumberItem

    def _interpretValue(self, value: Any) -> float | int:
        return int(value) if self.opts["type"] == WHOLE else float(value)


for kind in (REAL, WHOLE):
    registerParameterType(kind, NumberRow, override=True)


# ---- sliders ---------------------------------------------------------------------------------------------------------

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
        """Show a number without a signal."""
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

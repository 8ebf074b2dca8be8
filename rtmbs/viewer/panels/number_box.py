"""A field for a number that takes it with or without its unit, and says why it refuses a text."""

import math
import re
from typing import Any

from pyqtgraph import SpinBox
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from rtmbs.viewer.scene.numbers import PREFIXES

NUMBER = re.compile(r"([-+\d.,]*(?:[eE][-+]?\d+)?)\s*(.*)", re.DOTALL)  # and what stands behind the number
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
        number, unit = NUMBER.match(self.lineEdit().text().strip()).groups()  # type: ignore[union-attr]
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

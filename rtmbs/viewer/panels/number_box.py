"""A field for a number that takes it with or without its unit, and says why it refuses a text."""

import math
from typing import Any

from pyqtgraph import SpinBox
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget


class NumberBox(SpinBox):
    """A SpinBox; ``refused`` has the sentence of a text that was not taken. The number before stays."""

    refused = Signal(str)

    def __init__(self, parent: QWidget | None = None, **options: Any) -> None:
        super().__init__(parent, **options)

    def interpret(self) -> float | int | bool:
        """Return the number that the text says, with or without the unit; False when it says none."""
        text = self.lineEdit().text().strip().removesuffix(self.opts["suffix"].strip())
        try:
            value = float(text.replace(",", "."))
        except ValueError:
            return False
        if not math.isfinite(value) or (self.opts["int"] and not value.is_integer()):
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
        return f"a {kind}{unit} from {low:g} to {high:g}"

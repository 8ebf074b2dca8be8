"""Rows of a parameter tree for numbers: a field that shows its whole text, and closes once the number was taken."""

from typing import Any

from pyqtgraph.parametertree import registerParameterType
from pyqtgraph.parametertree.parameterTypes import NumericParameterItem, SimpleParameter
from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QFocusEvent

from rtmbs.viewer.panels.number_box import NumberBox

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
    """Let the tree of a row say why a text was refused."""
    if (tree := item.treeWidget()) is not None:
        tree.refuse(item.param, why)


class NumberRow(SimpleParameter):
    """A number. Options: value, suffix, limits, step, dec, minStep."""

    itemClass = NumberItem

    def _interpretValue(self, value: Any) -> float | int:
        return int(value) if self.opts["type"] == WHOLE else float(value)


for kind in (REAL, WHOLE):
    registerParameterType(kind, NumberRow, override=True)

"""Measuring between two elements: what is measured, from where to where, and what came of it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from rtmbs.viewer.panels.items import tops
from rtmbs.viewer.scene.choices import Choice, groups
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.numbers import figures, with_unit
from rtmbs.viewer.scene.overlays import KINDS, Measurement
from rtmbs.viewer.selection import Pair


class Measuring(QWidget):
    """Two fields choose the ends; a table has a row for each measurement."""

    changed = Signal(object)  # the pairs that are measured

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.start, self.end = QComboBox(), QComboBox()
        self.add_button, self.remove_button = QPushButton("Measure"), QPushButton("Remove")
        self.table = QTreeWidget()
        self.table.setHeaderLabels(["from \N{RIGHTWARDS ARROW} to", "distance", "vector [m]", "angle of axes"])
        self.table.setRootIsDecorated(False)
        self.table.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        form, buttons = QFormLayout(), QHBoxLayout()
        form.addRow("from", self.start)
        form.addRow("to", self.end)
        for box in (self.start, self.end):
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(12)
        buttons.addStretch(1)
        buttons.addWidget(self.add_button)
        buttons.addWidget(self.remove_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 4, 4, 4)
        column.addLayout(form)
        column.addLayout(buttons)
        column.addWidget(self.table, 1)
        self.pairs: list[Pair] = []
        self.add_button.clicked.connect(self.add)
        self.remove_button.clicked.connect(self.remove)

    def describe(self, description: SceneDescription, pairs: list[Pair]) -> None:
        """Offer what can be measured between; ``pairs`` are measured already."""
        for box in (self.start, self.end):
            box.clear()
            for choices in groups(description).values():
                for choice in choices:
                    if choice.kind in KINDS:
                        box.addItem(f"{choice.name} ({choice.kind})", choice)
        self.end.setCurrentIndex(min(1, self.end.count() - 1))  # an element is not measured to itself
        self._take(pairs)

    def put(self, choice: Choice, to: bool) -> None:
        """Take an element as the one end or the other; with both ends it is measured."""
        box = self.end if to else self.start
        box.setCurrentIndex(box.findText(f"{choice.name} ({choice.kind})", Qt.MatchFlag.MatchExactly))
        if to:
            self.add()

    def add(self) -> None:
        """Measure between the elements of the two fields; an element is not measured to itself."""
        ends = self.start.currentData(), self.end.currentData()
        if ends[0] is None or ends[1] is None or ends[0] == ends[1]:
            return
        pair = Choice(*ends[0]), Choice(*ends[1])
        if pair not in self.pairs:
            self._take([*self.pairs, pair])
            self.changed.emit(self.pairs)

    def remove(self) -> None:
        """Forget the measurement that is marked, or the last one."""
        if self.pairs:
            marked = self.table.currentItem()
            del self.pairs[-1 if marked is None else self.table.indexOfTopLevelItem(marked)]
            self._take(self.pairs)
            self.changed.emit(self.pairs)

    def _take(self, pairs: list[Pair]) -> None:
        self.pairs = list(pairs)
        self.table.clear()
        for one, other in self.pairs:
            QTreeWidgetItem(self.table, [f"{one.name} \N{RIGHTWARDS ARROW} {other.name}"])

    def show_readings(self, measurements: list[Measurement]) -> None:
        """Write what is measured now, in the order of the pairs."""
        for item, one in zip(tops(self.table), measurements, strict=False):
            if (reading := one.reading) is not None:
                item.setText(1, with_unit(reading.distance, "m", 5))
                item.setText(2, "  ".join(figures(value, 4) for value in reading.vector.tolist()))
                item.setText(3, f"{reading.angle:.2f}\N{DEGREE SIGN}")

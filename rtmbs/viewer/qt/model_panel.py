"""Model panel (F9): the tree of a mechanism, the inspector of an element, measurements and the section."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QSplitter,
    QTabWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from rtmbs.viewer.qt.model_tree import ModelTree, tops
from rtmbs.viewer.qt.number_fields import SliderSpin
from rtmbs.viewer.qt.selection import Selection
from rtmbs.viewer.scene.choices import FORCE, INPUT, Choice, Pair, Row, channels_of, facts, groups, rows
from rtmbs.viewer.scene.description import InputDescription, SceneDescription
from rtmbs.viewer.scene.drawing import AXIS_NORMALS, Section, across
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.numbers import figures, with_unit
from rtmbs.viewer.scene.overlays import KINDS, Measurement
from rtmbs.viewer.session.commands import SetInput


class ModelPanel(QSplitter):
    """Shows and changes a selection; ``guarded`` wraps slots, so that their exceptions are shown."""

    def __init__(
        self,
        selection: Selection,
        guarded: Callable[[Callable[..., Any]], Callable[..., None]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(Qt.Orientation.Vertical, parent)
        self.selection = selection
        self.tree, self.inspector, self.measuring, self.cutting = (
            ModelTree(),
            Inspector(),
            MeasurementPanel(),
            SectionPanel(),
        )
        self.tabs = QTabWidget()
        self.tabs.addTab(self.inspector, "Inspector")
        self.tabs.addTab(self.measuring, "Measure")
        self.tabs.addTab(self.cutting, "Section")
        self.addWidget(self.tree)
        self.addWidget(self.tabs)
        self.setSizes([300, 320])
        self.tree.chosen.connect(guarded(selection.choose))
        self.tree.hidden.connect(guarded(selection.hide))
        self.tree.isolated.connect(guarded(self._isolate))
        self.tree.measured.connect(guarded(self._measure))
        self.measuring.changed.connect(guarded(selection.measure))
        self.cutting.changed.connect(guarded(selection.cut))

    def describe(self, description: SceneDescription) -> None:
        """Offer what a mechanism has; what was chosen in the last one stays when it has it too."""
        selection, scene = self.selection, self.selection.canvas.scene
        self.tree.describe(description)
        self.tree.tick(selection.hidden.choices)
        self.inspector.describe(description)
        self.measuring.describe(description, selection.pairs)
        self.cutting.set_size(1.0 if scene is None else float(np.max(np.abs(scene.points()), initial=1e-6)))
        self.choose(selection.choice)

    def choose(self, choice: Choice | None) -> None:
        """Show what is chosen."""
        self.tree.choose(choice)
        self.inspector.show_choice(choice)

    def tick(self, hidden: set[Choice]) -> None:
        """Show what is hidden."""
        self.tree.tick(hidden)

    def show_frame(self, frame: Frame) -> None:
        """Write the present values."""
        self.inspector.show_frame(frame)
        self.measuring.show_readings(self.selection.readings())

    def _isolate(self, choice: Choice) -> None:
        self.selection.hidden.choices = set()
        self.selection.isolate(choice)

    def _measure(self, choice: Choice, to: bool) -> None:
        self.tabs.setCurrentWidget(self.measuring)
        self.measuring.put(choice, to)


# ---- inspector -------------------------------------------------------------------------------------------------------

DIGITS = 4
BLANK = "\N{EN DASH}"


class Inspector(QWidget):
    """Values are asked for while the inspector is seen, and no longer."""

    wanted = Signal(tuple, int)  # names of channels, ticket
    asked = Signal(object)  # a Command
    refused = Signal(str)  # why a text was not taken

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title, self.copy_button, self.table = QLabel(), QPushButton("Copy"), QTreeWidget()
        self.table.setColumnCount(2)
        self.table.setHeaderHidden(True)
        self.table.setRootIsDecorated(False)
        self.table.setUniformRowHeights(True)
        self.table.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.table.header().setStretchLastSection(False)  # a long value is scrolled to, and never cut off
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(self.copy_button)
        self._form = QFormLayout()
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 4, 4, 4)
        column.addLayout(head)
        column.addWidget(self.table, 1)
        column.addLayout(self._form)
        self.copy_button.setToolTip("copy everything shown here as text")
        self.copy_button.clicked.connect(self.copy)
        self.ticket = 0
        self._description: SceneDescription | None = None
        self._names: tuple[str, ...] = ()
        self._asked: tuple[str, ...] = ()  # of the session
        self._rows: list[tuple[Row, QTreeWidgetItem]] = []
        self._editors: list[tuple[InputDescription, list[SliderSpin]]] = []
        self.show_choice(None)

    def describe(self, description: SceneDescription) -> None:
        """Take another mechanism; nothing of it is inspected yet."""
        self._description, self._asked = description, ()
        self.show_choice(None)

    # ---- what is shown ------------------------------------------------------------------------------------------

    def show_choice(self, choice: Choice | None) -> None:
        """Show an element, or none."""
        self.table.clear()
        self._rows, self._names = [], ()
        for _ in range(self._form.rowCount()):
            self._form.removeRow(0)
        self._editors = []
        self.copy_button.setEnabled(choice is not None)
        self.title.setText("choose something in the tree or the picture" if choice is None else f"<b>{choice.name}</b>")
        if choice is not None and self._description is not None:
            self._fill(self._description, choice)
        self._ask()

    def _fill(self, description: SceneDescription, choice: Choice) -> None:
        for label, text in facts(description, choice):
            QTreeWidgetItem(self.table, [label, text])
        channels = channels_of(description, choice)
        self._names = tuple(channel.name for channel in channels)
        self._rows = [(row, QTreeWidgetItem(self.table, [row.label, BLANK])) for row in rows(channels)]
        for entry in description.inputs:
            own = choice.kind == FORCE and entry.name.rpartition(".")[0] == choice.name
            if entry.settable and description.live and (own or choice == (INPUT, entry.name)):
                self._add_editor(entry)

    def _add_editor(self, entry: InputDescription) -> None:
        """Add a slider with a number for each component of an input."""
        spins = [SliderSpin(float(value), entry.unit) for value in entry.default]
        for k, spin in enumerate(spins):
            self._form.addRow(entry.name if len(spins) == 1 else f"{entry.name}[{k + 1}]", spin)
            spin.changed.connect(lambda _: self._edited(entry, spins))
            spin.refused.connect(lambda why: self.refused.emit(f"{entry.name}: {why}"))
        self._editors.append((entry, spins))

    def _edited(self, entry: InputDescription, spins: list[SliderSpin]) -> None:
        values = tuple(spin.value() for spin in spins)
        self.asked.emit(SetInput(entry.name, values if len(values) > 1 else values[0]))

    def _ask(self) -> None:
        """Ask for the values while they are visible."""
        names = self._names if self.isVisible() else ()
        if names != self._asked:
            self._asked, self.ticket = names, self.ticket + 1
            self.wanted.emit(names, self.ticket)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ask()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._ask()

    def show_frame(self, frame: Frame) -> None:
        """Write the values of a frame; one that was asked for something else is left out."""
        if frame.inspect_ticket == self.ticket:
            for row, item in self._rows:
                values = "  ".join(figures(value, DIGITS) for value in frame.inspected[row.place].tolist())
                item.setText(1, f"{values} {row.unit}".strip())
        for entry, spins in self._editors:
            for spin, value in zip(spins, frame.inputs[entry.place].tolist(), strict=True):
                if spin.value() != value and not spin.spin.hasFocus() and not spin.slider.isSliderDown():
                    spin.set_value(value)

    # ---- as text ------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return what is shown, a line each."""
        lines = [f"{item.text(0)} = {item.text(1)}" for item in tops(self.table)]
        for entry, spins in self._editors:
            values = "  ".join(f"{spin.value():.6g}" for spin in spins)
            lines.append(f"{entry.name} = {values} {entry.unit}".rstrip())
        return "\n".join([self.title.text().removeprefix("<b>").removesuffix("</b>"), *lines])

    def copy(self) -> None:
        """Put the text into the clipboard."""
        QGuiApplication.clipboard().setText(self.text())


# ---- measurements ----------------------------------------------------------------------------------------------------


class MeasurementPanel(QWidget):
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


# ---- section ---------------------------------------------------------------------------------------------------------

NONE = "nothing"
REACH = 1.1  # of the slider, in the half size of the mechanism


class SectionPanel(QWidget):
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
        """Set the range of the slider for a mechanism of this size about the origin [m]."""
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

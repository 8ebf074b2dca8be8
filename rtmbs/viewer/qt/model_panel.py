"""Model panel (F9): tree of the elements, inspector of the chosen one, measurements between two, section plane."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QModelIndex, QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QSplitter,
    QTabWidget,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from rtmbs.viewer.qt.canvas import Selection
from rtmbs.viewer.qt.parameters import SliderSpin
from rtmbs.viewer.scene.description import InputDescription, SceneDescription
from rtmbs.viewer.scene.drawing import AXIS_NORMALS, Section, section_normal_to
from rtmbs.viewer.scene.elements import (
    FORCE,
    INPUT,
    KINDS,
    Choice,
    Measurement,
    Pair,
    Row,
    channels_of,
    drawn,
    facts,
    groups,
    rows,
)
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.session.commands import SetInput
from rtmbs.viewer.text import figures, with_unit

ROLE = Qt.ItemDataRole.UserRole
Array = NDArray[np.float64]

EXPANDED = 40  # a group with more elements is closed at first


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
        """List the elements of a mechanism; a choice stays when the element exists."""
        selection, scene = self.selection, self.selection.canvas.scene
        self.tree.describe(description)
        self.tree.tick(selection.hidden.choices)
        self.inspector.describe(description)
        self.measuring.describe(description, selection.pairs)
        if scene is not None:
            self.cutting.set_room(scene.points())
        self.choose(selection.choice)

    def choose(self, choice: Choice | None) -> None:
        """Show the chosen element."""
        self.tree.choose(choice)
        self.inspector.show_choice(choice)

    def tick(self, hidden: set[Choice]) -> None:
        """Show the hidden elements."""
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
    """Panel of the values of one element; it requests them only while it is visible."""

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
        """Show the values of a frame; a frame with values of another element is left out."""
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
        """Return the shown lines."""
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
        """List the ends of measurements; ``pairs`` are measured already."""
        for box in (self.start, self.end):
            box.clear()
            for choices in groups(description).values():
                for choice in choices:
                    if choice.kind in KINDS:
                        box.addItem(f"{choice.name} ({choice.kind})", choice)
        self.end.setCurrentIndex(min(1, self.end.count() - 1))  # an element is not measured to itself
        self.take(pairs)

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
            self.take([*self.pairs, pair])
            self.changed.emit(self.pairs)

    def remove(self) -> None:
        """Forget the measurement that is marked, or the last one."""
        if self.pairs:
            marked = self.table.currentItem()
            del self.pairs[-1 if marked is None else self.table.indexOfTopLevelItem(marked)]
            self.take(self.pairs)
            self.changed.emit(self.pairs)

    def take(self, pairs: list[Pair]) -> None:
        """List the measured pairs."""
        self.pairs = list(pairs)
        self.table.clear()
        for one, other in self.pairs:
            QTreeWidgetItem(self.table, [f"{one.name} \N{RIGHTWARDS ARROW} {other.name}"])

    def show_readings(self, measurements: list[Measurement]) -> None:
        """Write the present distances, in the order of the pairs."""
        for item, one in zip(tops(self.table), measurements, strict=False):
            if (reading := one.reading) is not None:
                item.setText(1, with_unit(reading.distance, "m", 5))
                item.setText(2, "  ".join(figures(value, 4) for value in reading.vector.tolist()))
                item.setText(3, f"{reading.angle:.2f}\N{DEGREE SIGN}")


# ---- section ---------------------------------------------------------------------------------------------------------

NONE = "nothing"
BEYOND = 0.05  # of the slider beyond the mechanism, in its size


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
        self._room = np.array([-np.ones(3), np.ones(3)])  # (2, 3) least and greatest places [m]
        self.axis.currentTextChanged.connect(lambda _: self._turn_axis())
        self.turned.toggled.connect(lambda _: self._changed())
        self.place.changed.connect(lambda _: self._changed())
        self.place.refused.connect(lambda why: self.refused.emit(f"section: {why}"))
        self._enable()

    def set_room(self, points: Array) -> None:
        """Set the range of the slider for a mechanism with these world points (k, 3) [m]."""
        self._room = np.array([points.min(axis=0), points.max(axis=0)])
        self._begin()

    def _begin(self) -> None:
        """Put the plane into the middle of the mechanism along the chosen axis."""
        if (axis := self.axis.currentText()) != NONE:
            low, high = self._room[:, list(AXIS_NORMALS).index(axis)].tolist()
            beyond = BEYOND * max(high - low, 1e-6)
            self.place.low, self.place.high = low - beyond, high + beyond
            self.place.set_value(0.5 * (low + high))

    def _turn_axis(self) -> None:
        self._begin()
        self._changed()

    def section(self) -> Section | None:
        """Return the section plane."""
        axis = self.axis.currentText()
        return None if axis == NONE else section_normal_to(axis, self.place.value(), self.turned.isChecked())

    def _changed(self) -> None:
        self._enable()
        self.changed.emit(self.section())

    def _enable(self) -> None:
        for one in (self.place, self.turned):
            one.setEnabled(self.axis.currentText() != NONE)


class ModelTree(QWidget):
    """A tick means that an element is drawn; a click chooses."""

    chosen = Signal(object)  # a Choice, by a click or the arrow keys
    hidden = Signal(object)  # every Choice whose tick is off
    isolated = Signal(object)  # a Choice
    measured = Signal(object, bool)  # a Choice; True: to there, False: from there

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.filter, self.tree = QLineEdit(), QTreeWidget()
        self.filter.setPlaceholderText("find an element")
        self.filter.setClearButtonEnabled(True)
        self.tree.setHeaderHidden(True)
        self.tree.setUniformRowHeights(True)
        self.tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        column = QVBoxLayout(self)
        column.setContentsMargins(4, 4, 4, 4)
        column.addWidget(self.filter)
        column.addWidget(self.tree)
        self._items: dict[Choice, QTreeWidgetItem] = {}
        self._drawn: set[Choice] = set()  # what has a tick
        self._soon = QTimer(self, singleShot=True, interval=0)  # a group changes the ticks of all its elements
        self._soon.timeout.connect(lambda: self.hidden.emit(self.unticked()))
        self.filter.textChanged.connect(self._find)
        self.tree.itemChanged.connect(lambda *_: self._soon.start())
        self.tree.currentItemChanged.connect(self._current)
        self.tree.customContextMenuRequested.connect(self._menu)

    def describe(self, description: SceneDescription) -> None:
        """List the elements of a mechanism."""
        with QSignalBlocker(self.tree):
            self.tree.clear()
            self._items, self._drawn = {}, drawn(description)
            for heading, choices in groups(description).items():
                self._group(heading, choices)
        self._find(self.filter.text())

    def _group(self, heading: str, choices: list[Choice]) -> None:
        top = QTreeWidgetItem(self.tree, [f"{heading} ({len(choices)})"])
        if self._drawn.intersection(choices):
            top.setFlags(top.flags() | Qt.ItemFlag.ItemIsUserCheckable | Qt.ItemFlag.ItemIsAutoTristate)
        for choice in choices:
            item = self._items[choice] = QTreeWidgetItem(top, [choice.name])
            item.setData(0, ROLE, choice)
            if choice in self._drawn:
                item.setCheckState(0, Qt.CheckState.Checked)
        top.setExpanded(len(choices) <= EXPANDED)

    # ---- what the window says -----------------------------------------------------------------------------------

    def choose(self, choice: Choice | None) -> None:
        """Select the chosen element, without a signal."""
        item = None if choice is None else self._items.get(choice)
        with QSignalBlocker(self.tree):
            self.tree.clearSelection()
            if item is None:
                self.tree.setCurrentIndex(QModelIndex())
            else:
                self.tree.setCurrentItem(item)
                self.tree.scrollToItem(item)
        self.tree.viewport().update()

    def tick(self, hidden: set[Choice]) -> None:
        """Tick the drawn elements, without a signal."""
        with QSignalBlocker(self.tree):
            for choice in self._drawn:
                state = Qt.CheckState.Unchecked if choice in hidden else Qt.CheckState.Checked
                self._items[choice].setCheckState(0, state)
        self.tree.viewport().update()

    def unticked(self) -> set[Choice]:
        """Return the hidden elements."""
        return {choice for choice in self._drawn if self._items[choice].checkState(0) == Qt.CheckState.Unchecked}

    # ---- what the user does -------------------------------------------------------------------------------------

    def _current(self, item: QTreeWidgetItem | None, _: object) -> None:
        choice = None if item is None else item.data(0, ROLE)
        if choice is not None:
            self.chosen.emit(Choice(*choice))

    def _find(self, text: str) -> None:
        """Show the elements whose names hold every word of ``text``, and the groups that have such elements."""
        words = text.lower().split()
        for top in tops(self.tree):
            own = children(top)
            for item in own:
                item.setHidden(not all(word in item.text(0).lower() for word in words))
            top.setHidden(all(item.isHidden() for item in own))
            top.setExpanded(bool(words) or len(own) <= EXPANDED)

    def _menu(self, place: QPoint) -> None:
        item = self.tree.itemAt(place)
        data = None if item is None else item.data(0, ROLE)
        if data is None:
            return
        menu = QMenu(self)
        for text, does in self.offers(Choice(*data)):
            menu.addAction(text).triggered.connect(lambda *_, does=does: does())
        menu.exec(self.tree.viewport().mapToGlobal(place))

    def offers(self, choice: Choice) -> list[tuple[str, Callable[[], None]]]:
        """Return the lines of the context menu of an element, with their actions."""
        found: list[tuple[str, Callable[[], None]]] = []
        if choice in self._drawn:
            off = choice in self.unticked()
            found.append(("Show" if off else "Hide", lambda: self.hidden.emit(self.unticked() ^ {choice})))
        found.append(("Show only this", lambda: self.isolated.emit(choice)))
        found.append(("Show all", lambda: self.hidden.emit(set())))
        if choice.kind in KINDS:
            found.append(("Measure from here", lambda: self.measured.emit(choice, False)))
            found.append(("Measure to here", lambda: self.measured.emit(choice, True)))
        return found


def children(item: QTreeWidgetItem) -> list[QTreeWidgetItem]:
    """Return the items right below one."""
    return [child for k in range(item.childCount()) if (child := item.child(k)) is not None]


def tops(tree: QTreeWidget) -> list[QTreeWidgetItem]:
    """Return the items of the highest level."""
    return children(tree.invisibleRootItem())

"""The inspector: what is known about the chosen element, its present values, and its inputs."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QFormLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from rtmbs.viewer.panels.inputs import SliderSpin
from rtmbs.viewer.panels.items import tops
from rtmbs.viewer.scene.choices import FORCE, INPUT, Choice, Row, channels_of, facts, rows
from rtmbs.viewer.scene.description import InputDescription, SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.numbers import figures
from rtmbs.viewer.session.commands import SetInput

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
        """Ask for the values while somebody sees them."""
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

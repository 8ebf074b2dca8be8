"""The bar over the plots: what they are drawn over, a second run beside the first, export, and values at the cursor."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QFileDialog, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

TIME, FREQUENCY = "time", "frequency"
RESULTS = "Results (*.npz *.h5 *.hdf5)"
EXPORTS = "Numbers (*.csv);;Picture (*.png);;Drawing (*.svg)"


class Elided(QLabel):
    """A line of text that ends in a mark where it has too little room; its tip has the whole."""

    def say(self, text: str) -> None:
        """Show a text."""
        self.setToolTip(text)
        self._cut()

    def _cut(self) -> None:
        fitting = self.fontMetrics().elidedText(self.toolTip(), Qt.TextElideMode.ElideRight, self.width())
        self.setText(fitting)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._cut()
        super().resizeEvent(event)


class PlotBar(QWidget):
    """Emits what the user asks for; paths come from dialogs."""

    changed = Signal()  # another choice of ``over``
    compared = Signal(str)  # path of a result, "" to leave off
    exported = Signal(str)  # path

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choice, self.values = QComboBox(), Elided()
        self.compare, self.export = QPushButton("Compare ..."), QPushButton("Export ...")
        self.choice.setToolTip("what the plots are drawn over: time, frequency, or another channel that is ticked")
        self.compare.setToolTip("draw the same channels of a recorded result beside these, dashed")
        self.export.setToolTip("write what is seen: numbers (.csv), a picture (.png) or a drawing (.svg)")
        self.choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        # The values take what room there is: a long text would push the tree of channels away.
        self.values.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 2, 4, 2)
        for widget, stretch in ((QLabel("over"), 0), (self.choice, 0), (self.values, 1)):
            row.addWidget(widget, stretch)
        for button in (self.compare, self.export):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
            row.addWidget(button)
        self.choice.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.offer(())
        self.choice.currentTextChanged.connect(lambda _: self.changed.emit())
        self.compare.clicked.connect(self._ask_for_result)
        self.export.clicked.connect(self._ask_for_path)

    @property
    def over(self) -> str:
        """What the plots are drawn over: TIME, FREQUENCY or a component of a channel."""
        return self.choice.currentText() or TIME

    def offer(self, components: Sequence[str]) -> None:
        """Offer these components; a choice that is no longer among them becomes TIME."""
        old = self.over
        offered = [TIME, FREQUENCY, *components]
        with QSignalBlocker(self.choice):
            self.choice.clear()
            self.choice.addItems(offered)
            self.choice.setCurrentText(old if old in offered else TIME)

    def show_values(self, text: str) -> None:
        """Show the values at the cursor; where there is too little room, the tip has them all."""
        self.values.say(text)

    def show_compared(self, name: str) -> None:
        """Say on the button what is compared."""
        self.compare.setText(f"Leave off {name}" if name else "Compare ...")

    def _ask_for_result(self) -> None:
        if self.compare.text() != "Compare ...":
            self.compared.emit("")
        elif path := QFileDialog.getOpenFileName(self, "Compare with a recorded result", "", RESULTS)[0]:
            self.compared.emit(path)

    def _ask_for_path(self) -> None:
        path, kind = QFileDialog.getSaveFileName(self, "Export what is seen", "plot.csv", EXPORTS)
        if path:
            self.exported.emit(with_ending(path, kind))


def with_ending(path: str, kind: str) -> str:
    """Return a path with the ending of the ``kind`` that a dialog has chosen, "Picture (*.png)", where it has none."""
    ending = kind.partition("*")[2].rstrip(")")
    return path if Path(path).suffix else f"{path}{ending}"

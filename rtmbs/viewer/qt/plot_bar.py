"""Bar over the plots: what they are drawn over, window of time, layout, comparison, export."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QDoubleSpinBox,
    QFileDialog,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from rtmbs.results.curves import CHOSEN, FREQUENCY, OVER_TIME, WINDOWS, Window
from rtmbs.results.figure import LEAST, MOST, SIZES, STYLES, Look

TIME = OVER_TIME
RESULTS = "Results (*.npz *.h5 *.hdf5)"
EXPORTS = "Drawing (*.pdf);;Drawing (*.svg);;Picture (*.png);;Numbers (*.csv)"
HEIGHTS = {"small plots": 110, "medium plots": 170, "large plots": 320}  # [pixels]
LAYOUTS = {"one plot a channel": "channel", "one plot a unit": "unit"}
OWN_SIZE = "width x height"


class ElidedLabel(QLabel):
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
    """Tool bar of the plots: emits requests; paths come from dialogs."""

    changed = Signal()  # another choice of ``over``, of what shares a plot, of height, of degrees
    windowed = Signal(str)  # one of WINDOWS
    compared = Signal(str)  # path of a result, "" to leave off
    exported = Signal(str)  # path

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.choice, self.window_choice, self.values = QComboBox(), QComboBox(), ElidedLabel()
        self.layout_button = QToolButton()
        self.compare, self.export = QPushButton("Compare ..."), QPushButton("Export ...")
        self.layout_button.setText("Layout")
        self.layout_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.look = Look("page")  # of exported figures
        self.choice.setToolTip("what the plots are drawn over: time, frequency, or another channel that is ticked")
        self.window_choice.setToolTip(
            "times that are shown; the wheel zooms the time, a drag moves it, a double click comes back to this window"
        )
        self.compare.setToolTip("draw the same channels of a recorded result beside these, dashed")
        self.export.setToolTip("write what is seen: a figure of a stated size (.pdf, .svg, .png) or numbers (.csv)")
        for choice in (self.choice, self.window_choice):
            choice.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            choice.setMinimumContentsLength(8 if choice is self.window_choice else 18)
        self.window_choice.addItems(list(WINDOWS))
        # The values take what room there is: a long text would push the tree of channels away.
        self.values.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.layout_button.setMenu(self._make_menu())
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 2, 4, 2)
        for widget in (QLabel("over"), self.choice, self.window_choice, self.layout_button):
            row.addWidget(widget)
        row.addWidget(self.values, 1)
        for button in (self.compare, self.export):
            row.addWidget(button)
        own: tuple[QWidget, ...] = (
            self.choice, self.window_choice, self.layout_button, self.compare, self.export,
        )  # fmt: skip
        for one in own:
            one.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
        self.offer(())
        self.choice.currentTextChanged.connect(lambda _: self.changed.emit())
        self.window_choice.textActivated.connect(self.windowed.emit)
        self.compare.clicked.connect(self._ask_for_result)
        self.export.clicked.connect(self._ask_for_path)

    def _make_menu(self) -> QMenu:
        """Return the menu of the layout."""
        menu = QMenu(self)
        self.layouts, self.heights = (self._choices(menu, list(words)) for words in (LAYOUTS, HEIGHTS))
        self.layouts[0].setChecked(True)
        self.heights[1].setChecked(True)
        self.angles = QAction("angles in degrees", menu, checkable=True)
        self.angles.triggered.connect(lambda _: self.changed.emit())
        menu.addAction(self.angles)
        return menu

    def _choices(self, menu: QMenu, words: Sequence[str]) -> list[QAction]:
        """Add actions to a menu, of which one is on."""
        group = QActionGroup(self)
        actions = [QAction(word, menu, checkable=True) for word in words]
        for action in actions:
            group.addAction(action)
            menu.addAction(action)
            action.triggered.connect(lambda _: self.changed.emit())
        menu.addSeparator()
        return actions

    @property
    def over(self) -> str:
        """Abscissa of the plots: TIME, FREQUENCY or a component of a channel."""
        return self.choice.currentText() or TIME

    @property
    def together(self) -> str:
        """What shares a plot: "channel" or "unit"."""
        return next(LAYOUTS[action.text()] for action in self.layouts if action.isChecked())

    @property
    def height_of_plots(self) -> int:
        """Least height of a plot [pixels]."""
        return next(HEIGHTS[action.text()] for action in self.heights if action.isChecked())

    @property
    def degrees(self) -> bool:
        """True for angles in degrees."""
        return self.angles.isChecked()

    def offer(self, components: Sequence[str]) -> None:
        """Offer these components; a choice that is no longer among them becomes TIME."""
        old = self.over
        offered = [TIME, FREQUENCY, *components]
        with QSignalBlocker(self.choice):
            self.choice.clear()
            self.choice.addItems(offered)
            self.choice.setCurrentText(old if old in offered else TIME)

    def show_window(self, window: Window) -> None:
        """Show the window of time; a chosen one is offered while it lasts."""
        words = next((words for words, one in WINDOWS.items() if one == window), CHOSEN)
        place = self.window_choice.findText(CHOSEN)
        if words == CHOSEN and place < 0:
            self.window_choice.addItem(CHOSEN)
        elif words != CHOSEN and place >= 0:
            self.window_choice.removeItem(place)
        self.window_choice.setCurrentText(words)

    def show_values(self, text: str) -> None:
        """Show the values at the cursor; where there is too little room, the tip has them all."""
        self.values.say(text)

    def show_compared(self, name: str) -> None:
        """Show the name of the compared run on the button."""
        self.compare.setText(f"Leave off {name}" if name else "Compare ...")

    def _ask_for_result(self) -> None:
        if self.compare.text() != "Compare ...":
            self.compared.emit("")
        elif path := QFileDialog.getOpenFileName(self, "Compare with a recorded result", "", RESULTS)[0]:
            self.compared.emit(path)

    def _ask_for_path(self) -> None:
        dialog = LookDialog(self.look, self)
        if dialog.exec() != QDialog.DialogCode.Accepted:
            return
        self.look = dialog.look
        path, kind = QFileDialog.getSaveFileName(self, "Export what is seen", "plot.pdf", EXPORTS)
        if path:
            self.exported.emit(with_ending(path, kind))


class LookDialog(QDialog):
    """Dialog for size and style of an exported figure."""

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Export what is seen")
        self.size_choice, self.style_choice = QComboBox(), QComboBox()
        for name, (width, height) in SIZES.items():
            self.size_choice.addItem(f"{name}, {width:g} x {height:g} mm", name)
        self.size_choice.addItem(OWN_SIZE, "")
        self.style_choice.addItems(list(STYLES))
        self.numbers = [QDoubleSpinBox(minimum=LEAST, maximum=MOST, decimals=1, suffix=" mm") for _ in range(2)]
        form = QFormLayout(self)
        form.addRow("size", self.size_choice)
        for label, number in zip(("width", "height"), self.numbers, strict=True):
            form.addRow(label, number)
        form.addRow("style", self.style_choice)
        form.addRow(QLabel("letters of 8 points; numbers (.csv) have no size"))
        kinds = QDialogButtonBox.StandardButton
        buttons = QDialogButtonBox(kinds.Ok | kinds.Cancel)
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        form.addRow(buttons)
        self.size_choice.currentIndexChanged.connect(lambda _: self._show_numbers())
        named = look.size if isinstance(look.size, str) else ""
        self.size_choice.setCurrentIndex(self.size_choice.findData(named))
        self.style_choice.setCurrentText(look.style)
        self._show_numbers()
        if not named and look.size is not None:
            for number, value in zip(self.numbers, look.size, strict=True):
                number.setValue(value)

    def _show_numbers(self) -> None:
        name = self.size_choice.currentData()
        for k, number in enumerate(self.numbers):
            number.setEnabled(not name)
            if name:
                number.setValue(SIZES[name][k])

    @property
    def look(self) -> Look:
        """Size and style that are chosen."""
        name = self.size_choice.currentData()
        size = name or tuple(number.value() for number in self.numbers)
        return Look(size, self.style_choice.currentText())


def with_ending(path: str, kind: str) -> str:
    """Return a path with the ending of the ``kind`` that a dialog has chosen, "Picture (*.png)", where it has none."""
    ending = kind.partition("*")[2].rstrip(")")
    return path if Path(path).suffix else f"{path}{ending}"

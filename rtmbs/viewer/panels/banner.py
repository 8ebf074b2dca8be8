"""The banner: one sentence over the picture that stays until it is answered."""

from collections.abc import Collection

from PySide6.QtCore import Qt, Signal, SignalInstance
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from rtmbs.viewer.scene.theme import Theme
from rtmbs.viewer.session.connection import Offer

MOST = 600  # characters; an exception's text may be a page
LINES = 14  # of a traceback that are in sight


class Banner(QFrame):
    """Shows a failure with the ways out, or another sentence; ``grave`` belongs in the middle of the picture."""

    back = Signal()  # "back 10 steps"
    reload = Signal()
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.grave = False
        self.text, self.details = QLabel(wordWrap=True), QPlainTextEdit(readOnly=True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)  # a name of the user's may look like HTML
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        # A text that has the keyboard would hand it to the next field when the banner goes.
        self.details.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.back_button, self.reload_button = QPushButton("Back 10 steps"), QPushButton("Reload")
        self.details_button, self.close_button = QPushButton("Details"), QPushButton("Close")
        self.details_button.setCheckable(True)
        self.back_button.clicked.connect(lambda: self._go(self.back))
        self.reload_button.clicked.connect(lambda: self._go(self.reload))
        self.details_button.toggled.connect(self._unfold)
        self.close_button.clicked.connect(self.dismiss)
        column, row = QVBoxLayout(self), QHBoxLayout()
        column.setContentsMargins(14, 10, 10, 10)
        row.addStretch(1)
        for button in (self.details_button, self.back_button, self.reload_button, self.close_button):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
            row.addWidget(button)
        column.addWidget(self.text)
        column.addWidget(self.details)
        column.addLayout(row)
        self.set_theme(theme)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self.setStyleSheet(
            f"Banner {{ background: {theme.panel}; border: 1px solid {theme.bad}; border-left: 6px solid {theme.bad};"
            f" border-radius: 4px; }} QLabel {{ color: {theme.text}; font-size: 13px; border: none; }}"
            f" QPlainTextEdit {{ color: {theme.text}; background: {theme.field}; font-family: monospace; }}"
        )

    def tell(self, sentence: str, offers: Collection[Offer] = (), details: str = "", grave: bool = False) -> None:
        """Show a sentence, with a button for each way out, and one that shows ``details``."""
        self.grave = grave or bool(offers) or bool(details)
        self.text.setText(sentence if len(sentence) <= MOST else f"{sentence[:MOST]} ...")
        self.details.setPlainText(details)
        self.details_button.setChecked(False)
        self.details.hide()
        self.details_button.setVisible(bool(details))
        self.back_button.setVisible("back" in offers)
        self.reload_button.setVisible("reload" in offers)
        self.show()
        self.raise_()

    def pass_on(self, took_effect: bool) -> None:
        """Leave when a later change took effect: what an earlier text was refused for is over."""
        if took_effect and not self.grave:
            self.hide()

    def dismiss(self) -> None:
        """Hide, and leave the keyboard to the window."""
        self.hide()
        self.closed.emit()

    def _unfold(self, shown: bool) -> None:
        lines = min(self.details.blockCount() + 1, LINES)
        self.details.setFixedHeight(self.details.fontMetrics().lineSpacing() * lines + 16)
        self.details.setVisible(shown)
        middle = self.geometry().center()
        self.fit(self.width())
        self.move(self.x(), max(middle.y() - self.height() // 2, 0))

    def fit(self, width: int) -> None:
        """Be so wide, and as high as the sentence needs at this width; ``adjustSize`` would ask at another one."""
        self.setFixedWidth(width)
        layout = self.layout()
        assert layout is not None
        layout.activate()
        self.resize(width, layout.totalHeightForWidth(width))

    def _go(self, way: SignalInstance) -> None:
        self.dismiss()
        way.emit()

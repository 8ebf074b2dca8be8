"""The banner: one sentence over the picture that stays until it is answered."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from rtmbs.viewer.theme import Theme

MOST = 600  # characters; an exception's text may be a page


class Banner(QFrame):
    """Shows a failure with a way out, or another sentence."""

    back = Signal()  # "back 10 steps"
    closed = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = QLabel(wordWrap=True)
        self.text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.back_button, self.close_button = QPushButton("Back 10 steps"), QPushButton("Close")
        self.back_button.clicked.connect(self._go_back)
        self.close_button.clicked.connect(self.dismiss)
        row = QHBoxLayout(self)
        row.setContentsMargins(14, 8, 10, 8)
        for widget in (self.text, self.back_button, self.close_button):
            row.addWidget(widget)
        self.set_theme(theme)
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self.setStyleSheet(
            f"Banner {{ background: {theme.panel}; border: 1px solid {theme.bad}; border-left: 6px solid {theme.bad};"
            f" border-radius: 4px; }} QLabel {{ color: {theme.text}; font-size: 13px; border: none; }}"
        )

    def tell(self, sentence: str, offer_back: bool) -> None:
        """Show a sentence, with the button that goes back when a step failed."""
        self.text.setText(sentence if len(sentence) <= MOST else f"{sentence[:MOST]} ...")
        self.back_button.setVisible(offer_back)
        self.show()
        self.raise_()

    def dismiss(self) -> None:
        """Hide."""
        self.hide()
        self.closed.emit()

    def _go_back(self) -> None:
        self.hide()
        self.back.emit()

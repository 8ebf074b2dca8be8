"""What is being waited for, in the middle of the picture, with a bar that moves whenever something is done.

The bar has no animation of its own: without a graphics card every repaint would take time from what is waited for.
"""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QProgressBar, QVBoxLayout, QWidget

from rtmbs.viewer.scene.theme import Theme

WIDTH = 320
PLACES = 12


class Waiting(QFrame):
    """A sentence over a bar; mouse and keys pass through it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.text, self.bar = QLabel("starting the session ..."), QProgressBar()
        self.text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.bar.setRange(0, PLACES)  # nobody knows how many kernels there will be: it begins anew at its end
        self.bar.setTextVisible(False)
        self.bar.setFixedSize(WIDTH, 6)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 10, 16, 12)
        column.addWidget(self.text)
        column.addWidget(self.bar, alignment=Qt.AlignmentFlag.AlignHCenter)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self.setStyleSheet(
            f"Waiting {{ background: {theme.panel}; border: 1px solid {theme.border}; border-radius: 4px; }}"
            f" QLabel {{ color: {theme.text}; font-size: 14px; background: transparent; }}"
            f" QProgressBar {{ border: none; background: {theme.field}; }}"
            f" QProgressBar::chunk {{ background: {theme.accent}; }}"
        )

    def tell(self, sentence: str) -> None:
        """Show what is being waited for."""
        self.text.setText(sentence)
        self.adjustSize()
        self.show()

    def show_message(self, kind: str, text: str) -> None:
        """Show what a session says is under way, until it says anything else."""
        if kind in ("busy", "progress"):
            self.bar.setValue(self.bar.value() % PLACES + 1)
            self.tell(text)
        else:
            self.hide()

"""The map of keys (F1), made of the table of keys."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QScrollArea, QWidget

from rtmbs.viewer.keys import FILES, KEYS, LOOK, MOUSE, RUN, SHOW, shown
from rtmbs.viewer.panels.info import escaped
from rtmbs.viewer.scene.theme import Theme

COLUMNS = ((RUN, LOOK), (SHOW,), (FILES, "Mouse"))


class Help(QScrollArea):
    """Lies in the middle of the picture until F1 or Esc; a small picture scrolls it."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.map = QLabel()
        self.map.setTextFormat(Qt.TextFormat.RichText)
        self.setWidget(self.map)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
        self._theme, self._written = theme, False
        self.hide()

    def set_theme(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self._theme, self._written = theme, False
        if self.isVisible():
            self.write()

    def write(self) -> None:
        """Lay the map out, unless it is as it should be: most windows never show it."""
        if self._written:
            return
        self._written, theme = True, self._theme
        self.setStyleSheet(
            f"QScrollArea {{ background: {theme.panel}; border: 1px solid {theme.border}; border-radius: 6px; }}"
            f" QLabel {{ background: {theme.panel}; color: {theme.text}; padding: 10px 18px; font-size: 12px; }}"
        )
        self.map.setText(help_text(theme))

    def text(self) -> str:
        """Return the map as rich text."""
        self.write()
        return self.map.text()

    def center_in(self, width: int, height: int) -> None:
        """Stand in the middle of an area of pixels, as large as it has room; hidden, it stands nowhere."""
        if not self.isVisible():
            return
        self.write()
        self.map.adjustSize()
        frame, bar = 2 * self.frameWidth(), self.verticalScrollBar().sizeHint()
        wide, high = self.map.width() + frame, self.map.height() + frame
        wide, high = wide + bar.width() * (high > height), high + bar.width() * (wide > width)
        self.resize(min(wide, width), min(high, height))
        self.move(max((width - self.width()) // 2, 0), max((height - self.height()) // 2, 0))


def help_text(theme: Theme) -> str:
    """Return the map as rich text in three columns."""
    cells = "".join(
        f'<td valign="top" style="padding-right: 26px">{"".join(group_text(group, theme) for group in column)}</td>'
        for column in COLUMNS
    )
    return f'<table cellspacing="0" cellpadding="0"><tr>{cells}</tr></table>'


def group_text(group: str, theme: Theme) -> str:
    """Return one group: a heading, then key and text a row."""
    rows = [(shown(key.keys), key.text) for key in KEYS if key.group == group] or list(MOUSE)
    lines = "".join(
        f'<tr><td style="color: {theme.accent}; padding-right: 12px; white-space: nowrap"><b>{escaped(keys)}</b></td>'
        f'<td style="white-space: nowrap">{escaped(text)}</td></tr>'
        for keys, text in rows
    )
    heading = f'<tr><td colspan="2" style="color: {theme.muted}; padding-top: 8px">{group.upper()}</td></tr>'
    return f'<table cellspacing="0" cellpadding="2">{heading}{lines}</table>'

"""How the widgets look in a theme: a palette, and a few rules."""

from pathlib import Path

from PySide6.QtGui import QColor, QPalette

from rtmbs.viewer.scene.theme import Theme

TICK = (Path(__file__).parent / "panels" / "tick.svg").as_posix()


def palette(theme: Theme) -> QPalette:
    """Return the palette of all widgets."""
    made, role = QPalette(), QPalette.ColorRole
    colors = {
        role.Window: theme.panel,
        role.Base: theme.panel,
        role.AlternateBase: theme.field,
        role.Button: theme.field,
        role.ToolTipBase: theme.panel,
        role.Text: theme.text,
        role.WindowText: theme.text,
        role.ButtonText: theme.text,
        role.ToolTipText: theme.text,
        role.PlaceholderText: theme.muted,
        role.Highlight: theme.accent,
        role.HighlightedText: "#ffffff",
        role.Link: theme.accent,
        role.Mid: theme.border,
        role.Light: theme.border,
    }
    for which, color in colors.items():
        made.setColor(which, QColor(color))
    for which in (role.Text, role.WindowText, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, which, QColor(theme.muted))
    return made


def sheet(theme: Theme) -> str:
    """Return the rules that a palette cannot say."""
    return f"""
        QMainWindow::separator {{ background: {theme.border}; width: 1px; height: 1px; }}
        QDockWidget {{ color: {theme.muted}; }}
        QDockWidget::title {{ background: {theme.field}; padding: 4px 8px; }}
        QMenuBar {{ background: {theme.panel}; }}
        QMenuBar::item:selected, QMenu::item:selected {{ background: {theme.accent}; color: #ffffff; }}
        QMenu {{ background: {theme.panel}; border: 1px solid {theme.border}; }}
        QStatusBar {{ background: {theme.panel}; color: {theme.muted}; border-top: 1px solid {theme.border}; }}
        QTreeView {{ border: none; }}
        QTreeView::indicator, QCheckBox::indicator {{
            width: 12px; height: 12px; border: 1px solid {theme.muted}; border-radius: 2px; background: {theme.field};
        }}
        QTreeView::indicator:checked, QCheckBox::indicator:checked {{
            border-color: {theme.accent}; background: {theme.accent}; image: url("{TICK}");
        }}
        QTreeView::indicator:indeterminate {{ background: {theme.muted}; }}
        QSplitter::handle {{ background: {theme.border}; }}
        QPlainTextEdit {{ border: none; font-family: monospace; }}
    """

"""Style of widgets and plots in a theme: a palette, style sheet rules, and axes of plots."""

from pathlib import Path
from typing import Any

from PySide6.QtGui import QColor, QPalette

from rtmbs.viewer.scene.theme import Theme

TICK = (Path(__file__).parent / "tick.svg").as_posix()


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


# ---- plots -----------------------------------------------------------------------------------------------------------


def axis_style(plot: Any, theme: Theme) -> None:
    """Give the axes of a plot the colours of a theme, and a faint grid."""
    for side in ("left", "bottom"):
        axis: Any = plot.getAxis(side)
        axis.setPen(theme.border)
        axis.setTextPen(theme.muted)
        axis.enableAutoSIPrefix(False)  # a label says the unit of the numbers as they stand
        axis.setStyle(tickTextOffset=4, tickLength=-4)
    plot.showGrid(x=True, y=True, alpha=0.18)


def styled(text: str, theme: Theme) -> str:
    """Return the title of a plot as small rich text."""
    return f'<span style="color: {theme.text}; font-size: 9pt">{text}</span>'

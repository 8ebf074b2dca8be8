"""How plots look in a theme."""

from typing import Any

import pyqtgraph as pg

from rtmbs.viewer.scene.theme import Theme


def axis_style(plot: pg.PlotItem, theme: Theme) -> None:
    """Give the axes of a plot the colours of a theme, and a faint grid."""
    for side in ("left", "bottom"):
        axis: Any = plot.getAxis(side)
        axis.setPen(pg.mkPen(theme.border))
        axis.setTextPen(pg.mkPen(theme.muted))
        axis.enableAutoSIPrefix(False)  # a label says the unit of the numbers as they stand
        axis.setStyle(tickTextOffset=4, tickLength=-4)
    plot.showGrid(x=True, y=True, alpha=0.18)


def styled(text: str, theme: Theme) -> str:
    """Return the title of a plot as small rich text."""
    return f'<span style="color: {theme.text}; font-size: 9pt">{text}</span>'

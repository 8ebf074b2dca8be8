"""The docks of a window: which panel stands where."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QFrame, QScrollArea, QWidget

if TYPE_CHECKING:
    from rtmbs.viewer.window import Window

RIGHT, BOTTOM = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
SIDE, LOW, HIGH = 380, 230, 320  # pixels of the docks at the right and at the bottom


def make_docks(window: "Window") -> dict[str, QDockWidget]:
    """Give a window a dock for each of its panels, all hidden, and return them by the name of their action."""
    docks = {
        "model": dock(window, "Model", window.model_panel, RIGHT),
        "parameters": dock(window, "Parameters", window.parameters_panel, RIGHT),
        "profiler": dock(window, "Profiler", window.profiler_panel, BOTTOM),
        "plots": dock(window, "Plots", window.plots_panel, BOTTOM),
        "log": dock(window, "Log", window.log_panel, BOTTOM),
    }
    window.tabifyDockWidget(docks["model"], docks["parameters"])
    window.tabifyDockWidget(docks["profiler"], docks["plots"])
    window.tabifyDockWidget(docks["plots"], docks["log"])
    window.resizeDocks([docks["model"], docks["parameters"]], [SIDE, SIDE], Qt.Orientation.Horizontal)
    window.resizeDocks([docks["profiler"], docks["plots"]], [LOW, HIGH], Qt.Orientation.Vertical)
    return docks


def dock(window: "Window", title: str, panel: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
    """Return a hidden dock with a panel, which scrolls where it has too little room: a small screen has all panels."""
    made, room = QDockWidget(title, window), QScrollArea(widgetResizable=True)
    made.setObjectName(title)
    room.setFrameShape(QFrame.Shape.NoFrame)
    room.setWidget(panel)
    room.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
    made.setWidget(room)
    window.addDockWidget(area, made)
    made.hide()
    made.visibilityChanged.connect(window.redraw_soon)
    return made

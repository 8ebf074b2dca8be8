"""The docks of a window: which panel stands where. A dock asks for its panel before it is first shown."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QFrame, QScrollArea

if TYPE_CHECKING:
    from rtmbs.viewer.window import Window

RIGHT, BOTTOM = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
SIDE, LOW, HIGH = 380, 230, 320  # pixels of the docks at the right and at the bottom


def make_docks(window: "Window") -> "dict[str, Dock]":
    """Give a window its docks, all hidden, and return them by the name of their action."""
    docks = {
        name: Dock(window, name, area)
        for area, names in ((RIGHT, ("model", "parameters")), (BOTTOM, ("profiler", "plots", "log")))
        for name in names
    }
    docks["log"].room.setWidget(window.log_panel)
    window.tabifyDockWidget(docks["model"], docks["parameters"])
    window.tabifyDockWidget(docks["profiler"], docks["plots"])
    window.tabifyDockWidget(docks["plots"], docks["log"])
    window.resizeDocks([docks["model"], docks["parameters"]], [SIDE, SIDE], Qt.Orientation.Horizontal)
    window.resizeDocks([docks["profiler"], docks["plots"]], [LOW, HIGH], Qt.Orientation.Vertical)
    return docks


class Dock(QDockWidget):
    """A hidden dock whose panel scrolls where there is too little room: a small screen has all panels."""

    def __init__(self, window: "Window", name: str, area: Qt.DockWidgetArea) -> None:
        super().__init__(name.capitalize(), window)
        self._window, self._name = window, name
        self.setObjectName(name.capitalize())
        room = self.room = QScrollArea(widgetResizable=True)
        room.setFrameShape(QFrame.Shape.NoFrame)
        room.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
        self.setWidget(room)
        window.addDockWidget(area, self)
        self.hide()
        self.visibilityChanged.connect(window.redraw_soon)

    def setVisible(self, visible: bool) -> None:
        if visible:
            self._window.panels.make(self._name)
        super().setVisible(visible)

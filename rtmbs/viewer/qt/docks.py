"""Docks of a window and their panels, each panel made when the user first opens it, or when the window needs it.

Before that a window imports nothing for plots and editors, so its first picture comes earlier.
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QFrame, QMainWindow, QScrollArea, QWidget

from rtmbs.viewer.qt.selection import Selection
from rtmbs.viewer.scene.choices import Choice
from rtmbs.viewer.scene.description import SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.overlays import Distance, distances
from rtmbs.viewer.scene.theme import Theme
from rtmbs.viewer.session.commands import Command, Inspect, Subscribe
from rtmbs.viewer.session.connection import Connection

if TYPE_CHECKING:
    from rtmbs.viewer.qt.model_panel import ModelPanel
    from rtmbs.viewer.qt.parameters import Parameters
    from rtmbs.viewer.qt.plots import Plots
    from rtmbs.viewer.qt.profiler import Profiler


NAMES = ("model", "parameters", "profiler", "plots")
DESCRIBED = ("parameters", "plots", "model")  # that show what a mechanism has
Panel = TypeVar("Panel", bound=QWidget)


class PanelHost(Protocol):
    """The members of the window that its panels use."""

    theme: Theme
    description: SceneDescription | None
    connection: Connection
    selection: Selection
    docks: dict[str, "Dock"]

    def guarded(self, slot: Callable[..., Any]) -> Callable[..., None]:
        """Return a slot whose exceptions are shown."""

    def send(self, command: Command) -> None:
        """Send a command to the session."""

    def ask(self, command: Command) -> None:
        """Send the command of a panel."""

    def tell(self, sentence: str) -> None:
        """Show a sentence in the status bar."""

    def refuse(self, sentence: str) -> None:
        """Show why a text was refused."""


class Panels:
    """Attributes make a panel at the first use; ``name in panels`` says whether that has happened."""

    def __init__(self, window: PanelHost) -> None:
        self._window = window

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__

    def make(self, name: str) -> None:
        """Make the panel of a dock, unless it is there already or is no panel of this kind."""
        if name in NAMES:
            getattr(self, name)

    @cached_property
    def model(self) -> "ModelPanel":
        """The tree of the mechanism with the inspector (F9)."""
        from rtmbs.viewer.qt.model_panel import ModelPanel

        window = self._window
        panel = ModelPanel(window.selection, window.guarded)
        panel.inspector.wanted.connect(window.guarded(lambda names, ticket: window.send(Inspect(names, ticket))))
        panel.inspector.asked.connect(window.guarded(window.send))
        for part in (panel.inspector, panel.cutting):
            part.refused.connect(window.guarded(window.refuse))
        return self._in_its_dock("model", panel)

    @cached_property
    def parameters(self) -> "Parameters":
        """Options, parameters of the mechanism, and inputs (F6)."""
        from rtmbs.viewer.qt.parameters import Parameters

        window, panel = self._window, Parameters()
        panel.asked.connect(window.guarded(window.ask))
        panel.refused.connect(window.guarded(window.refuse))
        return self._in_its_dock("parameters", panel)

    @cached_property
    def profiler(self) -> "Profiler":
        """Step times (F3)."""
        from rtmbs.viewer.qt.profiler import Profiler

        return self._in_its_dock("profiler", Profiler(self._window.theme))

    @cached_property
    def plots(self) -> "Plots":
        """Energy, loop violations and channels over time (F4)."""
        from rtmbs.viewer.qt.plots import Plots

        window, panel = self._window, Plots(self._window.theme)
        panel.bar.compared.connect(window.guarded(lambda path: window.tell(panel.compare(path))))
        panel.bar.exported.connect(window.guarded(lambda path: window.tell(panel.export(path))))
        panel.wanted.connect(window.guarded(lambda names, ticket: window.send(Subscribe(names, ticket))))
        if window.description is not None:
            panel.know(distances(window.description, window.selection.pairs))
        return self._in_its_dock("plots", panel)

    def _in_its_dock(self, name: str, panel: Panel) -> Panel:
        """Give a new panel its place, and the mechanism that the window shows."""
        window, made = self._window, cast(Any, panel)
        window.docks[name].room.setWidget(panel)
        if window.description is not None and name in DESCRIBED:
            made.describe(window.description)
        return panel

    # ---- for the panels that are there ----------------------------------------------------------------------------

    def set_theme(self, theme: Theme) -> None:
        """Change all colours."""
        for name in ("profiler", "plots"):
            if name in self:
                getattr(self, name).set_theme(theme)

    def describe(self, description: SceneDescription) -> None:
        """Take another mechanism."""
        for name in DESCRIBED:
            if name in self:
                getattr(self, name).describe(description)

    def choose(self, choice: Choice | None) -> None:
        """Show the chosen element."""
        if "model" in self:
            self.model.choose(choice)

    def tick(self, hidden: set[Choice]) -> None:
        """Show the hidden elements."""
        if "model" in self:
            self.model.tick(hidden)

    def measure(self, measured: list[Distance]) -> None:
        """Offer these distances as channels."""
        if "plots" in self:
            self.plots.measure(measured)

    def know(self, measured: list[Distance]) -> None:
        """Take the distances that the next mechanism is offered with."""
        if "plots" in self:
            self.plots.know(measured)

    def refused(self, description: SceneDescription) -> None:
        """Show the present parameters again, after a refused build."""
        if "parameters" in self:
            self.parameters.describe(description)

    def show_frame(self, frame: Frame) -> None:
        """Show a frame in the panels that the user sees."""
        window = self._window
        for name in NAMES:
            if not window.docks[name].isVisible():
                continue
            if name == "plots":
                self.plots.redraw(window.connection.strip(), frame.t)
            else:
                getattr(self, name).show_frame(frame)


# ---- docks -----------------------------------------------------------------------------------------------------------

RIGHT, BOTTOM = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
SIDE, LOW, HIGH = 380, 230, 320  # pixels of the docks at the right and at the bottom


def make_docks(window: QMainWindow, panels: Panels, log: QWidget, changed: Callable[[], None]) -> "dict[str, Dock]":
    """Give a window its docks, all hidden, and return them by the name of their action.

    log: the widget of the log.  changed: called when a dock is shown or hidden.
    """
    docks = {
        name: Dock(window, name, area, panels)
        for area, names in ((RIGHT, ("model", "parameters")), (BOTTOM, ("profiler", "plots", "log")))
        for name in names
    }
    docks["log"].room.setWidget(log)
    for dock in docks.values():
        dock.visibilityChanged.connect(changed)
    window.tabifyDockWidget(docks["model"], docks["parameters"])
    window.tabifyDockWidget(docks["profiler"], docks["plots"])
    window.tabifyDockWidget(docks["plots"], docks["log"])
    window.resizeDocks([docks["model"], docks["parameters"]], [SIDE, SIDE], Qt.Orientation.Horizontal)
    window.resizeDocks([docks["profiler"], docks["plots"]], [LOW, HIGH], Qt.Orientation.Vertical)
    return docks


class Dock(QDockWidget):
    """A hidden dock whose panel scrolls where there is too little room: a small screen has all panels."""

    def __init__(self, window: QMainWindow, name: str, area: Qt.DockWidgetArea, panels: Panels) -> None:
        super().__init__(name.capitalize(), window)
        self._panels, self._name = panels, name
        self.setObjectName(name.capitalize())
        room = self.room = QScrollArea(widgetResizable=True)
        room.setFrameShape(QFrame.Shape.NoFrame)
        room.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # keys belong to the window
        self.setWidget(room)
        window.addDockWidget(area, self)
        self.hide()

    def setVisible(self, visible: bool) -> None:
        if visible:
            self._panels.make(self._name)
        super().setVisible(visible)

"""The panels of a window, each made when the user first opens it, or when a part of the window needs it.

Before that a window imports nothing for plots and editors, so its first picture comes earlier.
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from PySide6.QtWidgets import QWidget

from rtmbs.viewer.scene.overlays import Distance, distances
from rtmbs.viewer.session.commands import Subscribe

if TYPE_CHECKING:
    from rtmbs.viewer.panels.model_panel import ModelPanel
    from rtmbs.viewer.panels.parameters import Parameters
    from rtmbs.viewer.panels.plots import Plots
    from rtmbs.viewer.panels.profiler import Profiler
    from rtmbs.viewer.scene.choices import Choice
    from rtmbs.viewer.scene.description import SceneDescription
    from rtmbs.viewer.scene.frame import Frame
    from rtmbs.viewer.scene.theme import Theme
    from rtmbs.viewer.window import Window

NAMES = ("model", "parameters", "profiler", "plots")
DESCRIBED = ("parameters", "plots", "model")  # that show what a mechanism has
Panel = TypeVar("Panel", bound=QWidget)


class Panels:
    """Attributes make a panel at the first use; ``name in panels`` says whether that has happened."""

    def __init__(self, window: "Window") -> None:
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
        from rtmbs.viewer.panels.model_panel import ModelPanel

        return self._in_its_dock("model", ModelPanel(self._window))

    @cached_property
    def parameters(self) -> "Parameters":
        """Options, parameters of the mechanism, and inputs (F6)."""
        from rtmbs.viewer.panels.parameters import Parameters

        window, panel = self._window, Parameters()
        panel.asked.connect(window.guarded(window.ask))
        panel.refused.connect(window.guarded(window.refuse))
        return self._in_its_dock("parameters", panel)

    @cached_property
    def profiler(self) -> "Profiler":
        """Step times (F3)."""
        from rtmbs.viewer.panels.profiler import Profiler

        return self._in_its_dock("profiler", Profiler(self._window.theme))

    @cached_property
    def plots(self) -> "Plots":
        """Energy, loop violations and channels over time (F4)."""
        from rtmbs.viewer.panels.plots import Plots

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

    def set_theme(self, theme: "Theme") -> None:
        """Change all colours."""
        for name in ("profiler", "plots"):
            if name in self:
                getattr(self, name).set_theme(theme)

    def describe(self, description: "SceneDescription") -> None:
        """Take another mechanism."""
        for name in DESCRIBED:
            if name in self:
                getattr(self, name).describe(description)

    def choose(self, choice: "Choice | None") -> None:
        """Show what is chosen."""
        if "model" in self:
            self.model.choose(choice)

    def tick(self, hidden: "set[Choice]") -> None:
        """Show what is hidden."""
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

    def refused(self, description: "SceneDescription") -> None:
        """Show what stands again, after a build that was refused."""
        if "parameters" in self:
            self.parameters.describe(description)

    def show_frame(self, frame: "Frame") -> None:
        """Show a frame in the panels that the user sees."""
        window = self._window
        for name in NAMES:
            if not window.docks[name].isVisible():
                continue
            if name == "plots":
                self.plots.redraw(window.connection.strip(), frame.t)
            else:
                getattr(self, name).show_frame(frame)

"""Window of mode "manual": the program steps its own Simulation, and serves the window between the steps.

viewer = ManualViewer(sim)
while not viewer.over:
    if viewer.should_step():
        viewer.sync(sim, sim.step())
"""

import time
from typing import Any

from rtmbs.integrators.report import StepReport
from rtmbs.simulation import Simulation
from rtmbs.viewer.qt.application import application, ended_by_interrupt
from rtmbs.viewer.qt.requirements import check_qt
from rtmbs.viewer.scene.theme import theme_named
from rtmbs.viewer.session.manual import ManualConnection

EVENTS = 0.008  # [s] between looks at mouse and keys
NAP = 0.002  # [s] that a paused loop sleeps a turn


class ManualViewer:
    """A window on ``sim`` that lives in the turns of the program's own loop, which also sets the speed.

    shapes, history, playing: as of ``connect``.  Raises InputError when Qt is missing or unusable.
    """

    def __init__(self, sim: Simulation, *, theme: str = "white", **settings: Any) -> None:
        check_qt()
        colors = theme_named(theme)
        self._app = application()
        from rtmbs.viewer.qt.window import Window

        self._connection = ManualConnection(sim, **settings)
        self.window = Window(self._connection, colors)
        self.window.show()
        self._looked = 0.0

    def should_step(self) -> bool:
        """Serve the window; True when the program is to take one step now, and ``sync`` it.

        Raises KeyboardInterrupt after Ctrl+C in the terminal.
        """
        if time.perf_counter() - self._looked > EVENTS:
            with ended_by_interrupt(self._app):
                self._app.processEvents()
            self._looked = time.perf_counter()
        wanted = self._connection.should_step()
        if not wanted:
            time.sleep(NAP)
        return wanted

    def sync(self, sim: Simulation, report: StepReport | None = None) -> None:
        """Show the present state of ``sim``; ``report``: of its step, None after another change."""
        self._connection.sync(sim, report)

    @property
    def over(self) -> bool:
        """True once the window was closed."""
        return self._connection.over

    def close(self) -> None:
        """Close the window."""
        self.window.close()

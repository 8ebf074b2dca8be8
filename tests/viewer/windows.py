"""A window on a session that steps only when a test says so."""

import warnings
from typing import Any

from rtmbs.simulation import Simulation
from rtmbs.viewer.session.commands import Command
from rtmbs.viewer.session.worker import ManualConnection


class Watched(ManualConnection):
    """A manual connection that remembers what it was sent."""

    def __init__(self, sim: Simulation, **options: Any) -> None:
        super().__init__(sim, playing=False, **options)
        self.sim, self.sent = sim, list[Command]()

    def send(self, command: Command) -> None:
        self.sent.append(command)
        super().send(command)

    def turn(self, steps: int = 50) -> None:
        """Let commands take effect, and take the steps that are wanted, so many at most."""
        for _ in range(steps):
            if not self.should_step():
                break
            self.sync(self.sim, self.sim.step())


def open_window(qtbot: Any, sim: Simulation, **options: Any) -> Any:
    """Return a shown window whose first frame is there; ``window.connection`` is a Watched."""
    from rtmbs.viewer.qt.window import Window

    connection = Watched(sim, **options)
    connection.turn()
    window = Window(connection)
    window._timer.stop()  # the test says when
    qtbot.addWidget(window)
    window.show()
    qtbot.waitExposed(window)
    activate(window)
    window.tick()
    assert window.frame is not None
    connection.sent.clear()  # the subscription of the plots
    return window


def activate(window: Any) -> None:
    """Give a window the keyboard; under Xvfb there is no window manager that would."""
    from PySide6.QtWidgets import QApplication

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        QApplication.setActiveWindow(window)


def follow(window: Any, steps: int = 50) -> None:
    """Let the session take in what it was sent, and the window what comes of it."""
    window.connection.turn(steps)
    window.latest.again()  # a picture is not too soon after the last one
    window.tick()


def hide_info(window: Any) -> None:
    """Take the info off the picture."""
    while window.info_wanted:
        window.act.info()

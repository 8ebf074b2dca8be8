"""Windows on a mechanism or a recorded result: ``view``, and ``ManualViewer`` in the loop of a program.

viewer = ManualViewer(sim)
while not viewer.over:
    if viewer.should_step():
        viewer.sync(sim, sim.step())
"""

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtmbs.errors import InputError
from rtmbs.viewer.qt.application import application, ended_by_interrupt, show
from rtmbs.viewer.qt.requirements import check_display, check_opengl, check_qt
from rtmbs.viewer.scene.theme import theme_named
from rtmbs.viewer.session.commands import Loop, Play
from rtmbs.viewer.session.connect import connect, is_result, playback, reimport_error
from rtmbs.viewer.session.connection import Connection

if TYPE_CHECKING:
    from rtmbs.integrators.report import StepReport
    from rtmbs.simulation import Simulation


def view(
    target: Any,
    mode: str = "process",
    *,
    parameters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    theme: str | None = None,
    model: Any = None,
    html: str | Path | None = None,
    browser: bool = False,
    **settings: Any,
) -> int:
    """Show a mechanism or a recorded result, and return the exit code of the window.

    Parameters
    ----------
    target : object
        What ``connect`` takes, a Result or the path of one.
    mode : str, default "process"
        "process" or "thread"; for a program that steps its own Simulation there is ``ManualViewer``.
    parameters : Mapping[str, object], optional
        See ``connect``.
    options : Mapping[str, object], optional
        See ``connect``.
    theme : str, optional
        "white" or "dark"; that of the last window unless given.
    model : object, optional
        The Model of a result, for shapes and joints. ``playing=True`` plays a result at once, and ``loop=True`` too
        plays it over and over. A model opens paused unless ``playing=True``.
    html : str or Path, optional
        A file that plays the run in any browser is written in place of the window; ``settings`` are then ``seconds``,
        ``shapes`` and ``paging`` of ``rtmbs.viewer.web.page.export``.
    browser : bool, default False
        Show the mechanism live in a browser in place of the window, without Qt; ``settings`` may then have ``host``,
        ``port`` and ``paging`` of ``rtmbs.viewer.web.live.serve_live``.
    **settings : object
        See ``connect``.

    Returns
    -------
    int
        Exit code of the window.

    Raises
    ------
    InputError
        When Qt is missing or unusable.
    UnknownNameError
        For a target, mode or theme that does not exist.
    """
    if html is not None:
        from rtmbs.viewer.web.content import PageOptions
        from rtmbs.viewer.web.page import export

        if theme:
            settings["paging"] = replace(settings.get("paging") or PageOptions(), theme=theme)
        export(target, html, model=model, parameters=parameters, options=options, **settings)
        return 0
    if browser:
        from rtmbs.viewer.web.content import PageOptions
        from rtmbs.viewer.web.live import serve_live

        served = {name: settings.pop(name) for name in ("host", "port") if name in settings}
        paging = settings.pop("paging", None) or PageOptions()
        connection = open_connection(target, mode, model, parameters=parameters, options=options, **settings)
        return serve_live(connection, paging=replace(paging, theme=theme or paging.theme), **served)
    check_qt()
    check_display()
    if mode == "manual":
        raise InputError("view(mode='manual') would never return; use rtmbs.viewer.view.ManualViewer(sim)")
    theme_named(theme or "white")
    if mode == "process" and (why := reimport_error()):
        print(f"the session runs in a thread: {why}", file=sys.stderr)
        mode = "thread"
    connection = open_connection(target, mode, model, parameters=parameters, options=options, **settings)
    try:  # Qt is loaded while the session is being built
        application()
        check_opengl()
    except BaseException:
        connection.close()
        raise
    play = is_result(target) and bool(settings.get("playing"))
    first = (Loop(True) if settings.get("loop") else Play()) if play else None
    return show(connection, theme, lambda path: open_connection(path, mode, options=options), first)


def open_connection(target: Any, mode: str, model: Any = None, **settings: Any) -> Connection:
    """Return the Connection to a recorded result, or to a new session."""
    if is_result(target):
        return playback(target, model)
    return connect(target, mode, **settings)


# ---- mode manual -----------------------------------------------------------------------------------------------------

EVENTS = 0.008  # [s] between looks at mouse and keys
NAP = 0.002  # [s] that a paused loop sleeps a turn


class ManualViewer:
    """Window on a Simulation that the program steps itself; the loop of the program sets the speed.

    shapes, history, playing: as of ``connect``.  Raises InputError when Qt is missing or unusable.
    """

    def __init__(self, sim: "Simulation", *, theme: str = "white", **settings: Any) -> None:
        check_qt()
        colors = theme_named(theme)
        self._app = application()
        from rtmbs.viewer.qt.window import Window
        from rtmbs.viewer.session.worker import ManualConnection

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

    def sync(self, sim: "Simulation", report: "StepReport | None" = None) -> None:
        """Show the present state of ``sim``; ``report``: of its step, None after another change."""
        self._connection.sync(sim, report)

    @property
    def over(self) -> bool:
        """True once the window was closed."""
        return self._connection.over

    def close(self) -> None:
        """Close the window."""
        self.window.close()

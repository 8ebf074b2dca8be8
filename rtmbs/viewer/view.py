"""``view``: a window on a mechanism or a recorded result, until the user closes it."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rtmbs.errors import InputError
from rtmbs.viewer.qt.application import application, show
from rtmbs.viewer.qt.requirements import check_display, check_opengl, check_qt
from rtmbs.viewer.scene.theme import theme_named
from rtmbs.viewer.session.commands import Loop, Play
from rtmbs.viewer.session.connect import connect, is_result, playback, reimport_error
from rtmbs.viewer.session.connection import Connection


def view(
    target: Any,
    mode: str = "process",
    *,
    parameters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    theme: str | None = None,
    model: Any = None,
    html: str | Path | None = None,
    **settings: Any,
) -> int:
    """Show a mechanism or a recorded result, and return the exit code of the window.

    Parameters
    ----------
    target : object
        What ``connect`` takes, a Result or the path of one.
    mode : str, default "process"
        "process" or "thread"; for a program that steps its own Simulation there is ``manual_viewer.ManualViewer``.
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
        ``shapes`` and ``paging`` of ``rtmbs.viewer.web.export.export``.
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
        from rtmbs.viewer.web.export import export
        from rtmbs.viewer.web.page import PageOptions

        if theme:
            settings["paging"] = replace(settings.get("paging") or PageOptions(), theme=theme)
        export(target, html, model=model, parameters=parameters, options=options, **settings)
        return 0
    check_qt()
    check_display()
    if mode == "manual":
        raise InputError("view(mode='manual') would never return; use rtmbs.viewer.qt.manual_viewer.ManualViewer(sim)")
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

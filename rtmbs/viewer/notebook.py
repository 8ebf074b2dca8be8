"""Moving pictures below a cell of a notebook: a page with the run, or a live session of the kernel."""

import asyncio
import html
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rtmbs.errors import InputError, RtmbsError
from rtmbs.viewer.session.connect import connect, is_result, playback
from rtmbs.viewer.session.connection import Connection
from rtmbs.viewer.web.content import PageOptions
from rtmbs.viewer.web.page import export

HEIGHT = 420  # pixels


def show(
    target: Any,
    *,
    model: Any = None,
    live: bool = False,
    seconds: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    height: int = HEIGHT,
    paging: PageOptions | None = None,
) -> "Shown":
    """Show a mechanism or a recorded result below the cell of a notebook.

    The picture is a page of its own, with play, slider, camera and plots. It is kept in the notebook, and plays where
    the notebook is only read. A live one steps while the kernel runs.

    Parameters
    ----------
    target : object
        A Result, or what ``rtmbs.view`` takes, which is run for the picture.
    model : Model, optional
        Model of a Result that was loaded, for shapes and joints.
    live : bool, default False
        Show a session of the kernel that plays, takes inputs and pulls, in place of a run.
    seconds : float, optional
        Simulated time of a mechanism that is run for the picture [s]; ten seconds of the replay unless given.
    parameters : Mapping[str, object], optional
        See ``rtmbs.view``.
    options : Mapping[str, object], optional
        See ``rtmbs.view``.
    height : int, default 420
        Height of the picture in pixels.
    paging : PageOptions, optional
        Channels that are plotted, traces, theme, camera; ``rtmbs.viewer.web.content.PageOptions``.

    Returns
    -------
    Shown
        Object that a notebook draws; ``close`` ends a live session.

    Raises
    ------
    InputError
        For ``seconds`` of a recorded result or of a live session, and a live page without the package websockets.
    UnknownNameError
        For a target that does not exist.

    Examples
    --------
    >>> shown = rtmbs.show("slider_crank", seconds=1.0)
    >>> shown._repr_html_()[:7]
    '<iframe'
    """
    paging = paging or PageOptions(playing=True)
    if not live:
        given = {"seconds": seconds, "model": model, "parameters": parameters, "options": options}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.html"
            export(target, path, paging=paging, **given)
            return Shown(f'srcdoc="{html.escape(path.read_text(encoding="utf-8"))}"', height)
    if seconds is not None:
        raise InputError("seconds are for a run; a live session goes on until it is closed")
    if is_result(target):
        return Shown.live(playback(target, model), height, paging)
    return Shown.live(connect(target, "thread", parameters=parameters, options=options, playing=True), height, paging)


class Shown:
    """Picture of a cell: a frame with a page of its own."""

    def __init__(self, source: str, height: int, connection: Connection | None = None, widget: Any = None) -> None:
        self._source, self._height, self._connection, self._widget = source, height, connection, widget

    @classmethod
    def live(cls, connection: Connection, height: int, paging: PageOptions) -> "Shown":
        """Serve a session in a thread until it is closed, and return its picture."""
        from rtmbs.viewer.web.live import LiveServer, check_websockets
        from rtmbs.viewer.web.widget import in_kernel, live_widget

        if in_kernel():
            check_websockets()
            widget = live_widget(connection, paging, height)
            return cls(f'srcdoc="{html.escape(widget.page)}"', height, connection, widget)
        address, known, failed = [""], threading.Event(), list[RtmbsError]()

        def ready(found: str) -> None:
            address[0] = found
            known.set()

        def serve(server: LiveServer) -> None:
            try:
                asyncio.run(server.run("127.0.0.1", 0, ready))
            except RtmbsError as error:
                failed.append(error)
                known.set()

        try:
            check_websockets()
            server = LiveServer(connection, paging, framed=True)
            threading.Thread(target=serve, args=(server,), name="rtmbs live page", daemon=True).start()
            known.wait()
            if failed:
                raise failed[0]
        except BaseException:
            connection.close()
            raise
        return cls(f'src="{html.escape(address[0])}"', height, connection)

    def _repr_mimebundle_(self, **given: Any) -> Any:
        """Return the widget of a live session; a picture that stands still, or of a run, is HTML."""
        found = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if self._widget is not None:
            bundle = self._widget._repr_mimebundle_(**given)
            found |= bundle[0] if isinstance(bundle, tuple) else bundle or {}
            found["text/html"] = self._repr_html_()
        return found

    def _repr_html_(self) -> str:
        return (
            f'<iframe {self._source} width="100%" height="{self._height}" style="border: 0" '
            'allow="fullscreen" title="rtmbs"></iframe>'
        )

    def __repr__(self) -> str:
        kind = "a run" if self._connection is None else "a live session"
        return f"Shown({kind}; a notebook draws it as the last line of a cell)"

    def close(self) -> None:
        """End a live session; a page with a run stays."""
        if self._connection is not None:
            self._connection.close()

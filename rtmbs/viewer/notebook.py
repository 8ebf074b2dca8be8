"""Moving pictures below a cell of a notebook: a page with the run, or a live session of the kernel."""

import asyncio
import html
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rtmbs.errors import InputError, RtmbsError
from rtmbs.viewer.session.connect import connect, is_result, playback
from rtmbs.viewer.session.connection import Connection
from rtmbs.viewer.web.content import PageOptions, page_file, page_text
from rtmbs.viewer.web.live import RATE, LiveServer, check_websockets
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


# ---- widget: requests and pictures go through the kernel, so it may run on another computer than the browser ---------

HEAD = b"<head>"
ANSWER = 1.0  # [s] that a picture waits for the one before it to be drawn


def in_kernel() -> bool:
    """True in the kernel of a notebook that has the package anywidget."""
    try:
        import anywidget  # noqa: F401
        from IPython import get_ipython
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


class KernelViewer:
    """The browser of a notebook, as a ``LiveServer`` knows viewers: requests to iterate over, and ``send``."""

    def __init__(self, widget: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._widget, self._loop = widget, loop
        self._asked: asyncio.Queue[str] = asyncio.Queue(maxsize=64)
        self._number, self._drawn = 0, asyncio.Event()
        widget.on_msg(self._hear)

    def _hear(self, _: Any, message: Any, buffers: Any) -> None:
        """Take a message of the browser, in the thread of the kernel."""
        if "drawn" in message:
            self._loop.call_soon_threadsafe(self._drawn.set)
        elif isinstance(text := message.get("ask"), str):
            self._loop.call_soon_threadsafe(self._put, text)

    def _put(self, text: str) -> None:
        if not text:  # a page was loaded
            self._drawn.set()
        elif not self._asked.full():
            self._asked.put_nowait(text)

    async def __aiter__(self) -> AsyncIterator[str]:
        while True:
            yield await self._asked.get()

    async def send(self, message: bytes | str) -> None:
        """Send a picture once the one before is drawn, or a text."""
        if isinstance(message, str):
            self._widget.send({"text": message})
            return
        self._drawn.clear()
        self._number += 1
        self._widget.send({"number": self._number}, [message])
        with suppress(TimeoutError):  # the kernel computes a cell, or nobody looks
            await asyncio.wait_for(self._drawn.wait(), ANSWER)

    async def close(self, code: int, reason: str) -> None:
        """Say why no more requests are taken."""
        await self.send(f'{{"messages": [{{"kind": "failure", "text": "{reason}"}}]}}')


class WidgetServer(LiveServer):
    """Server of one Connection to one widget."""

    def page(self) -> str:
        """Return the page with the socket of a notebook."""
        socket = f"<head>\n<script>\n{page_file('frame.js')}</script>".encode()
        return page_text(self._scene.content).replace(HEAD, socket, 1).decode("utf-8")

    async def run_in(self, widget: Any) -> None:
        """Serve a widget until the session ends."""
        viewer: Any = KernelViewer(widget, asyncio.get_running_loop())
        requests, shown = asyncio.create_task(self._viewer(viewer)), self._scene
        while not self.connection.ended:
            begin = time.perf_counter()
            await self._publish()
            if self._scene is not shown:  # another mechanism: the frame loads its page
                shown = self._scene
                widget.page = self.page()
            await asyncio.sleep(max(1.0 / RATE - (time.perf_counter() - begin), 0.001))
        requests.cancel()


def live_widget(connection: Connection, paging: PageOptions, height: int) -> Any:
    """Return a widget that shows a session, served by a thread of its own until the session ends."""
    import anywidget
    import traitlets

    server = WidgetServer(connection, paging, framed=True)

    parts = {
        "_esm": page_file("widget.js"),
        "page": traitlets.Unicode().tag(sync=True),
        "height": traitlets.Int().tag(sync=True),
    }
    widget = type("LiveWidget", (anywidget.AnyWidget,), parts)(page=server.page(), height=height)
    threading.Thread(target=lambda: asyncio.run(server.run_in(widget)), name="rtmbs notebook", daemon=True).start()
    return widget

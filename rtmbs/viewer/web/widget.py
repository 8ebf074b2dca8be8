"""Live page in the output of a notebook: an anywidget that carries requests and pictures through the kernel.

So the page works wherever the widgets of the notebook do, also on another computer than the kernel.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from rtmbs.viewer.session.connection import Connection
from rtmbs.viewer.web.content import PageOptions, page_file, page_text
from rtmbs.viewer.web.live import RATE, LiveServer

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

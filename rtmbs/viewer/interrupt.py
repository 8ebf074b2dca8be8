"""Ctrl+C in the terminal ends the window as closing it does; a second one ends the process at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def ended_by_interrupt(app: Any) -> Iterator[None]:
    """Let SIGINT end the event loop of ``app``, and raise KeyboardInterrupt once the window is closed.

    Python looks for signals between two slots, and a timer of the window brings one every few milliseconds. The
    KeyboardInterrupt that Python raises otherwise would end one slot, and the loop would go on.
    """
    from PySide6.QtCore import QTimer

    came = False

    def end(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        QTimer.singleShot(0, app.quit)  # also before the loop begins, where ``quit`` alone means nothing

    with handled(end):
        yield
    if came:
        raise KeyboardInterrupt


@contextmanager
def handled(handler: Any) -> Iterator[None]:
    """Let ``handler`` answer SIGINT for a while. Another thread than the main one cannot ask for this, and goes on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old)

"""Ctrl+C in the terminal ends the window as closing it does; a second one ends the process at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from rtmbs.viewer.session.process_connection import handled


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

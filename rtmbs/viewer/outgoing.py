"""What a session's process has to say to the window: sent by a thread, so that no step waits for a full pipe."""

import pickle
import queue
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from rtmbs.viewer.connection import Message

PATIENCE = 1.0  # [s] that the end of a process waits for a window that reads no more


class Outgoing:
    """The writing end of a pipe; ``put`` never waits.

    A pipe has one writer, so its reader is told when this process is gone, in the middle of a message too.
    """

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe
        self._waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send, name="rtmbs outgoing", daemon=True)
        self._thread.start()

    def put(self, said: Any) -> None:
        """Send this, in its turn."""
        self._waiting.put(said)

    def close(self) -> None:
        """Send what is left, as far as somebody reads."""
        self._waiting.put(None)
        self._thread.join(PATIENCE)

    def _send(self) -> None:
        with suppress(OSError):  # the window is gone
            while (said := self._waiting.get()) is not None:
                try:
                    self._pipe.send(said)
                except (pickle.PicklingError, TypeError, AttributeError) as error:
                    why = f"what the session says cannot be sent to the window ({error})"
                    self._pipe.send(Message("failure", f"{why}; mode 'thread' needs no sending"))

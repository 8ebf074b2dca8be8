"""Garbage of Python is collected in the window's thread while the window is there.

A plot that was replaced is garbage in cycles, with timers of Qt in it. Collected in the thread of a session, of a film
or of the user, they would end in a thread that is not theirs, and Qt crashes.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

INTERVAL = 0.25  # [s] between looks whether there is enough garbage


@contextmanager
def collected_here() -> Iterator[None]:
    """Let the event loop of this thread collect garbage, and no other thread; at the end everything is collected."""
    from pyqtgraph.util.garbage_collector import GarbageCollector

    enabled = gc.isenabled()
    collector = GarbageCollector(INTERVAL)
    collector.timer.timeout.connect(gc.disable)  # who compiles in another thread lets it rest meanwhile, and ends that
    try:
        yield
    finally:
        collector.timer.stop()
        collect()
        if enabled:
            gc.enable()


def collect() -> None:
    """Delete the windows that were closed, and what they leave."""
    from PySide6.QtCore import QCoreApplication, QEvent

    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()

"""Garbage of Python is collected in the window's thread while the window is there.

A plot that was replaced is garbage in cycles, with timers of Qt in it. Collected in the thread of a session, of a film
or of the user, they would end in a thread that is not theirs, and Qt crashes.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

INTERVAL = 250  # [ms] between looks whether there is enough garbage


@contextmanager
def collected_here() -> Iterator[None]:
    """Let the event loop of this thread collect garbage, and no other thread; at the end everything is collected."""
    from PySide6.QtCore import QTimer

    enabled, timer = gc.isenabled(), QTimer(interval=INTERVAL)
    gc.disable()
    timer.timeout.connect(collect_what_is_due)
    timer.start()
    try:
        yield
    finally:
        timer.stop()
        collect()
        if enabled:
            gc.enable()


def collect_what_is_due() -> None:
    """Collect the generations that Python would collect by itself."""
    gc.disable()  # who compiles in another thread lets the collector rest meanwhile, and ends that
    due = -1
    for count, threshold in zip(gc.get_count(), gc.get_threshold(), strict=True):
        if count <= threshold:
            break
        due += 1
    if due >= 0:
        gc.collect(due)


def collect() -> None:
    """Delete the windows that were closed, and what they leave."""
    from PySide6.QtCore import QCoreApplication, QEvent

    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()

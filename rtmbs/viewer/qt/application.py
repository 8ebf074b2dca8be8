"""Application of Qt: its event loop with one window, garbage collection in its thread, and Ctrl+C.

A plot that was replaced is garbage in cycles, with timers of Qt in it. Collected in the thread of a session, of a film
or of the user, they would end in a thread that is not theirs, and Qt crashes.

PySide 6.10 and 6.11 lose references. Qt asks an object for its Python method, ``resizeEvent`` say, while an exception
of another such method is pending. PySide then gives up a reference that it does not own (``Sbk_GetPyOverride``). The
method is freed while its class still has it, and a later garbage collection crashes.
"""

import gc
import inspect
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from rtmbs.core.garbage import CollectorRest, keep_resting
from rtmbs.viewer.scene.theme import theme_named
from rtmbs.viewer.session.commands import Loop, Play
from rtmbs.viewer.session.connection import Connection
from rtmbs.viewer.session.process_connection import handled

# A renderer without a graphics card would take every core, also the one that the steps need. 0 draws in the thread of
# the window: on two cores more pictures and fewer missed deadlines than with one more thread (bench/viewer.py).
RENDERER_THREADS = "LP_NUM_THREADS"


def show(connection: Connection, theme: str | None = None, opener: Any = None, first: Play | Loop | None = None) -> int:
    """Open the window on a Connection and run it to its end; the command ``first`` is sent when the window is there.

    Ctrl+C in the terminal closes the window, and KeyboardInterrupt is raised then.
    """
    with ended_by_interrupt(application()), collected_here():
        return show_until_closed(connection, theme, opener, first)


def show_until_closed(connection: Connection, theme: str | None, opener: Any, first: Play | Loop | None) -> int:
    """Open the window, and return the exit code of its loop."""
    from rtmbs.viewer.qt.window import (
        Window,
        keep_on_screen_once_framed,
        restore_window,
        save_window,
        window_settings,
    )

    window, kept = Window(connection, theme_named(theme or "white"), opener), window_settings()
    restore_window(window, kept, theme_given=theme is not None)
    old_hook = sys.excepthook

    def tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Show an exception of Qt's own callbacks in the banner, and in the terminal."""
        window.fail(error)
        old_hook(kind, error, trace)

    sys.excepthook = tell
    try:
        window.show()
        keep_on_screen_once_framed(window)
        if first is not None:
            connection.send(first)
        return int(application().exec())
    finally:
        sys.excepthook = old_hook
        save_window(window, kept)
        window.close()
        window.connection.close()
        window.deleteLater()  # Qt holds functions that hold the window


def application() -> Any:
    """Return the application of Qt, made when there is none yet."""
    os.environ.setdefault(RENDERER_THREADS, "0")
    from PySide6.QtWidgets import QApplication

    app = QApplication.instance() or QApplication(["rtmbs"])
    assert isinstance(app, QApplication)
    app.setStyle("Fusion")
    app.setApplicationName("rtmbs")
    keep_overrides()
    return app


# ---- garbage collection ----------------------------------------------------------------------------------------------

INTERVAL = 250  # [ms] between looks whether there is enough garbage


@contextmanager
def collected_here() -> Iterator[None]:
    """Collect garbage in the event loop of this thread only; at the end everything is collected."""
    from PySide6.QtCore import QTimer

    timer = QTimer(interval=INTERVAL)
    keep_overrides()
    with CollectorRest():
        timer.timeout.connect(collect_due_generations)
        timer.start()
        try:
            yield
        finally:
            timer.stop()
            collect()


def collect_due_generations() -> None:
    """Collect the generations of objects whose threshold is reached, as Python itself would."""
    keep_resting()
    due = -1
    for count, threshold in zip(gc.get_count(), gc.get_threshold(), strict=True):
        if count <= threshold:
            break
        due += 1
    if due >= 0:
        gc.collect(due)


def collect() -> None:
    """Delete closed windows, then collect all garbage."""
    from PySide6.QtCore import QCoreApplication, QEvent

    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


SPARE_REFERENCES = 1000  # of a method; PySide gives up one an object at most
_kept: dict[int, tuple[Any, ...]] = {}  # by the id of the method


def keep_overrides() -> None:
    """Hold spare references to the methods of Python classes that override methods of Qt; see above."""
    from shiboken6 import Shiboken

    for cls in subclasses(Shiboken.Object):
        if is_of_qt(cls):
            continue
        bases = [base for base in cls.__mro__ if is_of_qt(base)]
        for name, method in vars(cls).items():
            if name.startswith("__") or id(method) in _kept or not inspect.isfunction(method):
                continue
            if any(hasattr(base, name) for base in bases):
                _kept[id(method)] = (method,) * SPARE_REFERENCES


def subclasses(cls: type) -> Iterator[type]:
    """Iterate over all classes that derive from ``cls``."""
    below: list[type] = cls.__subclasses__()
    for derived in below:
        yield derived
        yield from subclasses(derived)


def is_of_qt(cls: type) -> bool:
    """Tell whether a class is one of PySide's own."""
    return cls.__module__.partition(".")[0] == "PySide6"


# ---- Ctrl+C ----------------------------------------------------------------------------------------------------------


@contextmanager
def ended_by_interrupt(app: Any) -> Iterator[None]:
    """End the event loop of ``app`` at SIGINT, and raise KeyboardInterrupt once the window is closed.

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

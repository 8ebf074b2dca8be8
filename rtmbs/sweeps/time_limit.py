"""A bound on the time of a run, inside its worker."""

import ctypes
import faulthandler
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

GRACE = 1.0  # from the exception to the end of the worker [s]
LEAST, MOST = 1e-3, 1e6  # of a timeout [s]


class TimedOut(BaseException):
    """Raised in a run that took too long; no Exception, so that a function that catches those lets it pass."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimedOut in this thread after ``seconds``, and end the process GRACE later when the block goes on.

    A run in compiled code, or one that catches everything, does not see the exception. A watchdog that needs no
    interpreter ends its process then.
    """
    if seconds is None:
        yield
        return
    thread, lock, state = threading.get_ident(), threading.Lock(), {"done": False, "late": False}

    def late() -> None:
        with lock:
            if not state["done"]:
                state["late"] = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(TimedOut))

    timer = threading.Timer(seconds, late)
    timer.daemon = True
    with open(os.devnull, "w", encoding="ascii") as nowhere:
        faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=nowhere)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            with lock:
                state["done"] = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)  # one that has not come yet
            faulthandler.cancel_dump_traceback_later()
    if state["late"]:
        raise TimedOut

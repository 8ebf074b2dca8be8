"""The work of one run: make a model, simulate within a time limit, measure. A failure becomes the row of its run."""

import copy
import ctypes
import faulthandler
import multiprocessing
import os
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from rtmbs.core.bounds import in_words
from rtmbs.errors import InputError, shown
from rtmbs.jit.compile_progress import announced
from rtmbs.studies.sweeps.designs import ERROR, RUN

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


Point = tuple[int, dict[str, Any]]  # the number of a run, and its parameters


class RunRow(NamedTuple):
    """The outcome of a run."""

    run: int
    measures: dict[str, float]  # empty for a run that failed
    error: str  # empty for a run that did not


class RunRows(NamedTuple):
    """The outcome of a chunk of runs."""

    rows: list[RunRow]
    seconds: float  # of wall time inside the worker
    processor_seconds: float


@dataclass(frozen=True)
class Task:
    """One run of a sweep, for any parameters; a worker gets it with every chunk."""

    make: Callable[..., Any]
    measure: Callable[[Any], Mapping[str, float]]
    t_end: float
    h: float
    method: Any
    options: Mapping[str, Any]  # of Simulation.run
    timeout: float | None = None  # of a run [s]
    memory: float | None = None  # that a worker may hold besides what it holds at its start [bytes]
    by_value: bytes = b""  # the task as cloudpickle writes it, for functions that no other process can import

    def __reduce_ex__(self, protocol: Any) -> Any:
        return (read_by_value, (self.by_value,)) if self.by_value else super().__reduce_ex__(protocol)

    def rows(self, points: Sequence[Point]) -> RunRows:
        """Return the rows of these runs, in their order."""
        if self.timeout is not None:
            load_kernels()
        wall, processor = time.perf_counter(), time.thread_time()
        with announced():  # once a chunk: an announcement reads all sources
            rows = [self.row(run, parameters) for run, parameters in points]
        return RunRows(rows, time.perf_counter() - wall, time.thread_time() - processor)

    def row(self, run: int, parameters: dict[str, Any]) -> RunRow:
        """Return the row of one run, whatever its functions raise."""
        deepest = sys.getrecursionlimit()
        try:
            with time_limit(self.timeout):
                return RunRow(run, numbers(self.measure(self.result(parameters)), parameters), "")
        except TimedOut:
            return RunRow(run, {}, self.late())
        except MemoryError as error:
            return RunRow(run, {}, one_line(error) if self.memory is None else self.too_large(error))
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and from_keyboard():
                raise
            return RunRow(run, {}, one_line(error))
        finally:
            sys.setrecursionlimit(deepest)

    def late(self) -> str:
        """Return the sentence of a run that took too long."""
        return f"timed out after {self.timeout:g} s"

    def too_large(self, error: MemoryError) -> str:
        """Return the sentence of a run that needs too much memory."""
        return f"memory: it needs more than {in_words(self.memory or 0.0)} ({one_line(error)})"

    def result(self, parameters: dict[str, Any]) -> Any:
        """Return the Result of one run."""
        from rtmbs.model import Model
        from rtmbs.simulation import Simulation

        made = self.make(**parameters)
        if isinstance(made, Model):
            made = Simulation(made.compile(), self.h, self.method)
        if not isinstance(made, Simulation):
            raise InputError(f"make returned {shown(made)}; it must return a Model or a Simulation")
        return made.run(self.t_end, **copy.deepcopy(self.options))  # a schedule remembers its run


@lru_cache(maxsize=1)
def read_by_value(written: bytes) -> Task:
    """Return the task that cloudpickle wrote: once in a worker, which gets it with every chunk."""
    return pickle.loads(written)


@cache
def load_kernels() -> None:
    """Take a step of a small mechanism, so that the first run of a worker is not charged with loading."""
    from rtmbs.library import build
    from rtmbs.simulation import Simulation

    Simulation(build("crank_rocker").compile()).step()


def from_keyboard() -> bool:
    """True where Ctrl+C may arrive: in a worker, only a function of the user raises KeyboardInterrupt."""
    return threading.current_thread() is threading.main_thread() and multiprocessing.parent_process() is None


def numbers(measured: Any, parameters: Mapping[str, Any]) -> dict[str, float]:
    """Return measured values as plain numbers; InputError for others."""
    if not isinstance(measured, Mapping):
        raise InputError(f"measure returned {shown(measured)}; it must map names to numbers")
    found: dict[str, float] = {}
    for name, value in measured.items():
        if not isinstance(name, str) or name in (RUN, ERROR) or name in parameters:
            raise InputError(
                f"measure returned a number named {shown(name)}; its name must be a word that names no parameter, "
                f"and neither {RUN!r} nor {ERROR!r}"
            )
        if np.ndim(value) or not isinstance(value, int | float | np.number | np.ndarray | np.bool_):
            raise InputError(f"measure returned {shown(value)} for {name!r}; it must be a number")
        found[name] = float(value)
    return found


def one_line(error: BaseException) -> str:
    """Return an error in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())

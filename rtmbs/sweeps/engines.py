"""Engines of a sweep: workers behind an Executor, in this process or in new processes of this machine.

New processes share nothing with this one but the kernels on disk. The engine of this process serves functions that no
other process can import, and debuggers.
"""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from rtmbs.errors import InputError, RtmbsError
from rtmbs.integrators.checks import positive, whole
from rtmbs.jit.parallel_compile import usable_cores
from rtmbs.limits.memory import bound_memory
from rtmbs.sweeps.one_thread import one_thread_each
from rtmbs.sweeps.task import Task


class Crew(NamedTuple):
    """Workers that are ready."""

    executor: Executor
    workers: int


class Engine(Protocol):
    """The contract of an engine, which makes the runs of a sweep.

    1. ``open`` yields a crew, of one worker when ``alone``, and ends its workers when the block ends.
    2. ``died`` tells the error of a future whose worker ended from an error of the machinery. The sweep then opens a
       new crew, makes each run that was under way alone, and gives a run that ends its worker again a failed row.
    3. ``remedy`` is what the user may do when no worker starts.
    """

    remedy: str

    def open(self, alone: bool = False) -> AbstractContextManager[Crew]: ...

    def died(self, error: BaseException) -> bool: ...


class CrewError(RtmbsError):
    """Workers do not start, or end before their first run."""


class Here(Executor):
    """Calls a function when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Return a future that is done. KeyboardInterrupt passes through."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whoever asks for the result gets it
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Serial:
    """One run after the other, in this process: ``rtmbs.sweep(..., engine=rtmbs.Serial())``."""

    remedy = ""

    @contextmanager
    def open(self, alone: bool = False) -> Iterator[Crew]:
        yield Crew(Here(), 1)

    def died(self, error: BaseException) -> bool:
        return False


MOST_WORKERS = 61 if os.name == "nt" else 4096  # Windows waits for no more processes


@dataclass(frozen=True)
class Processes:
    """``workers`` processes of this machine, one a core unless given: ``rtmbs.Processes(workers=4)``.

    ``memory`` [bytes] is what a worker may hold besides what it holds at its start. A run that asks for more fails with
    a MemoryError as its row, in place of slowing down the machine; Linux only.

    Functions of a notebook, lambdas and functions within functions go to the workers as cloudpickle writes them. A
    script is imported by the workers, so its own work stands below ``if __name__ == "__main__":``.

    Parameters
    ----------
    workers : int, optional
        Number of workers; one a core unless given.
    memory : float, optional
        Largest memory of a worker [bytes].
    """

    workers: int | None = None
    memory: float | None = None

    remedy = (
        "a script must call sweep below if __name__ == '__main__':, and a new process must be able to import the "
        "modules of make and measure"
    )

    def __post_init__(self) -> None:
        if self.workers is not None:
            whole("workers", self.workers, 1, MOST_WORKERS)
        if self.memory is not None:
            positive(memory=self.memory)
            if not sys.platform.startswith("linux"):
                raise InputError("memory of a worker is bounded on Linux only; leave it away")

    @contextmanager
    def open(self, alone: bool = False) -> Iterator[Crew]:
        """Yield the crew of workers, and close it at the end.

        Parameters
        ----------
        alone : bool, default False
            True for a sweep in the calling process alone.

        Yields
        ------
        Crew
            Crew of workers.

        Raises
        ------
        RtmbsError
            When no worker can be started.
        """
        if multiprocessing.parent_process() is not None:
            raise RtmbsError(f"a worker of a sweep began a sweep of its own; {self.remedy}")
        workers = 1 if alone else min(self.workers or usable_cores(), MOST_WORKERS)
        context = multiprocessing.get_context("spawn")  # a fork copies locks that threads of this process hold
        with one_thread_each():
            pool = ProcessPoolExecutor(workers, context, initializer=begin, initargs=(self.memory,))
            try:
                yield Crew(pool, workers)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def died(self, error: BaseException) -> bool:
        """True when an exception means that a worker died.

        Parameters
        ----------
        error : BaseException
            Exception of a run.

        Returns
        -------
        bool
            True when the error means that a worker died.
        """
        return isinstance(error, BrokenExecutor)


def begin(memory: float | None) -> None:
    """At the start of a worker: Ctrl+C ends it without a word, and so does the end of the process that asked for it."""
    if memory is not None:
        bound_memory(memory)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """Leave when the parent is gone, even when it was killed: nobody would take the rows."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def portable(task: Task) -> Task:
    """Return a task that other processes can be handed; InputError for functions that cannot be.

    Functions of modules, and of a script that workers import, go by name. Others go by value, by cloudpickle: functions
    of a notebook or a prompt, functions within functions, lambdas.
    """
    if script_of_main():
        with suppress(Exception):  # pickle raises whatever an object raises
            pickle.dumps(task)
            return task
    import cloudpickle

    try:
        return replace(task, by_value=cloudpickle.dumps(task))
    except Exception as error:
        raise InputError(
            f"the functions of the sweep cannot be handed to another process ({error}); "
            "let them make what cannot be copied themselves, or take engine=rtmbs.Serial()"
        ) from error


def script_of_main() -> bool:
    """Return whether new processes import the main module, as a script: they find no notebook and no prompt."""
    main = sys.modules["__main__"]
    return getattr(main, "__spec__", None) is not None or getattr(main, "__file__", None) is not None

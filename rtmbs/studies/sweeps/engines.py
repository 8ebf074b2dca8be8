"""Engines of a sweep: workers behind an Executor, in this process, new processes or a cluster; and the work of one run.

A run makes a model, simulates within a time limit, and measures. A failure becomes the row of its run. New processes
share nothing with this one but the kernels on disk. The engine of this process serves functions that no other process
can import, and debuggers. The engine of a cluster is dask.distributed.
"""

import copy
import ctypes
import faulthandler
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np

from rtmbs.core.bounds import bound_memory, in_words
from rtmbs.errors import InputError, RtmbsError, shown
from rtmbs.integrators.checks import positive, whole
from rtmbs.jit.compile_progress import announced, usable_cores
from rtmbs.studies.sweeps.designs import ERROR, RUN
from rtmbs.studies.sweeps.one_thread import one_thread_each

GRACE = 1.0  # from the exception to the end of the worker [s]
LEAST_TIMEOUT, MOST_TIMEOUT = 1e-3, 1e6  # of a timeout [s]


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


class InlineExecutor(Executor):
    """Executor that calls a function in this thread when it is submitted."""

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
    """Engine of one run after the other, in this process: ``rtmbs.sweep(..., engine=rtmbs.Serial())``."""

    remedy = ""

    @contextmanager
    def open(self, alone: bool = False) -> Iterator[Crew]:
        """Yield a crew of one worker, which makes a run in the calling thread when it is submitted.

        Parameters
        ----------
        alone : bool, default False
            True asks for one worker only, which this engine has anyway.

        Yields
        ------
        Crew
            Executor in this process.
        """
        yield Crew(InlineExecutor(), 1)

    def died(self, error: BaseException) -> bool:
        """Return whether an error means that a worker ended; no worker of this engine does.

        Parameters
        ----------
        error : BaseException
            Error of a run.

        Returns
        -------
        bool
            False.
        """
        return False


# Workers are those of concurrent.futures, not of loky. Both send functions by cloudpickle. With two workers they took
# 3.08 and 3.16 s of processor time for 60 runs, 2.52 and 2.29 s for 4. A worker of loky has no sentinel of its parent,
# so ``end_with_parent`` fails in it, and a sweep that is killed must leave no workers behind.
MOST_WORKERS = 61 if os.name == "nt" else 4096  # Windows waits for no more processes
DEPTH = 2  # chunks that wait at a worker: the next one is there when one ends
CHUNK_SECONDS = 0.25  # of a chunk: a message costs a thousandth of it
SERVED = 20e-3  # of this process and a scheduler for a chunk, with ample room [s]: more workers get longer chunks
MOST = 1000  # runs of a chunk
TICK = 1.0  # between two looks at rows that wait for the disk [s]
DIED = "the worker that made this run ended twice: it was killed, or it ran out of memory"


@dataclass(frozen=True)
class Processes:
    """Engine of ``workers`` processes of this machine, one a core unless given: ``rtmbs.Processes(workers=4)``.

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
            pool = ProcessPoolExecutor(workers, context, initializer=start_worker, initargs=(self.memory,))
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


def start_worker(memory: float | None) -> None:
    """Set up a worker: Ctrl+C ends it without a message, and so does the end of the process that started it."""
    if memory is not None:
        bound_memory(memory)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """Exit when the parent process is gone, even when it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def with_functions_by_value(task: Task) -> Task:
    """Return a task that pickle can send to other processes; InputError for functions that it cannot.

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


Pending = dict[Future[RunRows], list[int]]  # chunks under way, and their runs


class RowStore(Protocol):
    """Store of finished rows."""

    def take(self, rows: RunRows) -> None: ...

    def tick(self) -> None: ...


class Chunks:
    """Queue of runs in chunks of about CHUNK_SECONDS; the last chunks are ever smaller."""

    def __init__(self, runs: Sequence[int], parameters: Callable[[int], dict[str, Any]]) -> None:
        self.left = deque(runs)
        self.parameters = parameters
        self.seconds = 0.0  # of a run, by the latest chunk; nothing is known at first

    def next(self, workers: int) -> list[int]:
        """Return the runs of the next chunk."""
        goal = max(CHUNK_SECONDS, SERVED * workers)
        size = int(goal / self.seconds) if self.seconds > 0.0 else 1
        size = max(1, min(size, MOST, len(self.left) // (DEPTH * workers)))
        return [self.left.popleft() for _ in range(min(size, len(self.left)))]

    def points(self, runs: Sequence[int]) -> list[Point]:
        """Return number and parameters of each run."""
        return [(run, self.parameters(run)) for run in runs]

    def update_run_time(self, rows: RunRows) -> None:
        """Set the time of a run from the latest chunk."""
        self.seconds = rows.seconds / len(rows.rows)


def make_all_runs(engine: Engine, task: Task, chunks: Chunks, keeper: RowStore) -> int:
    """Make every run that is left, store its row, and return the number of workers.

    Raises CrewError when no worker starts, and what goes wrong with the machinery.
    """
    workers = 0
    while chunks.left:
        lost, found = run_on_all_workers(engine, task, chunks, keeper)
        workers = max(workers, found)
        run_one_by_one(engine, task, chunks, lost, keeper)
    return workers


def run_on_all_workers(engine: Engine, task: Task, chunks: Chunks, keeper: RowStore) -> tuple[list[int], int]:
    """Make runs on all workers, until none is left or a worker died.

    Returns (the runs whose rows were lost, the number of workers).
    """
    lost: list[int] = []
    pending: Pending = {}
    with engine.open() as crew:
        check_worker(engine, crew, task)
        try:
            while pending or (chunks.left and not lost):
                while chunks.left and not lost and len(pending) < DEPTH * crew.workers:
                    lost += submit_chunk(engine, crew, task, chunks, pending)
                for future in wait(pending, TICK, FIRST_COMPLETED).done:
                    runs = pending.pop(future)
                    rows = rows_of(engine, future)
                    if rows is None:
                        lost += runs
                    else:
                        chunks.update_run_time(rows)
                        keeper.take(rows)
                keeper.tick()
        except BaseException:
            collect_finished(pending, keeper)
            raise
    return lost, crew.workers


def submit_chunk(engine: Engine, crew: Crew, task: Task, chunks: Chunks, pending: Pending) -> list[int]:
    """Send the next chunk to the workers; return its runs when they are found dead."""
    runs = chunks.next(crew.workers)
    try:
        pending[crew.executor.submit(task.rows, chunks.points(runs))] = runs
    except Exception as error:
        if not engine.died(error):
            raise
        return runs
    return []


def collect_finished(pending: Pending, keeper: RowStore) -> None:
    """Store the rows of finished chunks, at an early end of the sweep."""
    for future in pending:
        if future.done() and not future.cancelled() and future.exception() is None:
            keeper.take(future.result())


def run_one_by_one(engine: Engine, task: Task, chunks: Chunks, lost: Sequence[int], keeper: RowStore) -> None:
    """Make runs alone, each with the memory of the machine to itself; a run that ends its worker fails."""
    waiting = deque(lost)
    while waiting:
        with engine.open(alone=True) as crew:
            check_worker(engine, crew, task)
            rows: RunRows | None = RunRows([], 0.0, 0.0)
            while waiting and rows is not None:
                run, begun = waiting.popleft(), time.monotonic()
                rows = rows_of(engine, crew.executor.submit(task.rows, chunks.points([run])))
                late = task.timeout is not None and time.monotonic() - begun >= task.timeout
                died = RunRow(run, {}, task.late() if late else DIED)
                keeper.take(RunRows([died], 0.0, 0.0) if rows is None else rows)
                keeper.tick()


def rows_of(engine: Engine, future: "Future[RunRows]") -> RunRows | None:
    """Return the rows of a chunk; None when its worker died. Raises CrewError when all workers are gone."""
    try:
        return future.result()
    except CancelledError:
        raise CrewError(f"the workers are gone: their scheduler ended, or gave up the runs; {engine.remedy}") from None
    except Exception as error:
        if not engine.died(error):
            raise
        return None


def check_worker(engine: Engine, crew: Crew, task: Task) -> None:
    """Check that a worker imports the functions, by a chunk without runs; raises CrewError."""
    if rows_of(engine, crew.executor.submit(task.rows, [])) is None:
        raise CrewError(f"the workers end before their first run; {engine.remedy}")


PATIENCE = 60.0  # until a first worker is there [s]


@dataclass(frozen=True)
class Dask:
    """Engine of the workers of a dask cluster (extra ``cluster``).

    Parameters
    ----------
    address : str, optional
        Address of a scheduler, ``rtmbs.Dask("tcp://head:8786")``, or None for a cluster of ``workers`` processes on
        this machine. Workers of a cluster should have one thread each: ``dask worker tcp://head:8786 --nthreads 1``.
    workers : int, optional
        Number of workers; one a core unless given.

    Raises
    ------
    InputError
        Where dask.distributed is missing.
    CrewError
        Where no scheduler answers.
    """

    address: str | None = None
    workers: int | None = None

    remedy = "start the scheduler and its workers, and let them import the functions of the sweep"

    def __post_init__(self) -> None:
        if not (self.address is None or isinstance(self.address, str)):
            raise InputError(f"address is {shown(self.address)}; it must be that of a scheduler: 'tcp://head:8786'")
        if self.workers is not None:
            whole("workers", self.workers, 1, MOST_WORKERS)
            if self.address is not None:
                raise InputError("workers counts processes of this machine; a cluster with an address has its own")
        if find_spec("distributed") is None:
            raise InputError("Dask needs dask.distributed; install it with pip install 'rtmbs[cluster]'")

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
        CrewError
            When the workers cannot be reached.
        """
        from distributed import Client

        with self.cluster() as address:
            try:
                client = Client(address, set_as_default=False, timeout=PATIENCE)
            except (OSError, ValueError) as error:
                raise CrewError(f"no scheduler answers at {address}: {error}") from None
            try:
                self.wait(client)
                threads = sum(client.nthreads().values())
                executor = client.get_executor(pure=False)
                yield Crew(executor, threads)
                executor.shutdown(wait=False)
            finally:
                client.close()

    def wait(self, client: Any) -> None:
        """Wait for a first worker.

        Parameters
        ----------
        client : object
            Client of the scheduler.

        Raises
        ------
        CrewError
            When the workers cannot be reached.
        """
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TimeoutError:
            raise CrewError(f"the cluster has had no worker for {PATIENCE:.0f} s; {self.remedy}") from None

    @contextmanager
    def cluster(self) -> Iterator[Any]:
        """Yield a scheduler: the user's, or one of this machine with its workers.

        Yields
        ------
        object
            Scheduler: the user's, or one of this machine with its workers.
        """
        if self.address is not None:
            yield self.address
            return
        from distributed import LocalCluster

        with LocalCluster(self.workers, threads_per_worker=1, dashboard_address=None) as cluster:
            yield cluster

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
        from distributed import KilledWorker

        return isinstance(error, KilledWorker)

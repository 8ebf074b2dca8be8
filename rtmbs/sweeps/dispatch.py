"""Dispatch of runs to workers: in chunks of even time, and one at a time where a run ends its worker."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any, Protocol

from rtmbs.sweeps.engines import Crew, CrewError, Engine
from rtmbs.sweeps.task import Point, RunRow, RunRows, Task

DEPTH = 2  # chunks that wait at a worker: the next one is there when one ends
CHUNK_SECONDS = 0.25  # of a chunk: a message costs a thousandth of it
SERVED = 20e-3  # of this process and a scheduler for a chunk, with ample room [s]: more workers get longer chunks
MOST = 1000  # runs of a chunk
TICK = 1.0  # between two looks at rows that wait for the disk [s]
DIED = "the worker that made this run ended twice: it was killed, or it ran out of memory"


Flying = dict[Future[RunRows], list[int]]  # chunks under way, and their runs


class Keeper(Protocol):
    """Whoever takes the rows."""

    def take(self, rows: RunRows) -> None: ...

    def tick(self) -> None: ...


class Chunks:
    """Deals out the runs that are left; a chunk takes CHUNK_SECONDS, and the last ones are ever smaller."""

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
        """Return what a worker needs to know of runs."""
        return [(run, self.parameters(run)) for run in runs]

    def saw(self, rows: RunRows) -> None:
        """Learn from a chunk."""
        self.seconds = rows.seconds / len(rows.rows)


def drive(engine: Engine, task: Task, chunks: Chunks, keeper: Keeper) -> int:
    """Make every run that is left, and hand its row to the keeper; return how many workers there were.

    Raises CrewError when no worker starts, and what goes wrong with the machinery.
    """
    workers = 0
    while chunks.left:
        lost, found = together(engine, task, chunks, keeper)
        workers = max(workers, found)
        one_by_one(engine, task, chunks, lost, keeper)
    return workers


def together(engine: Engine, task: Task, chunks: Chunks, keeper: Keeper) -> tuple[list[int], int]:
    """Make runs on all workers, until none is left or a worker died.

    Returns (the runs whose rows were lost, the number of workers).
    """
    lost: list[int] = []
    flying: Flying = {}
    with engine.open() as crew:
        greet(engine, crew, task)
        try:
            while flying or (chunks.left and not lost):
                while chunks.left and not lost and len(flying) < DEPTH * crew.workers:
                    lost += send(engine, crew, task, chunks, flying)
                for future in wait(flying, TICK, FIRST_COMPLETED).done:
                    runs = flying.pop(future)
                    rows = outcome(engine, future)
                    if rows is None:
                        lost += runs
                    else:
                        chunks.saw(rows)
                        keeper.take(rows)
                keeper.tick()
        except BaseException:
            land(flying, keeper)
            raise
    return lost, crew.workers


def send(engine: Engine, crew: Crew, task: Task, chunks: Chunks, flying: Flying) -> list[int]:
    """Send the next chunk to the workers; return its runs when they are found dead."""
    runs = chunks.next(crew.workers)
    try:
        flying[crew.executor.submit(task.rows, chunks.points(runs))] = runs
    except Exception as error:
        if not engine.died(error):
            raise
        return runs
    return []


def land(flying: Flying, keeper: Keeper) -> None:
    """Take the chunks that are finished, at an early end of the sweep."""
    for future in flying:
        if future.done() and not future.cancelled() and future.exception() is None:
            keeper.take(future.result())


def one_by_one(engine: Engine, task: Task, chunks: Chunks, lost: Sequence[int], keeper: Keeper) -> None:
    """Make runs alone, each with the memory of the machine to itself; a run that ends its worker fails."""
    waiting = deque(lost)
    while waiting:
        with engine.open(alone=True) as crew:
            greet(engine, crew, task)
            rows: RunRows | None = RunRows([], 0.0, 0.0)
            while waiting and rows is not None:
                run, begun = waiting.popleft(), time.monotonic()
                rows = outcome(engine, crew.executor.submit(task.rows, chunks.points([run])))
                late = task.timeout is not None and time.monotonic() - begun >= task.timeout
                died = RunRow(run, {}, task.late() if late else DIED)
                keeper.take(RunRows([died], 0.0, 0.0) if rows is None else rows)
                keeper.tick()


def outcome(engine: Engine, future: "Future[RunRows]") -> RunRows | None:
    """Return the rows of a chunk; None when its worker died. Raises CrewError when all workers are gone."""
    try:
        return future.result()
    except CancelledError:
        raise CrewError(f"the workers are gone: their scheduler ended, or gave up the runs; {engine.remedy}") from None
    except Exception as error:
        if not engine.died(error):
            raise
        return None


def greet(engine: Engine, crew: Crew, task: Task) -> None:
    """Ask a worker for nothing: one that cannot import the functions ends here, and no run is to blame."""
    if outcome(engine, crew.executor.submit(task.rows, [])) is None:
        raise CrewError(f"the workers end before their first run; {engine.remedy}")

"""Motion by the recursion on threads of one process, by kernels without the interpreter's lock."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, StepError
from rtmbs.jit.compiled import entry_for
from rtmbs.recursive.motion import STAGES, check_times, recursion_result
from rtmbs.recursive.part import RankPart
from rtmbs.recursive.part_kernels import NOT_FINITE, march_part
from rtmbs.recursive.partition import split
from rtmbs.results.result import Result
from rtmbs.system.system import System

Array = NDArray[np.float64]


class Threads:
    """Parts of a mechanism, each stepped by a thread; ``alpha`` and ``beta`` are Baumgarte's gains [1/s].

    Threads wait for each other by looking, so each needs a core of its own. Raises InputError for more threads than
    branches, and for functions of time, which only Python can evaluate.
    """

    def __init__(self, system: System, threads: int, alpha: float = 0.0, beta: float = 0.0) -> None:
        if system.signals:
            raise InputError(
                f"{system.signals[0].name} is a function of time, which threads cannot call; take ranks, or one thread"
            )
        self.system, self.threads, self.split = system, threads, split(system, threads, whole=True)
        self.parts = [RankPart(system, self.split, k, alpha, beta) for k in range(threads)]
        self.u, self.kutta = system.u0.copy(), np.array([[weight, way] for weight, way, _ in STAGES])
        self.counter, self.epoch = np.zeros(1, np.int64), 0

    def begin(self, z: Array, zd: Array) -> None:
        """Take the state (n,), and find where the cut joints are."""
        length = self.parts[0].length
        self.messages = np.zeros((2, self.threads, length))
        for part in self.parts:
            part.take(z, zd)
            part.prepare(self.threads, self.u)
            part.backward()
        for part in self.parts:
            for k, other in enumerate(self.parts):
                part.messages[k] = other.message
            part.forward()
        self.counter[0], self.epoch = 0, 0
        self.entry: Any = entry_for(march_part, self.arguments(0, 0, 0.0))

    def arguments(self, k: int, count: int, h: float) -> tuple[Any, ...]:
        """Return the arguments of the kernel for thread ``k``."""
        part, (now, then) = self.parts[k], self.messages
        return (
            self.threads, self.epoch, count, h, self.kutta, self.counter, part.tables, part.cuts, part.border,
            part.rows, part.layout, part.R0, self.u, part.none, part.reduced, part.ws, part.cut_ws, part.scratch,
            part.row_scratch, part.z, part.zd, part.sums, now[k], now, then[k], then,
        )  # fmt: skip

    def steps(self, pool: ThreadPoolExecutor, count: int, h: float, t: float) -> None:
        """Take ``count`` steps of ``h`` from ``t`` [s] on all threads. Raises StepError."""
        calls = [pool.submit(self.entry, *self.arguments(k, count, h)) for k in range(self.threads)]
        status = {int(call.result()) for call in calls}
        if status != {0}:
            named = next(filter(None, (part.weightless() for part in self.parts)), "a coordinate of the trunk")
            raise StepError(
                f"the motion is not finite after t = {t:g}; a shorter step may help"
                if status == {NOT_FINITE}
                else f"{named} can move without inertia after t = {t:g}; give what moves there a mass"
            )
        self.epoch += 4 * count


def run_threads(
    system: System,
    z: Array,
    zd: Array,
    times: Array,
    h: float,
    threads: int,
    alpha: float = 0.0,
    beta: float = 0.0,
) -> Result:
    """Return the Result of ``run`` with threads of this process in place of ranks.

    Parameters
    ----------
    system : System
        Compiled System.
    z : ndarray
        Coordinates (n,) at the start, which satisfy the loops.
    zd : ndarray
        Rates (n,) at the start, which satisfy the loops.
    times : ndarray
        Times of the samples (k,) [s]; the first is the start.
    h : float
        Largest step [s].
    threads : int
        Number of threads; each needs a core of its own.
    alpha : float, default 0.0
        Baumgarte's gain of the rate of the violation [1/s].
    beta : float, default 0.0
        Baumgarte's gain of the violation [1/s].

    Returns
    -------
    Result
        Channels of a run of this System, the same numbers as those of ``run``.

    Raises
    ------
    InputError
        For more threads than branches, and for functions of time, which threads cannot call.
    StepError
        For a coordinate without inertia, or a motion that is not finite.

    Examples
    --------
    >>> result = run_threads(system, z, zd, np.linspace(0.0, 1.0, 101), 1e-3, 2)  # doctest: +SKIP
    """
    check_times(times, h)
    work = Threads(system, threads, alpha, beta)
    work.begin(z, zd)
    rows = [[part.state()] for part in work.parts]
    with ThreadPoolExecutor(threads) as pool:
        for begin, end in pairwise(times):
            count = int(np.ceil((end - begin) / h * (1.0 - 1e-12)))
            work.steps(pool, count, float(end - begin) / count, float(begin))
            for row, part in zip(rows, work.parts, strict=True):
                row.append(part.state())
    parts = [(part.coordinates, part.references, np.array(row)) for part, row in zip(work.parts, rows, strict=True)]
    return recursion_result(system, times, parts, work.split, alpha, beta)

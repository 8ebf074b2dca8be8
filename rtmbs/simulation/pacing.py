"""Wall-clock pacing: wait for the next deadline of a fixed period, and count the missed deadlines.

A pacer knows no physics. A real-time loop reads

    pacer = Pacer(h / speed)
    while running:
        sim.step()
        pacer.wait()

and ``paced`` takes a number of periods with the garbage collector out of the way, for measurements.
"""

import gc
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.garbage import CollectorRest

Array = NDArray[np.float64]

SPIN = 0.5e-3  # [s] the last stretch before a deadline is spun, because sleep wakes up late by about this much
BACKLOG = 10  # periods behind which the deadlines are moved instead of being chased
KEPT = 1 << 17  # waits whose lateness is kept for the percentiles: the last 11 minutes at 200 Hz, 1 MB


@dataclass(frozen=True)
class Punctuality:
    """Punctuality of a paced loop: counts of deadlines and lateness. Times in seconds."""

    deadlines: int  # waits so far
    missed: int  # waits that began after their deadline
    moved: int  # times the deadlines were moved because the loop was too far behind
    mean_lateness: float  # of the moment ``wait`` returned, over all waits, at or after the deadline
    max_lateness: float
    p50: float = 0.0  # percentiles of the lateness over the last waits, KEPT at most
    p99: float = 0.0
    p999: float = 0.0

    def __str__(self) -> str:
        share = 100.0 * self.missed / self.deadlines if self.deadlines else 0.0
        return (
            f"{self.deadlines} deadlines, {self.missed} missed ({share:.1f} %), deadlines moved {self.moved} times, "
            f"late by {1e6 * self.mean_lateness:.0f} us on average, {1e6 * self.p50:.0f} us p50, "
            f"{1e6 * self.p99:.0f} us p99, {1e6 * self.p999:.0f} us p99.9, {1e6 * self.max_lateness:.0f} us at most"
        )


class Pacer:
    """Pacer of a loop by the wall clock: ``wait`` sleeps, spins, and returns at the deadline of each period.

    Deadlines are multiples of the period from the start, so waiting does not drift. A loop that is late by a few
    periods catches up. A loop that is late by more than ``backlog`` periods gets new deadlines from now on.

    Parameters
    ----------
    period : float
        Wall-clock time between deadlines [s], above 0.
    spin : float, default 0.5e-3
        Time before a deadline in which it no longer sleeps [s].
    backlog : float, default 10
        Periods behind which the deadlines are moved instead of being chased.
    clock : callable, default time.perf_counter
        Monotonic clock [s]; replaced in tests.
    sleep : callable, default time.sleep
        Function that sleeps for a time [s]; replaced in tests.

    Raises
    ------
    ValueError
        For a period that is no positive finite number.

    Examples
    --------
    >>> sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), h=5e-3)
    >>> pacer = rtmbs.Pacer(sim.h)
    >>> for _ in range(20):
    ...     report, late = sim.step(), pacer.wait()
    >>> pacer.deadlines
    20
    """

    def __init__(
        self,
        period: float,
        *,
        spin: float = SPIN,
        backlog: float = BACKLOG,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if not (math.isfinite(period) and period > 0.0):
            raise ValueError(f"the period of a Pacer is a positive number of seconds, not {period!r}")
        self.period = period
        self._spin = spin
        self._backlog = backlog
        self.clock = clock
        self._sleep = sleep
        self._lateness: Array = np.zeros(KEPT)  # a ring; pages that no wait reached take no memory
        self.restart()

    def restart(self) -> None:
        """Begin anew: the first deadline is one period from now, all counts are zero."""
        self.resume()
        self._deadlines = self._missed = self._moved = 0
        self._sum_lateness = self._max_lateness = 0.0

    def resume(self) -> None:
        """Go on counting after a pause: the next deadline is one period from now."""
        self._origin = self.clock()
        self._count = 0  # periods from the origin to the last deadline

    def wait(self) -> float:
        """Wait for the next deadline.

        Returns
        -------
        float
            Time since the deadline when the call began [s]; 0.0 means that the deadline was kept.
        """
        self._count += 1
        deadline = self._origin + self._count * self.period
        behind = self.clock() - deadline
        if behind < 0.0:
            self._wait_until(deadline)
        self._book(behind, self.clock() - deadline)
        if behind > self._backlog * self.period:
            self._move_deadlines()
        return max(behind, 0.0)

    def remaining(self) -> float:
        """Return the time until the next deadline.

        Returns
        -------
        float
            Time [s]; negative when the deadline is over.
        """
        return self._origin + (self._count + 1) * self.period - self.clock()

    @property
    def deadlines(self) -> int:
        """Waits since the start."""
        return self._deadlines

    @property
    def missed(self) -> int:
        """Those of them that began after their deadline."""
        return self._missed

    def punctuality(self) -> Punctuality:
        """Return the counts and the lateness since the start.

        Returns
        -------
        Punctuality
            Numbers of deadlines, missed and moved ones, and sizes of the lateness [s]; all are 0 before the first
            ``wait``.
        """
        if not self._deadlines:
            return Punctuality(0, 0, 0, 0.0, 0.0)
        mean = self._sum_lateness / self._deadlines
        p50, p99, p999 = np.percentile(self.lateness(), (50.0, 99.0, 99.9)).tolist()
        return Punctuality(self._deadlines, self._missed, self._moved, mean, self._max_lateness, p50, p99, p999)

    def lateness(self) -> Array:
        """Return the time between the deadline and the return of each ``wait``.

        Returns
        -------
        ndarray
            Lateness (k,) [s] of the last 131072 waits at most, in no order.
        """
        return self._lateness[: min(self._deadlines, KEPT)].copy()

    def _wait_until(self, deadline: float) -> None:
        nap = deadline - self.clock() - self._spin
        if nap > 0.0:
            self._sleep(nap)
        while self.clock() < deadline:
            pass

    def _book(self, behind: float, lateness: float) -> None:
        self._lateness[self._deadlines % KEPT] = lateness
        self._deadlines += 1
        self._missed += behind > 0.0
        self._sum_lateness += lateness
        self._max_lateness = max(self._max_lateness, lateness)

    def _move_deadlines(self) -> None:
        self.resume()
        self._moved += 1


def paced(work: Callable[[], object], pacer: Pacer, periods: int) -> Array:
    """Do ``work`` once a period, ``periods`` times from now on; returns how long each took (periods,) [s].

    The garbage collector rests meanwhile. The pacer is not restarted but goes on counting from new deadlines.
    """
    durations, clock = np.zeros(periods), pacer.clock
    with quiet_collector():
        pacer.resume()
        for k in range(periods):
            start = clock()
            work()
            durations[k] = clock() - start
            pacer.wait()
    return durations


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Let the garbage collector rest: collect once, leave what lives out of later collections, restore on the way out.

    A collection walks every object of the process and takes longer than many a period. Cycles that the work makes
    stay until the end.
    """
    gc.collect()
    with CollectorRest():
        gc.freeze()
        try:
            yield
        finally:
            gc.unfreeze()

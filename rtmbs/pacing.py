"""Wall-clock pacing: wait for the next deadline of a fixed period and count the ones that were missed.

A pacer knows no physics. A real-time loop reads

    pacer = Pacer(h / speed)
    while running:
        sim.step()
        pacer.wait()
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

SPIN = 0.5e-3  # [s] the last stretch before a deadline is spun, because sleep wakes up late by about this much
BACKLOG = 10  # periods behind which the deadlines are moved instead of being chased


@dataclass(frozen=True)
class Punctuality:
    """How a paced loop kept its deadlines. Times in seconds."""

    deadlines: int  # waits so far
    missed: int  # waits that began after their deadline
    moved: int  # times the deadlines were moved because the loop was too far behind
    mean_lateness: float  # of the moment ``wait`` returned, over all waits, at or after the deadline
    max_lateness: float

    def __str__(self) -> str:
        share = 100.0 * self.missed / self.deadlines if self.deadlines else 0.0
        return (
            f"{self.deadlines} deadlines, {self.missed} missed ({share:.1f} %), deadlines moved {self.moved} times, "
            f"late by {1e6 * self.mean_lateness:.0f} us on average, {1e6 * self.max_lateness:.0f} us at most"
        )


class Pacer:
    """Return from ``wait`` once a period: sleep, then spin until the deadline.

    Deadlines are multiples of the period from the start, so waiting does not drift. A loop that is late by a few
    periods catches up; one that is late by more than ``backlog`` periods gets new deadlines from now on.

    period: wall-clock seconds between deadlines, > 0.  spin: seconds before a deadline in which it no longer sleeps.
    clock, sleep: replaced in tests; clock is monotonic, in seconds.
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
        self._clock = clock
        self._sleep = sleep
        self.restart()

    def restart(self) -> None:
        """Begin anew: the first deadline is one period from now, all counts are zero."""
        self._origin = self._clock()
        self._count = 0  # periods from the origin to the last deadline
        self._deadlines = self._missed = self._moved = 0
        self._sum_lateness = self._max_lateness = 0.0

    def wait(self) -> float:
        """Wait for the next deadline and return by how many seconds it was already over (0.0: kept)."""
        self._count += 1
        deadline = self._origin + self._count * self.period
        behind = self._clock() - deadline
        if behind < 0.0:
            self._wait_until(deadline)
        self._book(behind, self._clock() - deadline)
        if behind > self._backlog * self.period:
            self._move_deadlines()
        return max(behind, 0.0)

    def remaining(self) -> float:
        """Return the seconds until the next deadline; negative when it is over."""
        return self._origin + (self._count + 1) * self.period - self._clock()

    def punctuality(self) -> Punctuality:
        """Return the counts since the start."""
        mean = self._sum_lateness / self._deadlines if self._deadlines else 0.0
        return Punctuality(self._deadlines, self._missed, self._moved, mean, self._max_lateness)

    def _wait_until(self, deadline: float) -> None:
        nap = deadline - self._clock() - self._spin
        if nap > 0.0:
            self._sleep(nap)
        while self._clock() < deadline:
            pass

    def _book(self, behind: float, lateness: float) -> None:
        self._deadlines += 1
        self._missed += behind > 0.0
        self._sum_lateness += lateness
        self._max_lateness = max(self._max_lateness, lateness)

    def _move_deadlines(self) -> None:
        self._origin = self._clock()
        self._count = 0
        self._moved += 1

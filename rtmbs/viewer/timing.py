"""How fast the steps go: rings of the last step times and iterations, and simulated time against wall time."""

import time
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import PHASES
from rtmbs.viewer.scene.frame import STEPS

Array = NDArray[np.float64]

WINDOW = 1.0  # [s] of wall time that the actual speed is measured over


class Ring:
    """The last numbers of a series, without growing."""

    def __init__(self, size: int) -> None:
        self._values = np.full(size, np.nan)
        self.count = 0

    def add(self, value: float) -> None:
        """Append a number."""
        self._values[self.count % len(self._values)] = value
        self.count += 1

    def ordered(self) -> Array:
        """Return the numbers oldest first, newest last; not a number before the first."""
        return np.roll(self._values, -(self.count % len(self._values)))

    def known(self) -> Array:
        """Return the numbers there are, in no order."""
        return self._values[: min(self.count, len(self._values))]


class Timing:
    """Statistics of the steps of a session; ``clock`` is replaced in tests."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.step_times, self.iterations, self.lateness = Ring(STEPS), Ring(STEPS), Ring(STEPS)
        self.steps_before = 0  # steps that were counted and forgotten
        self._report: StepReport | None = None  # of the last step that has one
        self._trail: deque[tuple[float, float]] = deque()  # wall and simulated time [s]

    def add(self, seconds: float, report: StepReport | None) -> None:
        """Count a step that took ``seconds`` of wall time."""
        self.step_times.add(seconds)
        self.iterations.add(report.iterations if report is not None else np.nan)
        if report is not None:
            self._report = report

    @property
    def phases(self) -> Array:
        """Seconds of every phase of the last step; asked for a picture, which few steps have."""
        times = {} if self._report is None else self._report.phases
        return np.array([times.get(name, 0.0) for name in PHASES])

    def late(self, seconds: float) -> None:
        """Note by how much a step began after its deadline."""
        self.lateness.add(seconds)

    def mark(self, t: float) -> None:
        """Note where simulated time stands now; of marks within the window two are kept apart by a tenth of it."""
        now = self.clock()
        if len(self._trail) > 1 and now - self._trail[-2][0] < WINDOW / 10.0:
            self._trail.pop()
        self._trail.append((now, t))
        while len(self._trail) > 2 and now - self._trail[1][0] > WINDOW:
            self._trail.popleft()

    def forget(self) -> None:
        """Begin the statistics anew: the next steps are of another kind."""
        count = self.step_times.count
        self.step_times, self.iterations, self.lateness = Ring(STEPS), Ring(STEPS), Ring(STEPS)
        self.steps_before += count

    def stop(self) -> None:
        """Forget the way: the session is paused, or jumps in time."""
        self._trail.clear()

    def actual_speed(self) -> float:
        """Return simulated over wall time of the last second of playing; 0 when paused."""
        if len(self._trail) < 2:
            return 0.0
        (wall, t), (now, t_now) = self._trail[0], self._trail[-1]
        return (t_now - t) / (now - wall) if now > wall else 0.0

    def real_time_factor(self, h: float) -> float:
        """Return h over the mean wall time of a step; 0 before the first."""
        known = self.step_times.known()
        return float(h / known.mean()) if len(known) else 0.0


def percentiles(ring: Ring) -> tuple[float, float]:
    """Return the 50th and 99th percentile of the numbers of a ring; 0 before the first."""
    known = np.sort(ring.known())
    if not len(known):
        return 0.0, 0.0
    last = len(known) - 1
    return float(known[round(0.50 * last)]), float(known[round(0.99 * last)])

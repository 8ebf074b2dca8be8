"""The times at which a run that chooses its steps is recorded."""

import math

import numpy as np

from rtmbs.errors import InputError
from rtmbs.observers.observer import At, Every, EveryStep, Schedule

MOST = 10_000_000  # samples that a run keeps in memory


class RecordTimes:
    """Times still to be recorded, in order; or every step."""

    def __init__(self, schedule: Schedule | None, t: float, t_end: float) -> None:
        self.every_step = schedule is None or type(schedule) is EveryStep
        self.times: list[float] = []
        self.next = 0
        if type(schedule) is Every:
            many = (t_end - t) / schedule.dt * (1.0 + 1e-12)
            if many > MOST:
                raise InputError(f"record is {schedule!r}, {many:.2g} samples to t_end; at most {MOST:g} are kept")
            count = math.floor(many)
            self.times = np.minimum(t + schedule.dt * np.arange(1, count + 1), t_end).tolist()
        elif type(schedule) is At:
            self.times = [time for time in schedule.times if t < time <= t_end]
        elif not self.every_step:
            raise InputError(
                f"record is {type(schedule).__name__}; with a tolerance it must be Every(dt), At(times) or EveryStep()"
            )

    def due(self, until: float) -> list[float]:
        """Return the times up to ``until`` [s] that were not returned before."""
        first = self.next
        while self.next < len(self.times) and self.times[self.next] <= until:
            self.next += 1
        return self.times[first : self.next]

    def skips(self, until: float) -> bool:
        """True when nothing is to be recorded up to ``until`` [s]."""
        return not self.every_step and (self.next == len(self.times) or self.times[self.next] > until)

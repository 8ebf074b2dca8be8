"""What a run that chose its steps tells besides its channels: steps taken and refused, and events."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rtmbs.results.catalogue import sources
from rtmbs.results.evaluation import Evaluation
from rtmbs.results.result import Result
from rtmbs.results.samples import Samples
from rtmbs.simulation.events import Occurrence
from rtmbs.system.system import System
from rtmbs.system.tables import Array, Tables


class StepLog(NamedTuple):
    """Every step that was tried, in order."""

    t: Array  # (k,) where it began [s]
    h: Array  # (k,) [s]
    error: Array  # (k,) estimate in terms of what the tolerance allows for it; NaN: the step failed. Steps over kinks
    # of forces may be taken with more, out of what longer steps there would have been allowed
    taken: Array  # (k,) bool

    @property
    def steps(self) -> int:
        """Steps taken."""
        return int(np.count_nonzero(self.taken))

    @property
    def refused(self) -> int:
        """Steps refused: their error was too large, or they failed."""
        return len(self.taken) - self.steps

    def __str__(self) -> str:
        if not self.steps:
            return f"no steps taken, {self.refused} refused"
        h = self.h[self.taken]
        return f"{self.steps} steps of {h.min():.3g} to {h.max():.3g} s taken, {self.refused} refused"


class ControlledResult(Result):
    """An ordinary Result with ``steps``, a StepLog, and ``events``, the Occurrences in their order."""

    def __init__(
        self,
        system: System,
        tables: Tables,
        samples: Samples,
        outcomes: Mapping[str, int],
        warnings: Mapping[str, int],
        steps: StepLog,
        events: Sequence[Occurrence],
    ) -> None:
        resampled = Evaluation(system, tables, samples)
        super().__init__(
            lambda: sources(system, resampled), system.name, system.fingerprint, outcomes, warnings, system
        )
        self.steps = steps
        self.events = tuple(events)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "events": tuple(one.without_functions() for one in self.events)}

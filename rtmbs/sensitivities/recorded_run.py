"""Checkpointed run: States are kept at segment starts, and the steps between are repeated when needed.

A saved State continues with the same bytes, so the steps are the same ones. Memory holds the checkpoints and the record
of one segment, the channels of the cost, and samples that show how channels depend on states.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.observers.channel_recorder import continued
from rtmbs.results.catalogue import run_result
from rtmbs.results.channel import QUATERNION, TIME, Source, StoredValues
from rtmbs.results.result import Result
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.sensitivities.cost import RecordedCost
from rtmbs.sensitivities.steps import RecordedSteps, RunRecorder, sizes_of
from rtmbs.simulation.simulation import Simulation
from rtmbs.state import State

Array = NDArray[np.float64]


class CheckpointedRun:
    """Steps from the present state of a Simulation that is private to this run."""

    def __init__(self, sim: Simulation, steps: int, segments: int = 1) -> None:
        self.sim, self.steps = sim, steps
        self.bounds = np.unique(np.linspace(0, steps, min(segments, steps) + 1).round().astype(np.int64)).tolist()
        self.t_ref, self.k = sim.state.t_ref, sim.state.k
        self.states: list[State] = []
        self.last: RecordedSteps | None = None
        self.sizes = np.zeros(2)  # largest rate and acceleration

    @property
    def t(self) -> Array:
        """Times (steps + 1,) of all samples [s]."""
        return np.asarray(self.t_ref + np.arange(self.k, self.k + self.steps + 1, dtype=np.float64) * self.sim.h)

    @property
    def alpha(self) -> Array:
        """Penalty factors (m,) of the run."""
        return np.asarray(self.states[0].memory["alpha"])

    def first(self) -> Iterator[tuple[int, RecordedSteps]]:
        """Take all steps for the first time: yield the first sample number and the record of each segment."""
        for begin, end in zip(self.bounds, self.bounds[1:], strict=False):
            self.states.append(self.sim.state.copy())
            self.last = self.taken(end)
            self.sizes = np.maximum(self.sizes, sizes_of(self.last.samples))
            yield begin, self.last

    def again(self, backwards: bool = False) -> Iterator[tuple[int, RecordedSteps]]:
        """Yield all segments once more; the record of the last one is still there."""
        order = range(len(self.states))
        for number in reversed(order) if backwards else order:
            if number == order[-1] and self.last is not None:
                yield self.bounds[number], self.last
            else:
                self.last = None if backwards else self.last
                self.sim.restore(self.states[number])
                yield self.bounds[number], self.taken(self.bounds[number + 1])

    def taken(self, end: int) -> RecordedSteps:
        """Step to the sample of a number, and return the record."""
        watch = RunRecorder()
        self.sim.run(float(self.t[end]), observers=[watch], on_failure="raise")
        return watch.recorded()


FEW = 8  # samples that tell whether channels depend on something


@dataclass(frozen=True)
class RunReadings:
    """Values read from all segments of a run."""

    result: Result
    values: Array  # (S, w) channels of the cost, those of a sample side by side
    turning: NDArray[np.bool_]  # (w,) components of orientations, whose sign goes on from sample to sample
    few: Samples  # some samples of the whole run
    pace: float  # largest rate in typical sizes [1/s]


def read_run(run: CheckpointedRun, cost: RecordedCost) -> RunReadings:
    """Take the steps of a run. A run of several segments keeps the channels of the cost alone."""
    sim, parts, few, pace = run.sim, [], [], 0.0
    wanted = np.unique(np.linspace(0, run.steps, FEW).astype(int))
    last: dict[str, Array] = {}
    for first, recorded in run.first():
        samples = recorded.samples
        result = run_result(sim.system, sim.equations.tables, samples, {})
        found = {
            name: Source(*result.about(name), StoredValues(result[name]), result.frame(name)) for name in cost.names
        }
        new = {name: continued(one.values(), one, last.get(name)) for name, one in found.items()}
        last = {name: values[-1] for name, values in new.items()}
        lead = int(first > 0)  # the sample that segments share
        parts.append({name: values[lead:] for name, values in new.items()})
        own = wanted[(wanted >= first + lead) & (wanted < first + len(samples.t))] - first
        few.append(select_samples(samples, own))
        pace = max(pace, float(np.abs(samples.zd / sim.system.typical).max(initial=0.0)))
    values = {name: np.concatenate([part[name] for part in parts]) for name in cost.names}
    if len(parts) > 1:
        kept = {name: Source(one.axes, one.unit, StoredValues(values[name]), one.frame) for name, one in found.items()}
        result = Result({TIME: Source((), "s", StoredValues(run.t)), **kept}, sim.system.name, sim.system.fingerprint)
    flat = np.hstack([one.reshape(len(one), -1) for one in values.values()])
    turning = np.repeat([one.axes == QUATERNION for one in found.values()], cost.widths)
    together = (np.concatenate([getattr(one, name) for one in few]) for name in ("t", *OF_STATE))
    return RunReadings(result, flat, turning, Samples(*together), pace)


def select_samples(samples: Samples, which: NDArray[np.int64] | slice) -> Samples:
    """Return some samples."""
    return Samples(**{name: getattr(samples, name)[which] for name in ("t", *OF_STATE)})

"""Recorded run with checkpoints, and the cost function of its channels, recorded on a tape once.

States are kept at segment starts, and the steps between are repeated when needed.
A saved State continues with the same bytes, so the steps are the same ones. Memory holds the checkpoints and the record
of one segment, the channels of the cost, and samples that show how channels depend on states.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from rtmbs.ad.errors import DerivativeError
from rtmbs.ad.evaluator import Evaluator
from rtmbs.ad.trace import Trace
from rtmbs.errors import InputError, shown
from rtmbs.results.catalogue import run_result
from rtmbs.results.channel import QUATERNION, TIME, Source, StoredValues
from rtmbs.results.result import Result
from rtmbs.results.samples import OF_STATE, Samples, select_samples
from rtmbs.simulation.observers.recorder import continued
from rtmbs.simulation.simulation import Simulation
from rtmbs.state import State
from rtmbs.studies.sensitivities.steps import RecordedSteps, RunRecorder, sizes_of

Array = NDArray[np.float64]
Cost = Callable[[Mapping[str, Any]], Any]
FEW = 8  # samples that tell whether channels depend on something


class TracedChannels(Mapping[str, Any]):
    """Channels of a run as traced arrays, marked at their first use; ``t`` is a plain array.

    ``offered`` is a Result of the same System, of any samples.
    """

    def __init__(self, offered: Result, t: Array, trace: Trace) -> None:
        self.offered, self.t, self.trace = offered, t, trace
        self.marked: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name == TIME:
            return self.t
        if name not in self.marked:
            axes, _ = self.offered.about(name)
            self.marked[name] = self.trace.independent((len(self.t), len(axes)) if axes else (len(self.t),))
        return self.marked[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.offered)

    def __len__(self) -> int:
        return len(self.offered.names())


class RecordedCost:
    """Cost function of channels over ``length`` samples, with its derivatives.

    ``names`` are the channels that it reads, and ``widths`` their numbers a sample. ``take`` gives it the values.
    """

    def __init__(self, of: Any, offered: Result, t: Array) -> None:
        function = last_values(of) if isinstance(of, str | list | tuple) else of
        if not callable(function):
            raise InputError(
                f"of is {shown(of)}; it must be a function of channels, or names of channels whose last values count"
            )
        trace = Trace()
        try:
            with trace:
                read = TracedChannels(offered, t, trace)
                y = function(read)
                if not read.marked:
                    raise InputError("of reads no channel of the run; write it as lambda r: r['tip.position'][-1], say")
                trace.dependent(y)
        except DerivativeError as error:
            raise InputError(f"of cannot be recorded: {error}") from error
        self.names, self.length = tuple(read.marked), len(t)
        self.widths = [max(len(offered.about(name)[0]), 1) for name in self.names]
        self.evaluator = Evaluator(trace.tape)
        if not self.count:
            raise InputError("of returns no value; an empty array has no derivatives")
        self.x = np.zeros(0)
        self.slopes: Any = None

    def take(self, values: Array) -> None:
        """Set the values (S, w) of the channels, those of a sample side by side. Raises InputError for nan."""
        self.x, self.slopes = self.joined(values), None
        if not np.all(np.isfinite(self.value)):
            raise InputError(
                f"of returned {shown(self.value.tolist())}, which is not finite; look for a division by zero or the "
                "root of a negative number"
            )
        if not np.all(np.isfinite(self.by_channels().data)):
            raise InputError(
                "of has no finite derivative at this run, as a root or a norm at zero; square it, or add a small "
                "number inside of the root"
            )

    @property
    def count(self) -> int:
        """Number of values."""
        return self.evaluator.m

    @property
    def value(self) -> Array:
        """Values (k,)."""
        return self.evaluator.value(self.x)

    def by_channels(self) -> Any:
        """Return the sparse derivatives (k, N) by all numbers of the channels, channel after channel."""
        if self.slopes is None and self.count == 1:
            self.slopes = scipy.sparse.csr_array(self.evaluator.reverse(self.x, np.ones((1, 1))))
        elif self.slopes is None:
            entries, row, column = self.evaluator.entries(self.x).copy(), self.evaluator.row, self.evaluator.column
            self.slopes = scipy.sparse.csr_array((entries, (row, column)), shape=(self.count, len(self.x)))
        return self.slopes

    def split(self, flat: Array) -> Array:
        """Return numbers (N,) of all channels as (S, w), the channels of a sample side by side."""
        ends = self.length * np.cumsum(self.widths)
        return np.hstack([part.reshape(self.length, -1) for part in np.split(flat, ends[:-1])])

    def joined(self, rows: Array) -> Array:
        """Return (S, w, ...) of some samples as (N, ...), channel after channel."""
        parts = np.split(rows, np.cumsum(self.widths)[:-1], axis=1)
        return np.concatenate([part.reshape(-1, *rows.shape[2:]) for part in parts])

    def places(self, samples: slice) -> NDArray[np.int64]:
        """Return the places of the numbers of some samples among all of them, channel after channel."""
        firsts = self.length * np.concatenate(([0], np.cumsum(self.widths)[:-1]))
        which = np.arange(samples.start, samples.stop)[:, None]
        return np.concatenate(
            [
                (first + which * width + np.arange(width)).ravel()
                for first, width in zip(firsts, self.widths, strict=True)
            ]
        )


def last_values(names: Any) -> Cost:
    """Return the function of the last values of channels."""
    wanted = [names] if isinstance(names, str) else list(names)

    def function(result: Mapping[str, Any]) -> Any:
        return np.concatenate([np.reshape(result[name][-1], (-1,)) for name in wanted])

    return function


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
    turning = turning_numbers(cost, result)
    together = (np.concatenate([getattr(one, name) for one in few]) for name in ("t", *OF_STATE))
    return RunReadings(result, flat, turning, Samples(*together), pace)


def read_part(
    run: CheckpointedRun, cost: RecordedCost, offered: Result, read: Callable[[Samples], Array]
) -> RunReadings:
    """Take the steps of a run of one segment, and ``read`` the channels of the cost alone, named in ``offered``."""
    ((_, recorded),) = run.first()
    samples = recorded.samples
    few = select_samples(samples, np.unique(np.linspace(0, run.steps, FEW).astype(int)))
    pace = float(np.abs(samples.zd / run.sim.system.typical).max(initial=0.0))
    return RunReadings(offered, read(samples), turning_numbers(cost, offered), few, pace)


def turning_numbers(cost: RecordedCost, offered: Result) -> NDArray[np.bool_]:
    """Return which numbers (w,) of the channels are components of orientations."""
    return np.repeat([offered.about(name)[0] == QUATERNION for name in cost.names], cost.widths)

"""Recorder of states; channels are evaluated from them afterwards."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from rtmbs.core.bounds import in_words, machine_memory
from rtmbs.errors import InputError
from rtmbs.integrators.report import Outcome, StepReport, outcomes_of
from rtmbs.integrators.settings import TRIES, Chunk
from rtmbs.results.catalogue import run_result
from rtmbs.results.result import Result
from rtmbs.results.run_warnings import drifts, step_warnings
from rtmbs.results.samples import OF_STATE, Samples, samples_of
from rtmbs.simulation.observers.observer import Array, Observer, Schedule, Watched
from rtmbs.state import State
from rtmbs.system.system import System

HELPED, IN_PARTS = "taken by a further try", "taken in parts"
SHARE = 0.5  # of the memory that a record may take: its channels are worked out beside it
CHUNK = 256  # samples that are allocated at first when nobody knows how many will come; doubled when full


class RunEvents(Protocol):
    """The events of a run, and the warnings of those that never happened."""

    @property
    def occurred(self) -> Sequence[Any]: ...
    @property
    def impacts(self) -> Sequence[Any]: ...
    @property
    def warnings(self) -> dict[str, int]: ...


class RecordState(NamedTuple):
    """State of a recorder, replaced as a whole: an interrupt leaves all of a step or nothing of it."""

    size: int = 0  # samples
    time: float = float("nan")  # of the last step seen, looked at or not [s]
    outcomes: Mapping[str, int] = {}  # steps by the name of their Outcome
    helped: int = 0  # steps that a further try took
    in_parts: int = 0  # steps that were taken in parts
    uneven: str = ""  # what there is to say about the distances of samples


class Recorder(Observer):
    """Recorder of the states of a run in memory, the initial state first.

    Copies time, coordinates, rates, accelerations, multipliers, reference rotations and inputs of every state looked
    at, the initial one first, into arrays allocated beforehand; counts how steps ended.

    ``result()`` may be asked for at any time, also after a step that failed.

    Parameters
    ----------
    schedule : Schedule, optional
        Steps to look at; every step unless given.
    """

    def __init__(self, schedule: Schedule | None = None) -> None:
        super().__init__(schedule)
        self._kept = self._seen = RecordState()
        self._samples: Samples | None = None
        self._sim: Watched | None = None
        self._system: Any = None
        self._h = 0.0  # step at the start [s]
        self.events: RunEvents | None = None  # of the run, for its Result

    def start(self, sim: Watched, steps: int | None) -> None:
        """Allocate, and record the initial state; InputError when so many samples do not fit into the memory."""
        state = sim.snapshot(itself)  # a State that is given out is checked before the next step
        known = None if steps is None else self.schedule.samples(steps, state.h)
        self._sim, self._system, self._h = sim, sim.system, state.h
        self._kept = self._seen = RecordState(time=state.t, uneven=self.schedule.uneven(state.h))
        self._samples = self._allocate(state, CHUNK if known is None else known + 1)
        self._record(state, 0.0)
        self._kept = self._seen

    @property
    def count(self) -> int:
        """Samples so far."""
        return self._kept.size

    @property
    def time(self) -> float:
        """Time of the last step, recorded or not [s]."""
        return self._kept.time

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Number of steps by the name of their Outcome, recorded or not."""
        return self._kept.outcomes

    def observe(self, sim: Watched, report: StepReport) -> None:
        """Count how the step ended, and record it when it is due.

        Parameters
        ----------
        sim : Watched
            Simulation.
        report : StepReport
            Report of the step.

        Raises
        ------
        InputError
            For arguments out of range.
        """
        self._make_way()
        if self._system is None:
            raise InputError("this recorder has watched nothing yet; write recorder.begin(sim) before the first step")
        ended, helped = {report.outcome.name: 1}, report.tries > 0 and report.outcome.accepted
        self._seen = self._after(sim.state.t, ended, int(helped), int(report.parts > 1))
        super().observe(sim, report)
        self._kept = self._seen

    def look(self, sim: Watched, report: StepReport) -> None:
        """Record the state; InputError when a force was attached elsewhere, for channels know one place of it only.

        Parameters
        ----------
        sim : Watched
            Simulation.
        report : StepReport
            Report of the step.

        Raises
        ------
        InputError
            For arguments out of range.
        """
        if sim.system is not self._system:
            raise InputError("a force was attached elsewhere while a run is recorded; begin another recording after it")
        self._record(sim.state, float(report.outcome is not Outcome.CONVERGED))

    def observe_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """Count how the steps ended, and record those that are due.

        Parameters
        ----------
        sim : Watched
            Simulation.
        t : ndarray
            Time [s].
        chunk : Chunk
            Rows for the states and reports of consecutive steps.
        """
        self._make_way()
        ended = {outcome.name: count for outcome, count in outcomes_of(chunk.stats).items()}
        self._seen = self._after(float(t[-1]), ended, int(np.count_nonzero(chunk.stats[:, TRIES])), 0)
        super().observe_chunk(sim, t, chunk)
        self._kept = self._seen

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """Record the states.

        Parameters
        ----------
        sim : Watched
            Simulation.
        t : ndarray
            Time [s].
        chunk : Chunk
            Rows for the states and reports of consecutive steps.
        """
        assert self._samples is not None
        if self._seen.size + len(t) > len(self._samples.t):  # the state is asked for only then
            self._make_room(sim.state, len(t))
        first = self._seen.size
        for kept, new in zip(self._samples, samples_of(t, chunk), strict=True):
            kept[first : first + len(t)] = new
        self._seen = self._seen._replace(size=first + len(t))

    def stop(self) -> None:
        """Conclude a record whose run was ended early."""

    @property
    def samples(self) -> Samples:
        """Samples recorded so far; they share memory with the recorder."""
        if self._samples is None:
            raise RuntimeError("this recorder has watched nothing yet; pass it to sim.run(..., observers=[recorder])")
        return Samples(*(values[: self.count] for values in self._samples))

    def result(self) -> Result:
        """Return the channels of what was recorded so far."""
        samples, sim = self.samples, self._sim
        assert sim is not None
        kept, system, tables, h = self._kept, sim.system, sim.equations.tables, self._h
        started = {**started_of(sim), **self._never_happened}
        result = run_result(
            system,
            tables,
            samples,
            kept.outcomes,
            lambda: {
                **started,
                **warnings_of(kept, system, samples, h, sim.method),
                **drifts(system, tables, samples, h, sim.method, self._acted),
            },
        )
        return self._with_events(result)

    def record_end(self, sim: Watched) -> None:
        """Record the present state where an event ended the run and the schedule left it out.

        Parameters
        ----------
        sim : Watched
            Simulation.
        """
        state = sim.state
        assert self._samples is not None
        if self._samples.t[self._seen.size - 1] != state.t:
            self._record(state, 0.0)
            self._kept = self._seen

    def _with_events(self, result: Result) -> Result:
        """Return a Result with the events of the run."""
        result.events = () if self.events is None else tuple(self.events.occurred)
        result.impacts = () if self.events is None else tuple(self.events.impacts)
        return result

    @property
    def _acted(self) -> bool:
        """True when an event happened."""
        return self.events is not None and bool(self.events.occurred)

    @property
    def _never_happened(self) -> dict[str, int]:
        """Warnings of events that never happened."""
        return {} if self.events is None else self.events.warnings

    def _make_way(self) -> None:
        """Prepare for further samples."""

    def _after(self, t: float, ended: Mapping[str, int], helped: int, in_parts: int) -> RecordState:
        """Return what will be kept after steps up to ``t`` that ended so; the samples are still to come."""
        old = self._kept
        counts = {name: old.outcomes.get(name, 0) + ended.get(name, 0) for name in {**old.outcomes, **ended}}
        return RecordState(old.size, t, counts, old.helped + helped, old.in_parts + in_parts, old.uneven)

    def _allocate(self, state: State, size: int) -> Samples:
        """Return arrays for ``size`` samples of a State."""
        shapes = [*(getattr(state, name).shape for name in OF_STATE), ()]
        wanted = float(size * 8 * (1 + sum([math.prod(shape) for shape in shapes]) + 1))
        if wanted > SHARE * (memory := machine_memory()):
            raise InputError(
                f"a record of {size} samples takes {in_words(wanted)}, and this machine has {in_words(memory)} of "
                "memory; look less often, such as sim.run(t_end, record=Every(0.1)) for a sample every 0.1 s, or take "
                "an earlier t_end"
            )
        return Samples(np.zeros(size), *(np.zeros((size, *shape)) for shape in shapes))

    def _record(self, state: State, doubtful: float) -> None:
        """Copy the state into the next sample."""
        self._make_room(state, 1)
        assert self._samples is not None
        k, samples = self._seen.size, self._samples
        samples.t[k], samples.doubtful[k] = state.t, doubtful
        for name in OF_STATE:
            getattr(samples, name)[k] = getattr(state, name)
        self._seen = self._seen._replace(size=k + 1)

    def _make_room(self, state: State, more: int) -> None:
        """Let ``more`` samples of a State fit."""
        assert self._samples is not None
        size = len(self._samples.t)
        count = self._seen.size
        if count + more > size:
            grown = self._allocate(state, max(2 * size, count + more))
            for new, old in zip(grown, self._samples, strict=True):
                new[:count] = old[:count]
            self._samples = grown


def itself(state: State) -> State:
    """Return a State that is only read, not a copy."""
    return state


def sample_bytes(sim: Watched) -> int:
    """Return the memory of one sample."""
    state = sim.state
    return 8 * (2 + sum([getattr(state, name).size for name in OF_STATE]))


def started_of(sim: Watched) -> dict[str, int]:
    """Return what a run repeats of the start: that nothing can move, that states of laws are too fast."""
    locked = sim.start_report.locked
    return ({locked: 1} if locked else {}) | getattr(sim, "_warnings", dict)()


def warnings_of(kept: RecordState, system: System, samples: Samples, h: float, method: Any) -> dict[str, int]:
    """Return the number of steps that needed further tries and of samples that ring, by warning."""
    return {**helped_of(kept), **step_warnings(system, samples, h, method)}


def helped_of(kept: RecordState) -> dict[str, int]:
    """Return how many steps needed help, by how, and whether samples are uneven."""
    counts = {HELPED: kept.helped, IN_PARTS: kept.in_parts, kept.uneven: int(bool(kept.uneven))}
    return {name: count for name, count in counts.items() if count}

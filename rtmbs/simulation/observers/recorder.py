"""Recorders: of states, whose channels are evaluated afterwards, and of chosen channels, in blocks for long runs.

A ``ChannelRecorder`` writes into memory or a file, and takes little memory. Raw samples are kept for one block. A full
block leaves to a thread, which evaluates the channels and hands them to a store while the run goes on; the next block
waits until it has arrived. The last sample of a block stays as the first of the next one: angles and orientations then
go on without a jump. A run into memory that ends within its first block needs neither thread nor store: its channels
are worked out when they are asked for.
"""

import atexit
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from rtmbs.core.bounds import in_words, machine_memory
from rtmbs.errors import InputError, ResultError, shown, unknown_name
from rtmbs.integrators.report import Outcome, StepReport, outcomes_of
from rtmbs.integrators.settings import TRIES, Chunk
from rtmbs.results.catalogue import run_result, sources
from rtmbs.results.channel import QUATERNION, TIME, Source
from rtmbs.results.channel import StoredValues as Values
from rtmbs.results.file_formats import Store, check_file, check_owner, open_store
from rtmbs.results.result import Result
from rtmbs.results.run_warnings import drifts, step_warnings
from rtmbs.results.samples import OF_STATE, Evaluation, Samples, samples_of, select_samples
from rtmbs.simulation.observers.observer import Array, Job, Observer, Schedule, Watched, WriterThread, give_way
from rtmbs.state import State
from rtmbs.system.system import System, once_per_system

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


BLOCK_BYTES = 2_000_000  # of the channels of a block
RAW_BYTES = 1_000_000  # of the raw samples of a block
EVALUATED_BYTES = 2_000_000  # of the frames that are evaluated together
FEWEST, MOST = 64, 16_384  # samples of a block
PERIOD = 5.0  # [s] of wall time after which a file gets what is there of a block
OPEN: set["ChannelRecorder"] = set()  # whose files are to be finished when the program ends
TURN = 2.0 * np.pi
LOOKED, LOOKED_BYTES = (64, 1024), 1_000_000  # samples that are kept for what drifts: at least, and at most in so much


class ChannelEvaluator(NamedTuple):
    """Works out the channels of so many samples, again and again."""

    samples: Samples
    resampled: Evaluation
    sources: dict[str, Source]


class Looked(NamedTuple):
    """Samples of a record for what drifts: evenly spaced from the first on, and the last one."""

    samples: Samples
    numbers: Any  # (k,) int64 in the record
    spacing: int


@dataclass(frozen=True, eq=False)
class Written:
    """State of the store, replaced as a whole."""

    count: int = 0  # samples
    last: Mapping[str, Array] = field(default_factory=dict)  # channels at the last of them
    rings: Counter[str] = field(default_factory=Counter)
    looked: Looked | None = None


@dataclass(frozen=True, eq=False)
class Leaving:
    """A block on its way to the store."""

    part: Samples  # with the sample before
    count: int
    job: Job[Written]


NOTHING = Written()


class ChannelRecorder(Recorder):
    """Record channels by name, all unless given, of every state looked at, the initial one first.

    ``Simulation.run`` makes a ChannelRecorder for its ``channels`` and ``file``. In a loop of single steps, call
    ``stop`` at the end; otherwise the end of the program does it.

    ``rtmbs.load_result`` reads the blocks of a file that was not finished, also while the run goes on. A kill of the
    process loses the block that fills and the one that is being written. Of a slow record it loses no more than 5 s. An
    older file is overwritten from the start of the run.

    Parameters
    ----------
    schedule : Schedule, optional
        Steps to look at; every step unless given.
    channels : sequence of str, optional
        Names as ``Result.names`` lists them, all unless given; the time is always recorded.
    file : str or Path, optional
        ``.h5`` (extra ``hdf5``) or ``.csv``, written in blocks while the run goes on; memory unless given.

    Raises
    ------
    InputError
        For ``channels`` that are no list of names, and for a file that cannot be written in blocks.
    UnknownNameError
        For a channel that does not exist, at the start of the run.
    ResultError
        When the disk is full, during the run: the blocks before stay readable.

    Examples
    --------
    >>> model = rtmbs.library.build("pendulum")
    >>> recorder = rtmbs.ChannelRecorder(rtmbs.Every(0.01), ["pivot.angle", "bob.velocity"])
    >>> run = rtmbs.Simulation(model.compile(), h=1e-3).run(1.0, observers=[recorder])
    >>> recorder.result().names(), recorder.count
    (['t', 'pivot.angle', 'bob.velocity'], 101)
    """

    def __init__(
        self, schedule: Schedule | None = None, channels: Sequence[str] | None = None, file: str | Path | None = None
    ) -> None:
        super().__init__(schedule)
        if channels is not None and (isinstance(channels, str) or not isinstance(channels, Sequence) or not channels):
            raise InputError(f"channels is {shown(channels)}; it must be a list of names such as ['crank.angle']")
        self.channels, self.file = channels, check_file(file)
        self._store: Store | None = None
        self._written = NOTHING
        self._leaving: Leaving | None = None
        self._worker: WriterThread | None = None
        self._copying: Job[Written] | None = None  # of a part of a block, which stays in memory
        self._due = math.inf  # [s] of the clock, when the next part is written
        self._full: ChannelEvaluator | None = None  # of full blocks
        self._columns: dict[str, Source] = {}
        self.size = 0  # samples of a block

    def start(self, sim: Watched, steps: int | None) -> None:
        """Open the store, and record the initial state."""
        self.stop()
        state = sim.state
        self._sim, self._system, self._h, self._method = sim, sim.system, state.h, sim.method
        self._full, self._written, self._leaving, self._copying = None, NOTHING, None, None
        self._worker = None
        self._columns = self._chosen(channels_of(sim.system))
        width = sum(max(len(one.axes), 1) for one in self._columns.values())
        self.size = max(min(BLOCK_BYTES // (8 * width), RAW_BYTES // sample_bytes(sim), MOST), FEWEST)
        if self.file is not None:
            OPEN.difference_update([one for one in OPEN if one.file == self.file])  # an older file is overwritten
        self._store = open_store(self.file, self._columns, sim.system.name, sim.system.fingerprint, self.size)
        self._kept = self._seen = RecordState(time=state.t, uneven=self.schedule.uneven(state.h))
        most, known = self.size + CHUNK, None if steps is None else self.schedule.samples(steps, state.h)
        self._samples = self._allocate(state, most if known is None else min(most, known + 1))
        self._record(state, 0.0)
        self._kept = self._seen
        if self.file is not None and not sim.system.called:
            self._due = time.monotonic() + PERIOD
            OPEN.add(self)
            atexit.unregister(stop_all)  # what is registered last runs first: before h5py closes its files
            atexit.register(stop_all)

    def _chosen(self, offered: Mapping[str, Source]) -> dict[str, Source]:
        """Return the channels that are recorded, the time first."""
        for name in self.channels or ():
            if not isinstance(name, str) or name not in offered:
                raise unknown_name("channel", name, offered)
        names = offered if self.channels is None else self.channels
        return {name: offered[name] for name in dict.fromkeys([TIME, *names])}

    @property
    def count(self) -> int:
        """Samples so far."""
        leaving = self._leaving.count if self._leaving else 0
        return self._written.count + leaving + self._kept.size - self._lead

    @property
    def _lead(self) -> int:
        """Samples at the front of the memory that left with the block before."""
        return int(self._written.count > 0 or self._leaving is not None)

    def finish(self, sim: Watched) -> None:
        """Write the rest, and finish the file; channels of a short run into memory are evaluated at their first use.

        Parameters
        ----------
        sim : Watched
            Simulation that was recorded.

        Raises
        ------
        ResultError
            When the disk is full; the blocks before stay readable.
        """
        if self._short:
            return
        self._make_way()
        self._arrive()
        if self._kept.size > self._lead:
            self._leave(self._kept.size - self._lead)
            self._arrive()
        self._close()

    def stop(self) -> None:
        """Finish the file with what was recorded so far, as far as the disk takes it; the recorder is done."""
        if self._store is not None and self._sim is not None:
            with suppress(ResultError):
                self.finish(self._sim)
            with suppress(ResultError):
                self._close()

    def result(self) -> Result:
        """Return the channels recorded so far; those in a file are read at their first use.

        Returns
        -------
        Result
            Channels of all samples, with outcomes and warnings of the steps.

        Raises
        ------
        RuntimeError
            When the recorder has watched nothing yet.
        """
        store = self._store
        if store is None:
            raise RuntimeError("this recorder has watched nothing yet; pass it to sim.run(..., observers=[recorder])")
        if self._short:
            return self._short_result()
        with suppress(ResultError):
            self._arrive()
        count, rest = self._written.count, self._rest()
        found = {}
        for name, one in self._columns.items():
            values = Stored(store, name, count, rest[name], self.file) if count else Values(rest[name])
            found[name] = Source(one.axes, one.unit, values, one.frame)
        result = Result(found, self._system.name, self._system.fingerprint, self.outcomes, self._warnings())
        return self._with_events(result)

    @property
    def _short(self) -> bool:
        """True while a record into memory has not filled a block."""
        return self.file is None and self._written.count == 0 and self._leaving is None

    def _short_result(self) -> Result:
        """Return the channels of a record that fits into one block; each is evaluated at its first use."""
        sim, kept, names = self._sim, self._kept, list(self._columns)
        assert sim is not None
        system, tables, record, h = self._system, sim.equations.tables, self._samples, self._h
        started = {**started_of(sim), **self._never_happened}
        assert record is not None

        def chosen() -> dict[str, Source]:
            offered = sources(system, Evaluation(system, tables, head(record, kept.size)))
            return {name: offered[name] for name in names}

        def warnings() -> dict[str, int]:
            whole = head(record, kept.size)
            told = drifts(system, tables, whole, h, sim.method, self._acted)
            return {**started, **warnings_of(kept, system, whole, h, sim.method), **told}

        return self._with_events(Result(chosen, system.name, system.fingerprint, kept.outcomes, warnings))

    # ---- blocks -----------------------------------------------------------------------------------------------------

    def _make_way(self) -> None:
        """Let the blocks that are full leave, all together: the thread works while the next steps are taken."""
        full = (self._kept.size - self._lead) // self.size if self.size else 0
        if full:
            self._arrive()
            self._leave(full * self.size)
        if self._due < math.inf and time.monotonic() >= self._due:
            self._due = time.monotonic() + PERIOD
            self._copy_part()

    def _copy_part(self) -> None:
        """Let the thread write what is there of a block. An error is left to the whole block, written again later."""
        count = self._kept.size - self._lead
        if count and (self._leaving is None or self._leaving.job.done):
            self._arrive()
            assert self._samples is not None
            part = Samples(*(values[: self._kept.size].copy() for values in self._samples))
            self._copying = self._begun(part, count)

    def _leave(self, count: int) -> None:
        """Let the thread write the next ``count`` samples, and take them out of the memory."""
        assert self._samples is not None
        assert self._sim is not None
        kept, rows = self._kept, self._lead + count
        part = Samples(*(values[:rows] for values in self._samples))
        fresh = self._allocate(self._sim.state, len(self._samples.t))
        for new, old in zip(fresh, self._samples, strict=True):
            new[: kept.size - rows + 1] = old[rows - 1 : kept.size]
        left = kept._replace(size=kept.size - rows + 1)
        leaving = Leaving(part, count, self._begun(part, count))
        vars(self).update(_samples=fresh, _kept=left, _seen=left, _leaving=leaving)

    def _begun(self, part: Samples, count: int) -> Job[Written]:
        """Begin to write; a law that runs in Python is not called from two threads at once."""
        call = partial(self._write, part, count, self._written)
        if self._worker is None and not self._system.called:
            self._worker = WriterThread()
        if self._worker is not None:
            return self._worker.submit(call)
        job = Job(call)
        job.run()
        return job

    def _arrived(self, job: Job[Written]) -> Written:
        """Wait for a block that left."""
        return job.result() if self._worker is None else self._worker.wait(job)

    def _write(self, part: Samples, count: int, before: Written) -> Written:
        """Evaluate and write the last ``count`` of some samples, block by block; return what the store has then."""
        assert self._store is not None
        lead = len(part.t) - count
        for first in range(lead, lead + count, self.size):
            own = min(self.size, lead + count - first)
            piece = Samples(*(values[max(first - 1, 0) : first + own] for values in part))
            values = {name: one[-own:] for name, one in self._values(piece, before.last).items()}
            self._store.write(before.count, values)
            last = {name: one[-1] for name, one in values.items()}
            rings = before.rings + Counter(step_warnings(self._system, piece, self._h, self._method))
            before = Written(before.count + own, last, rings, with_some(before.looked, piece, before.count, own))
        return before

    def _arrive(self) -> None:
        """Wait until the block that left is in the store. ResultError: the disk is full, and the block stays here."""
        if self._copying is not None:
            with suppress(OSError):
                self._arrived(self._copying)
            self._copying = None
        if self._leaving is not None:
            with self._full_disk():
                vars(self).update(_written=self._arrived(self._leaving.job), _leaving=None)

    def _close(self) -> None:
        """Finish the file."""
        assert self._store is not None
        self._due = math.inf
        OPEN.discard(self)
        if self._worker is not None:
            self._worker.end()
            self._worker = None
        with self._full_disk():
            self._store.close(self._written.count, self.outcomes, self._warnings())

    def _values(self, part: Samples, last: Mapping[str, Array]) -> dict[str, Array]:
        """Return every channel of some samples, the first of which had the values ``last``."""
        evaluator = self._evaluator(part)
        found = {}
        for name, one in evaluator.sources.items():
            found[name] = continued(np.array(one.values(), np.float64), one, last.get(name))
            give_way()
        evaluator.resampled.forget()  # what was evaluated on the way takes more memory than the channels
        return found

    def _evaluator(self, part: Samples) -> ChannelEvaluator:
        """Return what works out the channels of these samples; that of full blocks is kept, with samples of its own."""
        if self._full is None or len(self._full.samples.t) != len(part.t):
            assert self._sim is not None
            own = Samples(*(values.copy() for values in part))
            resampled = Evaluation(self._system, self._sim.equations.tables, own, EVALUATED_BYTES)
            offered = sources(self._system, resampled)
            made = ChannelEvaluator(own, resampled, {name: offered[name] for name in self._columns})
            if len(part.t) == self.size + 1:
                self._full = made
            return made
        for mine, new in zip(self._full.samples, part, strict=True):
            mine[...] = new
        return self._full

    def _rest(self) -> dict[str, Array]:
        """Return the channels of the samples that the store does not have: of a block that it refused, and of none."""
        found = {name: [np.zeros((0, len(one.axes)) if one.axes else 0)] for name, one in self._columns.items()}
        last, lead = self._written.last, int(self._written.count > 0)
        assert self._samples is not None
        waiting = Samples(*(values[: self._kept.size] for values in self._samples))
        for part in [self._leaving.part, waiting] if self._leaving else [waiting]:
            if len(part.t) > lead:
                values = self._values(part, last)
                for name, one in values.items():
                    found[name].append(one[lead:])
                last, lead = {name: one[-1] for name, one in values.items()}, 1
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def _warnings(self) -> dict[str, int]:
        started = started_of(self._sim) if self._sim is not None else {}
        found = {**started, **self._never_happened, **helped_of(self._kept), **self._written.rings}
        if self._written.looked is None or self._sim is None:
            return found
        sim, looked = self._sim, self._written.looked.samples
        return {**found, **drifts(self._system, sim.equations.tables, looked, self._h, sim.method, self._acted)}

    @contextmanager
    def _full_disk(self) -> Iterator[None]:
        """Turn the error of a write into one that says what stays readable."""
        try:
            yield
        except OSError as error:
            count, last = self._written.count, self._written.last
            stays = f"; its {count} samples up to t = {last[TIME]:g} s stay readable" if count else ""
            raise ResultError(
                f"result file {str(self.file)!r} takes no more ({error.strerror or error}){stays}; free some room, or "
                "record fewer channels or less often"
            ) from error


@once_per_system
def channels_of(system: System) -> dict[str, Source]:
    """Return axes, unit and frame of every channel of a System by name; there are no values."""
    shapes = ((system.n,),) * 3 + ((system.m,), system.R0.shape, system.u0.shape, system.s0.shape)
    none = Samples(np.zeros(0), *(np.zeros((0, *shape)) for shape in shapes))
    found = sources(system, Evaluation(system, system.tables, none))
    return {name: Source(one.axes, one.unit, no_values, one.frame) for name, one in found.items()}


def head(samples: Samples, count: int) -> Samples:
    """Return the first samples, shared."""
    return Samples(*[values[:count] for values in samples])


def with_some(looked: Looked | None, block: Samples, count: int, size: int) -> Looked:
    """Return evenly spaced samples of a record and of a further block; half of them when they are too many.

    ``block`` ends with ``size`` samples, behind the ``count`` of the blocks before it.
    """
    last, rows = count + size - 1, len(block.t) - size
    spacing = 1 if looked is None else looked.spacing
    numbers = np.unique([*range(-(-count // spacing) * spacing, last, spacing), last])
    samples = select_samples(block, numbers - count + rows)
    if looked is not None:
        samples = Samples(*(np.concatenate(pair) for pair in zip(looked.samples, samples, strict=True)))
        numbers = np.concatenate((looked.numbers, numbers))
    most = min(max(LOOKED_BYTES // sum(values[:1].nbytes for values in samples), LOOKED[0]), LOOKED[1])
    while np.count_nonzero(numbers % spacing == 0) >= most:
        spacing *= 2
    even = (numbers % spacing == 0) | (numbers == last)
    return Looked(select_samples(samples, even), numbers[even], spacing)


def no_values() -> Array:
    """Return the values of a channel of no samples."""
    return np.zeros(0)


def stop_all() -> None:
    """Finish the files of recorders that were not stopped."""
    for one in list(OPEN):
        one.stop()


@dataclass(frozen=True, eq=False)
class Stored:
    """Values of which the store has the first ``count``."""

    store: Store
    name: str
    count: int
    rest: Array
    file: Path | None

    def __call__(self) -> Array:
        check_owner(self.file, self.store)
        return np.concatenate((self.store.read(self.name, self.count), self.rest))


def continued(values: Array, source: Source, last: Array | None) -> Array:
    """Return values that go on from ``last``: by whole turns of an angle, by the sign of an orientation."""
    if last is None:
        return values
    if source.axes == QUATERNION:
        return -values if float(values[0] @ last) < 0.0 else values
    if source.unit == "rad" and not source.axes:
        turns = np.round((last - values[0]) / TURN)
        return values + TURN * turns if turns else values
    return values

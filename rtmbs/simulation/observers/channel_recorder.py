"""Records chosen channels in blocks, into memory or a file, so that a long run takes little memory.

Raw samples are kept for one block. A full block leaves to a thread, which evaluates the channels and hands them to a
store while the run goes on; the next block waits until it has arrived. The last sample of a block stays as the first of
the next one: angles and orientations then go on without a jump. A run into memory that ends within its first block
needs neither thread nor store: its channels are worked out when they are asked for.
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
from typing import NamedTuple

import numpy as np

from rtmbs.errors import InputError, ResultError, shown, unknown_name
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import QUATERNION, TIME, Source
from rtmbs.results.channel import StoredValues as Values
from rtmbs.results.file_formats import Store, check_file, check_owner, open_store
from rtmbs.results.result import Result
from rtmbs.results.run_warnings import drifts, step_warnings
from rtmbs.results.samples import Evaluation, Samples, select_samples
from rtmbs.simulation.observers.observer import Array, Schedule, Watched
from rtmbs.simulation.observers.recorder import (
    CHUNK,
    Recorder,
    RecordState,
    helped_of,
    sample_bytes,
    started_of,
    warnings_of,
)
from rtmbs.simulation.observers.worker import Job, WriterThread, give_way
from rtmbs.system.system import System, once_per_system

BLOCK_BYTES = 2_000_000  # of the channels of a block
RAW_BYTES = 1_000_000  # of the raw samples of a block
EVALUATED_BYTES = 2_000_000  # of the frames that are evaluated together
FEWEST, MOST = 64, 16_384  # samples of a block
OF_BLOCK = 16  # samples of a block that are kept for what drifts
PERIOD = 5.0  # [s] of wall time after which a file gets what is there of a block
OPEN: set["ChannelRecorder"] = set()  # whose files are to be finished when the program ends
TURN = 2.0 * np.pi
LOOKED, LOOKED_BYTES = (64, 1024), 1_000_000  # samples that are kept for what drifts: at least, and at most in so much


class ChannelEvaluator(NamedTuple):
    """Works out the channels of so many samples, again and again."""

    samples: Samples
    resampled: Evaluation
    sources: dict[str, Source]


@dataclass(frozen=True, eq=False)
class Written:
    """State of the store, replaced as a whole."""

    count: int = 0  # samples
    last: Mapping[str, Array] = field(default_factory=dict)  # channels at the last of them
    rings: Counter[str] = field(default_factory=Counter)
    looked: Samples | None = None  # the first sample, and some of each block, its last one among them


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
            before = Written(before.count + own, last, rings, with_some(before.looked, piece))
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
        sim, looked = self._sim, self._written.looked
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


def with_some(looked: Samples | None, block: Samples) -> Samples:
    """Return some samples of a record with OF_BLOCK of a block; every second one when they are too many.

    ``block`` begins with the last sample before it.
    """
    last = len(block.t) - 1
    which = np.unique(np.linspace(0, last, OF_BLOCK + 1).astype(np.int64))
    if looked is None:
        return select_samples(block, which)
    new = select_samples(block, which[1:])
    joined = Samples(*(np.concatenate(pair) for pair in zip(looked, new, strict=True)))
    size = sum(values[:1].nbytes for values in joined)
    if len(joined.t) <= min(max(LOOKED_BYTES // size, LOOKED[0]), LOOKED[1]):
        return joined
    return select_samples(joined, np.unique([*range(0, len(joined.t), 2), len(joined.t) - 1]))


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

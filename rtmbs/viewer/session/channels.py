"""Channels of a session: values at steps, and at samples of recorded results."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.results.catalogue import offered
from rtmbs.results.channel import Entry, Source, resolve_names
from rtmbs.results.samples import OF_STATE, Evaluation, Samples
from rtmbs.semirecursive.workspace import workspace
from rtmbs.state import State
from rtmbs.studies.analysis.workload import force_power
from rtmbs.system.system import System
from rtmbs.system.tables import Tables
from rtmbs.viewer.scene.description import ChannelDescription
from rtmbs.viewer.scene.frame import INSPECTED, PLOTS

Array = NDArray[np.float64]


SIZES = (256, 64, 16, 4, 1)  # steps that are worked out together


class Batch:
    """All channels of a System over a fixed number of samples that are overwritten again and again."""

    def __init__(self, system: System, tables: Tables, state: State, size: int, ws: Any) -> None:
        arrays = (np.zeros((size, *getattr(state, name).shape)) for name in OF_STATE)
        self.samples = Samples(np.zeros(size), *arrays)
        self.resampled = Evaluation(system, tables, self.samples, ws=ws)
        self.entries = resolve_names(live(system, self.resampled))

    def read(self, states: Sequence[State], columns: Sequence[tuple[str, int]]) -> tuple[Array, Array]:
        """Return the energies (3, k) and the values (k, len(columns)) of channels and components at ``states``."""
        self.take(states)
        return self.resampled.energies, self.values(columns)

    def take(self, states: Sequence[State]) -> None:
        """Take other states, as many as before."""
        samples = self.samples
        samples.t[:] = [state.t for state in states]
        for name in OF_STATE:
            values = getattr(samples, name)
            for k, state in enumerate(states):
                values[k] = getattr(state, name)
        self.resampled.forget()

    def values(self, columns: Sequence[tuple[str, int]]) -> Array:
        """Return the values (k, len(columns)) of channels and components at the states taken."""
        states = len(self.samples.t)
        known: dict[Callable[[], Array], Array] = {}  # the three components of one channel are worked out once
        found = np.empty((states, len(columns)))
        for k, (name, component) in enumerate(columns):
            values = self.entries[name].source.values
            if values not in known:
                known[values] = values()
            found[:, k] = known[values].reshape(states, -1)[:, component]
        return found


def live(system: System, resampled: Evaluation) -> Iterator[Entry]:
    """Yield every channel of a run, and the power of every force, to plot and to inspect."""
    yield from offered(system, resampled)
    for name, info in system.forces.items():
        yield Entry("force", f"{name}.power", Source((), "W", partial(force_power, resampled, info)))


class LiveChannels:
    """Channels of a System at as many states as are given; a few at a time cost little more than one.

    ws: scratch of all batches, shared with other readers: the less memory a picture touches, the less of a
    step's own is lost from the caches.
    """

    def __init__(self, system: System, tables: Tables, state: State) -> None:
        self._system, self._tables, self._state = system, tables, state
        self.ws = workspace(tables)
        self._batches: dict[int, Batch] = {}
        self.entries: Mapping[str, Entry] = self._batch(1).entries
        self.names: tuple[str, ...] = ()
        self._columns: list[tuple[str, int]] = []

    def _batch(self, size: int) -> Batch:
        if size not in self._batches:
            self._batches[size] = Batch(self._system, self._tables, self._state, size, self.ws)
        return self._batches[size]

    def descriptions(self) -> tuple[ChannelDescription, ...]:
        """Return every channel with its axes and unit."""
        return tuple(
            ChannelDescription(name, entry.source.axes, entry.source.unit, entry.kind)
            for name, entry in self.entries.items()
        )

    def subscribe(self, names: tuple[str, ...]) -> None:
        """Choose the channels of ``read``; a refused list leaves the old one."""
        if len(names) > PLOTS:
            raise InputError(f"{len(names)} channels are asked for; at most {PLOTS} can be plotted at once")
        self._columns = [self.column(name) for name in names]
        self.names = names

    def column(self, name: str) -> tuple[str, int]:
        """Return the channel and the component that "name" or "name[axis]" means."""
        if name in self.entries and not self.entries[name].source.axes:
            return name, 0
        owner, _, axis = name.removesuffix("]").rpartition("[")
        if name in self.entries:
            raise whole_channel(name, self.entries[name].source.axes)
        if owner not in self.entries:
            raise unknown_name("channel", owner or name, self.entries)
        axes = self.entries[owner].source.axes
        if axis not in axes:
            raise unknown_name(f"axis of channel {owner!r}", axis, axes)
        return owner, axes.index(axis)

    def columns(self, names: Sequence[str]) -> list[tuple[str, int]]:
        """Return every component of whole channels; UnknownNameError for one that does not exist."""
        for name in names:
            if name not in self.entries:
                raise unknown_name("channel", name, self.entries)
        return [(name, k) for name in names for k in range(max(len(self.entries[name].source.axes), 1))]

    def at(self, state: State, columns: Sequence[tuple[str, int]]) -> Array:
        """Return the values (len(columns),) of channels and components at one state."""
        batch = self._batch(1)
        batch.take([state])
        return batch.values(columns)[0]

    def follow(self, system: System, tables: Tables) -> None:
        """Go on with a System of which a force acts on another body now."""
        if system is not self._system:
            self._system, self._tables, self.ws = system, tables, workspace(tables)  # paths may be longer now
            for batch in self._batches.values():
                batch.resampled.system, batch.resampled.tables, batch.resampled.ws = system, tables, self.ws
                batch.resampled.__dict__.pop("graph", None)

    def read(self, states: Sequence[State]) -> tuple[Array, Array]:
        """Return the energies (3, k) [J] and the values (k, columns) of the chosen channels at k states."""
        energies, values, first = np.empty((3, len(states))), np.empty((len(states), len(self._columns))), 0
        for size in SIZES:
            while len(states) - first >= size:
                part = slice(first, first + size)
                energies[:, part], values[part] = self._batch(size).read(states[part], self._columns)
                first += size
        return energies, values


def whole_channel(name: str, axes: Sequence[str]) -> InputError:
    """Return the error of a channel of several numbers where one of them is needed."""
    parts = ", ".join(f"{name}[{axis}]" for axis in axes)
    return InputError(f"channel {name!r} has several numbers; name the ones to plot: {parts}")


# ---- inspected channels ----------------------------------------------------------------------------------------------

EVERY = 0.1  # [s] between two readings of a session that plays


class Inspection:
    """Values of whole channels at the present state.

    channels_of: returns the channels of the mechanism that a state belongs to.  clock: replaced in tests.
    """

    def __init__(
        self,
        channels: LiveChannels,
        channels_of: Callable[[State], LiveChannels],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._channels, self._channels_of, self._clock = channels, channels_of, clock
        self._columns: list[tuple[str, int]] = []
        self._values, self._read_at = np.full(INSPECTED, np.nan), -np.inf
        self.ticket = 0

    def ask(self, names: Sequence[str], ticket: int) -> None:
        """Read these channels from now on.

        UnknownNameError for one that does not exist, InputError for too many, leave the old ones.
        """
        columns = self._channels.columns(names)
        if len(columns) > INSPECTED:
            raise InputError(f"{len(columns)} numbers are inspected; at most {INSPECTED} can be at once")
        self._columns, self.ticket, self._read_at = columns, ticket, -np.inf

    def read(self, state: State, playing: bool) -> Array:
        """Return the values (INSPECTED,) at ``state``; of a session that plays those of the last tenth of a second."""
        now = self._clock()
        if playing and now - self._read_at < EVERY:
            return self._values
        self._read_at, self._values = now, np.full(INSPECTED, np.nan)
        if self._columns:
            self._values[: len(self._columns)] = self._channels_of(state).at(state, self._columns)
        return self._values

"""Plots of a session: channels at steps and at samples of recorded results, and the curves that are drawn of them."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.results.catalogue import offered
from rtmbs.results.channel import TIME, Entry, Source, resolve_names, units_of
from rtmbs.results.curves import DEGREES, FREQUENCY, Abscissa, Curve, Panel, has_one_scale, panels_of, spectral
from rtmbs.results.result import Result
from rtmbs.results.samples import OF_STATE, Evaluation, Samples
from rtmbs.semirecursive.workspace import workspace
from rtmbs.state import State
from rtmbs.studies.analysis.workload import force_power
from rtmbs.system.system import System
from rtmbs.system.tables import Tables
from rtmbs.viewer.scene.description import ChannelDescription, SceneDescription, components
from rtmbs.viewer.scene.elements import Distance
from rtmbs.viewer.scene.frame import ACCELERATION, ELASTIC, FIRST, INSPECTED, KINETIC, PLOTS, POSITION, T

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


ENERGY, VIOLATION = "Energy balance", "Loop violation"
ENERGY_CURVES = ("kinetic", "gravity", "elastic", "total, change")
VIOLATION_CURVES = ("position [m]", "velocity [m/s]", "acceleration [m/s\N{SUPERSCRIPT TWO}]")
LEAST_VIOLATION = 1e-18  # what a logarithmic axis shows of a zero
TIPS = {
    ENERGY: "kinetic energy, energy of gravity and of springs, and the change of their sum since the first step: zero "
    "where nothing drives or damps",
    VIOLATION: "largest violation of the closed loops in position, velocity and acceleration, on a logarithmic axis",
}
COMPARED = 1  # place of the recorded result among the runs


def built_in_plots(description: SceneDescription) -> tuple[str, ...]:
    """Return the plots that need no channel; a mechanism without loops has nothing to violate but rounding."""
    if not description.live:
        return ()
    return (ENERGY, VIOLATION) if description.equations else (ENERGY,)


def step_at(times: Array, t: float, now: float, step: int) -> int:
    """Return the step that is nearest to the time ``t``, of rows of all steps and the present time and step."""
    there, here = (int(np.argmin(np.abs(times - one))) for one in (t, now))
    return max(step + there - here, 0)


@dataclass(frozen=True)
class Plotted:
    """Names that are plotted, and how: over time, FREQUENCY or a component; what shares a panel; degrees."""

    names: tuple[str, ...] = ()  # of channels, distances and built-in plots
    channels: Mapping[str, ChannelDescription] = field(default_factory=dict)
    distances: Mapping[str, Distance] = field(default_factory=dict)
    over: str = TIME
    together: str = "channel"
    degrees: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The numbers of the strip that the curves need: "name" or "name[axis]"."""
        return tuple(dict.fromkeys(part for name in self.names if name in self.channels for part in self._parts(name)))

    def _parts(self, name: str) -> tuple[str, ...]:
        """Return the columns of one channel, or of both ends of a distance."""
        if (distance := self.distances.get(name)) is None:
            return components(self.channels[name])
        return tuple(part for end in (distance.start, distance.end) if end is not None for part in components(end))

    # ---- panels -----------------------------------------------------------------------------------------------------

    def panels(self, curves: Mapping[str, Sequence[Curve]]) -> list[Panel]:
        """Return the panels of the curves of every name, the built-in plots last."""
        own = [curve for name in self.names if name not in (ENERGY, VIOLATION) for curve in curves[name]]
        found = panels_of(own, self.together)
        for name in (ENERGY, VIOLATION):
            if name in self.names:
                (panel,) = panels_of(curves[name])
                found.append(panel._replace(title=name, log=name == VIOLATION and self.over != FREQUENCY))
        return found

    @property
    def abscissa(self) -> Abscissa:
        """The number that is drawn over, without its values."""
        if self.over in (TIME, FREQUENCY):
            return Abscissa(self.over, "s" if self.over == TIME else "Hz", None)
        return Abscissa(self.over, self._unit(self._units().get(self.over, "")), None)

    def one_scale(self, panel: Panel) -> bool:
        """True for a plot of lengths over a length, which has one scale."""
        return self.over not in (TIME, FREQUENCY) and has_one_scale(panel, self.abscissa)

    def _units(self) -> dict[str, str]:
        """Return the unit of every component of the channels, and of the ends of distances."""
        ends = [end for distance in self.distances.values() for end in (distance.start, distance.end) if end]
        return {
            part: unit
            for channel in (*self.channels.values(), *ends)
            for part, unit in zip(components(channel), units_of(channel.axes, channel.unit), strict=True)
        }

    def _unit(self, unit: str) -> str:
        return DEGREES.get(unit, unit) if self.degrees else unit

    # ---- curves -----------------------------------------------------------------------------------------------------

    def curves(self, name: str, rows: Array, zero: float = 0.0) -> list[Curve]:
        """Return the curves of a name from rows (k, FIRST + columns) of a strip; ``zero`` is the first energy [J]."""
        x = rows[:, FIRST + self.columns.index(self.over)] if self.over in self.columns else None
        return self._named(name, rows[:, T], self._values(name, rows, zero), x, 0, "")

    def nothing(self, name: str, run: int = 0, run_name: str = "") -> list[Curve]:
        """Return the curves of a name without samples."""
        count = len(self._labels(name))
        return self._named(name, np.zeros(0), np.zeros((0, count)), None, run, run_name)

    def _labels(self, name: str) -> list[tuple[str, str]]:
        """Return label and unit of every curve of a name."""
        if name in (ENERGY, VIOLATION):
            words, unit = (ENERGY_CURVES, "J") if name == ENERGY else (VIOLATION_CURVES, "")
            return [(word, unit) for word in words]
        channel = self.channels[name]
        return list(zip(components(channel), units_of(channel.axes, channel.unit), strict=True))

    def _named(self, name: str, t: Array, values: Array, x: Array | None, run: int, run_name: str) -> list[Curve]:
        """Return curves of the columns of ``values`` (k, curves)."""
        if x is not None and self._unit(unit := self._units().get(self.over, "")) != unit:
            x = np.rad2deg(x)
        found, named = [], self._labels(name)
        for k, (label, unit) in enumerate(named):
            if label == self.over and len(named) > 1:
                continue  # a number over itself says nothing
            y = values[:, k] if self._unit(unit) == unit else np.rad2deg(values[:, k])
            curve = Curve(label, self._unit(unit), t, y, x, run, run_name)
            found.append(spectral(curve) if self.over == FREQUENCY else curve)
        return found

    def _values(self, name: str, rows: Array, zero: float) -> Array:
        """Return the columns (k, curves) of a name."""
        if name == VIOLATION:
            return np.maximum(rows[:, POSITION : ACCELERATION + 1], LEAST_VIOLATION)
        if name == ENERGY:
            parts = rows[:, KINETIC : ELASTIC + 1]
            return np.column_stack((parts, parts.sum(axis=1) - zero))
        if (distance := self.distances.get(name)) is not None:
            return length(self._columns_of(rows, distance.start), self._columns_of(rows, distance.end))
        return self._columns_of(rows, self.channels[name])

    def _columns_of(self, rows: Array, channel: ChannelDescription | None) -> Array:
        """Return the columns (k, components) of a channel; zeros (k, 3) for none, the place of ground."""
        if channel is None:
            return np.zeros((len(rows), 3))
        return rows[:, [FIRST + self.columns.index(part) for part in components(channel)]]

    def other(self, name: str, result: "ComparedResult", run_name: str, part: slice | None = None) -> list[Curve]:
        """Return the curves of a name in a recorded result; none where it has nothing."""
        values = result.plot(name, self.channels.get(name), self.distances.get(name))
        x = None if self.over in (TIME, FREQUENCY) else result.component(self.over)
        if values is None or (x is None and self.over not in (TIME, FREQUENCY)):
            return []
        part = part or slice(None)
        return self._named(name, result.t[part], values[part], None if x is None else x[part], COMPARED, run_name)


# ---- a recorded result beside the session ----------------------------------------------------------------------------


ENERGIES = ("energy.kinetic", "energy.weight", "energy.elastic")


class ComparedResult:
    """Columns (S, k) over the S samples of a result; None for a channel that is missing."""

    def __init__(self, result: Result) -> None:
        self.result, self.t = result, np.asarray(result.t)

    def plot(self, name: str, channel: ChannelDescription | None, distance: Distance | None) -> Array | None:
        """Return the curves of a plot of this name: of a channel, a distance, or the energies."""
        if name == ENERGY:
            return self.energies()
        if distance is not None:
            return self.distance(distance)
        return None if channel is None else self.channel(channel)

    def channel(self, channel: ChannelDescription) -> Array | None:
        """Return a channel of this name and these axes, or one component "name[axis]" without axes."""
        if channel.name not in self.result:
            column = None if channel.axes else self.component(channel.name)
            return None if column is None else column[:, None]
        found = self.result.channel(channel.name)
        return np.asarray(found.values).reshape(len(self.t), -1) if found.axes == channel.axes else None

    def component(self, name: str) -> Array | None:
        """Return one component (S,): "name", or "name[axis]"."""
        owner, _, axis = name.removesuffix("]").rpartition("[") if name.endswith("]") else (name, "", "")
        if owner not in self.result:
            return None
        channel = self.result.channel(owner)
        if not axis:
            return np.asarray(channel.values) if not channel.axes else None
        return np.asarray(channel.values)[:, channel.axes.index(axis)] if axis in channel.axes else None

    def energies(self) -> Array | None:
        """Return kinetic, gravity and elastic energy, and the change of their sum [J]."""
        if any(name not in self.result for name in ENERGIES):
            return None
        parts = np.stack([np.asarray(self.result[name]) for name in ENERGIES], axis=1)
        total = parts.sum(axis=1)
        return np.column_stack((parts, total - total[0]))

    def distance(self, distance: Distance) -> Array | None:
        """Return a distance between two points (S, 1)."""
        ends = [np.zeros((1, 3)) if end is None else self.channel(end) for end in (distance.start, distance.end)]
        if ends[0] is None or ends[1] is None:
            return None
        return length(np.broadcast_to(ends[0], (len(self.t), 3)), ends[1])


def length(start: Array, end: Array) -> Array:
    """Return the distance (k, 1) between points (k, 3)."""
    return np.asarray(np.linalg.norm(end - start, axis=1, keepdims=True))

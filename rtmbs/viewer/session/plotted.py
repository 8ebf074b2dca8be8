"""Curves of plots of a session: from rows of its strip, and from a recorded result beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.channel import TIME, units_of
from rtmbs.results.curves import DEGREES, FREQUENCY, Abscissa, Curve, Panel, has_one_scale, panels_of, spectral
from rtmbs.results.result import Result
from rtmbs.viewer.scene.description import ChannelDescription, SceneDescription, components
from rtmbs.viewer.scene.elements import Distance
from rtmbs.viewer.scene.frame import ACCELERATION, ELASTIC, FIRST, KINETIC, POSITION, T

Array = NDArray[np.float64]

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

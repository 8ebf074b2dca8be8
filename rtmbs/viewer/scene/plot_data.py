"""Data of plots: names of curves, values of a recorded result, envelopes of long curves, amplitude spectra."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.channel import units_of
from rtmbs.results.result import Result
from rtmbs.viewer.scene.description import ChannelDescription, SceneDescription
from rtmbs.viewer.scene.overlays import Distance

ENERGY, VIOLATION = "Energy balance", "Loop violation"
ENERGY_CURVES = ("kinetic", "gravity", "elastic", "total, change")
VIOLATION_CURVES = ("position [m]", "velocity [m/s]", "acceleration [m/s\N{SUPERSCRIPT TWO}]")
LEAST_VIOLATION = 1e-18  # what a logarithmic axis shows of a zero


def built_in_plots(description: SceneDescription) -> tuple[str, ...]:
    """Return the plots that need no channel; a mechanism without loops has nothing to violate but rounding."""
    if not description.live:
        return ()
    return (ENERGY, VIOLATION) if description.equations else (ENERGY,)


# ---- components of a channel -----------------------------------------------------------------------------------------


def labels(channel: ChannelDescription) -> list[str]:
    """Return the names of the numbers of a channel, each with its own unit."""
    units = units_of(channel.axes, channel.unit)
    return [f"{name}{bracketed(unit)}" for name, unit in zip(components(channel), units, strict=True)]


def bracketed(unit: str) -> str:
    """Return a unit behind a name; numbers without one have none."""
    return f" [{unit}]" if unit not in ("", "1") else ""


def components(channel: ChannelDescription) -> tuple[str, ...]:
    """Return the names of the numbers of a channel."""
    return tuple(f"{channel.name}[{axis}]" for axis in channel.axes) or (channel.name,)


# ---- a recorded result beside the session ----------------------------------------------------------------------------

Array = NDArray[np.float64]

ENERGIES = ("energy.kinetic", "energy.weight", "energy.elastic")


class Compared:
    """Columns (S, k) over the S samples of a result; None for what it does not have."""

    def __init__(self, result: Result) -> None:
        self.result, self.t = result, np.asarray(result.t)

    def plot(self, name: str, channel: ChannelDescription | None, distance: Distance | None) -> Array | None:
        """Return what a plot of this name shows, of a channel, a distance, or of the energies."""
        if name == ENERGY:
            return self.energies()
        if distance is not None:
            return self.distance(distance)
        return None if channel is None else self.channel(channel)

    def channel(self, channel: ChannelDescription) -> Array | None:
        """Return a channel of this name and these axes."""
        if channel.name not in self.result:
            return None
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


# ---- envelopes -------------------------------------------------------------------------------------------------------

PARTS = 1500  # of a curve; a plot is rarely wider in pixels


def envelope(t: Array, y: Array, parts: int = PARTS) -> tuple[Array, Array]:
    """Return the points of a curve (t, y) (k,) that a picture of ``parts`` columns needs, times rising.

    Every part of the samples keeps its first least and first greatest one, and the curve its ends, so extremes are
    exact. A curve of up to two samples a part comes back as it is.
    """
    if len(y) <= 2 * parts:
        return t, y
    length = -(-len(y) // parts)
    padded = np.append(y, np.full(-len(y) % length, y[-1])).reshape(-1, length)
    firsts, known = length * np.arange(len(padded)), ~np.isnan(padded)  # a curve may have no numbers at first
    low = firsts + np.argmin(np.where(known, padded, np.inf), axis=1)
    high = firsts + np.argmax(np.where(known, padded, -np.inf), axis=1)
    chosen = np.unique(np.minimum(np.concatenate(([0, len(y) - 1], low, high)), len(y) - 1))
    return t[chosen], y[chosen]


# ---- spectra ---------------------------------------------------------------------------------------------------------

LEAST = 8  # samples of which a spectrum says something
EVEN = 1e-6  # of a step, that steps of one length may differ by


def spectrum(t: Array, y: Array) -> tuple[Array, Array]:
    """Return frequencies [Hz] and amplitudes of (t, y) (k,) without its mean; empty for fewer than LEAST samples.

    A sine of amplitude a over whole periods shows a at its frequency. The window of Hann keeps neighbours apart; steps
    of several lengths are brought to their mean by lines between samples.
    """
    known = np.isfinite(y)
    t, y = t[known], y[known]
    if len(t) < LEAST:
        return np.zeros(0), np.zeros(0)
    step = float(t[-1] - t[0]) / (len(t) - 1)
    if np.ptp(np.diff(t)) > EVEN * step:
        even = t[0] + step * np.arange(len(t))
        t, y = even, np.interp(even, t, y)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(len(y)) / len(y))
    mean = window @ y / window.sum()  # as the window sees it: the plain one would leave a part in the first line
    amplitudes = 2.0 * np.abs(np.fft.rfft((y - mean) * window)) / window.sum()
    return np.asarray(np.fft.rfftfreq(len(y), step)[1:]), np.asarray(amplitudes[1:])

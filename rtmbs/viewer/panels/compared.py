"""A recorded result beside the session: the values of its channels for the plots."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.result import Result
from rtmbs.viewer.description import ChannelDescription
from rtmbs.viewer.measure import Distance
from rtmbs.viewer.panels.built_in import ENERGY

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

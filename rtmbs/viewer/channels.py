"""Channels by name at the present instant: what a window may plot, and the values of those it subscribed to."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.results.catalogue import sources
from rtmbs.results.channel import Source
from rtmbs.results.resampled import Resampled
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.state import State
from rtmbs.system.system import System
from rtmbs.system.tables import Tables
from rtmbs.viewer.description import ChannelDescription
from rtmbs.viewer.frame import PLOTS

Array = NDArray[np.float64]


class LiveChannels:
    """All channels of a System over one sample that is overwritten again and again."""

    def __init__(self, system: System, tables: Tables, state: State) -> None:
        arrays = (np.zeros((1, *getattr(state, name).shape)) for name in OF_STATE)
        self.samples = Samples(np.zeros(1), *arrays)
        self.resampled = Resampled(system, tables, self.samples)
        self.sources = sources(system, self.resampled)
        self.names: tuple[str, ...] = ()
        self._columns: list[tuple[Source, int]] = []

    def descriptions(self) -> tuple[ChannelDescription, ...]:
        """Return every channel with its axes and unit."""
        return tuple(ChannelDescription(name, source.axes, source.unit) for name, source in self.sources.items())

    def subscribe(self, names: tuple[str, ...]) -> None:
        """Choose what ``read`` returns; a refused list leaves the old one."""
        if len(names) > PLOTS:
            raise InputError(f"{len(names)} channels are asked for; at most {PLOTS} can be plotted at once")
        self._columns = [self.column(name) for name in names]
        self.names = names

    def column(self, name: str) -> tuple[Source, int]:
        """Return the source and the component that "name" or "name[axis]" means."""
        if name in self.sources and not self.sources[name].axes:
            return self.sources[name], 0
        owner, _, axis = name.removesuffix("]").rpartition("[")
        if owner not in self.sources:
            raise unknown_name("channel", owner or name, self.sources)
        if axis not in self.sources[owner].axes:
            raise unknown_name(f"axis of channel {owner!r}", axis, self.sources[owner].axes)
        return self.sources[owner], self.sources[owner].axes.index(axis)

    def follow(self, system: System, tables: Tables) -> None:
        """Go on with a System of which a force acts on another body now."""
        if system is not self.resampled.system:
            self.resampled.system, self.resampled.tables = system, tables
            self.resampled.__dict__.pop("graph", None)

    def read(self, state: State) -> Array:
        """Return the values (k,) of the chosen channels at ``state``."""
        samples = self.samples
        samples.t[0] = state.t
        for name in OF_STATE:
            getattr(samples, name)[0] = getattr(state, name)
        self.resampled.forget()
        known: dict[Callable[[], Array], Array] = {}  # the three components of one channel are worked out once
        values = np.empty(len(self._columns))
        for k, (source, component) in enumerate(self._columns):
            if source.values not in known:
                known[source.values] = source.values()
            values[k] = known[source.values].reshape(-1)[component]
        return values

"""``Result``: everything a run recorded, by name."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import unknown_name
from rtmbs.results.channel import Channel, Source

Array = NDArray[np.float64]
TIME = "t"


class Result:
    """Channels by name: ``result["crank.position"]`` is the array, ``result.channel("crank.position")`` knows its unit.

    ``names()`` lists them all. A channel is worked out when it is first asked for and kept. When two elements of a
    model claim one name, such as a body and a floating joint of the same name, each is listed with its kind in front:
    ``body:chassis.position`` and ``joint:chassis.position``.
    """

    def __init__(
        self,
        sources: Mapping[str, Source] | Callable[[], Mapping[str, Source]],
        name: str = "",
        fingerprint: str = "",
        outcomes: Mapping[str, int] | None = None,
        warnings: Callable[[], Mapping[str, int]] | Mapping[str, int] | None = None,
    ) -> None:
        self._given = sources
        self._channels: dict[str, Channel] = {}
        self.name = name  # of the model
        self.fingerprint = fingerprint  # of the System
        self.outcomes = dict(outcomes or {})  # how many steps ended how, by the name of the Outcome
        self._warnings = warnings

    @cached_property
    def warnings(self) -> dict[str, int]:
        """How many steps needed help, and how many samples ring, by what there is to say; worked out when asked for."""
        return dict((self._warnings() if callable(self._warnings) else self._warnings) or {})

    @cached_property
    def _sources(self) -> dict[str, Source]:
        """Every channel by name; a function that lists them is asked when somebody wants a channel."""
        return dict(self._given() if callable(self._given) else self._given)

    def names(self) -> list[str]:
        """Return the names of all channels."""
        return list(self._sources)

    def channel(self, name: str) -> Channel:
        """Return a channel with its axes and unit; UnknownNameError lists the nearest names."""
        if not (isinstance(name, str) and name in self._channels):
            self._channels[name] = self.read(name)
        return self._channels[name]

    def about(self, name: str) -> tuple[tuple[str, ...], str]:
        """Return axes and unit of a channel without working it out."""
        if not (isinstance(name, str) and name in self._sources):
            raise unknown_name("channel", name, self._sources)
        return self._sources[name].axes, self._sources[name].unit

    def read(self, name: str) -> Channel:
        """Return a channel without keeping it."""
        if not (isinstance(name, str) and name in self._sources):
            raise unknown_name("channel", name, self._sources)
        return self._sources[name].channel(name)

    def __getitem__(self, name: str) -> Array:
        return self.channel(name).values

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.t)

    @property
    def t(self) -> Array:
        """Times of the samples (samples,) [s]."""
        return self[TIME]

    def save(self, path: str | Path) -> None:
        """Write every channel with axes and unit, in the form that the name ends in; ``rtmbs.load_result`` reads it.

        ``.h5`` or ``.hdf5`` is HDF5 (extra ``hdf5``), ``.csv`` a table for other programs, which is not read again, and
        anything else an ``npz`` file without pickle.
        """
        from rtmbs.results.forms import save  # those files build Results

        save(self, path)

    def __repr__(self) -> str:
        return f"Result({self.name!r}, {len(self)} samples of {len(self._sources)} channels)"

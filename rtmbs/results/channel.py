"""A channel: one quantity of one element over the samples of a run, with its axes and unit.

``Record`` is what files, tables, plots and selections need of a Result.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import unknown_name

Array = NDArray[np.float64]

TIME = "t"
BETWEEN = ", "  # units of the components of one channel
WORLD = "world"
XYZ = ("x", "y", "z")
WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")
QUATERNION = ("w", "x", "y", "z")


@dataclass(frozen=True, eq=False)
class Channel:
    """Values of one quantity."""

    name: str
    axes: tuple[str, ...]  # labels of the components; empty when a sample is one number
    unit: str  # of every component, or one unit for each of them separated by ", "
    values: Array  # (samples,) or (samples, components)
    frame: str = ""  # whose axes the components are taken in: world, a body's name

    def __len__(self) -> int:
        return len(self.values)

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of every component; one of a channel without components."""
        return units_of(self.axes, self.unit)

    @property
    def components(self) -> tuple[tuple[str, str, Array], ...]:
        """Name, unit and values (samples,) of every component: ``("block.velocity[x]", "m/s", ...)``."""
        if not self.axes:
            return ((self.name, self.unit, self.values),)
        named = zip(self.axes, self.units, strict=True)
        return tuple((f"{self.name}[{axis}]", unit, self.values[:, k]) for k, (axis, unit) in enumerate(named))


@dataclass(frozen=True, eq=False)
class StoredValues:
    """Values in memory, as a Source calls for them; unlike a lambda it can be pickled."""

    values: Array

    def __call__(self) -> Array:
        return self.values


@dataclass(frozen=True, eq=False)
class Source:
    """A channel that is worked out at its first use."""

    axes: tuple[str, ...]
    unit: str
    values: Callable[[], Array]
    frame: str = ""

    def channel(self, name: str) -> Channel:
        """Return the channel under its ``name``, values read-only."""
        values = np.ascontiguousarray(self.values(), dtype=np.float64)
        if values.base is not None or values.flags.writeable:
            values = values.view()
            values.flags.writeable = False
        return Channel(name, self.axes, self.unit, values, self.frame)


def units_of(axes: tuple[str, ...], unit: str) -> tuple[str, ...]:
    """Return the unit of every component from the ``unit`` of a channel, which may list one for each."""
    listed = tuple(unit.split(BETWEEN))
    return listed if len(listed) == max(len(axes), 1) else (unit,) * max(len(axes), 1)


# ------------------------------------------------------------------------------------------------- channels of a record


class Entry(NamedTuple):
    """A channel of an element, before names that two elements share are resolved."""

    kind: str  # of the element
    name: str
    source: Source


def resolve_names(offers: Iterable[Entry]) -> dict[str, Entry]:
    """Return channels by name. A name that two kinds of element claim goes to neither: ``kind:name`` for each."""
    entries = list(offers)
    kinds: dict[str, set[str]] = {}
    for kind, name, _ in entries:
        kinds.setdefault(name, set()).add(kind)
    return {(e.name if len(kinds[e.name]) == 1 else f"{e.kind}:{e.name}"): e for e in entries}


class Record(Protocol):
    """Channels by name, as files, tables and plots read them."""

    name: str  # of the model
    fingerprint: str
    outcomes: dict[str, int]

    @property
    def warnings(self) -> dict[str, int]: ...
    @property
    def t(self) -> Array: ...
    def names(self) -> list[str]: ...
    def about(self, name: str) -> tuple[tuple[str, ...], str]: ...
    def frame(self, name: str) -> str: ...
    def channel(self, name: str) -> Channel: ...
    def read(self, name: str) -> Channel: ...
    def __contains__(self, name: object) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...


@dataclass(frozen=True)
class Contents:
    """Contents of a result file, from which a Result is made."""

    sources: Mapping[str, Source]
    name: str = ""  # of the model
    fingerprint: str = ""  # of the System
    outcomes: Mapping[str, int] = field(default_factory=dict)
    warnings: Mapping[str, int] = field(default_factory=dict)


# --------------------------------------------------------------------------------------------------- components by name


def component_of(record: Record, name: str) -> tuple[str, str]:
    """Return the channel and the axis ("" all) that a name means; UnknownNameError with the nearest names.

    A channel is NAME.QUANTITY, one component of it NAME.QUANTITY[AXIS] or NAME.QUANTITY.AXIS, one of a position NAME.x.
    """
    if not isinstance(name, str):
        raise unknown_name("channel", name, record.names())
    if name in record:
        return name, ""
    owner, _, axis = name.removesuffix("]").rpartition("[") if name.endswith("]") else name.rpartition(".")
    if owner not in record and f"{owner}.position" in record and len(axis) == 1:
        owner = f"{owner}.position"
    if owner not in record:
        raise unknown_name("channel", name, record.names())
    axes = record.about(owner)[0]
    if axis not in axes:
        raise unknown_name(f"axis of channel {owner!r}", axis, axes)
    return owner, axis


def channel_or_component(record: Record, name: str) -> Channel:
    """Return the channel that a name means, or the one component of it under its full name."""
    owner, axis = component_of(record, name)
    channel = record.channel(owner)
    if not axis:
        return channel
    k = channel.axes.index(axis)
    return Channel(f"{owner}[{axis}]", (), units_of(channel.axes, channel.unit)[k], channel.values[:, k], channel.frame)

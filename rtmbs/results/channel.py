"""A channel: one quantity of one element over the samples of a run, with its axes and unit."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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
class Kept:
    """Values at hand, as a Source asks for them; unlike a lambda it can be pickled."""

    values: Array

    def __call__(self) -> Array:
        return self.values


@dataclass(frozen=True, eq=False)
class Source:
    """A channel that is worked out when somebody asks for it."""

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

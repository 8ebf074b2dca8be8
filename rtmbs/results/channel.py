"""A channel: one quantity of one element over the samples of a run, with its axes and unit."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

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

"""A section: a plane that takes away what lies before it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Section(NamedTuple):
    """Points x with normal . x > offset are not drawn."""

    normal: Array  # (3,) unit, world
    offset: float  # [m]

    @property
    def plane(self) -> Array:
        """(4,): the part that is drawn has plane . (x, 1) >= 0."""
        return np.append(-self.normal, self.offset)

    def kept(self, start: Array, direction: Array) -> tuple[Array, float]:
        """Return where the part of a ray begins that is drawn (3,), and how long it is [m]; 0 for none."""
        before, toward = self.offset - float(self.normal @ start), float(self.normal @ direction)
        if before < 0.0:  # the eye stands on the side that is taken away
            return (start + before / toward * direction, np.inf) if toward < 0.0 else (start, 0.0)
        return start, before / toward if toward > 0.0 else np.inf


def across(axis: str, offset: float, turned: bool = False) -> Section:
    """Return the section across an axis of the world; ``turned`` takes away the other side."""
    sign = -1.0 if turned else 1.0
    return Section(sign * np.array(AXES[axis]), sign * offset)

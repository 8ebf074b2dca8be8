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

    def cut(self, triangles: Array) -> tuple[Array, NDArray[np.int64]]:
        """Return what is left of triangles (k, 3, 3) as corners (j, 4, 3), and the triangle (j,) that each is of."""
        before = self.offset - triangles @ self.normal  # (k, 3), not negative where a corner is drawn
        whole = np.flatnonzero(np.all(before >= 0.0, axis=1))
        crossing = np.flatnonzero(np.any(before >= 0.0, axis=1) & np.any(before < 0.0, axis=1))
        parts = [part(triangles[k], before[k]) for k in crossing]
        quads = np.concatenate([triangles[whole], triangles[whole, 2:]], axis=1)
        return np.concatenate([quads, np.array(parts).reshape(-1, 4, 3)]), np.concatenate([whole, crossing])


def part(corners: Array, before: Array) -> Array:
    """Return the part (4, 3) of a triangle (3, 3) whose corners lie so far before a plane (3,) that cuts it."""
    found = []
    for k in range(3):
        one, other = before[k], before[(k + 1) % 3]
        if one >= 0.0:
            found.append(corners[k])
        if (one >= 0.0) != (other >= 0.0):
            found.append(corners[k] + one / (one - other) * (corners[(k + 1) % 3] - corners[k]))
    return np.array(found if len(found) == 4 else [*found, found[-1]])


def across(axis: str, offset: float, turned: bool = False) -> Section:
    """Return the section across an axis of the world; ``turned`` takes away the other side."""
    sign = -1.0 if turned else 1.0
    return Section(sign * np.array(AXES[axis]), sign * offset)

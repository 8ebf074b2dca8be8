"""A named point of a body, for springs, rods, driven distances and output."""

from dataclasses import dataclass, field

import numpy as np

from rtmbs.model.body import Body
from rtmbs.model.checks import Array


@dataclass(frozen=True, eq=False)
class Marker:
    """A point that a body carries."""

    name: str
    body: Body
    point: Array  # (3,) body axes [m]
    axes: Array = field(default_factory=lambda: np.eye(3))  # (3, 3) marker axes to body axes; force laws work in them

    def reference(self) -> Array:
        """Return the point at the reference pose, (3,) world axes [m]."""
        return self.body.world(self.point)


def reference_distance(first: Marker, second: Marker) -> float:
    """Return the distance of two markers at the reference pose [m]."""
    return float(np.linalg.norm(second.reference() - first.reference()))

"""Sizes of the coordinates and loop equations of a System, for tolerances."""

import numpy as np

from rtmbs.integrators.base import Sizes
from rtmbs.system.origins import transport_slides
from rtmbs.system.system import System


def sizes_of(system: System) -> Sizes:
    """Return what numbers of a step are compared with."""
    closure, rotation = system.closure_of_row, system.row_is_rotation
    return Sizes(
        length=system.length,
        typical=system.typical,
        pace=np.where(transport_slides(system.tables), np.inf, system.typical),
        rotation=rotation,
        scale=np.where(rotation, 1.0, system.length),
        first=np.asarray((np.diff(closure, prepend=-2) != 0) | (closure < 0)),  # a driven coordinate is one
    )

"""Bodies that the mechanisms of the library are made of, placed by points of the reference pose (world axes)."""

import numpy as np
from numpy.typing import ArrayLike

from rtmbs.model import Body, Model

SLENDER = 1e-4  # [kg m^2] a slender bar has no inertia about its own axis; this little keeps its tensor regular


def add_bar(
    model: Model,
    name: str,
    start: ArrayLike,
    end: ArrayLike,
    mass: float = 1.0,
    *,
    transverse: float | None = None,
    axial: float = SLENDER,
) -> Body:
    """Add a uniform straight bar. Its frame stands at ``start`` in world axes.

    transverse, axial: moments of inertia about the mass centre [kg m^2]; transverse None is mass length^2 / 12.
    """
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    along = end - start
    length = float(np.linalg.norm(along))
    unit = along / length
    if transverse is None:
        transverse = mass * length**2 / 12.0
    inertia = transverse * np.eye(3) + (axial - transverse) * np.outer(unit, unit)
    return model.add_body(name, mass=mass, center_of_mass=along / 2.0, inertia=inertia, position=start)


def add_planar_body(
    model: Model, name: str, position: ArrayLike, center_of_mass: ArrayLike, mass: float, moment: float
) -> Body:
    """Add a body of which only the moment about the normal of its plane matters; all three are set to it.

    position, center_of_mass: world axes at the reference pose [m]. Its frame stands at ``position``.
    """
    position = np.asarray(position, dtype=float)
    offset = np.asarray(center_of_mass, dtype=float) - position
    return model.add_body(name, mass=mass, center_of_mass=offset, inertia=(moment, moment, moment), position=position)

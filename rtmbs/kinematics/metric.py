"""How changes of the coordinates are weighed: W = (L L^T)^-1, one block a body.

"size": a metre over the size of the mechanism and a radian count alike. "mass": W is the mass matrix, so that the
least change is the one of least kinetic energy. A change across |e| = 1 is fixed by its own equation and counts as a
turn by one radian in either.
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import InputError, shown
from rtmbs.jit.struct import struct
from rtmbs.kinematics.equations import Equations

Array = Any
WEIGHTS = ("size", "mass")


@struct
class Metric(NamedTuple):
    """Numbers that the roots L are made of."""

    masses: int  # 1: of masses, 0: of sizes
    size: Array  # (n,) diagonal of L in the metric of sizes
    heavy: Array  # (groups,) 1 / sqrt(mass)
    center: Array  # (groups, 3) mass centre, body axes [m]
    turning: Array  # (groups, 3, 3) inertia^-1/2, body axes
    across: Array  # (groups,) of a change across |e| = 1


def build_metric(equations: Equations, name: str) -> Metric:
    """Return the metric of this name; InputError for an unknown one, or for masses that are not there."""
    if name not in WEIGHTS:
        raise InputError(f"weights is {shown(name)}; it must be {' or '.join(map(repr, WEIGHTS))}")
    groups = len(equations.bodies) + len(equations.extra)
    heavy, across = np.ones(groups), np.ones(groups)
    center, turning = np.zeros((groups, 3)), np.zeros((groups, 3, 3))
    if name == "mass":
        if equations.extra:
            raise InputError("weights='mass' does not know what a curve's parameter weighs; take 'size'")
        for k, body in enumerate(list(equations.model.bodies.values())[1:], 1):
            principal, axes = np.linalg.eigh(body.inertia)
            if body.mass <= 0.0 or principal[0] <= 0.0:
                raise InputError(
                    f"weights='mass': body {body.name!r} has no mass or no inertia about an axis; take 'size'"
                )
            heavy[k] = 1.0 / np.sqrt(body.mass)
            center[k] = body.center_of_mass
            turning[k] = (axes / np.sqrt(principal)) @ axes.T
            across[k] = 1.0 / np.sqrt(principal.mean())
    return Metric(int(name == "mass"), equations.sizes(), heavy, center, turning, across)

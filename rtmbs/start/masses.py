"""What moves must have mass, or be held: the condition of METHODS 1.21 that needs no pose."""

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.system.system import System
from rtmbs.system.tables import branch_steps


def check_masses(system: System) -> None:
    """Refuse a coordinate that moves no mass and that neither a closure nor a driver holds; raises ModelError."""
    tables = system.tables
    steps = tables.steps
    moved = (steps.mass > 0.0) | np.any(steps.inertia != 0.0, axis=(1, 2))
    for i in range(len(moved) - 1, -1, -1):
        if moved[i] and steps.parent[i] >= 0:
            moved[steps.parent[i]] = True
    held = np.zeros(len(moved), np.bool_)
    held[branch_steps(tables.links, tables.closures.connector)] = True
    held[tables.drivers.step] = True
    loose = np.flatnonzero(~moved & ~held)
    if len(loose):
        step = int(loose[0])
        raise ModelError(
            f"body {mover(system, step)!r} is massless, and no heavier body or closure holds "
            f"{system.coordinate_names[step]}; give it mass or inertia, or close it"
        )


def mover(system: System, step: int) -> str:
    """Return the body that a step moves first."""
    joint = next(joint for joint in system.joints.values() if step in joint.steps)
    return joint.a if joint.reversed else joint.b

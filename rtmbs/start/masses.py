"""What moves must have mass, or be held: the condition of METHODS 1.21 that needs no pose."""

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.system.system import System
from rtmbs.system.tables import branch_dofs


def check_masses(system: System) -> None:
    """Refuse a coordinate that moves no mass and that neither a closure nor a driver holds; raises ModelError."""
    tables = system.tables
    dofs = tables.dofs
    moved = (dofs.mass > 0.0) | np.any(dofs.inertia != 0.0, axis=(1, 2))
    for i in range(len(moved) - 1, -1, -1):
        if moved[i] and dofs.parent[i] >= 0:
            moved[dofs.parent[i]] = True
    held = np.zeros(len(moved), np.bool_)
    held[branch_dofs(tables.connectors, tables.closures.connector)] = True
    held[tables.drivers.dof] = True
    loose = np.flatnonzero(~moved & ~held)
    if len(loose):
        dof = int(loose[0])
        raise ModelError(
            f"body {mover(system, dof)!r} is massless, and no heavier body or closure holds "
            f"{system.coordinate_names[dof]}; give it mass or inertia, or close it"
        )


def mover(system: System, dof: int) -> str:
    """Return the body that a dof moves first."""
    joint = next(joint for joint in system.joints.values() if dof in joint.dofs)
    return joint.a if joint.reversed else joint.b

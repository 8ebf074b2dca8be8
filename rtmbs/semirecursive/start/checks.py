"""Refusals of a start: massless coordinates, numbers not finite, open loops, wrong assembly, forces without value."""

import numpy as np

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import ModelError, StartError, StateError
from rtmbs.forces.register import BY_WORD
from rtmbs.integrators.settings import LOOP_TOLERANCE, StateArrays
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.state import State
from rtmbs.system.system import System
from rtmbs.system.tables import branch_dofs

FACING = 0.5  # cosine of axes that point the same way: closed dot products leave 1, -1, or 0 after a third of a turn


def check_finite(equations: SemiRecursiveEquations, arrays: StateArrays) -> None:
    """Refuse a start that is not finite, or beyond all range: a state never is."""
    system = equations.system
    for name, values in (("position", arrays.z), ("rate", arrays.zd), ("acceleration", arrays.zdd)):
        if len(bad := np.flatnonzero(~(np.abs(values) <= BEYOND))):
            raise StartError(
                f"the first {name} of {system.coordinate_names[bad[0]]!r} is not finite; look for numbers far"
                " too large in gravity, forces, inputs and initial values"
            )
    if len(bad := np.flatnonzero(~(np.abs(arrays.sd) <= BEYOND))):
        state = system.states[bad[0]]
        raise StartError(
            f"the first rate of state {state.name!r} of force {state.force!r} is not finite; look for numbers far too"
            " large in its law, its first value and inputs"
        )
    if len(bad := np.flatnonzero(~(np.abs(arrays.lam) <= BEYOND))):
        raise StartError(
            f"the first multiplier of {system.row_names[bad[0]]!r} is not finite; look for numbers far too large"
            " in forces and penalties"
        )


def check_closed(equations: SemiRecursiveEquations, state: State, what: str) -> None:
    """Refuse a state whose loops are further open than a step leaves them; raises StateError naming ``what``."""
    equations.u = state.u  # driven coordinates are compared with functions of time that stand there
    gap = np.abs(equations.close(state.z, state.R0)) / equations.sizes.scale
    if not np.max(gap, initial=0.0) <= LOOP_TOLERANCE:
        raise StateError(
            f"{what}: {equations.system.row_names[int(np.argmax(gap))]!r} is open by {np.max(gap):.3g} of its size; "
            f"a step leaves {LOOP_TOLERANCE:g} at most, so z, R0 or u is not what a step left"
        )


def check_facing(equations: SemiRecursiveEquations) -> None:
    """Refuse an assembly in which axes of a cut joint do not point the same way (METHODS 1.25)."""
    if name := facing_away(equations):
        raise StartError(
            f"cut joint {name!r} assembled the wrong way round: its axes do not point the same way;"
            " give an initial value on the wanted side"
        )


def facing_away(equations: SemiRecursiveEquations) -> str:
    """Return a cut joint with axes that do not point the same way at the pose evaluated last; empty when none has."""
    ws, connectors = equations.ws, equations.tables.connectors
    for closure, info in enumerate(equations.system.closures):
        connector = equations.tables.closures.connector[closure]
        A_a, A_b = ws.A[connectors.a[connector]], ws.A[connectors.b[connector]]
        for axis_a, axis_b in zip(info.aligned_a, info.aligned_b, strict=True):
            if (A_a @ axis_a) @ (A_b @ axis_b) < FACING:
                return info.name
    return ""


def check_forces(equations: SemiRecursiveEquations) -> None:
    """Refuse a start at which a force has no value, such as a spring whose markers coincide."""
    system, ws, connectors = equations.system, equations.ws, equations.tables.connectors
    for force in system.forces.values():
        if force.kind in BY_WORD:
            kind = BY_WORD[force.kind]
            table = getattr(equations.tables.forces, kind.name)
            if refusal := kind.refusal(table, force.row, connectors, ws, system.length):
                raise StartError(f"force {force.name!r} has no value at the start: {refusal}")


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

"""Inputs of locks: the pose that a lock holds, and the locks that are open (METHODS 8.5)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rtmbs.contact.switched import AXES, CLOSED, LOCKED, POSITION, ROTATION, SLIP
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.system.system import System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
SHIFT = 3  # first inputs of a pair of frames: the position; its axes follow, row by row


def hold_pose(equations: EvaluatedEquations, u: Array, names: Iterable[str]) -> None:
    """Write the pose evaluated last to the inputs ``u`` (nu,) of these locks, and close them."""
    inputs = equations.system.inputs
    for name in names:
        first, x = first_input(equations.system, equations.tables, name), equations.ws.pose_input
        u[inputs[f"{name}.{LOCKED}"]] = 1.0
        place = inputs[f"{name}.{POSITION}"]
        u[place] = x[first : first + place.stop - place.start]
        if (axes := inputs.get(f"{name}.{ROTATION}")) is not None:
            u[axes] = x[first + SHIFT : first + SHIFT + axes.stop - axes.start]


def close_contacts(equations: EvaluatedEquations, u: Array) -> None:
    """Close all rigid contacts in the inputs ``u`` (nu,), with their slips, at the pose evaluated last."""
    inputs, x = equations.system.inputs, equations.ws.pose_input
    for name in equations.system.rigid:
        u[inputs[f"{name}.{CLOSED}"]] = 1.0
        if (axes := inputs.get(f"{name}.{AXES}")) is not None:
            first = first_input(equations.system, equations.tables, name) + SHIFT
            u[axes], u[inputs[f"{name}.{SLIP}"]] = x[first : first + axes.stop - axes.start], 1.0


def first_input(system: System, tables: Tables, name: str) -> int:
    """Return the place of the first input of the function of a lock."""
    pointer, conditions = tables.closures.row_pointer, tables.conditions
    row = pointer[system.closure_names.index(name)] - pointer[conditions.first[0]]
    return int(conditions.input[row])


def open_locks(system: System, u: Array) -> list[str]:
    """Return the locks that are open with the inputs ``u`` (nu,)."""
    return [name for name in system.locks if not np.any(u[system.inputs[f"{name}.{LOCKED}"]])]


def release(system: System, u: Array, names: Iterable[str]) -> None:
    """Open locks in the inputs ``u`` (nu,)."""
    for name in names:
        u[system.inputs[f"{name}.{LOCKED}"]] = 0.0

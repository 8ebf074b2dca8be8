"""Names that a failed step is to be known by."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import StateArrays
from rtmbs.limits.bounds import BEYOND, are_rotations
from rtmbs.semirecursive.workspace import Workspace
from rtmbs.system.system import System

if TYPE_CHECKING:
    from rtmbs.semirecursive.equations import SemiRecursiveEquations

Array = NDArray[np.float64]

NAMED = 3  # worst in a report


def worst(equations: "SemiRecursiveEquations", outcome: Outcome, old: StateArrays, scale: Array) -> tuple[str, ...]:
    """Return what was out of range before a step from ``old``, the coordinate without a pivot, or the coordinates or
    loop equations with the largest residual in terms of ``scale`` (m,).
    """
    ws, system = equations.ws, equations.system
    if outcome is Outcome.NOT_FINITE:
        bad = out_of_range(system, old, equations.alpha) or not_finite_laws(system, ws)
        if bad:
            return bad[:NAMED]
    if outcome is Outcome.SINGULAR_TANGENT and equations.weakest >= 0:
        return (system.coordinate_names[equations.weakest],)
    values: Any = ws.Phi / scale if outcome is Outcome.LOOP_OPEN else ws.residual
    names = system.row_names if outcome is Outcome.LOOP_OPEN else system.coordinate_names
    size = np.where(np.isfinite(values), np.abs(values), np.inf)
    return tuple(dict.fromkeys(names[i] for i in np.argsort(-size, kind="stable")[:NAMED]))


def out_of_range(system: System, state: Any, alpha: Array) -> tuple[str, ...]:
    """Return what no step can start from: entries such as ``zd of crank.angle`` that are out of range.

    ``state`` is a State or its arrays, ``alpha`` (m,) penalty factors.
    """
    found, names, rows = [], system.coordinate_names, system.row_names
    for place, owner in (("z", names), ("zd", names), ("zdd", names), ("lam", rows)):
        bad = np.flatnonzero(~(np.abs(getattr(state, place)) <= BEYOND))
        found += [f"{place} of {owner[i]}" for i in bad[:NAMED]]
    with np.errstate(all="ignore"):
        first = [
            int(np.flatnonzero(system.tables.dofs.reference == k)[0]) for k in np.flatnonzero(~are_rotations(state.R0))
        ]
    found += [f"R0 of {names[i].rpartition('.')[0]}, which is no rotation" for i in first[:NAMED]]
    bad = np.flatnonzero(~((alpha > 0.0) & np.isfinite(alpha)))
    return (*found, *(f"alpha of {rows[i]}" for i in bad[:NAMED]))


def not_finite_laws(system: System, ws: Workspace) -> tuple[str, ...]:
    """Return the names of force laws of the user that returned a number that is not finite."""
    found = []
    for force in system.forces.values():
        if force.kind == "law":
            values = ws.law_wrench[force.row]
        elif force.kind == "joint law":
            values = ws.law_force[force.row : force.row + len(force.dofs)]
        else:
            continue
        if not np.all(np.isfinite(values)):
            found.append(force.name)
    return tuple(found)

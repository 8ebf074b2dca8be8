"""Causes of failed steps: a driver beyond reach of the loops, or the law or loop that is least linear over the step.

Worked out after the failure, from evaluations alone; the sizes that are named are dimensionless.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND, are_rotations
from rtmbs.integrators.contract import Diagnosis, NotFinite, SingularTangent
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import INERTIA, Settings, StateArrays
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.workspace import Workspace
from rtmbs.system.system import System
from rtmbs.system.tables import PRISMATIC, branch_dofs

Array = NDArray[np.float64]

LARGEST = 250_000  # entries of Phi_z up to which reach is tried
MOVES = 30  # towards closed loops
LONGEST = 0.5  # largest move, in typical sizes
CLOSED = 1e-6  # violation, relative to the size of each row, of loops that are closed
SLIGHT = 1e-6  # part of a correction that shows the slope
BENT = 1e-3  # of the first correction: below it an element is as good as linear
SHARE = 0.5  # of the largest bend, from which on an element is named too
NAMED = 3  # elements
INERTIAS = "inertia forces"


def diagnose(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> Diagnosis:
    """Return the causes of a failed step from ``old`` with the inputs of ``equations`` at its end, as far as found."""
    with np.errstate(all="ignore"):
        if (driver := beyond_reach(equations, settings, old)) is not None:
            return driver
        sizes = [*turns(equations, settings, old), *stiffness(equations, settings, old)]
        bends = bent(equations, settings, old)
    worst = max(bends.values(), default=0.0)
    ranked = sorted(bends, key=lambda name: -bends[name])
    names = tuple(name for name in ranked if bends[name] >= max(SHARE * worst, BENT))[:NAMED]
    if names:
        sizes.append(f"least linear over the step: {', '.join(names)}")
    return Diagnosis(tuple(name for name in names if name != INERTIAS), "; ".join(sizes))


# -------------------------------------------------------------------------------------------------------------- reach


def beyond_reach(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> Diagnosis | None:
    """Return the drivers without one of which the loops close at the end of the step, when they do not with all."""
    system = equations.system
    rows = driver_rows(system)
    if not rows or system.n * system.m > LARGEST or closes(equations, settings, old, np.ones(system.m, bool)):
        return None
    names = tuple(
        name
        for name, mine in rows.items()
        if closes(equations, settings, old, np.isin(np.arange(system.m), mine, invert=True))
    )
    if not names:
        return None
    if len(names) > 1:
        reason = f"drivers {', '.join(map(repr, names))} cannot be followed together: the loops do not close there"
        return Diagnosis(names, f"{reason}; change a profile or take one away, no smaller step helps", True)
    reason = f"driver {names[0]!r} is beyond reach: the loops cannot close where it wants to be"
    return Diagnosis(names, f"{reason}; change its profile, no smaller step helps", True)


def driver_rows(system: Any) -> dict[str, list[int]]:
    """Return the rows of every driver by its name: a driven coordinate has no closure, a driven distance a slot."""
    slots = {signal.slot: signal.name for signal in system.signals}
    closures, drivers = system.tables.closures, system.tables.drivers
    found: dict[str, list[int]] = {}
    for row, slot in enumerate([*closures.slot.tolist(), *drivers.slot.tolist()]):
        if slot >= 0 and slot in slots:
            found.setdefault(slots[slot], []).append(row)
    return found


def closes(equations: EvaluatedEquations, settings: Settings, old: StateArrays, rows: NDArray[np.bool_]) -> bool:
    """True when these rows can be closed from the old positions: least squares, with moves that are not too long."""
    z, weight = old.z.copy(), 1.0 / settings.scale[rows]
    for _ in range(MOVES):
        violation = equations.close(z, old.R0)[rows] * weight
        if not np.all(np.isfinite(violation)):
            return False
        if np.max(np.abs(violation), initial=0.0) <= CLOSED:
            return True
        jacobian = equations.closure_jacobian()[rows] * weight[:, None] * settings.typical
        move = -np.linalg.lstsq(jacobian, violation, rcond=1e-10)[0]
        z += settings.typical * move * min(1.0, LONGEST / max(float(np.max(np.abs(move))), 1e-300))
    return False


# -------------------------------------------------------------------------------------------------------------- sizes


def turns(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> Iterator[str]:
    """Yield the largest angle that a coordinate turns in the step, w h."""
    kind = equations.system.tables.dofs.kind
    angles = np.where(kind == PRISMATIC, 0.0, np.abs(old.zd) * settings.h)
    if angles.any():
        name = equations.system.coordinate_names[int(np.argmax(angles))]
        yield f"rate times step is {angles.max():.2g} rad at {name!r}"


def stiffness(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> Iterator[str]:
    """Yield the largest k h^2 / m or c h / m of a coordinate, from the diagonals of K, C and M without penalties."""
    alpha, equations.alpha = equations.alpha, np.zeros_like(equations.alpha)
    try:
        equations.residual(old.z, old.zd, old.zdd, old.R0)
        parts = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
        M, C, K = (np.abs(np.diag(equations.assemble(*part))) for part in parts)
    finally:
        equations.alpha = alpha
    M = np.maximum(M, 1e-12 * M.max(initial=1e-300))
    stiff, damped = K * settings.h**2 / M, C * settings.h / M
    what = "stiffness times step squared" if stiff.max(initial=0.0) >= damped.max(initial=0.0) else "damping times step"
    sizes = np.maximum(stiff, damped)
    if sizes.any():
        name = equations.system.coordinate_names[int(np.argmax(sizes))]
        yield f"{what} over mass is {sizes.max():.2g} at {name!r}"


# --------------------------------------------------------------------------------------------------------------- bend


def bent(equations: EvaluatedEquations, settings: Settings, old: StateArrays) -> dict[str, float]:
    """Return how far each law and each loop is from linear along the first correction, relative to it, by name.

    A loop: Phi at the end of the correction less Phi and its slope at the beginning, over its scale. A law: the same of
    its force, times h^2/4 over the smallest mass that it moves. What remains of M zdd - Q are inertia forces.
    """
    h, q4 = settings.h, 0.25 * settings.h**2
    start = h * old.zd + 0.5 * h * h * old.zdd

    def at(increment: Array) -> tuple[Array, Array]:
        zdd = 4.0 / h**2 * increment - 4.0 / h * old.zd - old.zdd
        residual = equations.residual(old.z + increment, 2.0 / h * increment - old.zd, zdd, old.R0)
        ws = equations.ws
        return residual, np.concatenate((ws.Phi / settings.scale, ws.tau, ws.law_wrench.ravel(), ws.law_force))

    residual, here = at(start)
    try:
        equations.solver = equations.solvers[-1]
        equations.factor(0.5 * h, q4, INERTIA, old)
        way = equations.solve(-q4 * residual)
    except (SingularTangent, NotFinite):
        return {}
    M = np.abs(np.diag(equations.mass_matrix()))
    bend = at(start + way)[1] - here - (at(start + SLIGHT * way)[1] - here) / SLIGHT
    bend /= max(float(np.max(np.abs(way) / settings.typical, initial=0.0)), 1e-300)
    found: dict[str, float] = {}
    m, n = equations.m, equations.n
    for row in np.flatnonzero(np.isfinite(bend[:m])):
        closure = int(equations.system.closure_of_row[row])
        if closure >= 0:
            name = equations.system.closure_names[closure]
            found[name] = max(found.get(name, 0.0), abs(float(bend[row])))
    laws = law_bends(equations, settings, M, bend[m + n :])
    inertias = q4 * np.abs(bend[m : m + n]) / np.maximum(M * settings.typical, 1e-300)
    rest = float(np.max(inertias[np.isfinite(inertias)], initial=0.0)) - sum(laws.values())
    return found | laws | {INERTIAS: rest}


def law_bends(equations: EvaluatedEquations, settings: Settings, M: Array, bend: Array) -> dict[str, float]:
    """Return the bends of the laws by name: forces times h^2/4 over the mass of the coordinates that they act on."""
    system = equations.system
    found: dict[str, float] = {}
    tables, count = system.tables, len(system.tables.laws.frame_a)
    for force in system.forces.values():
        if force.kind == "law":
            dofs = branch_dofs(tables.connectors, [force.connector])
            values = bend[6 * force.row : 6 * force.row + 6]
        elif force.kind == "joint law":
            dofs = np.array(force.dofs)
            values = bend[6 * count + force.row : 6 * count + force.row + len(dofs)]
        else:
            continue
        if len(dofs) and np.all(np.isfinite(values)):
            mass = float(np.min(M[dofs] * settings.typical[dofs]))
            found[force.name] = 0.25 * settings.h**2 * float(np.max(np.abs(values))) / max(mass, 1e-300)
    return found


# ---- names of the elements at fault ---------------------------------------------------------------------------------


def failure_names(equations: EvaluatedEquations, outcome: Outcome, old: StateArrays, scale: Array) -> tuple[str, ...]:
    """Return the names in the report of a failed step from ``old``.

    These are entries of ``old`` out of range, the coordinate without a pivot, or the coordinates or loop equations with
    the largest residual in terms of ``scale`` (m,).
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
    """Return the entries of a state that are out of range for a step, such as ``zd of crank.angle``.

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

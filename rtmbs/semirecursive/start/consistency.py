"""Consistent rates, the check of first accelerations, and drivers that contradict each other (METHODS 1.15)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.errors import StartError
from rtmbs.integrators.settings import StateArrays
from rtmbs.semirecursive.accelerations import allowed_violation, equation_residuals, violation_terms
from rtmbs.semirecursive.start.assembly import Assembly
from rtmbs.semirecursive.start.rank import Scaled, inconsistent_part
from rtmbs.system.system import System

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

PART = 1e-3  # of the largest violation left: a row with less has no part in a contradiction


def check_motion(assembly: Assembly, z: Array, zd: Array, zdd: Array, lam: Array, masses: Array, h: float) -> None:
    """Refuse first accelerations that do not satisfy the equations of motion; the factor is still theirs.

    ``masses`` (m,) are the effective ones: in their metric what is left of Phidd is smallest. What moves nothing by
    more than rounding in a step h [s] is no fault: forces may balance to zero.
    Raises StartError naming the drivers that contradict each other, or the loop that no acceleration keeps closed.
    """
    equations, root = assembly.equations, np.sqrt(masses)
    found = equation_residuals(
        equations, StateArrays(z, zd, zdd, lam, assembly.R0, np.zeros((equations.n, 2))), masses, h
    )
    if np.any(found.loops):
        row = int(np.argmax(np.where(found.loops, root * np.abs(found.violation), 0.0)))
        drivers = drivers_in(assembly, root * found.violation, row)
        raise StartError(contradiction(equations.system, drivers, row, found.violation))
    if np.any(found.forces):
        worst = int(np.argmax(np.where(found.forces, found.change, 0.0)))
        raise StartError(
            f"the first acceleration of {equations.system.coordinate_names[worst]!r} did not converge:"
            " the pose is nearly singular; start from a pose farther from the dead centre of this loop"
        )


def check_agreement(assembly: Assembly, zd: Array, masses: Array, redundant: NDArray[np.bool_]) -> None:
    """Refuse drivers that no acceleration can follow, before one is looked for.

    Where Phidd = 0 has no solution the multipliers grow without bound on the way to one, and what is left in the end
    looks small beside them. ``redundant`` (m,) are the rows that others hold; rows of drivers come last, so a driver
    that contradicts something is among them.
    Raises StartError naming the drivers with a part in what no acceleration takes away.
    """
    equations, root = assembly.equations, np.sqrt(masses)
    suspects = [row for row in np.flatnonzero(redundant).tolist() if is_given(assembly, row)]
    if not suspects:
        return
    still = np.zeros(equations.n)
    wanted = equations.closure_accelerations(zd, still)
    terms, rounding = violation_terms(equations, zd, still, np.zeros(equations.m))
    scaled = Scaled(equations, assembly.jacobian)
    for group in assembly.groups:
        if not np.any(np.isin(suspects, group.rows)):
            continue
        left, rows = np.zeros(equations.m), group.rows
        left[rows] = inconsistent_part(scaled, group, root, wanted)
        size = np.max(terms[rows] / assembly.scale[rows])
        allowed = allowed_violation(equations, size * assembly.scale[rows], rounding[rows])
        row = int(rows[np.argmax(root[rows] * np.abs(left[rows]))])
        drivers = drivers_in(assembly, root * left, row)
        if drivers and np.any(np.abs(left[rows]) > allowed):
            raise StartError(contradiction(equations.system, drivers, row, left))


def drivers_in(assembly: Assembly, left: Array, row: int) -> list[str]:
    """Return the drivers that take part in what is left of the equations of the group of ``row``."""
    group = next(group for group in assembly.groups if row in group.rows)
    significant = group.rows[np.abs(left[group.rows]) > PART * np.max(np.abs(left[group.rows]))]
    return [
        assembly.equations.system.row_names[k].removesuffix(".distance") for k in significant if is_given(assembly, k)
    ]


def is_given(assembly: Assembly, row: int) -> bool:
    """True when a row follows a driver."""
    slot = assembly.equations.tables.closures.slot
    return row >= len(slot) or bool(slot[row] >= 0)


def contradiction(system: System, drivers: list[str], row: int, violation: Array) -> str:
    """Return the sentence about a ``row`` that no acceleration satisfies."""
    unit = "rad/s2" if system.row_is_rotation[row] else "m/s2"
    left = f"{abs(violation[row]):.4g} {unit} would be left at {system.row_names[row]!r}"
    if len(drivers) > 1:
        return (
            f"drivers {', '.join(map(repr, drivers))} contradict each other in acceleration at the start: {left};"
            " take one of them away, or give profiles that agree in position, velocity and acceleration"
        )
    if drivers:
        return (
            f"driver {drivers[0]!r} asks for an acceleration that the loops do not allow at the start: {left};"
            " the pose may be a dead centre: start beside it, or give a profile that starts at rest"
        )
    return (
        f"no acceleration keeps the loops closed at the start: {left}; the pose is singular and the initial rates lie"
        " on no branch of its motion: start a little beside it, or give other rates"
    )


CONSISTENT = 1e-9  # violation left, relative to the largest rate asked for


def consistent_rates(assembly: Assembly, wanted: Array, pinned: NDArray[np.bool_], weights: Array) -> Array:
    """Return zd (n,) at the assembled pose; pinned rates are kept exactly.

    Raises StartError naming the loop and the pinned rates when they cannot all hold.
    """
    equations, scale = assembly.equations, assembly.scale
    if not equations.m:
        return wanted.copy()

    def violation(zd: Array) -> Array:
        return np.asarray(equations.closure_velocities(zd) / scale)

    size = max(np.max(np.abs(wanted) / assembly.typical, initial=0.0), np.max(np.abs(violation(wanted)), initial=0.0))
    J = assembly.jacobian.matrix(equations)
    zd, left = assembly.nearest_rates(assembly.scaled(J), wanted, violation, pinned, weights, CONSISTENT * size)
    if np.max(np.abs(left), initial=0.0) > CONSISTENT * size:
        raise StartError(refusal(assembly, J, left, pinned))
    return zd


def refusal(assembly: Assembly, J: csc_array, left: Array, pinned: NDArray[np.bool_]) -> str:
    """Return the sentence that names the pins and drivers whose rates contradict each other.

    What is left of least squares is a combination of rows that no free rate can change. A pin without a part in it
    is not at fault.
    """
    system, scale = assembly.equations.system, assembly.scale
    row = int(np.argmax(np.abs(left)))
    drivers = drivers_in(assembly, left, row)
    stress = np.abs(J.T @ (left / scale)) * assembly.typical * pinned
    pins = [system.coordinate_names[k] for k in np.flatnonzero(stress > PART * np.max(np.abs(left)))]
    left_open = f"loop {system.row_names[row]!r} would open with {abs(left[row]) * scale[row]:.4g} per second"
    if len(drivers) > 1 and not pins:
        return (
            f"drivers {', '.join(map(repr, drivers))} contradict each other in velocity at the start: {left_open};"
            " take one of them away, or give profiles that agree in position, velocity and acceleration"
        )
    return (
        f"the initial rates cannot all hold: {left_open}; pinned rates: {', '.join(pins) or 'none'};"
        f" drivers: {', '.join(drivers) or 'none'}; free one pin with pin=False, or take one driver away"
    )

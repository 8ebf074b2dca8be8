"""Explicit steps in joint coordinates: the stages, the check of the loops at the end, and the accelerations there."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StartError
from rtmbs.integrators.base import Equations
from rtmbs.integrators.chunks import arrays_of
from rtmbs.integrators.report import TAKEN, Outcome, StepReport
from rtmbs.integrators.settings import LOOP_TOLERANCE
from rtmbs.integrators.tableaux import Tableau, stepped
from rtmbs.limits.bounds import BEYOND
from rtmbs.state import State

Array = NDArray[np.float64]

DRIFT = 1e-8  # of the sizes: what a loop opens by in one step


def integrated(equations: Equations, tableau: Tableau, old: State, u: Array) -> tuple[Array, ...]:
    """Return z, zd and s at the end of the step from ``old``; ``u`` (nu,) are its inputs. Raises StartError."""
    parts = equations.n, 2 * equations.n
    equations.u = u

    def rates(values: Array, c: float) -> Array:
        z, zd, s = np.split(values, parts)
        equations.at(old.t + c * old.h)
        zdd, _, sd = equations.accelerations(z, zd, old.R0, s)
        return np.concatenate((equations.coordinate_rates(z, zd), zdd, sd))

    start = np.concatenate((old.z, old.zd, old.s))
    slope = np.concatenate((equations.coordinate_rates(old.z, old.zd), old.zdd, old.sd))
    return tuple(np.split(stepped(tableau, old.h, start, slope, rates), parts))


def finished(equations: Equations, old: State, new: State) -> StepReport:
    """Complete ``new``, whose z, zd and s are those of the end, and report how the step ended.

    LOOP_OPEN or NOT_FINITE where it is not taken; UNPROJECTED or UNBALANCED where rates drift off the loops, or no
    accelerations satisfy the equations of motion.
    """
    scale, rotation = equations.sizes.scale, equations.sizes.rotation
    new.R0[:], equations.u = old.R0, new.u
    if bad := equations.not_finite_inputs():
        return StepReport(Outcome.NOT_FINITE, new.t, worst=bad)
    outcome, Phi, Phid, Phidd = Outcome.NOT_FINITE, *np.zeros((3, equations.m))
    if in_range(new.z, new.zd, new.s):
        Phi = equations.close(new.z, new.R0)
        Phid = equations.closure_velocities(new.zd)
        still_closed = np.max(np.abs(Phi) / scale, initial=0.0) <= LOOP_TOLERANCE
        outcome = solved(equations, new) if still_closed else Outcome.LOOP_OPEN
    if outcome not in TAKEN:
        return StepReport(outcome, new.t, worst=equations.worst(outcome, arrays_of(old), scale))
    if equations.m:
        outcome, Phidd = judged(equations, new, Phid)
    equations.commit(new)
    largest = [
        float(np.max(np.abs(x[rows]), initial=0.0)) for x in (Phi, Phid, Phidd) for rows in (~rotation, rotation)
    ]
    return StepReport(
        outcome, new.t, position_violation=largest[0], position_violation_rotation=largest[1],
        velocity_violation=largest[2], velocity_violation_rotation=largest[3],
        acceleration_violation=largest[4], acceleration_violation_rotation=largest[5],
    )  # fmt: skip


def judged(equations: Equations, new: State, Phid: Array) -> tuple[Outcome, Array]:
    """Return how a step ended whose accelerations were just solved for, and the Phidd (m,) that they leave.

    Rates may drift as far as positions may: by LOOP_TOLERANCE of the largest rate, or of that which an acceleration
    makes of it in a step. A drift that opens no loop by more than DRIFT in a step is none.
    """
    sizes, found = equations.sizes, equations.missed(arrays_of(new), new.h)
    rate = np.max((np.abs(new.zd) + new.h * np.abs(new.zdd)) / sizes.typical, initial=0.0)
    drifted = np.max(np.abs(Phid) / sizes.scale, initial=0.0) > LOOP_TOLERANCE * rate + DRIFT / new.h
    if drifted or np.any(found.loops):
        return Outcome.UNPROJECTED, found.violation
    return (Outcome.UNBALANCED if np.any(found.forces) else Outcome.CONVERGED), found.violation


def solved(equations: Equations, new: State) -> Outcome:
    """Solve for zdd and lam of ``new``; returns CONVERGED, or NOT_FINITE where there are none."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            new.zdd[:], new.lam[:], new.sd[:] = equations.accelerations(new.z, new.zd, new.R0, new.s)
    except StartError:
        return Outcome.NOT_FINITE
    return Outcome.CONVERGED if in_range(new.zdd, new.lam, new.sd) else Outcome.NOT_FINITE


def in_range(*arrays: Array) -> bool:
    """True when every entry is a number that a mechanism may have."""
    return all(float(np.abs(values).max(initial=0.0)) <= BEYOND for values in arrays)  # NaN is not

"""How a step of an explicit method ends: accelerations solved for, loops checked, rotations committed."""

import numpy as np

from rtmbs.errors import StartError
from rtmbs.integrators.base import Equations
from rtmbs.integrators.report import TAKEN, Outcome, StepReport
from rtmbs.integrators.settings import LOOP_TOLERANCE, StateArrays
from rtmbs.limits.bounds import BEYOND
from rtmbs.state import State

NO_ENERGY = np.zeros((0, 2))


def finished(equations: Equations, old: State, new: State) -> StepReport:
    """Complete ``new``, whose z, zd and s are those of the end, and report: CONVERGED, LOOP_OPEN or NOT_FINITE."""
    arrays = StateArrays(old.z, old.zd, old.zdd, old.lam, old.R0, NO_ENERGY, old.s, old.sd)
    scale, rotation = equations.sizes.scale, equations.sizes.rotation
    new.R0[:], equations.u = old.R0, new.u
    if bad := equations.not_finite_inputs():
        return StepReport(Outcome.NOT_FINITE, new.t, culprits=bad)
    outcome, Phi, Phid = Outcome.NOT_FINITE, np.zeros(equations.m), np.zeros(equations.m)
    if in_range(new.z, new.zd, new.s):
        Phi = equations.close(new.z, new.R0)
        Phid = equations.closure_velocities(new.zd)
        outcome = solved(equations, new)
    if outcome in TAKEN and np.max(np.abs(Phi) / scale, initial=0.0) > LOOP_TOLERANCE:
        equations.close(new.z, new.R0)
        outcome = Outcome.LOOP_OPEN
    if outcome not in TAKEN:
        return StepReport(outcome, new.t, culprits=equations.culprits(outcome, arrays, scale))
    equations.commit(new)
    largest = [float(np.max(np.abs(x[rows]), initial=0.0)) for x in (Phi, Phid) for rows in (~rotation, rotation)]
    return StepReport(
        outcome, new.t, position_violation=largest[0], position_violation_rotation=largest[1],
        velocity_violation=largest[2], velocity_violation_rotation=largest[3],
    )  # fmt: skip


def solved(equations: Equations, new: State) -> Outcome:
    """Solve for zdd and lam of ``new``; returns CONVERGED, or NOT_FINITE where there are none."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            new.zdd[:], new.lam[:], new.sd[:] = equations.accelerations(new.z, new.zd, new.R0, new.s)
    except StartError:
        return Outcome.NOT_FINITE
    return Outcome.CONVERGED if in_range(new.zdd, new.lam, new.sd) else Outcome.NOT_FINITE


def in_range(*arrays: np.ndarray) -> bool:
    """True when every entry is a number that a mechanism may have."""
    return all(float(np.abs(values).max(initial=0.0)) <= BEYOND for values in arrays)  # NaN is not

"""A fused step is completed: loops checked, rates and accelerations projected, multipliers judged.

Projections in the form of METHODS 1.12; ``integrators/trapezoidal.py`` is the same readable.
"""

import numpy as np

from rtmbs.integrators.multiplier_bounds import FOUND, largest_acceleration, suspicious
from rtmbs.integrators.newton import acceleration_allowance, velocity_allowance
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    FIRST_CORRECTION,
    FORCES,
    GIVEN,
    LEFT,
    LOOPS,
    NEAR_SINGULAR,
    POSITION_VIOLATION,
    PROJECTION_TICKS,
    PROJECTIONS,
    VELOCITY_VIOLATION,
)
from rtmbs.jit.compiled import inlined_kernel, inner_kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.semirecursive.balance import hold_energies, keep_no_energy
from rtmbs.semirecursive.closures import closure_accelerations, evaluate_closures
from rtmbs.semirecursive.correction import set_iterate
from rtmbs.semirecursive.exit_codes import CONVERGED, LOOP_OPEN, NEAR, NOT_FINITE, SMALL_PIVOT, UNBALANCED, UNPROJECTED
from rtmbs.semirecursive.law_kernels import evaluate_laws
from rtmbs.semirecursive.law_states import keep_states
from rtmbs.semirecursive.multipliers import NO_FACTOR, factor_mass_metric, multiplier_error, set_multipliers
from rtmbs.semirecursive.passes import forward_accelerations, forward_positions, forward_velocities
from rtmbs.semirecursive.projection_kernels import (
    in_range,
    largest_rate,
    note_violation,
    project_rates,
    project_velocities,
    relative_violation,
)
from rtmbs.semirecursive.rotations import commit_rotations, turns_only


@inner_kernel
def startable(old, alpha):
    """True when a step may start from ``old``: numbers in range, penalty factors positive, rotations that are such."""
    if not turns_only(old.R0):
        return False
    bad = 0
    for row in range(len(alpha)):
        bad += 0 if alpha[row] > 0.0 and np.isfinite(alpha[row]) else 1
    numbers = in_range(old.z) and in_range(old.zd) and in_range(old.zdd) and in_range(old.lam)
    return bad == 0 and numbers and in_range(old.s) and in_range(old.sd)


@inner_kernel
def project(tables, lu, work, settings, alpha, u, old, new, ws, stats):
    """Close the step at z_n + increment: check the loops, project rates and accelerations, fill ``new``."""
    start, q4 = ticks(), 0.25 * settings.h * settings.h
    set_iterate(settings.h, old, ws)
    for i in range(len(ws.z)):
        new.z[i], new.zd[i], new.zdd[i] = ws.z[i], ws.zd[i], ws.zdd[i]
    copy_rotations(old.R0, new.R0)
    set_multipliers(tables, alpha, ws, new.lam)
    forward_positions(tables, old.R0, new.z, ws)
    evaluate_closures(tables, new.z, u, ws)
    note_violation(ws.Phi, settings, stats, POSITION_VIOLATION)
    if not relative_violation(ws.Phi, settings.scale) <= settings.loop_tolerance:
        return LOOP_OPEN
    if settings.mass_metric and len(alpha) > 0 and factor_mass_metric(tables, lu, work, alpha, q4, ws, stats) != 0:
        return SMALL_PIVOT
    weight = project_velocities(tables, lu, work, settings, alpha, u, old, new, ws, stats)
    if weight == NO_FACTOR:
        return SMALL_PIVOT
    note_violation(ws.Phid, settings, stats, VELOCITY_VIOLATION)
    forward_velocities(tables.dofs, new.zd, ws)
    if settings.hold_energy and len(tables.balance.first) > 0:
        before, after = (old.zd, old.zdd, old.energy), (new.zd, new.zdd, new.energy)
        stats[GIVEN] = hold_energies(tables, u, settings.h, *before, *after, ws)
    else:
        keep_no_energy(new.energy)
    if len(new.s) > 0:  # at the rates that the projection left
        evaluate_laws(tables, new.z, new.zd, u, ws)
        keep_states(new, ws)
    forward_accelerations(tables.dofs, new.zd, new.zdd, u, ws)
    closure_accelerations(tables, new.zd, new.zdd, u, ws)
    if settings.project_accelerations:
        project_rates(tables, lu, work, settings, alpha, weight, new.zdd, ws.Phidd, ws, new.lam, 1.0, stats)
    note_violation(ws.Phidd, settings, stats, ACCELERATION_VIOLATION)
    commit_rotations(tables.dofs, new.z, new.R0)
    stats[PROJECTION_TICKS] += ticks() - start
    numbers = in_range(new.z) and in_range(new.zd) and in_range(new.zdd) and in_range(new.lam)
    numbers = numbers and in_range(new.s) and in_range(new.sd)
    return CONVERGED if numbers and counted(stats) else NOT_FINITE


@inlined_kernel
def counted(stats):
    """True when the stats hold numbers; of corrections Newton's test saw that."""
    bad = 0
    for place in range(FIRST_CORRECTION):
        bad += 0 if np.isfinite(stats[place]) else 1
    return bad == 0


@inlined_kernel
def copy_rotations(source, target):
    """target = source, element by element: a slice assignment may allocate."""
    for k in range(len(source)):
        for i in range(3):
            for j in range(3):
                target[k, i, j] = source[k, i, j]


@inlined_kernel
def fastest(settings, new):
    """Largest acceleration of all coordinates that loops feel [1/s^2]."""
    rate, acceleration = largest_rate(new.zd, settings.pace), largest_rate(new.zdd, settings.pace)
    return largest_acceleration(settings, rate, acceleration)


@inlined_kernel
def note_end(new, ws):
    """Remember where the last step of a kernel call ended: its factor belongs to that pose."""
    for i in range(len(ws.end_z)):
        ws.end_z[i], ws.end_zd[i], ws.end_zdd[i] = new.z[i], new.zd[i], new.zdd[i]
    for row in range(len(ws.end_lam)):
        ws.end_lam[row] = new.lam[row]
    copy_rotations(new.R0, ws.end_R0)


@inner_kernel
def check_multipliers(tables, lu, work, settings, alpha, u, ending, new, ws, stats):
    """NEAR, UNPROJECTED or UNBALANCED in place of CONVERGED when loops or multipliers miss their bound."""
    if len(alpha) == 0:
        return ending
    if stats[NEAR_SINGULAR] > 0.0:
        return NEAR if ending == CONVERGED else ending
    if loops_left(settings, new, ws, stats):
        stats[LEFT] = LOOPS
        return UNPROJECTED if ending == CONVERGED else ending
    if ending != CONVERGED:
        return ending
    acceleration = fastest(settings, new)
    if not suspicious(settings, stats, largest_rate(new.zd, settings.pace), acceleration, ws.stiff[0]):
        return ending
    found = multiplier_error(tables, lu, work, settings, alpha, u, new, acceleration, ws, stats)
    if found == NO_FACTOR:
        return SMALL_PIVOT
    if found <= FOUND:
        return ending
    stats[LEFT] = FORCES
    return UNBALANCED if found > FOUND else NOT_FINITE


@inlined_kernel
def loops_left(settings, new, ws, stats):
    """True when sweeps reached their number before the loops met their bound."""
    if stats[PROJECTIONS] < settings.max_projections or len(new.z) == 0:
        return False
    rate = largest_rate(new.zd, settings.typical)
    velocity = velocity_allowance(settings, rate)
    acceleration = acceleration_allowance(settings, rate, largest_rate(new.zdd, settings.typical))
    left = settings.project_velocities and relative_violation(ws.Phid, settings.scale) > velocity
    return left or (settings.project_accelerations and relative_violation(ws.Phidd, settings.scale) > acceleration)

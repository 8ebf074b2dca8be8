"""The main trapezoidal step, fused into one kernel that calls the kernels above by name.

The same step as ``integrators/trapezoidal.py`` for the structured tangent; a contract test holds the two together.
Corrections are made in ``correction``, further tries in ``damped_tries``; projections in the form of METHODS 1.12.
"""

import numpy as np

from rtmbs.integrators.multipliers import FOUND, largest_acceleration, suspicious
from rtmbs.integrators.newton import (
    ACCEPT,
    DIVERGED,
    GO_ON,
    MOST_EVALUATIONS,
    PAPER_RATE,
    SLOW_RATE,
    acceleration_allowance,
    contraction_rate,
    may_reuse,
    reuse_pays,
    velocity_allowance,
    verdict,
)
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    ENOUGH,
    FIRST_CORRECTION,
    FORCES,
    GIVEN,
    ITERATIONS,
    LEFT,
    LOOPS,
    NEAR_SINGULAR,
    PAPER,
    POSITION_VIOLATION,
    PROJECTION_TICKS,
    SWEEPS,
    VELOCITY_VIOLATION,
    StateArrays,
)
from rtmbs.integrators.tries import BY_SLOPE, STEADY_TRY
from rtmbs.jit.clock import ticks
from rtmbs.jit.compiled import inner_kernel, kernel, merged_kernel
from rtmbs.semirecursive.balance import hold_energies, keep_no_energy
from rtmbs.semirecursive.closures import closure_accelerations, evaluate_closures
from rtmbs.semirecursive.correction import (
    correction_norm,
    count_residual,
    fresh_correction,
    predict,
    restart,
    reused_correction,
    set_iterate,
    small_pivot,
    start_record,
)
from rtmbs.semirecursive.damped_tries import try_again, try_by_slope
from rtmbs.semirecursive.endings import (
    CONVERGED,
    LOOP_OPEN,
    NEAR,
    NOT_CONVERGED,
    NOT_FINITE,
    SMALL_PIVOT,
    UNBALANCED,
    UNFINISHED,
    UNPROJECTED,
    good,
)
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.law_kernels import evaluate_laws
from rtmbs.semirecursive.law_states import keep_states
from rtmbs.semirecursive.multipliers import NO_FACTOR, factor_mass_weight, finite, miss, set_multipliers
from rtmbs.semirecursive.projection import (
    in_range,
    largest_rate,
    note_violation,
    project_velocities,
    relative_violation,
    sweep_rates,
)
from rtmbs.semirecursive.rotations import add_correction, commit_rotations, turns_only
from rtmbs.semirecursive.sweeps import sweep_accelerations, sweep_positions, sweep_velocities


@merged_kernel
def correct(tables, lu, work, settings, alpha, u, old, ws, record):
    """Newton's iteration on the increment.

    Returns CONVERGED, UNFINISHED (fixed iterations only), NOT_CONVERGED, SMALL_PIVOT or NOT_FINITE. With fixed
    iterations one that diverges spends what is left of them on a damped try.
    """
    h, terms, policy = settings.h, settings.tangent_terms, settings.refactor
    previous, slow, reusable = 0.0, 0, False
    for iteration in range(1, settings.max_iterations + 1):
        start = ticks()
        set_iterate(h, old, ws)
        evaluate_residual(tables, old.R0, u, alpha, ws)
        count_residual(h, start, ws, record)
        norm = reused_correction(lu, work, settings, ws, record) if reusable else np.inf
        done = record[ENOUGH] > 0.0  # fixed iterations go on for the same work's sake
        if not (reusable and (done or reuse_pays(policy, norm, contraction_rate(norm, previous)))):
            if not fresh_correction(tables, lu, work, settings, terms, alpha, u, old, ws, record):
                return small_pivot(work.original, ws.residual)
            norm = correction_norm(settings, ws)
            reusable = may_reuse(policy, terms, ws.dz, settings.typical, settings.reuse_below)
        add_correction(tables.steps, ws.z, ws.dz, ws.increment)
        rate = contraction_rate(norm, previous)
        record[ITERATIONS], record[FIRST_CORRECTION + iteration - 1] = iteration, norm
        slow += 1 if iteration > 1 and rate > SLOW_RATE else 0
        answer = verdict(iteration, norm, rate, slow)
        if answer > DIVERGED:
            return NOT_FINITE
        if answer == ACCEPT and not done:
            record[ENOUGH] = iteration
        if not settings.fixed_iterations and answer != GO_ON:
            return CONVERGED if answer == ACCEPT else NOT_CONVERGED
        if answer == DIVERGED and not done and settings.tries > 0 and iteration < settings.max_iterations:
            left = settings.max_iterations - iteration
            return spend(tables, lu, work, settings, left, alpha, u, old, ws, record)
        if iteration > 1 and rate > PAPER_RATE:
            terms = PAPER
        previous = norm
    if settings.fixed_iterations:
        return CONVERGED if record[ENOUGH] > 0.0 else UNFINISHED
    return NOT_CONVERGED


@inner_kernel
def spend(tables, lu, work, settings, left, alpha, u, old, ws, record):
    """What is left of fixed iterations, on one damped try from constant rates; its last correction is taken anyhow."""
    if try_again(tables, lu, work, settings, STEADY_TRY, left, alpha, u, old, ws, record) == CONVERGED:
        return CONVERGED
    if not (finite(ws.residual) and finite(ws.dz)):
        return small_pivot(work.original, ws.residual)
    add_correction(tables.steps, ws.z, ws.dz, ws.increment)
    return UNFINISHED


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


@merged_kernel
def project(tables, lu, work, settings, alpha, u, old, new, ws, record):
    """Close the step at z_n + increment: check the loops, project rates and accelerations, fill ``new``."""
    start, q4 = ticks(), 0.25 * settings.h * settings.h
    set_iterate(settings.h, old, ws)
    for i in range(len(ws.z)):
        new.z[i], new.zd[i], new.zdd[i] = ws.z[i], ws.zd[i], ws.zdd[i]
    copy_rotations(old.R0, new.R0)
    set_multipliers(tables, alpha, ws, new.lam)
    sweep_positions(tables, old.R0, new.z, ws)
    evaluate_closures(tables, new.z, u, ws)
    note_violation(ws.Phi, settings, record, POSITION_VIOLATION)
    if not relative_violation(ws.Phi, settings.scale) <= settings.loop_tolerance:
        return LOOP_OPEN
    if settings.mass_weight and len(alpha) > 0 and factor_mass_weight(tables, lu, work, alpha, q4, ws, record) != 0:
        return SMALL_PIVOT
    weight = project_velocities(tables, lu, work, settings, alpha, u, old, new, ws, record)
    if weight == NO_FACTOR:
        return SMALL_PIVOT
    note_violation(ws.Phid, settings, record, VELOCITY_VIOLATION)
    sweep_velocities(tables.steps, new.zd, ws)
    if settings.hold_energy and len(tables.balance.first) > 0:
        before, after = (old.zd, old.zdd, old.energy), (new.zd, new.zdd, new.energy)
        record[GIVEN] = hold_energies(tables, u, settings.h, *before, *after, ws)
    else:
        keep_no_energy(new.energy)
    if len(new.s) > 0:  # at the rates that the projection left
        evaluate_laws(tables, new.z, new.zd, u, ws)
        keep_states(new, ws)
    sweep_accelerations(tables.steps, new.zd, new.zdd, u, ws)
    closure_accelerations(tables, new.zd, new.zdd, u, ws)
    if settings.project_accelerations:
        sweep_rates(tables, lu, work, settings, alpha, weight, new.zdd, ws.Phidd, ws, new.lam, 1.0, record)
    note_violation(ws.Phidd, settings, record, ACCELERATION_VIOLATION)
    commit_rotations(tables.steps, new.z, new.R0)
    record[PROJECTION_TICKS] += ticks() - start
    numbers = in_range(new.z) and in_range(new.zd) and in_range(new.zdd) and in_range(new.lam)
    numbers = numbers and in_range(new.s) and in_range(new.sd)
    return CONVERGED if numbers and counted(record) else NOT_FINITE


@inner_kernel
def counted(record):
    """True when the record holds numbers; of corrections Newton's test saw that."""
    bad = 0
    for place in range(FIRST_CORRECTION):
        bad += 0 if np.isfinite(record[place]) else 1
    return bad == 0


@inner_kernel
def copy_rotations(source, target):
    """target = source, element by element: a slice assignment may allocate."""
    for k in range(len(source)):
        for i in range(3):
            for j in range(3):
                target[k, i, j] = source[k, i, j]


@inner_kernel
def fastest(settings, new):
    """Largest acceleration of all coordinates that loops feel [1/s^2]."""
    rate, acceleration = largest_rate(new.zd, settings.pace), largest_rate(new.zdd, settings.pace)
    return largest_acceleration(settings, rate, acceleration)


@merged_kernel
def judged(tables, lu, work, settings, alpha, u, ending, new, ws, record):
    """NEAR, UNPROJECTED or UNBALANCED in place of CONVERGED when loops or multipliers miss their bound."""
    if len(alpha) == 0:
        return ending
    if record[NEAR_SINGULAR] > 0.0:
        return NEAR if ending == CONVERGED else ending
    if loops_left(settings, new, ws, record):
        record[LEFT] = LOOPS
        return UNPROJECTED if ending == CONVERGED else ending
    if ending != CONVERGED:
        return ending
    acceleration = fastest(settings, new)
    if not suspicious(settings, record, largest_rate(new.zd, settings.pace), acceleration, ws.stiff[0]):
        return ending
    found = miss(tables, lu, work, settings, alpha, u, new, acceleration, ws, record)
    if found == NO_FACTOR:
        return SMALL_PIVOT
    if found <= FOUND:
        return ending
    record[LEFT] = FORCES
    return UNBALANCED if found > FOUND else NOT_FINITE


@inner_kernel
def loops_left(settings, new, ws, record):
    """True when sweeps reached their number before the loops met their bound."""
    if record[SWEEPS] < settings.max_sweeps or len(new.z) == 0:
        return False
    rate = largest_rate(new.zd, settings.typical)
    velocity = velocity_allowance(settings, rate)
    acceleration = acceleration_allowance(settings, rate, largest_rate(new.zdd, settings.typical))
    left = settings.project_velocities and relative_violation(ws.Phid, settings.scale) > velocity
    return left or (settings.project_accelerations and relative_violation(ws.Phidd, settings.scale) > acceleration)


@kernel
def march(tables, lu, work, settings, alpha, old, rows, ws, budget):
    """Take a step for every row, the first from ``old``, the next from the row before it.

    The plain iteration comes first. Where it fails there are further tries; when none of them helps it is done again,
    so that a report tells of it. A small pivot is left to the dense factor, and fixed iterations to ``spend``.
    Returns (how the last step ended, good steps): it stops after a step that fails, and when ``budget`` ticks are over.
    """
    begun, before, ending = ticks(), old, CONVERGED
    tries = 0 if settings.fixed_iterations else settings.tries
    if not startable(old, alpha):  # what a step ends at may be started from
        start_record(rows.record[0])
        return NOT_FINITE, 0
    for k in range(len(rows.record)):
        new = StateArrays(
            rows.z[k], rows.zd[k], rows.zdd[k], rows.lam[k], rows.R0[k], rows.energy[k], rows.s[k], rows.sd[k]
        )
        u, record = rows.u[k], rows.record[k]
        start_record(record)
        for number in range(tries + 2):
            if number == 0 or number > tries:
                if number > 0:
                    restart(record)
                predict(settings.h, before, ws)
                ending = correct(tables, lu, work, settings, alpha, u, before, ws, record)
            elif number == BY_SLOPE:
                ending = try_by_slope(tables, lu, work, settings, alpha, u, before, ws, record)
            else:
                ending = try_again(tables, lu, work, settings, number, MOST_EVALUATIONS, alpha, u, before, ws, record)
            if good(ending):
                projected = project(tables, lu, work, settings, alpha, u, before, new, ws, record)
                if projected == CONVERGED:
                    ending = judged(tables, lu, work, settings, alpha, u, ending, new, ws, record)
                    break
                ending = projected
            if tries == 0 or (number == 0 and ending == SMALL_PIVOT):
                break
        if not good(ending):
            return ending, k
        if ticks() - begun > budget:
            return ending, k + 1
        before = new
    return ending, len(rows.record)

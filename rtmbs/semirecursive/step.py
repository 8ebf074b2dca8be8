"""The main trapezoidal step, fused into one kernel that calls the kernels above by name.

The same step as ``integrators/trapezoidal.py`` for the structured tangent; a contract test holds the two together.
The unknown is the increment z_{n+1} - z_n; zd = 2/h increment - zd_n, zdd = 4/h^2 increment - 4/h zd_n - zdd_n
(METHODS 1.2). Residual q4 (M zdd - Q + Phi_z^T alpha Phi), q4 = h^2/4 (Eq. 15), tangent M + h/2 C + q4 (K + Phi_z^T
alpha Phi_z) (Eq. 17) plus ``tangent_terms``; projections in the form of METHODS 1.12.
"""

import numpy as np

from rtmbs.clock import ticks
from rtmbs.compiled import inlined_kernel, inner_kernel, kernel, merged_kernel
from rtmbs.integrators.multipliers import (
    FOUND,
    largest_acceleration,
    suspicious,
)
from rtmbs.integrators.newton import (
    ACCEPT,
    BISECTIONS,
    DIVERGED,
    FLAT,
    GO_ON,
    MOST_BY_SLOPE,
    MOST_EVALUATIONS,
    PAPER_RATE,
    SHORTEST,
    SLOW_RATE,
    acceleration_allowance,
    contraction_rate,
    descends,
    may_reuse,
    reuse_pays,
    scaled_norm,
    shorter,
    too_far,
    velocity_allowance,
    verdict,
)
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    ENOUGH,
    EVALUATIONS,
    FACTOR_TICKS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    FOLLOWED,
    FORCES,
    GIVEN,
    ITERATIONS,
    JACOBIANS,
    LAGGED,
    LEFT,
    LOOPS,
    NEAR_SINGULAR,
    PAPER,
    POSITION_VIOLATION,
    PROJECTION_TICKS,
    RESIDUAL_TICKS,
    SHORTENED,
    SOLVE_TICKS,
    SWEEPS,
    TANGENT_TICKS,
    TRIES,
    VELOCITY_VIOLATION,
    StateArrays,
)
from rtmbs.integrators.tries import BY_SLOPE, RESTING, STEADY, STEADY_TRY, TRY_START, TRY_TERMS
from rtmbs.linear.sparse_lu import solve, solve_refined
from rtmbs.semirecursive.balance import hold_energies, keep_no_energy
from rtmbs.semirecursive.closures import closure_accelerations, evaluate_closures
from rtmbs.semirecursive.evaluation import assemble_tangent, evaluate_residual
from rtmbs.semirecursive.multipliers import (
    NO_FACTOR,
    factor_copy,
    factor_mass_weight,
    finite,
    keep_Phi_z,
    miss,
    set_multipliers,
)
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

CONVERGED, NOT_CONVERGED, SMALL_PIVOT, NOT_FINITE, LOOP_OPEN, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR = range(9)


@inner_kernel
def set_iterate(h, old, ws):
    """z, zd, zdd of the iterate from the increment and the history terms (Eqs. 13 and 14)."""
    for i in range(len(ws.z)):
        ws.z[i] = old.z[i] + ws.increment[i]
        ws.zd[i] = 2.0 / h * ws.increment[i] - old.zd[i]
        ws.zdd[i] = 4.0 / (h * h) * ws.increment[i] - 4.0 / h * old.zd[i] - old.zdd[i]


@inner_kernel
def predict(h, old, ws):
    """increment = h zd_n + h^2/2 zdd_n: constant acceleration over the step."""
    for i in range(len(ws.z)):
        ws.increment[i] = h * old.zd[i] + 0.5 * h * h * old.zdd[i]


@merged_kernel
def iterate(tables, lu, work, settings, alpha, u, old, ws, record):
    """Newton's iteration on the increment.

    Returns CONVERGED, UNFINISHED (fixed iterations only), NOT_CONVERGED, SMALL_PIVOT or NOT_FINITE. With fixed
    iterations one that diverges spends what is left of them on a damped try.
    """
    h, terms, policy = settings.h, settings.tangent_terms, settings.refactor
    previous, slow, reusable = 0.0, 0, False
    for iteration in range(1, settings.max_iterations + 1):
        evaluate_iterate(tables, h, alpha, u, old, ws, record)
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


@inlined_kernel
def evaluate_iterate(tables, h, alpha, u, old, ws, record):
    """ws.residual = -q4 (M zdd - Q + Phi_z^T alpha Phi) at z_n + ws.increment."""
    start = ticks()
    set_iterate(h, old, ws)
    evaluate_residual(tables, old.R0, u, alpha, ws)
    for i in range(len(ws.residual)):
        ws.residual[i] *= -0.25 * h * h
    record[EVALUATIONS] += 1
    record[RESIDUAL_TICKS] += ticks() - start


@kernel
def try_again(tables, lu, work, settings, number, most, alpha, u, old, ws, record):
    """Further try ``number`` (1, 2, ...): Newton damped by the length of its next correction, METHODS 1.11.

    A share of a correction is taken when the correction found behind it is shorter (``descends``), otherwise half the
    share is tried. ``most`` residuals are evaluated. Returns CONVERGED or NOT_CONVERGED.
    """
    begin(number, settings.h, old, ws, record)
    share, norm, previous = 1.0, np.inf, 0.0
    for _ in range(most):
        evaluate_iterate(tables, settings.h, alpha, u, old, ws, record)
        found = correction_here(tables, lu, work, settings, number, alpha, u, old, ws, record)
        if descends(found, norm, share):
            previous, norm = norm if share == 1.0 and np.isfinite(norm) else 0.0, found
            if small_enough(norm, previous, record):
                return arrive(tables, settings, old, ws, record)
            stand_here(tables, alpha, ws)
            share = min(1.0, 2.0 * share)
        elif np.isfinite(norm):
            record[SHORTENED] += 1
            share = shorter(share, found, norm)
        if not np.isfinite(norm) or share < SHORTEST:
            return NOT_CONVERGED
        walk(share, ws)
    return NOT_CONVERGED


@kernel
def try_by_slope(tables, lu, work, settings, alpha, u, old, ws, record):
    """Further try BY_SLOPE: Newton damped by the work of the residual along a correction, METHODS 1.11.

    It goes the whole way unless the work changes its sign on it, then to where it is small: what friction, stops and
    potentials in general have there is their minimum. Returns CONVERGED or NOT_CONVERGED.
    """
    begin(BY_SLOPE, settings.h, old, ws, record)
    before, previous = record[EVALUATIONS], 0.0
    evaluate_iterate(tables, settings.h, alpha, u, old, ws, record)
    for _ in range(MOST_EVALUATIONS):
        norm = correction_here(tables, lu, work, settings, BY_SLOPE, alpha, u, old, ws, record)
        if not np.isfinite(norm):
            return NOT_CONVERGED
        if small_enough(norm, previous, record):
            return arrive(tables, settings, old, ws, record)
        if record[EVALUATIONS] - before > MOST_BY_SLOPE - BISECTIONS:
            return NOT_CONVERGED
        stand_here(tables, alpha, ws)
        previous = norm if walk_down(tables, settings.h, alpha, u, old, ws, record) == 1.0 else 0.0
    return NOT_CONVERGED


@inner_kernel
def walk_down(tables, h, alpha, u, old, ws, record):
    """Go along the correction until the work of the residual on it is FLAT; returns the share, evaluated."""
    first, low, high, share = work_done(ws), 0.0, 1.0, 1.0
    for _ in range(BISECTIONS):
        walk(share, ws)
        evaluate_iterate(tables, h, alpha, u, old, ws, record)
        slope = work_done(ws)
        if (share == 1.0 and slope * first >= 0.0) or abs(slope) <= FLAT * abs(first):
            return share
        if slope * first >= 0.0:
            low = share
        else:
            high = share
        record[SHORTENED] += 1
        share = 0.5 * (low + high)
    return 0.0


@inner_kernel
def work_done(ws):
    """Work of the residual along the correction."""
    total = 0.0
    for i in range(len(ws.way)):
        total += ws.way[i] * ws.residual[i]
    return total


@inner_kernel
def small_enough(norm, previous, record):
    """Note a correction of a further try; True when Newton's test is met (``previous``: the one before if whole)."""
    record[ITERATIONS] += 1
    record[FIRST_CORRECTION + int(record[ITERATIONS]) - 1] = norm
    return verdict(2 if previous > 0.0 else 1, norm, contraction_rate(norm, previous), 0) == ACCEPT


@inner_kernel
def arrive(tables, settings, old, ws, record):
    """Take the last correction; CONVERGED when that ends in the neighbourhood of the predictor."""
    add_correction(tables.steps, ws.z, ws.dz, ws.increment)
    if too_far(settings.h, ws.increment, old.zd, old.zdd, settings.typical):
        return NOT_CONVERGED
    record[ENOUGH] = record[ITERATIONS]
    return CONVERGED


@inner_kernel
def begin(number, h, old, ws, record):
    """Start a try: its increment, the multipliers of the last step, no corrections yet."""
    predict(h, old, ws)
    start = TRY_START[number - 1]
    for i in range(len(ws.increment)):
        if start == STEADY:
            ws.increment[i] = h * old.zd[i]
        elif start == RESTING:
            ws.increment[i] = 0.0
    for row in range(len(ws.lam_here)):
        ws.lam_here[row] = old.lam[row]
    record[TRIES] = number
    restart(record)


@inner_kernel
def correction_here(tables, lu, work, settings, number, alpha, u, old, ws, record):
    """ws.dz at the state last evaluated, by a factor of its own; returns its scaled norm, infinite without one.

    FOLLOWED terms are those of LAGGED with the accelerations and multipliers of the iterate in place of the last
    step's. The multipliers are those that linear solutions gave on the way here: alpha Phi of an iterate off its loops
    is huge, and makes the matrix of EXACT indefinite.
    """
    terms, here = TRY_TERMS[number - 1], old
    if terms == FOLLOWED:
        terms, here = LAGGED, StateArrays(ws.z, ws.zd, ws.zdd, ws.lam_here, old.R0, old.energy)
    solved = fresh_correction(tables, lu, work, settings, terms, alpha, u, here, ws, record)
    norm = correction_norm(settings, ws)
    return norm if solved and np.isfinite(norm) else np.inf


@inner_kernel
def stand_here(tables, alpha, ws):
    """Keep the iterate, what its correction adds and its multipliers, so that shares of it can be tried."""
    for i in range(len(ws.dz)):
        ws.base[i], ws.way[i] = ws.increment[i], 0.0
    add_correction(tables.steps, ws.z, ws.dz, ws.way)
    for row in range(len(ws.lam_here)):
        ws.lam_base[row] = ws.lam_here[row]
    set_multipliers(tables, alpha, ws, ws.lam_way)


@inner_kernel
def walk(share, ws):
    """Go a share of the way from the iterate that was kept, multipliers too."""
    for i in range(len(ws.base)):
        ws.increment[i] = ws.base[i] + share * ws.way[i]
    for row in range(len(ws.lam_here)):
        ws.lam_here[row] = ws.lam_base[row] + share * (ws.lam_way[row] - ws.lam_base[row])


@inner_kernel
def spend(tables, lu, work, settings, left, alpha, u, old, ws, record):
    """What is left of fixed iterations, on one damped try from constant rates; its last correction is taken anyhow."""
    if try_again(tables, lu, work, settings, STEADY_TRY, left, alpha, u, old, ws, record) == CONVERGED:
        return CONVERGED
    if not (finite(ws.residual) and finite(ws.dz)):
        return small_pivot(work.original, ws.residual)
    add_correction(tables.steps, ws.z, ws.dz, ws.increment)
    return UNFINISHED


@merged_kernel
def fresh_correction(tables, lu, work, settings, terms, alpha, u, old, ws, record):
    """ws.dz by the Newton matrix of the iterate, made and factored now; False when its factor or solution failed."""
    h, start = settings.h, ticks()
    assemble_tangent(tables, terms, 1.0, 0.5 * h, 0.25 * h * h, u, alpha, old, ws, work.original)
    keep_Phi_z(ws)
    assembled = ticks()
    bad = factor_copy(lu, work)
    factored = ticks()
    record[TANGENT_TICKS] += assembled - start
    record[FACTOR_TICKS] += factored - assembled
    record[JACOBIANS] += 1
    record[FACTORISATIONS] += 1
    if bad != 0 or solve_refined(lu, work.original, work.factored, work, ws.residual, ws.dz) < 0:
        return False
    record[SOLVE_TICKS] += ticks() - factored
    return True


@merged_kernel
def reused_correction(lu, work, settings, ws, record):
    """ws.dz by the factor of an earlier iterate of this step, which was checked then; returns its scaled norm."""
    start = ticks()
    for i in range(len(ws.dz)):
        ws.dz[i] = ws.residual[i]
    solve(lu, work.factored, work, ws.dz)
    record[SOLVE_TICKS] += ticks() - start
    return correction_norm(settings, ws)


@inner_kernel
def correction_norm(settings, ws):
    """Scaled norm of the correction ws.dz, against the increment that it leads to, up to the typical size.

    A fast vehicle goes many sizes in a step: that allows its corrections nothing more.
    """
    for i in range(len(ws.dz)):
        ws.predicted[i] = min(abs(ws.increment[i] + ws.dz[i]), settings.typical[i])
    return scaled_norm(ws.dz, ws.predicted, settings.absolute, settings.relative)


@inner_kernel
def small_pivot(original, residual):
    """What a failed factor or solution stands for: SMALL_PIVOT, or NOT_FINITE when no factor could have done better."""
    return SMALL_PIVOT if finite(original) and finite(residual) else NOT_FINITE


@inner_kernel
def startable(old, alpha):
    """True when a step may start from ``old``: numbers in range, penalty factors positive, rotations that are such."""
    if not turns_only(old.R0):
        return False
    bad = 0
    for row in range(len(alpha)):
        bad += 0 if alpha[row] > 0.0 and np.isfinite(alpha[row]) else 1
    return bad == 0 and in_range(old.z) and in_range(old.zd) and in_range(old.zdd) and in_range(old.lam)


@merged_kernel
def finish(tables, lu, work, settings, alpha, u, old, new, ws, record):
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
    sweep_accelerations(tables.steps, new.zd, new.zdd, u, ws)
    closure_accelerations(tables, new.zdd, u, ws)
    if settings.project_accelerations:
        sweep_rates(tables, lu, work, settings, alpha, weight, new.zdd, ws.Phidd, ws, new.lam, 1.0, record)
    note_violation(ws.Phidd, settings, record, ACCELERATION_VIOLATION)
    commit_rotations(tables.steps, new.z, new.R0)
    record[PROJECTION_TICKS] += ticks() - start
    numbers = in_range(new.z) and in_range(new.zd) and in_range(new.zdd) and in_range(new.lam)
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


@merged_kernel
def take_step(tables, lu, work, settings, alpha, u, old, new, ws, record):
    """One step from ``old`` to ``new``; ``u`` holds inputs and functions of time at t_{n+1}. Returns how it ended.

    The plain iteration comes first. Where it fails there are further tries; when none of them helps it is done again,
    so that a report tells of it. A small pivot is left to the dense factor, and fixed iterations to ``spend``.
    """
    start_record(record)
    ending, tries = CONVERGED, 0 if settings.fixed_iterations else settings.tries
    for number in range(tries + 2):
        if number == 0 or number > tries:
            if number > 0:
                restart(record)
            predict(settings.h, old, ws)
            ending = iterate(tables, lu, work, settings, alpha, u, old, ws, record)
        elif number == BY_SLOPE:
            ending = try_by_slope(tables, lu, work, settings, alpha, u, old, ws, record)
        else:
            ending = try_again(tables, lu, work, settings, number, MOST_EVALUATIONS, alpha, u, old, ws, record)
        if good(ending):
            finished = finish(tables, lu, work, settings, alpha, u, old, new, ws, record)
            if finished == CONVERGED:
                return judged(tables, lu, work, settings, alpha, u, ending, new, ws, record)
            ending = finished
        if tries == 0 or (number == 0 and ending == SMALL_PIVOT):
            return ending
    return ending


@inner_kernel
def start_record(record):
    """Nothing is done and nothing is counted yet."""
    for place in range(len(record)):
        record[place] = 0.0


@inner_kernel
def restart(record):
    """Forget the corrections of the tries before, not their number and their work."""
    record[ENOUGH], record[ITERATIONS] = 0.0, 0.0
    for place in range(FIRST_CORRECTION, len(record)):
        record[place] = 0.0


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


@inner_kernel
def good(ending):
    """True when the step was taken."""
    return ending in (CONVERGED, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR)


@kernel
def advance(tables, lu, work, settings, alpha, old, rows, ws, budget):
    """Take a step for every row, the first from ``old``, the next from the row before it.

    Returns (how the last step ended, good steps): it stops after a step that fails, and when ``budget`` ticks are over.
    """
    start, before, ending = ticks(), old, CONVERGED
    if not startable(old, alpha):  # what a step ends at may be started from
        start_record(rows.record[0])
        return NOT_FINITE, 0
    for k in range(len(rows.record)):
        new = StateArrays(rows.z[k], rows.zd[k], rows.zdd[k], rows.lam[k], rows.R0[k], rows.energy[k])
        ending = take_step(tables, lu, work, settings, alpha, rows.u[k], before, new, ws, rows.record[k])
        if not good(ending):
            return ending, k
        if ticks() - start > budget:
            return ending, k + 1
        before = new
    return ending, len(rows.record)

"""The trapezoidal step, fused: predictor, Newton's iteration, projections, and the march over the rows of a chunk.

The unknown is the increment z_{n+1} - z_n; zd = 2/h increment - zd_n, zdd = 4/h^2 increment - 4/h zd_n - zdd_n
(METHODS 1.2). Residual q4 (M zdd - Q + Phi_z^T alpha Phi), q4 = h^2/4 (Eq. 15), tangent M + h/2 C + q4 (K + Phi_z^T
alpha Phi_z) (Eq. 17) plus ``tangent_terms``.

``integrators/trapezoidal.py`` has the same step in plain Python, and a contract test holds the two together.
Projections have the form of METHODS 1.12. Further tries of a failed step are a kernel of their own,
``newton_restarts``: few mechanisms need it, and it takes as long to compile as this one.
"""

import numpy as np

from rtmbs.integrators.newton import (
    ACCEPT,
    DIVERGED,
    FOUND,
    GO_ON,
    PAPER_RATE,
    SLOW_RATE,
    acceleration_allowance,
    contraction_rate,
    largest_acceleration,
    leads_away,
    leaps,
    may_reuse,
    reuse_pays,
    scaled_norm,
    slack,
    sure_below,
    suspicious,
    velocity_allowance,
    verdict,
)
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    EVALUATIONS,
    FACTOR_TICKS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    FOLLOWED,
    FORCES,
    GIVEN,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    JACOBIANS,
    LAGGED,
    LEFT,
    LOOPS,
    NEAR_SINGULAR,
    OPEN,
    PAPER,
    POSITION_VIOLATION,
    PROJECTION_TICKS,
    PROJECTIONS,
    RESIDUAL_TICKS,
    SOLVE_TICKS,
    TANGENT_TICKS,
    VELOCITY_VIOLATION,
    StateArrays,
)
from rtmbs.jit.compiled import coarse_kernel, inlined_kernel, inner_kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.numerics.linear.sparse_lu import solve, solve_refined
from rtmbs.semirecursive.balance import hold_energies, keep_no_energy
from rtmbs.semirecursive.closures import closure_accelerations, evaluate_closures
from rtmbs.semirecursive.contact_set_tangent import solve_coupled
from rtmbs.semirecursive.evaluation import assemble_tangent, evaluate_residual
from rtmbs.semirecursive.force_kernels import end_states
from rtmbs.semirecursive.input_jump import answer_jump, begun_of, follow_inputs, keep_start
from rtmbs.semirecursive.law_states import follow_states, keep_states
from rtmbs.semirecursive.machine_code import (
    CONVERGED,
    LOOP_OPEN,
    NEAR,
    NOT_CONVERGED,
    NOT_FINITE,
    NOT_FOLLOWED,
    SMALL_PIVOT,
    UNBALANCED,
    UNFINISHED,
    UNPROJECTED,
    accepted,
)
from rtmbs.semirecursive.passes import (
    add_correction,
    commit_rotations,
    forward_accelerations,
    forward_positions,
    forward_velocities,
    turns_only,
)
from rtmbs.semirecursive.projection_kernels import (
    NO_FACTOR,
    factor_copy,
    factor_mass_metric,
    finite,
    in_range,
    keep_Phi_z,
    largest_rate,
    multiplier_error,
    note_violation,
    project_rates,
    project_velocities,
    relative_violation,
    set_multipliers,
    yielding_error,
)


@inlined_kernel
def set_iterate(h, old, ws):
    """z, zd, zdd of the iterate from the increment and the history terms (Eqs. 13 and 14)."""
    for i in range(len(ws.z)):
        ws.z[i] = old.z[i] + ws.increment[i]
        ws.zd[i] = 2.0 / h * ws.increment[i] - old.zd[i]
        ws.zdd[i] = 4.0 / (h * h) * ws.increment[i] - 4.0 / h * old.zd[i] - old.zdd[i]
    ws.rate_share[0] = 0.5 * h
    if len(ws.s) > 0:
        follow_states(h, old, ws)


@inner_kernel
def predict(h, old, ws):
    """increment = h zd_n + h^2/2 zdd_n: constant acceleration over the step."""
    for i in range(len(ws.z)):
        ws.increment[i] = h * old.zd[i] + 0.5 * h * h * old.zdd[i]


@inlined_kernel
def evaluate_iterate(tables, h, alpha, u, old, ws, stats):
    """ws.residual = -q4 (M zdd - Q + Phi_z^T alpha Phi) at z_n + ws.increment."""
    start = ticks()
    set_iterate(h, old, ws)
    evaluate_residual(tables, old.R0, u, alpha, ws)
    count_residual(h, start, ws, stats)


@inlined_kernel
def count_residual(h, start, ws, stats):
    """Scale the residual, -q4 of what was evaluated, and note the time since ``start`` ticks."""
    for i in range(len(ws.residual)):
        ws.residual[i] *= -0.25 * h * h
    stats[EVALUATIONS] += 1
    stats[RESIDUAL_TICKS] += ticks() - start


@inner_kernel
def fresh_correction(tables, lu, work, settings, terms, alpha, u, old, ws, stats):
    """ws.dz by the Newton matrix of the iterate, made and factored now; False when its factor or solution failed."""
    h, start = settings.h, ticks()
    assemble_tangent(tables, terms, 1.0, 0.5 * h, 0.25 * h * h, u, alpha, old, ws, work.original)
    keep_Phi_z(ws)
    assembled = ticks()
    bad = factor_copy(lu, work)
    factored = ticks()
    stats[TANGENT_TICKS] += assembled - start
    stats[FACTOR_TICKS] += factored - assembled
    stats[JACOBIANS] += 1
    stats[FACTORISATIONS] += 1
    if bad != 0 or solve_refined(lu, work.original, work.factored, work, ws.residual, ws.dz) < 0:
        return False
    if len(tables.sets.dof) > 0:
        solve_coupled(tables, lu, work, settings, ws)
    stats[SOLVE_TICKS] += ticks() - factored
    return True


@inner_kernel
def plain_correction(tables, lu, work, settings, terms, alpha, u, old, ws, stats):
    """``fresh_correction`` of the plain iteration; FOLLOWED has accelerations and multipliers of the iterate."""
    if terms == FOLLOWED:
        here = StateArrays(ws.z, ws.zd, ws.zdd, ws.lam_here, old.R0, old.energy, old.s, old.sd)
        return fresh_correction(tables, lu, work, settings, LAGGED, alpha, u, here, ws, stats)
    return fresh_correction(tables, lu, work, settings, terms, alpha, u, old, ws, stats)


@inner_kernel
def reused_correction(tables, lu, work, settings, ws, stats):
    """ws.dz by the factor of an earlier iterate of this step, which was checked then; returns its scaled norm."""
    start = ticks()
    for i in range(len(ws.dz)):
        ws.dz[i] = ws.residual[i]
    solve(lu, work.factored, work, ws.dz)
    if len(tables.sets.dof) > 0:
        solve_coupled(tables, lu, work, settings, ws)
    stats[SOLVE_TICKS] += ticks() - start
    return correction_norm(settings, ws)


@inner_kernel
def correction_norm(settings, ws):
    """Scaled norm of the correction ws.dz, against the increment that it leads to, up to the typical size.

    A fast vehicle goes many sizes in a step: that allows its corrections nothing more.
    """
    for i in range(len(ws.dz)):
        ws.predicted[i] = min(abs(ws.increment[i] + ws.dz[i]), settings.typical[i])
    return scaled_norm(ws.dz, ws.predicted, settings.absolute, settings.relative)


@inlined_kernel
def small_pivot(original, residual):
    """What a failed factor or solution stands for: SMALL_PIVOT, or NOT_FINITE when no factor could have done better."""
    return SMALL_PIVOT if finite(original) and finite(residual) else NOT_FINITE


@inner_kernel
def start_stats(stats):
    """Nothing is done and nothing is counted yet."""
    for place in range(len(stats)):
        stats[place] = 0.0


@inner_kernel
def restart(stats):
    """Forget the corrections of the tries before, not their number and their work."""
    stats[ITERATIONS_TO_TOLERANCE], stats[ITERATIONS] = 0.0, 0.0
    for place in range(FIRST_CORRECTION, len(stats)):
        stats[place] = 0.0


# ---- end of a step: loops checked, rates and accelerations projected, multipliers checked ---------------------------


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
    ws.rate_share[0] = 0.0
    for i in range(len(ws.z)):
        new.z[i], new.zd[i], new.zdd[i] = ws.z[i], ws.zd[i], ws.zdd[i]
    copy_rotations(old.R0, new.R0)
    if len(alpha) == 0 and len(new.s) == 0:  # a tree: nothing to close or to project, and no balance to keep
        keep_no_energy(new.energy)
        return committed(tables, start, new, stats)
    set_multipliers(tables, alpha, ws, new.lam)
    forward_positions(tables, old.R0, new.z, ws)
    evaluate_closures(tables, new.z, u, ws)
    note_violation(ws.Phi, settings, stats, POSITION_VIOLATION)
    stats[OPEN] = relative_violation(ws.Phi, settings.scale)
    if not stats[OPEN] <= settings.loop_tolerance:
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
        end_states(tables, new.z, new.zd, u, ws)
        keep_states(new, ws)
    forward_accelerations(tables.dofs, new.zd, new.zdd, u, ws)
    closure_accelerations(tables, new.zd, new.zdd, u, ws)
    if settings.project_accelerations:
        project_rates(tables, lu, work, settings, alpha, weight, new.zdd, ws.Phidd, ws, new.lam, 1.0, stats)
    note_violation(ws.Phidd, settings, stats, ACCELERATION_VIOLATION)
    return committed(tables, start, new, stats)


@inner_kernel
def committed(tables, start, new, stats):
    """CONVERGED when the finished step holds numbers in range; its reference rotations take in the rotation dofs."""
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
    acceleration, found = fastest(settings, new), 0.0
    if slack(settings, stats):
        found = yielding_error(tables, lu, work, settings, alpha, u, new, acceleration, ws, stats)
    if 0.0 <= found <= FOUND and suspicious(
        settings, stats, largest_rate(new.zd, settings.pace), acceleration, ws.stiff[0]
    ):
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


# ---- Newton's iteration and the march over rows ----------------------------------------------------------------------


@inner_kernel
def moves_away(settings, old, ws):
    """True when the increment leads away from the rates of ``old``; for a step whose first correction leapt."""
    for i in range(len(ws.predicted)):
        ws.predicted[i] = settings.h * old.zd[i]
    return leads_away(ws.increment, ws.predicted, 1.0, settings.typical)


@inner_kernel
def correct(tables, lu, work, settings, alpha, u, old, ws, stats, u0, known, jumped):
    """Newton's iteration on the increment.

    The compiled form of ``TrapezoidalStep.correct``; both are judged by ``integrators.newton``. With ``jumped`` inputs
    have changed from ``known`` to ``u0`` at the start: the first iteration moves old.zdd, and a second one follows.

    Returns CONVERGED, UNFINISHED (fixed iterations only), NOT_CONVERGED, SMALL_PIVOT or NOT_FINITE. Fixed iterations
    that diverge are NOT_CONVERGED while some are left for a further try, ``newton_restarts``.
    """
    h, terms, policy = settings.h, settings.tangent_terms, settings.refactor
    previous, slow, reusable, leapt, sure = 0.0, 0, False, False, np.inf
    if terms == FOLLOWED:
        for row in range(len(alpha)):
            ws.lam_here[row] = old.lam[row]
    for iteration in range(1, settings.max_iterations + 1):
        start = ticks()
        set_iterate(h, old, ws)
        evaluate_residual(tables, old.R0, u, alpha, ws)
        count_residual(h, start, ws, stats)
        norm = reused_correction(tables, lu, work, settings, ws, stats) if reusable else np.inf
        done = stats[ITERATIONS_TO_TOLERANCE] > 0.0  # fixed iterations go on for the same work's sake
        if not (reusable and (done or reuse_pays(policy, norm, contraction_rate(norm, previous), sure))):
            if not plain_correction(tables, lu, work, settings, terms, alpha, u, old, ws, stats):
                return small_pivot(work.original, ws.residual)
            norm, sure = correction_norm(settings, ws), sure_below(settings, ws.stiff[0], old.z)
            reusable = may_reuse(policy, terms, ws.dz, settings.typical, settings.reuse_below)
        if terms == FOLLOWED:
            set_multipliers(tables, alpha, ws, ws.lam_here)
        first = jumped and iteration == 1
        if first:
            if not answer_jump(tables, lu, work, settings, alpha, u0, known, old, ws):
                return NOT_FOLLOWED
            norm = correction_norm(settings, ws)
            set_iterate(h, old, ws)
        add_correction(tables.dofs, ws.z, ws.dz, ws.increment)
        rate = contraction_rate(norm, previous)
        stats[ITERATIONS], stats[FIRST_CORRECTION + iteration - 1] = iteration, norm
        slow += 1 if iteration > 1 and rate > SLOW_RATE else 0
        leapt = leaps(settings, iteration, leapt, norm, ws.dz, 1.0)
        answer = verdict(iteration, norm, rate, slow, sure)
        if answer > DIVERGED:
            return NOT_FINITE
        if leapt and answer == ACCEPT and moves_away(settings, old, ws):
            answer = DIVERGED  # to another solution
        answer = GO_ON if first and answer == ACCEPT else answer
        if answer == ACCEPT and not done:
            stats[ITERATIONS_TO_TOLERANCE] = iteration
        if not settings.fixed_iterations and answer != GO_ON:
            return CONVERGED if answer == ACCEPT else NOT_CONVERGED
        if answer == DIVERGED and not done and settings.tries > 0 and iteration < settings.max_iterations:
            return NOT_CONVERGED
        if iteration > 1 and rate > PAPER_RATE:
            terms = PAPER
        previous = norm
    if settings.fixed_iterations:
        return CONVERGED if stats[ITERATIONS_TO_TOLERANCE] > 0.0 else UNFINISHED
    return NOT_CONVERGED


@inlined_kernel
def state_in_row(chunk, k):
    """Return the State in row ``k`` of a chunk, as views."""
    return StateArrays(
        chunk.z[k], chunk.zd[k], chunk.zdd[k], chunk.lam[k], chunk.R0[k], chunk.energy[k], chunk.s[k], chunk.sd[k]
    )


@coarse_kernel
def march(tables, lu, work, settings, alpha, old, chunk, ws, budget, u0, known, jumped):
    """Take a step for every row, the first from ``old``, the next from the row before it, by the plain iteration.

    With ``jumped`` inputs have changed from ``known`` to ``u0`` since ``old``, which is written to. Returns (how the
    last step ended, accepted steps): it stops after a step that fails, and when ``budget`` ticks are over.
    """
    begun, before, ending = ticks(), old, CONVERGED
    if not startable(old, alpha):  # what a step ends at may be started from
        start_stats(chunk.stats[0])
        return NOT_FINITE, 0
    for k in range(len(chunk.stats)):
        new, u, stats = state_in_row(chunk, k), chunk.u[k], chunk.stats[k]
        start_stats(stats)
        predict(settings.h, before, ws)
        ending = correct(tables, lu, work, settings, alpha, u, before, ws, stats, u0, known, jumped and k == 0)
        if accepted(ending):
            projected = project(tables, lu, work, settings, alpha, u, before, new, ws, stats)
            if projected == CONVERGED:
                ending = check_multipliers(tables, lu, work, settings, alpha, u, ending, new, ws, stats)
            else:
                ending = projected
        if not accepted(ending):
            return ending, k
        if ticks() - begun > budget:
            return ending, k + 1
        before = new
    return ending, len(chunk.stats)


@coarse_kernel
def take_changed_step(tables, lu, work, settings, alpha, u, known, old, chunk, ws, budget):
    """Take a step from ``old``, whose accelerations are those of the inputs ``known``, not of ``u``; ``old`` stays.

    ``known`` (nu,) holds no numbers where these inputs are not known.

    Its first Newton matrix answers the change (``input_jump.answer_jump``, METHODS 1.8). A step that is not accepted so
    begins anew with accelerations that are solved for, as one with contact sets does, whose forces are not all in it.

    Returns how it ended, and NOT_FOLLOWED where accelerations were not found. ws.begun_zdd is what it began with.
    """
    begun = begun_of(old, ws)
    keep_start(old, begun)
    if len(tables.sets.dof) == 0:
        ending, _ = march(tables, lu, work, settings, alpha, begun, chunk, ws, budget, u, known, True)
        if accepted(ending):
            return ending
        keep_start(old, begun)
    if not follow_inputs(tables, lu, work, settings, u, begun, ws, True):
        return NOT_FOLLOWED
    ending, _ = march(tables, lu, work, settings, alpha, begun, chunk, ws, budget, u, known, False)
    return ending

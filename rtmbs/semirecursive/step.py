"""The main trapezoidal step, fused into one kernel that calls the kernels above by name.

The same step as ``integrators/trapezoidal.py`` for the structured tangent; a contract test holds the two together.
The unknown is the increment z_{n+1} - z_n; zd = 2/h increment - zd_n, zdd = 4/h^2 increment - 4/h zd_n - zdd_n
(METHODS 1.2). Residual q4 (M zdd - Q + Phi_z^T alpha Phi), q4 = h^2/4 (Eq. 15), tangent M + h/2 C + q4 (K + Phi_z^T
alpha Phi_z) (Eq. 17) plus ``tangent_terms``; projections in the form of METHODS 1.12.
"""

import numpy as np

from rtmbs.bounds import BEYOND
from rtmbs.clock import ticks
from rtmbs.compiled import inner_kernel, kernel, merged_kernel
from rtmbs.integrators.newton import (
    ACCEPT,
    DIVERGED,
    GO_ON,
    PAPER_RATE,
    SLOW_RATE,
    contraction_rate,
    may_reuse,
    reuse_pays,
    scaled_norm,
    verdict,
)
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    ENOUGH,
    FACTOR_TICKS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    ITERATIONS,
    JACOBIANS,
    PAPER,
    POSITION_VIOLATION,
    PROJECTION_TICKS,
    RESIDUAL_TICKS,
    SOLVE_TICKS,
    SWEEPS,
    TANGENT_TICKS,
    VELOCITY_VIOLATION,
    StateArrays,
)
from rtmbs.linear.sparse_lu import factor, solve, solve_refined
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, apply_through, pull_back_through
from rtmbs.semirecursive.closures import closure_accelerations, closure_velocities, evaluate_closures
from rtmbs.semirecursive.evaluation import assemble_mass_weight, assemble_tangent, evaluate_residual
from rtmbs.semirecursive.rotations import add_correction, commit_rotations
from rtmbs.semirecursive.sweeps import sweep_accelerations, sweep_positions, sweep_velocities

CONVERGED, NOT_CONVERGED, SMALL_PIVOT, NOT_FINITE, LOOP_OPEN, UNFINISHED = range(6)


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

    Returns CONVERGED, UNFINISHED (fixed iterations only), NOT_CONVERGED, SMALL_PIVOT or NOT_FINITE.
    """
    h, terms, policy = settings.h, settings.tangent_terms, settings.refactor
    previous, slow, reusable = 0.0, 0, False
    for iteration in range(1, settings.max_iterations + 1):
        start = ticks()
        set_iterate(h, old, ws)
        evaluate_residual(tables, old.R0, u, alpha, ws)
        for i in range(len(ws.residual)):
            ws.residual[i] *= -0.25 * h * h
        record[RESIDUAL_TICKS] += ticks() - start
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
        if iteration > 1 and rate > PAPER_RATE:
            terms = PAPER
        previous = norm
    if settings.fixed_iterations:
        return CONVERGED if record[ENOUGH] > 0.0 else UNFINISHED
    return NOT_CONVERGED


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
def finite(values):
    """True when every entry is a number."""
    bad = 0
    for k in range(len(values)):
        bad += 0 if np.isfinite(values[k]) else 1
    return bad == 0


@inner_kernel
def in_range(values):
    """True when every entry is a number that a mechanism may have."""
    bad = 0
    for k in range(len(values)):
        bad += 0 if abs(values[k]) <= BEYOND else 1
    return bad == 0


@inner_kernel
def startable(old, alpha):
    """True when a step may start from ``old``: its numbers are in range, and its penalty factors positive."""
    bad = 0
    for row in range(len(alpha)):
        bad += 0 if alpha[row] > 0.0 and np.isfinite(alpha[row]) else 1
    return bad == 0 and in_range(old.z) and in_range(old.zd) and in_range(old.zdd) and in_range(old.lam)


@inner_kernel
def factor_copy(lu, work):
    """Factor the assembled tangent, keeping the original for refinement."""
    for k in range(len(work.original)):
        work.factored[k] = work.original[k]
    return factor(lu, work.factored, work)


@inner_kernel
def largest(values, rotation, wanted):
    """Largest |value| over the rows that do (wanted) or do not measure rotation; NaN counts as infinite."""
    top = 0.0
    for row in range(len(values)):
        if rotation[row] == wanted and not abs(values[row]) <= top:
            top = abs(values[row]) if np.isfinite(values[row]) else np.inf
    return top


@inner_kernel
def note_violation(values, settings, record, where):
    """Write the largest translation and rotation violation to the record."""
    record[where] = largest(values, settings.rotation, False)
    record[where + 3] = largest(values, settings.rotation, True)


@inner_kernel
def relative_violation(values, scale):
    """Largest |value| / scale over all rows; NaN counts as infinite."""
    top = 0.0
    for row in range(len(values)):
        if not abs(values[row]) / scale[row] <= top:
            top = abs(values[row]) / scale[row] if np.isfinite(values[row]) else np.inf
    return top


@inner_kernel
def largest_rate(rates, pace):
    """Largest |rate| of all coordinates that loops feel, prismatic ones divided by their typical length."""
    top = 0.0
    for i in range(len(rates)):
        top = max(top, abs(rates[i]) / pace[i])
    return top


@inner_kernel
def sweep_rates(tables, lu, work, settings, alpha, rates, violation, ws, lam, share):
    """rates -= A^-1 q4 Phi_z^T alpha violation, repeated until the bound (METHODS 1.12); returns the sweeps.

    A is the last factor, and Phi_z^T the one inside it. Newton's last correction came after it, and what Phi_z changed
    by then, delta, would be multiplied by the penalty: A^-1 q4 (Phi_z + delta)^T alpha = O(1) + O(c delta).

    ``violation`` follows linearly: what Phi_z does to the change of the rates. ``lam`` gathers the multipliers that the
    projection of accelerations adds: weight change = -Phi_z^T share q4 alpha (violation + Phi_z change), both Phi_z
    that of the factor, for that is what the factor solved. The Phi_z of now would add q4 alpha delta change.
    """
    q4 = 0.25 * settings.h * settings.h
    bound = settings.sweep_bound * largest_rate(rates, settings.pace)
    for sweep in range(settings.max_sweeps):
        if relative_violation(violation, settings.scale) <= bound:
            return sweep
        for row in range(len(alpha)):
            ws.impulse[row] = q4 * alpha[row] * violation[row]
        for i in range(len(rates)):
            ws.dz[i] = 0.0
        pull_back_through(tables, ws.Phi_z_factored, ws.impulse, -1.0, ws.dz)
        solve(lu, work.factored, work, ws.dz)
        for i in range(len(rates)):
            rates[i] += ws.dz[i]
        if share > 0.0:
            apply_through(tables, ws.Phi_z_factored, ws.dz, ws.impulse)
            for row in range(len(alpha)):
                lam[row] += share * q4 * alpha[row] * (violation[row] + ws.impulse[row])
        apply_Phi_z(tables, ws, ws.dz, ws.impulse)
        for row in range(len(alpha)):
            violation[row] += ws.impulse[row]
    return settings.max_sweeps


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
    if settings.mass_weight and len(alpha) > 0:
        assemble_mass_weight(tables, q4, alpha, ws, work.original)
        record[FACTORISATIONS] += 1
        keep_Phi_z(ws)
        if factor_copy(lu, work) != 0:
            return SMALL_PIVOT
    closure_velocities(tables, new.zd, u, ws)
    if settings.project_velocities:
        record[SWEEPS] += sweep_rates(tables, lu, work, settings, alpha, new.zd, ws.Phid, ws, new.lam, 0.0)
    note_violation(ws.Phid, settings, record, VELOCITY_VIOLATION)
    sweep_velocities(tables.steps, new.zd, ws)
    sweep_accelerations(tables.steps, new.zd, new.zdd, u, ws)
    closure_accelerations(tables, new.zdd, u, ws)
    if settings.project_accelerations:
        record[SWEEPS] += sweep_rates(tables, lu, work, settings, alpha, new.zdd, ws.Phidd, ws, new.lam, 1.0)
    note_violation(ws.Phidd, settings, record, ACCELERATION_VIOLATION)
    commit_rotations(tables.steps, new.z, new.R0)
    record[PROJECTION_TICKS] += ticks() - start
    numbers = in_range(new.z) and in_range(new.zd) and in_range(new.zdd) and in_range(new.lam) and finite(record)
    return CONVERGED if numbers else NOT_FINITE


@kernel
def set_multipliers(tables, alpha, ws, lam):
    """lam = alpha (Phi + Phi_z dz) at the state last evaluated, dz the correction found there, Phi_z in the factor.

    That is what balances the forces in the last linear solve. alpha Phi at z_n + increment would be the same but for
    the rounding of Phi, which alpha makes large: 1e-3 N at 1 ms. So would be a Phi_z evaluated after an older factor.
    """
    apply_through(tables, ws.Phi_z_factored, ws.dz, ws.impulse)
    for row in range(len(alpha)):
        lam[row] = alpha[row] * (ws.Phi[row] + ws.impulse[row])


@inner_kernel
def keep_Phi_z(ws):
    """Remember the Phi_z that is in the factor."""
    for entry in range(len(ws.Phi_z)):
        ws.Phi_z_factored[entry] = ws.Phi_z[entry]


@inner_kernel
def copy_rotations(source, target):
    """target = source, element by element: a slice assignment may allocate."""
    for k in range(len(source)):
        for i in range(3):
            for j in range(3):
                target[k, i, j] = source[k, i, j]


@merged_kernel
def take_step(tables, lu, work, settings, alpha, u, old, new, ws, record):
    """One step from ``old`` to ``new``; ``u`` holds inputs and functions of time at t_{n+1}. Returns how it ended."""
    record[:] = 0.0
    if not startable(old, alpha):
        return NOT_FINITE
    predict(settings.h, old, ws)
    ending = iterate(tables, lu, work, settings, alpha, u, old, ws, record)
    if not good(ending):
        return ending
    finished = finish(tables, lu, work, settings, alpha, u, old, new, ws, record)
    return ending if finished == CONVERGED else finished


@inner_kernel
def good(ending):
    """True when the step was taken."""
    return ending in (CONVERGED, UNFINISHED)


@kernel
def advance(tables, lu, work, settings, alpha, old, rows, ws, budget):
    """Take a step for every row, the first from ``old``, the next from the row before it.

    Returns (how the last step ended, good steps): it stops after a step that fails, and when ``budget`` ticks are over.
    """
    start, before, ending = ticks(), old, CONVERGED
    for k in range(len(rows.record)):
        new = StateArrays(rows.z[k], rows.zd[k], rows.zdd[k], rows.lam[k], rows.R0[k])
        ending = take_step(tables, lu, work, settings, alpha, rows.u[k], before, new, ws, rows.record[k])
        if not good(ending):
            return ending, k
        if ticks() - start > budget:
            return ending, k + 1
        before = new
    return ending, len(rows.record)

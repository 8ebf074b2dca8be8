"""One correction of Newton's iteration, fused: residual, Newton matrix, factor, solution.

The unknown is the increment z_{n+1} - z_n; zd = 2/h increment - zd_n, zdd = 4/h^2 increment - 4/h zd_n - zdd_n
(METHODS 1.2). Residual q4 (M zdd - Q + Phi_z^T alpha Phi), q4 = h^2/4 (Eq. 15), tangent M + h/2 C + q4 (K + Phi_z^T
alpha Phi_z) (Eq. 17) plus ``tangent_terms``.
"""

from rtmbs.integrators.newton import scaled_norm
from rtmbs.integrators.settings import (
    EVALUATIONS,
    FACTOR_TICKS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    JACOBIANS,
    RESIDUAL_TICKS,
    SOLVE_TICKS,
    TANGENT_TICKS,
)
from rtmbs.jit.compiled import inlined_kernel, inner_kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.linear.sparse_lu import solve, solve_refined
from rtmbs.semirecursive.evaluation import assemble_tangent, evaluate_residual
from rtmbs.semirecursive.exit_codes import NOT_FINITE, SMALL_PIVOT
from rtmbs.semirecursive.law_states import follow_states
from rtmbs.semirecursive.multipliers import factor_copy, finite, keep_Phi_z


@inlined_kernel
def set_iterate(h, old, ws):
    """z, zd, zdd of the iterate from the increment and the history terms (Eqs. 13 and 14)."""
    for i in range(len(ws.z)):
        ws.z[i] = old.z[i] + ws.increment[i]
        ws.zd[i] = 2.0 / h * ws.increment[i] - old.zd[i]
        ws.zdd[i] = 4.0 / (h * h) * ws.increment[i] - 4.0 / h * old.zd[i] - old.zdd[i]
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
    work.step[0] = h
    if bad != 0 or solve_refined(lu, work.original, work.factored, work, ws.residual, ws.dz) < 0:
        return False
    stats[SOLVE_TICKS] += ticks() - factored
    return True


@inner_kernel
def reused_correction(lu, work, settings, ws, stats):
    """ws.dz by the factor of an earlier iterate of this step, which was checked then; returns its scaled norm."""
    start = ticks()
    for i in range(len(ws.dz)):
        ws.dz[i] = ws.residual[i]
    solve(lu, work.factored, work, ws.dz)
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

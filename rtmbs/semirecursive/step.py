"""The main trapezoidal step, fused into one kernel that calls the kernels above by name.

The same step as ``integrators/trapezoidal.py`` for the structured tangent; a contract test holds the two together.
Corrections are made in ``correction``, a step is completed in ``finish_step``. Further tries of a step that fails are a
kernel of their own, ``newton_restarts``: most mechanisms never need it, and it takes as long to compile as this one.
"""

import numpy as np

from rtmbs.integrators.newton import (
    ACCEPT,
    DIVERGED,
    GO_ON,
    PAPER_RATE,
    SLOW_RATE,
    contraction_rate,
    may_reuse,
    reuse_pays,
    verdict,
)
from rtmbs.integrators.settings import FIRST_CORRECTION, ITERATIONS, ITERATIONS_TO_TOLERANCE, PAPER, StateArrays
from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.semirecursive.correction import (
    correction_norm,
    count_residual,
    fresh_correction,
    predict,
    reused_correction,
    set_iterate,
    small_pivot,
    start_stats,
)
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.exit_codes import CONVERGED, NOT_CONVERGED, NOT_FINITE, UNFINISHED, accepted
from rtmbs.semirecursive.finish_step import check_multipliers, note_end, project, startable
from rtmbs.semirecursive.rotations import add_correction


@inner_kernel
def correct(tables, lu, work, settings, alpha, u, old, ws, stats):
    """Newton's iteration on the increment.

    The compiled form of ``TrapezoidalStep.correct``; both are judged by ``integrators.newton``.

    Returns CONVERGED, UNFINISHED (fixed iterations only), NOT_CONVERGED, SMALL_PIVOT or NOT_FINITE. Fixed iterations
    that diverge are NOT_CONVERGED while some are left for a further try, ``newton_restarts``.
    """
    h, terms, policy = settings.h, settings.tangent_terms, settings.refactor
    previous, slow, reusable = 0.0, 0, False
    for iteration in range(1, settings.max_iterations + 1):
        start = ticks()
        set_iterate(h, old, ws)
        evaluate_residual(tables, old.R0, u, alpha, ws)
        count_residual(h, start, ws, stats)
        norm = reused_correction(lu, work, settings, ws, stats) if reusable else np.inf
        done = stats[ITERATIONS_TO_TOLERANCE] > 0.0  # fixed iterations go on for the same work's sake
        if not (reusable and (done or reuse_pays(policy, norm, contraction_rate(norm, previous)))):
            if not fresh_correction(tables, lu, work, settings, terms, alpha, u, old, ws, stats):
                return small_pivot(work.original, ws.residual)
            norm = correction_norm(settings, ws)
            reusable = may_reuse(policy, terms, ws.dz, settings.typical, settings.reuse_below)
        add_correction(tables.dofs, ws.z, ws.dz, ws.increment)
        rate = contraction_rate(norm, previous)
        stats[ITERATIONS], stats[FIRST_CORRECTION + iteration - 1] = iteration, norm
        slow += 1 if iteration > 1 and rate > SLOW_RATE else 0
        answer = verdict(iteration, norm, rate, slow)
        if answer > DIVERGED:
            return NOT_FINITE
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


@kernel
def march(tables, lu, work, settings, alpha, old, chunk, ws, budget):
    """Take a step for every row, the first from ``old``, the next from the row before it, by the plain iteration.

    Returns (how the last step ended, accepted steps): it stops after a step that fails, and when ``budget`` ticks are
    over.
    """
    begun, before, ending = ticks(), old, CONVERGED
    if not startable(old, alpha):  # what a step ends at may be started from
        start_stats(chunk.stats[0])
        return NOT_FINITE, 0
    for k in range(len(chunk.stats)):
        new = StateArrays(
            chunk.z[k], chunk.zd[k], chunk.zdd[k], chunk.lam[k], chunk.R0[k], chunk.energy[k], chunk.s[k], chunk.sd[k]
        )
        u, stats = chunk.u[k], chunk.stats[k]
        start_stats(stats)
        predict(settings.h, before, ws)
        ending = correct(tables, lu, work, settings, alpha, u, before, ws, stats)
        if accepted(ending):
            projected = project(tables, lu, work, settings, alpha, u, before, new, ws, stats)
            if projected == CONVERGED:
                ending = check_multipliers(tables, lu, work, settings, alpha, u, ending, new, ws, stats)
            else:
                ending = projected
        if not accepted(ending):
            work.step[0] = 0.0  # its factor belongs to no state
            return ending, k
        if ticks() - begun > budget:
            note_end(new, ws)
            return ending, k + 1
        before = new
    note_end(before, ws)
    return ending, len(chunk.stats)

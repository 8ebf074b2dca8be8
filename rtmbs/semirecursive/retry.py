"""A step whose plain iteration failed is tried further: a kernel of its own, compiled when it is first needed."""

from rtmbs.integrators.newton import MOST_EVALUATIONS
from rtmbs.integrators.settings import ITERATIONS, StateArrays
from rtmbs.integrators.tries import BY_SLOPE, STEADY_TRY
from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.semirecursive.completion import judged, project, startable
from rtmbs.semirecursive.correction import small_pivot
from rtmbs.semirecursive.damped_tries import try_again, try_by_slope
from rtmbs.semirecursive.endings import CONVERGED, NOT_CONVERGED, NOT_FINITE, UNFINISHED, accepted
from rtmbs.semirecursive.multipliers import finite
from rtmbs.semirecursive.rotations import add_correction


@kernel
def retry(tables, lu, work, settings, alpha, old, chunk, ws):
    """Take the step of the first row from ``old`` by further tries; its stats go on from the plain one.

    Fixed iterations have one, of what the plain iteration left of them. Returns how the last try ended.
    """
    new = StateArrays(
        chunk.z[0], chunk.zd[0], chunk.zdd[0], chunk.lam[0], chunk.R0[0], chunk.energy[0], chunk.s[0], chunk.sd[0]
    )
    u, stats, ending = chunk.u[0], chunk.stats[0], NOT_CONVERGED
    if not startable(old, alpha):
        return NOT_FINITE
    fixed, first, last, most = settings.fixed_iterations, 1, settings.tries, MOST_EVALUATIONS
    if fixed:
        first, last, most = STEADY_TRY, STEADY_TRY, settings.max_iterations - int(stats[ITERATIONS])
    for number in range(first, last + 1):
        if number == BY_SLOPE:
            ending = try_by_slope(tables, lu, work, settings, alpha, u, old, ws, stats)
        else:
            ending = try_again(tables, lu, work, settings, number, most, alpha, u, old, ws, stats)
        if fixed and ending != CONVERGED:
            ending = take_anyhow(tables, work, ws)
        if accepted(ending):
            projected = project(tables, lu, work, settings, alpha, u, old, new, ws, stats)
            if projected == CONVERGED:
                return judged(tables, lu, work, settings, alpha, u, ending, new, ws, stats)
            ending = projected
    return ending


@inner_kernel
def take_anyhow(tables, work, ws):
    """Take the last correction of a fixed number of them, which did not meet Newton's test."""
    if not (finite(ws.residual) and finite(ws.dz)):
        return small_pivot(work.original, ws.residual)
    add_correction(tables.dofs, ws.z, ws.dz, ws.increment)
    return UNFINISHED

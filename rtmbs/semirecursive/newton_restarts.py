"""Further tries of a step whose Newton iteration fails: damped Newton, as a kernel of its own (METHODS 1.11).

``integrators/trapezoidal.py`` is the same readable; a contract test holds the two together. The kernel is compiled
when a step first fails.
"""

import numpy as np

from rtmbs.integrators.newton import (
    ACCEPT,
    BISECTIONS,
    FLAT,
    MOST_BY_SLOPE,
    MOST_EVALUATIONS,
    SHORTEST,
    contraction_rate,
    descends,
    shorter,
    sure_below,
    too_far,
    verdict,
)
from rtmbs.integrators.settings import (
    BY_SLOPE,
    EVALUATIONS,
    FIRST_CORRECTION,
    FOLLOWED,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    LAGGED,
    RESTING,
    SHORTENED,
    STEADY,
    STEADY_TRY,
    TRIES,
    TRY_START,
    TRY_TERMS,
    StateArrays,
)
from rtmbs.jit.compiled import inner_kernel, kernel
from rtmbs.semirecursive.machine_code import CONVERGED, NOT_CONVERGED, NOT_FINITE, UNFINISHED, accepted
from rtmbs.semirecursive.passes import add_correction
from rtmbs.semirecursive.projection_kernels import finite, set_multipliers
from rtmbs.semirecursive.step import (
    check_multipliers,
    correction_norm,
    evaluate_iterate,
    fresh_correction,
    predict,
    project,
    restart,
    small_pivot,
    startable,
)


@inner_kernel
def damped_try(tables, lu, work, settings, number, most, alpha, u, old, ws, stats):
    """Further try ``number`` (1, 2, ...): Newton damped by the length of its next correction, METHODS 1.11.

    A share of a correction is taken when the correction found behind it is shorter (``descends``), otherwise half the
    share is tried. ``most`` residuals are evaluated. The compiled form of ``integrators.trapezoidal.Damped``.
    Returns CONVERGED or NOT_CONVERGED.
    """
    start_try(number, settings.h, old, ws, stats)
    share, norm, previous = 1.0, np.inf, 0.0
    for _ in range(most):
        evaluate_iterate(tables, settings.h, alpha, u, old, ws, stats)
        found = correction_at_iterate(tables, lu, work, settings, number, alpha, u, old, ws, stats)
        if descends(found, norm, share):
            previous, norm = norm if share == 1.0 and np.isfinite(norm) else 0.0, found
            if meets_newton_test(settings, norm, previous, old, ws, stats):
                return accept_iterate(tables, settings, old, ws, stats)
            keep_iterate(tables, alpha, ws)
            share = min(1.0, 2.0 * share)
        elif np.isfinite(norm):
            stats[SHORTENED] += 1
            share = shorter(share, found, norm)
        if not np.isfinite(norm) or share < SHORTEST:
            return NOT_CONVERGED
        take_share(share, ws)
    return NOT_CONVERGED


@inner_kernel
def slope_damped_try(tables, lu, work, settings, alpha, u, old, ws, stats):
    """Further try BY_SLOPE: Newton damped by the work of the residual along a correction, METHODS 1.11.

    It goes the whole way unless the work changes its sign on it, then to where it is small: what friction, stops and
    potentials in general have there is their minimum. Returns CONVERGED or NOT_CONVERGED.
    """
    start_try(BY_SLOPE, settings.h, old, ws, stats)
    before, previous = stats[EVALUATIONS], 0.0
    evaluate_iterate(tables, settings.h, alpha, u, old, ws, stats)
    for _ in range(MOST_EVALUATIONS):
        norm = correction_at_iterate(tables, lu, work, settings, BY_SLOPE, alpha, u, old, ws, stats)
        if not np.isfinite(norm):
            return NOT_CONVERGED
        if meets_newton_test(settings, norm, previous, old, ws, stats):
            return accept_iterate(tables, settings, old, ws, stats)
        if stats[EVALUATIONS] - before > MOST_BY_SLOPE - BISECTIONS:
            return NOT_CONVERGED
        keep_iterate(tables, alpha, ws)
        previous = norm if search_along(tables, settings.h, alpha, u, old, ws, stats) == 1.0 else 0.0
    return NOT_CONVERGED


@inner_kernel
def search_along(tables, h, alpha, u, old, ws, stats):
    """Go along the correction until the work of the residual on it is FLAT; returns the share, evaluated."""
    first, low, high, share = work_done(ws), 0.0, 1.0, 1.0
    for _ in range(BISECTIONS):
        take_share(share, ws)
        evaluate_iterate(tables, h, alpha, u, old, ws, stats)
        slope = work_done(ws)
        if (share == 1.0 and slope * first >= 0.0) or abs(slope) <= FLAT * abs(first):
            return share
        if slope * first >= 0.0:
            low = share
        else:
            high = share
        stats[SHORTENED] += 1
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
def meets_newton_test(settings, norm, previous, old, ws, stats):
    """Note a correction of a further try; True when Newton's test is met (``previous``: the one before if whole)."""
    sure = sure_below(settings, ws.stiff[0], old.z)
    stats[ITERATIONS] += 1
    stats[FIRST_CORRECTION + int(stats[ITERATIONS]) - 1] = norm
    return verdict(2 if previous > 0.0 else 1, norm, contraction_rate(norm, previous), 0, sure) == ACCEPT


@inner_kernel
def accept_iterate(tables, settings, old, ws, stats):
    """Take the last correction; CONVERGED when that ends in the neighbourhood of the predictor."""
    add_correction(tables.dofs, ws.z, ws.dz, ws.increment)
    if too_far(settings.h, ws.increment, old.zd, old.zdd, settings.typical):
        return NOT_CONVERGED
    stats[ITERATIONS_TO_TOLERANCE] = stats[ITERATIONS]
    return CONVERGED


@inner_kernel
def start_try(number, h, old, ws, stats):
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
    stats[TRIES] = number
    restart(stats)


@inner_kernel
def correction_at_iterate(tables, lu, work, settings, number, alpha, u, old, ws, stats):
    """ws.dz at the state last evaluated, by a factor of its own; returns its scaled norm, infinite without one.

    FOLLOWED terms are those of LAGGED with the accelerations and multipliers of the iterate in place of the last
    step's. The multipliers are those that linear solutions gave on the way here: alpha Phi of an iterate off its loops
    is huge, and makes the matrix of EXACT indefinite.
    """
    terms, here = TRY_TERMS[number - 1], old
    if terms == FOLLOWED:
        terms, here = LAGGED, StateArrays(ws.z, ws.zd, ws.zdd, ws.lam_here, old.R0, old.energy, old.s, old.sd)
    solved = fresh_correction(tables, lu, work, settings, terms, alpha, u, here, ws, stats)
    norm = correction_norm(settings, ws)
    return norm if solved and np.isfinite(norm) else np.inf


@inner_kernel
def keep_iterate(tables, alpha, ws):
    """Keep the iterate, what its correction adds and its multipliers, so that shares of it can be tried."""
    for i in range(len(ws.dz)):
        ws.base[i], ws.way[i] = ws.increment[i], 0.0
    add_correction(tables.dofs, ws.z, ws.dz, ws.way)
    for row in range(len(ws.lam_here)):
        ws.lam_base[row] = ws.lam_here[row]
    set_multipliers(tables, alpha, ws, ws.lam_way)


@inner_kernel
def take_share(share, ws):
    """Go a share of the way from the iterate that was kept, multipliers too."""
    for i in range(len(ws.base)):
        ws.increment[i] = ws.base[i] + share * ws.way[i]
    for row in range(len(ws.lam_here)):
        ws.lam_here[row] = ws.lam_base[row] + share * (ws.lam_way[row] - ws.lam_base[row])


# ---- all tries of a step --------------------------------------------------------------------------------------------


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
            ending = slope_damped_try(tables, lu, work, settings, alpha, u, old, ws, stats)
        else:
            ending = damped_try(tables, lu, work, settings, number, most, alpha, u, old, ws, stats)
        if fixed and ending != CONVERGED:
            ending = take_unfinished(tables, work, ws)
        if accepted(ending):
            projected = project(tables, lu, work, settings, alpha, u, old, new, ws, stats)
            if projected == CONVERGED:
                return check_multipliers(tables, lu, work, settings, alpha, u, ending, new, ws, stats)
            ending = projected
    return ending


@inner_kernel
def take_unfinished(tables, work, ws):
    """Take the last correction of a fixed number of them, which did not meet Newton's test."""
    if not (finite(ws.residual) and finite(ws.dz)):
        return small_pivot(work.original, ws.residual)
    add_correction(tables.dofs, ws.z, ws.dz, ws.increment)
    return UNFINISHED

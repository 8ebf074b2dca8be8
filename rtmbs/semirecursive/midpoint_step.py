"""The variational midpoint step, fused into one kernel; ``integrators/variational_midpoint.py`` is the same readable.

A contract test holds the two together. What this kernel does not finish well, a step that does not converge or rates
that loops hold badly, is left to the readable step.
"""

from rtmbs.integrators.newton import (
    ACCEPT,
    DIVERGED,
    SLOW_RATE,
    contraction_rate,
    may_reuse,
    reuse_pays,
    scaled_norm,
    too_far,
    verdict,
)
from rtmbs.integrators.settings import (
    EVALUATIONS,
    FACTOR_TICKS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    INERTIA,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    JACOBIANS,
    PAPER,
    RESIDUAL_TICKS,
    TANGENT_TICKS,
    StateArrays,
)
from rtmbs.integrators.variational_rounds import TRUSTED
from rtmbs.jit.compiled import coarse_inner_kernel, inner_kernel, kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.linear.sparse_lu import solve_refined
from rtmbs.semirecursive.closure_jacobian import apply_through, pull_back_through
from rtmbs.semirecursive.closures import evaluate_closures
from rtmbs.semirecursive.completion import startable
from rtmbs.semirecursive.correction import start_stats
from rtmbs.semirecursive.endings import CONVERGED, NOT_CONVERGED, NOT_FINITE, SMALL_PIVOT, UNFINISHED
from rtmbs.semirecursive.evaluation import assemble_tangent
from rtmbs.semirecursive.midpoint_end import evaluate_middle, finish
from rtmbs.semirecursive.momenta import (
    add_loop_tangent,
    half_turn_back,
    half_turn_rows,
    momenta_here,
    undo_jacobian,
)
from rtmbs.semirecursive.momentum_tangent import assemble_midpoint
from rtmbs.semirecursive.multipliers import factor_copy
from rtmbs.semirecursive.passes import (
    forward_positions,
    place_inertias,
)
from rtmbs.semirecursive.rotations import add_correction


@inner_kernel
def begin(tables, h, old, u0, u1, ws, own):
    """Momentum and Phi_z where the step begins, and the first half increment: that of constant accelerations."""
    for i in range(len(ws.z)):
        ws.z[i] = old.z[i]
        own.y[i] = 0.5 * h * old.zd[i] + 0.25 * h * h * old.zdd[i]
    for row in range(len(own.impulse)):
        own.impulse[row] = 0.25 * h * h * old.lam[row]
    for k in range(len(u0)):
        own.u[k] = 0.5 * (u0[k] + u1[k])
    forward_positions(tables, old.R0, ws.z, ws)
    evaluate_closures(tables, ws.z, u0, ws)
    for entry in range(len(own.first)):
        own.first[entry] = ws.Phi_z[entry]
    place_inertias(tables.dofs, ws)
    momenta_here(tables, old.zd, u0, ws, own.p0)
    ws.state_half[0] = 0.5 * h
    for i in range(len(ws.state_base)):
        ws.state_base[i] = old.s[i]


@inner_kernel
def evaluate_step(tables, h, old, u1, ws, own):
    """ws.residual = -h/2 (T^-1 p - W start) - h^2/4 tau, and the gap ws.Phi of the loops at the end."""
    for i in range(len(ws.z)):
        ws.z[i] = old.z[i] + 2.0 * own.y[i]
    forward_positions(tables, old.R0, ws.z, ws)
    evaluate_closures(tables, ws.z, u1, ws)
    evaluate_middle(tables, h, old, ws, own)
    for i in range(len(ws.z)):
        ws.predicted[i] = own.start[i]
    undo_jacobian(tables.dofs, own.y, own.p)
    half_turn_back(tables.dofs, own.y, ws.predicted)
    for i in range(len(ws.z)):
        ws.residual[i] = -0.5 * h * (own.p[i] - ws.predicted[i]) - 0.25 * h * h * ws.tau[i]


@coarse_inner_kernel
def factor_step(tables, lu, work, h, weight, old, ws, own, stats):
    """Assemble and factor the Newton matrix; not 0 when it has no factor."""
    start = ticks()
    if len(tables.interfaces.dof) > 0:
        assemble_tangent(tables, PAPER, 1.0, 0.5 * h, 0.25 * h * h, own.u, own.none, old, ws, work.original)
    else:
        assemble_midpoint(tables, h, own.u, own.y, own.start, ws, work.original)
    for entry in range(len(own.first)):
        own.left[entry], own.right[entry] = own.first[entry], ws.Phi_z[entry]
    half_turn_rows(tables, own.y, 1.0, own.left)
    half_turn_rows(tables, own.y, -1.0, own.right)
    add_loop_tangent(tables, weight, own.left, own.right, work.original)
    assembled = ticks()
    bad = factor_copy(lu, work)
    stats[TANGENT_TICKS] += assembled - start
    stats[FACTOR_TICKS] += ticks() - assembled
    stats[JACOBIANS] += 1
    stats[FACTORISATIONS] += 1
    return bad


@inner_kernel
def correction(tables, lu, work, settings, weight, previous, reusable, old, ws, own, stats):
    """ws.dz, the correction of what was evaluated; returns its scaled norm, and whether an older factor found it.

    The norm is -1 when there is no factor.
    """
    h = settings.h
    for _ in range(2):
        if not reusable and factor_step(tables, lu, work, h, weight, old, ws, own, stats) != 0:
            return -1.0, False
        for row in range(len(weight)):
            own.row[row] = 0.5 * weight[row] * ws.Phi[row]
        for i in range(len(ws.base)):
            ws.base[i] = ws.residual[i]
        pull_back_through(tables, own.left, own.row, -1.0, ws.base)
        if solve_refined(lu, work.original, work.factored, work, ws.base, ws.dz) < 0:
            return -1.0, False
        norm = scaled_norm(ws.dz, own.y, settings.absolute, 0.0)
        if not reusable or reuse_pays(settings.refactor, norm, contraction_rate(norm, previous)):
            break
        reusable = False
    return norm, reusable


@inner_kernel
def far_off(h, old, typical, ws, own):
    """True when the step ends far from where constant accelerations lead."""
    for i in range(len(own.y)):
        ws.increment[i] = 2.0 * own.y[i]
    return too_far(h, ws.increment, old.zd, old.zdd, typical)


@inner_kernel
def correct(tables, lu, work, settings, weight, old, u1, ws, own, stats):
    """Newton's iteration on the half increment and the impulse; CONVERGED, UNFINISHED, or how it failed.

    An older factor serves where its Phi_z is near enough, as in ``correction``: corrections are made from what is left
    of the equations themselves, so that it costs no accuracy.
    """
    h, previous, slow, reusable = settings.h, 0.0, 0, False
    for iteration in range(1, settings.max_iterations + 1):
        start = ticks()
        evaluate_step(tables, h, old, u1, ws, own)
        stats[EVALUATIONS] += 1
        stats[RESIDUAL_TICKS] += ticks() - start
        norm, reusable = correction(tables, lu, work, settings, weight, previous, reusable, old, ws, own, stats)
        if norm < 0.0:
            return SMALL_PIVOT
        rate = contraction_rate(norm, previous)
        apply_through(tables, own.right, ws.dz, own.row)
        for row in range(len(weight)):
            own.impulse[row] += 0.5 * weight[row] * (ws.Phi[row] + 2.0 * own.row[row])
        add_correction(tables.dofs, ws.z, ws.dz, own.y)
        if not reusable:
            reusable = may_reuse(settings.refactor, INERTIA, ws.dz, settings.typical, settings.reuse_below)
        stats[ITERATIONS], stats[FIRST_CORRECTION + iteration - 1] = iteration, norm
        slow += 1 if iteration > 1 and rate > SLOW_RATE else 0
        answer, previous = verdict(iteration, norm, rate, slow), norm
        if answer > DIVERGED:
            return NOT_FINITE
        if answer == ACCEPT and stats[ITERATIONS_TO_TOLERANCE] == 0.0:
            stats[ITERATIONS_TO_TOLERANCE] = iteration
            if iteration > TRUSTED and far_off(h, old, settings.typical, ws, own):
                return NOT_CONVERGED
        if not settings.fixed_iterations and answer == ACCEPT:
            return CONVERGED
        if not settings.fixed_iterations and answer == DIVERGED:
            return NOT_CONVERGED
    if stats[ITERATIONS_TO_TOLERANCE] > 0.0:
        return CONVERGED
    return UNFINISHED if settings.fixed_iterations else NOT_CONVERGED


@kernel
def march_midpoint(tables, lu, work, settings, weight, old, u0, chunk, ws, own, budget):
    """Take a step for every row, the first from ``old`` with inputs ``u0``, the next from the row before it.

    Returns (how the last step ended, accepted steps): it stops after a step that fails, and when ``budget`` ticks are
    over.
    """
    begun, before, inputs, ending = ticks(), old, u0, CONVERGED
    if not startable(old, weight):
        start_stats(chunk.stats[0])
        return NOT_FINITE, 0
    for k in range(len(chunk.stats)):
        new = StateArrays(
            chunk.z[k], chunk.zd[k], chunk.zdd[k], chunk.lam[k], chunk.R0[k], chunk.energy[k], chunk.s[k], chunk.sd[k]
        )
        u, stats = chunk.u[k], chunk.stats[k]
        start_stats(stats)
        begin(tables, settings.h, before, inputs, u, ws, own)
        ending = correct(tables, lu, work, settings, weight, before, u, ws, own, stats)
        if ending in (CONVERGED, UNFINISHED):
            finished = finish(tables, lu, work, settings, weight, before, u, new, ws, own, stats)
            ending = ending if finished == CONVERGED else finished
        work.step[0] = 0.0  # its factor belongs to no step of the trapezoidal rule
        if ending not in (CONVERGED, UNFINISHED):
            return ending, k
        if ticks() - begun > budget:
            return ending, k + 1
        before, inputs = new, u
    return ending, len(chunk.stats)

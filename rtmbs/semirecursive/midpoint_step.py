"""The variational midpoint step, fused into one kernel; ``integrators/variational_midpoint.py`` is the same readable.

A contract test holds the two together. What this kernel does not finish well, a step that does not converge or rates
that loops hold badly, is left to the readable step.
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.integrators.newton import (
    ACCEPT,
    DIVERGED,
    SLOW_RATE,
    acceleration_allowance,
    contraction_rate,
    may_reuse,
    reuse_pays,
    scaled_norm,
    velocity_allowance,
    verdict,
)
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    EVALUATIONS,
    FACTOR_TICKS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    INERTIA,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    JACOBIANS,
    PAPER,
    POSITION_VIOLATION,
    PROJECTION_TICKS,
    PROJECTIONS,
    RESIDUAL_TICKS,
    TANGENT_TICKS,
    VELOCITY_VIOLATION,
    StateArrays,
)
from rtmbs.integrators.variational_rounds import ENOUGH, PROGRESS, ROUNDS
from rtmbs.jit.clock import ticks
from rtmbs.jit.compiled import coarse_inner_kernel, inner_kernel, kernel
from rtmbs.jit.struct import struct
from rtmbs.linear.sparse_lu import solve_refined
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, apply_through, pull_back, pull_back_through
from rtmbs.semirecursive.closures import closure_accelerations, closure_velocities, evaluate_closures
from rtmbs.semirecursive.completion import copy_rotations, startable
from rtmbs.semirecursive.correction import start_stats
from rtmbs.semirecursive.endings import CONVERGED, LOOP_OPEN, NOT_CONVERGED, NOT_FINITE, SMALL_PIVOT, UNFINISHED
from rtmbs.semirecursive.evaluation import assemble_mass_metric, assemble_tangent
from rtmbs.semirecursive.force_kernels import apply_forces
from rtmbs.semirecursive.momenta import (
    add_loop_tangent,
    evaluate_momenta,
    half_turn_back,
    half_turn_rows,
    momenta_here,
    turn_back,
    undo_jacobian,
)
from rtmbs.semirecursive.momentum_tangent import assemble_midpoint
from rtmbs.semirecursive.multipliers import factor_copy
from rtmbs.semirecursive.passes import (
    forward_accelerations,
    forward_positions,
    forward_velocities,
    inverse_dynamics,
    place_inertias,
)
from rtmbs.semirecursive.projection_kernels import in_range, largest_rate, note_violation, relative_violation
from rtmbs.semirecursive.rotations import add_correction, commit_rotations

Array = Any


@struct
class Scratch(NamedTuple):
    """What a step in momenta needs besides the Workspace."""

    first: Array  # (entries,) Phi_z where the step begins
    left: Array  # (entries,) the same, half turned, in the last factor
    right: Array  # (entries,) that of the end, half turned, in the last factor
    u: Array  # (nu,) inputs at the middle
    y: Array  # (n,) half increment
    p0: Array  # (n,) momentum where the step begins
    start: Array  # (n,) the same, impulse of the loops included
    p: Array  # (n,)
    p1: Array  # (n,) momentum where the step ends, without the loops there
    impulse: Array  # (m,) h/2 times that of the loops
    row: Array  # (m,)
    none: Array  # (m,) zeros


def scratch_for(entries: int, inputs: int, n: int, m: int) -> Scratch:
    """Allocate the scratch."""
    shapes = (entries, entries, entries, inputs, n, n, n, n, n, m, m, m)
    return Scratch(*(np.zeros(shape) for shape in shapes))


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
def evaluate_middle(tables, h, old, ws, own):
    """Momentum and ws.tau at the middle, and the momentum that the step starts with."""
    for i in range(len(ws.z)):
        ws.z[i] = old.z[i] + own.y[i]
        ws.zd[i] = 2.0 / h * own.y[i]
        own.start[i] = own.p0[i]
    evaluate_momenta(tables, old.R0, own.u, ws, own.p)
    pull_back_through(tables, own.first, own.impulse, -2.0 / h, own.start)


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
        if not settings.fixed_iterations and answer == ACCEPT:
            return CONVERGED
        if not settings.fixed_iterations and answer == DIVERGED:
            return NOT_CONVERGED
    if stats[ITERATIONS_TO_TOLERANCE] > 0.0:
        return CONVERGED
    return UNFINISHED if settings.fixed_iterations else NOT_CONVERGED


@inner_kernel
def finish(tables, lu, work, settings, weight, old, u1, new, ws, own, stats):
    """Fill ``new``: the momentum at the end, the rates that it stands for, accelerations and multipliers.

    CONVERGED, or why the readable step is to be asked.
    """
    h, start = settings.h, ticks()
    evaluate_middle(tables, h, old, ws, own)
    for i in range(len(ws.z)):
        own.p1[i], own.p[i] = own.start[i], ws.tau[i]
        new.z[i], ws.predicted[i] = old.z[i] + 2.0 * own.y[i], 2.0 * own.y[i]
        new.zd[i] = 4.0 / h * own.y[i] - old.zd[i]
        new.zdd[i] = old.zdd[i]
    for i in range(len(new.s)):
        new.s[i] = old.s[i] + h * ws.state_rate[i]
    turn_back(tables.dofs, ws.predicted, own.p1)
    turn_back(tables.dofs, own.y, own.p)
    for i in range(len(ws.z)):
        own.p1[i] -= h * own.p[i]
        ws.z[i] = new.z[i]
    copy_rotations(old.R0, new.R0)
    forward_positions(tables, old.R0, ws.z, ws)
    evaluate_closures(tables, ws.z, u1, ws)
    note_violation(ws.Phi, settings, stats, POSITION_VIOLATION)
    if not relative_violation(ws.Phi, settings.scale) <= settings.loop_tolerance:
        return LOOP_OPEN
    assemble_mass_metric(tables, 1.0, weight, ws, work.original)
    stats[FACTORISATIONS] += 1
    if factor_copy(lu, work) != 0:
        return SMALL_PIVOT
    settled = set_rates(tables, lu, work, settings, weight, u1, new, ws, own, stats)
    settled = set_accelerations(tables, lu, work, settings, weight, u1, new, ws, own, stats) and settled
    commit_rotations(tables.dofs, new.z, new.R0)
    stats[PROJECTION_TICKS] += ticks() - start
    numbers = in_range(new.z) and in_range(new.zd) and in_range(new.zdd) and in_range(new.lam)
    if not (numbers and in_range(new.s) and in_range(new.sd)):
        return NOT_FINITE
    return CONVERGED if settled else NOT_CONVERGED


@inner_kernel
def goes_on(size, previous, largest):
    """True when another round of rates or accelerations would change them by more than rounding."""
    if not size > ENOUGH * largest or size > PROGRESS * previous:
        return False
    return not (previous < np.inf and size * size <= ENOUGH * largest * previous)


@inner_kernel
def set_rates(tables, lu, work, settings, weight, u, new, ws, own, stats):
    """new.zd with M zd = p1 - Phi_z^T impulse and Phid = 0; True when the loops hold it to their bound."""
    previous = np.inf
    for row in range(len(weight)):
        own.row[row] = 0.0
    for _ in range(ROUNDS):
        momenta_here(tables, new.zd, u, ws, own.p)
        closure_velocities(tables, new.zd, u, ws)
        for i in range(len(ws.z)):
            ws.residual[i] = own.p1[i] - own.p[i]
        size = round_of(tables, lu, work, settings, weight, new.zd, ws.Phid, own.row, ws)
        stats[PROJECTIONS] += 1
        if not goes_on(size, previous, largest_rate(new.zd, settings.typical)):
            break
        previous = size
    note_violation(ws.Phid, settings, stats, VELOCITY_VIOLATION)
    return relative_violation(ws.Phid, settings.scale) <= velocity_allowance(
        settings, largest_rate(new.zd, settings.typical)
    )


@inner_kernel
def set_accelerations(tables, lu, work, settings, weight, u, new, ws, own, stats):
    """new.zdd and new.lam with M zdd - Q + Phi_z^T lam = 0 and Phidd = 0; True when the loops hold them."""
    previous = np.inf
    ws.state_half[0] = 0.0
    for i in range(len(ws.state_base)):
        ws.state_base[i] = new.s[i]
    for row in range(len(weight)):
        new.lam[row] = 0.0
    for i in range(len(ws.z)):
        ws.zd[i] = new.zd[i]
    forward_velocities(tables.dofs, ws.zd, ws)
    for _ in range(ROUNDS):
        forward_accelerations(tables.dofs, ws.zd, new.zdd, u, ws)
        inverse_dynamics(tables.dofs, ws)
        apply_forces(tables, ws.z, ws.zd, u, ws)
        closure_accelerations(tables, ws.zd, new.zdd, u, ws)
        for i in range(len(ws.z)):
            ws.residual[i] = -ws.tau[i]
        size = round_of(tables, lu, work, settings, weight, new.zdd, ws.Phidd, new.lam, ws)
        stats[PROJECTIONS] += 1
        if not goes_on(size, previous, largest_rate(new.zdd, settings.typical)):
            break
        previous = size
    for i in range(len(new.sd)):
        new.sd[i] = ws.state_rate[i]
    note_violation(ws.Phidd, settings, stats, ACCELERATION_VIOLATION)
    rate, acceleration = largest_rate(new.zd, settings.typical), largest_rate(new.zdd, settings.typical)
    return relative_violation(ws.Phidd, settings.scale) <= acceleration_allowance(settings, rate, acceleration)


@inner_kernel
def round_of(tables, lu, work, settings, weight, rates, violation, multiplier, ws):
    """One round: correct rates and multipliers by the factor of M + Phi_z^T weight Phi_z, from what is left of both
    equations, ws.residual (less the pull of the multipliers) and ``violation``, which follows. Returns the change.
    """
    for row in range(len(weight)):
        ws.impulse[row] = multiplier[row] + weight[row] * violation[row]
    pull_back(tables, ws, ws.impulse, -1.0, ws.residual)
    solve_refined(lu, work.original, work.factored, work, ws.residual, ws.dz)
    apply_Phi_z(tables, ws, ws.dz, ws.impulse)
    for row in range(len(weight)):
        violation[row] += ws.impulse[row]
        multiplier[row] += weight[row] * violation[row]
    for i in range(len(rates)):
        rates[i] += ws.dz[i]
    return largest_rate(ws.dz, settings.typical)


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

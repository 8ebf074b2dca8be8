"""The variational midpoint step, fused into one kernel; ``integrators/variational_midpoint.py`` has it in plain Python.

A contract test holds the two together. What this kernel does not finish well, a step that does not converge or rates
that loops hold badly, is left to the readable step.
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.integrators.midpoint_arithmetic import (
    DIFFERENCES,
    EXPECTED,
    HEAD,
    IMPULSES,
    SHARE,
    SOFT,
    begin_history,
    continues,
    extend_history,
    far_off,
    first_rates,
    keep_history,
    moves_away,
    take_history,
)
from rtmbs.integrators.newton import (
    ACCEPT,
    ANY_IMPULSE,
    DIVERGED,
    ENOUGH,
    ENOUGH_OF_FORCES,
    GO_ON,
    LOST_DIRECTION,
    MISSED,
    MISSED_BY_FORCES,
    PROGRESS,
    ROUNDS,
    SETTLED,
    SLOW_RATE,
    STIFFER,
    STILL,
    TRUSTED,
    acceleration_allowance,
    contraction_rate,
    leaps,
    may_reuse,
    reuse_pays,
    scaled_norm,
    strays,
    sure_below,
    velocity_allowance,
    verdict,
)
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    ADAPTIVE,
    EVALUATIONS,
    FACTOR_TICKS,
    FACTORISATIONS,
    FIRST_CORRECTION,
    INERTIA,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    JACOBIANS,
    KEPT_WHOLE,
    NEAR_SINGULAR,
    PAPER,
    PASSED,
    POSITION_VIOLATION,
    PROJECTION_TICKS,
    PROJECTIONS,
    RESIDUAL_TICKS,
    TANGENT_TICKS,
    VELOCITY_VIOLATION,
)
from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inlined_kernel, inner_kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.jit.struct import struct
from rtmbs.numerics.linear.sparse_lu import factor, solve, solve_refined
from rtmbs.semirecursive.closure_jacobian import apply_through, pull_back, pull_back_through
from rtmbs.semirecursive.closures import (
    add_rate_gaps,
    closure_accelerations,
    closure_velocities,
    evaluate_gaps,
    fill_branches,
)
from rtmbs.semirecursive.evaluation import assemble_tangent
from rtmbs.semirecursive.force_kernels import apply_forces
from rtmbs.semirecursive.machine_code import (
    CONVERGED,
    LOOP_OPEN,
    NEAR,
    NOT_CONVERGED,
    NOT_FINITE,
    SMALL_PIVOT,
    UNFINISHED,
    accepted,
)
from rtmbs.semirecursive.momenta import (
    assemble_end,
    assemble_midpoint,
    evaluate_boundary,
    evaluate_momenta,
    half_turn_back,
    half_turn_rows,
    remember_base,
    set_left_over,
    take_left_over,
    turn_back,
    undo_jacobian,
)
from rtmbs.semirecursive.passes import (
    add_correction,
    commit_rotations,
    forward_accelerations,
    forward_positions,
    forward_velocities,
    inverse_dynamics,
    mass_times,
    place_inertias,
)
from rtmbs.semirecursive.projection_kernels import (
    correct_rates,
    factor_copy,
    in_range,
    largest_rate,
    note_violation,
    relative_violation,
)
from rtmbs.semirecursive.step import copy_rotations, start_stats, startable, state_in_row
from rtmbs.semirecursive.tangent import add_loop_tangent

# ---- end of the step: momentum, rates, accelerations, multipliers ---------------------------------------------------

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
    stiff: Array  # (m,) weights of the loops where the step ends
    held: Array  # (m,) weights of the loops in the Newton matrix
    none: Array  # (m,) zeros
    one: Array  # (m,) ones
    own_mass: Array  # (n,) diagonal of M where the step ends
    guess: Array  # (n,) first half increment of the next step
    differences: Array  # (DIFFERENCES, n) backward differences of half increments
    push: Array  # (m,) h/2 times the first impulse of the next step
    impulses: Array  # (IMPULSES, m) backward differences of these
    plan: Array  # (HEAD,) see ``midpoint_arithmetic``
    left_over: Array  # (n,) what Newton's iteration leaves of the momentum at the start, of bases with several dofs
    base: Array  # (n, 6) columns S of these dofs where the step begins
    carried: Array  # (n, 6) at the first dof of such a base, the momentum left over as six numbers about the origin
    bases: Array  # (1,) how many there are


def scratch_for(entries: int, inputs: int, n: int, m: int) -> Scratch:
    """Allocate the scratch."""
    history = (n, n, (DIFFERENCES, n), m, (IMPULSES, m), HEAD)
    shapes = (*(entries,) * 3, inputs, *(n,) * 5, *(m,) * 6, *history, n, (n, 6), (n, 6), 1)
    return Scratch(*(np.zeros(shape) for shape in shapes))._replace(one=np.ones(m))


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
def step_momentum(tables, h, old, new, ws, own):
    """own.p1, the momentum at the end without the loops there; new.z, new.R0 and new.s; from own.start and ws.tau."""
    for i in range(len(ws.z)):
        own.p1[i], own.p[i] = own.start[i] + own.left_over[i], ws.tau[i]
        new.z[i], ws.predicted[i] = old.z[i] + 2.0 * own.y[i], 2.0 * own.y[i]
    for i in range(len(new.s)):
        new.s[i] = old.s[i] + h * ws.state_rate[i]
    turn_back(tables.dofs, ws.predicted, own.p1)
    turn_back(tables.dofs, own.y, own.p)
    for i in range(len(ws.z)):
        own.p1[i] -= h * own.p[i]
    copy_rotations(old.R0, new.R0)
    commit_rotations(tables.dofs, new.z, new.R0)


@inner_kernel
def reach_end(tables, settings, h, stands, old, u1, new, ws, own, stats):
    """Fill positions, rotations and force states of ``new``, and own.p1, the momentum before the loops act there.

    ``stands``: what was evaluated last is that of the end, the middle first. Otherwise it is evaluated anew, for
    internal forces balance at their own pose only. CONVERGED, or why the readable step is to be asked. Leaves the
    passes of ``evaluate_boundary`` at the end.
    """
    start, bases = ticks(), own.bases[0] > 0.0
    if not stands:
        evaluate_middle(tables, h, old, ws, own)
        if bases:
            undo_jacobian(tables.dofs, own.y, own.p)
    if bases:
        set_left_over(tables.dofs, h, ws, own)
    step_momentum(tables, h, old, new, ws, own)
    if stands and len(ws.rate) == 0 and len(tables.contacts.normal) == 0:
        place_inertias(tables.dofs, ws)  # positions and loops are those of the end already
        fill_branches(tables, ws)
    else:
        evaluate_boundary(tables, new.z, new.R0, u1, ws)
    if bases:
        take_left_over(tables.dofs, ws, own)
    note_violation(ws.Phi, settings, stats, POSITION_VIOLATION)
    stats[PROJECTION_TICKS] += ticks() - start
    if not relative_violation(ws.Phi, settings.scale) <= settings.loop_tolerance:
        return LOOP_OPEN
    return CONVERGED if in_range(new.z) and in_range(new.s) else NOT_FINITE


# ---- rates, accelerations, multipliers where a step ends ------------------------------------------------------------


@inner_kernel
def complete(tables, lu, work, settings, h, weight, u1, new, accelerates, ws, own, stats):
    """Rates of ``new``, and unless not ``accelerates`` accelerations and multipliers, from the first ones in it.

    Behind ``evaluate_boundary`` there, with own.p1, the momentum before the loops act, and own.row, the first impulse.
    CONVERGED, or why the readable step is to be asked.
    """
    start = ticks()
    if factor_end(tables, lu, work, weight, ws, own, stats) != 0:
        return SMALL_PIVOT
    settled = set_rates(tables, lu, work, settings, h, own.stiff, u1, new, ws, own, stats)
    if accelerates:
        settled = set_accelerations(tables, lu, work, settings, h, own.stiff, u1, new, ws, own, stats) and settled
    stats[PROJECTION_TICKS] += ticks() - start
    numbers = in_range(new.zd)
    if accelerates:
        numbers = numbers and in_range(new.zdd) and in_range(new.lam) and in_range(new.sd)
    return NOT_FINITE if not numbers else CONVERGED if settled else NOT_CONVERGED


@coarse_inner_kernel
def factor_end(tables, lu, work, weight, ws, own, stats):
    """Factor M + Phi_z^T stiff Phi_z at the pose of ``evaluate_boundary``; not 0 when it has no factor.

    own.stiff is 100 times the weight, and the weight itself where uneven masses would leave too small a pivot.
    """
    bad = 1
    for stiffer in (STIFFER, 1.0):
        if bad != 0 and (stiffer == 1.0 or own.plan[SOFT] == 0.0):
            for row in range(len(weight)):
                own.stiff[row] = stiffer * weight[row]
            assemble_end(tables, own.stiff, ws, own.own_mass, work.factored)
            stats[FACTORISATIONS] += 1
            bad = factor(lu, work.factored, work)
    return bad


@inner_kernel
def set_rates(tables, lu, work, settings, h, weight, u, new, ws, own, stats):
    """new.zd with M zd = p1 - Phi_z^T impulse and Phid = 0; True when the loops hold it to their bound.

    new.zd and own.row hold the first rates and the first impulse.
    """
    closure_velocities(tables, new.zd, u, ws)
    mass_times(tables.dofs, new.zd, ws, own.p)
    for i in range(len(ws.z)):
        ws.residual[i] = own.p1[i] - own.p[i]
    open_by = solve_saddle(
        tables, lu, work, settings, h, weight, ENOUGH, MISSED, ANY_IMPULSE, new.zd, ws.Phid, own.row, ws, own, stats
    )
    note_violation(ws.Phid, settings, stats, VELOCITY_VIOLATION)
    return open_by <= velocity_allowance(settings, largest_rate(new.zd, settings.typical))


@inner_kernel
def set_accelerations(tables, lu, work, settings, h, weight, u, new, ws, own, stats):
    """new.zdd and new.lam with M zdd - Q + Phi_z^T lam = 0 and Phidd = 0; True when the loops hold them."""
    ws.state_half[0] = 0.0
    for i in range(len(ws.state_base)):
        ws.state_base[i] = new.s[i]
    for row in range(len(weight)):
        new.lam[row] = 0.0
    for i in range(len(ws.z)):
        ws.zd[i] = new.zd[i]
    forward_velocities(tables.dofs, ws.zd, ws)
    forward_accelerations(tables.dofs, ws.zd, new.zdd, u, ws)
    inverse_dynamics(tables.dofs, ws)
    apply_forces(tables, ws.z, ws.zd, u, ws)
    closure_accelerations(tables, ws.zd, new.zdd, u, ws)
    for i in range(len(new.sd)):
        new.sd[i] = ws.state_rate[i]
    for i in range(len(ws.z)):
        ws.residual[i] = -ws.tau[i]
    open_by = solve_saddle(
        tables, lu, work, settings, h, weight, ENOUGH_OF_FORCES, MISSED_BY_FORCES, SETTLED, new.zdd, ws.Phidd,
        new.lam, ws, own, stats,
    )  # fmt: skip
    note_violation(ws.Phidd, settings, stats, ACCELERATION_VIOLATION)
    rate, acceleration = largest_rate(new.zd, settings.typical), largest_rate(new.zdd, settings.typical)
    return open_by <= acceleration_allowance(settings, rate, acceleration)


@inner_kernel
def solve_saddle(
    tables, lu, work, settings, h, weight, enough, missed, moves, rates, violation, multiplier, ws, own, stats
):
    """Solve M dx + Phi_z^T multiplier = ws.residual, Phi_z dx = -violation in rounds; ``rates`` go by dx.

    The factor is that of M + Phi_z^T weight Phi_z. Its rounding leaves a share of each round's change, found in the
    first one by M itself, and again while that share of a change is more than ``enough`` of the largest rate.
    ``violation`` follows, and ends below ``missed`` of the largest rate, when another round would change the
    multipliers by less than ``moves`` of the largest. Where rounds leave more of it open, and more than Newton's
    tolerance in a step, loops lose a direction, and the stats say NEAR_SINGULAR. Returns what is left of ``violation``.
    """
    share, left, open_by, moved, bound, fastest, checked = 0.0, np.inf, np.inf, 0.0, 0.0, 0.0, True
    for number in range(ROUNDS):
        size = correct_rates(tables, lu, work, settings, weight, checked, rates, violation, multiplier, ws)
        stats[PROJECTIONS] += 1
        before, opened, moved_before = left, open_by, moved
        open_by, fastest = relative_violation(violation, settings.scale), largest_rate(rates, settings.typical)
        if moves < ANY_IMPULSE:
            moved = largest_multiplier(weight, violation, settings.scale)
            bound = moves * largest_multiplier(own.one, multiplier, settings.scale)
        checked = checked and (number == 0 or size * share > enough * fastest)
        left = 0.0
        if checked:
            mass_times(tables.dofs, ws.dz, ws, own.start)
            for i in range(len(rates)):
                ws.residual[i] -= own.start[i]
            left = unbalanced(tables, settings, multiplier, ws, own)
            share = left / size if size > 0.0 else 0.0
        balanced = left <= enough * fastest
        closed = open_by <= missed * fastest and (moved <= bound or moved * moved <= bound * moved_before)
        if (balanced or left > PROGRESS * before) and (closed or open_by > PROGRESS * opened):
            break
    if open_by > LOST_DIRECTION * fastest + STILL * settings.absolute[0] / settings.typical[0] / h:
        stats[NEAR_SINGULAR] = 1.0
    return open_by


@inlined_kernel
def largest_multiplier(weight, values, scale):
    """Largest |weight value| scale over all rows: of multipliers, comparable between translation and rotation."""
    top = 0.0
    for row in range(len(values)):
        top = max(top, abs(weight[row] * values[row]) * scale[row])
    return top


@inner_kernel
def unbalanced(tables, settings, multiplier, ws, own):
    """Largest rate that what is left, ws.residual less the pull of the multipliers, would give a coordinate by itself.

    In typical sizes.
    """
    for i in range(len(ws.base)):
        ws.base[i] = ws.residual[i]
    pull_back(tables, ws, multiplier, -1.0, ws.base)
    top = 0.0
    for i in range(len(ws.base)):
        size = abs(ws.base[i]) / (own.own_mass[i] * settings.typical[i])
        top = max(top, size if np.isfinite(size) else np.inf)
    return top


@inner_kernel
def begin(dofs, h, old, u0, u1, ws, own):
    """Phi_z and bases where the step begins, inputs at the middle, states of laws. ``evaluate_boundary`` was there."""
    for k in range(len(u0)):
        own.u[k] = 0.5 * (u0[k] + u1[k])
    for entry in range(len(own.first)):
        own.first[entry] = ws.Phi_z[entry]
    remember_base(dofs, ws, own)
    ws.state_half[0] = 0.5 * h
    for i in range(len(ws.state_base)):
        ws.state_base[i] = old.s[i]


@inner_kernel
def evaluate_end(tables, old, u1, whole, ws, own):
    """The gap ws.Phi of the loops at the end, and where ``whole`` Phi_z there, which an older factor does not need."""
    for i in range(len(ws.z)):
        ws.z[i] = old.z[i] + 2.0 * own.y[i]
    forward_positions(tables, old.R0, ws.z, ws)
    evaluate_gaps(tables, ws.z, u1, ws)
    if whole:
        fill_branches(tables, ws)
    if len(tables.contacts.normal):
        add_rate_gaps(tables, own.first, 1.0, own.y, ws.Phi)
        add_rate_gaps(tables, ws.Phi_z, 1.0, own.y, ws.Phi)


@inner_kernel
def evaluate_step(tables, h, old, u1, last, ws, own):
    """ws.residual = -h/2 (T^-1 p - W start) - h^2/4 tau, and the gap ws.Phi of the loops at the end.

    ``last``: the end is evaluated last, as the next step needs it, but for Phi_z of cut joints. Otherwise the middle,
    as the Newton matrix does.
    """
    if not last:
        evaluate_end(tables, old, u1, True, ws, own)
    evaluate_middle(tables, h, old, ws, own)
    for i in range(len(ws.z)):
        ws.predicted[i] = own.start[i]
    undo_jacobian(tables.dofs, own.y, own.p)
    half_turn_back(tables.dofs, own.y, ws.predicted)
    for i in range(len(ws.z)):
        ws.residual[i] = -0.5 * h * (own.p[i] - ws.predicted[i]) - 0.25 * h * h * ws.tau[i]
    if last:
        evaluate_end(tables, old, u1, False, ws, own)


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
    add_loop_tangent(tables, weight, 1.0, own.left, own.right, work.original)
    assembled = ticks()
    bad = factor_copy(lu, work)
    stats[TANGENT_TICKS] += assembled - start
    stats[FACTOR_TICKS] += ticks() - assembled
    stats[JACOBIANS] += 1
    stats[FACTORISATIONS] += 1
    return bad


@inner_kernel
def correction(tables, lu, work, settings, h, weight, near, previous, reusable, sure, old, u1, ws, own, stats):
    """ws.dz, the correction of what was evaluated; returns its scaled norm, and whether an older factor found it.

    ``near``: that one is of the start of the step. The norm is -1 when there is no factor.
    """
    for _ in range(2):
        if not reusable and factor_step(tables, lu, work, h, weight, old, ws, own, stats) != 0:
            return -1.0, False
        stiff = own.stiff if near and reusable else weight
        for row in range(len(weight)):
            own.row[row] = 0.5 * stiff[row] * ws.Phi[row]
        for i in range(len(ws.base)):
            ws.base[i] = ws.dz[i] = ws.residual[i]
        if reusable:  # a factor that was checked when it was made
            pull_back_through(tables, own.left, own.row, -1.0, ws.dz)
            solve(lu, work.factored, work, ws.dz)
        else:
            pull_back_through(tables, own.left, own.row, -1.0, ws.base)
            if solve_refined(lu, work.original, work.factored, work, ws.base, ws.dz) < 0:
                return -1.0, False
        norm = scaled_norm(ws.dz, own.y, settings.absolute, 0.0)
        if not reusable or reuse_pays(settings.refactor, norm, contraction_rate(norm, previous), sure):
            break
        reusable = False
        evaluate_step(tables, h, old, u1, False, ws, own)  # the Newton matrix needs the passes at the middle
        stats[EVALUATIONS] += 1
    return norm, reusable


SURE = 1e-3  # of the tolerance: what corrections leave, for angular momentum is kept to that
STANDS = 1e-5  # of the tolerance: a correction that need not be made; redundant rows feel 1e-3 in their multipliers


@inner_kernel
def correct(tables, lu, work, settings, h, weight, near, old, u1, ws, own, stats):
    """Newton's iteration on the half increment and the impulse; CONVERGED, UNFINISHED, or how it failed.

    Also returns whether what was evaluated stands: a correction below STANDS is not made, and the end was evaluated
    last. An older factor serves where its Phi_z is near enough. It costs no accuracy: corrections are made from what
    is left of the equations. ``near``: the first ones take the factor of the start, M + Phi_z^T stiff Phi_z.
    """
    previous, slow, reusable, met, exact, strayed, leapt = 0.0, 0, near, False, False, False, False
    start_iteration(near, own)
    sure = sure_below(settings, 0.0, old.z)  # of M and loops alone, where it is the factor of the start
    for iteration in range(1, settings.max_iterations + 1):
        start, last = ticks(), reusable
        evaluate_step(tables, h, old, u1, last, ws, own)
        stats[EVALUATIONS] += 1
        stats[RESIDUAL_TICKS] += ticks() - start
        norm, reusable = correction(
            tables, lu, work, settings, h, weight, near, previous, reusable, sure, old, u1, ws, own, stats
        )
        if norm < 0.0:
            return SMALL_PIVOT, False
        sure = sure if reusable else sure_below(settings, ws.stiff[0], old.z)
        rate, near, last = contraction_rate(norm, previous), near and reusable, last and reusable
        strayed, exact = strayed or (exact and not reusable and strays(settings, norm, previous)), not reusable
        leapt = leaps(settings, iteration, leapt, norm, ws.dz, 2.0)
        stiff = own.stiff if near else weight
        apply_through(tables, own.right, ws.dz, own.row)
        for row in range(len(weight)):
            own.row[row] = 0.5 * stiff[row] * (ws.Phi[row] + 2.0 * own.row[row])
            own.impulse[row] += own.row[row]
        stats[ITERATIONS], stats[FIRST_CORRECTION + iteration - 1] = iteration, norm
        stands = last and norm <= min(STANDS, sure) and not settings.fixed_iterations
        if stands:
            pull_back_through(tables, own.first, own.row, -2.0 / h, own.start)
        else:
            add_correction(tables.dofs, ws.z, ws.dz, own.y)
        reusable = reusable or may_reuse(settings.refactor, INERTIA, ws.dz, settings.typical, settings.reuse_below)
        slow += 1 if iteration > 1 and rate > SLOW_RATE else 0
        answer, previous = ACCEPT if stands else verdict(iteration, norm, rate, slow, sure), norm
        if answer == ACCEPT and rate * norm > SURE and not met and not stands:
            answer, met = GO_ON, True  # once: rounding may be larger than that
        if answer > DIVERGED:
            return NOT_FINITE, False
        strayed = strayed or (leapt and answer == ACCEPT and moves_away(settings.typical, ws, own))
        if answer == ACCEPT and stats[ITERATIONS_TO_TOLERANCE] == 0.0:
            stats[ITERATIONS_TO_TOLERANCE] = 0.0 if strayed else iteration
            if iteration > TRUSTED and far_off(settings.typical, own):
                return NOT_CONVERGED, False
        if not settings.fixed_iterations and (answer == DIVERGED or strayed):
            return NOT_CONVERGED, False
        if not settings.fixed_iterations and answer == ACCEPT:
            return CONVERGED, stands
    if stats[ITERATIONS_TO_TOLERANCE] > 0.0:
        return CONVERGED, False
    return UNFINISHED if settings.fixed_iterations else NOT_CONVERGED, False


@inlined_kernel
def start_iteration(near, own):
    """First increment and impulse, and Phi_z of a factor of the start of the step."""
    for i in range(len(own.y)):
        own.y[i] = own.guess[i]
    for row in range(len(own.impulse)):
        own.impulse[row] = own.push[row]
    if near:
        for entry in range(len(own.first)):
            own.left[entry], own.right[entry] = own.first[entry], own.first[entry]


LARGE = 24  # coordinates: from there on a factor takes longer than an iteration
LITTLE = 0.1  # typical sizes in a step, at most, with the factor of its start
FORGOTTEN = 0.7  # of the share that is left by corrections with the factor of the start, a step without them
UNUSUAL = 3  # iterations: a step that needs more is completed, so that a lost direction of its loops is told


@inner_kernel
def moves_little(settings, own):
    """True when the factor of the start of a step serves: two corrections by it leave less than SURE.

    Each leaves a share of about the move of the step, or as the last time. The first increment is off by what was
    expected.
    """
    move = 0.0
    for i in range(len(own.guess)):
        move = max(move, 2.0 * abs(own.guess[i]) / settings.typical[i])
    if len(own.guess) < LARGE or settings.refactor != ADAPTIVE or settings.fixed_iterations or move > LITTLE:
        return False
    share = max(move, own.plan[SHARE])
    return own.plan[EXPECTED] * share * share <= SURE


@coarse_kernel
def march_midpoint(tables, lu, work, settings, weight, old, u0, chunk, ws, own, budget, begun_rows, kept):
    """Take a step for every row, the first from ``old`` with inputs ``u0``, the next from the row before it.

    Returns (how the last step ended, accepted steps, steps that were taken besides and are lost, rows to go on behind).
    It stops after a step that fails. When ``budget`` ticks are over it stops in the middle: the next call gets the rows
    so far, ``begun_rows``, and the complete ones, ``kept``. They are 0 in the first call. Rates and accelerations of
    rows that stats[PASSED] leaves out are not filled, but for the last row. Rows behind the last one that is complete
    are lost where a step fails and the state before it cannot be completed. The history is written to the last row, and
    where stats[PASSED] is KEPT_WHOLE.
    """
    begun, before, inputs, ending, h, ready, first = ticks(), old, u0, CONVERGED, settings.h, False, False
    if begun_rows > 0:  # scratch and factor are those of the call before
        before, inputs = state_in_row(chunk, begun_rows - 1), chunk.u[begun_rows - 1]
        ready = kept == begun_rows
    elif not startable(old, weight):
        start_stats(chunk.stats[0])
        return NOT_FINITE, 0, 0, 0
    else:
        evaluate_boundary(tables, old.z, old.R0, u0, ws)
        first = not continues(h, old)
        if first:
            mass_times(tables.dofs, old.zd, ws, own.p0)
            begin_history(h, old, settings, own)
        else:
            take_history(old, own)
    for k in range(begun_rows, len(chunk.stats)):
        new, u, stats, more = state_in_row(chunk, k), chunk.u[k], chunk.stats[k], k + 1 < len(chunk.stats)
        passed, whole = stats[PASSED] > 0.0 and more, stats[PASSED] == KEPT_WHOLE
        start_stats(stats)
        ending = take_step(tables, lu, work, settings, h, weight, ready, before, inputs, u, new, ws, own, stats)
        ready = False
        if not accepted(ending):
            kept = close(tables, lu, work, settings, h, weight, inputs, before, kept, k, chunk, ws, own)
            return ending, kept, k - kept, 0
        extend_history(first, settings, own)
        first = False
        if not passed or stats[ITERATIONS] > UNUSUAL:
            if not complete_row(tables, lu, work, settings, h, weight, u, new, ws, own, stats):
                return NOT_CONVERGED, kept, k + 1 - kept, 0
            ready, kept = True, k + 1
            if ending == CONVERGED and stats[NEAR_SINGULAR] > 0.0:
                ending = NEAR
            if whole or not more:
                keep_history(h, own, new)
        if more and ticks() - begun > budget:
            return ending, kept, 0, k + 1
        before, inputs = new, u
    return ending, kept, 0, 0


@inner_kernel
def take_step(tables, lu, work, settings, h, weight, ready, old, u0, u1, new, ws, own, stats):
    """Take one step to its positions and momentum; returns how it ended.

    ``ready``: the factor of the start of the step is there, behind ``complete_row``.
    """
    begin(tables.dofs, h, old, u0, u1, ws, own)
    near = moves_little(settings, own)
    own.plan[SHARE] *= FORGOTTEN  # a bad one is tried again some steps later
    if near and not ready:
        near = factor_end(tables, lu, work, weight, ws, own, stats) == 0
    ending, stands = SMALL_PIVOT, False
    for stiffer in (STIFFER, 1.0):
        if ending == SMALL_PIVOT and (stiffer == 1.0 or own.plan[SOFT] == 0.0):
            for row in range(len(weight)):
                own.held[row] = stiffer * weight[row]
            ending, stands = correct(tables, lu, work, settings, h, own.held, near, old, u1, ws, own, stats)
            if near and stats[ITERATIONS] > 1.0:
                own.plan[SHARE] = contraction_rate(stats[FIRST_CORRECTION + 1], stats[FIRST_CORRECTION])
            near = False  # its factor is gone
            if ending == SMALL_PIVOT:
                own.plan[SOFT] = SOFTER
    if not accepted(ending):
        return ending
    reached = reach_end(tables, settings, h, stands, old, u1, new, ws, own, stats)
    return ending if reached == CONVERGED else reached


SOFTER = 100.0  # steps behind one without a factor by stiffer loops that do not try them


@inner_kernel
def close(tables, lu, work, settings, h, weight, u, state, kept, k, chunk, ws, own):
    """Complete ``state``, row k - 1, from which a step fails; returns how many rows the last complete one ends."""
    if kept < k:
        evaluate_boundary(tables, state.z, state.R0, u, ws)
        if complete_row(tables, lu, work, settings, h, weight, u, state, ws, own, chunk.stats[k - 1]):
            kept = k
    if kept == k and k > 0:
        keep_history(h, own, state)
    return kept


@inner_kernel
def complete_row(tables, lu, work, settings, h, weight, u, new, ws, own, stats):
    """Fill rates, accelerations and multipliers of a row; True when the loops hold them."""
    first_rates(h, new, own)
    for i in range(len(own.p1)):
        own.p1[i] = own.p0[i]
    for row in range(len(weight)):
        own.row[row] = 1.0 / h * own.push[row]
    done = complete(tables, lu, work, settings, h, weight, u, new, True, ws, own, stats)
    return done == CONVERGED

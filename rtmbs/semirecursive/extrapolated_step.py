"""Extrapolated variational midpoint steps with an error estimate, fused into one kernel (METHODS 6.10).

A step of h is taken as one midpoint step, as two and as four. Their extrapolations of order four are compared, which
judges the step. The extrapolation of order six is taken, and put back on the loops. ``integrators/
extrapolated_midpoint.py`` has the same in plain Python.
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.integrators.midpoint_arithmetic import (
    ADAPTS,
    AFTER_REFUSAL,
    ALLOWED,
    FASTEST,
    FINE,
    FOURTH,
    LANDED,
    LARGEST_TURN,
    LEFT,
    LONGEST,
    MIDDLE,
    PATIENCE,
    POWER,
    REFUSALS,
    SIXTH,
    SMALL_ERROR,
    SMALL_TURN,
    STEEPEST,
    STEP,
    TRIED,
    begin_history,
    error_time,
    landing,
    next_factor,
    step_error,
)
from rtmbs.integrators.newton import PROGRESS, ROUNDS
from rtmbs.integrators.settings import ITERATIONS_TO_TOLERANCE, POSITION_VIOLATION
from rtmbs.jit.compiled import coarse_inner_kernel, inlined_kernel, inner_kernel, kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.jit.struct import struct
from rtmbs.numerics.linear.sparse_lu import solve
from rtmbs.numerics.rotations.kernels import logarithm
from rtmbs.numerics.spatial import add6, dot3, dot6, load3, load6, scale6, store6
from rtmbs.semirecursive.closure_jacobian import pull_back
from rtmbs.semirecursive.machine_code import (
    CONVERGED,
    LOOP_OPEN,
    NOT_CONVERGED,
    NOT_FINITE,
    SMALL_PIVOT,
    UNFINISHED,
    accepted,
)
from rtmbs.semirecursive.midpoint_step import (
    begin,
    complete,
    correct,
    factor_end,
    reach_end,
    set_accelerations,
    set_rates,
)
from rtmbs.semirecursive.momenta import evaluate_boundary
from rtmbs.semirecursive.passes import commit_rotations, forward_velocities, mass_times
from rtmbs.semirecursive.projection_kernels import in_range, largest_rate, note_violation, relative_violation
from rtmbs.semirecursive.step import copy_rotations, start_stats, startable, state_in_row

Array = Any

PERTURBED, MOVED, ONE, TWO, FOUR = 0, 1, 2, 3, 5  # first rows of the states in between
FIRST_ROW = ONE, TWO, FOUR
ROWS = 9
FAR_FROM_FACTOR = 1e-7  # typical sizes: loops of the weight 100 c that moved farther need a factor of their own
REFUSED = -1  # exit code of a step whose error is too large


@struct
class Between(NamedTuple):
    """Scratch of an extrapolated step."""

    momenta: Array  # (3, n, 6) behind every dof, where the runs of one, two and four steps end
    turn: Array  # (n,) rotation dofs of one run, from the finest
    other: Array  # (n,) the same of another
    guess: Array  # (n,) first half increment of a midpoint step
    error: Array  # (2, n) of positions and rates, in the extrapolation of order four
    second: Array  # (2, n) the same in terms of the difference between two and four steps


def scratch_between(n: int) -> Between:
    """Allocate the scratch."""
    return Between(np.zeros((3, n, 6)), *np.zeros((3, n)), *np.zeros((2, 2, n)))


class Judged(NamedTuple):
    """What is known of every step of a call."""

    h: Array  # (k,) [s]
    growth: Array  # (k, 2, n) error of positions and rates since the start of the run
    tried: Array  # (tries, 4) what was left [s], h [s], error in terms of what the tolerance allows, 1 for a step taken


# ---- one step -------------------------------------------------------------------------------------------------------


@coarse_inner_kernel
def take_part(tables, lu, work, settings, h, weight, old, u0, new, u1, guessed, ws, own, between, stats):
    """Take one midpoint step; returns how it ended.

    ``guessed``: its increment begins at between.guess, and accelerations at its end are not needed.
    """
    evaluate_boundary(tables, old.z, old.R0, u0, ws)
    mass_times(tables.dofs, old.zd, ws, own.p0)
    begin_history(h, old, settings, own)
    if guessed:
        for i in range(len(own.y)):
            own.guess[i] = between.guess[i]
    begin(tables.dofs, h, old, u0, u1, ws, own)
    stats[ITERATIONS_TO_TOLERANCE] = 0.0
    ending, stands = correct(tables, lu, work, settings, h, weight, False, old, u1, ws, own, stats)
    if not accepted(ending):
        return ending
    finished = reach_end(tables, settings, h, stands, old, u1, new, ws, own, stats)
    if finished == CONVERGED:
        for i in range(len(own.y)):
            new.zd[i] = 4.0 / h * own.y[i] - old.zd[i]
            if not guessed:  # of the trapezoidal rule: near enough for most steps to need one round
                new.zdd[i] = 2.0 / h * (new.zd[i] - old.zd[i]) - old.zdd[i]
        for row in range(len(weight)):
            own.row[row] = 2.0 / h * own.impulse[row]
        finished = complete(tables, lu, work, settings, h, weight, u1, new, not guessed, ws, own, stats)
    return ending if finished == CONVERGED else finished


@inner_kernel
def take_runs(tables, lu, work, settings, h, weight, old, u0, inputs, rows, ws, own, between, stats):
    """Take the step as four midpoint steps, as two and as one; between.momenta are those where these runs end."""
    worst = CONVERGED
    for run in range(FINE, -1, -1):
        parts = 1 << run
        before, u = old, u0
        for i in range(parts):
            new, end = state_in_row(rows, FIRST_ROW[run] + i), inputs[(i + 1) * (4 // parts) - 1]
            if run < FINE:
                guess(tables.dofs, run, i, before, rows, between)
            ending = take_part(
                tables, lu, work, settings, h / parts, weight, before, u, new, end, run < FINE, ws, own, between, stats
            )
            if not accepted(ending):
                return ending
            worst = ending if ending != CONVERGED else worst
            before, u = new, end
        mass_times(tables.dofs, before.zd, ws, own.start)
        for j in range(len(own.start)):
            store6(between.momenta[run], j, load6(ws.Fc, j))
    return worst


@inner_kernel
def guess(dofs, run, i, old, rows, between):
    """between.guess of midpoint step ``i`` of the runs of two and of one: half of the way that finer runs went.

    x_1 is x_4 + 5 (x_2 - x_4) but for terms of the fifth order. ``old.lam`` of a run without accelerations is that of
    the finest one.
    """
    four = state_in_row(rows, FOUR + 1 + 2 * i if run == 1 else FOUR + 3)
    two = state_in_row(rows, TWO + 1)
    turns_from(dofs, old.R0, four.R0, between.turn)
    if run == 0:
        turns_from(dofs, old.R0, two.R0, between.other)
    for k in range(len(old.z)):
        rotation = is_rotation(dofs, k)
        way = between.turn[k] if rotation else four.z[k] - old.z[k]
        if run == 0:
            way += 5.0 * ((between.other[k] if rotation else two.z[k] - old.z[k]) - way)
        between.guess[k] = 0.5 * way
    if run == 1 and i == 0:  # the second step begins with the multipliers and accelerations of the finest run
        middle, coarse = state_in_row(rows, FOUR + 1), state_in_row(rows, TWO)
        for k in range(len(middle.zdd)):
            coarse.zdd[k] = middle.zdd[k]
        for row in range(len(middle.lam)):
            coarse.lam[row] = middle.lam[row]


@inner_kernel
def turns_from(dofs, R, after, turn):
    """turn (n,) of rotation dofs: that from the rotations ``R`` to ``after``, along the axes of the dofs."""
    for i in range(len(dofs.kind)):
        q = dofs.reference[i]
        if q >= 0:
            A, B = R[q], after[q]
            columns = (
                turned_column(A, B, 0),
                turned_column(A, B, 1),
                turned_column(A, B, 2),
            )
            d = logarithm(columns)
            for k in range(3):
                turn[i + k] = dot3(load3(dofs.axis, i + k), d)


@inner_kernel
def turned_column(A, B, j):
    """Return column ``j`` of A^T B."""
    b = (B[0, j], B[1, j], B[2, j])
    return (
        A[0, 0] * b[0] + A[1, 0] * b[1] + A[2, 0] * b[2],
        A[0, 1] * b[0] + A[1, 1] * b[1] + A[2, 1] * b[2],
        A[0, 2] * b[0] + A[1, 2] * b[1] + A[2, 2] * b[2],
    )


@inner_kernel
def extrapolate(tables, one, two, four, new, between):
    """New positions, rates and force states of order six, without the loops, and between.error."""
    dofs = tables.dofs
    turns_from(dofs, four.R0, one.R0, between.turn)
    turns_from(dofs, four.R0, two.R0, between.other)
    copy_rotations(four.R0, new.R0)
    for i in range(len(new.z)):
        a, b = between.turn[i], between.other[i]
        if not is_rotation(dofs, i):
            a, b = one.z[i] - four.z[i], two.z[i] - four.z[i]
        new.z[i] = (0.0 if is_rotation(dofs, i) else four.z[i]) + (SIXTH * a - MIDDLE * b)
        between.error[0, i], between.second[0, i] = FOURTH * (a - 5.0 * b), 4.0 * FOURTH * b
        a, b = one.zd[i] - four.zd[i], two.zd[i] - four.zd[i]
        new.zd[i] = four.zd[i] + (SIXTH * a - MIDDLE * b)
        between.error[1, i], between.second[1, i] = FOURTH * (a - 5.0 * b), 4.0 * FOURTH * b
        new.zdd[i] = four.zdd[i]
    for i in range(len(new.s)):
        new.s[i] = four.s[i] + (SIXTH * (one.s[i] - four.s[i]) - MIDDLE * (two.s[i] - four.s[i]))
    commit_rotations(dofs, new.z, new.R0)


@inlined_kernel
def is_rotation(dofs, i):
    """True for a dof of a rotation on the group."""
    return dofs.reference[i] >= 0 or (i >= 1 and dofs.reference[i - 1] >= 0) or (i >= 2 and dofs.reference[i - 2] >= 0)


@inner_kernel
def close_loops(tables, lu, work, settings, weight, u, new, ws, own, stats):
    """Move new.z to the loops, by the least change in the metric of M; leaves the factor and the passes there."""
    before, moved = np.inf, FAR_FROM_FACTOR
    for _ in range(ROUNDS):
        evaluate_boundary(tables, new.z, new.R0, u, ws)
        left = relative_violation(ws.Phi, settings.scale)
        if moved >= FAR_FROM_FACTOR:
            if factor_end(tables, lu, work, weight, ws, own, stats) != 0:
                return SMALL_PIVOT
            moved = 0.0
        if not left > SMALL_ERROR or left > PROGRESS * before:
            break
        before = left
        for row in range(len(weight)):
            own.row[row] = own.stiff[row] * ws.Phi[row]
        for i in range(len(ws.dz)):
            ws.dz[i] = 0.0
        pull_back(tables, ws, own.row, -1.0, ws.dz)
        solve(lu, work.factored, work, ws.dz)
        for i in range(len(ws.dz)):
            new.z[i] += ws.dz[i]
        moved += largest_rate(ws.dz, settings.typical)
        commit_rotations(tables.dofs, new.z, new.R0)
    note_violation(ws.Phi, settings, stats, POSITION_VIOLATION)
    return CONVERGED if relative_violation(ws.Phi, settings.scale) <= settings.loop_tolerance else LOOP_OPEN


@inner_kernel
def combine(tables, lu, work, settings, h, weight, u, rows, new, ws, own, between, stats):
    """Fill ``new`` from the ends of the three runs; returns how that ended.

    Momenta are extrapolated as wrenches about the common origin, those of all that moves behind each dof. Sums that no
    force changes are the same in all runs, so they stay.
    """
    one, two, four = state_in_row(rows, ONE), state_in_row(rows, TWO + 1), state_in_row(rows, FOUR + 3)
    extrapolate(tables, one, two, four, new, between)
    ending = close_loops(tables, lu, work, settings, weight, u, new, ws, own, stats)
    if ending != CONVERGED:
        return ending
    for i in range(len(new.z)):
        fine = load6(between.momenta[FINE], i)
        a = add6(load6(between.momenta[0], i), scale6(-1.0, fine))
        b = add6(load6(between.momenta[1], i), scale6(-1.0, fine))
        P = add6(fine, add6(scale6(SIXTH, a), scale6(-MIDDLE, b)))
        own.p1[i] = dot6(load6(ws.S, i), P)
    for row in range(len(weight)):
        own.row[row] = 0.0
    settled = set_rates(tables, lu, work, settings, h, own.stiff, u, new, ws, own, stats)
    settled = set_accelerations(tables, lu, work, settings, h, own.stiff, u, new, ws, own, stats) and settled
    numbers = in_range(new.z) and in_range(new.zd) and in_range(new.zdd) and in_range(new.lam)
    if not (numbers and in_range(new.s) and in_range(new.sd)):
        return NOT_FINITE
    return CONVERGED if settled else NOT_CONVERGED


# ---- error of a step, and how errors of earlier steps have grown ----------------------------------------------------


@inner_kernel
def judge(tables, settings, h, control, new, ws, between):
    """Return the error of a step in terms of what it may be; above 1 it is refused.

    A step that turns something by more than LARGEST_TURN may miss what repeats with every turn.
    """
    n = len(new.z)
    fastest, steepest = 0.0, 0.0
    for i in range(n):
        fastest = max(fastest, abs(new.zd[i]) / settings.typical[i])
        steepest = max(steepest, abs(new.zdd[i]) / settings.typical[i])
    control[FASTEST], control[STEEPEST] = max(control[FASTEST], fastest), max(control[STEEPEST], steepest)
    error = step_error(between.error, between.second, error_time(control), settings.typical)
    forward_velocities(tables.dofs, new.zd, ws)
    for i in range(n):
        turning = (ws.V[i, 3], ws.V[i, 4], ws.V[i, 5])
        fastest = max(fastest, np.sqrt(dot3(turning, turning)))
    return max(error / (h * control[ALLOWED]), (h * fastest / LARGEST_TURN) ** POWER)


@inner_kernel
def grow(tables, lu, work, settings, h, weight, old, u0, end, control, rows, last, growth, ws, own, between, stats):
    """growth (2, n) = the error after a step: that of before, moved as a neighbour of the motion moves, and its own.

    ``last`` (2, n) is that of before. The neighbour is a midpoint step from a perturbed start.
    """
    typical, n = settings.typical, len(own.y)
    size = 0.0
    for i in range(n):
        size = max(size, abs(last[0, i]) / typical[i], h * abs(last[1, i]) / typical[i])
    for i in range(n):
        growth[0, i], growth[1, i] = last[0, i] + h * last[1, i], last[1, i]
    if size > 0.0:
        start, moved, one = state_in_row(rows, PERTURBED), state_in_row(rows, MOVED), state_in_row(rows, ONE)
        scale = SMALL_TURN / size
        copy_rotations(old.R0, start.R0)
        for i in range(n):
            start.z[i], start.zd[i] = old.z[i] + scale * last[0, i], old.zd[i] + scale * last[1, i]
            start.zdd[i] = old.zdd[i]
        for row in range(len(old.lam)):
            start.lam[row] = old.lam[row]
        for i in range(len(old.s)):
            start.s[i], start.sd[i] = old.s[i], old.sd[i]
        commit_rotations(tables.dofs, start.z, start.R0)
        turns_from(tables.dofs, old.R0, one.R0, between.turn)
        for i in range(n):
            way = between.turn[i] if is_rotation(tables.dofs, i) else one.z[i] - old.z[i]
            between.guess[i] = 0.5 * (way + h * scale * last[1, i])
        if accepted(
            take_part(tables, lu, work, settings, h, weight, start, u0, moved, end, True, ws, own, between, stats)
        ):
            turns_from(tables.dofs, one.R0, moved.R0, between.turn)
            for i in range(n):
                apart = between.turn[i] if is_rotation(tables.dofs, i) else moved.z[i] - one.z[i]
                growth[0, i], growth[1, i] = apart / scale, (moved.zd[i] - one.zd[i]) / scale
    for i in range(n):
        growth[0, i] += between.error[0, i]
        growth[1, i] += between.error[1, i]


# ---- many steps -----------------------------------------------------------------------------------------------------


@kernel
def march_extrapolated(
    tables, lu, work, settings, weight, old, u0, chunk, inputs, rows, control, first, judged, ws, own, between, budget
):
    """Take steps, a row each, the first from ``old`` with inputs ``u0``, until one is refused or fails.

    ``inputs`` (4 k, nu) are those at the ends of all quarters. ``first`` (2, n) is the error that the run has so far.
    Returns (how the last one ended, steps taken). Where ``control`` says so steps adapt, and refused ones are tried
    smaller.
    """
    begun, before, u, last, ending = ticks(), old, u0, first, CONVERGED
    if not startable(old, weight):
        start_stats(chunk.stats[0])
        return NOT_FINITE, 0
    k = 0
    for number in range(len(judged.tried)):
        new, stats, quarters = state_in_row(chunk, k), chunk.stats[k], inputs[4 * k : 4 * k + 4]
        start_stats(stats)
        h = landing(control)
        control[TRIED] = number + 1.0
        note_try(judged.tried[number], control, h, np.nan, 0.0)
        ending = take_runs(tables, lu, work, settings, h, weight, before, u, quarters, rows, ws, own, between, stats)
        if accepted(ending):
            end = quarters[3]
            combined = combine(tables, lu, work, settings, h, weight, end, rows, new, ws, own, between, stats)
            if ending == UNFINISHED:  # the stats are those of the last part
                stats[ITERATIONS_TO_TOLERANCE] = 0.0
            ending = ending if combined == CONVERGED else combined
        if not accepted(ending):
            return ending, k
        error = judge(tables, settings, h, control, new, ws, between)
        note_try(judged.tried[number], control, h, error, 1.0 if error <= 1.0 else 0.0)
        if not error <= 1.0:
            control[REFUSALS] += 1.0
            if control[ADAPTS] == 0.0 or control[REFUSALS] >= control[PATIENCE]:
                return REFUSED, k
            control[STEP] = h * min(next_factor(error), AFTER_REFUSAL)
            continue
        growth = judged.growth[k]
        grow(
            tables, lu, work, settings, h, weight, before, u, end, control, rows, last, growth, ws, own, between, stats
        )
        judged.h[k], control[LEFT], control[REFUSALS] = h, control[LEFT] - h, 0.0
        if control[ADAPTS] > 0.0:
            control[STEP] = min(h * next_factor(error), control[LONGEST])
        k += 1
        if k == len(chunk.stats) or not control[LEFT] > LANDED * h or ticks() - begun > budget:
            return ending, k
        before, u, last = new, end, growth
    return ending, k


@inner_kernel
def note_try(row, control, h, error, taken):
    """row (4,) = what was left before a step [s], the step [s], its error, and whether it was taken."""
    row[0], row[1], row[2], row[3] = control[LEFT], h, error, taken

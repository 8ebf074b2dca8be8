"""The TR-BDF2 step, fused into one kernel; ``integrators/trbdf2.py`` has it in plain Python.

Both stages are trapezoidal steps of gamma h, ``settings.h``: the first from the state, the second from a past that its
history stands for (METHODS 7.2). A contract test holds the two forms together. A step that this kernel does not finish
well is left to the readable one.
"""

from typing import Any, NamedTuple

from numpy import zeros

from rtmbs.integrators.newton import (
    FOUND,
    GAMMA,
    NEWER,
    OLDER,
    STIFFER,
    ahead_of_stage,
    ahead_of_step,
    slack,
    starts_stiffly,
)
from rtmbs.integrators.settings import (
    FACTORISATIONS,
    FIRST_CORRECTION,
    FORCES,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    LEFT,
    NEAR_SINGULAR,
    OPEN,
    POSITION_VIOLATION,
    PROJECTION_TICKS,
    VELOCITY_VIOLATION,
    StateArrays,
)
from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inlined_kernel, inner_kernel, kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.jit.struct import struct
from rtmbs.semirecursive.closures import evaluate_closures
from rtmbs.semirecursive.contact_sets import evaluate_sets
from rtmbs.semirecursive.force_kernels import end_states, evaluate_laws
from rtmbs.semirecursive.law_states import keep_states
from rtmbs.semirecursive.machine_code import (
    CONVERGED,
    LOOP_OPEN,
    NEAR,
    NOT_CONVERGED,
    NOT_FINITE,
    SMALL_PIVOT,
    UNBALANCED,
    UNFINISHED,
    accepted,
)
from rtmbs.semirecursive.midpoint_step import set_accelerations
from rtmbs.semirecursive.momenta import assemble_end, evaluate_boundary
from rtmbs.semirecursive.passes import commit_rotations, forward_positions, forward_velocities
from rtmbs.semirecursive.projection_kernels import (
    NO_FACTOR,
    factor_copy,
    factor_mass_metric,
    in_range,
    note_violation,
    project_velocities,
    relative_violation,
    yielding_error,
)
from rtmbs.semirecursive.step import (
    copy_rotations,
    correct,
    fastest,
    set_iterate,
    start_stats,
    startable,
    state_in_row,
)
from rtmbs.semirecursive.touch_begin import begin_bristles, begin_pairs

Array = Any


@struct
class StageScratch(NamedTuple):
    """What the two stages hand on."""

    u: Array  # (nu,) inputs at the end of the first stage
    right: Array  # (n,) rates that the second stage adds beta h zdd to
    past_zd: Array  # (n,) rates of the past of the second stage
    past_zdd: Array  # (n,) accelerations of it
    past_s: Array  # (ns,) states of force laws of it
    still: Array  # (ns,) their rates: zeros


def stage_scratch(inputs: int, n: int, states: int) -> StageScratch:
    """Allocate the scratch."""
    return StageScratch(*(zeros(size) for size in (inputs, n, n, n, states, states)))


@kernel
def interpolate_inputs(tables, h, share, start, end, out):
    """out = the inputs at ``share`` of a step of ``h``: linear, but cubic where value and rate of a motion are given.

    Linear values have the mean of the trapezoidal rule, so that jumps inside a step are told by their mean. A value
    that loops follow needs errors of the third order: the rates of the first stage take its error over h.
    """
    for k in range(len(out)):
        out[k] = start[k] + share * (end[k] - start[k])
    for k in range(len(tables.drivers.slot)):
        interpolate_motion(tables.drivers.slot[k], h, share, start, end, out)
    for row in range(len(tables.closures.slot)):
        if tables.closures.slot[row] >= 0:
            interpolate_motion(tables.closures.slot[row], h, share, start, end, out)


@inlined_kernel
def interpolate_motion(slot, h, x, start, end, out):
    """Value and rate at ``slot`` by the cubic polynomial of values and rates at both ends (Hermite)."""
    f0, f1, v0, v1 = start[slot], end[slot], h * start[slot + 1], h * end[slot + 1]
    curve, bend = 3.0 * (f1 - f0) - 2.0 * v0 - v1, v0 + v1 - 2.0 * (f1 - f0)
    out[slot] = f0 + x * (v0 + x * (curve + x * bend))
    out[slot + 1] = (v0 + x * (2.0 * curve + 3.0 * x * bend)) / h


@inner_kernel
def first_stage(tables, lu, work, settings, alpha, old, ws, stage, stats):
    """The trapezoidal rule over gamma h; returns how Newton's iteration ended."""
    for i in range(len(ws.z)):
        ws.increment[i] = ahead_of_step(settings.h, old.zd[i], old.zdd[i], settings.typical[i])
    return correct(tables, lu, work, settings, alpha, stage.u, old, ws, stats, stage.u, stage.u, False)


@inner_kernel
def second_stage(tables, lu, work, settings, alpha, u, old, ws, stage, stats):
    """The backward differentiation formula through both ends of the first stage; returns how the iteration ended."""
    half = 0.5 * settings.h
    set_iterate(settings.h, old, ws)
    if len(ws.s) > 0:
        forward_positions(tables, old.R0, ws.z, ws)
        forward_velocities(tables.dofs, ws.zd, ws)
        if len(tables.sets.dof) > 0:
            evaluate_sets(tables, stage.u, ws)
        if len(ws.law_output) > 0:
            evaluate_laws(tables, ws.z, ws.zd, stage.u, ws)
    for i in range(len(ws.z)):
        stage.right[i] = NEWER * ws.zd[i] - OLDER * old.zd[i]
        stage.past_zd[i] = NEWER * ws.increment[i] / half
        stage.past_zdd[i] = (stage.right[i] - stage.past_zd[i]) / half
        ws.increment[i] = half * stage.past_zd[i] + half * ahead_of_stage(
            half, stage.right[i], old.zdd[i], ws.zdd[i], settings.typical[i]
        )
    for i in range(len(ws.s)):
        stage.past_s[i] = NEWER * ws.s[i] - OLDER * old.s[i]
    stats[ITERATIONS_TO_TOLERANCE], stats[ITERATIONS] = 0.0, 0.0
    for place in range(FIRST_CORRECTION, len(stats)):
        stats[place] = 0.0
    return correct(tables, lu, work, settings, alpha, u, past(old, stage), ws, stats, u, u, False)


@inlined_kernel
def past(old, stage):
    """Return the State from which a trapezoidal step of gamma h is the second stage."""
    return StateArrays(old.z, stage.past_zd, stage.past_zdd, old.lam, old.R0, old.energy, stage.past_s, stage.still)


@inner_kernel
def close_step(tables, lu, work, settings, alpha, u, old, new, ws, stage, stats):
    """new.z and new.zd at the end of the second stage, its rates projected; CONVERGED, or why they are not taken."""
    before = past(old, stage)
    set_iterate(settings.h, before, ws)
    for i in range(len(ws.z)):
        new.z[i], new.zd[i] = ws.z[i], ws.zd[i]
    for row in range(len(alpha)):
        new.lam[row] = 0.0
    forward_positions(tables, old.R0, new.z, ws)
    evaluate_closures(tables, new.z, u, ws)
    note_violation(ws.Phi, settings, stats, POSITION_VIOLATION)
    stats[OPEN] = relative_violation(ws.Phi, settings.scale)
    if not stats[OPEN] <= settings.loop_tolerance:
        return LOOP_OPEN
    if project_velocities(tables, lu, work, settings, alpha, u, old, new, ws, stats) == NO_FACTOR:
        return SMALL_PIVOT
    note_violation(ws.Phid, settings, stats, VELOCITY_VIOLATION)
    forward_velocities(tables.dofs, new.zd, ws)
    if len(new.s) > 0:
        end_states(tables, new.z, new.zd, u, ws)
        keep_states(new, ws)
        if ws.begin_input.shape[1] > 0:
            begin_bristles(tables, settings.h / GAMMA, old, new, u, ws)
        if len(tables.sets.dof) > 0:
            begin_pairs(tables, settings.h / GAMMA, old, new, u, ws)
    for i in range(len(ws.z)):
        new.zdd[i] = 2.0 / settings.h * (new.zd[i] - stage.right[i])
    copy_rotations(old.R0, new.R0)
    commit_rotations(tables.dofs, new.z, new.R0)
    return CONVERGED


@inner_kernel
def finish_step(tables, lu, work, settings, alpha, weight, u, old, new, ws, own, stage, stats):
    """Fill ``new``: rates that loops allow, then accelerations and multipliers that satisfy the equations of motion."""
    start = ticks()
    closed = close_step(tables, lu, work, settings, alpha, u, old, new, ws, stage, stats)
    if closed != CONVERGED:
        return closed
    evaluate_boundary(tables, new.z, new.R0, u, ws)
    for row in range(len(weight)):
        own.stiff[row] = STIFFER * weight[row]
    assemble_end(tables, own.stiff, ws, own.own_mass, work.original)
    stats[FACTORISATIONS] += 1
    if factor_copy(lu, work) != 0:
        return SMALL_PIVOT
    settled = set_accelerations(tables, lu, work, settings, settings.h, own.stiff, u, new, ws, own, stats)
    stats[PROJECTION_TICKS] += ticks() - start
    numbers = in_range(new.z) and in_range(new.zd) and in_range(new.zdd) and in_range(new.lam)
    if not (numbers and in_range(new.s) and in_range(new.sd)):
        return NOT_FINITE
    if not settled:
        return NOT_CONVERGED
    if stats[NEAR_SINGULAR] > 0.0 or not slack(settings, stats):
        return CONVERGED
    return look_at_yielding(tables, lu, work, settings, alpha, u, new, ws, stats)


@coarse_inner_kernel
def look_at_yielding(tables, lu, work, settings, alpha, u, new, ws, stats):
    """UNBALANCED in place of CONVERGED where loops yield so far that multipliers miss their bound (METHODS 1.12)."""
    evaluate_boundary(tables, new.z, new.R0, u, ws)
    if factor_mass_metric(tables, lu, work, alpha, 0.25 * settings.h * settings.h, ws, stats) != 0:
        return SMALL_PIVOT
    found = yielding_error(tables, lu, work, settings, alpha, u, new, fastest(settings, new), ws, stats)
    if found == NO_FACTOR:
        return SMALL_PIVOT
    if found <= FOUND:
        return CONVERGED
    stats[LEFT] = FORCES
    return UNBALANCED if found > FOUND else NOT_FINITE


@coarse_kernel
def march_trbdf2(tables, lu, work, settings, alpha, weight, old, u0, chunk, ws, own, stage, anyhow, budget):
    """Take a step for every row, the first from ``old`` with inputs ``u0``, the next from the row before it.

    Returns (how the last step ended, accepted steps): it stops after a step that fails, and when ``budget`` ticks are
    over. It stops before a step that starts stiffly as well, unless ``anyhow``: that one is taken in graded parts.
    """
    begun, before, inputs, ending = ticks(), old, u0, CONVERGED
    if not startable(old, alpha):
        start_stats(chunk.stats[0])
        return NOT_FINITE, 0
    for k in range(len(chunk.stats)):
        new, u, stats = state_in_row(chunk, k), chunk.u[k], chunk.stats[k]
        start_stats(stats)
        if not anyhow and starts_stiffly(settings.h, before.zd, before.zdd, settings.typical):
            return NOT_CONVERGED, k
        interpolate_inputs(tables, settings.h / GAMMA, GAMMA, inputs, u, stage.u)
        first = first_stage(tables, lu, work, settings, alpha, before, ws, stage, stats)
        ending = first
        if accepted(first):
            ending = second_stage(tables, lu, work, settings, alpha, u, before, ws, stage, stats)
        if accepted(ending):
            finished = finish_step(tables, lu, work, settings, alpha, weight, u, before, new, ws, own, stage, stats)
            if finished not in (CONVERGED, UNBALANCED):
                ending = finished
            elif stats[NEAR_SINGULAR] > 0.0 and ending == CONVERGED:
                ending = NEAR
            elif first == UNFINISHED:
                ending = first
            elif ending == CONVERGED:
                ending = finished
        if not accepted(ending):
            return ending, k
        if ticks() - begun > budget:
            return ending, k + 1
        before, inputs = new, u
    return ending, len(chunk.stats)

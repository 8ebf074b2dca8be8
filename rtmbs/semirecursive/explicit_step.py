"""Explicit steps of trees, fused into one kernel; ``integrators/explicit.py`` has them in plain Python (METHODS 8).

Accelerations are M^-1 (Q - bias): one pass for the frames, composite inertias and a factor of M at a position, then one
pass for the bias forces at rates. A velocity Verlet step evaluates positions once, and its rates twice. Contract tests
hold this form and the readable one together. What this kernel does not finish is left to the readable step.
"""

from typing import Any, NamedTuple

from numpy import zeros

from rtmbs.integrators.settings import EVALUATIONS, FACTORISATIONS, RUNGE_KUTTA, VERLET
from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inner_kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.jit.struct import struct
from rtmbs.numerics.linear.sparse_lu import factor, solve
from rtmbs.semirecursive.force_kernels import apply_forces
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.machine_code import CONVERGED, NOT_FINITE, SMALL_PIVOT
from rtmbs.semirecursive.momenta import assemble_end, undo_jacobian
from rtmbs.semirecursive.passes import (
    commit_rotations,
    forward_accelerations,
    forward_positions,
    forward_velocities,
    inverse_dynamics,
    place_inertias,
)
from rtmbs.semirecursive.projection_kernels import in_range
from rtmbs.semirecursive.step import copy_rotations, start_stats, startable, state_in_row

Array = Any

PLACED = -1.0  # in ``work.step``: frames, inertias and the factor of M are those of the end of the last step


@struct
class ExplicitScratch(NamedTuple):
    """What an explicit step needs besides the Workspace."""

    z: Array  # (n,) of a stage
    zd: Array  # (n,)
    s: Array  # (ns,)
    rate: Array  # (stages, n) dz/dt of each stage
    zdd: Array  # (stages, n)
    sd: Array  # (stages, ns)
    own_mass: Array  # (n,) diagonal of M
    no_loops: Array  # (0,)


def explicit_scratch(n: int, states: int, stages: int) -> ExplicitScratch:
    """Allocate the scratch."""
    shapes = (n,), (n,), (states,), (stages, n), (stages, n), (stages, states), (n,), (0,)
    return ExplicitScratch(*(zeros(shape) for shape in shapes))


@coarse_inner_kernel
def place_tree(tables, lu, work, z, R0, ws, own):
    """Frames, inertias and the factor of M at the coordinates ``z``; not 0 when M has no factor."""
    for i in range(len(ws.z)):
        ws.z[i] = z[i]
    forward_positions(tables, R0, ws.z, ws)
    place_inertias(tables.dofs, ws)
    assemble_end(tables, own.no_loops, ws, own.own_mass, work.factored)
    return factor(lu, work.factored, work)


@coarse_inner_kernel
def accelerate(tables, lu, work, zd, s, u, ws, zdd, sd):
    """zdd = M^-1 (Q - bias) and sd at the rates ``zd`` and force states ``s``, where the tree was placed."""
    for i in range(len(ws.zd)):
        ws.zd[i], ws.zdd[i] = zd[i], 0.0
    hold_states(s, ws)
    forward_velocities(tables.dofs, ws.zd, ws)
    forward_accelerations(tables.dofs, ws.zd, ws.zdd, u, ws)
    inverse_dynamics(tables.dofs, ws)
    apply_forces(tables, ws.z, ws.zd, u, ws)
    for i in range(len(zdd)):
        zdd[i] = -ws.tau[i]
    solve(lu, work.factored, work, zdd)
    for i in range(len(sd)):
        sd[i] = ws.state_rate[i]


@coarse_kernel
def follow_tree(tables, lu, work, state, u, ws, own):
    """Let state.zdd and state.sd be those of the inputs ``u``; False, both as they were, where there are none.

    The factor of M serves where the last step ended at this state.
    """
    if work.step[0] != PLACED and place_tree(tables, lu, work, state.z, state.R0, ws, own) != 0:
        return False
    accelerate(tables, lu, work, state.zd, state.s, u, ws, own.zdd[0], own.sd[0])
    work.step[0] = PLACED
    if not (in_range(own.zdd[0]) and in_range(own.sd[0])):
        return False
    for i in range(len(state.zdd)):
        state.zdd[i] = own.zdd[0, i]
    for i in range(len(state.sd)):
        state.sd[i] = own.sd[0, i]
    return True


@coarse_inner_kernel
def runge_kutta(tables, lu, work, h, rule, old, u, new, ws, own, stats):
    """new.z, new.zd and new.s by the stages of a table; not 0 when M of a stage has no factor."""
    stages, n = len(rule.b), len(old.z)
    for i in range(n):
        own.rate[0, i], own.zdd[0, i] = old.zd[i], old.zdd[i]
    for i in range(len(old.s)):
        own.sd[0, i] = old.sd[i]
    for stage in range(1, stages):
        for i in range(n):
            z, zd = 0.0, 0.0
            for j in range(stage):
                z += rule.a[stage, j] * own.rate[j, i]
                zd += rule.a[stage, j] * own.zdd[j, i]
            own.z[i], own.zd[i] = old.z[i] + h * z, old.zd[i] + h * zd
            own.rate[stage, i] = own.zd[i]
        for i in range(len(old.s)):
            sd = 0.0
            for j in range(stage):
                sd += rule.a[stage, j] * own.sd[j, i]
            own.s[i] = old.s[i] + h * sd
        undo_jacobian(tables.dofs, own.z, own.rate[stage])
        if place_tree(tables, lu, work, own.z, old.R0, ws, own) != 0:
            return 1
        accelerate(tables, lu, work, own.zd, own.s, u, ws, own.zdd[stage], own.sd[stage])
    for i in range(n):
        z, zd = 0.0, 0.0
        for j in range(stages):
            z += rule.b[j] * own.rate[j, i]
            zd += rule.b[j] * own.zdd[j, i]
        new.z[i], new.zd[i] = old.z[i] + h * z, old.zd[i] + h * zd
    for i in range(len(old.s)):
        sd = 0.0
        for j in range(stages):
            sd += rule.b[j] * own.sd[j, i]
        new.s[i] = old.s[i] + h * sd
    stats[EVALUATIONS] += stages - 1
    stats[FACTORISATIONS] += stages - 1
    return 0


@inner_kernel
def predict_end(h, kind, old, new):
    """new.z, and the rates and force states that the end of a Verlet or Euler step is evaluated at."""
    for i in range(len(new.z)):
        new.zd[i] = old.zd[i] + h * old.zdd[i]
        mean = old.zd[i] + 0.5 * h * old.zdd[i] if kind == VERLET else new.zd[i]
        new.z[i] = old.z[i] + h * mean
    for i in range(len(new.s)):
        new.s[i] = old.s[i] + h * old.sd[i]


@inner_kernel
def average_ends(h, old, new, own):
    """Rates and force states of a Verlet step, by the mean of the accelerations at both ends."""
    for i in range(len(new.z)):
        new.zd[i] = old.zd[i] + 0.5 * h * (old.zdd[i] + own.zdd[0, i])
    for i in range(len(new.s)):
        new.s[i] = old.s[i] + 0.5 * h * (old.sd[i] + own.sd[0, i])


@coarse_kernel
def step_tree(tables, lu, work, h, rule, old, u, new, ws, own, stats, ends):
    """Take a step from ``old`` to ``new`` with the inputs ``u``; returns how it ended.

    Accelerations at the end, and rates of force states, are left out unless ``ends``.
    """
    kind = rule.kind[0]
    if kind == RUNGE_KUTTA:
        if runge_kutta(tables, lu, work, h, rule, old, u, new, ws, own, stats) != 0:
            return SMALL_PIVOT
    else:
        predict_end(h, kind, old, new)
    copy_rotations(old.R0, new.R0)
    commit_rotations(tables.dofs, new.z, new.R0)
    if not (in_range(new.z) and in_range(new.zd)):
        return NOT_FINITE
    if place_tree(tables, lu, work, new.z, new.R0, ws, own) != 0:
        return SMALL_PIVOT
    stats[FACTORISATIONS] += 1
    if kind == VERLET:
        accelerate(tables, lu, work, new.zd, new.s, u, ws, own.zdd[0], own.sd[0])
        average_ends(h, old, new, own)
        stats[EVALUATIONS] += 1
    if ends:
        accelerate(tables, lu, work, new.zd, new.s, u, ws, new.zdd, new.sd)
        stats[EVALUATIONS] += 1
    work.step[0] = PLACED
    numbers = in_range(new.zd) and in_range(new.s)
    if ends:
        numbers = numbers and in_range(new.zdd) and in_range(new.sd)
    return CONVERGED if numbers else NOT_FINITE


@coarse_kernel
def march_tree(tables, lu, work, settings, rule, old, chunk, ws, own, budget):
    """Take a step for every row, the first from ``old``, the next from the row before it.

    Returns (how the last step ended, accepted steps): it stops after a step that fails, and when ``budget`` ticks are
    over.
    """
    begun, before, ending = ticks(), old, CONVERGED
    if not startable(old, own.no_loops):
        start_stats(chunk.stats[0])
        return NOT_FINITE, 0
    for k in range(len(chunk.stats)):
        new, stats = state_in_row(chunk, k), chunk.stats[k]
        start_stats(stats)
        ending = step_tree(tables, lu, work, settings.h, rule, before, chunk.u[k], new, ws, own, stats, True)
        work.step[0] = 0.0  # the next call may begin at another state
        if ending != CONVERGED:
            return ending, k
        if ticks() - begun > budget:
            return ending, k + 1
        before = new
    return ending, len(chunk.stats)

"""A fused variational midpoint step is completed: momentum, rates, accelerations and multipliers at its end."""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.integrators.newton import (
    acceleration_allowance,
    velocity_allowance,
)
from rtmbs.integrators.settings import (
    ACCELERATION_VIOLATION,
    FACTORISATIONS,
    POSITION_VIOLATION,
    PROJECTION_TICKS,
    PROJECTIONS,
    VELOCITY_VIOLATION,
)
from rtmbs.integrators.variational_rounds import (
    ENOUGH,
    ENOUGH_OF_FORCES,
    INNER,
    MISSED,
    PROGRESS,
    ROUNDS,
    STIFFER,
)
from rtmbs.jit.compiled import inlined_kernel, inner_kernel
from rtmbs.jit.intrinsics import ticks
from rtmbs.jit.struct import struct
from rtmbs.linear.sparse_lu import solve
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, pull_back, pull_back_through
from rtmbs.semirecursive.closures import closure_accelerations, closure_velocities, evaluate_closures
from rtmbs.semirecursive.completion import copy_rotations
from rtmbs.semirecursive.endings import CONVERGED, LOOP_OPEN, NOT_CONVERGED, NOT_FINITE, SMALL_PIVOT
from rtmbs.semirecursive.force_kernels import apply_forces
from rtmbs.semirecursive.momenta import (
    evaluate_momenta,
    momenta_here,
    turn_back,
)
from rtmbs.semirecursive.momentum_tangent import assemble_end
from rtmbs.semirecursive.multipliers import factor_copy
from rtmbs.semirecursive.passes import (
    forward_accelerations,
    forward_positions,
    forward_velocities,
    inverse_dynamics,
)
from rtmbs.semirecursive.projection_kernels import in_range, largest_rate, note_violation, relative_violation
from rtmbs.semirecursive.rotations import commit_rotations

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
    none: Array  # (m,) zeros


def scratch_for(entries: int, inputs: int, n: int, m: int) -> Scratch:
    """Allocate the scratch."""
    shapes = (entries, entries, entries, inputs, n, n, n, n, n, m, m, m, m)
    return Scratch(*(np.zeros(shape) for shape in shapes))


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
def finish(tables, lu, work, settings, weight, old, u1, new, ws, own, stats):
    """Fill ``new``: the momentum at the end, the rates that it stands for, accelerations and multipliers.

    CONVERGED, or why the readable step is to be asked.
    """
    h, start = settings.h, ticks()
    evaluate_middle(tables, h, old, ws, own)  # anew: internal forces balance at their own pose only
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
    for row in range(len(weight)):
        own.stiff[row] = STIFFER * weight[row]
    assemble_end(tables, own.stiff, ws, work.original)
    stats[FACTORISATIONS] += 1
    if factor_copy(lu, work) != 0:
        return SMALL_PIVOT
    settled = set_rates(tables, lu, work, settings, own.stiff, u1, new, ws, own, stats)
    settled = set_accelerations(tables, lu, work, settings, own.stiff, u1, new, ws, own, stats) and settled
    commit_rotations(tables.dofs, new.z, new.R0)
    stats[PROJECTION_TICKS] += ticks() - start
    numbers = in_range(new.z) and in_range(new.zd) and in_range(new.zdd) and in_range(new.lam)
    if not (numbers and in_range(new.s) and in_range(new.sd)):
        return NOT_FINITE
    return CONVERGED if settled else NOT_CONVERGED


@inner_kernel
def goes_on(size, previous, enough):
    """True when another round of rates or accelerations would change them by more than ``enough``."""
    if not size > enough or size > PROGRESS * previous:
        return False
    return not (previous < np.inf and size * size <= enough * previous)


@inner_kernel
def set_rates(tables, lu, work, settings, weight, u, new, ws, own, stats):
    """new.zd with M zd = p1 - Phi_z^T impulse and Phid = 0; True when the loops hold it to their bound."""
    previous = np.inf
    for row in range(len(weight)):
        own.row[row] = 2.0 / settings.h * own.impulse[row]
    for _ in range(ROUNDS):
        momenta_here(tables, new.zd, u, ws, own.p)
        closure_velocities(tables, new.zd, u, ws)
        for i in range(len(ws.z)):
            ws.residual[i] = own.p1[i] - own.p[i]
        size = rounds_of(tables, lu, work, settings, weight, new.zd, ws.Phid, own.row, ws)
        stats[PROJECTIONS] += 1
        if not goes_on(size, previous, ENOUGH * largest_rate(new.zd, settings.typical)):
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
        size = rounds_of(tables, lu, work, settings, weight, new.zdd, ws.Phidd, new.lam, ws)
        stats[PROJECTIONS] += 1
        if not goes_on(size, previous, ENOUGH_OF_FORCES * largest_rate(new.zdd, settings.typical)):
            break
        previous = size
    for i in range(len(new.sd)):
        new.sd[i] = ws.state_rate[i]
    note_violation(ws.Phidd, settings, stats, ACCELERATION_VIOLATION)
    rate, acceleration = largest_rate(new.zd, settings.typical), largest_rate(new.zdd, settings.typical)
    return relative_violation(ws.Phidd, settings.scale) <= acceleration_allowance(settings, rate, acceleration)


@inner_kernel
def rounds_of(tables, lu, work, settings, weight, rates, violation, multiplier, ws):
    """Correct rates and multipliers by what is left of both equations, ws.residual (less the pull of the multipliers)
    and ``violation``, which follows. Returns the change.

    The first round takes all of ws.residual away but for rounding, so INNER more take on what the loops still miss.
    """
    for row in range(len(weight)):
        ws.impulse[row] = multiplier[row] + weight[row] * violation[row]
    change = round_of(tables, lu, work, settings, weight, rates, violation, multiplier, ws)
    for _ in range(INNER):
        if relative_violation(violation, settings.scale) <= MISSED * largest_rate(rates, settings.typical):
            break
        for row in range(len(weight)):
            ws.impulse[row] = weight[row] * violation[row]
        for i in range(len(rates)):
            ws.residual[i] = 0.0
        round_of(tables, lu, work, settings, weight, rates, violation, multiplier, ws)
    return change


@inlined_kernel
def round_of(tables, lu, work, settings, weight, rates, violation, multiplier, ws):
    """One round by the factor of M + Phi_z^T weight Phi_z, ws.impulse what is to be pulled; returns the change."""
    for i in range(len(rates)):
        ws.dz[i] = ws.residual[i]
    pull_back(tables, ws, ws.impulse, -1.0, ws.dz)
    solve(lu, work.factored, work, ws.dz)
    apply_Phi_z(tables, ws, ws.dz, ws.impulse)
    for row in range(len(weight)):
        violation[row] += ws.impulse[row]
        multiplier[row] += weight[row] * violation[row]
    for i in range(len(rates)):
        rates[i] += ws.dz[i]
    return largest_rate(ws.dz, settings.typical)

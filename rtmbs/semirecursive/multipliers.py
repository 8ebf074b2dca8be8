"""Compiled multipliers of a step, and the check of their error against its bound (METHODS 1.12)."""

import numpy as np

from rtmbs.integrators.multiplier_bounds import (
    ENDLESS,
    ROUNDS,
    SUSPICIOUS,
    UNBALANCED,
    impulse_share,
    largest_imbalance,
    load_floors,
    may_yield,
    share_closed,
    share_of_floor,
    still_missing,
)
from rtmbs.integrators.settings import FACTORISATIONS, OPEN, REMAINS
from rtmbs.jit.compiled import coarse_kernel, inlined_kernel, inner_kernel, kernel
from rtmbs.numerics.linear.sparse_lu import factor, solve
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, apply_through, pull_back, pull_back_through
from rtmbs.semirecursive.closures import evaluate_closures
from rtmbs.semirecursive.evaluation import assemble_mass_metric, evaluate_residual
from rtmbs.semirecursive.passes import forward_positions

NO_FACTOR = -1.0


@kernel
def set_multipliers(tables, alpha, ws, lam):
    """lam = alpha (Phi + Phi_z dz) at the state last evaluated, dz the correction found there, Phi_z in the factor.

    That is what balances the forces in the last linear solve. alpha Phi at z_n + increment would be the same but for
    the rounding of Phi, which alpha makes large: 1e-3 N at 1 ms. So would be a Phi_z evaluated after an older factor.
    """
    apply_through(tables, ws.Phi_z_factored, ws.dz, ws.impulse)
    for row in range(len(alpha)):
        lam[row] = alpha[row] * (ws.Phi[row] + ws.impulse[row])


@inlined_kernel
def keep_Phi_z(ws):
    """Remember the Phi_z that is in the factor."""
    for entry in range(len(ws.Phi_z)):
        ws.Phi_z_factored[entry] = ws.Phi_z[entry]


@inlined_kernel
def factor_copy(lu, work):
    """Factor the assembled matrix, keeping the original for refinement."""
    for k in range(len(work.original)):
        work.factored[k] = work.original[k]
    return factor(lu, work.factored, work)


@coarse_kernel
def factor_mass_metric(tables, lu, work, alpha, weight, ws, stats):
    """Factor M + weight Phi_z^T alpha Phi_z; not 0 when it has no factor."""
    assemble_mass_metric(tables, weight, alpha, ws, work.original)
    stats[FACTORISATIONS] += 1
    keep_Phi_z(ws)
    return factor_copy(lu, work)


@inner_kernel
def finite(values):
    """True when every entry is a number."""
    bad = 0
    for k in range(len(values)):
        bad += 0 if np.isfinite(values[k]) else 1
    return bad == 0


@coarse_kernel
def multiplier_error(tables, lu, work, settings, alpha, u, new, acceleration, ws, stats):
    """Return by how much of its floor a multiplier of the finished state ``new`` is off; for ``suspicious`` steps.

    0 when forces balance well enough to prove that none misses its bound, otherwise their errors are solved for. Not a
    number when a force is none, NO_FACTOR when M with the penalties has none. Takes the factor's place.
    """
    load_floors(settings, new.lam, acceleration, ws.floor)
    for i in range(len(ws.z)):
        ws.z[i], ws.zd[i], ws.zdd[i] = new.z[i], new.zd[i], new.zdd[i]
    for row in range(len(alpha)):
        ws.left[row] = ws.Phidd[row]
    evaluate_residual(tables, new.R0, u, alpha, ws)
    for i in range(len(ws.tau)):
        ws.residual[i] = ws.tau[i]
    pull_back(tables, ws, new.lam, 1.0, ws.residual)
    if not finite(ws.residual):
        return np.nan
    if stats[REMAINS] <= SUSPICIOUS * acceleration and harmless(tables, lu, work, settings, alpha, ws):
        return 0.0
    if factor_mass_metric(tables, lu, work, alpha, 0.25 * settings.h * settings.h, ws, stats) != 0:
        return NO_FACTOR
    return largest_miss(tables, lu, work, settings, alpha, ws)


@inner_kernel
def harmless(tables, lu, work, settings, alpha, ws):
    """True when the forces left over are small, and so are the multipliers that the last factor answers them with."""
    if not largest_imbalance(ws.residual, settings, ws.floor) <= UNBALANCED:
        return False
    for i in range(len(ws.dz)):
        ws.dz[i] = -ws.residual[i]
    solve(lu, work.factored, work, ws.dz)
    apply_through(tables, ws.Phi_z_factored, ws.dz, ws.impulse)
    return impulse_share(ws.impulse, settings, alpha, ws.floor) <= UNBALANCED


@kernel
def largest_miss(tables, lu, work, settings, alpha, ws):
    """Return the largest error of a multiplier in terms of its floor, by an augmented Lagrangian in the metric M.

    Of M da + Phi_z^T dlam = -residual, Phi_z da = -left, at the state evaluated last.
    """
    q4, before, last = 0.25 * settings.h * settings.h, ENDLESS, ENDLESS
    for row in range(len(alpha)):
        ws.lam_way[row] = 0.0
    for k in range(ROUNDS):
        for i in range(len(ws.dz)):
            ws.dz[i] = -ws.residual[i]
        if k > 0:
            pull_back(tables, ws, ws.lam_way, -1.0, ws.dz)
        solve(lu, work.factored, work, ws.dz)
        apply_Phi_z(tables, ws, ws.dz, ws.impulse)
        for row in range(len(alpha)):
            ws.impulse[row] += ws.left[row]
            ws.lam_way[row] += q4 * alpha[row] * ws.impulse[row]
        before, last = last, impulse_share(ws.impulse, settings, alpha, ws.floor)
    if not finite(ws.lam_way):
        return np.nan
    return share_of_floor(ws.lam_way, settings, ws.floor) + still_missing(last, before)


@inner_kernel
def largest_size(values, sizes):
    """Largest |value| / size; one that is not finite counts as ENDLESS."""
    top = 0.0
    for k in range(len(values)):
        size = abs(values[k]) / sizes[k]
        if not size <= top:
            top = size if np.isfinite(size) else ENDLESS
    return top


@inner_kernel
def closed_share(tables, lu, work, settings, alpha, ws, stats):
    """ws.dz = the motion that closes loops at the state evaluated last, by the last factor; returns the share it does.

    -1 when multipliers there are those of closed loops, as near as ``may_yield`` tells.
    """
    q4, gap = 0.25 * settings.h * settings.h, stats[OPEN]
    for row in range(len(alpha)):
        ws.impulse[row] = q4 * alpha[row] * ws.Phi[row]
    for i in range(len(ws.dz)):
        ws.dz[i] = 0.0
    pull_back_through(tables, ws.Phi_z_factored, ws.impulse, -1.0, ws.dz)
    solve(lu, work.factored, work, ws.dz)
    apply_Phi_z(tables, ws, ws.dz, ws.impulse)
    for row in range(len(alpha)):
        ws.impulse[row] += ws.Phi[row]
    share = share_closed(gap, largest_size(ws.impulse, settings.scale))
    return share if may_yield(gap, largest_size(ws.dz, settings.typical) / share) else -1.0


@coarse_kernel
def yielding_error(tables, lu, work, settings, alpha, u, new, acceleration, ws, stats):
    """Return by how much of its floor a multiplier of ``new`` is off because its loops yield; 0 where they hardly do.

    Where loops are closed Phi_z^T is another one, by dP. What balances dP lam, in the metric M, is the error of lam.
    NO_FACTOR when M with the penalties has none; takes the factor's place.
    """
    share = closed_share(tables, lu, work, settings, alpha, ws, stats)
    if share < 0.0:
        return 0.0
    load_floors(settings, new.lam, acceleration, ws.floor)
    for i in range(len(ws.z)):
        ws.z[i], ws.residual[i] = new.z[i] + ws.dz[i], 0.0
    forward_positions(tables, new.R0, ws.z, ws)
    evaluate_closures(tables, ws.z, u, ws)
    pull_back(tables, ws, new.lam, 1.0, ws.residual)
    forward_positions(tables, new.R0, new.z, ws)
    evaluate_closures(tables, new.z, u, ws)
    pull_back(tables, ws, new.lam, -1.0, ws.residual)
    for row in range(len(alpha)):
        ws.left[row] = 0.0
    if factor_mass_metric(tables, lu, work, alpha, 0.25 * settings.h * settings.h, ws, stats) != 0:
        return NO_FACTOR
    return largest_miss(tables, lu, work, settings, alpha, ws) / share

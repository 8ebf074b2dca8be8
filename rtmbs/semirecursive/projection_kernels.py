"""Compiled projections with the last factor, also past singular poses, and the multipliers of a step with their bounds.

Rates and accelerations are projected by METHODS 1.12, past singular poses by METHODS 1.14. The error of the multipliers
of a step is checked against its bound.
"""

import numpy as np

from rtmbs.core.bounds import BEYOND
from rtmbs.integrators.newton import (
    BOUND_ROUNDS,
    ENDLESS,
    LEFT_OVER,
    SUSPICIOUS,
    UNBALANCED,
    impulse_share,
    largest_imbalance,
    load_floors,
    may_yield,
    share_closed,
    share_of_floor,
    still_missing,
    yet_to_come,
)
from rtmbs.integrators.projection import PASSES, SLOW, SOFTER
from rtmbs.integrators.settings import FACTORISATIONS, NEAR_SINGULAR, OPEN, PROJECTIONS, PUSHED, REMAINS, SLOWEST
from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inlined_kernel, inner_kernel, kernel
from rtmbs.numerics.linear.sparse_lu import factor, solve
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, apply_through, pull_back, pull_back_through
from rtmbs.semirecursive.closures import closure_velocities, evaluate_closures
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
    for k in range(BOUND_ROUNDS):
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


@inner_kernel
def project_velocities(tables, lu, work, settings, alpha, u, old, new, ws, stats):
    """Project new.zd; return the weight that accelerations are to be projected with, NO_FACTOR when there is none.

    A step that ends where loops lose a direction is projected by loops SOFTER times as soft, from the rates of the
    integrator in ws.zd: they hold what other directions need, and leave the lost one alone.
    """
    weight = 0.25 * settings.h * settings.h
    closure_velocities(tables, new.zd, u, ws)
    if not settings.project_velocities:
        return weight
    count = project_rates(tables, lu, work, settings, alpha, weight, new.zd, ws.Phid, ws, new.lam, 0.0, stats)
    if slow_projection(settings, count, new.zd, ws) and loses_direction(tables, settings, u, old, new, ws):
        stats[NEAR_SINGULAR] = 1.0
        weight /= SOFTER
        for i in range(len(ws.zd)):
            new.zd[i] = ws.zd[i]
        if factor_mass_metric(tables, lu, work, alpha, weight, ws, stats) != 0:
            return NO_FACTOR
        closure_velocities(tables, new.zd, u, ws)
        project_rates(tables, lu, work, settings, alpha, weight, new.zd, ws.Phid, ws, new.lam, 0.0, stats)
    return weight


@inlined_kernel
def slow_projection(settings, count, rates, ws):
    """True when the last iteration left more than SLOW of the violation that it found, and moved rates that matter.

    ws.impulse is its change of the violation, ws.dz that of the rates. What redundant equations leave moves nothing.
    """
    if count == 0 or largest_rate(ws.dz, settings.typical) <= LEFT_OVER * largest_rate(rates, settings.typical):
        return False
    before, after = 0.0, 0.0
    for row in range(len(ws.Phid)):
        before = max(before, abs(ws.Phid[row] - ws.impulse[row]) / settings.scale[row])
        after = max(after, abs(ws.Phid[row]) / settings.scale[row])
    return after > SLOW * before


@coarse_kernel
def loses_direction(tables, settings, u, old, new, ws):
    """True when Phi_z of the direction of the last iteration, ws.dz, changed in this step by PASSES times its value.

    Loops that are merely soft hold a direction as softly at both ends of a step. ws.impulse holds that value; the
    equations at ``new`` are evaluated again at the end.
    """
    here, there = ws.lam_here, ws.lam_way
    for row in range(len(here)):
        here[row] = ws.impulse[row]
    forward_positions(tables, old.R0, old.z, ws)
    evaluate_closures(tables, old.z, u, ws)
    apply_Phi_z(tables, ws, ws.dz, there)
    forward_positions(tables, old.R0, new.z, ws)
    evaluate_closures(tables, new.z, u, ws)
    held, changed = 0.0, 0.0
    for row in range(len(here)):
        held = max(held, abs(here[row]) / settings.scale[row])
        changed = max(changed, abs(there[row] - here[row]) / settings.scale[row])
    return changed > PASSES * held


@coarse_inner_kernel
def project_rates(tables, lu, work, settings, alpha, weight, rates, violation, ws, lam, share, stats):
    """rates -= A^-1 weight Phi_z^T alpha violation, repeated until the bound (METHODS 1.12); returns their number.

    A is the last factor, and Phi_z^T the one inside it. Newton's last correction came after it, and what Phi_z changed
    by then, delta, would be multiplied by the penalty: A^-1 weight (Phi_z + delta)^T alpha = O(1) + O(c delta).

    ``violation`` follows linearly: what Phi_z does to the change of the rates. ``lam`` gathers the multipliers that the
    projection of accelerations adds: weight change = -Phi_z^T share weight alpha (violation + Phi_z change), both Phi_z
    that of the factor, for that is what the factor solved. The Phi_z of now would add weight alpha delta change.

    The stats count the iterations, and gather what they did to forces (``integrators.multipliers``).
    """
    bound, left = (
        settings.projection_bound * largest_rate(rates, settings.pace),
        relative_violation(violation, settings.scale),
    )
    force = settings.held if share > 0.0 else 2.0 / settings.h * settings.held
    for iteration in range(settings.max_projections):
        if left <= bound:
            return iteration
        for row in range(len(alpha)):
            ws.impulse[row] = weight * alpha[row] * violation[row]
        for i in range(len(rates)):
            ws.dz[i] = 0.0
        pull_back_through(tables, ws.Phi_z_factored, ws.impulse, -1.0, ws.dz)
        solve(lu, work.factored, work, ws.dz)
        for i in range(len(rates)):
            rates[i] += ws.dz[i]
        if share > 0.0:
            apply_through(tables, ws.Phi_z_factored, ws.dz, ws.impulse)
            for row in range(len(alpha)):
                lam[row] += share * weight * alpha[row] * (violation[row] + ws.impulse[row])
        apply_Phi_z(tables, ws, ws.dz, ws.impulse)
        for row in range(len(alpha)):
            violation[row] += ws.impulse[row]
        before, left = left, relative_violation(violation, settings.scale)
        stats[PROJECTIONS] += 1
        stats[PUSHED] += force * left
        if left > stats[SLOWEST] * before:
            stats[SLOWEST] = left / before
        if share > 0.0:
            stats[REMAINS] = force * yet_to_come(left, before)
    return settings.max_projections


@inlined_kernel
def note_violation(values, settings, stats, where):
    """Write the largest |value| over rows of translation and over rows of rotation to the stats; NaN is infinite."""
    slid, turned = 0.0, 0.0
    for row in range(len(values)):
        size = abs(values[row])
        if settings.rotation[row]:
            if not size <= turned:
                turned = size if np.isfinite(size) else np.inf
        elif not size <= slid:
            slid = size if np.isfinite(size) else np.inf
    stats[where], stats[where + 3] = slid, turned


@inlined_kernel
def relative_violation(values, scale):
    """Largest |value| / scale over all rows; NaN counts as infinite."""
    top = 0.0
    for row in range(len(values)):
        if not abs(values[row]) / scale[row] <= top:
            top = abs(values[row]) / scale[row] if np.isfinite(values[row]) else np.inf
    return top


@inlined_kernel
def largest_rate(rates, pace):
    """Largest |rate| of all coordinates that loops feel, prismatic ones divided by their typical length."""
    top = 0.0
    for i in range(len(rates)):
        top = max(top, abs(rates[i]) / pace[i])
    return top


@inlined_kernel
def in_range(values):
    """True when every entry is a number that a mechanism may have."""
    bad = 0
    for k in range(len(values)):
        bad += 0 if abs(values[k]) <= BEYOND else 1
    return bad == 0


@inner_kernel
def correct_rates(tables, lu, work, settings, weight, checked, rates, violation, multiplier, ws):
    """Correct rates and multipliers by what is left of both equations; returns the change, ws.dz, in typical sizes.

    ``checked``: ws.residual, less the pull of the multipliers, is left of the first; otherwise nothing.
    """
    for row in range(len(weight)):
        ws.impulse[row] = weight[row] * violation[row] + (multiplier[row] if checked else 0.0)
    for i in range(len(rates)):
        ws.dz[i] = ws.residual[i] if checked else 0.0
    pull_back(tables, ws, ws.impulse, -1.0, ws.dz)
    solve(lu, work.factored, work, ws.dz)
    apply_Phi_z(tables, ws, ws.dz, ws.impulse)
    for row in range(len(weight)):
        violation[row] += ws.impulse[row]
        multiplier[row] += weight[row] * violation[row]
    for i in range(len(rates)):
        rates[i] += ws.dz[i]
    return largest_rate(ws.dz, settings.typical)

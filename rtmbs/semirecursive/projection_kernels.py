"""Compiled projections of rates and accelerations with the last factor (METHODS 1.12); past singular poses (1.14)."""

import numpy as np

from rtmbs.core.bounds import BEYOND
from rtmbs.integrators.multiplier_bounds import yet_to_come
from rtmbs.integrators.newton import LEFT_OVER
from rtmbs.integrators.projection import PASSES, SLOW, SOFTER
from rtmbs.integrators.settings import NEAR_SINGULAR, PROJECTIONS, PUSHED, REMAINS, SLOWEST
from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inlined_kernel, inner_kernel
from rtmbs.numerics.linear.sparse_lu import solve
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, apply_through, pull_back_through
from rtmbs.semirecursive.closures import closure_velocities, evaluate_closures
from rtmbs.semirecursive.multipliers import NO_FACTOR, factor_mass_metric
from rtmbs.semirecursive.passes import forward_positions


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

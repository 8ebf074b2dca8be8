"""One evaluation in fixed order (docs/architecture.md): the residual, and the tangent at the state just evaluated."""

import numpy as np

from rtmbs.integrators.newton import ENDLESS
from rtmbs.integrators.settings import EXACT, LAGGED, PAPER
from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inner_kernel
from rtmbs.semirecursive.closure_jacobian import pull_back
from rtmbs.semirecursive.closures import add_rate_gaps, evaluate_closures
from rtmbs.semirecursive.contact_set_tangent import add_set_tangent
from rtmbs.semirecursive.force_kernels import add_force_tangent, apply_forces
from rtmbs.semirecursive.passes import (
    forward_accelerations,
    forward_positions,
    forward_velocities,
    inverse_dynamics,
    place_inertias,
    set_rate_columns,
)
from rtmbs.semirecursive.tangent import (
    add_condensed_loops,
    add_condensed_multipliers,
    add_loop_tangent,
    add_masses,
    add_multiplier_tangent,
    add_rigid_body_tangent,
    carry_wrenches,
    gather_inertias,
    gather_sections,
    join_sections,
)


@coarse_kernel
def evaluate_residual(tables, R0, u, alpha, ws):
    """residual = M zdd - Q + Phi_z^T alpha Phi at ws.z, ws.zd, ws.zdd; leaves every pass in ``ws``."""
    evaluate_forces(tables, R0, u, ws)
    if len(tables.contacts.normal):
        add_rate_gaps(tables, ws.Phi_z, ws.rate_share[0], ws.zd, ws.Phi)
    for row in range(len(alpha)):
        ws.impulse[row] = alpha[row] * ws.Phi[row]
    for i in range(len(ws.residual)):
        ws.residual[i] = ws.tau[i]
    pull_back(tables, ws, ws.impulse, 1.0, ws.residual)


@inner_kernel
def evaluate_forces(tables, R0, u, ws):
    """ws.tau = M zdd - Q at ws.z, ws.zd, ws.zdd, and the loops at the same positions; leaves every pass in ``ws``."""
    forward_positions(tables, R0, ws.z, ws)
    place_inertias(tables.dofs, ws)
    evaluate_closures(tables, ws.z, u, ws)
    evaluate_motion(tables, u, ws)


@coarse_inner_kernel
def evaluate_motion(tables, u, ws):
    """ws.tau = M zdd - Q at ws.zd and ws.zdd, where positions and inertias are evaluated."""
    forward_velocities(tables.dofs, ws.zd, ws)
    forward_accelerations(tables.dofs, ws.zd, ws.zdd, u, ws)
    inverse_dynamics(tables.dofs, ws)
    apply_forces(tables, ws.z, ws.zd, u, ws)


@coarse_kernel
def assemble_tangent(tables, terms, mass, velocity, position, u, alpha, old, ws, values):
    """values = (mass M + velocity C) T^-1 + position (K + Phi_z^T alpha Phi_z) at the state last evaluated.

    The columns of rotation dofs are small turns in body axes, exp(dtheta~) behind R0 exp(delta~), and T is the right
    Jacobian at delta = ws.z: the identity for other dofs, and where delta = 0.

    ``terms`` chooses what K holds besides -dQ/dz (METHODS 5): paper nothing, inertia M_z zdd of the iterate, lagged
    M_z zdd_n + (Phi_z^T lam_n)_z, exact M_z zdd + (Phi_z^T alpha Phi)_z.
    """
    if terms == PAPER:
        for i in range(len(ws.dz)):
            ws.dz[i] = 0.0
        forward_accelerations(tables.dofs, ws.zd, ws.dz, u, ws)
        inverse_dynamics(tables.dofs, ws)
    elif terms == LAGGED:
        forward_accelerations(tables.dofs, ws.zd, old.zdd, u, ws)
        inverse_dynamics(tables.dofs, ws)
    if len(tables.condensed.closure) > 0:
        if terms == EXACT:
            inverse_dynamics(tables.dofs, ws)  # Fc, which an assembly before may have added to
            carry_wrenches(tables, ws.impulse, ws)
        elif terms == LAGGED:
            carry_wrenches(tables, old.lam, ws)
    for k in range(len(values)):
        values[k] = 0.0
    set_rate_columns(tables.dofs, ws.z, ws)
    add_rigid_body_tangent(tables, mass, velocity, position, ws, values)
    if (
        len(tables.connectors.a) > len(tables.closures.connector)
        or len(tables.joint_forces.dof)
        or len(tables.laws.row)
        or len(tables.sets.dof)
    ):
        keep_diagonal(tables.paths, ws, values)
        add_force_tangent(tables, u, velocity, position, ws, values)
        if len(tables.sets.dof) > 0:
            add_set_tangent(tables, u, velocity, position, ws, values)
        ws.stiff[0] = applied_share(tables.paths, ws, values)
    add_loop_tangent(tables, alpha, position, ws.Phi_z, ws.Phi_z, values)
    if len(tables.condensed.closure) > 0:
        add_condensed_loops(tables, alpha, position, ws, values)
    if terms == EXACT:
        add_multiplier_tangent(tables, ws.impulse, position, ws, values)
        add_condensed_multipliers(tables, ws.impulse, position, ws, values)
    elif terms == LAGGED:
        add_multiplier_tangent(tables, old.lam, position, ws, values)
        add_condensed_multipliers(tables, old.lam, position, ws, values)


@inner_kernel
def keep_diagonal(paths, ws, values):
    """Remember the diagonal of the tangent as it is now."""
    for i in range(len(ws.diagonal)):
        ws.diagonal[i] = values[paths.entry[paths.pointer[i + 1] - 1]]


@inner_kernel
def applied_share(paths, ws, values):
    """Largest change of a diagonal entry since it was kept, relative to it: (h/2 C + h^2/4 K) / M of applied forces.

    A massless frame has none, and counts like the lightest coordinate.
    """
    top, lightest = 0.0, np.inf
    for i in range(len(ws.diagonal)):
        if ws.diagonal[i] != 0.0:
            lightest = min(lightest, abs(ws.diagonal[i]))
    for i in range(len(ws.diagonal)):
        before = abs(ws.diagonal[i]) if ws.diagonal[i] != 0.0 else lightest
        change = abs(values[paths.entry[paths.pointer[i + 1] - 1]] - ws.diagonal[i])
        if not change <= top * before:
            top = change / before if before < np.inf else ENDLESS
    return top


@coarse_kernel
def assemble_mass_metric(tables, position, alpha, ws, values):
    """values = M + position Phi_z^T alpha Phi_z at the evaluated positions, the metric with a proof (METHODS 1.7)."""
    place_inertias(tables.dofs, ws)
    add_mass_metric(tables, position, alpha, ws, values)


@inner_kernel
def add_mass_metric(tables, position, alpha, ws, values):
    """The same where inertias are placed; ws.diagonal becomes that of M, or of its sections in a deep tree."""
    for k in range(len(values)):
        values[k] = 0.0
    if len(ws.section) > 0:
        gather_sections(tables, ws)
    else:
        gather_inertias(tables.dofs, ws)
    add_masses(tables, ws, ws.diagonal, values)
    if len(tables.interfaces.dof) > 0:
        join_sections(tables, ws, values)
    add_loop_tangent(tables, alpha, position, ws.Phi_z, ws.Phi_z, values)
    if len(tables.condensed.closure) > 0:
        add_condensed_loops(tables, alpha, position, ws, values)

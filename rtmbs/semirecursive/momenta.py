"""Compiled: momenta, the force of the Lagrangian, and what the variational midpoint step does to them (METHODS 6).

One backward pass gives both p_j = S_j . P_j and dT/dz_j = (V_base x S_j) . P_j, P_j the momentum behind dof j. Oracle:
``page_momenta.py``, where the formulas come from.
"""

from rtmbs.jit.compiled import coarse_kernel, inner_kernel, kernel
from rtmbs.rotations.kernels import inverse_excess, inverse_factor, turn_factors, turned_row
from rtmbs.semirecursive.closures import evaluate_closures
from rtmbs.semirecursive.force_kernels import apply_forces
from rtmbs.semirecursive.passes import forward_positions, forward_velocities, place_inertias
from rtmbs.spatial import (
    cross_motion,
    dot3,
    dot6,
    increase6,
    inertia_times,
    join,
    load6,
    load10,
    store6,
)
from rtmbs.system.tables import GRAVITY_SLOT


@inner_kernel
def gather_momenta(dofs, u, ws, p):
    """p = M zd, and ws.tau = -dT/dz less gravity; ws.Fc and ws.wrench are momentum and weight behind every dof.

    The weight has the sign of ``inverse_dynamics``: inertia times an acceleration -g.
    """
    up = join((-u[GRAVITY_SLOT], -u[GRAVITY_SLOT + 1], -u[GRAVITY_SLOT + 2]), (0.0, 0.0, 0.0))
    n = len(ws.tau)
    for i in range(n):
        inertia = load10(ws.inertia, i)
        store6(ws.Fc, i, inertia_times(inertia, load6(ws.V, i)))
        store6(ws.wrench, i, inertia_times(inertia, up))
    for i in range(n - 1, -1, -1):
        S, P, W = load6(ws.S, i), load6(ws.Fc, i), load6(ws.wrench, i)
        p[i] = dot6(S, P)
        ws.tau[i] = dot6(S, W) - dot6(cross_motion(load6(ws.V, dofs.base[i]), S), P)
        if dofs.parent[i] >= 0:
            increase6(ws.Fc, dofs.parent[i], P)
            increase6(ws.wrench, dofs.parent[i], W)


@coarse_kernel
def evaluate_momenta(tables, R0, u, ws, p):
    """p = M zd, and ws.tau = -(dT/dz + Q), at ws.z and ws.zd; leaves every pass in ``ws``."""
    forward_positions(tables, R0, ws.z, ws)
    place_inertias(tables.dofs, ws)
    forward_velocities(tables.dofs, ws.zd, ws)
    gather_momenta(tables.dofs, u, ws, p)
    apply_forces(tables, ws.z, ws.zd, u, ws)


@coarse_kernel
def evaluate_boundary(tables, z, R0, u, ws):
    """Positions, Phi, Phi_z and inertias at a boundary of steps; turns of rotation dofs are committed to ``R0``."""
    for i in range(len(ws.z)):
        ws.z[i] = z[i]
    forward_positions(tables, R0, ws.z, ws)
    evaluate_closures(tables, ws.z, u, ws)
    place_inertias(tables.dofs, ws)


@coarse_kernel
def mass_times(dofs, x, ws, out):
    """out = M x (n,), momenta at rates x, at the positions and inertias last evaluated; overwrites ws.V and ws.Fc."""
    forward_velocities(dofs, x, ws)
    n = len(out)
    for i in range(n):
        store6(ws.Fc, i, inertia_times(load10(ws.inertia, i), load6(ws.V, i)))
    for i in range(n - 1, -1, -1):
        P = load6(ws.Fc, i)
        out[i] = dot6(load6(ws.S, i), P)
        if dofs.parent[i] >= 0:
            increase6(ws.Fc, dofs.parent[i], P)


@kernel
def turn_back(dofs, turn, x):
    """x becomes exp(-turn~) x at rotation dofs, in place: momenta at R in the axes of R exp(turn~)."""
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            d = (turn[i], turn[i + 1], turn[i + 2])
            s, c = turn_factors(dot3(d, d))
            x[i], x[i + 1], x[i + 2] = turned_row((x[i], x[i + 1], x[i + 2]), d, s, c)


@kernel
def half_turn_back(dofs, y, x):
    """x becomes W x = (x + exp(-y~) x) / 2 at rotation dofs, in place."""
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            d = (y[i], y[i + 1], y[i + 2])
            s, c = turn_factors(dot3(d, d))
            x[i], x[i + 1], x[i + 2] = halfway((x[i], x[i + 1], x[i + 2]), d, s, c)


@inner_kernel
def halfway(a, d, s, c):
    """Return (a + exp(-d~) a) / 2, with the factors s and c of d."""
    b = turned_row(a, d, s, c)
    return 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])


@kernel
def undo_jacobian(dofs, y, x):
    """x becomes T^-1(y) x at rotation dofs, in place."""
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            d, own = (y[i], y[i + 1], y[i + 2]), (x[i], x[i + 1], x[i + 2])
            more = inverse_excess(d, inverse_factor(dot3(d, d)), own, 1.0)
            for k in range(3):
                x[i + k] += more[k]


@kernel
def half_turn_rows(tables, y, sign, Phi_z):
    """Rows a of Phi_z become (a + exp(-sign y~) a) / 2 at rotation dofs, in place.

    With sign 1 that is Phi_z W^T of the first end of a step, with -1 it is Phi_z W of the last.
    """
    closures, connectors, dofs = tables.closures, tables.connectors, tables.dofs
    for l in range(len(closures.point_a)):
        connector = closures.connector[l]
        first, last = connectors.pointer[connector], connectors.pointer[connector + 1]
        for k in range(first, last):
            i = connectors.dof[k]
            if dofs.reference[i] >= 0:
                d = (sign * y[i], sign * y[i + 1], sign * y[i + 2])
                s, c = turn_factors(dot3(d, d))
                entry = closures.entry_pointer[l] + k - first
                for _ in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
                    a = (Phi_z[entry], Phi_z[entry + 1], Phi_z[entry + 2])
                    Phi_z[entry], Phi_z[entry + 1], Phi_z[entry + 2] = halfway(a, d, s, c)
                    entry += last - first

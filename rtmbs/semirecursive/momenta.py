"""Compiled: momenta, the force of the Lagrangian, and what the variational midpoint step does to them (METHODS 6).

One backward pass gives both p_j = S_j . P_j and dT/dz_j = (V_base x S_j) . P_j, P_j the momentum behind dof j. Oracle:
``page_momenta.py``, where the formulas come from.
"""

from numpy import uint64 as at

from rtmbs.jit.compiled import coarse_kernel, inlined_kernel, inner_kernel, kernel
from rtmbs.semirecursive.force_kernels import apply_forces
from rtmbs.semirecursive.passes import forward_positions, forward_velocities, place_inertias
from rtmbs.semirecursive.rotations import bend, excess, turn_factors, turned_row
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
def momenta_here(tables, zd, u, ws, p):
    """p = M zd at the positions and inertias last evaluated."""
    forward_velocities(tables.dofs, zd, ws)
    gather_momenta(tables.dofs, u, ws, p)


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
            more = excess(d, bend(dot3(d, d)), own)
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


@kernel
def add_loop_tangent(tables, weight, left, right, values):
    """values += left^T diag(weight) right of two Phi_z, that of each end of a step; five rows at a time."""
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    for l in range(len(closures.point_a)):
        begin, end, entry = closures.row_pointer[at(l)], closures.row_pointer[at(l + 1)], closures.entry_pointer[at(l)]
        connector, whole = closures.connector[at(l)], end - (end - begin) % 5
        block = connectors.block_pointer[at(connector)]
        width = connectors.pointer[at(connector + 1)] - connectors.pointer[at(connector)]
        for row in range(begin, whole, 5):
            add_five_rows(left, right, entry, width, weight, row, connectors.entry, block, values)
            entry += 5 * width
        for row in range(whole, end):
            place = block
            for j in range(width):
                w = weight[at(row)] * left[at(entry + j)]
                for i in range(width):
                    values[at(connectors.entry[at(place + i)])] += w * right[at(entry + i)]
                place += width
            entry += width
    for k in range(len(drivers.dof)):
        values[drivers.entry[k]] += weight[len(closures.kind) + k]


@inlined_kernel
def add_five_rows(left, right, entry, width, weight, row, places, block, values):
    """values += left^T diag(weight) right of five rows of one closure."""
    a0, a1, a2, a3, a4 = (
        weight[at(row)],
        weight[at(row + 1)],
        weight[at(row + 2)],
        weight[at(row + 3)],
        weight[at(row + 4)],
    )
    e1, e2, e3, e4 = entry + width, entry + 2 * width, entry + 3 * width, entry + 4 * width
    for j in range(width):
        w0, w1, w2 = a0 * left[at(entry + j)], a1 * left[at(e1 + j)], a2 * left[at(e2 + j)]
        w3, w4 = a3 * left[at(e3 + j)], a4 * left[at(e4 + j)]
        for i in range(width):
            low = w0 * right[at(entry + i)] + w1 * right[at(e1 + i)]
            high = w2 * right[at(e2 + i)] + w3 * right[at(e3 + i)]
            values[at(places[at(block + i)])] += (low + high) + w4 * right[at(e4 + i)]
        block += width

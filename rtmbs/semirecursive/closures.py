"""Compiled loop equations: Phi, Phid, Phidd, the wrench G of each row, and Phi_z on the branches of each loop.

Rows as METHODS 1.25 with points and axes carried by dof ``a``, so that a row is invariant under a common rigid motion:
with G = dPhi/dX_b the other side is -G, and Phi_z[j] = sign_j S_j . G on the branch of the connector and zero
elsewhere.
"""

from numpy import uint64 as at

from rtmbs.jit.compiled import coarse_kernel, inlined_kernel, inner_kernel, kernel, lazy_kernel
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    cross3,
    dot3,
    dot6,
    join,
    load3,
    load6,
    place,
    point_velocity,
    rotate,
    scale3,
    scale6,
    store6,
    sub3,
    sub6,
)
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, fill_branch
from rtmbs.semirecursive.conditions import condition_accelerations, condition_rates, evaluate_conditions
from rtmbs.semirecursive.contacts import contact_accelerations, evaluate_contacts
from rtmbs.system.tables import DOT, TRANSLATION

# ---- couplers -------------------------------------------------------------------------------------------------------


@lazy_kernel
def evaluate_couplers(tables, z, u, ws):
    """Phi and Phi_z of the couplers."""
    closures, connectors, ratio = tables.closures, tables.connectors, tables.couplers.ratio
    entry = len(ws.Phi_z) - len(ratio)
    start = entry
    for l in range(tables.couplers.first[0], len(closures.point_a)):
        row = closures.row_pointer[l]
        total = 0.0 * z[0] - closures.assembly_offset[row]
        for k in range(connectors.pointer[l], connectors.pointer[l + 1]):
            ws.Phi_z[at(entry)] = ratio[at(entry - start)]
            total += ratio[at(entry - start)] * z[connectors.dof[k]]
            entry += 1
        ws.Phi[row] = total - (closures.length[row] if closures.slot[row] < 0 else u[closures.slot[row]])


@inlined_kernel
def coupler_rates(tables, u, ws):
    """Subtract the rate of what couplers follow from Phid = Phi_z zd."""
    closures = tables.closures
    for row in range(closures.row_pointer[tables.couplers.first[0]], len(closures.kind)):
        if closures.slot[row] >= 0:
            ws.Phid[row] -= u[closures.slot[row] + 1]


@inlined_kernel
def coupler_accelerations(tables, zdd, u, ws):
    """Phidd = Phi_z zdd less the acceleration of what couplers follow."""
    closures, connectors, ratio = tables.closures, tables.connectors, tables.couplers.ratio
    entry = 0
    for l in range(tables.couplers.first[0], len(closures.point_a)):
        row = closures.row_pointer[l]
        total = 0.0 * zdd[0]
        for k in range(connectors.pointer[l], connectors.pointer[l + 1]):
            total += ratio[entry] * zdd[connectors.dof[k]]
            entry += 1
        ws.Phidd[row] = total if closures.slot[row] < 0 else total - u[closures.slot[row] + 2]


@coarse_kernel
def evaluate_closures(tables, z, u, ws):
    """Phi, G and Phi_z at the evaluated positions."""
    evaluate_gaps(tables, z, u, ws)
    fill_branches(tables, ws)


@coarse_kernel
def evaluate_gaps(tables, z, u, ws):
    """Phi and G at the evaluated positions; Phi_z but for the branches of cut joints, see ``fill_branches``."""
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    for l in range(tables.contacts.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        xa, xb = place(ws.A, ws.r, a, load3(closures.point_a, l)), place(ws.A, ws.r, b, load3(closures.point_b, l))
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            evaluate_row(closures, row, a, b, xa, xb, u, ws)
    if len(tables.contacts.normal):
        evaluate_contacts(tables, ws)
    if len(tables.conditions.scale):
        evaluate_conditions(tables, z, u, ws)
    if len(tables.couplers.ratio):
        evaluate_couplers(tables, z, u, ws)
    first = len(closures.kind)
    for k in range(len(drivers.dof)):
        ws.Phi[first + k] = z[drivers.dof[k]] - u[drivers.slot[k]]


@coarse_kernel
def fill_branches(tables, ws):
    """Phi_z of cut joints, from G and the columns S last evaluated."""
    for l in range(tables.contacts.first[0]):
        fill_branch(tables.closures, tables.connectors, l, ws)


@inlined_kernel
def evaluate_row(closures, row, a, b, xa, xb, u, ws):
    """Phi and G = dPhi/dX_b of one row."""
    kind = closures.kind[row]
    if kind == TRANSLATION:
        axis = rotate(ws.A, a, load3(closures.axis_a, row))
        ws.Phi[row] = dot3(axis, sub3(xa, xb)) - closures.assembly_offset[row]
        store6(ws.G, row, scale6(-1.0, join(axis, cross3(xb, axis))))
    elif kind == DOT:
        axis_a, axis_b = rotate(ws.A, a, load3(closures.axis_a, row)), rotate(ws.A, b, load3(closures.axis_b, row))
        ws.Phi[row] = dot3(axis_a, axis_b) - closures.assembly_offset[row]
        store6(ws.G, row, join(scale3(0.0, axis_a), cross3(axis_b, axis_a)))
    else:
        d, length = sub3(xb, xa), closures.length[row]
        target = length if closures.slot[row] < 0 else u[closures.slot[row]]
        ws.Phi[row] = (dot3(d, d) - target * target) / (2.0 * length) - closures.assembly_offset[row]
        store6(ws.G, row, scale6(1.0 / length, join(d, cross3(xa, xb))))


@kernel
def closure_velocities(tables, zd, u, ws):
    """Phid = Phi_z zd + Phi_t; linear in zd, so it needs no pass."""
    apply_Phi_z(tables, ws, zd, ws.Phid)
    closures, drivers = tables.closures, tables.drivers
    for row in range(closures.row_pointer[tables.contacts.first[0]]):
        slot = closures.slot[row]
        if slot >= 0:
            ws.Phid[row] -= u[slot] * u[slot + 1] / closures.length[row]
    if len(tables.conditions.scale):
        condition_rates(tables, ws)
    if len(tables.couplers.ratio):
        coupler_rates(tables, u, ws)
    for k in range(len(drivers.dof)):
        ws.Phid[len(closures.kind) + k] -= u[drivers.slot[k] + 1]


@kernel
def closure_accelerations(tables, zd, zdd, u, ws):
    """Phidd = G . (acc_b - acc_a) + Gdot . (V_b - V_a) + time terms, from the evaluated V and acc."""
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    for l in range(tables.contacts.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        Va, Vb = load6(ws.V, a), load6(ws.V, b)
        relative, acceleration = sub6(Vb, Va), sub6(load6(ws.acc, b), load6(ws.acc, a))
        xb = place(ws.A, ws.r, b, load3(closures.point_b, l))
        e = seen_acceleration(relative, acceleration, Va, Vb, xb)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            if closures.kind[row] == TRANSLATION:
                ws.Phidd[row] = ws.G[row, 0] * e[0] + ws.G[row, 1] * e[1] + ws.G[row, 2] * e[2]
            else:
                xa = place(ws.A, ws.r, a, load3(closures.point_a, l))
                Gd = row_variation(closures, row, a, b, xa, xb, Va, Vb, ws)
                ws.Phidd[row] = dot6(load6(ws.G, row), acceleration) + dot6(Gd, relative)
            slot = closures.slot[row]
            if slot >= 0:
                ws.Phidd[row] -= (u[slot + 1] * u[slot + 1] + u[slot] * u[slot + 2]) / closures.length[row]
    if len(tables.contacts.normal):
        contact_accelerations(tables, ws)
    if len(tables.conditions.scale):
        condition_accelerations(tables, zd, zdd, ws)
    if len(tables.couplers.ratio):
        coupler_accelerations(tables, zdd, u, ws)
    for k in range(len(drivers.dof)):
        ws.Phidd[len(closures.kind) + k] = zdd[drivers.dof[k]] - u[drivers.slot[k] + 2]


@inlined_kernel
def seen_acceleration(relative, acceleration, Va, Vb, xb):
    """Return e with Phidd = -axis . e for every TRANSLATION row of a closure: the point xb as dof a sees it move.

    G = -[axis; xb x axis] and Gdot = -[turned; dxb x axis + xb x turned], turned = omega_a x axis. With [y, w] the
    relative motion shifted to xb, G . acc + Gdot . V = -axis . (acc at xb) - turned . y - axis . (w x dxb), and
    turned . y = axis . (y x omega_a).
    """
    w, y = angular(relative), point_velocity(relative, xb)
    return add3(add3(point_velocity(acceleration, xb), cross3(y, angular(Va))), cross3(w, point_velocity(Vb, xb)))


@inlined_kernel
def row_variation(closures, row, a, b, xa, xb, Xa, Xb, ws):
    """Change of G of one row when dof a moves by the twist Xa and dof b by Xb: Gdot for velocities, and Phi_zz.

    ``xa`` and ``xb`` are the points of the closure on both dofs, world axes.
    """
    kind = closures.kind[row]
    dxb = point_velocity(Xb, xb)
    if kind == TRANSLATION:
        axis = rotate(ws.A, a, load3(closures.axis_a, row))
        turned = cross3(angular(Xa), axis)
        return scale6(-1.0, join(turned, add3(cross3(dxb, axis), cross3(xb, turned))))
    if kind == DOT:
        axis_a, axis_b = rotate(ws.A, a, load3(closures.axis_a, row)), rotate(ws.A, b, load3(closures.axis_b, row))
        turned_a, turned_b = cross3(angular(Xa), axis_a), cross3(angular(Xb), axis_b)
        return join(scale3(0.0, dxb), add3(cross3(turned_b, axis_a), cross3(axis_b, turned_a)))
    dxa = point_velocity(Xa, xa)
    moment = add3(cross3(dxa, xb), cross3(xa, dxb))
    return scale6(1.0 / closures.length[row], join(sub3(dxb, dxa), moment))


@inner_kernel
def closure_wrench(closures, l, lam, ws):
    """Wrench -sum lam G of closure ``l`` on its dof b."""
    F = scale6(0.0, load6(ws.V, 0))
    for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
        F = add6(F, scale6(-lam[row], load6(ws.G, row)))
    return F

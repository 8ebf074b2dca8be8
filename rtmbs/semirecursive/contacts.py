"""Compiled nonholonomic constraints: wheels that roll on planes, and knife edges (METHODS 1.41).

Every row is a component of the velocity of dof b relative to dof a at one point: Phid = t . (v_b - v_a)(c). So G =
[t; c x t], with t fixed in a (rolling) or in b (a knife edge), and c the contact point. Only HEIGHT has a Phi.
"""

from numpy import sqrt

from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel, lazy_kernel
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    cross3,
    cross_force,
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
from rtmbs.semirecursive.closure_jacobian import fill_branch
from rtmbs.semirecursive.force_kernels import add_connector_column
from rtmbs.system.tables import EDGE, HEIGHT


@inner_kernel
def wheel_frame(tables, l, ws):
    """Return normal k, axle n, the vector w = k - (k . n) n, its length, and the centre of contact closure ``l``."""
    closures, contacts, connectors = tables.closures, tables.contacts, tables.connectors
    connector, row = closures.connector[l], closures.row_pointer[l]
    a, b = connectors.a[connector], connectors.b[connector]
    k = rotate(ws.A, a, load3(contacts.normal, l - contacts.first[0]))
    n = rotate(ws.A, b, load3(closures.axis_b, row))
    w = sub3(k, scale3(dot3(k, n), n))
    return k, n, w, sqrt(dot3(w, w)), place(ws.A, ws.r, b, load3(closures.point_b, l))


@inner_kernel
def contact_point(tables, l, ws):
    """Return the point c of contact ``l``: C - R w / |w| - crown k of a wheel, the point itself of a knife edge."""
    contacts = tables.contacts
    q = l - contacts.first[0]
    k, _, w, size, c = wheel_frame(tables, l, ws)
    if contacts.radius[q] > 0.0:
        c = sub3(c, scale3(contacts.radius[q] / size, w))
    return sub3(c, scale3(contacts.crown[q], k))


@inner_kernel
def contact_shift(tables, l, Xa, Xb, ws):
    """Return the change of the point c of contact ``l`` when dof a moves by the twist Xa and dof b by Xb."""
    contacts = tables.contacts
    q = l - contacts.first[0]
    k, n, w, size, c = wheel_frame(tables, l, ws)
    dk, dn = cross3(angular(Xa), k), cross3(angular(Xb), n)
    dc = point_velocity(Xb, c)
    if contacts.radius[q] > 0.0:
        u = scale3(1.0 / size, w)
        dw = sub3(dk, add3(scale3(dot3(dk, n) + dot3(k, dn), n), scale3(dot3(k, n), dn)))
        dc = sub3(dc, scale3(contacts.radius[q] / size, sub3(dw, scale3(dot3(u, dw), u))))
    return sub3(dc, scale3(contacts.crown[q], dk))


@inlined_kernel
def direction(closures, row, a, b, ws):
    """Direction t of a row, world axes."""
    if closures.kind[row] == EDGE:
        return rotate(ws.A, b, load3(closures.axis_b, row))
    return rotate(ws.A, a, load3(closures.axis_a, row))


@inlined_kernel
def contact_variation(kind, t, c, dc, Xa, Xb):
    """Change of G = [t; c x t] of one row when dof a moves by the twist Xa, dof b by Xb and c by dc."""
    w = angular(Xb) if kind == EDGE else angular(Xa)
    dt = cross3(w, t)
    return join(dt, add3(cross3(dc, t), cross3(c, dt)))


@lazy_kernel
def evaluate_contacts(tables, ws):
    """Phi, G and Phi_z of the contacts at the evaluated positions; Phi of rows that bind rates alone is zero."""
    closures, connectors = tables.closures, tables.connectors
    for l in range(tables.contacts.first[0], tables.conditions.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        c = contact_point(tables, l, ws)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            t = direction(closures, row, a, b, ws)
            store6(ws.G, row, join(t, cross3(c, t)))
            ws.Phi[row] = 0.0 * c[0]
            if closures.kind[row] == HEIGHT:
                above = sub3(c, place(ws.A, ws.r, a, load3(closures.point_a, l)))
                ws.Phi[row] = dot3(t, above) - closures.assembly_offset[row]
        fill_branch(closures, connectors, l, ws)


@lazy_kernel
def contact_accelerations(tables, ws):
    """Phidd = G . (acc_b - acc_a) + Gdot . (V_b - V_a) of the contacts."""
    closures, connectors = tables.closures, tables.connectors
    for l in range(tables.contacts.first[0], tables.conditions.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        Va, Vb = load6(ws.V, a), load6(ws.V, b)
        acceleration, relative = sub6(load6(ws.acc, b), load6(ws.acc, a)), sub6(Vb, Va)
        c, dc = contact_point(tables, l, ws), contact_shift(tables, l, Va, Vb, ws)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            Gd = contact_variation(closures.kind[row], direction(closures, row, a, b, ws), c, dc, Va, Vb)
            ws.Phidd[row] = dot6(load6(ws.G, row), acceleration) + dot6(Gd, relative)


@lazy_kernel
def add_contact_tangent(tables, lam, position, ws, values):
    """values += position (Phi_z^T lam)_z of the contacts."""
    closures, connectors = tables.closures, tables.connectors
    for l in range(tables.contacts.first[0], tables.conditions.first[0]):
        connector = closures.connector[l]
        a, b = connectors.a[connector], connectors.b[connector]
        c = contact_point(tables, l, ws)
        zero = scale6(0.0, load6(ws.G, closures.row_pointer[l]))
        F = zero
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            F = add6(F, scale6(-lam[row], load6(ws.G, row)))
        for column in range(connectors.pointer[connector], connectors.pointer[connector + 1]):
            X = scale6(position, load6(ws.S, connectors.dof[column]))
            Xa, Xb = (X, zero) if connectors.sign[column] < 0.0 else (zero, X)
            dc, dF = contact_shift(tables, l, Xa, Xb, ws), zero
            for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
                t = direction(closures, row, a, b, ws)
                dF = add6(dF, scale6(-lam[row], contact_variation(closures.kind[row], t, c, dc, Xa, Xb)))
            add_connector_column(tables.dofs, connectors, connector, column, dF, cross_force(X, F), ws, values)


@lazy_kernel
def add_rate_gaps(tables, Phi_z, factor, x, out):
    """out += factor A x in the rows that bind rates alone, A their part of ``Phi_z`` (entries,)."""
    closures, connectors = tables.closures, tables.connectors
    for l in range(tables.contacts.first[0], tables.conditions.first[0]):
        connector, entry = closures.connector[l], closures.entry_pointer[l]
        first, last = connectors.pointer[connector], connectors.pointer[connector + 1]
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            total = 0.0 * x[0]
            for k in range(last - first):
                total += Phi_z[entry + k] * x[connectors.dof[first + k]]
            if closures.kind[row] != HEIGHT:
                out[row] += factor * total
            entry += last - first


@kernel
def slip_between(tables, first, last, y, out):
    """out = (A_0 + A_1) y in the rows that bind rates alone, of the two Phi_z ``first`` and ``last``; 0 elsewhere."""
    for row in range(len(out)):
        out[row] = 0.0
    add_rate_gaps(tables, first, 1.0, y, out)
    add_rate_gaps(tables, last, 1.0, y, out)

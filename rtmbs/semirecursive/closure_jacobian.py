"""Compiled products with Phi_z, which is stored as one dense block a closure: its rows by the dofs of its branch.

Blocks are small (a revolute cut joint: 5 rows, 3 to 9 dofs), so five rows are taken at a time and every number of the
coordinates is loaded once. Places are cast to unsigned (`at`): numba would fold negative ones, which costs as much as
the products.
"""

from numpy import uint64 as at

from rtmbs.jit.compiled import inlined_kernel, kernel
from rtmbs.numerics.spatial import dot6, load6, scale6


@inlined_kernel
def fill_branch(closures, connectors, l, ws):
    """Phi_z of closure ``l``, rows by branch: sign_j S_j . G."""
    begin, end, entry = closures.row_pointer[at(l)], closures.row_pointer[at(l + 1)], closures.entry_pointer[at(l)]
    connector, whole = closures.connector[at(l)], end - (end - begin) % 5
    first = connectors.pointer[at(connector)]
    width = connectors.pointer[at(connector + 1)] - first
    for row in range(begin, whole, 5):
        for k in range(width):
            S = scale6(connectors.sign[at(first + k)], load6(ws.S, at(connectors.dof[at(first + k)])))
            for i in range(5):
                ws.Phi_z[at(entry + i * width + k)] = dot6(S, load6(ws.G, at(row + i)))
        entry += 5 * width
    for row in range(whole, end):
        G = load6(ws.G, at(row))
        for k in range(width):
            S = load6(ws.S, at(connectors.dof[at(first + k)]))
            ws.Phi_z[at(entry + k)] = connectors.sign[at(first + k)] * dot6(S, G)
        entry += width


@kernel
def apply_Phi_z(tables, ws, x, out):
    """out = Phi_z x for coordinates x (n,) and rows out (m,)."""
    apply_through(tables, ws.Phi_z, x, out)


@kernel
def apply_through(tables, Phi_z, x, out):
    """out = Phi_z x with a Phi_z (entries,) of the caller's choice."""
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    for l in range(len(closures.point_a)):
        begin, end, entry = closures.row_pointer[at(l)], closures.row_pointer[at(l + 1)], closures.entry_pointer[at(l)]
        connector, whole = closures.connector[at(l)], end - (end - begin) % 5
        first = connectors.pointer[at(connector)]
        width = connectors.pointer[at(connector + 1)] - first
        for row in range(begin, whole, 5):
            apply_five_rows(Phi_z, entry, connectors.dof, first, width, x, out, row)
            entry += 5 * width
        for row in range(whole, end):
            total = 0.0 * x[0]
            for k in range(width):
                total += Phi_z[at(entry + k)] * x[at(connectors.dof[at(first + k)])]
            out[at(row)] = total
            entry += width
    for k in range(len(drivers.dof)):
        out[len(closures.kind) + k] = x[drivers.dof[k]]


@inlined_kernel
def apply_five_rows(Phi_z, entry, dof, first, width, x, out, row):
    """out[row : row + 5] = five rows of Phi_z x."""
    t0 = t1 = t2 = t3 = t4 = 0.0 * x[0]
    for k in range(width):
        e, y = entry + k, x[at(dof[at(first + k)])]
        t0 += Phi_z[at(e)] * y
        t1 += Phi_z[at(e + width)] * y
        t2 += Phi_z[at(e + 2 * width)] * y
        t3 += Phi_z[at(e + 3 * width)] * y
        t4 += Phi_z[at(e + 4 * width)] * y
    out[at(row)], out[at(row + 1)], out[at(row + 2)], out[at(row + 3)], out[at(row + 4)] = t0, t1, t2, t3, t4


@kernel
def pull_back(tables, ws, x, scale, out):
    """out += scale Phi_z^T x for rows x (m,) and coordinates out (n,)."""
    pull_back_through(tables, ws.Phi_z, x, scale, out)


@kernel
def pull_back_through(tables, Phi_z, x, scale, out):
    """out += scale Phi_z^T x with a Phi_z (entries,) of the caller's choice."""
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    for l in range(len(closures.point_a)):
        begin, end, entry = closures.row_pointer[at(l)], closures.row_pointer[at(l + 1)], closures.entry_pointer[at(l)]
        connector, whole = closures.connector[at(l)], end - (end - begin) % 5
        first = connectors.pointer[at(connector)]
        width = connectors.pointer[at(connector + 1)] - first
        for row in range(begin, whole, 5):
            pull_five_rows(Phi_z, entry, connectors.dof, first, width, x, row, scale, out)
            entry += 5 * width
        for row in range(whole, end):
            y = scale * x[at(row)]
            for k in range(width):
                out[at(connectors.dof[at(first + k)])] += Phi_z[at(entry + k)] * y
            entry += width
    for k in range(len(drivers.dof)):
        out[drivers.dof[k]] += scale * x[len(closures.kind) + k]


@inlined_kernel
def pull_five_rows(Phi_z, entry, dof, first, width, x, row, scale, out):
    """out += scale times five rows of Phi_z, transposed, times x[row : row + 5]."""
    y0, y1, y2 = scale * x[at(row)], scale * x[at(row + 1)], scale * x[at(row + 2)]
    y3, y4 = scale * x[at(row + 3)], scale * x[at(row + 4)]
    for k in range(width):
        e = entry + k
        low = Phi_z[at(e)] * y0 + Phi_z[at(e + width)] * y1
        high = Phi_z[at(e + 2 * width)] * y2 + Phi_z[at(e + 3 * width)] * y3
        out[at(dof[at(first + k)])] += (low + high) + Phi_z[at(e + 4 * width)] * y4

"""Compiled mass matrix, tangent of M, C and K, and penalties of condensed loops, written into the sparse values.

Closed form of METHODS 1.33 (Singh, Russell, Wensing 2022), with C = dtau/dzd and K = dtau/dz of tau = M zdd - Q. One
pass goes over the (dof, ancestor) pairs. With accelerations evaluated at zdd = 0 this is Eq. 17 of the paper; with the
iterate's zdd it holds M_z zdd as well. Three rotation dofs are one element with columns fixed in the body: psid =
V_base x S, and Sd = V_tip x S, which for other dofs is the same. A column is a small turn in body axes; its rates are
S T^-1 (``passes``, METHODS 1.16). In a deep tree the pairs end at the interface above the dof; what lies beyond comes
in by the interface's unknowns (``system.pattern``).

The Coriolis matrix 2 B of a body needs twelve numbers only: a motion [v, w] gives [2 w x p; N w] with p the linear
momentum and N = -(J omega)~ - 2 v c^T + 2 (c . v) 1 + omega~ J - J omega~, c the mass times the centre. M alone, at the
evaluated positions and inertias, has the entries of ``add_rigid_body_tangent`` with mass 1 alone, at a third of its
cost: rotation dofs stand at a boundary, where they have no turn of their own. Closures over long branches have
condensed unknowns, whose equations ``system.condensed_closures`` has. Their values are set, not added to: no other
entry has these places.
"""

import numpy as np
from numpy import uint64 as at

from rtmbs.jit.compiled import coarse_inner_kernel, inlined_kernel, inner_kernel, kernel
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    combine6,
    cross3,
    cross_force,
    cross_motion,
    dot3,
    dot6,
    inertia_times,
    join,
    linear,
    load3,
    load6,
    load10,
    place,
    scale3,
    scale6,
    store3,
    store6,
    symmetric_times,
)
from rtmbs.semirecursive.closures import add_condition_tangent, add_contact_tangent, closure_wrench, row_variation
from rtmbs.semirecursive.force_kernels import add_connector_column
from rtmbs.system.tables import ROTATION, WRENCH

SHORT = 6  # ancestors that are taken one by one; more are worth copying side by side


@inlined_kernel
def store_coriolis(ws, i):
    """Write the twelve Coriolis numbers of body ``i``."""
    v, w = linear(load6(ws.V, i)), angular(load6(ws.V, i))
    c = (ws.inertia[i, 1], ws.inertia[i, 2], ws.inertia[i, 3])
    J = (ws.inertia[i, 4], ws.inertia[i, 5], ws.inertia[i, 6], ws.inertia[i, 7], ws.inertia[i, 8], ws.inertia[i, 9])
    h, cv = symmetric_times(J, w), 2.0 * dot3(c, v)
    rows = ((J[0], J[3], J[4]), (J[3], J[1], J[5]), (J[4], J[5], J[2]))
    # omega~ J has columns omega x J_k; J omega~ has rows (J_k x omega), for J is symmetric
    c0, c1, c2 = cross3(w, rows[0]), cross3(w, rows[1]), cross3(w, rows[2])
    ws.Bc[i, 0], ws.Bc[i, 1], ws.Bc[i, 2] = ws.momentum[i, 0], ws.momentum[i, 1], ws.momentum[i, 2]
    ws.Bc[i, 3] = cv - 2.0 * v[0] * c[0] + c0[0] + c0[0]
    ws.Bc[i, 4] = h[2] - 2.0 * v[0] * c[1] + c1[0] + c0[1]
    ws.Bc[i, 5] = -h[1] - 2.0 * v[0] * c[2] + c2[0] + c0[2]
    ws.Bc[i, 6] = -h[2] - 2.0 * v[1] * c[0] + c0[1] + c1[0]
    ws.Bc[i, 7] = cv - 2.0 * v[1] * c[1] + c1[1] + c1[1]
    ws.Bc[i, 8] = h[0] - 2.0 * v[1] * c[2] + c2[1] + c1[2]
    ws.Bc[i, 9] = h[1] - 2.0 * v[2] * c[0] + c0[2] + c2[0]
    ws.Bc[i, 10] = -h[0] - 2.0 * v[2] * c[1] + c1[2] + c2[1]
    ws.Bc[i, 11] = cv - 2.0 * v[2] * c[2] + c2[2] + c2[2]


@inlined_kernel
def coriolis_times(ws, i, a):
    """Return 2 Bc_i a."""
    p, w = load3(ws.Bc, i), angular(a)
    B = ws.Bc
    n = (
        B[i, 3] * w[0] + B[i, 4] * w[1] + B[i, 5] * w[2],
        B[i, 6] * w[0] + B[i, 7] * w[1] + B[i, 8] * w[2],
        B[i, 9] * w[0] + B[i, 10] * w[1] + B[i, 11] * w[2],
    )
    return join(scale3(2.0, cross3(w, p)), n)


@inlined_kernel
def coriolis_transposed(ws, i, a):
    """Return the angular part of 2 Bc_i^T a (its linear part is zero)."""
    p, v, w = load3(ws.Bc, i), linear(a), angular(a)
    B = ws.Bc
    n = (
        B[i, 3] * w[0] + B[i, 6] * w[1] + B[i, 9] * w[2],
        B[i, 4] * w[0] + B[i, 7] * w[1] + B[i, 10] * w[2],
        B[i, 5] * w[0] + B[i, 8] * w[1] + B[i, 11] * w[2],
    )
    return add3(scale3(2.0, cross3(p, v)), n)


@inner_kernel
def accumulate_composites(tables, ws):
    """Subtree sums of inertia and of its Coriolis part: plain sums, for all share the global origin.

    Where sections count their own bodies only, sums end at the interface above, and ws.section has those of a section.
    """
    parent, interfaces = tables.dofs.parent, tables.interfaces
    n = len(ws.tau)
    for i in range(n):
        store_coriolis(ws, i)
        for k in range(10):
            ws.Ic[i, k] = ws.inertia[i, k]
    for r in range(len(ws.section)):
        for k in range(22):
            ws.section[r, k] = 0.0
    for i in range(n - 1, -1, -1):
        p, r = parent[i], interfaces.of[i]
        if len(ws.section) > 0 and r >= 0 and interfaces.dof[r] == p:
            for k in range(10):
                ws.section[r, k] += ws.Ic[i, k]
            for k in range(12):
                ws.section[r, 10 + k] += ws.Bc[i, k]
        elif p >= 0:
            for k in range(10):
                ws.Ic[p, k] += ws.Ic[i, k]
            for k in range(12):
                ws.Bc[p, k] += ws.Bc[i, k]


@inlined_kernel
def bring_path(paths, start, depth, ws):
    """Let the columns of ws.path be X, Y and S of the ancestors of a dof, root first.

    Neighbours in the tree share most of their path: only columns below the last common ancestor are copied. ws.held
    names the dof of every column and, last, how many columns belong to one path.
    """
    last = len(ws.held) - 1
    same = min(depth, ws.held[last])
    for _ in range(same):
        if ws.held[same - 1] == paths.dof[start + same - 1]:
            break
        same -= 1
    for d in range(same, depth):
        j = paths.dof[start + d]
        for k in range(6):
            ws.path[k, d], ws.path[9 + k, d] = ws.X[j, k], ws.S[j, k]
        for k in range(3):
            ws.path[6 + k, d] = ws.Y[j, k]
        ws.held[d] = j
    ws.held[last] = depth


@inlined_kernel
def multiply_path(path, depth, left, left_coriolis, right):
    """Rows 15 and 16 of ``path``: left . X + left_coriolis . Y, and right . S, of every column; vectorised."""
    a0, a1, a2, a3, a4, a5 = left
    b0, b1, b2 = left_coriolis
    c0, c1, c2, c3, c4, c5 = right
    for d in range(depth):
        k = at(d)
        linear_part = a0 * path[at(0), k] + a1 * path[at(1), k] + a2 * path[at(2), k]
        angular_part = a3 * path[at(3), k] + a4 * path[at(4), k] + a5 * path[at(5), k]
        coriolis_part = b0 * path[at(6), k] + b1 * path[at(7), k] + b2 * path[at(8), k]
        path[at(15), k] = linear_part + angular_part + coriolis_part
    for d in range(depth):
        k = at(d)
        linear_part = c0 * path[at(9), k] + c1 * path[at(10), k] + c2 * path[at(11), k]
        angular_part = c3 * path[at(12), k] + c4 * path[at(13), k] + c5 * path[at(14), k]
        path[at(16), k] = linear_part + angular_part


@inlined_kernel
def pair_few(paths, start, last, left, left_coriolis, right, ws, values):
    """Entries of a dof with the ancestors from ``start`` to ``last``, one by one: copying columns would not pay."""
    for d in range(start, last):
        j = at(paths.dof[at(d)])
        values[at(paths.entry[at(d)])] += dot6(left, load6(ws.X, j)) + dot3(left_coriolis, load3(ws.Y, j))
        values[at(paths.entry_transposed[at(d)])] += dot6(right, load6(ws.S, j))


@inner_kernel
def pair_many(paths, start, last, left, left_coriolis, right, ws, values):
    """The same for many ancestors, whose columns stand side by side in ws.path."""
    bring_path(paths, start, last - start, ws)
    multiply_path(ws.path, last - start, left, left_coriolis, right)
    for d in range(last - start):
        values[at(paths.entry[at(start + d)])] += ws.path[at(15), at(d)]
        values[at(paths.entry_transposed[at(start + d)])] += ws.path[at(16), at(d)]


@coarse_inner_kernel
def add_rigid_body_tangent(tables, mass, velocity, position, ws, values):
    """values += mass M + velocity C + position K of the rigid bodies and gravity; needs inverse_dynamics before."""
    dofs, paths = tables.dofs, tables.paths
    accumulate_composites(tables, ws)
    ws.held[len(ws.held) - 1] = 0
    for i in range(len(ws.tau)):
        base, S = dofs.base[i], load6(ws.S, i)
        V_base = load6(ws.V, base)
        psid = cross_motion(V_base, S)
        psidd = add6(cross_motion(load6(ws.acc, base), S), cross_motion(V_base, psid))
        rate, twice = S, scale6(2.0, psid)  # psid + Sd = 2 psid, for V x S = (V_base + S zd) x S and S x S = 0
        if dofs.kind[i] == ROTATION:
            rate = load6(ws.rate, i)
            twice = cross_motion(add6(V_base, load6(ws.V, dofs.tip[i])), rate)
        X = add6(combine6(mass, rate, velocity, twice), scale6(position, psidd))
        Y = add3(scale3(velocity, angular(rate)), scale3(position, angular(psid)))
        store6(ws.psid, i, psid)
        store6(ws.X, i, X)
        store3(ws.Y, i, Y)
        inertia = load10(ws.Ic, i)
        left, left_coriolis = inertia_times(inertia, S), coriolis_transposed(ws, i, S)
        right = add6(inertia_times(inertia, X), coriolis_times(ws, i, combine6(velocity, rate, position, psid)))
        right = add6(right, scale6(position, cross_force(S, load6(ws.Fc, i))))
        start, last = paths.pointer[i], paths.pointer[i + 1] - 1
        if last - start <= SHORT:
            pair_few(paths, start, last, left, left_coriolis, right, ws, values)
        else:
            pair_many(paths, start, last, left, left_coriolis, right, ws, values)
        values[paths.entry[last]] += dot6(left, X) + dot3(left_coriolis, Y)
        if tables.interfaces.of[i] >= 0:
            join_interface(tables.interfaces.below, i, left, left_coriolis, right, values)
    turn_columns(dofs, paths, position, ws, values)
    join_sections(tables, ws, values)


@inner_kernel
def turn_columns(dofs, paths, position, ws, values):
    """Rows of rotation dofs above the column, within an element: all three columns turn with the body.

    To entry (r, c), r < c, comes position (S_c x S_r) . F, and S_c x S_r is the third column or its opposite.
    """
    if len(ws.rate) == 0:
        return
    for i in range(len(dofs.kind)):
        if dofs.reference[i] >= 0:
            F = load6(ws.Fc, i)
            second, third = paths.pointer[i + 2] - 1, paths.pointer[i + 3] - 1  # places of (i + 1, i + 1), ...
            values[paths.entry_transposed[second - 1]] -= position * dot6(load6(ws.S, i + 2), F)
            values[paths.entry_transposed[third - 2]] += position * dot6(load6(ws.S, i + 1), F)
            values[paths.entry_transposed[third - 1]] -= position * dot6(load6(ws.S, i), F)


@inner_kernel
def join_interface(places, i, left, left_coriolis, right, values):
    """Entries of dof ``i`` with the interface above it: left, left_coriolis by t in its row, -right in those of f."""
    values[places[i, 0]], values[places[i, 1]], values[places[i, 2]] = left[0], left[1], left[2]
    values[places[i, 3]], values[places[i, 4]], values[places[i, 5]] = left[3], left[4], left[5]
    values[places[i, 6]], values[places[i, 7]] = left_coriolis[0], left_coriolis[1]
    values[places[i, 8]] = left_coriolis[2]
    values[places[i, 9]], values[places[i, 10]], values[places[i, 11]] = -right[0], -right[1], -right[2]
    values[places[i, 12]], values[places[i, 13]], values[places[i, 14]] = -right[3], -right[4], -right[5]


@inner_kernel
def join_sections(tables, ws, values):
    """What interfaces have with the dofs of their own paths and with each other (equations: ``system.pattern``)."""
    interfaces, paths = tables.interfaces, tables.paths
    for k in range(len(interfaces.one)):
        values[interfaces.one[k]] = 1.0
    for k in range(len(interfaces.minus)):
        values[interfaces.minus[k]] = -1.0
    for r in range(len(interfaces.dof)):
        start = paths.pointer[interfaces.dof[r]] - interfaces.pointer[r]
        for entry in range(interfaces.pointer[r], interfaces.pointer[r + 1]):
            j = paths.dof[start + entry]
            for k in range(6):
                values[interfaces.above[entry, k]] = -ws.X[j, k]
                values[interfaces.above[entry, 9 + k]] = ws.S[j, k]
            for k in range(3):
                values[interfaces.above[entry, 6 + k]] = -ws.Y[j, k]
            if len(interfaces.twist) > 0:
                for k in range(6):
                    values[interfaces.twist[entry, k]] = -ws.S[j, k]
    for r in range(len(ws.section)):
        join_inertia(interfaces.inertia, r, ws, values)


@inner_kernel
def join_inertia(places, r, ws, values):
    """What the bodies of the section below interface ``r`` have with its t in the rows of its f: -I, and -2 B."""
    inertia, B = load10(ws.section, r), ws.section
    for k in range(6):
        column = inertia_times(inertia, unit6(k))
        for row in range(6):
            values[places[r, 9 * row + k]] = -column[row]
    px, py, pz = B[r, 10], B[r, 11], B[r, 12]
    for k in range(3):
        values[places[r, 27 + 6 + k]] = -B[r, 13 + k]
        values[places[r, 36 + 6 + k]] = -B[r, 16 + k]
        values[places[r, 45 + 6 + k]] = -B[r, 19 + k]
    # -2 e_k x p
    values[places[r, 6]], values[places[r, 15]], values[places[r, 24]] = 0.0, 2.0 * pz, -2.0 * py
    values[places[r, 7]], values[places[r, 16]], values[places[r, 25]] = -2.0 * pz, 0.0, 2.0 * px
    values[places[r, 8]], values[places[r, 17]], values[places[r, 26]] = 2.0 * py, -2.0 * px, 0.0


@inlined_kernel
def unit6(k):
    """Return the unit motion vector ``k``."""
    a, b, c = 1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0
    return (a, b, c, 1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0)


@kernel
def add_loop_tangent(tables, alpha, position, left, right, values):
    """values += position left^T diag(alpha) right of two Phi_z (entries,); five rows at a time, as in closure_jacobian.

    Penalties take Phi_z of one pose twice, the midpoint rule those of the two ends of a step. Condensed closures are
    left to ``add_condensed_loops``.
    """
    closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
    for l in range(len(closures.point_a)):
        begin, end, entry = closures.row_pointer[at(l)], closures.row_pointer[at(l + 1)], closures.entry_pointer[at(l)]
        connector, whole = closures.connector[at(l)], end - (end - begin) % 5
        block = connectors.block_pointer[at(connector)]
        if connectors.block_pointer[at(connector + 1)] == block:  # condensed
            continue
        width = connectors.pointer[at(connector + 1)] - connectors.pointer[at(connector)]
        for row in range(begin, whole, 5):
            add_five_rows(left, right, entry, width, alpha, row, position, connectors.entry, block, values)
            entry += 5 * width
        for row in range(whole, end):
            add_row(left, right, entry, width, position * alpha[at(row)], connectors.entry, block, values)
            entry += width
    for k in range(len(drivers.dof)):
        values[drivers.entry[k]] += position * alpha[len(closures.kind) + k]


@inlined_kernel
def add_five_rows(left, right, entry, width, alpha, row, position, places, block, values):
    """values += position left^T diag(alpha) right of five rows of one closure."""
    a0, a1, a2 = position * alpha[at(row)], position * alpha[at(row + 1)], position * alpha[at(row + 2)]
    a3, a4 = position * alpha[at(row + 3)], position * alpha[at(row + 4)]
    e1, e2, e3, e4 = entry + width, entry + 2 * width, entry + 3 * width, entry + 4 * width
    for j in range(width):
        w0, w1, w2 = a0 * left[at(entry + j)], a1 * left[at(e1 + j)], a2 * left[at(e2 + j)]
        w3, w4 = a3 * left[at(e3 + j)], a4 * left[at(e4 + j)]
        for i in range(width):
            low = w0 * right[at(entry + i)] + w1 * right[at(e1 + i)]
            high = w2 * right[at(e2 + i)] + w3 * right[at(e3 + i)]
            values[at(places[at(block + i)])] += (low + high) + w4 * right[at(e4 + i)]
        block += width


@inlined_kernel
def add_row(left, right, entry, width, weight, places, block, values):
    """values += weight left^T right of one row."""
    for j in range(width):
        w = weight * left[at(entry + j)]
        for i in range(width):
            values[at(places[at(block + i)])] += w * right[at(entry + i)]
        block += width


@coarse_inner_kernel
def add_multiplier_tangent(tables, lam, position, ws, values):
    """values += position (Phi_z^T lam)_z: the turning and changing loop wrenches, for ``lagged`` and ``exact``."""
    closures, connectors = tables.closures, tables.connectors
    for l in range(tables.contacts.first[0]):
        connector = closures.connector[l]
        if connectors.block_pointer[connector + 1] == connectors.block_pointer[connector]:  # condensed
            continue
        a, b = connectors.a[connector], connectors.b[connector]
        F = closure_wrench(closures, l, lam, ws)
        xa, xb = place(ws.A, ws.r, a, load3(closures.point_a, l)), place(ws.A, ws.r, b, load3(closures.point_b, l))
        zero = scale6(0.0, F)
        for c in range(connectors.pointer[connector], connectors.pointer[connector + 1]):
            X = scale6(position, load6(ws.S, connectors.dof[c]))
            dF = zero
            for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
                if connectors.sign[c] < 0.0:
                    dG = row_variation(closures, row, a, b, xa, xb, X, zero, ws)
                else:
                    dG = row_variation(closures, row, a, b, xa, xb, zero, X, ws)
                dF = add6(dF, scale6(-lam[row], dG))
            add_connector_column(tables.dofs, connectors, connector, c, dF, cross_force(X, F), ws, values)
    if len(tables.contacts.normal):
        add_contact_tangent(tables, lam, position, ws, values)
    if len(tables.conditions.scale):
        add_condition_tangent(tables, lam, position, ws, values)


@inner_kernel
def add_masses(tables, ws, own_mass, values):
    """values += entries of M of every dof with itself, its ancestors and its interface; own_mass = the diagonal.

    They are those of ``tangent.add_rigid_body_tangent`` with mass 1 alone: columns X = S, and no Coriolis numbers.
    """
    paths, below, none = tables.paths, tables.interfaces.below, (0.0, 0.0, 0.0)
    for j in range(len(ws.tau)):
        S, start, last = load6(ws.S, j), paths.pointer[j], paths.pointer[j + 1] - 1
        left = inertia_times(load10(ws.Ic, j), S)
        for d in range(start, last):
            entry = dot6(left, load6(ws.S, at(paths.dof[at(d)])))
            values[at(paths.entry[at(d)])] += entry
            values[at(paths.entry_transposed[at(d)])] += entry
        own_mass[j] = dot6(left, S)
        values[at(paths.entry[at(last)])] += own_mass[j]
        if len(tables.interfaces.dof) > 0:
            store6(ws.X, j, S)
            store3(ws.Y, j, none)
            if tables.interfaces.of[j] >= 0:
                join_interface(below, j, left, none, left, values)


@inner_kernel
def gather_sections(tables, ws):
    """ws.Ic = the inertia of all that each dof carries in its section; ws.section that below each interface."""
    parent, interfaces = tables.dofs.parent, tables.interfaces
    n = len(ws.tau)
    for i in range(n):
        for k in range(10):
            ws.Ic[i, k] = ws.inertia[i, k]
    for r in range(len(ws.section)):
        for k in range(22):
            ws.section[r, k] = 0.0
    for i in range(n - 1, -1, -1):
        p, r = parent[i], interfaces.of[i]
        for k in range(10):
            if r >= 0 and interfaces.dof[r] == p:
                ws.section[r, k] += ws.Ic[i, k]
            elif p >= 0:
                ws.Ic[p, k] += ws.Ic[i, k]


@inner_kernel
def gather_inertias(dofs, ws):
    """ws.Ic = the inertia of all that each dof carries."""
    n = len(ws.tau)
    for i in range(n):
        for k in range(10):
            ws.Ic[i, k] = ws.inertia[i, k]
    for i in range(n - 1, -1, -1):
        if dofs.parent[i] >= 0:
            for k in range(10):
                ws.Ic[dofs.parent[i], k] += ws.Ic[i, k]


@coarse_inner_kernel
def add_condensed_loops(tables, alpha, position, ws, values):
    """Entries of mu: position Phi_z^T diag(alpha) Phi_z of condensed closures, and the pivots of all their unknowns."""
    condensed, closures = tables.condensed, tables.closures
    for k in range(len(condensed.one)):
        values[condensed.one[k]] = 1.0
    for k in range(len(condensed.closure)):
        begin = closures.row_pointer[condensed.closure[k]]
        first, last = condensed.row[k], condensed.row[k + 1]
        for mu in range(first, last):
            row = begin + mu - first
            root, G = np.sqrt(position * alpha[row]), load6(ws.G, row)
            at = condensed.place[k] + mu - first
            for e in range(condensed.pointer[k], condensed.pointer[k + 1]):
                entry = condensed.sign[e] * root * dot6(load6(ws.S, condensed.dof[e]), G)
                values[condensed.pulled[at]] = entry
                values[condensed.seen[at]] = -entry
                at += last - first
            for side in range(2):
                if condensed.interface[k, side] >= 0:
                    weight = root if side == 0 else -root
                    for c in range(6):
                        values[condensed.twist[mu, side, c]] = weight * G[c]
                        values[condensed.wrench[mu, side, c]] = weight * G[c]


@inner_kernel
def carry_wrenches(tables, lam, ws):
    """Add what condensed closures press with to the wrench that every dof of their branches carries."""
    condensed, connectors = tables.condensed, tables.connectors
    for k in range(len(condensed.closure)):
        l = condensed.closure[k]
        F, connector = closure_wrench(tables.closures, l, lam, ws), tables.closures.connector[l]
        for c in range(connectors.pointer[connector], connectors.pointer[connector + 1]):
            j, sign = connectors.dof[c], connectors.sign[c]
            for i in range(6):
                ws.Fc[j, i] -= sign * F[i]


@coarse_inner_kernel
def add_condensed_multipliers(tables, lam, position, ws, values):
    """Entries of phi: position (Phi_z^T lam)_z of condensed closures, but for what ``carry_wrenches`` made of it."""
    condensed = tables.condensed
    for k in range(len(condensed.closure)):
        F = closure_wrench(tables.closures, condensed.closure[k], lam, ws)
        for e in range(condensed.pointer[k], condensed.pointer[k + 1]):
            j = condensed.dof[e]
            S, second = load6(ws.S, j), condensed.sign[e] > 0.0
            dF, turned = wrench_change(tables, k, lam, scale6(position, S), second, F, ws)
            for c in range(WRENCH):
                values[condensed.turned[e, c]] = -condensed.sign[e] * S[c]
                values[condensed.turning[e, c]] = -(dF[c] if second else turned[c])
                values[condensed.turning[e, 6 + c]] = -(turned[c] if second else dF[c])
        for side in range(2):
            if condensed.interface[k, side] >= 0:
                turn_interface(tables, k, lam, position, side == 1, F, ws, values)


@inner_kernel
def turn_interface(tables, k, lam, position, second, F, ws, values):
    """Entries of phi with the interface above b (``second``) or a of condensed closure ``k``."""
    condensed, side = tables.condensed, 1 if second else 0
    for i in range(6):
        dF, turned = wrench_change(tables, k, lam, scale6(position, unit6(i)), second, F, ws)
        values[condensed.turned_wrench[k, side, i]] = 1.0 if second else -1.0
        for c in range(WRENCH):
            values[condensed.turning_twist[k, side, c, i]] = -(dF[c] if second else turned[c])
            values[condensed.turning_twist[k, side, 6 + c, i]] = -(turned[c] if second else dF[c])


@inner_kernel
def wrench_change(tables, k, lam, X, second, F, ws):
    """Return dF as b (``second``) or a moves by the twist X, and the same less the turn X x* F."""
    closures, connectors, l = tables.closures, tables.connectors, tables.condensed.closure[k]
    connector = closures.connector[l]
    a, b = connectors.a[connector], connectors.b[connector]
    xa, xb = place(ws.A, ws.r, a, load3(closures.point_a, l)), place(ws.A, ws.r, b, load3(closures.point_b, l))
    zero = scale6(0.0, X)
    dF = zero
    for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
        if second:
            dG = row_variation(closures, row, a, b, xa, xb, zero, X, ws)
        else:
            dG = row_variation(closures, row, a, b, xa, xb, X, zero, ws)
        dF = add6(dF, scale6(-lam[row], dG))
    return dF, add6(dF, scale6(-1.0, cross_force(X, F)))

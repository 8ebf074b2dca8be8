"""Compiled penalties and wrench derivatives of closures over long branches, whose unknowns are condensed.

``system.condensed_closures`` has the equations. Values are set, not added to: no other entry has these places.
"""

import numpy as np

from rtmbs.jit.compiled import coarse_inner_kernel, inner_kernel
from rtmbs.numerics.spatial import add6, cross_force, dot6, load3, load6, place, scale6
from rtmbs.semirecursive.closures import closure_wrench, row_variation
from rtmbs.semirecursive.tangent import unit6
from rtmbs.system.tables import WRENCH


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

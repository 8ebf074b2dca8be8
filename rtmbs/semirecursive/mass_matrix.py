"""Compiled mass matrix M of the joint coordinates: composite inertias, and an entry for every (dof, ancestor) pair.

At the evaluated positions and inertias. The entries are those of ``tangent.add_rigid_body_tangent`` with mass 1 alone,
at a third of its cost. Rotation dofs stand at a boundary, where they have no turn of their own.
"""

from numpy import uint64 as at

from rtmbs.jit.compiled import inner_kernel
from rtmbs.numerics.spatial import dot6, inertia_times, load6, load10, store3, store6
from rtmbs.semirecursive.tangent import join_interface


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

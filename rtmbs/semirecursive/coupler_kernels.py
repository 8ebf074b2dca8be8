"""Compiled equations of couplers: sum of ratio times coordinate = c (METHODS 1.30).

Their rows of Phi_z are constant and G is zero: nothing passes between two frames, lam ratio acts on the coordinates.
"""

from numpy import uint64 as at

from rtmbs.jit.compiled import inlined_kernel, lazy_kernel


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

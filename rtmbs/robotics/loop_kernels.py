"""Compiled loops over states of a robot with closed loops: loop equations, their Jacobian and drift, triangular solves.

The loop equations are Phi (m,), with Phid = Phi_q v + Phi_t and Phidd = Phi_q a + drift.
"""

from rtmbs.jit.compiled import coarse_kernel
from rtmbs.robotics.kernels import take_pose, take_rates, unfit
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z
from rtmbs.semirecursive.closures import closure_accelerations, closure_velocities, evaluate_closures
from rtmbs.semirecursive.contacts import add_rate_gaps
from rtmbs.semirecursive.passes import forward_accelerations, forward_positions, forward_velocities


@coarse_kernel
def loop_equations(tables, R0, u, ws, m, rows, q, v, Phi, J, Phid, drift):
    """Phi (k, r) and Phi_q (k, r, nv) of k states, of chosen rows.

    Where Phid (k, r) and drift (k, r) are not empty, they get the rates, and Phidd without accelerations.
    """
    faults = 0
    for s in range(len(q)):
        faults += take_pose(m, q[s], R0, ws) + unfit(v[s])
        take_rates(m, v[s], ws.zd)
        forward_positions(tables, R0, ws.z, ws)
        evaluate_closures(tables, ws.z, u, ws)
        forward_velocities(tables.dofs, ws.zd, ws)
        if len(tables.contacts.normal):
            add_rate_gaps(tables, ws.Phi_z, ws.rate_share[0], ws.zd, ws.Phi)
        for r in range(len(rows)):
            Phi[s, r] = ws.Phi[rows[r]]
        if len(drift):
            for i in range(len(ws.zdd)):
                ws.zdd[i] = 0.0
            forward_accelerations(tables.dofs, ws.zd, ws.zdd, u, ws)
            closure_velocities(tables, ws.zd, u, ws)
            closure_accelerations(tables, ws.zd, ws.zdd, u, ws)
            for r in range(len(rows)):
                Phid[s, r] = ws.Phid[rows[r]]
                drift[s, r] = ws.Phidd[rows[r]]
        for r in range(len(rows)):
            for j in range(J.shape[2]):
                J[s, r, j] = 0.0
        for i in range(len(ws.zdd)):  # column i of Phi_z, which goes to the rates of row i of T
            ws.zdd[i] = 1.0
            apply_Phi_z(tables, ws, ws.zdd, ws.Phid)
            ws.zdd[i] = 0.0
            for e in range(m.pointer[i], m.pointer[i + 1]):
                for r in range(len(rows)):
                    J[s, r, m.column[e]] += m.factor[e] * ws.Phid[rows[r]]
    return faults


@coarse_kernel
def solve_lower(L, B):
    """B = L^-1 B for k lower triangular L (k, n, n) and B (k, n, c), in place."""
    for s in range(len(L)):
        for i in range(L.shape[1]):
            for j in range(i):
                for c in range(B.shape[2]):
                    B[s, i, c] -= L[s, i, j] * B[s, j, c]
            for c in range(B.shape[2]):
                B[s, i, c] /= L[s, i, i]
    return 0


@coarse_kernel
def solve_upper(L, B):
    """B = L^-T B for k lower triangular L (k, n, n) and B (k, n, c), in place."""
    for s in range(len(L)):
        for i in range(L.shape[1] - 1, -1, -1):
            for j in range(i + 1, L.shape[1]):
                for c in range(B.shape[2]):
                    B[s, i, c] -= L[s, j, i] * B[s, j, c]
            for c in range(B.shape[2]):
                B[s, i, c] /= L[s, i, i]
    return 0

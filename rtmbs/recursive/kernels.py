"""The recursion as one kernel: factor, solve, and correct what rounding left."""

from rtmbs.jit.compiled import inlined_kernel, kernel
from rtmbs.recursive.least_squares import factor_border, solve_border
from rtmbs.recursive.passes import factor_bodies, load_bodies, respond
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, apply_through, pull_back
from rtmbs.semirecursive.closures import closure_accelerations, closure_velocities
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.passes import forward_accelerations, inverse_dynamics
from rtmbs.spatial import dot6, load6

INDEFINITE = -1  # status: coordinates are kept, and the border is Python's to solve


@kernel
def factor_state(tables, border, tolerance, ws, sc):
    """Factor at the evaluated state, zdd = 0: passes and border. Status as ``factor_bodies``, or INDEFINITE."""
    status = factor_bodies(tables.dofs, border, ws, sc)
    if status:
        return status
    if len(sc.x) > len(sc.lam):
        return INDEFINITE
    factor_border(border, tolerance, sc)
    return 0


@kernel
def take_state(ws, sc):
    """f = Q of the evaluated state, zdd = 0; its applied part is kept for ``leave``."""
    for i in range(len(sc.f)):
        sc.f[i] = -ws.tau[i]
        sc.applied[i] = dot6(load6(ws.S, i), load6(ws.Fc, i)) - ws.tau[i]
        sc.zdd[i] = 0.0
    for r in range(len(sc.lam)):
        sc.lam[r] = 0.0


@kernel
def leave(tables, u, gamma, ws, sc):
    """f = Q - M zdd - Phi_z^T lam and gamma - Phi_z zdd: what the accelerations found leave."""
    forward_accelerations(tables.dofs, ws.zd, sc.zdd, u, ws)
    inverse_dynamics(tables.dofs, ws)
    for i in range(len(sc.f)):
        sc.f[i] = sc.applied[i] - ws.tau[i]
    if len(sc.gamma):
        pull_back(tables, ws, sc.lam, -1.0, sc.f)
        apply_Phi_z(tables, ws, sc.zdd, sc.gamma)
        for r in range(len(sc.gamma)):
            sc.gamma[r] = gamma[r] - sc.gamma[r]


@inlined_kernel
def solve_state(tables, border, ws, sc):
    """Add the answer to sc.f and sc.gamma to zdd and lam."""
    load_bodies(tables.dofs, border, ws, sc)
    solve_border(border, sc)
    respond(tables.dofs, border, ws, sc)


@kernel
def accelerate(tables, border, tolerance, rounds, u, gamma, ws, sc):
    """zdd and lam at the evaluated state, corrected ``rounds`` times. Status as ``factor_state``."""
    take_state(ws, sc)
    status = factor_state(tables, border, tolerance, ws, sc)
    if status:
        return status
    for r in range(len(gamma)):
        sc.gamma[r] = gamma[r]
    solve_state(tables, border, ws, sc)
    for _ in range(rounds):
        leave(tables, u, gamma, ws, sc)
        solve_state(tables, border, ws, sc)
    return 0


@inlined_kernel
def take_gamma(tables, alpha, beta, u, ws, gamma):
    """gamma = -Phidd of the rates alone - 2 alpha Phid - beta^2 Phi, at the evaluated state, zdd = 0."""
    if len(gamma) == 0:
        return
    closure_accelerations(tables, ws.zd, ws.zdd, u, ws)
    for r in range(len(gamma)):
        gamma[r] = -ws.Phidd[r] - beta * beta * ws.Phi[r]
    if alpha != 0.0:
        closure_velocities(tables, ws.zd, u, ws)
        for r in range(len(gamma)):
            gamma[r] -= 2.0 * alpha * ws.Phid[r]


@kernel
def accelerations_here(tables, border, tolerance, rounds, alpha, beta, u, ws, sc, gamma):
    """zdd and lam at the evaluated state, zdd = 0, with Baumgarte's gains, and what they leave; gamma is written."""
    for i in range(len(sc.free)):
        sc.free[i] = abs(ws.tau[i])
    take_gamma(tables, alpha, beta, u, ws, gamma)
    status = accelerate(tables, border, tolerance, rounds, u, gamma, ws, sc)
    if status == 0:
        judge(tables, border, ws, sc, gamma)
    return status


@kernel
def judge(tables, border, ws, sc, gamma):
    """left = |Phi_z zdd - gamma| of every row, and terms = the sizes that they are compared with.

    Terms of Phidd are those of the accelerations, those that forces alone would make, and those of rates.
    """
    if len(gamma) == 0:
        return
    fastest = 0.0
    for i in range(len(ws.zd)):
        fastest = max(fastest, abs(ws.zd[i]))
    for i in range(len(sc.parts)):
        free = sc.free[i] / sc.d[i] if border.kept[i] < 0 else 0.0
        sc.parts[i] = abs(sc.zdd[i]) + free + fastest * abs(ws.zd[i])
    for e in range(len(sc.reach)):
        sc.reach[e] = abs(ws.Phi_z[e])
    apply_through(tables, sc.reach, sc.parts, sc.terms)
    apply_Phi_z(tables, ws, sc.zdd, sc.left)
    for r in range(len(gamma)):
        sc.left[r] = abs(sc.left[r] - gamma[r])
        sc.terms[r] += abs(gamma[r])


@kernel
def accelerations_at(tables, border, tolerance, rounds, R0, u, none, ws, sc, gamma):
    """zdd and lam at ws.z, ws.zd: the evaluation, then ``accelerate``. ``none`` (m,) are zeros, gamma is written."""
    for i in range(len(ws.zdd)):
        ws.zdd[i] = 0.0
    evaluate_residual(tables, R0, u, none, ws)
    take_gamma(tables, 0.0, 0.0, u, ws, gamma)
    return accelerate(tables, border, tolerance, rounds, u, gamma, ws, sc)

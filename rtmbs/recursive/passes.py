"""Compiled passes of the recursion of Bae and Haug (METHODS 3): tips to root, root to tips, and one refinement.

Reference point of a dof is its own origin, so that B1 = [[1, -s~], [0, 1]] with s the way from the parent's origin, and
B2 = [pitch u; u] of a turn, [u; 0] of a slide. All that velocities do is inside the joint forces f, so D is zero:
unknowns are the accelerations that f and gamma add to those of rates alone. A rotation dof is a turn of a joint of its
own.
"""

from numpy import sqrt

from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel
from rtmbs.numerics.spatial import (
    add3,
    cross3,
    dot3,
    dot6,
    load3,
    load6,
    load33,
    multiply33,
    rotate,
    scale3,
    sub3,
    symmetric_times,
)
from rtmbs.recursive.reduced_system import factor_border, solve_border
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z, apply_through, pull_back
from rtmbs.semirecursive.closures import closure_accelerations, closure_velocities
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.passes import forward_accelerations, inverse_dynamics
from rtmbs.system.tables import PRISMATIC

LOST = 1e-13  # of the rigid inertia of the subtree: what counts as no inertia along a coordinate


@kernel
def factor_bodies(dofs, border, ws, sc):
    """Backward pass of K, PhiM and PhiL. Returns 0, or i + 1 of the first dof without inertia that is not kept."""
    place_rows(border, ws, sc)
    place_bodies(dofs, ws, sc)
    return factor_down_to(dofs, border, len(sc.d), 0, ws, sc)


@inlined_kernel
def factor_down_to(dofs, border, end, begin, ws, sc):
    """The backward pass of dofs end - 1, ..., begin alone; status as ``factor_bodies``."""
    for i in range(end - 1, begin - 1, -1):
        axis, p, first, last = axis_of(dofs, i, ws), dofs.parent[i], border.pointer[i], border.pointer[i + 1]
        slide = dofs.kind[i] == PRISMATIC
        d = project_inertia(slide, i, axis, sc)
        if dofs.pitch[i] != 0.0:
            d = add_pitch(border, dofs.pitch[i], i, axis, sc)
        project_rows(border, slide, first, last, axis, d, sc)
        if border.kept[i] >= 0:
            keep_coordinate(border, i, d, sc)
        else:
            size = sc.size[i, 0 if slide else 1] + dofs.pitch[i] ** 2 * sc.size[i, 0]
            if not d > LOST * size:
                return i + 1
            eliminate(border, i, 1.0 / d, sc)
        if p >= 0:
            s = sub3(load3(ws.r, i), load3(ws.r, p))
            pass_inertia_up(i, p, s, sc)
            pass_rows_up(border, first, last, s, sc)
            if border.kept[i] >= 0:
                add_row(sc.P, border.above[i], sc.U, i, s)
    return 0


@inlined_kernel
def place_rows(border, ws, sc):
    """Rows of the closures at the dofs that they join, and on coordinates; PhiL starts at zero."""
    for e in range(len(sc.h)):
        sc.h[e] = 0.0
        for k in range(6):
            sc.P[e, k] = 0.0
    for k in range(len(sc.C)):
        sc.C[k] = 0.0
    for r in range(len(sc.bound)):
        sc.bound[r] = 0.0
    for i in range(len(sc.d)):
        for e in range(border.pointer[i], border.pointer[i + 1]):
            row = border.row[e]
            if row < len(border.at_b):
                if border.at_b[row] == e:
                    add_closure_row(sc.P, e, ws.G, row, load3(ws.r, i), 1.0)
                if border.at_a[row] == e:
                    add_closure_row(sc.P, e, ws.G, row, load3(ws.r, i), -1.0)
    for k in range(len(border.joint)):
        sc.h[border.joint[k]] += 1.0 if border.source[k] < 0 else ws.Phi_z[border.source[k]]


@inlined_kernel
def add_closure_row(P, e, G, row, r, sign):
    """P[e] += sign G[row], moved from the global origin to the point r."""
    f, n = (G[row, 0], G[row, 1], G[row, 2]), (G[row, 3], G[row, 4], G[row, 5])
    n = sub3(n, cross3(r, f))
    for k in range(3):
        P[e, k] += sign * f[k]
        P[e, 3 + k] += sign * n[k]


@inlined_kernel
def place_bodies(dofs, ws, sc):
    """Own inertia of every body about its dof's origin: A = m 1, B = -m c~, D = J - m c~ c~."""
    for i in range(len(sc.d)):
        for k in range(21):
            sc.inertia[i, k] = 0.0
        m = dofs.mass[i]
        sc.size[i, 0], sc.size[i, 1] = m, 0.0
        if m == 0.0 and dofs.inertia[i, 0, 0] == 0.0 and dofs.inertia[i, 1, 1] == 0.0:
            continue  # a massless frame
        c = rotate(ws.A, i, load3(dofs.mass_center, i))
        J = multiply33(ws.A, i, dofs.inertia, i)
        a = load33(ws.A, i)
        cc, x = dot3(c, c), scale3(m, c)
        sc.inertia[i, 0] = sc.inertia[i, 1] = sc.inertia[i, 2] = m
        sc.inertia[i, 7], sc.inertia[i, 8], sc.inertia[i, 11] = x[2], -x[1], x[0]
        sc.inertia[i, 9], sc.inertia[i, 12], sc.inertia[i, 13] = -x[2], x[1], -x[0]
        sc.inertia[i, 15] = dot3(J[0], a[0]) + m * (cc - c[0] * c[0])
        sc.inertia[i, 16] = dot3(J[1], a[1]) + m * (cc - c[1] * c[1])
        sc.inertia[i, 17] = dot3(J[2], a[2]) + m * (cc - c[2] * c[2])
        sc.inertia[i, 18] = dot3(J[0], a[1]) - x[0] * c[1]
        sc.inertia[i, 19] = dot3(J[0], a[2]) - x[0] * c[2]
        sc.inertia[i, 20] = dot3(J[1], a[2]) - x[1] * c[2]
        sc.size[i, 1] = sc.inertia[i, 15] + sc.inertia[i, 16] + sc.inertia[i, 17]


@inlined_kernel
def axis_of(dofs, i, ws):
    """Return the axis of a dof, axes of the world."""
    if dofs.kind[i] == PRISMATIC:
        return ws.S[i, 0], ws.S[i, 1], ws.S[i, 2]
    return ws.S[i, 3], ws.S[i, 4], ws.S[i, 5]


@inlined_kernel
def project_inertia(slide, i, u, sc):
    """U = (M + K) B2 and S = B2^T U of one dof; returns S."""
    I = sc.inertia
    if slide:
        f = symmetric_times((I[i, 0], I[i, 1], I[i, 2], I[i, 3], I[i, 4], I[i, 5]), u)
        n = (
            I[i, 6] * u[0] + I[i, 9] * u[1] + I[i, 12] * u[2],
            I[i, 7] * u[0] + I[i, 10] * u[1] + I[i, 13] * u[2],
            I[i, 8] * u[0] + I[i, 11] * u[1] + I[i, 14] * u[2],
        )
        d = dot3(u, f)
    else:
        f = (
            I[i, 6] * u[0] + I[i, 7] * u[1] + I[i, 8] * u[2],
            I[i, 9] * u[0] + I[i, 10] * u[1] + I[i, 11] * u[2],
            I[i, 12] * u[0] + I[i, 13] * u[1] + I[i, 14] * u[2],
        )
        n = symmetric_times((I[i, 15], I[i, 16], I[i, 17], I[i, 18], I[i, 19], I[i, 20]), u)
        d = dot3(u, n)
    for k in range(3):
        sc.U[i, k] = f[k]
        sc.U[i, 3 + k] = n[k]
    sc.d[i] = d
    return d


@inner_kernel
def add_pitch(border, pitch, i, u, sc):
    """The share of the slide in U, S and h of a helical dof, B2 = [pitch u; u]; returns S."""
    I, x = sc.inertia, scale3(pitch, u)
    f = symmetric_times((I[i, 0], I[i, 1], I[i, 2], I[i, 3], I[i, 4], I[i, 5]), x)
    for k in range(3):
        sc.U[i, k] += f[k]
        sc.U[i, 3 + k] += I[i, 6 + k] * x[0] + I[i, 9 + k] * x[1] + I[i, 12 + k] * x[2]
    sc.d[i] = dot3(u, (sc.U[i, 3], sc.U[i, 4], sc.U[i, 5])) + dot3(x, (sc.U[i, 0], sc.U[i, 1], sc.U[i, 2]))
    for e in range(border.pointer[i], border.pointer[i + 1]):
        sc.h[e] += sc.P[e, 0] * x[0] + sc.P[e, 1] * x[1] + sc.P[e, 2] * x[2]
    return sc.d[i]


@inlined_kernel
def project_rows(border, slide, first, last, u, d, sc):
    """h = PhiM B2 and what rows say of the coordinate itself; |h| is at most the length of the row's half."""
    k = 0 if slide else 3
    for e in range(first, last):
        x, y, z = sc.P[e, k], sc.P[e, k + 1], sc.P[e, k + 2]
        most = x * x + y * y + z * z + sc.h[e] * sc.h[e]
        sc.h[e] += x * u[0] + y * u[1] + z * u[2]
        if d > 0.0:
            sc.bound[border.row[e]] += most / d


@inlined_kernel
def keep_coordinate(border, i, d, sc):
    """The row of a coordinate that stays unknown: C gets S and h."""
    own, g = border.kept[i], border.group[i]
    size, base, k = border.start[g + 1] - border.start[g], border.square[g], border.local[own]
    sc.C[base + k * size + k] += d
    sc.bound[own] += abs(d)
    for e in range(border.pointer[i], border.pointer[i + 1]):
        l = border.local[border.row[e]]
        sc.C[base + k * size + l] += sc.h[e]
        sc.C[base + l * size + k] += sc.h[e]


@inlined_kernel
def eliminate(border, i, inverse, sc):
    """M + K -= U U^T / S, PhiM -= h U^T / S, PhiL -= h h^T / S (its lower half)."""
    I, U, g = sc.inertia, sc.U, border.group[i]
    f = (U[i, 0], U[i, 1], U[i, 2])
    n = (U[i, 3], U[i, 4], U[i, 5])
    fs, ns = scale3(inverse, f), scale3(inverse, n)
    for k in range(3):
        I[i, k] -= fs[k] * f[k]
        I[i, 15 + k] -= ns[k] * n[k]
        for l in range(3):
            I[i, 6 + 3 * k + l] -= fs[k] * n[l]
    I[i, 3] -= fs[0] * f[1]
    I[i, 4] -= fs[0] * f[2]
    I[i, 5] -= fs[1] * f[2]
    I[i, 18] -= ns[0] * n[1]
    I[i, 19] -= ns[0] * n[2]
    I[i, 20] -= ns[1] * n[2]
    if g < 0:
        return
    size, base, first = border.start[g + 1] - border.start[g], border.square[g], border.pointer[i]
    for e in range(first, border.pointer[i + 1]):
        row, h = border.row[e], inverse * sc.h[e]
        place = base + border.local[row] * size
        for other in range(first, e + 1):
            sc.C[place + border.local[border.row[other]]] -= h * sc.h[other]
        for k in range(3):
            sc.P[e, k] -= h * f[k]
            sc.P[e, 3 + k] -= h * n[k]


@inlined_kernel
def pass_inertia_up(i, p, s, sc):
    """K of the parent += B1^T (M + K) B1, and the rigid size of the subtree."""
    I = sc.inertia
    a = (
        (I[i, 0], I[i, 3], I[i, 4]),
        (I[i, 3], I[i, 1], I[i, 5]),
        (I[i, 4], I[i, 5], I[i, 2]),
    )
    b = (
        (I[i, 6], I[i, 7], I[i, 8]),
        (I[i, 9], I[i, 10], I[i, 11]),
        (I[i, 12], I[i, 13], I[i, 14]),
    )
    c = sub3(b[0], cross3(a[0], s)), sub3(b[1], cross3(a[1], s)), sub3(b[2], cross3(a[2], s))
    old0, old1, old2 = (b[0][0], b[1][0], b[2][0]), (b[0][1], b[1][1], b[2][1]), (b[0][2], b[1][2], b[2][2])
    new0, new1, new2 = (c[0][0], c[1][0], c[2][0]), (c[0][1], c[1][1], c[2][1]), (c[0][2], c[1][2], c[2][2])
    x0, x1 = cross3(old0, s), cross3(old1, s)
    x2 = cross3(old2, s)
    y0, y1, y2 = cross3(s, new0), cross3(s, new1), cross3(s, new2)
    for k in range(6):
        I[p, k] += I[i, k]
    for k in range(3):
        I[p, 6 + k] += c[0][k]
        I[p, 9 + k] += c[1][k]
        I[p, 12 + k] += c[2][k]
    I[p, 15] += I[i, 15] - x0[0] + y0[0]
    I[p, 16] += I[i, 16] - x1[1] + y1[1]
    I[p, 17] += I[i, 17] - x2[2] + y2[2]
    I[p, 18] += I[i, 18] - x0[1] + y1[0]
    I[p, 19] += I[i, 19] - x0[2] + y2[0]
    I[p, 20] += I[i, 20] - x1[2] + y2[1]
    m = sc.size[i, 0]
    sc.size[p, 0] += m
    sc.size[p, 1] += (sqrt(sc.size[i, 1]) + sqrt(2.0 * m * dot3(s, s))) ** 2


@inlined_kernel
def pass_rows_up(border, first, last, s, sc):
    """PhiM of the parent += PhiM B1."""
    for e in range(first, last):
        if border.up[e] >= 0:
            add_row(sc.P, border.up[e], sc.P, e, s)


@inlined_kernel
def add_row(P, to, Q, e, s):
    """P[to] += Q[e] B1: the wrench [f; n] about a point that lies at -s."""
    f = (Q[e, 0], Q[e, 1], Q[e, 2])
    n = add3((Q[e, 3], Q[e, 4], Q[e, 5]), cross3(s, f))
    for k in range(3):
        P[to, k] += f[k]
        P[to, 3 + k] += n[k]


@kernel
def load_bodies(dofs, border, ws, sc):
    """Backward pass of L and RHS with the joint forces ``sc.f`` and the right side ``sc.gamma``."""
    for i in range(len(sc.f)):
        for k in range(6):
            sc.L[i, k] = 0.0
    for r in range(len(sc.right)):
        sc.right[r] = sc.gamma[r] if r < len(sc.gamma) else 0.0
    load_down_to(dofs, border, len(sc.f), 0, ws, sc)


@inlined_kernel
def load_down_to(dofs, border, end, begin, ws, sc):
    """The same pass of dofs end - 1, ..., begin alone."""
    for i in range(end - 1, begin - 1, -1):
        u, p, slide = axis_of(dofs, i, ws), dofs.parent[i], dofs.kind[i] == PRISMATIC
        k = 0 if slide else 3
        g = sc.f[i] + sc.L[i, k] * u[0] + sc.L[i, k + 1] * u[1] + sc.L[i, k + 2] * u[2]
        if dofs.pitch[i] != 0.0:
            g += dofs.pitch[i] * (sc.L[i, 0] * u[0] + sc.L[i, 1] * u[1] + sc.L[i, 2] * u[2])
        sc.g[i] = g
        if border.kept[i] >= 0:
            sc.right[border.kept[i]] += g
        else:
            x = g / sc.d[i]
            for e in range(border.pointer[i], border.pointer[i + 1]):
                sc.right[border.row[e]] -= sc.h[e] * x
            for k in range(6):
                sc.L[i, k] -= sc.U[i, k] * x
        if p >= 0:
            add_row(sc.L, p, sc.L, i, sub3(load3(ws.r, i), load3(ws.r, p)))


@kernel
def respond(dofs, border, ws, sc):
    """Forward pass: adds the accelerations that f, gamma and the border unknowns ``sc.x`` cause to ``sc.zdd``."""
    for i in range(len(sc.f)):
        u, p, slide = axis_of(dofs, i, ws), dofs.parent[i], dofs.kind[i] == PRISMATIC
        if p >= 0:
            w = (sc.Yd[p, 3], sc.Yd[p, 4], sc.Yd[p, 5])
            v = cross3(w, sub3(load3(ws.r, i), load3(ws.r, p)))
            for k in range(3):
                sc.Yd[i, k] = sc.Yd[p, k] + v[k]
                sc.Yd[i, 3 + k] = w[k]
        else:
            for k in range(6):
                sc.Yd[i, k] = 0.0
        if border.kept[i] >= 0:
            a = sc.x[border.kept[i]]
        else:
            left = sc.g[i]
            for k in range(6):
                left -= sc.U[i, k] * sc.Yd[i, k]
            for e in range(border.pointer[i], border.pointer[i + 1]):
                left -= sc.h[e] * sc.x[border.row[e]]
            a = left / sc.d[i]
        sc.zdd[i] += a
        first = 0 if slide else 3
        for k in range(3):
            sc.Yd[i, first + k] += a * u[k]
        if dofs.pitch[i] != 0.0:
            for k in range(3):
                sc.Yd[i, k] += a * dofs.pitch[i] * u[k]
    for r in range(len(sc.lam)):
        sc.lam[r] += sc.x[r]


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

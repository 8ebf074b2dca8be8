"""Tangent of contact sets: slopes of the force of each touching pair, and their share of the Newton matrix (8.10).

The share of a pair has four blocks. Those of one member with itself are in the pattern of its path and go into the
sparse matrix P. The others join whatever happens to touch, E, and only their product with a vector is ever formed. So
(P + E) x = b is solved as (1 + P^-1 E) x = P^-1 b by GMRES, with P factored. E is small where h^2 k / m is.
"""

from numpy import sqrt

from rtmbs.jit.compiled import inlined_kernel, inner_kernel, kernel, lazy_kernel
from rtmbs.numerics.linear.sparse_lu import solve
from rtmbs.numerics.spatial import (
    add3,
    angular,
    combine6,
    cross3,
    cross_force,
    dot3,
    join,
    load6,
    point_velocity,
    scale3,
    scale6,
    sub3,
)
from rtmbs.semirecursive.contact_sets import (
    combined,
    friction_slopes,
    inverse_of_settling,
    load_touch,
    members,
    pair_wrench,
    pull_members,
    rate_and_slopes,
    taken_back_slope,
    turn_of_bristle,
)
from rtmbs.semirecursive.force_kernels import add_connector_column, end_motion
from rtmbs.system.contact_tables import (
    ACROSS,
    ALONG,
    BACK,
    BRISTLE,
    BY_GAP,
    BY_LEAVING,
    BY_PLACE,
    BY_SPIN,
    BY_VELOCITY,
    CURVATURE,
    FORCE,
    FRICTION,
    LEAVING,
    LIMIT,
    MIDDLE,
    NORMAL,
    OUT,
    PRESS,
    RATE,
    REACH,
    SHARED,
    SLIP,
    SPEED,
    SPIN,
    TANGENTIAL,
    TOUCHES,
)

ENOUGH = 1e-6  # of the right-hand side: what GMRES leaves, in typical sizes
NO_LENGTH = 1e-300


@inlined_kernel
def apply2(A, x, y):
    """Return A (2, 2), row by row, times (x, y)."""
    return A[0] * x + A[1] * y, A[2] * x + A[3] * y


@inlined_kernel
def multiply2(A, B):
    """Return A B, each (2, 2) row by row."""
    first, second = apply2(A, B[0], B[2]), apply2(A, B[1], B[3])
    return first[0], second[0], first[1], second[1]


@inner_kernel
def followed_slopes(sets, g, row, half):
    """Return the slopes of friction by slip, by its limit (2,), by a turn of the normal, and by spin.

    That by slip and those by a turn about t and b are (2, 2) row by row, that by spin is two rows (3,). Those of a
    bristle that follows s = base + half rate are in them.
    """
    law, v, s = sets.law, (row[SLIP], row[SLIP + 1]), (row[OUT], row[BRISTLE], row[BRISTLE + 1])
    none = 0.0 * row[LIMIT]
    if not law[g, TANGENTIAL] > 0.0:
        nothing = none, none, none
        return (none, none, none, none), (none, none), (none, none, none, none), nothing, nothing
    by_s, by_v, by_l, rate_v, rate_l = friction_slopes(law, g, (s[1], s[2]), v, row[LIMIT])
    _, r = rate_and_slopes(law, g, (s[1], s[2]), v, row[LIMIT])
    w, share = turn_of_bristle(row), half * row[SHARED]
    X, Y, Z = inverse_of_settling(r, taken_back_slope(s[0]), w, half)
    # slopes of both forces by what is added to s = base + half rate
    one = by_s[0] * X[1] + by_s[1] * X[2], by_s[0] * Y[1] + by_s[1] * Y[2], by_s[0] * Z[1] + by_s[1] * Z[2]
    two = by_s[2] * X[1] + by_s[3] * X[2], by_s[2] * Y[1] + by_s[3] * Y[2], by_s[2] * Z[1] + by_s[3] * Z[2]
    follow = half * one[1], half * one[2], half * two[1], half * two[2]
    slip, press = multiply2(follow, rate_v), apply2(follow, rate_l[0], rate_l[1])
    rate = -row[BACK], row[RATE], row[RATE + 1]
    about_b = tilted((none, none, none + 1.0), s, rate, w, half)  # n goes to t
    about_t = tilted((none, none - 1.0, none), s, rate, w, half)  # n goes to b
    return (
        (by_v[0] + slip[0], by_v[1] + slip[1], by_v[2] + slip[2], by_v[3] + slip[3]),
        (by_l[0] + press[0], by_l[1] + press[1]),
        (dot3(one, about_b), dot3(one, about_t), dot3(two, about_b), dot3(two, about_t)),
        scale3(share, cross3(s, one)),
        scale3(share, cross3(s, two)),
    )


@inlined_kernel
def tilted(turn, s, rate, w, half):
    """Return what a ``turn`` of n, t, b adds to s = base + half (rate + w x s), as seen in them."""
    swept = cross3(turn, s)
    return sub3(scale3(half, add3(cross3(turn, rate), cross3(w, swept))), swept)


@inner_kernel
def set_slopes(sets, g, mu, half, row):
    """Write the slopes of the force of a touching pair by the place of ball j, by its point's velocity, and by spin."""
    n, t, b = load_touch(row, NORMAL), load_touch(row, ALONG), load_touch(row, ACROSS)
    by_slip, by_limit, by_tilt, first_by_spin, second_by_spin = followed_slopes(sets, g, row, half)
    w, none, one = load_touch(row, SPIN), 0.0 * row[PRESS], 0.0 * row[PRESS] + 1.0
    spin = dot3(w, n), dot3(w, t), dot3(w, b)
    T, slip, reach = (row[FRICTION], row[FRICTION + 1]), (row[SLIP], row[SLIP + 1]), row[REACH]
    for k in range(3):
        e = (one if k == 0 else none, one if k == 1 else none, one if k == 2 else none)
        d1, d2 = row[CURVATURE] * e[1], row[CURVATURE] * e[2]  # change of the normal
        u0, u1, u2 = cross3(spin, (-row[SHARED] * e[0], -reach * d1, -reach * d2))  # of the slip, by the arm
        leaving = u0 + slip[0] * d1 + slip[1] * d2
        pressed = row[BY_GAP] * e[0] + row[BY_LEAVING] * leaving
        of_slip = apply2(by_slip, u1 - row[LEAVING] * d1, u2 - row[LEAVING] * d2)
        of_tilt = apply2(by_tilt, d1, d2)
        x0 = pressed - T[0] * d1 - T[1] * d2
        x1 = row[PRESS] * d1 + of_slip[0] + of_tilt[0] + mu * by_limit[0] * pressed
        x2 = row[PRESS] * d2 + of_slip[1] + of_tilt[1] + mu * by_limit[1] * pressed
        add_column(row, BY_PLACE, k, combined(n, t, b, x0, x1, x2), n, t, b)
        pressed = row[BY_LEAVING] * e[0]
        of_slip = apply2(by_slip, e[1], e[2])
        y1, y2 = of_slip[0] + mu * by_limit[0] * pressed, of_slip[1] + mu * by_limit[1] * pressed
        add_column(row, BY_VELOCITY, k, combined(n, t, b, pressed, y1, y2), n, t, b)
        of_spin = add3(scale3(dot3(first_by_spin, e), t), scale3(dot3(second_by_spin, e), b))
        add_column(row, BY_SPIN, k, of_spin, n, t, b)


@inlined_kernel
def add_column(row, first, k, x, n, t, b):
    """Add x e^T to a matrix (3, 3) of a pair, e the vector ``k`` of n, t, b; the first one begins it."""
    e = n if k == 0 else (t if k == 1 else b)
    for r in range(3):
        for c in range(3):
            row[first + 3 * r + c] = x[r] * e[c] + (0.0 * x[r] if k == 0 else row[first + 3 * r + c])


@inlined_kernel
def times(row, first, x):
    """Return a matrix (3, 3) of a pair times x."""
    return (
        row[first] * x[0] + row[first + 1] * x[1] + row[first + 2] * x[2],
        row[first + 3] * x[0] + row[first + 4] * x[1] + row[first + 5] * x[2],
        row[first + 6] * x[0] + row[first + 7] * x[1] + row[first + 8] * x[2],
    )


@inlined_kernel
def change_of_arm(row, d):
    """Change of the way from the middle of j to where the force acts, when j moves by ``d`` as i sees it."""
    n = load_touch(row, NORMAL)
    nearer = dot3(n, d)
    return add3(scale3(-row[REACH] * row[CURVATURE], sub3(d, scale3(nearer, n))), scale3(-row[SHARED] * nearer, n))


@inner_kernel
def change_by_i(row, X, dV):
    """Change of the wrench on ball j when the body of i moves by the twist X and its velocity changes by dV."""
    n, f, at = load_touch(row, NORMAL), load_touch(row, FORCE), load_touch(row, MIDDLE)
    arm, turn, w = scale3(-row[REACH], n), angular(X), load_touch(row, SPIN)
    d = scale3(-1.0, point_velocity(X, at))  # of the place of j, as i sees it
    swept = add3(load_touch(row, SPEED), cross3(w, arm))
    e = scale3(-1.0, add3(point_velocity(dV, add3(at, arm)), cross3(turn, swept)))
    e = add3(e, cross3(w, cross3(turn, arm)))
    dw = scale3(-1.0, add3(angular(dV), cross3(turn, w)))
    df = add3(add3(times(row, BY_PLACE, d), times(row, BY_VELOCITY, e)), times(row, BY_SPIN, dw))
    df = add3(df, cross3(turn, f))
    darm = add3(change_of_arm(row, d), cross3(turn, arm))
    return join(df, add3(cross3(darm, f), cross3(add3(at, arm), df)))


@inner_kernel
def change_by_j(row, X, dV):
    """Change of the wrench on ball j when its body moves by the twist X and its velocity changes by dV."""
    n, f, at = load_touch(row, NORMAL), load_touch(row, FORCE), load_touch(row, MIDDLE)
    arm, d = scale3(-row[REACH], n), point_velocity(X, at)
    e = add3(point_velocity(dV, add3(at, arm)), cross3(load_touch(row, SPIN), d))
    df = add3(times(row, BY_PLACE, d), times(row, BY_VELOCITY, e))
    df = add3(df, times(row, BY_SPIN, angular(dV)))
    return join(df, add3(cross3(add3(d, change_of_arm(row, d)), f), cross3(add3(at, arm), df)))


@lazy_kernel
def add_set_tangent(tables, u, velocity, position, ws, values):
    """values += velocity C + position K of each member of the contact sets with itself; slopes of all touching pairs.

    ``psid`` as the rigid-body tangent left it.
    """
    sets, connectors, half = tables.sets, tables.connectors, ws.state_half[0]
    ws.set_share[0], ws.set_share[1], ws.set_share[2] = velocity, position, 0.0
    for g in range(len(sets.slot)):
        mu = u[sets.friction[g]]
        for p in range(sets.pair_pointer[g], sets.pair_pointer[g + 1]):
            i, j = members(sets, u, g, p)
            ws.touching[p, 0], ws.touching[p, 1] = -1, -1
            if i < 0:  # to the end: a tangent before may have left more pairs
                continue
            row = ws.touch[p]
            if row[TOUCHES].real > 0.0:
                ws.touching[p, 0], ws.touching[p, 1], ws.set_share[2] = i, j, 1.0
                set_slopes(sets, g, mu, half, row)
                F = pair_wrench(p, ws)
                for c in range(connectors.pointer[sets.connector[j]], connectors.pointer[sets.connector[j] + 1]):
                    l, S = sets.connector[j], load6(ws.S, connectors.dof[c])
                    X, dV = end_motion(tables.dofs, connectors, l, c, velocity, position, ws)
                    dF = change_by_j(row, X, dV)
                    turned = scale6(position, cross_force(S, F))
                    add_connector_column(tables.dofs, connectors, l, c, dF, turned, ws, values)
                for c in range(connectors.pointer[sets.connector[i]], connectors.pointer[sets.connector[i] + 1]):
                    l, S = sets.connector[i], load6(ws.S, connectors.dof[c])
                    X, dV = end_motion(tables.dofs, connectors, l, c, velocity, position, ws)
                    dF = scale6(-1.0, change_by_i(row, X, dV))
                    turned = scale6(-position, cross_force(S, F))
                    add_connector_column(tables.dofs, connectors, l, c, dF, turned, ws, values)


@inner_kernel
def apply_coupling(tables, x, ws, out):
    """out = E x: what the motion of each member of a touching pair does to the other."""
    sets, connectors = tables.sets, tables.connectors
    velocity, position = ws.set_share[0], ws.set_share[1]
    for i in range(len(out)):
        out[i] = 0.0
    for k in range(len(sets.dof)):
        l = sets.connector[k]
        X = dV = scale6(0.0, load6(ws.V, sets.dof[k]))
        for c in range(connectors.pointer[l], connectors.pointer[l + 1]):
            Xc, dVc = end_motion(tables.dofs, connectors, l, c, velocity, position, ws)
            step = x[connectors.dof[c]]
            X, dV = combine6(1.0, X, step, Xc), combine6(1.0, dV, step, dVc)
        for c in range(6):
            ws.set_motion[k, c], ws.set_motion[k, 6 + c], ws.set_wrench[k, c] = X[c], dV[c], 0.0
    for p in range(len(ws.touching)):
        i, j = ws.touching[p, 0], ws.touching[p, 1]
        if i < 0:
            continue
        row, by = ws.touch[p], ws.set_motion
        of_i = change_by_i(row, load6(by, i), load6(by[:, 6:], i))
        of_j = change_by_j(row, load6(by, j), load6(by[:, 6:], j))
        for c in range(6):
            ws.set_wrench[j, c] += of_i[c]
            ws.set_wrench[i, c] -= of_j[c]
    pull_members(tables, ws, out)


@kernel
def coupling(tables, x, ws, out):
    """out = E x for callers in Python."""
    apply_coupling(tables, x, ws, out)


@lazy_kernel
def solve_coupled(tables, lu, work, settings, ws):
    """Let ws.dz = P^-1 b become (P + E)^-1 b, by GMRES; P is factored in ``work``.

    It ends at ENOUGH of P^-1 b, or with the basis full. What is left then is the error of a correction, which Newton's
    iteration sees.
    """
    if ws.set_share[2] == 0.0:
        return
    Q, H, typical = ws.krylov, ws.hessenberg, settings.typical
    most, n = len(Q) - 1, len(ws.dz)
    first = 0.0
    for i in range(n):
        Q[0, i] = ws.dz[i] / typical[i]
        first += Q[0, i] * Q[0, i]
    first = sqrt(first)
    if not first > NO_LENGTH:
        return
    for i in range(n):
        Q[0, i] /= first
    right = H[most]  # of the least squares problem, behind the rotations in its last two rows
    right[0], used = first, 0
    for k in range(most):
        extend_basis(tables, lu, work, k, typical, ws)
        rotate_column(H, most, k, right)
        used = k + 1
        if abs(right[k + 1]) <= ENOUGH * first:
            break
    for k in range(used - 1, -1, -1):
        total = right[k]
        for c in range(k + 1, used):
            total -= H[c, k] * right[c]
        right[k] = total / H[k, k]
    for i in range(n):
        ws.dz[i] = 0.0
    for k in range(used):
        for i in range(n):
            ws.dz[i] += right[k] * Q[k, i] * typical[i]


@inner_kernel
def extend_basis(tables, lu, work, k, typical, ws):
    """Write vector ``k + 1`` of the basis, and column ``k`` of the Hessenberg matrix to H[k] (Gram-Schmidt)."""
    Q, H, n = ws.krylov, ws.hessenberg, len(ws.dz)
    for i in range(n):
        ws.dz[i] = Q[k, i] * typical[i]
    apply_coupling(tables, ws.dz, ws, ws.set_force)
    solve(lu, work.factored, work, ws.set_force)
    for i in range(n):
        Q[k + 1, i] = Q[k, i] + ws.set_force[i] / typical[i]
    for c in range(k + 1):
        dot = 0.0
        for i in range(n):
            dot += Q[c, i] * Q[k + 1, i]
        H[k, c] = dot
        for i in range(n):
            Q[k + 1, i] -= dot * Q[c, i]
    square = 0.0
    for i in range(n):
        square += Q[k + 1, i] * Q[k + 1, i]
    H[k, k + 1] = sqrt(square)
    scale = 1.0 / max(H[k, k + 1], NO_LENGTH)
    for i in range(n):
        Q[k + 1, i] *= scale


@inlined_kernel
def rotate_column(H, most, k, right):
    """Make column ``k`` of the Hessenberg matrix triangular by Givens rotations, and turn ``right`` with it."""
    cosine, sine = H[most + 1], H[most + 2]
    for c in range(k):
        upper, lower = H[k, c], H[k, c + 1]
        H[k, c], H[k, c + 1] = cosine[c] * upper + sine[c] * lower, cosine[c] * lower - sine[c] * upper
    length = sqrt(H[k, k] * H[k, k] + H[k, k + 1] * H[k, k + 1])
    length = max(length, NO_LENGTH)
    cosine[k], sine[k] = H[k, k] / length, H[k, k + 1] / length
    H[k, k] = length
    right[k + 1] = -sine[k] * right[k]
    right[k] = cosine[k] * right[k]

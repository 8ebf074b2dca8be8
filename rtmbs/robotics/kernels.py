"""Compiled loops over states of a robot.

Compiled loops over states of a robot: placements, Jacobians and momenta.

Each takes poses q (k, nq) and rates (k, nv) and writes one entry for each state. It returns the number of faults: zero
quaternions, and numbers that are not finite. Velocities of dofs are motion vectors
at the origin of their part (``numerics/spatial.py``), so a column S of a dof moves with the body that carries its axis:
dS/dt = V_tip x S. Rates of z are zd = T v, with T by rows.

Compiled loops over states of a robot with closed loops: loop equations, their Jacobian and drift, triangular solves.

The loop equations are Phi (m,), with Phid = Phi_q v + Phi_t and Phidd = Phi_q a + drift.

Compiled inverse dynamics and mass matrix about the origins of the links themselves, by columns of v.

The equations of a simulation take all moments about one origin. There the own inertia of a light link far away is the
difference of large numbers, and an acceleration divides by it. Here every link has its velocity, wrench and composite
inertia about the origin of its own frame, in world axes (Luh, Walker and Paul; Featherstone, Rigid Body Dynamics
Algorithms, 5.3 and 6.2). A link is a dof, or the three dofs of a ball joint, which are the columns of one link.
"""

from typing import NamedTuple

from rtmbs.core.bounds import BEYOND
from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inner_kernel
from rtmbs.jit.struct import struct
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    cross3,
    cross_force,
    cross_motion,
    dot3,
    inertia_times,
    linear,
    load3,
    load6,
    load10,
    load33,
    place,
    scale3,
    store3,
    sub3,
    sub6,
)
from rtmbs.semirecursive.closure_jacobian import apply_Phi_z
from rtmbs.semirecursive.closures import add_rate_gaps, closure_accelerations, closure_velocities, evaluate_closures
from rtmbs.semirecursive.force_kernels import apply_forces
from rtmbs.semirecursive.passes import forward_accelerations, forward_positions, forward_velocities, place_inertias
from rtmbs.system.tables import GRAVITY_SLOT, Array


@struct
class StateMap(NamedTuple):
    """From q and v to elementary coordinates and rates."""

    dof: Array  # (plain,) int64: dofs of plain coordinates
    q: Array  # (plain,) int64: their places in q
    rotor: Array  # (rotors,) int64
    driven: Array  # (rotors,) int64: dof that a rotor turns with
    ratio: Array  # (rotors,)
    quaternion: Array  # (balls,) int64: places in q
    reference: Array  # (balls,) int64: places in R0
    turn: Array  # (balls, 3, 3) from the body that the ball carries to the other one at zero, transposed
    sense: Array  # (balls,) -1 where the ball carries its first body: the quaternion is of the inverse rotation
    pointer: Array  # (n + 1,) int64 into column and factor: rows of T
    column: Array  # (entries,) int64
    factor: Array  # (entries,)
    counted: Array  # (n,) int64: 0 for rotors, which are left out of momenta


@struct
class FramePoint(NamedTuple):
    """A frame on a body."""

    path: Array  # (depth,) int64: dofs from ground to the body; empty for ground
    position: Array  # (1, 3) dof axes [m]
    rotation: Array  # (3, 3) axes of the frame to dof axes


@inner_kernel
def unfit(x):
    """Return how many numbers are not finite, or beyond all range."""
    found = 0
    for i in range(len(x)):
        if not abs(x[i]) <= BEYOND:
            found += 1
    return found


@inner_kernel
def take_pose(m, q, R0, ws):
    """Write ws.z and R0 of a pose q (nq,), quaternions of any length; return the number of faults.

    Faults are zero quaternions, which leave R0, and numbers that are not finite.
    """
    faults = unfit(q)
    for i in range(len(ws.z)):
        ws.z[i] = 0.0
    for k in range(len(m.dof)):
        ws.z[m.dof[k]] = q[m.q[k]]
    for k in range(len(m.rotor)):
        ws.z[m.rotor[k]] = m.ratio[k] * ws.z[m.driven[k]]
    for k in range(len(m.quaternion)):
        s = m.quaternion[k]
        w, x, y, z = q[s], m.sense[k] * q[s + 1], m.sense[k] * q[s + 2], m.sense[k] * q[s + 3]
        square = w * w + x * x + y * y + z * z
        if square == 0.0:
            faults += 1
            continue
        f = 2.0 / square
        R = (
            (1.0 - f * (y * y + z * z), f * (x * y - w * z), f * (x * z + w * y)),
            (f * (x * y + w * z), 1.0 - f * (x * x + z * z), f * (y * z - w * x)),
            (f * (x * z - w * y), f * (y * z + w * x), 1.0 - f * (x * x + y * y)),
        )
        r = m.reference[k]
        for c in range(3):
            for b in range(3):
                R0[r, b, c] = m.turn[k, b, 0] * R[0][c] + m.turn[k, b, 1] * R[1][c] + m.turn[k, b, 2] * R[2][c]
    return faults


@inner_kernel
def take_rates(m, v, zd):
    """zd = T v."""
    for i in range(len(zd)):
        total = 0.0
        for e in range(m.pointer[i], m.pointer[i + 1]):
            total += m.factor[e] * v[m.column[e]]
        zd[i] = total


@coarse_kernel
def frame_motions(tables, R0, ws, m, frame, q, v, position, rotation, J, dJ):
    """Placement in the world and J, dJ/dt (k, 6, nv) of a frame, world axes; dJ is empty where it is not wanted."""
    dofs = tables.dofs
    faults = 0
    for s in range(len(q)):
        faults += take_pose(m, q[s], R0, ws)
        forward_positions(tables, R0, ws.z, ws)
        if len(dJ):
            faults += unfit(v[s])
            take_rates(m, v[s], ws.zd)
            forward_velocities(dofs, ws.zd, ws)
        for r in range(6):
            for j in range(J.shape[2]):
                J[s, r, j] = 0.0
                if len(dJ):
                    dJ[s, r, j] = 0.0
        if not len(frame.path):
            for c in range(3):
                position[s, c] = frame.position[0, c]
                for d in range(3):
                    rotation[s, c, d] = frame.rotation[c, d]
            continue
        body = frame.path[len(frame.path) - 1]
        x = place(ws.A, ws.r, body, load3(frame.position, 0))
        V = load6(ws.V, body)
        xd = add3(linear(V), cross3(angular(V), x))
        ground = tables.origins.row[body]
        for c in range(3):
            position[s, c] = x[c] - ws.r[ground, c]
            for d in range(3):
                total = 0.0
                for e in range(3):
                    total += ws.A[body, c, e] * frame.rotation[e, d]
                rotation[s, c, d] = total
        for k in range(len(frame.path)):
            i = frame.path[k]
            S = load6(ws.S, i)
            spin = angular(S)
            move = add3(linear(S), cross3(spin, x))
            add_columns(m, i, move, spin, J[s])
            if len(dJ):
                Sd = cross_motion(load6(ws.V, dofs.tip[i]), S)
                slope = add3(add3(linear(Sd), cross3(angular(Sd), x)), cross3(spin, xd))
                add_columns(m, i, slope, angular(Sd), dJ[s])
    return faults


@inner_kernel
def add_columns(m, i, first, second, J):
    """Add a column of dof i to the columns of v."""
    for e in range(m.pointer[i], m.pointer[i + 1]):
        j, factor = m.column[e], m.factor[e]
        for c in range(3):
            J[c, j] += factor * first[c]
            J[3 + c, j] += factor * second[c]


@coarse_kernel
def momentum_matrices(tables, R0, ws, m, q, v, center, A, dA):
    """Mass centre, its velocity and mass (k, 7), A_G and dA_G/dt (k, 6, nv): [linear, angular about the mass centre].

    A column of dof i is the sum over the bodies behind it of I S_i; its derivative is that of
    V x* (I S_i) - I (V x S_i) + I dS_i/dt. Both are taken about the world's origin, and then about the mass centre c:
    n - c x f.
    """
    dofs, n = tables.dofs, len(ws.z)
    faults = 0
    for s in range(len(q)):
        faults += take_pose(m, q[s], R0, ws) + unfit(v[s])
        take_rates(m, v[s], ws.zd)
        forward_positions(tables, R0, ws.z, ws)
        place_inertias(dofs, ws)
        forward_velocities(dofs, ws.zd, ws)
        for c in range(7):
            center[s, c] = 0.0
        for k in range(n):
            if m.counted[k] and dofs.mass[k] > 0.0:
                x = place(ws.A, ws.r, k, load3(dofs.mass_center, k))
                V, ground = load6(ws.V, k), tables.origins.row[k]
                xd = add3(linear(V), cross3(angular(V), x))
                for c in range(3):
                    center[s, c] += dofs.mass[k] * (x[c] - ws.r[ground, c])
                    center[s, 3 + c] += dofs.mass[k] * xd[c]
                center[s, 6] += dofs.mass[k]
        for c in range(6 if center[s, 6] > 0.0 else 0):
            center[s, c] /= center[s, 6]
        for r in range(6):
            for j in range(A.shape[2]):
                A[s, r, j], dA[s, r, j] = 0.0, 0.0
        for k in range(n):
            if m.counted[k]:
                add_body_momenta(tables, m, ws, k, center[s], A[s], dA[s])
    return faults


@inner_kernel
def add_body_momenta(tables, m, ws, k, center, A, dA):
    """Add what the body of dof k has of momentum by the rates of the dofs before it."""
    dofs = tables.dofs
    I, V, ground, i = load10(ws.inertia, k), load6(ws.V, k), tables.origins.row[k], k
    c = (
        center[0] + ws.r[ground, 0],
        center[1] + ws.r[ground, 1],
        center[2] + ws.r[ground, 2],
    )  # from the part's origin
    cd = (center[3], center[4], center[5])
    for _ in range(len(ws.z)):
        if i < 0:
            break
        S = load6(ws.S, i)
        Sd = cross_motion(load6(ws.V, dofs.tip[i]), S)
        h = inertia_times(I, S)
        hd = add6(sub6(cross_force(V, h), inertia_times(I, cross_motion(V, S))), inertia_times(I, Sd))
        add_columns(m, i, linear(h), sub3(angular(h), cross3(c, linear(h))), A)
        moved = add3(cross3(c, linear(hd)), cross3(cd, linear(h)))
        add_columns(m, i, linear(hd), sub3(angular(hd), moved), dA)
        i = dofs.parent[i]


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


@struct
class Links(NamedTuple):
    """Links of a tree, root to tips, and the columns of v that move them."""

    dof: Array  # (m,) int64: last dof of the link, which has its frame
    before: Array  # (m,) int64: dof from whose frame the offset leads; negative for ground
    parent: Array  # (m,) int64: link; -1 ground
    offset: Array  # (m, 3) origin at zero coordinates, axes of ``before`` [m]
    mass: Array  # (m,) [kg]
    mass_center: Array  # (m, 3) axes of the link [m]
    inertia: Array  # (m, 3, 3) about the mass centre, axes of the link [kg m^2]
    first: Array  # (m + 1,) int64: columns first[k] to first[k + 1] move link k
    place: Array  # (nv,) int64: place of a column in v
    axis: Array  # (nv, 3) axes of the link
    turn: Array  # (nv,) 1 for a column that turns the link about its axis
    slide: Array  # (nv,) way along the axis for a unit of the coordinate [1 or m/rad]
    armature: Array  # (nv,) inertia of rotors, in the order of v
    turned: Array  # (m,) int64: 1 for a link that turns by itself, or by one that carries it


@struct
class LinkMotion(NamedTuple):
    """Scratch of the recursions, world axes."""

    arm: Array  # (m, 3) from the origin of the parent to that of the link [m]
    spin: Array  # (m, 3) angular velocity
    twist: Array  # (m, 3) angular acceleration
    slope: Array  # (m, 3) acceleration of the origin, less gravity
    force: Array  # (m, 3) of the inertia of the link and those behind it
    moment: Array  # (m, 3) about the origin of the link
    axis: Array  # (nv, 3)
    composite: Array  # (m, 10) mass, mass times centre, inertia xx yy zz xy xz yz about the origin


@inner_kernel
def turn3(A, x):
    """Return A x."""
    return dot3(A[0], x), dot3(A[1], x), dot3(A[2], x)


@inner_kernel
def turn_back3(A, x):
    """Return A^T x."""
    return add3(add3(scale3(x[0], A[0]), scale3(x[1], A[1])), scale3(x[2], A[2]))


@coarse_inner_kernel
def place_links(links, ws, motion):
    """Write axes and arms at the positions of ``ws``."""
    for k in range(len(links.dof)):
        i = links.dof[k]
        A, arm = load33(ws.A, i), turn3(load33(ws.A, links.before[k]), load3(links.offset, k))
        for c in range(links.first[k], links.first[k + 1]):
            u = turn3(A, load3(links.axis, c))
            store3(motion.axis, c, u)
            if links.slide[c] != 0.0:
                arm = add3(arm, scale3(links.slide[c] * ws.z[i], u))
        store3(motion.arm, k, arm)


@inner_kernel
def move_link(links, motion, k, u, v, a):
    """Write angular velocity, angular acceleration and acceleration of the origin of link k."""
    p = links.parent[k]
    w, al, up = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (-u[GRAVITY_SLOT], -u[GRAVITY_SLOT + 1], -u[GRAVITY_SLOT + 2])
    if p >= 0:
        arm, w, al = load3(motion.arm, k), load3(motion.spin, p), load3(motion.twist, p)
        up = add3(load3(motion.slope, p), add3(cross3(al, arm), cross3(w, cross3(w, arm))))
    own, slope = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for c in range(links.first[k], links.first[k + 1]):
        axis, j = load3(motion.axis, c), links.place[c]
        if links.turn[c] != 0.0:
            own, slope = add3(own, scale3(v[j], axis)), add3(slope, scale3(a[j], axis))
        if links.slide[c] != 0.0:
            drift = cross3(w, scale3(2.0 * links.slide[c] * v[j], axis))
            up = add3(up, add3(drift, scale3(links.slide[c] * a[j], axis)))
    store3(motion.spin, k, add3(w, own))
    store3(motion.twist, k, add3(add3(al, slope), cross3(w, own)))
    store3(motion.slope, k, up)


@inner_kernel
def load_link(links, ws, motion, k):
    """Write force and moment about the origin that the motion of link k asks for."""
    J = load33(links.inertia, k)
    if links.mass[k] == 0.0 and J[0][0] == 0.0 and J[1][1] == 0.0 and J[2][2] == 0.0:
        store3(motion.force, k, (0.0, 0.0, 0.0))
        store3(motion.moment, k, (0.0, 0.0, 0.0))
        return
    A, w, al = load33(ws.A, links.dof[k]), load3(motion.spin, k), load3(motion.twist, k)
    c = turn3(A, load3(links.mass_center, k))
    carried = add3(cross3(al, c), cross3(w, cross3(w, c)))
    f = scale3(links.mass[k], add3(load3(motion.slope, k), carried))
    spun = turn3(A, turn3(J, turn_back3(A, w)))
    n = add3(turn3(A, turn3(J, turn_back3(A, al))), cross3(w, spun))
    store3(motion.force, k, f)
    store3(motion.moment, k, add3(n, cross3(c, f)))


@coarse_inner_kernel
def act(tables, R0, u, ws):
    """ws.tau = -Q of springs, dampers, laws and inputs alone, at ws.z and ws.zd."""
    forward_positions(tables, R0, ws.z, ws)
    forward_velocities(tables.dofs, ws.zd, ws)
    for i in range(len(ws.tau)):
        ws.tau[i] = 0.0
    apply_forces(tables, ws.z, ws.zd, u, ws)


@coarse_kernel
def joint_forces(tables, R0, u, ws, m, links, motion, forced, q, v, a, tau):
    """Tau (k, nv) = M a + bias forces of k states, less what springs, dampers and laws give where ``forced``."""
    faults = 0
    for s in range(len(q)):
        faults += take_pose(m, q[s], R0, ws) + unfit(v[s]) + unfit(a[s])
        if forced != 0:
            take_rates(m, v[s], ws.zd)
            act(tables, R0, u, ws)
        else:
            forward_positions(tables, R0, ws.z, ws)
        place_links(links, ws, motion)
        for k in range(len(links.dof)):
            move_link(links, motion, k, u, v[s], a[s])
            load_link(links, ws, motion, k)
        for j in range(tau.shape[1]):
            tau[s, j] = links.armature[j] * a[s, j]
        for k in range(len(links.dof) - 1, -1, -1):
            f, n, p = load3(motion.force, k), load3(motion.moment, k), links.parent[k]
            for c in range(links.first[k], links.first[k + 1]):
                axis = load3(motion.axis, c)
                tau[s, links.place[c]] += links.turn[c] * dot3(axis, n) + links.slide[c] * dot3(axis, f)
            if p >= 0:
                store3(motion.force, p, add3(load3(motion.force, p), f))
                store3(motion.moment, p, add3(load3(motion.moment, p), add3(n, cross3(load3(motion.arm, k), f))))
        for i in range(len(ws.tau) if forced != 0 else 0):
            for e in range(m.pointer[i], m.pointer[i + 1]):
                tau[s, m.column[e]] += m.factor[e] * ws.tau[i]
        faults += unfit(tau[s])
    return faults


@inner_kernel
def place_link_inertia(links, ws, motion, k):
    """Write the inertia of link k alone, about its origin."""
    A, J, m, I = load33(ws.A, links.dof[k]), load33(links.inertia, k), links.mass[k], motion.composite
    if m == 0.0 and J[0][0] == 0.0 and J[1][1] == 0.0 and J[2][2] == 0.0:
        for c in range(10):
            I[k, c] = 0.0
        return
    c = turn3(A, load3(links.mass_center, k))
    x, y, z = (turn3(J, A[0]), turn3(J, A[1]), turn3(J, A[2]))  # J is symmetric
    I[k, 0] = m
    I[k, 1], I[k, 2], I[k, 3] = scale3(m, c)
    I[k, 4] = dot3(A[0], x) + m * (c[1] * c[1] + c[2] * c[2])
    I[k, 5] = dot3(A[1], y) + m * (c[0] * c[0] + c[2] * c[2])
    I[k, 6] = dot3(A[2], z) + m * (c[0] * c[0] + c[1] * c[1])
    I[k, 7] = dot3(A[0], y) - m * c[0] * c[1]
    I[k, 8] = dot3(A[0], z) - m * c[0] * c[2]
    I[k, 9] = dot3(A[1], z) - m * c[1] * c[2]


@inner_kernel
def add_to_parent(I, k, p, d):
    """Add the composite inertia of link k to that of link p, about an origin that is -d away."""
    m, h = I[k, 0], (I[k, 1], I[k, 2], I[k, 3])
    g = add3(h, scale3(m, d))  # of which h d^T + d g^T is the shift
    I[p, 0] += m
    I[p, 1] += g[0]
    I[p, 2] += g[1]
    I[p, 3] += g[2]
    I[p, 4] += I[k, 4] + d[1] * (h[1] + g[1]) + d[2] * (h[2] + g[2])
    I[p, 5] += I[k, 5] + d[0] * (h[0] + g[0]) + d[2] * (h[2] + g[2])
    I[p, 6] += I[k, 6] + d[0] * (h[0] + g[0]) + d[1] * (h[1] + g[1])
    I[p, 7] += I[k, 7] - h[0] * d[1] - d[0] * g[1]
    I[p, 8] += I[k, 8] - h[0] * d[2] - d[0] * g[2]
    I[p, 9] += I[k, 9] - h[1] * d[2] - d[1] * g[2]


@inner_kernel
def couple_columns(links, motion, k, stop, j, f, n, M):
    """Write the entries of column j and the columns of link k before ``stop``."""
    for c in range(links.first[k], stop):
        axis, i = load3(motion.axis, c), links.place[c]
        entry = 0.0
        if links.turn[c] != 0.0:
            entry = dot3(axis, n)
        if links.slide[c] != 0.0:
            entry += links.slide[c] * dot3(axis, f)
        M[i, j] = entry
        M[j, i] = entry


@coarse_kernel
def mass_matrices(tables, R0, ws, m, links, motion, q, M):
    """M (k, nv, nv) of k poses, by composite inertias; entries of different branches are zero."""
    faults, I = 0, motion.composite
    for s in range(len(q)):
        faults += take_pose(m, q[s], R0, ws)
        forward_positions(tables, R0, ws.z, ws)
        place_links(links, ws, motion)
        for i in range(M.shape[1]):
            for j in range(M.shape[1]):
                M[s, i, j] = 0.0
        for k in range(len(links.dof)):
            place_link_inertia(links, ws, motion, k)
        for k in range(len(links.dof) - 1, -1, -1):
            for c in range(links.first[k], links.first[k + 1]):
                axis, j, h = load3(motion.axis, c), links.place[c], (I[k, 1], I[k, 2], I[k, 3])
                turn, way = scale3(links.turn[c], axis), scale3(links.slide[c], axis)
                f = add3(scale3(I[k, 0], way), cross3(turn, h))
                n = add3(inertia_of_turn(I, k, turn), cross3(h, way))
                couple_columns(links, motion, k, c + 1, j, f, n, M[s])
                M[s, j, j] += links.armature[j]
                at = k
                for _ in range(len(links.dof)):
                    if links.parent[at] < 0:
                        break
                    if links.turned[links.parent[at]] != 0:  # slides ask for forces alone
                        n = add3(n, cross3(load3(motion.arm, at), f))
                    at = links.parent[at]
                    couple_columns(links, motion, at, links.first[at + 1], j, f, n, M[s])
            if links.parent[k] >= 0:
                add_to_parent(I, k, links.parent[k], load3(motion.arm, k))
    return faults


@inner_kernel
def inertia_of_turn(I, k, w):
    """Return the composite inertia of link k times an angular velocity."""
    return (
        I[k, 4] * w[0] + I[k, 7] * w[1] + I[k, 8] * w[2],
        I[k, 7] * w[0] + I[k, 5] * w[1] + I[k, 9] * w[2],
        I[k, 8] * w[0] + I[k, 9] * w[1] + I[k, 6] * w[2],
    )

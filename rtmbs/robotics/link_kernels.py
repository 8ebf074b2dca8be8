"""Compiled inverse dynamics and mass matrix about the origins of the links themselves, by columns of v.

The equations of a simulation take all moments about one origin. There the own inertia of a light link far away is the
difference of large numbers, and an acceleration divides by it. Here every link has its velocity, wrench and composite
inertia about the origin of its own frame, in world axes (Luh, Walker and Paul; Featherstone, Rigid Body Dynamics
Algorithms, 5.3 and 6.2). A link is a dof, or the three dofs of a ball joint, which are the columns of one link.
"""

from typing import NamedTuple

from rtmbs.jit.compiled import coarse_inner_kernel, coarse_kernel, inner_kernel
from rtmbs.jit.struct import struct
from rtmbs.numerics.spatial import add3, cross3, dot3, load3, load33, scale3, store3
from rtmbs.robotics.kernels import take_pose, take_rates, unfit
from rtmbs.semirecursive.force_kernels import apply_forces
from rtmbs.semirecursive.passes import forward_positions, forward_velocities
from rtmbs.system.tables import GRAVITY_SLOT, Array


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

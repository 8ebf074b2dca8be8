"""Elements in the page form: kinematics of dofs, wheels and knife edges, and force laws and constraints of the user.

The rules of ``page.py`` hold here. Kinematics (METHODS 1.1) are frames, columns, velocities and accelerations of every
dof. A wheel (METHODS 1.41) has centre C, axle n and radius R + crown, its plane the normal k. With w = k - (k . n) n
the contact point is c = C - R w / |w| - crown k. A knife edge touches at its own point. Programs of the user
(METHODS 1.31) are interpreted operation by operation: arrays (B, ...), the namespace ``xp`` as first argument, built by
stack and concatenate. States of the laws stand behind the inputs in ``u``, and are held as they are.
"""

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls
from functools import partial
from types import SimpleNamespace

import numpy as np

from rtmbs.ad.interpret import interpreted

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls
from rtmbs.forces.algebra import on_ground, points, take
from rtmbs.numerics.rotations.plain import cross, dot, exponential, product, tilde, transposed, turn
from rtmbs.system.law_tables import COUNT
from rtmbs.system.tables import EDGE, FRAME_INPUTS, HEIGHT, POSE_INPUTS, PRISMATIC, REVOLUTE, Array, Tables

# ---- arrays over batches and trees ----------------------------------------------------------------------------------

ALLOWED = ("concatenate", "cos", "matmul", "sin", "sqrt", "stack", "sum")

# ---------------------------------------------------------------------------------------------------------------- tree


def path_matrix(tables: Tables) -> Array:
    """Return T (n, n): T[i, j] = 1 where dof j lies on the way from ground to dof i, i included (Eq. 7)."""
    T = np.eye(len(tables.dofs.parent))
    for i, p in enumerate(tables.dofs.parent):
        if p >= 0:
            T[i] += T[p]
    return T


def path_sum(xp, T, x):
    """Return T x: over the dofs from ground to each dof. x (B, n, k)."""
    return xp.path_sum(T, x) if hasattr(xp, "path_sum") else xp.matmul(T, x)


def subtree_sum(xp, T, x):
    """Return T^T x: over the dofs that each dof carries. x (B, n, k)."""
    return xp.subtree_sum(T, x) if hasattr(xp, "subtree_sum") else xp.matmul(T.T, x)


def path_recursion(xp, T, x):
    """Return T x by walking root to tips."""
    total: list[Array] = []
    for i in range(len(T)):
        ancestors = np.flatnonzero(T[i, :i])
        total.append(x[:, i] + total[ancestors[-1]] if len(ancestors) else x[:, i])
    return xp.stack(total, axis=1)


def subtree_recursion(xp, T, x):
    """Return T^T x by walking tips to root."""
    total = [x[:, i] for i in range(len(T))]
    for i in reversed(range(len(T))):
        ancestors = np.flatnonzero(T[i, :i])
        if len(ancestors):
            total[ancestors[-1]] = total[ancestors[-1]] + total[i]
    return xp.stack(total, axis=1)


def recursive(xp):
    """Return ``xp`` with sums by recursion: a recorder would write n^2 additions down where n are meant.

    ``whole`` is ``xp`` itself, for force laws, which may use any function.
    """
    sums = {"path_sum": partial(path_recursion, xp), "subtree_sum": partial(subtree_recursion, xp)}
    return SimpleNamespace(**{name: getattr(xp, name) for name in ALLOWED}, **sums, whole=xp)


def levels(parent: Array) -> list[Array]:
    """Return one index array a level of the tree: dofs with 0, 1, 2, ... dofs between them and ground."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for i, p in enumerate(parent):
        depth[i] = depth[p] + 1 if p >= 0 else 0
    return [np.flatnonzero(depth == level) for level in range(depth.max(initial=-1) + 1)]


def scatter(xp, x, targets, n):
    """Return (B, n, ...): row i is the sum of the rows of x whose target is i. Target -1 is dropped."""
    members = [np.flatnonzero(targets == i) for i in range(n)]
    width = max((len(rows) for rows in members), default=0)
    table = np.array([np.pad(rows, (0, width - len(rows)), constant_values=len(targets)) for rows in members])
    padded = xp.concatenate((x, np.zeros((x.shape[0], 1, *x.shape[2:]))), axis=1)
    return xp.sum(padded[:, table.astype(np.int64)], axis=2)


def local_frames(xp, tables, R0, z):
    """Return each dof's frame in its parent's axes: rotation (B, n, 3, 3), origin (B, n, 3)."""
    dofs = tables.dofs
    reference = np.concatenate((R0, np.eye(3)[None]))[dofs.reference]  # reference -1: none
    offset_rotation = np.matmul(dofs.offset_rotation, reference)
    u = dofs.axis
    angle, displacement = z * (dofs.kind == REVOLUTE), z * slide_share(dofs)
    sine, versine = xp.sin(angle)[..., None, None], 1 - xp.cos(angle)[..., None, None]
    u_tilde = tilde(np, u)
    rotation = np.eye(3) + sine * u_tilde + versine * np.matmul(u_tilde, u_tilde)  # Rodrigues
    slide = turn(np, offset_rotation, u) * displacement[..., None]
    return product(xp, offset_rotation, with_turns(xp, dofs, rotation, z)), dofs.offset + slide


def slide_share(dofs):
    """Return the way along its axis (n,) that one unit of each coordinate slides: 1 of a slide, the pitch of a turn."""
    return (dofs.kind == PRISMATIC) + dofs.pitch


def with_turns(xp, dofs, rotation, z):
    """Return ``rotation`` (B, n, 3, 3) with exp(delta~) at the first of every three rotation dofs."""
    first = np.flatnonzero(dofs.reference >= 0)
    if len(first) == 0:
        return rotation
    order = np.arange(len(dofs.kind))
    order[first] = len(order) + np.arange(len(first))
    delta = sum(z[:, first + k, None] * dofs.axis[first + k] for k in range(3))
    return xp.concatenate((rotation, exponential(xp, delta)), axis=1)[:, order]


def frames(xp, tables, R0, z):
    """Return A (B, n, 3, 3), dof to world, and r (B, n, 3), dof origins [m]; level by level from ground."""
    rotation, origin = local_frames(xp, tables, R0, z)
    parent, place = tables.dofs.parent, np.zeros(len(tables.dofs.parent), dtype=np.int64)
    A, r = [np.eye(3)[None, None]], [np.zeros((1, 1, 3))]
    order = levels(parent)
    for level in order:
        p = np.where(
            parent[level] < 0, 0, place[np.maximum(parent[level], 0)]
        )  # place of the parent in the level above
        place[level] = np.arange(len(level))
        A_parent, r_parent = take(A[-1], p), take(r[-1], p)
        A.append(product(xp, A_parent, take(rotation, level)))
        r.append(r_parent + turn(xp, A_parent, take(origin, level)))
    back = np.argsort(np.concatenate(order), kind="stable")
    return take(xp.concatenate(A[1:], axis=1), back), take(xp.concatenate(r[1:], axis=1), back)


def columns(xp, tables, A, r):
    """Return S (B, n, 6), the columns of R_d: turns [r x u + pitch u, u], prismatic [u, 0]."""
    u = turn(xp, A, tables.dofs.axis)
    turning = (tables.dofs.kind != PRISMATIC)[:, None]
    return xp.concatenate((turning * cross(xp, r, u) + slide_share(tables.dofs)[:, None] * u, turning * u), axis=-1)


def velocities(xp, T, S, zd):
    """Return V = T R_d zd (B, n, 6)."""
    return path_sum(xp, T, S * zd[..., None])


def acceleration_rest(xp, tables, V, S, zd):
    """Return d = Rdot_d zd (B, n, 6): d/dt S_i = V_i x S_i of the element's tip, and V_base serves as well.

    The difference of the two is the element's own velocity, whose cross product with itself is zero (METHODS 1.1).
    """
    V = on_ground(xp, V, np.zeros(6), tables.dofs.base)
    v, w, S_v, S_w = V[..., :3], V[..., 3:], S[..., :3], S[..., 3:]
    Sd = xp.concatenate((cross(xp, w, S_v) + cross(xp, v, S_w), cross(xp, w, S_w)), axis=-1)
    return Sd * zd[..., None]


def accelerations(xp, T, S, d, zdd):
    """Return Vd = T (R_d zdd + Rdot_d zd) (B, n, 6); ground rests."""
    return path_sum(xp, T, S * zdd[..., None] + d)


def motion(xp, tables, R0, z, zd):
    """Return T, A, r, S, V of a state."""
    T = path_matrix(tables)
    A, r = frames(xp, tables, R0, z)
    S = columns(xp, tables, A, r)
    return T, A, r, S, velocities(xp, T, S, zd)


def row_closures(tables):
    """Return the closure of every closure row (mc,)."""
    return np.repeat(np.arange(len(tables.closures.connector)), np.diff(tables.closures.row_pointer))


def row_connectors(tables):
    """Return the connector of every closure row (mc,)."""
    return tables.closures.connector[row_closures(tables)]


def all_signs(tables):
    """Return (mc, n): -1 on the branch of a, +1 on the branch of b of every closure row, 0 elsewhere."""
    connectors, signs = tables.connectors, np.zeros((len(tables.closures.connector), len(tables.dofs.parent)))
    for closure, connector in enumerate(tables.closures.connector):
        branch = slice(connectors.pointer[connector], connectors.pointer[connector + 1])
        signs[closure, connectors.dof[branch]] = connectors.sign[branch]
    return signs[row_closures(tables)]


def contact_rows(tables):
    """Return the slice of the rows of contacts, and the closure of each (k,)."""
    closures, closed = tables.closures, slice(int(tables.contacts.first[0]), int(tables.conditions.first[0]))
    counts = np.diff(closures.row_pointer)[closed]
    first = int(closures.row_pointer[closed.start])
    return slice(first, first + int(counts.sum())), np.repeat(np.arange(closed.start, closed.stop), counts)


def with_contacts(xp, tables, rows, own):
    """Return ``rows`` (B, mc, ...) with those of contacts in their place."""
    at, _ = contact_rows(tables)
    return xp.concatenate((rows[:, : at.start], own, rows[:, at.stop :]), axis=1)


def contact_geometry(xp, tables, A, r, V):
    """Return the direction t of every row, its rate, the point c and its rate, all (B, k, 3)."""
    at, closure = contact_rows(tables)
    closures, contacts, q = tables.closures, tables.contacts, closure - int(tables.contacts.first[0])
    connector = closures.connector[closure]
    a, b = tables.connectors.a[connector], tables.connectors.b[connector]
    A_a, A_b = (on_ground(xp, A, np.eye(3), side) for side in (a, b))
    w_a, w_b = (on_ground(xp, V, np.zeros(6), side)[..., 3:] for side in (a, b))
    axis_a, axis_b, edge = closures.axis_a[at], closures.axis_b[at], closures.kind[at] == EDGE
    R, crown, turns = contacts.radius[q][:, None], contacts.crown[q][:, None], contacts.radius[q] > 0.0
    C, Cd = points(xp, A, r, V, b, closures.point_b[closure])
    k, n = turn(xp, A_a, contacts.normal[q]), turn(xp, A_b, turns[:, None] * axis_b)
    kd, nd = cross(xp, w_a, k), cross(xp, w_b, n)
    k_n = dot(xp, k, n)[..., None]
    still = np.where(turns, 0.0, 1.0)[:, None] * np.array([1.0, 0.0, 0.0])  # any vector, where R = 0
    w = k - k_n * n
    wd = kd - (dot(xp, kd, n) + dot(xp, k, nd))[..., None] * n - k_n * nd
    w, wd = turns[:, None] * w + still, turns[:, None] * wd
    size = xp.sqrt(dot(xp, w, w))[..., None]
    u = w / size
    ud = (wd - u * dot(xp, u, wd)[..., None]) / size
    t = turn(xp, A_a, axis_a * ~edge[:, None]) + turn(xp, A_b, axis_b * edge[:, None])
    td = cross(xp, w_a, t) * ~edge[:, None] + cross(xp, w_b, t) * edge[:, None]
    return t, td, C - R * u - crown * k, Cd - R * ud - crown * kd


def contact_heights(xp, tables, A, r):
    """Return Phi of the contacts (B, k): k . (c - P) of HEIGHT, P the point of the plane; zero of rows of rates."""
    at, closure = contact_rows(tables)
    still = np.zeros((A.shape[0], A.shape[1], 6))
    t, _, c, _ = contact_geometry(xp, tables, A, r, still)
    a = tables.connectors.a[tables.closures.connector[closure]]
    P, _ = points(xp, A, r, still, a, tables.closures.point_a[closure])
    return (tables.closures.kind[at] == HEIGHT) * dot(xp, t, c - P)


def contact_wrenches(xp, tables, A, r, V):
    """Return G = [t; c x t] of the contacts and its rate (B, k, 6)."""
    t, td, c, cd = contact_geometry(xp, tables, A, r, V)
    G = xp.concatenate((t, cross(xp, c, t)), axis=-1)
    return G, xp.concatenate((td, cross(xp, cd, t) + cross(xp, c, td)), axis=-1)


# mypy: allow-untyped-defs, allow-untyped-calls


def law_wrenches(xp, tables, u, kinematics):
    """Return wrenches (B, k, 6) [f, n] of the recorded laws in axes of a; ``kinematics`` (B, k, 18): r, R, v, w."""
    B, wrenches = kinematics.shape[0], int(tables.laws.counts[0])
    if wrenches == 0:
        return np.zeros((B, 0, 6))
    rest = np.zeros((B, int(tables.laws.counts[2])))
    x = xp.concatenate([kinematics.reshape((B, -1)), rest, *states(tables, u, B)], axis=1)
    W = interpreted(whole(xp), tables.laws.program, x, u[tables.laws.slot], slice(6 * wrenches))
    return W.reshape((B, wrenches, 6))


def law_forces(xp, tables, u, z, zd):
    """Return the generalised forces (B, o) of the recorded laws on joints."""
    wrenches, forces = (int(count) for count in tables.laws.counts[:2])
    if forces == 0:
        return np.zeros((z.shape[0], 0))
    B = z.shape[0]
    parts = [np.zeros((B, FRAME_INPUTS * wrenches)), *joint_inputs(tables, z, zd), *states(tables, u, B)]
    mine = slice(6 * wrenches, 6 * wrenches + forces)
    return interpreted(whole(xp), tables.laws.program, xp.concatenate(parts, axis=1), u[tables.laws.slot], mine)


def law_rates(xp, tables, u, kinematics, z, zd):
    """Return the rates (B, ns) of the states of all laws, at the states that stand in ``u``."""
    B, laws, count = z.shape[0], tables.laws, state_count(tables)
    wrenches, forces, _, entries = (int(number) for number in laws.counts)
    first = 6 * wrenches + forces + len(laws.wrench_entry) + entries
    looked = kinematics.reshape((B, FRAME_INPUTS * wrenches))
    x = xp.concatenate([looked, *joint_inputs(tables, z, zd), *states(tables, u, B)], axis=1)
    return interpreted(whole(xp), laws.program, x, u[laws.slot], slice(first, first + count))


def joint_inputs(tables, z, zd):
    """Return the columns (B, 1) of coordinates and rates that laws on joints look at."""
    return [(zd if rate else z)[:, dof : dof + 1] for dof, rate in tables.laws.input[: int(tables.laws.counts[2])]]


def state_count(tables):
    """Return the number of states of all laws."""
    return int(tables.laws.state_block[:, COUNT].sum())


def states(tables, u, B):
    """Return the columns (B, 1) of the states of the laws, the last numbers of ``u``."""
    count = state_count(tables)
    return [np.ones((B, 1)) * u[len(u) - count + i] for i in range(count)]


def whole(xp):
    """Return the namespace with all its functions, where ``xp`` offers the page's only."""
    return getattr(xp, "whole", xp)


# ---- constraints of the user in the page form -----------------------------------------------------------------------


# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls


# mypy: allow-untyped-defs, allow-untyped-calls


def seen_frames(xp, tables, A, r, V):
    """Return of every pair of frames of the user's constraints: axes of a, x_b, w_a, xd_b, and r, R, rd, w as a sees.

    All (B, k, ...); rd is the rate of r as a sees, w the angular velocity of b relative to a.
    """
    conditions, connectors = tables.conditions, tables.connectors
    a, b = (ends[conditions.first[0] : conditions.first[1]] for ends in (connectors.a, connectors.b))
    axes, other = (
        product(xp, on_ground(xp, A, np.eye(3), side), frame[:, :, :3])
        for side, frame in ((a, conditions.frame_a), (b, conditions.frame_b))
    )
    x_a, _ = points(xp, A, r, V, a, conditions.frame_a[:, :, 3])
    x_b, xd_b = points(xp, A, r, V, b, conditions.frame_b[:, :, 3])
    V_a, V_b = (on_ground(xp, V, np.zeros(6), side) for side in (a, b))
    into_a, w_a = transposed(xp, axes), V_a[..., 3:]
    rd = xd_b - V_a[..., :3] - cross(xp, w_a, x_b)  # a carries the point where b's marker is
    seen = [turn(xp, into_a, x) for x in (x_b - x_a, rd, V_b[..., 3:] - w_a)]
    return axes, x_b, w_a, xd_b, seen[0], product(xp, into_a, other), seen[1], seen[2]


def condition_inputs(xp, tables, u, A, r, z):
    """Return the inputs (B, nx) of the program of the user's constraints."""
    *_, d, R, _, _ = seen_frames(xp, tables, A, r, np.zeros((z.shape[0], z.shape[1], 6)))
    poses = xp.concatenate((d, R[..., 0, :], R[..., 1, :], R[..., 2, :]), axis=-1)
    return all_inputs(xp, tables, u, z, poses)


def condition_wrenches(xp, tables, u, A, r, V, z):
    """Return G, Gd (B, k, 6) of the user's constraints between frames, and what else their Phidd holds (B, k).

    G = [f; n + x_b x f], f = A g_r, n = A sum over columns of R_c x g_R_c; the time adds 2 g_xt xd + g_tt to Phidd,
    one half of the first by Gd, for slopes change with the time as well.
    """
    axes, x_b, w_a, xd_b, _, R, rd, w = seen_frames(xp, tables, A, r, V)
    x = condition_inputs(xp, tables, u, A, r, z)
    by = condition_slopes(xp, tables, u, x)
    closures, conditions = tables.closures, tables.conditions
    closure = np.repeat(np.arange(len(closures.point_a)), np.diff(closures.row_pointer))
    first, G, Gd, more = closures.row_pointer[conditions.first[0]], [], [], []
    for q in range(len(conditions.scale)):
        k = closure[first + q] - conditions.first[0]
        if k >= len(conditions.frame_a):
            break
        columns = xp.stack([R[:, k, :, c] for c in range(3)], axis=1)
        turning = cross(xp, xp.stack([w[:, k]] * 3, axis=1), columns)
        flat = xp.concatenate([xp.stack([turning[:, c, i] for c in range(3)], axis=-1) for i in range(3)], axis=-1)
        one = 1 + 0 * rd[:, k, :1]
        bend = condition_bends(xp, tables, u, x, q, xp.concatenate((rd[:, k], flat, one), axis=-1))
        g, gd = by[q], bend
        gR, gRd = (columns_of(xp, part[:, 3:12]) for part in (g, gd))
        n = xp.sum(cross(xp, columns, gR), axis=1)
        nd = xp.sum(cross(xp, turning, gR) + cross(xp, columns, gRd), axis=1)
        E, wa = axes[:, k], w_a[:, k]
        f, torque = turn(xp, E, g[:, :3]), turn(xp, E, n)
        fd, td = turn(xp, E, gd[:, :3]) + cross(xp, wa, f), turn(xp, E, nd) + cross(xp, wa, torque)
        xb = x_b[:, k]
        G.append(xp.concatenate((f, torque + cross(xp, xb, f)), axis=-1))
        Gd.append(xp.concatenate((fd, td + cross(xp, xd_b[:, k], f) + cross(xp, xb, fd)), axis=-1))
        more.append(bend[:, 12])
    return xp.stack(G, axis=1), xp.stack(Gd, axis=1), xp.stack(more, axis=1)


def condition_rows(xp, tables, u, R0, z, zd, zdd, order):
    """Return the rows of the user's constraints (B, nq): Phi, Phid or Phidd by ``order``."""
    closures, conditions, connectors = tables.closures, tables.conditions, tables.connectors
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    x = condition_inputs(xp, tables, u, A, r, z)
    if order == 0:
        return condition_values(xp, tables, u, x)
    by, rows = condition_slopes(xp, tables, u, x), []
    first, on_joints = closures.row_pointer[conditions.first]
    if len(conditions.frame_a):
        G, Gd, more = condition_wrenches(xp, tables, u, A, r, V, z)
        connector = np.repeat(np.arange(len(closures.point_a)), np.diff(closures.row_pointer))[first:on_joints]
        a, b = connectors.a[connector], connectors.b[connector]

        def across(y):
            return on_ground(xp, y, np.zeros(6), b) - on_ground(xp, y, np.zeros(6), a)

        if order == 1:
            rows += [(dot(xp, G, across(V)) + xp.stack([by[q][:, 12] for q in range(len(connector))], axis=1))]
        else:
            Vd = accelerations(xp, T, S, acceleration_rest(xp, tables, V, S, zd), zdd)
            rows += [dot(xp, G, across(Vd)) + dot(xp, Gd, across(V)) + more]
    for l in range(conditions.first[1], tables.couplers.first[0]):
        connector = tables.closures.connector[l]
        branch = connectors.dof[connectors.pointer[connector] : connectors.pointer[connector + 1]]
        rates = xp.concatenate((take(zd, branch), 1 + 0 * zd[:, :1]), axis=1)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            q = row - first
            if order == 1:
                rows.append(xp.sum(by[q] * rates, axis=-1)[:, None])
            else:
                bend = condition_bends(xp, tables, u, x, q, rates)
                rows.append(
                    (xp.sum(by[q][:, :-1] * take(zdd, branch), axis=-1) + xp.sum(bend * rates, axis=-1))[:, None]
                )
    return xp.concatenate(rows, axis=1)


def condition_jacobian(xp, tables, u, R0, z):
    """Return Phi_z (B, nq, n) of the user's constraints."""
    closures, conditions, connectors = tables.closures, tables.conditions, tables.connectors
    _, A, r, S, V = motion(xp, tables, R0, z, 0 * z)
    first, on_joints = closures.row_pointer[conditions.first]
    rows = []
    if len(conditions.frame_a):
        G, *_ = condition_wrenches(xp, tables, u, A, r, V, z)
        sign = all_signs(tables)[first:on_joints]
        rows.append(sign * sum(G[:, :, None, k] * S[:, None, :, k] for k in range(6)))
    by = condition_slopes(xp, tables, u, condition_inputs(xp, tables, u, A, r, z))
    for l in range(conditions.first[1], tables.couplers.first[0]):
        connector = tables.closures.connector[l]
        branch = connectors.dof[connectors.pointer[connector] : connectors.pointer[connector + 1]]
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            rows.append(xp.sum(by[row - first][:, :-1, None] * np.eye(z.shape[1])[branch], axis=1)[:, None])
    return xp.concatenate(rows, axis=1)


def inputs_of(tables, q):
    """Return the first input of a condition and how many there are."""
    conditions = tables.conditions
    first = int(conditions.input[q])
    framed = first < POSE_INPUTS * len(conditions.frame_a)
    return first, POSE_INPUTS if framed else int(conditions.place[q + 1] - conditions.place[q])


def all_inputs(xp, tables, u, z, poses):
    """Return the inputs (B, nx) of the program; ``poses`` (B, k, 12) are r and R of all pairs of frames."""
    conditions, columns = tables.conditions, []
    t = u[conditions.clock[0]] + 0 * z[:, :1]
    for k in range(len(conditions.frame_a)):
        columns += [poses[:, k], t]
    columns += [t if dof < 0 else z[:, dof : dof + 1] for dof in conditions.dof]
    return xp.concatenate(columns, axis=1)


def program(xp, tables, u, x, outputs):
    """Return some outputs of the program (B, outputs)."""
    return interpreted(whole(xp), tables.conditions.program, x, u[tables.conditions.slot], outputs)


def condition_values(xp, tables, u, x):
    """Return Phi (B, nq), scaled."""
    scale = tables.conditions.scale
    return program(xp, tables, u, x, slice(len(scale))) * scale


def condition_slopes(xp, tables, u, x):
    """Return the derivatives of each condition by its inputs: a list of (B, inputs)."""
    conditions = tables.conditions
    count = len(conditions.scale)
    y = program(xp, tables, u, x, slice(count, count + len(conditions.slope)))
    found = []
    for q in range(count):
        at = {int(i): e for e, (k, i) in enumerate(conditions.slope) if k == q}
        none = 0 * x[:, 0]
        columns = [conditions.scale[q] * y[:, at[i]] if i in at else none for i in range(inputs_of(tables, q)[1])]
        found.append(xp.stack(columns, axis=-1))
    return found


def condition_bends(xp, tables, u, x, q, rates):
    """Return the change of the slopes (B, inputs) of condition q when its inputs change by ``rates`` (B, inputs)."""
    conditions = tables.conditions
    first = len(conditions.scale) + len(conditions.slope)
    y = program(xp, tables, u, x, slice(first, first + len(conditions.bend)))
    columns = [0 * x[:, 0] for _ in range(inputs_of(tables, q)[1])]
    for e, (k, i, j) in enumerate(conditions.bend):
        if k == q:
            columns[i] = columns[i] + conditions.scale[q] * y[:, e] * rates[:, j]
    return xp.stack(columns, axis=-1)


def columns_of(xp, m):
    """Return the columns (B, 3, 3), column first, of matrices (B, 9), row-major."""
    return xp.stack([m[:, k::3] for k in range(3)], axis=1)

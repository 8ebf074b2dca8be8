"""User's force laws and constraints in the page form: their programs interpreted, wrenches and Jacobian (METHODS 1.31).

States of the laws stand behind the inputs in ``u``, and are held as they are.

The rules of ``page.py`` hold here, but for the operations of a law or constraint: arrays (B, ...), the namespace ``xp``
as first argument, built by stack and concatenate.
"""

import numpy as np

from rtmbs.ad.interpret import interpreted
from rtmbs.forces.algebra import on_ground, points, take
from rtmbs.numerics.rotations.plain import cross, dot, product, transposed, turn
from rtmbs.semirecursive.page_kinematics import acceleration_rest, accelerations, all_signs, motion
from rtmbs.system.law_tables import COUNT
from rtmbs.system.tables import FRAME_INPUTS, POSE_INPUTS

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

"""Kernels of one rank: backward over its branches, a message, then trunk, multipliers and forward; steps of a thread.

Between the ranks the border is that of relative twists: six rows for each cut joint, W = Y_b - Y_a about a point,
the same for each body that two ranks share, and one row for each driven coordinate. They are known without the pose of
the other end. Behind the sum of the messages
G turns them into the rows of the cut joints. The point is where the cut joint was at the last evaluation, which all
ranks know: about a far point the digits of small bodies would be lost.

Threads exchange messages in shared memory, with a counter between the stages of a step.
"""

from typing import Any, NamedTuple

import numpy as np

from rtmbs.jit.compiled import inlined_kernel, kernel
from rtmbs.jit.intrinsics import count_up, give_way, read
from rtmbs.jit.struct import struct
from rtmbs.numerics.spatial import cross3, force_at, load3, place, store6
from rtmbs.recursive.passes import factor_down_to, load_down_to, place_bodies, place_rows, respond
from rtmbs.recursive.reduced_system import factor_border, solve_border
from rtmbs.semirecursive.closures import closure_accelerations, closure_velocities, evaluate_closures
from rtmbs.semirecursive.evaluation import evaluate_residual
from rtmbs.semirecursive.passes import add_correction, commit_rotations

Array = Any

WEIGHTLESS, NOT_FINITE = 1, 2  # status of ``forward_part``
TRUNK, END, DRIVEN = 30, 24, 2  # numbers for each dof of the trunk beside rows, each end of a cut joint, each driver
DEPENDENT, ALPHA, BETA = 0, 1, 2  # places in ``Layout.numbers``


@struct
class PartLayout(NamedTuple):
    """Places of the message of a rank, and whose each number is."""

    trunk: Array  # (2,) int64: dofs of the trunk; where frames without dynamics begin
    end: Array  # (2c,) int64: own dof at ends a, b of every cut joint; -1: ground, which this rank tells; -2: another's
    driven: Array  # (nd,) int64: own dof of every driver; -1: another rank's
    slot: Array  # (nd,) int64: slot of (f, fd, fdd)
    numbers: Array  # (3,) tolerance of rank, Baumgarte's alpha and beta [1/s]


@struct
class Reduced(NamedTuple):
    """Scratch of the reduced system."""

    total: Array  # (message,) sum of the messages
    gamma: Array  # (m,)
    row: Array  # (m, 6) G of every row, or 1 in the first place for a driver
    first: Array  # (m,) int64: first border unknown of a row
    width: Array  # (m,) int64: 6, or 1 for a driver
    point: Array  # (c, 3) where the cut joints were at the last evaluation [m]


@kernel
def backward_part(tables, border, layout, R0, u, none, red, ws, sc, message):
    """Evaluate own bodies at ws.z and ws.zd, pass backward to the trunk, and write the message."""
    nt, n, b = layout.trunk[0], layout.trunk[1], len(sc.right)
    for i in range(len(sc.d)):
        ws.zdd[i] = 0.0
    evaluate_residual(tables, R0, u, none, ws)
    for i in range(n):
        sc.f[i] = -ws.tau[i]
        for k in range(6):
            sc.L[i, k] = 0.0
    for r in range(b):
        sc.right[r] = 0.0
    place_twists(red, ws)
    place_rows(border, ws, sc)
    place_bodies(tables.dofs, ws, sc)
    status = factor_down_to(tables.dofs, border, n, nt, ws, sc)
    if status == 0:
        load_down_to(tables.dofs, border, n, nt, ws, sc)
    message[0] = status
    write_message(border, layout, ws, sc, message)


@inlined_kernel
def place_twists(red, ws):
    """ws.G = the six relative velocities of every cut joint about its point."""
    for l in range(len(red.point)):
        x = load3(red.point, l)
        for k in range(3):
            axis = (1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2))
            store6(ws.G, 6 * l + k, force_at(x, axis))


@inlined_kernel
def write_message(border, layout, ws, sc, message):
    """PhiL, RHS and bounds; K, L, PhiM and joint forces of the trunk; poses of own ends."""
    nt, b, k = layout.trunk[0], len(sc.right), 1
    for e in range(b * b):
        message[k + e] = sc.C[e]
    k += b * b
    for r in range(b):
        message[k + r], message[k + b + r] = sc.right[r], sc.bound[r]
    k += 2 * b
    for i in range(nt):
        for c in range(21):
            message[k + c] = sc.inertia[i, c]
        message[k + 21], message[k + 22] = sc.size[i, 0], sc.size[i, 1]
        for c in range(6):
            message[k + 23 + c] = sc.L[i, c]
        message[k + 29] = sc.f[i]
        k += TRUNK
    for e in range(border.pointer[nt]):
        for c in range(6):
            message[k + c] = sc.P[e, c]
        message[k + 6] = sc.h[e]
        k += 7
    for e in range(len(layout.end)):
        i = layout.end[e]
        if i > -2:
            for c in range(9):
                message[k + c] = ws.A[i, c // 3, c % 3]
            for c in range(3):
                message[k + 9 + c] = ws.r[i, c]
            for c in range(6):
                message[k + 12 + c], message[k + 18 + c] = ws.V[i, c], ws.acc[i, c]
        k += END
    for e in range(len(layout.driven)):
        if layout.driven[e] >= 0:
            message[k], message[k + 1] = ws.z[layout.driven[e]], ws.zd[layout.driven[e]]
        k += DRIVEN


@kernel
def forward_part(tables, cuts, border, rows, layout, u, messages, red, ws, cut_ws, sc, row_sc):
    """Sum the messages, go on over the trunk, solve for multipliers, pass forward; zdd in sc. Returns the status.

    Sums run in the order of the ranks, so all ranks find the same bits.
    """
    nt = layout.trunk[0]
    for k in range(len(red.total)):
        total = 0.0
        for rank in range(len(messages)):
            total += messages[rank, k]
        red.total[k] = total
    for rank in range(len(messages)):
        if messages[rank, 0] > 0.0:
            return WEIGHTLESS
    for k in range(1, 1 + len(sc.C) + len(sc.right)):
        if not abs(red.total[k]) < np.inf:
            return NOT_FINITE
    k = read_trunk(border, layout, red.total, sc)
    k = read_ends(red.total, k, cut_ws)
    if factor_down_to(tables.dofs, border, nt, 0, ws, sc):
        return WEIGHTLESS
    load_down_to(tables.dofs, border, nt, 0, ws, sc)
    place_cuts(cuts, layout, u, red, k, cut_ws)
    turn_rows(red, sc, row_sc)
    for l in range(len(red.point)):
        x = load3(cut_ws.r, 2 * l + 1)
        if l < len(cuts.closures.point_b):
            x = place(cut_ws.A, cut_ws.r, 2 * l + 1, load3(cuts.closures.point_b, l))
        for c in range(3):
            red.point[l, c] = x[c]
    factor_border(rows, layout.numbers[DEPENDENT], row_sc)
    solve_border(rows, row_sc)
    for r in range(len(sc.x)):
        sc.x[r] = 0.0
    for r in range(len(red.gamma)):
        for c in range(red.width[r]):
            sc.x[red.first[r] + c] += red.row[r, c] * row_sc.x[r]
    for i in range(len(sc.zdd)):
        sc.zdd[i] = 0.0
    respond(tables.dofs, border, ws, sc)
    return 0


@inlined_kernel
def read_trunk(border, layout, total, sc):
    """Take PhiL, RHS, K, L, PhiM and joint forces of the trunk; returns the place behind them."""
    nt, b, k = layout.trunk[0], len(sc.right), 1
    for e in range(b * b):
        sc.C[e] = total[k + e]
    k += b * b
    for r in range(b):
        sc.right[r], sc.bound[r] = total[k + r], total[k + b + r]
    k += 2 * b
    for i in range(nt):
        for c in range(21):
            sc.inertia[i, c] = total[k + c]
        sc.size[i, 0], sc.size[i, 1] = total[k + 21], total[k + 22]
        for c in range(6):
            sc.L[i, c] = total[k + 23 + c]
        sc.f[i] = total[k + 29]
        k += TRUNK
    for e in range(border.pointer[nt]):
        for c in range(6):
            sc.P[e, c] = total[k + c]
        sc.h[e] = total[k + 6]
        k += 7
    return k


@inlined_kernel
def read_ends(total, k, ws):
    """Take the poses and motions of the ends of all cut joints; returns the place behind them."""
    for e in range(len(ws.S)):
        for c in range(9):
            ws.A[e, c // 3, c % 3] = total[k + c]
        for c in range(3):
            ws.r[e, c] = total[k + 9 + c]
        for c in range(6):
            ws.V[e, c], ws.acc[e, c] = total[k + 12 + c], total[k + 18 + c]
        k += END
    return k


@inlined_kernel
def place_cuts(cuts, layout, u, red, k, ws):
    """Rows G and gamma* = gamma - 2 alpha Phid - beta^2 Phi of the cut joints, then of shared bodies and drivers."""
    alpha, beta, count = layout.numbers[ALPHA], layout.numbers[BETA], len(cuts.closures.point_b)
    shared = len(red.point) - count
    framed = len(red.gamma) - len(layout.driven) - 6 * shared
    if framed:
        evaluate_closures(cuts, ws.z, u, ws)
        closure_velocities(cuts, ws.zd, u, ws)
        closure_accelerations(cuts, ws.zd, ws.zdd, u, ws)
    for r in range(framed):
        e = red.first[r] // 3
        Phid = ws.Phid[r]
        for c in range(6):
            Phid += ws.G[r, c] * (ws.V[e + 1, c] - ws.V[e, c])
        moved = cross3(load3(red.point, e // 2), load3(ws.G, r))
        for c in range(3):
            red.row[r, c], red.row[r, 3 + c] = ws.G[r, c], ws.G[r, 3 + c] - moved[c]
        red.gamma[r] = -ws.Phidd[r] - 2.0 * alpha * Phid - beta * beta * ws.Phi[r]
    for e in range(shared):
        place_shared(red, 2 * (count + e), count + e, framed + 6 * e, ws)
    framed += 6 * shared
    for e in range(len(layout.driven)):
        slot, z, zd = layout.slot[e], red.total[k], red.total[k + 1]
        red.gamma[framed + e] = u[slot + 2] - 2.0 * alpha * (zd - u[slot + 1]) - beta * beta * (z - u[slot])
        k += DRIVEN


@inlined_kernel
def place_shared(red, end, l, row, ws):
    """Right side of a shared body: its two sides, ``end`` and the next, have one acceleration about its point."""
    x, y, z = red.point[l, 0], red.point[l, 1], red.point[l, 2]
    a, b, c = (
        ws.acc[end + 1, 3] - ws.acc[end, 3],
        ws.acc[end + 1, 4] - ws.acc[end, 4],
        ws.acc[end + 1, 5] - ws.acc[end, 5],
    )
    way = b * z - c * y, c * x - a * z, a * y - b * x
    for k in range(3):
        red.gamma[row + k] = ws.acc[end, k] - ws.acc[end + 1, k] - way[k]
        red.gamma[row + 3 + k] = ws.acc[end, 3 + k] - ws.acc[end + 1, 3 + k]


@inlined_kernel
def turn_rows(red, sc, row_sc):
    """PhiL and the right side of the rows, from those of the twists."""
    m, b = len(red.gamma), len(sc.right)
    for r in range(m):
        right, bound = red.gamma[r], 0.0
        for c in range(red.width[r]):
            right += red.row[r, c] * sc.right[red.first[r] + c]
            bound += red.row[r, c] * red.row[r, c] * sc.bound[red.first[r] + c]
        row_sc.right[r], row_sc.bound[r] = right, red.width[r] * bound
        for s in range(r + 1):
            total = 0.0
            for c in range(red.width[r]):
                for d in range(red.width[s]):
                    i, j = red.first[r] + c, red.first[s] + d
                    entry = sc.C[i * b + j] if i >= j else sc.C[j * b + i]
                    total += red.row[r, c] * entry * red.row[s, d]
            row_sc.C[r * m + s] = total


@kernel
def take_stage(dofs, h, weight, way, last, z, zd, R0, sums, ws, sc):
    """One stage of Runge-Kutta's method behind ``forward_part``: sums of rates, and the state of the next stage.

    ``weight`` of this stage in the step, ``way`` to the next; ``last``: the step ends, and z, zd and R0 move on.
    """
    n = len(z)
    for i in range(n):
        sums[0, i] = 0.0
    add_correction(dofs, ws.z, ws.zd, sums[0])
    for i in range(n):
        sums[1, i] += weight * sums[0, i]
        sums[2, i] += weight * sc.zdd[i]
        ws.z[i], ws.zd[i] = z[i] + way * h * sums[0, i], zd[i] + way * h * sc.zdd[i]
    if last:
        for i in range(n):
            z[i] += h * sums[1, i]
            zd[i] += h * sums[2, i]
            sums[1, i] = sums[2, i] = 0.0
        commit_rotations(dofs, z, R0)
        for i in range(n):
            ws.z[i], ws.zd[i] = z[i], zd[i]


PATIENT = 2000  # looks at the counter before the core is offered to others: some microseconds


@kernel
def march_part(
    threads, epoch, count, h, kutta, counter, tables, cuts, border, rows, layout, R0, u, none, red, ws, cut_ws, sc,
    row_sc, z, zd, sums, mine, others, mine_next, others_next,
):  # fmt: skip
    """Take ``count`` steps of ``h``; returns the status of ``forward_part``, the same on all threads.

    ``epoch`` evaluations were counted before. Messages alternate between two places: who writes one of them knows by
    the counter that all have read what stood there. kutta (4, 2) has the weight of each stage and the way to the next.
    """
    for step in range(4 * count):
        stage, even = step % 4, (epoch + step) % 2 == 0
        message, messages = (mine, others) if even else (mine_next, others_next)
        backward_part(tables, border, layout, R0, u, none, red, ws, sc, message)
        count_up(counter)
        looks = 0
        while read(counter) < threads * (epoch + step + 1):
            looks += 1
            if looks > PATIENT:
                give_way()
        status = forward_part(tables, cuts, border, rows, layout, u, messages, red, ws, cut_ws, sc, row_sc)
        if status:
            return status
        take_stage(tables.dofs, h, kutta[stage, 0], kutta[stage, 1], 1 if stage == 3 else 0, z, zd, R0, sums, ws, sc)
    return 0

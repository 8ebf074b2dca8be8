"""L of W^-1 = L L^T inside the march: between y and unknowns, and how it bends while bodies turn.

In the metric of sizes L is a constant diagonal. In the metric of masses it turns with the bodies, so that qd = L y has
a part dL y in its derivative.
"""

from typing import Any

from rtmbs.jit.compiled import inner_kernel
from rtmbs.kinematics.tables import N

Array = Any


@inner_kernel
def set_roots(T, S):
    """Fill L of every group; in the metric of sizes it is constant, and its diagonal is used directly."""
    if T.metric.masses == 0:
        return
    for g in range(1, len(T.first)):
        e = S.x[T.first[g] + 3 : T.first[g] + 7]
        fill_root(T.metric, g, e, e, 1.0, 0.0, S.root)


@inner_kernel
def fill_root(metric, g, e, ed, still, moving, root):
    """Fill L of a group (still = 1), or dL/dt at rates ed of its parameters (moving = 1; ``e`` the parameters).

    y is (sqrt(m) v_center, J^1/2 omega, change across):
    rd = y1 / sqrt(m) + R c~ J^-1/2 y2, ed = G^T J^-1/2 y2 / 2 + e y3.
    """
    w, x, y, z = e[0], e[1], e[2], e[3]
    a, b, c, d = ed[0], ed[1], ed[2], ed[3]
    cx, cy, cz = metric.center[g, 0], metric.center[g, 1], metric.center[g, 2]
    for k in range(3):
        root[g, k, k] = metric.heavy[g] * still
        jx, jy, jz = metric.turning[g, 0, k], metric.turning[g, 1, k], metric.turning[g, 2, k]
        sx, sy, sz = cy * jz - cz * jy, cz * jx - cx * jz, cx * jy - cy * jx  # c x j
        if moving == 0.0:
            r00, r01, r02 = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
            r10, r11, r12 = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
            r20, r21, r22 = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
        else:
            r00, r01, r02 = -4.0 * (y * c + z * d), 2.0 * (b * y + x * c - a * z - w * d), 0.0
            r02 = 2.0 * (b * z + x * d + a * y + w * c)
            r10, r11, r12 = 2.0 * (b * y + x * c + a * z + w * d), -4.0 * (x * b + z * d), 0.0
            r12 = 2.0 * (c * z + y * d - a * x - w * b)
            r20, r21 = 2.0 * (b * z + x * d - a * y - w * c), 2.0 * (c * z + y * d + a * x + w * b)
            r22 = -4.0 * (x * b + y * c)
        root[g, 0, 3 + k] = r00 * sx + r01 * sy + r02 * sz
        root[g, 1, 3 + k] = r10 * sx + r11 * sy + r12 * sz
        root[g, 2, 3 + k] = r20 * sx + r21 * sy + r22 * sz
        root[g, 3, 3 + k] = 0.5 * (-b * jx - c * jy - d * jz)
        root[g, 4, 3 + k] = 0.5 * (a * jx - d * jy + c * jz)
        root[g, 5, 3 + k] = 0.5 * (d * jx + a * jy - b * jz)
        root[g, 6, 3 + k] = 0.5 * (-c * jx + b * jy + a * jz)
    for k in range(4):
        root[g, 3 + k, 6] = metric.across[g] * ed[k]


@inner_kernel
def to_unknowns(T, S, y, dq):
    """dq = L y for y (groups, 7)."""
    for g in range(1, len(T.first)):
        first = T.first[g]
        for i in range(T.width[g]):
            if T.metric.masses == 0:
                dq[first + i] = T.metric.size[first + i] * y[g, i]
            else:
                total = 0.0
                for j in range(7):
                    total += S.root[g, i, j] * y[g, j]
                dq[first + i] = total


@inner_kernel
def bend_roots(T, S, qd):
    """Fill dL/dt, and S.dq = dL y for the rates' y."""
    for g in range(1, len(T.first)):
        first = T.first[g]
        fill_root(T.metric, g, S.x[first + 3 : first + 7], qd[first + 3 : first + 7], 0.0, 1.0, S.bending)
        for i in range(7):
            total = 0.0
            for j in range(7):
                total += S.bending[g, i, j] * S.y[g, j]
            S.dq[first + i] = total


@inner_kernel
def subtract_bending(T, S):
    """S.b -= A dL y."""
    for k in range(len(T.block_row)):
        r, first, total = T.block_row[k], T.first[T.block_group[k]], 0.0
        for i in range(7):
            total += S.blocks[k, i] * S.dq[first + i]
        S.b[r] -= total * T.scale[r]


@inner_kernel
def add_bending(T, S, qdd):
    """qdd += dL y."""
    for i in range(7, T.sizes[N]):
        qdd[i] += S.dq[i]

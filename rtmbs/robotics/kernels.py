"""Compiled loops over states of a robot: placements, Jacobians and momenta.

Each takes poses q (k, nq) and rates (k, nv) and writes one entry for each state. It returns the number of faults: zero
quaternions, and numbers that are not finite. Velocities of dofs are motion vectors
at the origin of their part (``numerics/spatial.py``), so a column S of a dof moves with the body that carries its axis:
dS/dt = V_tip x S. Rates of z are zd = T v, with T by rows.
"""

from typing import NamedTuple

from rtmbs.core.bounds import BEYOND
from rtmbs.jit.compiled import coarse_kernel, inner_kernel
from rtmbs.jit.struct import struct
from rtmbs.numerics.spatial import (
    add3,
    add6,
    angular,
    cross3,
    cross_force,
    cross_motion,
    inertia_times,
    linear,
    load3,
    load6,
    load10,
    place,
    sub3,
    sub6,
)
from rtmbs.semirecursive.passes import forward_positions, forward_velocities, place_inertias
from rtmbs.system.tables import Array


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

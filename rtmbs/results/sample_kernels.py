"""Kernels over recorded samples: frames and motions, body wrenches, loop equations, energies, forces.

All kernels of this room stand here.
"""

from typing import Any

import numpy as np

from rtmbs.forces.kind import ForceKind
from rtmbs.forces.register import KINDS
from rtmbs.jit.compiled import coarse_kernel, inner_kernel, kernel, merged_kernel
from rtmbs.numerics.spatial import (
    add3,
    angular,
    cross3,
    dot3,
    increase6,
    join,
    load3,
    load6,
    place,
    point_velocity,
    rotate,
    scale3,
    scale6,
    store6,
    sub3,
)
from rtmbs.semirecursive.balance import add_connectors
from rtmbs.semirecursive.closures import (
    closure_accelerations,
    closure_velocities,
    closure_wrench,
    evaluate_closures,
)
from rtmbs.semirecursive.force_kernels import chain, evaluate_laws, named, spring_energy
from rtmbs.semirecursive.law_states import hold_states
from rtmbs.semirecursive.passes import (
    forward_accelerations,
    forward_positions,
    forward_velocities,
    gravity_energy,
    inverse_dynamics,
    kinetic_energy,
    place_inertias,
)
from rtmbs.system.tables import GRAVITY_SLOT

COORDINATE, PLACE, TURN, ATTITUDE = 0, 1, 2, 3  # what a row of the plan of ``read_instant`` reads
NUMBERS = (1, 3, 3, 4)  # of each kind


@coarse_kernel
def read_instant(tables, plan, points, state, u, ws, out):
    """out (k,): numbers of one instant, each row of ``plan`` (rows, 4) where its element, its order and its kind say.

    Columns are kind, order (0 value, 1 rate, 2 acceleration), dof, and the first number of ``out``. COORDINATE is one
    number, PLACE three of the point in ``points`` (rows, 3), dof axes, TURN three of the body's turn; world axes.
    ATTITUDE is the quaternion of body axes, four numbers; its row of ``points`` turns dof axes to those of the body.
    """
    forward_positions(tables, state.R0, state.z, ws)
    forward_velocities(tables.dofs, state.zd, ws)
    forward_accelerations(tables.dofs, state.zd, state.zdd, u, ws)
    for k in range(len(plan)):
        kind, order, i, first = plan[k, 0], plan[k, 1], plan[k, 2], plan[k, 3]
        if kind == COORDINATE:
            out[first] = state.z[i] if order == 0 else (state.zd[i] if order == 1 else state.zdd[i])
            continue
        if kind == ATTITUDE:
            out[first], out[first + 1], out[first + 2], out[first + 3] = turned(attitude(ws.A, i), load3(points, k))
            continue
        V, acc = load6(ws.V, i), load6(ws.acc, i)
        if kind == TURN:
            value = angular(V) if order == 1 else angular(acc)
        else:
            x = place(ws.A, ws.r, i, load3(points, k))
            if order == 0:
                value = sub3(x, load3(ws.r, tables.origins.row[i]))
            elif order == 1:
                value = point_velocity(V, x)
            else:
                swept = add3(point_velocity(acc, x), cross3(angular(V), point_velocity(V, x)))
                value = add3(swept, (u[GRAVITY_SLOT], u[GRAVITY_SLOT + 1], u[GRAVITY_SLOT + 2]))
        out[first], out[first + 1], out[first + 2] = value


@inner_kernel
def attitude(A, i):
    """Return the quaternion (w, x, y, z) of rotation ``i`` of A from its largest component, as ``quaternions`` does."""
    a, b, c = A[i, 0, 0], A[i, 1, 1], A[i, 2, 2]
    x, y, z = A[i, 2, 1] - A[i, 1, 2], A[i, 0, 2] - A[i, 2, 0], A[i, 1, 0] - A[i, 0, 1]
    trace = a + b + c
    largest, q = trace, (1.0 + trace, x, y, z)
    if 2.0 * a - trace > largest:
        largest = 2.0 * a - trace
        q = (x, 1.0 + largest, A[i, 1, 0] + A[i, 0, 1], A[i, 0, 2] + A[i, 2, 0])
    if 2.0 * b - trace > largest:
        largest = 2.0 * b - trace
        q = (y, A[i, 1, 0] + A[i, 0, 1], 1.0 + largest, A[i, 2, 1] + A[i, 1, 2])
    if 2.0 * c - trace > largest:
        q = (z, A[i, 0, 2] + A[i, 2, 0], A[i, 2, 1] + A[i, 1, 2], 1.0 + (2.0 * c - trace))
    size = np.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] / size, q[1] / size, q[2] / size, q[3] / size


@inner_kernel
def turned(q, turn):
    """Return the product, with w >= 0, of ``q`` and the quaternion whose modified Rodrigues parameters are ``turn``.

    These are its vector over 1 + w: three numbers for every rotation, well conditioned where w >= 0.
    """
    square = dot3(turn, turn)
    w, v = (1.0 - square) / (1.0 + square), scale3(2.0 / (1.0 + square), turn)
    mine = (q[1], q[2], q[3])
    first = q[0] * w - dot3(mine, v)
    rest = add3(add3(scale3(q[0], v), scale3(w, mine)), cross3(mine, v))
    sign = -1.0 if first < 0.0 else 1.0
    return sign * first, sign * rest[0], sign * rest[1], sign * rest[2]


@kernel
def evaluate_sample(tables, samples, s, ws):
    """Positions, velocities and accelerations of sample ``s``."""
    forward_positions(tables, samples.R0[s], samples.z[s], ws)
    forward_velocities(tables.dofs, samples.zd[s], ws)
    forward_accelerations(tables.dofs, samples.zd[s], samples.zdd[s], samples.u[s], ws)


@kernel
def resample_frames(tables, samples, ws, first, out):
    """out (S, dofs, 27): frames, motions and origins of the dofs from ``first`` on."""
    for s in range(len(samples.t)):
        evaluate_sample(tables, samples, s, ws)
        for k in range(out.shape[1]):
            i, row = first + k, out[s, k]
            for c in range(9):
                row[c] = ws.A[i, c // 3, c % 3]
            for c in range(3):
                row[9 + c], row[24 + c] = ws.r[i, c], -ws.r[tables.origins.row[i], c]
            for c in range(6):
                row[12 + c], row[18 + c] = ws.V[i, c], ws.acc[i, c]


@kernel
def evaluate_sample_laws(tables, samples, s, ws):
    """Evaluate the force laws at the evaluated sample ``s``, with its states."""
    if len(ws.s) > 0:
        hold_states(samples.s[s], ws)
    if len(ws.law_output) > 0:
        evaluate_laws(tables, samples.z[s], samples.zd[s], samples.u[s], ws)


@kernel
def symmetric_inertia(A, i, J, b, w):
    """Return A J A^T w: the inertia of body ``b``, given in axes of dof ``i``, times a world vector."""
    x = A[i, 0, 0] * w[0] + A[i, 1, 0] * w[1] + A[i, 2, 0] * w[2]
    y = A[i, 0, 1] * w[0] + A[i, 1, 1] * w[1] + A[i, 2, 1] * w[2]
    z = A[i, 0, 2] * w[0] + A[i, 1, 2] * w[1] + A[i, 2, 2] * w[2]
    return rotate(A, i, rotate(J, b, (x, y, z)))


@kernel
def inertia_wrench(graph, b, ws):
    """Return [m (a - g); J omega' + omega x J omega + c x m (a - g)] of one body, about the global origin."""
    i = graph.dof[b]
    c = place(ws.A, ws.r, i, load3(graph.center, b))
    V, acc = load6(ws.V, i), load6(ws.acc, i)
    w = angular(V)
    f = scale3(graph.mass[b], add3(point_velocity(acc, c), cross3(w, point_velocity(V, c))))
    turn = symmetric_inertia(ws.A, i, graph.inertia, b, angular(acc))
    gyro = cross3(w, symmetric_inertia(ws.A, i, graph.inertia, b, w))
    return join(f, add3(add3(turn, gyro), cross3(c, f)))


def storing(name, verbs, rest):
    """Return a kernel that stores the wrenches of one kind at their connectors, then those of the rest."""
    table, wrench = verbs.table, verbs.wrench

    def every(tables, u, ws, out):
        connector = table(tables).connector
        for k in range(len(connector)):
            store6(out, connector[k], wrench(tables, k, u, ws))

    act = named(name, every)

    def store(tables, u, ws, out):
        if len(table(tables).connector) > 0:
            act(tables, u, ws, out)
        rest(tables, u, ws, out)

    return store


@merged_kernel
def all_stored(tables, u, ws, out):
    """End the chain."""


store_wrenches = chain("store", storing, all_stored)


@kernel
def connector_wrenches(tables, lam, u, ws, out):
    """out (nl, 6): what every closure and force does to its body b, about the global origin."""
    for l in range(len(tables.closures.connector)):
        store6(out, tables.closures.connector[l], closure_wrench(tables.closures, l, lam, ws))
    store_wrenches(tables, u, ws, out)


@kernel
def passed_on(graph, body, row, F, ws):
    """Return F, taken about the origin of ``row``, about that of a body: the world's for one welded to ground."""
    if graph.dof[body] >= 0:
        return F
    f = (F[0], F[1], F[2])
    return join(f, sub3((F[3], F[4], F[5]), cross3(load3(ws.r, row), f)))


@kernel
def balance_bodies(tables, graph, ws, wrenches):
    """wrenches (nb + nl, 6): from those of connectors (behind the bodies) to what passes into every body from its
    parent.

    Through the joint above a body goes what its subtree needs: inertia wrenches less what the connectors do.
    """
    connectors, origins = tables.connectors, tables.origins
    nb = len(graph.dof)
    for b in range(nb):
        store6(wrenches, b, inertia_wrench(graph, b, ws))
    for l in range(len(graph.connector_a)):
        F, row = load6(wrenches, nb + l), min(connectors.a[l], connectors.b[l])
        if graph.connector_b[l] >= 0:
            increase6(wrenches, graph.connector_b[l], scale6(-1.0, passed_on(graph, graph.connector_b[l], row, F, ws)))
        if graph.connector_a[l] >= 0:
            increase6(wrenches, graph.connector_a[l], passed_on(graph, graph.connector_a[l], row, F, ws))
    for b in range(nb - 1, -1, -1):
        if graph.parent[b] >= 0:
            row = origins.row[graph.dof[b]] if graph.dof[b] >= 0 else -1
            increase6(wrenches, graph.parent[b], passed_on(graph, graph.parent[b], row, load6(wrenches, b), ws))


@kernel
def resample_wrenches(tables, graph, samples, ws, scratch, first, out):
    """out (S, rows, 6): wrenches through body joints, then of connectors, from row ``first`` on, about the global
    origin.
    """
    nb = len(graph.dof)
    for s in range(len(samples.t)):
        evaluate_sample(tables, samples, s, ws)
        evaluate_closures(tables, samples.z[s], samples.u[s], ws)
        evaluate_sample_laws(tables, samples, s, ws)
        connector_wrenches(tables, samples.lam[s], samples.u[s], ws, scratch[nb:])
        balance_bodies(tables, graph, ws, scratch)
        for k in range(out.shape[1]):
            store6(out[s], k, load6(scratch, first + k))


@kernel
def resample_closures(tables, samples, ws, out):
    """out (3, S, m): Phi, Phid, Phidd."""
    for s in range(len(samples.t)):
        evaluate_sample(tables, samples, s, ws)
        evaluate_closures(tables, samples.z[s], samples.u[s], ws)
        closure_velocities(tables, samples.zd[s], samples.u[s], ws)
        closure_accelerations(tables, samples.zd[s], samples.zdd[s], samples.u[s], ws)
        for row in range(out.shape[2]):
            out[0, s, row], out[1, s, row], out[2, s, row] = ws.Phi[row], ws.Phid[row], ws.Phidd[row]


@kernel
def resample_coordinate_forces(tables, samples, ws, l, out):
    """out (S, k): -Phi_z^T lam of closure ``l`` on the coordinates that it joins."""
    closures = tables.closures
    for s in range(len(samples.t)):
        forward_positions(tables, samples.R0[s], samples.z[s], ws)
        evaluate_closures(tables, samples.z[s], samples.u[s], ws)
        entry = closures.entry_pointer[l]
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            for k in range(out.shape[1]):
                out[s, k] -= ws.Phi_z[entry] * samples.lam[s, row]
                entry += 1


@kernel
def resample_energies(tables, samples, ws, out):
    """out (3, S): kinetic energy, gravity energy, elastic energy [J]."""
    for s in range(len(samples.t)):
        evaluate_sample(tables, samples, s, ws)
        place_inertias(tables.dofs, ws)
        inverse_dynamics(tables.dofs, ws)
        out[0, s] = kinetic_energy(ws)
        out[1, s] = gravity_energy(tables, ws, samples.u[s])
        out[2, s] = spring_energy(tables, samples.z[s], samples.u[s], ws)


@kernel
def resample_loads(tables, samples, ws, out):
    """out (2, S): potential of constant loads [J], and what is not 0 where a force does work that no potential tells.

    ``tables.balance`` has to be one component of all dofs.
    """
    for s in range(len(samples.t)):
        evaluate_sample(tables, samples, s, ws)
        z, u = samples.z[s], samples.u[s]
        ws.potential[0] = ws.exchange[0] = ws.untold[0] = 0.0
        add_connectors(tables, u, ws)
        out[0, s], out[1, s] = ws.potential[0], ws.untold[0]
        for k in range(len(tables.joint_forces.dof)):
            i, slot = tables.joint_forces.dof[k], tables.joint_forces.slot[k]
            out[0, s] += 0.5 * u[slot] * (z[i] - u[slot + 2]) ** 2 - u[slot + 3] * z[i]
            out[1, s] += abs(u[slot + 1])
        out[0, s] -= spring_energy(tables, z, u, ws)


@kernel
def resample_law_forces(tables, samples, ws, out):
    """out (S, no): generalised forces of the force laws on joints."""
    for s in range(len(samples.t)):
        evaluate_sample(tables, samples, s, ws)
        evaluate_sample_laws(tables, samples, s, ws)
        for k in range(out.shape[1]):
            out[s, k] = ws.law_force[k]


def measuring(kind: ForceKind) -> Any:
    """Return the kernel that measures every element of a kind in all samples."""
    table, measure = kind.kernels.table, kind.measure

    def resample(tables, samples, ws, out):
        for s in range(len(samples.t)):
            evaluate_sample(tables, samples, s, ws)
            for k in range(len(table(tables).connector)):
                measure(tables, k, samples.u[s], ws, out[s, k])

    resample.__qualname__ = f"resample_every_{kind.name}"  # others have the names of their functions
    return kernel(resample)


REPLAY = {kind.name: measuring(kind) for kind in KINDS}  # out (S, elements, measured)

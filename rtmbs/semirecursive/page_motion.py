"""Kinematics in the page form (METHODS 1.1): frames, columns, velocities and accelerations of every dof.

The rules of ``page.py`` hold here.
"""

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

import numpy as np

from rtmbs.forces.algebra import on_ground, take
from rtmbs.rotations.plain import cross, exponential, product, tilde, turn
from rtmbs.semirecursive.page_arrays import levels, path_matrix, path_sum
from rtmbs.system.tables import PRISMATIC, REVOLUTE


def local_frames(xp, tables, R0, z):
    """Return each dof's frame in its parent's axes: rotation (B, n, 3, 3), origin (B, n, 3)."""
    dofs = tables.dofs
    reference = np.concatenate((R0, np.eye(3)[None]))[dofs.reference]  # reference -1: none
    offset_rotation = np.matmul(dofs.offset_rotation, reference)
    u = dofs.axis
    angle, displacement = z * (dofs.kind == REVOLUTE), z * (dofs.kind == PRISMATIC)
    sine, versine = xp.sin(angle)[..., None, None], 1 - xp.cos(angle)[..., None, None]
    u_tilde = tilde(np, u)
    rotation = np.eye(3) + sine * u_tilde + versine * np.matmul(u_tilde, u_tilde)  # Rodrigues
    slide = turn(np, offset_rotation, u) * displacement[..., None]
    return product(xp, offset_rotation, with_turns(xp, dofs, rotation, z)), dofs.offset + slide


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
    """Return S (B, n, 6), the columns of R_d: revolute and rotation [r x u, u], prismatic [u, 0]."""
    u = turn(xp, A, tables.dofs.axis)
    turning = (tables.dofs.kind != PRISMATIC)[:, None]
    return xp.concatenate((turning * cross(xp, r, u) + ~turning * u, turning * u), axis=-1)


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

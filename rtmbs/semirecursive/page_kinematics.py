"""Kinematics in the page form (METHODS 1.1): frames, columns, velocities and accelerations of every dof.

The rules of ``page.py`` hold here.
"""


# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls
from functools import partial
from types import SimpleNamespace

import numpy as np

from rtmbs.forces.algebra import on_ground, take
from rtmbs.numerics.rotations.plain import cross, exponential, product, tilde, turn
from rtmbs.system.tables import PRISMATIC, REVOLUTE, Array, Tables

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

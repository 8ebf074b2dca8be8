"""The equations of motion as the paper prints them (Eq. 7 to 9, corrected) in plain arrays: the oracle of every kernel.

Slow on purpose, and written to be read next to the paper. ``T``, ``R_d``, ``M_bar`` and ``Q_bar`` are visible;
velocities follow the spatial convention: ``V = [v, omega]`` of the body point at the global origin, and an acceleration
is the plain derivative of ``V``. Gravity is a force on every mass here (the kernels carry it as an acceleration of
ground). ``S`` holds the columns of ``R_d`` (b_i in the paper; the letter b means the second body of a link here).

Rules of this file, which let arrays, complex numbers, automatic differentiation and a recorder of operations through:

* The array namespace is the first argument, ``xp``; of it only the functions in ``ALLOWED`` are used, and of arrays
  only ``+ - * /``, indexing and ``shape``. Constants are NumPy arrays.
* Constants come first (``xp, tables, u, R0, ...``), unknowns last; unknowns and results have a leading batch axis
  ``(B, n)``, and rows of the batch never mix.
* Built by stack and concatenate, no assignment to items; no norm, abs or conj: complex steps must pass.
* Sums over the tree are ``path_sum`` and ``subtree_sum``; a namespace may offer its own two under these names.

Arguments: ``u`` (nu,) inputs, ``R0`` (nr, 3, 3) reference rotations (of the last step boundary), ``z, zd, zdd`` (B, n).
"""

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

from functools import partial
from math import factorial
from types import SimpleNamespace

import numpy as np

from rtmbs.semirecursive import page_conditions
from rtmbs.semirecursive.page_laws import law_forces, law_wrenches
from rtmbs.system.tables import DISTANCE, DOT, GRAVITY_SLOT, PRISMATIC, REVOLUTE, TRANSLATION, Array, Tables

ALLOWED = ("concatenate", "cos", "matmul", "sin", "sqrt", "stack", "sum")

TERMS = 16  # of the power series of a rotation: exact to rounding beyond half a turn, smooth at none
SINE, COSINE = [[(-1.0) ** k / factorial(2 * k + extra) for k in range(TERMS)] for extra in (1, 2)]

# ---------------------------------------------------------------------------------------------------------------- tree


def path_matrix(tables: Tables) -> Array:
    """Return T (n, n): T[i, j] = 1 where step j lies on the way from ground to step i, i included (Eq. 7)."""
    T = np.eye(len(tables.steps.parent))
    for i, p in enumerate(tables.steps.parent):
        if p >= 0:
            T[i] += T[p]
    return T


def path_sum(xp, T, x):
    """Return T x: over the steps from ground to each step. x (B, n, k)."""
    return xp.path_sum(T, x) if hasattr(xp, "path_sum") else xp.matmul(T, x)


def subtree_sum(xp, T, x):
    """Return T^T x: over the steps that each step carries. x (B, n, k)."""
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
    """Return one index array a level of the tree: steps with 0, 1, 2, ... steps between them and ground."""
    depth = np.zeros(len(parent), dtype=np.int64)
    for i, p in enumerate(parent):
        depth[i] = depth[p] + 1 if p >= 0 else 0
    return [np.flatnonzero(depth == level) for level in range(depth.max(initial=-1) + 1)]


# ------------------------------------------------------------------------------------------------------------- vectors


def take(x, rows):
    """Return x[:, rows]; neighbours are taken as a slice."""
    if len(rows) and np.array_equal(rows, np.arange(rows[0], rows[0] + len(rows))) and rows[0] >= 0:
        return x[:, rows[0] : rows[0] + len(rows)]
    return x[:, rows]


def on_ground(xp, x, ground, rows):
    """Return the rows of x (B, n, ...); row -1 is ground's, given without batch axis."""
    resting = np.broadcast_to(ground, (x.shape[0], 1, *np.shape(ground)))
    return take(xp.concatenate((x, resting), axis=1), np.where(rows < 0, x.shape[1], rows))


def scatter(xp, x, targets, n):
    """Return (B, n, ...): row i is the sum of the rows of x whose target is i. Target -1 is dropped."""
    members = [np.flatnonzero(targets == i) for i in range(n)]
    width = max((len(rows) for rows in members), default=0)
    table = np.array([np.pad(rows, (0, width - len(rows)), constant_values=len(targets)) for rows in members])
    padded = xp.concatenate((x, np.zeros((x.shape[0], 1, *x.shape[2:]))), axis=1)
    return xp.sum(padded[:, table.astype(np.int64)], axis=2)


def dot(xp, x, y):
    """Return the product of vectors along the last axis, without conjugation."""
    return xp.sum(x * y, axis=-1)


def turn(xp, A, x):
    """Return A x for matrices (..., k, k) and vectors (..., k)."""
    return xp.sum(A * x[..., None, :], axis=-1)


def product(xp, A, B):
    """Return A B for matrices (..., 3, 3)."""
    return xp.sum(A[..., :, :, None] * B[..., None, :, :], axis=-2)


def cross(xp, x, y):
    """Return x cross y along the last axis."""
    x1, x2, x3, y1, y2, y3 = x[..., 0], x[..., 1], x[..., 2], y[..., 0], y[..., 1], y[..., 2]
    return xp.stack((x2 * y3 - x3 * y2, x3 * y1 - x1 * y3, x1 * y2 - x2 * y1), axis=-1)


def tilde(xp, x):
    """Return the matrix x~ with x~ y = x cross y."""
    x1, x2, x3, o = x[..., 0], x[..., 1], x[..., 2], 0 * x[..., 0]
    rows = (xp.stack((o, -x3, x2), axis=-1), xp.stack((x3, o, -x1), axis=-1), xp.stack((-x2, x1, o), axis=-1))
    return xp.stack(rows, axis=-2)


# ---------------------------------------------------------------------------------------------- kinematics (Eq. 5 to 7)


def local_frames(xp, tables, R0, z):
    """Return each step's frame in its parent's axes: rotation (B, n, 3, 3), origin (B, n, 3)."""
    steps = tables.steps
    reference = np.concatenate((R0, np.eye(3)[None]))[steps.reference]  # reference -1: none
    offset_rotation = np.matmul(steps.offset_rotation, reference)
    u = steps.axis
    angle, displacement = z * (steps.kind == REVOLUTE), z * (steps.kind == PRISMATIC)
    sine, versine = xp.sin(angle)[..., None, None], 1 - xp.cos(angle)[..., None, None]
    u_tilde = tilde(np, u)
    rotation = np.eye(3) + sine * u_tilde + versine * np.matmul(u_tilde, u_tilde)  # Rodrigues
    slide = turn(np, offset_rotation, u) * displacement[..., None]
    return product(xp, offset_rotation, with_turns(xp, steps, rotation, z)), steps.offset + slide


def with_turns(xp, steps, rotation, z):
    """Return ``rotation`` (B, n, 3, 3) with exp(delta~) at the first of every three rotation steps."""
    first = np.flatnonzero(steps.reference >= 0)
    if len(first) == 0:
        return rotation
    order = np.arange(len(steps.kind))
    order[first] = len(order) + np.arange(len(first))
    delta = sum(z[:, first + k, None] * steps.axis[first + k] for k in range(3))
    return xp.concatenate((rotation, exponential(xp, delta)), axis=1)[:, order]


def exponential(xp, delta):
    """Return exp(delta~) = 1 + sin(theta)/theta delta~ + (1 - cos(theta))/theta^2 delta~^2, theta = |delta|.

    The factors are power series in theta^2, so that derivatives at zero need no limit.
    """
    q, D = dot(xp, delta, delta), tilde(xp, delta)
    sine, cosine = 0 * q + SINE[-1], 0 * q + COSINE[-1]
    for s, c in zip(SINE[-2::-1], COSINE[-2::-1], strict=True):
        sine, cosine = q * sine + s, q * cosine + c
    return np.eye(3) + sine[..., None, None] * D + cosine[..., None, None] * product(xp, D, D)


def frames(xp, tables, R0, z):
    """Return A (B, n, 3, 3), step to world, and r (B, n, 3), step origins [m]; level by level from ground."""
    rotation, origin = local_frames(xp, tables, R0, z)
    parent, place = tables.steps.parent, np.zeros(len(tables.steps.parent), dtype=np.int64)
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
    """Return S (B, n, 6), the columns of R_d (Eq. 6): revolute and rotation [r x u, u], prismatic [u, 0]."""
    u = turn(xp, A, tables.steps.axis)
    turning = (tables.steps.kind != PRISMATIC)[:, None]
    return xp.concatenate((turning * cross(xp, r, u) + ~turning * u, turning * u), axis=-1)


def velocities(xp, T, S, zd):
    """Return V = T R_d zd (B, n, 6) (Eq. 7)."""
    return path_sum(xp, T, S * zd[..., None])


def acceleration_rest(xp, tables, V, S, zd):
    """Return d = Rdot_d zd (B, n, 6): d/dt S_i = V_i x S_i of the element's tip, and V_base serves as well.

    The difference of the two is the element's own velocity, whose cross product with itself is zero (METHODS 1.1).
    """
    V = on_ground(xp, V, np.zeros(6), tables.steps.base)
    v, w, S_v, S_w = V[..., :3], V[..., 3:], S[..., :3], S[..., 3:]
    Sd = xp.concatenate((cross(xp, w, S_v) + cross(xp, v, S_w), cross(xp, w, S_w)), axis=-1)
    return Sd * zd[..., None]


def accelerations(xp, T, S, d, zdd):
    """Return Vd = T (R_d zdd + Rdot_d zd) (B, n, 6) (Eq. 8); ground rests."""
    return path_sum(xp, T, S * zdd[..., None] + d)


def motion(xp, tables, R0, z, zd):
    """Return T, A, r, S, V of a state."""
    T = path_matrix(tables)
    A, r = frames(xp, tables, R0, z)
    S = columns(xp, tables, A, r)
    return T, A, r, S, velocities(xp, T, S, zd)


# ------------------------------------------------------------------------------------------------ inertia (Eq. 8, 9)


def mass_geometry(xp, tables, A, r):
    """Return mass centre g (B, n, 3) and inertia about it J (B, n, 3, 3), world axes."""
    steps = tables.steps
    AJ = product(xp, A, steps.inertia)
    J = xp.sum(AJ[..., :, None, :] * A[..., None, :, :], axis=-1)  # A J_body A^T
    return r + turn(xp, A, steps.mass_center), J


def body_inertia(xp, tables, A, r):
    """Return M_bar (B, n, 6, 6): [[m I, -m g~], [m g~, J - m g~ g~]] at the global origin."""
    g, J = mass_geometry(xp, tables, A, r)
    m, g_tilde = tables.steps.mass[:, None, None], tilde(xp, g)
    upper = xp.concatenate((np.broadcast_to(m * np.eye(3), J.shape), -m * g_tilde), axis=-1)
    lower = xp.concatenate((m * g_tilde, J - m * product(xp, g_tilde, g_tilde)), axis=-1)
    return xp.concatenate((upper, lower), axis=-2)


def body_wrench(xp, tables, u, A, r, V):
    """Return Q_bar (B, n, 6): gravity, gyroscopic wrenches, springs and given wrenches, at the global origin."""
    steps, gravity = tables.steps, u[GRAVITY_SLOT : GRAVITY_SLOT + 3]
    g, J = mass_geometry(xp, tables, A, r)
    v, w = V[..., :3], V[..., 3:]
    f = steps.mass[:, None] * (gravity - cross(xp, w, v + cross(xp, w, g)))  # m g - m w x v_G
    n = cross(xp, g, f) - cross(xp, w, turn(xp, J, w))
    link, F = force_elements(xp, tables, u, A, r, V)
    on_b, on_a = tables.links.b[link], tables.links.a[link]
    applied = scatter(xp, xp.concatenate((F, -F), axis=1), np.concatenate((on_b, on_a)), len(steps.mass))
    return xp.concatenate((f, n), axis=-1) + applied


def mass_matrix(xp, tables, u, R0, z):
    """Return M = R_d^T T^T M_bar T R_d (B, n, n) (Eq. 9)."""
    T, A, r, S, _ = motion(xp, tables, R0, z, 0 * z)
    M_bar = body_inertia(xp, tables, A, r)
    R = [T * S[:, None, :, k] for k in range(6)]  # T R_d: component k of the velocity of step i (row) by coordinate j
    M_bar_R = [sum(M_bar[:, :, k, l, None] * R[l] for l in range(6)) for k in range(6)]
    return sum(S[:, :, k, None] * subtree_sum(xp, T, M_bar_R[k]) for k in range(6))


def inverse_dynamics(xp, tables, u, R0, z, zd, zdd):
    """Return M zdd - Q (B, n), without loops: R_d^T T^T (M_bar Vd - Q_bar) - joint forces."""
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    Vd = accelerations(xp, T, S, acceleration_rest(xp, tables, V, S, zd), zdd)
    wrench = turn(xp, body_inertia(xp, tables, A, r), Vd) - body_wrench(xp, tables, u, A, r, V)
    return dot(xp, S, subtree_sum(xp, T, wrench)) - joint_forces(xp, tables, u, z, zd)


def force(xp, tables, u, R0, z, zd):
    """Return Q = R_d^T T^T (Q_bar - M_bar T Rdot_d zd) + joint forces (B, n) (Eq. 9, with the missing dot)."""
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    rest = path_sum(xp, T, acceleration_rest(xp, tables, V, S, zd))
    wrench = body_wrench(xp, tables, u, A, r, V) - turn(xp, body_inertia(xp, tables, A, r), rest)
    return dot(xp, S, subtree_sum(xp, T, wrench)) + joint_forces(xp, tables, u, z, zd)


def residual(xp, tables, u, R0, alpha, z, zd, zdd):
    """Return M zdd - Q + Phi_z^T alpha Phi (B, n) (Eq. 10); alpha (m,)."""
    Phi = closures(xp, tables, u, R0, z)
    return inverse_dynamics(xp, tables, u, R0, z, zd, zdd) + loop_force(xp, tables, u, R0, alpha * Phi, z)


# --------------------------------------------------------------------------------------------------------------- forces


def joint_forces(xp, tables, u, z, zd):
    """Return (B, n): -stiffness (z - rest) - damping zd + load and the laws of the user, on their coordinates."""
    step, slot = tables.joint_forces.step, tables.joint_forces.slot
    stiffness, damping, rest, load = u[slot], u[slot + 1], u[slot + 2], u[slot + 3]
    law = -stiffness * (take(z, step) - rest) - damping * take(zd, step) + load
    written, row = law_forces(xp, tables, u, z, zd), tables.laws.row[: tables.laws.counts[1]]
    return scatter(xp, xp.concatenate((law, written), axis=1), np.concatenate((step, row)), len(tables.steps.parent))


def points(xp, A, r, V, steps, local):
    """Return position and velocity (B, k, 3) of points fixed in steps (-1: ground), given in step axes."""
    A, r, V = (on_ground(xp, x, ground, steps) for x, ground in ((A, np.eye(3)), (r, np.zeros(3)), (V, np.zeros(6))))
    x = r + turn(xp, A, local)
    return x, V[..., :3] + cross(xp, V[..., 3:], x)


def force_elements(xp, tables, u, A, r, V):
    """Return the links (k,) of all forces between bodies, and the wrenches (B, k, 6) on their bodies b."""
    kinds = (spring_wrenches, given_wrenches, written_wrenches)
    F = xp.concatenate([wrenches(xp, tables, u, A, r, V) for wrenches in kinds], axis=1)
    return len(tables.closures.point_a) + np.arange(F.shape[1]), F


def spring_wrenches(xp, tables, u, A, r, V):
    """Return (B, ns, 6): pull = k (l - length) + c ld + tension along the line from b to a."""
    springs, first = tables.springs, len(tables.closures.point_a)
    link = np.arange(first, first + len(springs.point_a))
    x_a, v_a = points(xp, A, r, V, tables.links.a[link], springs.point_a)
    x_b, v_b = points(xp, A, r, V, tables.links.b[link], springs.point_b)
    stiffness, damping, length, tension = (u[springs.slot + k] for k in range(4))
    d = x_b - x_a
    l = xp.sqrt(dot(xp, d, d))
    ld = dot(xp, d, v_b - v_a) / l
    pull = stiffness * (l - length) + damping * ld + tension
    f = -(pull / l)[..., None] * d
    return xp.concatenate((f, cross(xp, x_b, f)), axis=-1)


def given_wrenches(xp, tables, u, A, r, V):
    """Return (B, nw, 6): force and torque in world axes or, following, in axes fixed in the body."""
    wrenches, first = tables.wrenches, len(tables.closures.point_a) + len(tables.springs.point_a)
    body = tables.links.b[first : first + len(wrenches.point)]
    follows = wrenches.follows[:, None]
    axes = on_ground(xp, A, np.eye(3), body)
    f, n = (u[wrenches.slot[:, None] + k + np.arange(3)] for k in (0, 3))
    f, n = (follows * turn(xp, axes, turn(xp, wrenches.axes, x)) + (1 - follows) * x for x in (f, n))
    x, _ = points(xp, A, r, V, body, wrenches.point)
    return xp.concatenate((f, n + cross(xp, x, f)), axis=-1)


def written_wrenches(xp, tables, u, A, r, V):
    """Return (B, k, 6): laws of the user on r, R, v, w of b relative to a, in axes of a and acting at b's marker."""
    laws, links = tables.laws, tables.links
    k, first = int(laws.counts[0]), len(links.a) - len(laws.frame_a)
    a, b = (side[first : first + k] for side in (links.a, links.b))
    axes_a, axes_b = (
        product(xp, on_ground(xp, A, np.eye(3), side), frame[:k, :, :3])
        for side, frame in ((a, laws.frame_a), (b, laws.frame_b))
    )
    x_a, _ = points(xp, A, r, V, a, laws.frame_a[:k, :, 3])
    x_b, v_b = points(xp, A, r, V, b, laws.frame_b[:k, :, 3])
    V_a, V_b = (on_ground(xp, V, np.zeros(6), side) for side in (a, b))
    v = v_b - V_a[..., :3] - cross(xp, V_a[..., 3:], x_b)  # a carries the point where b's marker is
    into_a = transposed(xp, axes_a)
    R = product(xp, into_a, axes_b)
    seen = [turn(xp, into_a, x) for x in (x_b - x_a, v, V_b[..., 3:] - V_a[..., 3:])]
    kinematics = xp.concatenate((seen[0], R[..., 0, :], R[..., 1, :], R[..., 2, :], *seen[1:]), axis=-1)
    W = law_wrenches(xp, tables, u, kinematics)
    f, n = turn(xp, axes_a, W[..., :3]), turn(xp, axes_a, W[..., 3:])
    return xp.concatenate((f, n + cross(xp, x_b, f)), axis=-1)


def transposed(xp, A):
    """Return A^T for matrices (..., 3, 3)."""
    return xp.stack([A[..., k] for k in range(3)], axis=-2)


# ---------------------------------------------------------------------------------------------------------------- loops


def row_links(tables):
    """Return the link of every closure row (mc,)."""
    return np.repeat(np.arange(len(tables.closures.point_a)), np.diff(tables.closures.row_pointer))


def seen_frames(xp, tables, A, r, V):
    """Return of every pair of frames of the user's constraints: axes of a, x_b, w_a, xd_b, and r, R, rd, w as a sees.

    All (B, k, ...); rd is the rate of r as a sees, w the angular velocity of b relative to a.
    """
    conditions, links = tables.conditions, tables.links
    a, b = (ends[conditions.first[0] : conditions.first[1]] for ends in (links.a, links.b))
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
    """Return what the program of the user's constraints takes (B, nx)."""
    *_, d, R, _, _ = seen_frames(xp, tables, A, r, np.zeros((z.shape[0], z.shape[1], 6)))
    poses = xp.concatenate((d, R[..., 0, :], R[..., 1, :], R[..., 2, :]), axis=-1)
    return page_conditions.all_inputs(xp, tables, u, z, poses)


def condition_wrenches(xp, tables, u, A, r, V, z):
    """Return G, Gd (B, k, 6) of the user's constraints between frames, and what else their Phidd holds (B, k).

    G = [f; n + x_b x f], f = A g_r, n = A sum over columns of R_c x g_R_c; the time adds 2 g_xt xd + g_tt to Phidd,
    one half of the first by Gd, for slopes change with the time as well.
    """
    axes, x_b, w_a, xd_b, _, R, rd, w = seen_frames(xp, tables, A, r, V)
    x = condition_inputs(xp, tables, u, A, r, z)
    by = page_conditions.slopes(xp, tables, u, x)
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
        bend = page_conditions.bends(xp, tables, u, x, q, xp.concatenate((rd[:, k], flat, one), axis=-1))
        g, gd = by[q], bend
        gR, gRd = (page_conditions.columns_of(xp, part[:, 3:12]) for part in (g, gd))
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
    closures, conditions, links = tables.closures, tables.conditions, tables.links
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    x = condition_inputs(xp, tables, u, A, r, z)
    if order == 0:
        return page_conditions.values(xp, tables, u, x)
    by, rows = page_conditions.slopes(xp, tables, u, x), []
    first, on_joints = closures.row_pointer[conditions.first]
    if len(conditions.frame_a):
        G, Gd, more = condition_wrenches(xp, tables, u, A, r, V, z)
        link = np.repeat(np.arange(len(closures.point_a)), np.diff(closures.row_pointer))[first:on_joints]
        a, b = links.a[link], links.b[link]

        def across(y):
            return on_ground(xp, y, np.zeros(6), b) - on_ground(xp, y, np.zeros(6), a)

        if order == 1:
            rows += [(dot(xp, G, across(V)) + xp.stack([by[q][:, 12] for q in range(len(link))], axis=1))]
        else:
            Vd = accelerations(xp, T, S, acceleration_rest(xp, tables, V, S, zd), zdd)
            rows += [dot(xp, G, across(Vd)) + dot(xp, Gd, across(V)) + more]
    for l in range(conditions.first[1], tables.couplers.first[0]):
        branch = links.step[links.pointer[l] : links.pointer[l + 1]]
        rates = xp.concatenate((take(zd, branch), 1 + 0 * zd[:, :1]), axis=1)
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            q = row - first
            if order == 1:
                rows.append(xp.sum(by[q] * rates, axis=-1)[:, None])
            else:
                bend = page_conditions.bends(xp, tables, u, x, q, rates)
                rows.append(
                    (xp.sum(by[q][:, :-1] * take(zdd, branch), axis=-1) + xp.sum(bend * rates, axis=-1))[:, None]
                )
    return xp.concatenate(rows, axis=1)


def condition_jacobian(xp, tables, u, R0, z):
    """Return Phi_z (B, nq, n) of the user's constraints."""
    closures, conditions, links = tables.closures, tables.conditions, tables.links
    _, A, r, S, V = motion(xp, tables, R0, z, 0 * z)
    first, on_joints = closures.row_pointer[conditions.first]
    rows = []
    if len(conditions.frame_a):
        G, *_ = condition_wrenches(xp, tables, u, A, r, V, z)
        sign = all_signs(tables)[first:on_joints]
        rows.append(sign * sum(G[:, :, None, k] * S[:, None, :, k] for k in range(6)))
    by = page_conditions.slopes(xp, tables, u, condition_inputs(xp, tables, u, A, r, z))
    for l in range(conditions.first[1], tables.couplers.first[0]):
        branch = links.step[links.pointer[l] : links.pointer[l + 1]]
        for row in range(closures.row_pointer[l], closures.row_pointer[l + 1]):
            rows.append(xp.sum(by[row - first][:, :-1, None] * np.eye(z.shape[1])[branch], axis=1)[:, None])
    return xp.concatenate(rows, axis=1)


def coupled_rows(tables):
    """Return the ratios of every coupler row (k, n), and where these rows begin: the last of the closures."""
    closures, links, couplers = tables.closures, tables.links, tables.couplers
    nc, first = len(closures.point_a), int(couplers.first[0])
    C, begin = np.zeros((nc - first, len(tables.steps.parent))), links.pointer[first]
    for l in range(first, nc):
        branch = np.arange(links.pointer[l], links.pointer[l + 1])
        C[l - first, links.step[branch]] = couplers.ratio[branch - begin]
    return C, int(closures.row_pointer[first])


def coupled(xp, tables, u, x, order):
    """Return sum of ratio times x less what it follows (B, k): of positions (order 0), rates or accelerations."""
    C, first = coupled_rows(tables)
    slot, given = tables.closures.slot[first:], tables.closures.slot[first:] >= 0
    constant = tables.closures.length[first:] if order == 0 else 0.0
    wanted = np.where(given, 0.0, constant) + given * u[np.where(given, slot + order, 0)]
    return xp.sum(C * x[:, None, :], axis=-1) - wanted


def with_others(xp, tables, u, R0, rows, order, z, zd=None, zdd=None):
    """Return the closure rows (B, mc): ``rows``, with constraints of the user and couplers in their place."""
    first, last = int(tables.closures.row_pointer[tables.conditions.first[0]]), len(tables.closures.kind)
    if first == last:
        return rows
    parts, x = [rows[:, :first]], (z, zd, zdd)[order]
    if len(tables.conditions.scale):
        parts.append(condition_rows(xp, tables, u, R0, z, 0 * z if zd is None else zd, zdd, order))
    if len(tables.couplers.ratio):
        parts.append(coupled(xp, tables, u, x, order))
    return xp.concatenate(parts, axis=1)


def row_geometry(xp, tables, A, r, V):
    """Return per closure row u (fixed in a), v (fixed in b), x_a, x_b and their velocities, all (B, mc, 3)."""
    link, closures = row_links(tables), tables.closures
    a, b = tables.links.a[link], tables.links.b[link]
    x_a, xd_a = points(xp, A, r, V, a, closures.point_a[link])
    x_b, xd_b = points(xp, A, r, V, b, closures.point_b[link])
    u = turn(xp, on_ground(xp, A, np.eye(3), a), closures.axis_a)
    v = turn(xp, on_ground(xp, A, np.eye(3), b), closures.axis_b)
    ud = cross(xp, on_ground(xp, V, np.zeros(6), a)[..., 3:], u)
    vd = cross(xp, on_ground(xp, V, np.zeros(6), b)[..., 3:], v)
    return u, v, x_a, x_b, ud, vd, xd_a, xd_b


def row_kinds(tables):
    """Return three masks (mc,), TRANSLATION, DOT, DISTANCE, and the divisor of the distances [m] (1 elsewhere)."""
    translation, swing, distance = (tables.closures.kind == kind for kind in (TRANSLATION, DOT, DISTANCE))
    return translation, swing, distance, np.where(distance, tables.closures.length, 1.0)


def row_lengths(tables, u):
    """Return L, Ld, Ldd (mc,) of every closure row; given by the inputs where a distance is driven."""
    slot, given = tables.closures.slot, tables.closures.slot >= 0
    driven = [u[np.where(given, slot + k, 0)] for k in range(3)]
    return np.where(given, 0.0, tables.closures.length) + given * driven[0], given * driven[1], given * driven[2]


def closures(xp, tables, u, R0, z):
    """Return Phi (B, m): closure rows, then drivers z - f(t)."""
    A, r = frames(xp, tables, R0, z)
    u_a, v_b, x_a, x_b, *_ = row_geometry(xp, tables, A, r, np.zeros((z.shape[0], z.shape[1], 6)))
    translation, swing, distance, length = row_kinds(tables)
    L, d = row_lengths(tables, u)[0], x_b - x_a
    stretch = (dot(xp, d, d) - L * L) / (2 * length)
    rows = translation * dot(xp, u_a, -d) + swing * dot(xp, u_a, v_b) + distance * stretch
    rows = with_others(xp, tables, u, R0, rows, 0, z) - tables.closures.shim
    return xp.concatenate((rows, take(z, tables.drivers.step) - u[tables.drivers.slot]), axis=1)


def row_wrenches(xp, tables, A, r, V):
    """Return G = dPhi/dX_b and its rate Gd (B, mc, 6); Phid = G . (V_b - V_a), and -lam G is the wrench on b."""
    u, v, x_a, x_b, ud, vd, xd_a, xd_b = row_geometry(xp, tables, A, r, V)
    translation, swing, distance, length = row_kinds(tables)
    along, across = (distance / length)[:, None], swing[:, None]
    f = along * (x_b - x_a) - translation[:, None] * u
    fd = along * (xd_b - xd_a) - translation[:, None] * ud
    G = xp.concatenate((f, cross(xp, x_b, f) + across * cross(xp, v, u)), axis=-1)
    swing_rate = across * (cross(xp, vd, u) + cross(xp, v, ud))
    return G, xp.concatenate((fd, cross(xp, xd_b, f) + cross(xp, x_b, fd) + swing_rate), axis=-1)


def across_links(xp, tables, x):
    """Return x_b - x_a (B, mc, 6) of every closure row, for velocities or accelerations x (B, n, 6) of the steps."""
    link = row_links(tables)
    a, b = (on_ground(xp, x, np.zeros(6), ends[link]) for ends in (tables.links.a, tables.links.b))
    return b - a


def closure_velocities(xp, tables, u, R0, z, zd):
    """Return Phid (B, m), from the swept velocities."""
    _, A, r, _, V = motion(xp, tables, R0, z, zd)
    G, _ = row_wrenches(xp, tables, A, r, V)
    L, Ld, _ = row_lengths(tables, u)
    *_, distance, length = row_kinds(tables)
    rows = dot(xp, G, across_links(xp, tables, V)) - distance * L * Ld / length
    rows = with_others(xp, tables, u, R0, rows, 1, z, zd)
    return xp.concatenate((rows, take(zd, tables.drivers.step) - u[tables.drivers.slot + 1]), axis=1)


def closure_accelerations(xp, tables, u, R0, z, zd, zdd):
    """Return Phidd (B, m), from the swept velocities and accelerations: G . (Vd_b - Vd_a) + Gd . (V_b - V_a)."""
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    Vd = accelerations(xp, T, S, acceleration_rest(xp, tables, V, S, zd), zdd)
    G, Gd = row_wrenches(xp, tables, A, r, V)
    L, Ld, Ldd = row_lengths(tables, u)
    *_, distance, length = row_kinds(tables)
    swept = dot(xp, G, across_links(xp, tables, Vd)) + dot(xp, Gd, across_links(xp, tables, V))
    rows = swept - distance * (Ld * Ld + L * Ldd) / length
    rows = with_others(xp, tables, u, R0, rows, 2, z, zd, zdd)
    return xp.concatenate((rows, take(zdd, tables.drivers.step) - u[tables.drivers.slot + 2]), axis=1)


def all_signs(tables):
    """Return (mc, n): -1 on the branch of a, +1 on the branch of b of every closure row, 0 elsewhere."""
    links, signs = tables.links, np.zeros((len(tables.closures.point_a), len(tables.steps.parent)))
    for link in range(len(signs)):
        branch = slice(links.pointer[link], links.pointer[link + 1])
        signs[link, links.step[branch]] = links.sign[branch]
    return signs[row_links(tables)]


def closure_jacobian(xp, tables, u, R0, z):
    """Return Phi_z (B, m, n): sign_j S_j . G on the two branches of each loop, ratios, one on driven coordinates."""
    _, A, r, S, V = motion(xp, tables, R0, z, 0 * z)
    G, _ = row_wrenches(xp, tables, A, r, V)
    rows = all_signs(tables) * sum(G[:, :, None, k] * S[:, None, :, k] for k in range(6))
    driven = np.concatenate((coupled_rows(tables)[0], np.eye(z.shape[1])[tables.drivers.step]))
    parts = [rows[:, : tables.closures.row_pointer[tables.conditions.first[0]]]]
    if len(tables.conditions.scale):
        parts.append(condition_jacobian(xp, tables, u, R0, z))
    return xp.concatenate((*parts, np.broadcast_to(driven, (z.shape[0], *driven.shape))), axis=1)


def loop_force(xp, tables, u, R0, lam, z):
    """Return Phi_z^T lam (B, n); lam (m,) or (B, m). Its derivative by z is the Phi_zz term of the exact tangent."""
    return xp.sum(closure_jacobian(xp, tables, u, R0, z) * lam[..., :, None], axis=-2)

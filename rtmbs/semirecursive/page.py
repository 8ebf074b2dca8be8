"""The equations of motion as the paper prints them (Eq. 8 to 10, corrected) in plain arrays: oracle of every kernel.

Slow on purpose, and written to be read next to the paper. ``T``, ``R_d``, ``M_bar`` and ``Q_bar`` are visible;
velocities follow the spatial convention: ``V = [v, omega]`` of the body point at the global origin, and an acceleration
is the plain derivative of ``V``. Gravity is a force on every mass here (the kernels carry it as an acceleration of
ground). ``S`` holds the columns of ``R_d`` (the letter b means the second body of a connector here).

Rules of this file, which let arrays, complex numbers, automatic differentiation and a recorder of operations through:

* The array namespace is the first argument, ``xp``; of it only ``page_elements.ALLOWED`` is used, of
  arrays only ``+ - * /``, indexing and ``shape``. Constants are NumPy arrays.
* Constants come first (``xp, tables, u, R0, ...``), unknowns last; unknowns and results have a leading batch axis
  ``(B, n)``, and rows of the batch never mix.
* Built by stack and concatenate, no assignment to items; no norm, abs or conj: complex steps must pass.
* Vectors and rotations are those of ``rotations.plain``, which a test holds against SciPy and exact sums of the series.
* Sums over the tree are ``path_sum`` and ``subtree_sum``; a namespace may offer its own two under these names.

Arguments: ``u`` (nu,) inputs, ``R0`` (nr, 3, 3) reference rotations (of the last step boundary), ``z, zd, zdd`` (B, n).
"""

from math import factorial

import numpy as np

from rtmbs.forces.algebra import on_ground, points, relative_motion, take, wrench_at
from rtmbs.forces.register import KINDS
from rtmbs.numerics.rotations.plain import TURN_TERMS, cross, dot, exponential, product, tilde, transposed, turn
from rtmbs.semirecursive.page_elements import (
    acceleration_rest,
    accelerations,
    all_signs,
    condition_jacobian,
    condition_rows,
    contact_heights,
    contact_wrenches,
    frames,
    law_forces,
    law_rates,
    law_wrenches,
    motion,
    path_sum,
    row_closures,
    row_connectors,
    scatter,
    subtree_sum,
    with_contacts,
)
from rtmbs.system.tables import DISTANCE, DOT, GRAVITY_SLOT, TRANSLATION

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls


# -------------------------------------------------------------------------------------------------- inertia (Eq. 8)


def mass_geometry(xp, tables, A, r):
    """Return mass centre g (B, n, 3) and inertia about it J (B, n, 3, 3), world axes."""
    dofs = tables.dofs
    AJ = product(xp, A, dofs.inertia)
    J = xp.sum(AJ[..., :, None, :] * A[..., None, :, :], axis=-1)  # A J_body A^T
    return r + turn(xp, A, dofs.mass_center), J


def body_inertia(xp, tables, A, r):
    """Return M_bar (B, n, 6, 6): [[m I, -m g~], [m g~, J - m g~ g~]] at the global origin."""
    g, J = mass_geometry(xp, tables, A, r)
    m, g_tilde = tables.dofs.mass[:, None, None], tilde(xp, g)
    upper = xp.concatenate((np.broadcast_to(m * np.eye(3), J.shape), -m * g_tilde), axis=-1)
    lower = xp.concatenate((m * g_tilde, J - m * product(xp, g_tilde, g_tilde)), axis=-1)
    return xp.concatenate((upper, lower), axis=-2)


def body_wrench(xp, tables, u, A, r, V):
    """Return Q_bar (B, n, 6): gravity, gyroscopic wrenches, springs and given wrenches, at the global origin."""
    dofs, gravity = tables.dofs, u[GRAVITY_SLOT : GRAVITY_SLOT + 3]
    g, J = mass_geometry(xp, tables, A, r)
    v, w = V[..., :3], V[..., 3:]
    f = dofs.mass[:, None] * (gravity - cross(xp, w, v + cross(xp, w, g)))  # m g - m w x v_G
    n = cross(xp, g, f) - cross(xp, w, turn(xp, J, w))
    connector, F = force_elements(xp, tables, u, A, r, V)
    on_b, on_a = tables.connectors.b[connector], tables.connectors.a[connector]
    applied = scatter(xp, xp.concatenate((F, -F), axis=1), np.concatenate((on_b, on_a)), len(dofs.mass))
    return xp.concatenate((f, n), axis=-1) + applied


def mass_matrix(xp, tables, u, R0, z):
    """Return M = R_d^T T^T M_bar T R_d (B, n, n) (Eq. 8)."""
    T, A, r, S, _ = motion(xp, tables, R0, z, 0 * z)
    M_bar = body_inertia(xp, tables, A, r)
    R = [T * S[:, None, :, k] for k in range(6)]  # T R_d: component k of the velocity of dof i (row) by coordinate j
    M_bar_R = [sum(M_bar[:, :, k, l, None] * R[l] for l in range(6)) for k in range(6)]
    return sum(S[:, :, k, None] * subtree_sum(xp, T, M_bar_R[k]) for k in range(6))


def inverse_dynamics(xp, tables, u, R0, z, zd, zdd):
    """Return M zdd - Q (B, n), without loops: R_d^T T^T (M_bar Vd - Q_bar) - joint forces."""
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    Vd = accelerations(xp, T, S, acceleration_rest(xp, tables, V, S, zd), zdd)
    wrench = turn(xp, body_inertia(xp, tables, A, r), Vd) - body_wrench(xp, tables, u, A, r, V)
    return dot(xp, S, subtree_sum(xp, T, wrench)) - joint_forces(xp, tables, u, z, zd)


def force(xp, tables, u, R0, z, zd):
    """Return Q = R_d^T T^T (Q_bar - M_bar T Rdot_d zd) + joint forces (B, n) (Eq. 8, with the missing dot)."""
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    rest = path_sum(xp, T, acceleration_rest(xp, tables, V, S, zd))
    wrench = body_wrench(xp, tables, u, A, r, V) - turn(xp, body_inertia(xp, tables, A, r), rest)
    return dot(xp, S, subtree_sum(xp, T, wrench)) + joint_forces(xp, tables, u, z, zd)


def residual(xp, tables, u, R0, alpha, z, zd, zdd):
    """Return M zdd - Q + Phi_z^T alpha Phi (B, n) (Eq. 10); alpha (m,)."""
    Phi = closures(xp, tables, u, R0, z)
    return inverse_dynamics(xp, tables, u, R0, z, zd, zdd) + loop_force(xp, tables, u, R0, alpha * Phi, z)


# ------------------------------------------------------------------------------------------------------------- forces


def joint_forces(xp, tables, u, z, zd):
    """Return (B, n): -stiffness (z - rest) - damping zd + load and the laws of the user, on their coordinates."""
    dof, slot = tables.joint_forces.dof, tables.joint_forces.slot
    stiffness, damping, rest, load = u[slot], u[slot + 1], u[slot + 2], u[slot + 3]
    law = -stiffness * (take(z, dof) - rest) - damping * take(zd, dof) + load
    written, row = law_forces(xp, tables, u, z, zd), tables.laws.row[: tables.laws.counts[1]]
    return scatter(xp, xp.concatenate((law, written), axis=1), np.concatenate((dof, row)), len(tables.dofs.parent))


def force_elements(xp, tables, u, A, r, V):
    """Return the connectors (k,) of all forces between bodies, and the wrenches (B, k, 6) on their bodies b."""
    recorded = tables.laws.connector[: tables.laws.counts[0]]
    connectors = [*(table.connector for table in tables.forces), recorded]
    found = [kind.page(xp, tables, u, A, r, V) for kind in KINDS]
    return np.concatenate(connectors), xp.concatenate([*found, written_wrenches(xp, tables, u, A, r, V)], axis=1)


def written_wrenches(xp, tables, u, A, r, V):
    """Return (B, k, 6): laws of the user on r, R, v, w of b relative to a, in axes of a and acting at b's marker."""
    axes, x, kinematics = law_kinematics(xp, tables, A, r, V)
    W = law_wrenches(xp, tables, u, kinematics)
    return wrench_at(xp, axes, x, W[..., :3], W[..., 3:])


def law_kinematics(xp, tables, A, r, V, called=False):
    """Return axes of a, point of b, and r, R, v, w (B, k, 18) of the recorded or the called laws between frames."""
    laws, k = tables.laws, int(tables.laws.counts[0])
    own = slice(k, None) if called else slice(k)
    frames = laws.frame_a[own], laws.frame_b[own]
    axes, x, r, R, v, w = relative_motion(xp, tables.connectors, laws.connector[own], *frames, A, r, V)
    return axes, x, xp.concatenate((r, R[..., 0, :], R[..., 1, :], R[..., 2, :], v, w), axis=-1)


def state_rates(xp, tables, u, R0, z, zd):
    """Return the rates (B, ns) of the states of force laws, which stand behind the inputs in ``u``."""
    _, A, r, _, V = motion(xp, tables, R0, z, zd)
    _, _, kinematics = law_kinematics(xp, tables, A, r, V)
    return law_rates(xp, tables, u, kinematics, z, zd)


def called_kinematics(xp, tables, R0, z, zd):
    """Return r, R, v, w (B, k, 18) of the called laws between frames."""
    _, A, r, _, V = motion(xp, tables, R0, z, zd)
    return law_kinematics(xp, tables, A, r, V, called=True)[2]


def called_forces(xp, tables, R0, z, zd, W, Q):
    """Return the generalised forces (B, n) of the called laws, given wrenches W (B, k, 6) and joint forces Q (B, o)."""
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    axes, x, _ = law_kinematics(xp, tables, A, r, V, called=True)
    F, connector = wrench_at(xp, axes, x, W[..., :3], W[..., 3:]), tables.laws.connector[int(tables.laws.counts[0]) :]
    ends = np.concatenate((tables.connectors.b[connector], tables.connectors.a[connector]))
    n = len(tables.dofs.parent)
    applied = scatter(xp, xp.concatenate((F, -F), axis=1), ends, n)
    return dot(xp, S, subtree_sum(xp, T, applied)) + scatter(xp, Q, tables.laws.row[int(tables.laws.counts[1]) :], n)


# -------------------------------------------------------------------------------------------------------------- loops


def coupled_rows(tables):
    """Return the ratios of every coupler row (k, n), and where these rows begin: the last of the closures."""
    closures, connectors, couplers = tables.closures, tables.connectors, tables.couplers
    nc, first = len(closures.point_a), int(couplers.first[0])
    C, begin = np.zeros((nc - first, len(tables.dofs.parent))), connectors.pointer[first]
    for l in range(first, nc):
        connector = tables.closures.connector[l]
        branch = np.arange(connectors.pointer[connector], connectors.pointer[connector + 1])
        C[l - first, connectors.dof[branch]] = couplers.ratio[branch - begin]
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
    connector, closure, closures = row_connectors(tables), row_closures(tables), tables.closures
    a, b = tables.connectors.a[connector], tables.connectors.b[connector]
    x_a, xd_a = points(xp, A, r, V, a, closures.point_a[closure])
    x_b, xd_b = points(xp, A, r, V, b, closures.point_b[closure])
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
    if len(tables.contacts.normal):
        rows = with_contacts(xp, tables, rows, contact_heights(xp, tables, A, r))
    rows = with_others(xp, tables, u, R0, rows, 0, z) - tables.closures.assembly_offset
    return xp.concatenate((rows, take(z, tables.drivers.dof) - u[tables.drivers.slot]), axis=1)


def row_wrenches(xp, tables, A, r, V):
    """Return G = dPhi/dX_b and its rate Gd (B, mc, 6); Phid = G . (V_b - V_a), and -lam G is the wrench on b."""
    u, v, x_a, x_b, ud, vd, xd_a, xd_b = row_geometry(xp, tables, A, r, V)
    translation, swing, distance, length = row_kinds(tables)
    along, across = (distance / length)[:, None], swing[:, None]
    f = along * (x_b - x_a) - translation[:, None] * u
    fd = along * (xd_b - xd_a) - translation[:, None] * ud
    G = xp.concatenate((f, cross(xp, x_b, f) + across * cross(xp, v, u)), axis=-1)
    swing_rate = across * (cross(xp, vd, u) + cross(xp, v, ud))
    Gd = xp.concatenate((fd, cross(xp, xd_b, f) + cross(xp, x_b, fd) + swing_rate), axis=-1)
    if len(tables.contacts.normal):
        of_contacts = contact_wrenches(xp, tables, A, r, V)
        G, Gd = (with_contacts(xp, tables, *pair) for pair in zip((G, Gd), of_contacts, strict=True))
    return G, Gd


def across_connectors(xp, tables, x):
    """Return x_b - x_a (B, mc, 6) of every closure row, for velocities or accelerations x (B, n, 6) of the dofs."""
    connector = row_connectors(tables)
    a, b = (on_ground(xp, x, np.zeros(6), ends[connector]) for ends in (tables.connectors.a, tables.connectors.b))
    return b - a


def closure_velocities(xp, tables, u, R0, z, zd):
    """Return Phid (B, m), from the evaluated velocities."""
    _, A, r, _, V = motion(xp, tables, R0, z, zd)
    G, _ = row_wrenches(xp, tables, A, r, V)
    L, Ld, _ = row_lengths(tables, u)
    *_, distance, length = row_kinds(tables)
    rows = dot(xp, G, across_connectors(xp, tables, V)) - distance * L * Ld / length
    rows = with_others(xp, tables, u, R0, rows, 1, z, zd)
    return xp.concatenate((rows, take(zd, tables.drivers.dof) - u[tables.drivers.slot + 1]), axis=1)


def closure_accelerations(xp, tables, u, R0, z, zd, zdd):
    """Return Phidd (B, m), from the evaluated velocities and accelerations: G . (Vd_b - Vd_a) + Gd . (V_b - V_a)."""
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    Vd = accelerations(xp, T, S, acceleration_rest(xp, tables, V, S, zd), zdd)
    G, Gd = row_wrenches(xp, tables, A, r, V)
    L, Ld, Ldd = row_lengths(tables, u)
    *_, distance, length = row_kinds(tables)
    swept = dot(xp, G, across_connectors(xp, tables, Vd)) + dot(xp, Gd, across_connectors(xp, tables, V))
    rows = swept - distance * (Ld * Ld + L * Ldd) / length
    rows = with_others(xp, tables, u, R0, rows, 2, z, zd, zdd)
    return xp.concatenate((rows, take(zdd, tables.drivers.dof) - u[tables.drivers.slot + 2]), axis=1)


def closure_jacobian(xp, tables, u, R0, z):
    """Return Phi_z (B, m, n): sign_j S_j . G on the two branches of each loop, ratios, one on driven coordinates."""
    _, A, r, S, V = motion(xp, tables, R0, z, 0 * z)
    G, _ = row_wrenches(xp, tables, A, r, V)
    rows = all_signs(tables) * sum(G[:, :, None, k] * S[:, None, :, k] for k in range(6))
    driven = np.concatenate((coupled_rows(tables)[0], np.eye(z.shape[1])[tables.drivers.dof]))
    parts = [rows[:, : tables.closures.row_pointer[tables.conditions.first[0]]]]
    if len(tables.conditions.scale):
        parts.append(condition_jacobian(xp, tables, u, R0, z))
    return xp.concatenate((*parts, np.broadcast_to(driven, (z.shape[0], *driven.shape))), axis=1)


def loop_force(xp, tables, u, R0, lam, z):
    """Return Phi_z^T lam (B, n); lam (m,) or (B, m). Its derivative by z is the Phi_zz term of the exact tangent."""
    return xp.sum(closure_jacobian(xp, tables, u, R0, z) * lam[..., :, None], axis=-2)


# ---- momenta and the variational midpoint step (METHODS 6) -----------------------------------------------------------
#
# Hamilton's principle with forces says that for every variation
#
#     delta of the integral of T(z, zd) dt + integral of Q . delta z dt = 0.
#
# One step from z0 to z1 takes the motion between them at constant rates v, so z1 = z0 + h v, and the integral by the
# midpoint z_m = z0 + h/2 v. The discrete Lagrangian is L_d(z0, z1) = h T(z_m, v), the discrete work h Q(z_m, v) . delta
# z_m. Their derivatives by the two ends are the momenta there (Marsden and West 2001, Eqs. 1.3.4 and 3.2.1): with p_m =
# M(z_m) v and f = dT/dz + Q at (z_m, v)
#
#     p0 = p_m - h/2 f,        p1 = p_m + h/2 f.
#
# dT/dz needs no derivative of M. Let S_j be the column of dof j, V_base the velocity of what carries it, and P_j the
# momentum about the common origin of all bodies behind it. A small turn e S_j of these bodies, all rates as they are,
# turns their relative motions and their inertias with them. Only the part of their velocities that V_base gives does
# not turn, so T changes by P_j . (V_base x S_j) e:
#
#     p_j = S_j . P_j,         dT/dz_j = (V_base x S_j) . P_j.
#
# Three rotation dofs are R = R0 exp(delta~), and their rates the angular velocity in body axes. The step is the group
# increment R1 = R0 exp(d~), d = h v, its middle R_m = R0 exp(y~), y = d/2. Variations are small turns in body axes
# eta0, eta1 and eta_m. With the right Jacobian T of the exponential, delta d = T^-1(d) eta1 - T^-1(d)^T eta0, and eta_m
# = B eta1 + B^T eta0 with B = T(y) T^-1(d) / 2 = (1 + exp(-y~))^-1. The two equations become
#
#     B^-1 p0 / 2 = W p0 = T^-1(y) p_m - h/2 f,    W = (1 + exp(-y~)) / 2,
#     p1 = exp(-d~) p0 + h exp(-y~) f.
#
# The second says it in the axes of space: the momentum changes by the impulse of the force, taken at the middle. It has
# no p_m, so a momentum that no force changes stays whatever is left of the first equation.
#
# Loops act by impulses at both ends of the step. Phi_z(z0)^T Lambda0 is taken from p0, such that Phi(z1) = 0, and
# Phi_z(z1)^T Lambda1 from p1, such that Phid = 0 for zd1 = M(z1)^-1 p1.

TWICE_COSINE = [2.0 * (-1.0) ** k / factorial(2 * k + 2) for k in range(TURN_TERMS)]  # 2 (1 - cos theta) / theta^2
BEND = [
    (-1.0) ** k * (2.0 / factorial(2 * k + 2) - 1.0 / factorial(2 * k + 1)) for k in range(1, TURN_TERMS)
]  # (2 (1 - cos theta) / theta^2 - sin theta / theta) / theta^2


def momenta(xp, tables, R0, z, zd):
    """Return p = M zd (B, n) by momenta of bodies, without M."""
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    return dot(xp, S, subtree_sum(xp, T, turn(xp, body_inertia(xp, tables, A, r), V)))


def lagrange_force(xp, tables, u, R0, z, zd):
    """Return dT/dz + Q (B, n): Q of gravity, force elements and laws; no term holds an acceleration."""
    T, A, r, S, V = motion(xp, tables, R0, z, zd)
    P = subtree_sum(xp, T, turn(xp, body_inertia(xp, tables, A, r), V))
    swept = acceleration_rest(xp, tables, V, S, np.ones(len(tables.dofs.parent)))  # V_base x S
    g, _ = mass_geometry(xp, tables, A, r)
    weight = tables.dofs.mass[:, None] * (u[GRAVITY_SLOT : GRAVITY_SLOT + 3] + 0 * g)
    connector, F = force_elements(xp, tables, u, A, r, V)
    ends = np.concatenate((tables.connectors.b[connector], tables.connectors.a[connector]))
    wrench = xp.concatenate((weight, cross(xp, g, weight)), axis=-1)
    wrench = wrench + scatter(xp, xp.concatenate((F, -F), axis=1), ends, len(tables.dofs.mass))
    return dot(xp, swept, P) + dot(xp, S, subtree_sum(xp, T, wrench)) + joint_forces(xp, tables, u, z, zd)


# ---------------------------------------------------------------------------------------------------------- rotations


def by_elements(xp, tables, y, x, one):
    """Return x (B, n) with ``one(y, x)`` in place of the three numbers of every element of rotations."""
    parts = [x[:, i] for i in range(x.shape[1])]
    for i in np.flatnonzero(tables.dofs.reference >= 0):
        moved = one(y[:, i : i + 3], x[:, i : i + 3])
        parts[i : i + 3] = [moved[:, k] for k in range(3)]
    return xp.stack(parts, axis=1)


def turned_back(xp, tables, y, x):
    """Return exp(-y~) x (B, n) of rotations, x of others: a momentum at R in the axes of R exp(y~)."""
    return by_elements(xp, tables, y, x, lambda y, x: turn(xp, transposed(xp, exponential(xp, y)), x))


def half_turned(xp, tables, y, x):
    """Return W x (B, n), W = (1 + exp(-y~)) / 2 of rotations, 1 of others."""
    return 0.5 * (x + turned_back(xp, tables, y, x))


def undone(xp, tables, y, x):
    """Return T^-1(y) x (B, n), T the right Jacobian of the exponential."""

    def one(y, x):
        q, across = dot(xp, y, y), cross(xp, y, x)
        twice, bend = 0 * q + TWICE_COSINE[-1], 0 * q + BEND[-1]
        for c in TWICE_COSINE[-2::-1]:
            twice = q * twice + c
        for b in BEND[-2::-1]:
            bend = q * bend + b
        return x + 0.5 * across + (bend / twice)[..., None] * cross(xp, y, across)

    return by_elements(xp, tables, y, x, one)


# --------------------------------------------------------------------------------------------------------------- step


def step_residual(xp, tables, u, R0, z0, p0, h, impulse, y):
    """Return T^-1(y) p_m - h/2 f - W (p0 - impulse) (B, n) of the half increment y: zero where a step ends.

    ``u`` are the inputs at the middle, z0 and p0 (1, n) the start, ``impulse`` (B, n) is Phi_z^T Lambda there.
    """
    p, f = momenta(xp, tables, R0, z0 + y, 2.0 / h * y), lagrange_force(xp, tables, u, R0, z0 + y, 2.0 / h * y)
    return undone(xp, tables, y, p) - 0.5 * h * f - half_turned(xp, tables, y, p0 - impulse)


def step_momenta(xp, tables, u, R0, z0, p0, h, impulse, y):
    """Return the momenta (B, n) at the end of the step, before the loops there act on them."""
    f = lagrange_force(xp, tables, u, R0, z0 + y, 2.0 / h * y)
    return turned_back(xp, tables, 2.0 * y, p0 - impulse) + h * turned_back(xp, tables, y, f)

"""Momenta and the variational midpoint step as plain arrays: the oracle of ``momenta.py`` (METHODS 6).

Hamilton's principle with forces says that for every variation

    delta of the integral of T(z, zd) dt + integral of Q . delta z dt = 0.

One step from z0 to z1 takes the motion between them at constant rates v, so z1 = z0 + h v, and the integral by the
midpoint z_m = z0 + h/2 v. The discrete Lagrangian is L_d(z0, z1) = h T(z_m, v), the discrete work h Q(z_m, v) . delta
z_m. Their derivatives by the two ends are the momenta there (Marsden and West 2001, Eqs. 1.3.4 and 3.2.1): with
p_m = M(z_m) v and f = dT/dz + Q at (z_m, v)

    p0 = p_m - h/2 f,        p1 = p_m + h/2 f.

dT/dz needs no derivative of M. Let S_j be the column of dof j, V_base the velocity of what carries it, and P_j the
momentum about the common origin of all bodies behind it. A small turn e S_j of these bodies, all rates as they are,
turns their relative motions and their inertias with them. Only the part of their velocities that V_base gives does not
turn, so T changes by P_j . (V_base x S_j) e:

    p_j = S_j . P_j,         dT/dz_j = (V_base x S_j) . P_j.

Three rotation dofs are R = R0 exp(delta~), and their rates the angular velocity in body axes. The step is the group
increment R1 = R0 exp(d~), d = h v, its middle R_m = R0 exp(y~), y = d/2. Variations are small turns in body axes eta0,
eta1 and eta_m. With the right Jacobian T of the exponential, delta d = T^-1(d) eta1 - T^-1(d)^T eta0, and eta_m =
B eta1 + B^T eta0 with B = T(y) T^-1(d) / 2 = (1 + exp(-y~))^-1. The two equations become

    B^-1 p0 / 2 = W p0 = T^-1(y) p_m - h/2 f,    W = (1 + exp(-y~)) / 2,
    p1 = exp(-d~) p0 + h exp(-y~) f.

The second says it in the axes of space: the momentum changes by the impulse of the force, taken at the middle. It has
no p_m, so a momentum that no force changes stays whatever is left of the first equation.

Loops act by impulses at both ends of the step. Phi_z(z0)^T Lambda0 is taken from p0, such that Phi(z1) = 0, and
Phi_z(z1)^T Lambda1 from p1, such that Phid = 0 for zd1 = M(z1)^-1 p1.

The rules of ``page.py`` hold here.
"""

# Arrays of five namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

from math import factorial

import numpy as np

from rtmbs.rotations.plain import TURN_TERMS, cross, dot, exponential, transposed, turn
from rtmbs.semirecursive.page import body_inertia, force_elements, joint_forces, loop_force, mass_geometry
from rtmbs.semirecursive.page_kinematics import acceleration_rest, motion, scatter, subtree_sum
from rtmbs.system.tables import GRAVITY_SLOT

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

    ``u`` are the inputs at the middle, z0 and p0 (1, n) the start, ``impulse`` (B, n) is the ``loop_impulse`` there.
    """
    p, f = momenta(xp, tables, R0, z0 + y, 2.0 / h * y), lagrange_force(xp, tables, u, R0, z0 + y, 2.0 / h * y)
    return undone(xp, tables, y, p) - 0.5 * h * f - half_turned(xp, tables, y, p0 - impulse)


def loop_impulse(xp, tables, u, R0, z, Lambda):
    """Return Phi_z^T Lambda (B, n), the impulse of loops at one end of the step."""
    return loop_force(xp, tables, u, R0, Lambda, z)


def step_momenta(xp, tables, u, R0, z0, p0, h, impulse, y):
    """Return the momenta (B, n) at the end of the step, before the loops there act on them."""
    f = lagrange_force(xp, tables, u, R0, z0 + y, 2.0 / h * y)
    return turned_back(xp, tables, 2.0 * y, p0 - impulse) + h * turned_back(xp, tables, y, f)

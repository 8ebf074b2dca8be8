"""Loop equations and component energies in the page form, for tapes of a step (METHODS 1.7, 1.37).

``semirecursive/page.py`` writes ratios of couplers into an array of floats, which cannot hold a traced number. With
traced ratios it evaluates the couplers without them, and the products with the coordinates are added here. The rules of
``semirecursive/page.py`` hold. Loads whose work a balance does not count stand in no component that keeps one.
"""

from typing import Any

import numpy as np

from rtmbs.forces.algebra import points, relative_motion, take
from rtmbs.forces.bushings import PRELOAD
from rtmbs.numerics.rotations.plain import cross, dot, logarithm, turn
from rtmbs.semirecursive import page as untyped_page
from rtmbs.semirecursive.page import mass_geometry
from rtmbs.semirecursive.page_elements import motion, path_sum
from rtmbs.system.tables import GRAVITY_SLOT, ROTATION

# Arrays of several namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls


page: Any = untyped_page


def closures(xp, tables, u, R0, z):
    """Return Phi (B, m)."""
    bare, C = split(xp, tables)
    return with_products(xp, tables, page.closures(xp, bare, u, R0, z), C, z)


def closure_velocities(xp, tables, u, R0, z, zd):
    """Return Phid (B, m)."""
    bare, C = split(xp, tables)
    return with_products(xp, tables, page.closure_velocities(xp, bare, u, R0, z, zd), C, zd)


def closure_accelerations(xp, tables, u, R0, z, zd, zdd):
    """Return Phidd (B, m)."""
    bare, C = split(xp, tables)
    return with_products(xp, tables, page.closure_accelerations(xp, bare, u, R0, z, zd, zdd), C, zdd)


def closure_jacobian(xp, tables, u, R0, z):
    """Return Phi_z (B, m, n)."""
    bare, C = split(xp, tables)
    J = page.closure_jacobian(xp, bare, u, R0, z)
    if C is None:
        return J
    first, last = coupled(tables)
    each = xp.stack([C] * z.shape[0])
    return xp.concatenate((J[:, :first], each, J[:, last:]), axis=1)


def loop_force(xp, tables, u, R0, lam, z):
    """Return Phi_z^T lam (B, n); lam (m,) or (B, m)."""
    return xp.sum(closure_jacobian(xp, tables, u, R0, z) * lam[..., :, None], axis=-2)


def split(xp, tables):
    """Return tables without traced or complex ratios, and these ratios (k, n); None where ratios are floats."""
    ratio = tables.couplers.ratio
    if isinstance(ratio, np.ndarray) and ratio.dtype.kind == "f":
        return tables, None
    connectors, n = tables.connectors, len(tables.dofs.parent)
    numbers = tables.closures.connector[int(tables.couplers.first[0]) :]
    rows, begin = [], int(connectors.pointer[numbers[0]])
    for number in numbers:
        branch = range(int(connectors.pointer[number]), int(connectors.pointer[number + 1]))
        own = {int(connectors.dof[e]): ratio[e - begin] for e in branch}
        rows.append(xp.stack([own.get(i, 0.0 * ratio[0]) for i in range(n)]))
    return tables._replace(couplers=tables.couplers._replace(ratio=np.zeros(ratio.shape[0]))), xp.stack(rows)


def coupled(tables):
    """Return the first row of couplers, and the first behind them."""
    return int(tables.closures.row_pointer[int(tables.couplers.first[0])]), len(tables.closures.kind)


def with_products(xp, tables, rows, C, x):
    """Return rows (B, m) with ratios C (k, n) times x (B, n) added to those of the couplers."""
    if C is None:
        return rows
    first, last = coupled(tables)
    added = rows[:, first:last] + xp.sum(C * x[:, None, :], axis=-1)
    return xp.concatenate((rows[:, :first], added, rows[:, last:]), axis=1)


# Arrays of several namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls


def members(tables):
    """Return one mask (n,) for each component that keeps a balance."""
    return [tables.balance.component == first for first in tables.balance.first]


def kinetic(xp, tables, R0, z, v, w):
    """Return v . M w (B, k) of each component; v, w (B, n)."""
    T, A, r, S, V = motion(xp, tables, R0, z, v)
    W = path_sum(xp, T, S * w[..., None])
    g, J = mass_geometry(xp, tables, A, r)
    mass = tables.dofs.mass
    v_g, w_g = (x[..., :3] + cross(xp, x[..., 3:], g) for x in (V, W))
    each = mass * dot(xp, v_g, w_g) + dot(xp, V[..., 3:], turn(xp, J, W[..., 3:]))
    return summed(xp, [xp.sum(each * mask, axis=-1) for mask in members(tables)])


def summed(xp, columns):
    """Return columns (B,) side by side (B, k)."""
    return xp.stack(columns, axis=-1)


def potential(xp, tables, u, R0, z):
    """Return weight, elastic energy and potentials of constant loads (B, k) of each component."""
    _, A, r, _, V = motion(xp, tables, R0, z, 0 * z)
    gravity = u[GRAVITY_SLOT : GRAVITY_SLOT + 3]
    center = r + turn(xp, A, tables.dofs.mass_center) - placed(tables.origins)
    weight = -tables.dofs.mass * dot(xp, center, gravity)
    stored = [(weight, np.arange(len(tables.dofs.mass)))]
    stored += [(elastic + load, dof) for elastic, load, dof in elements(xp, tables, u, z, A, r, V)]
    return summed(xp, [sum(xp.sum(one * mask[dof], axis=-1) for one, dof in stored) for mask in members(tables)])


def placed(origins):
    """Return the origins (n, 3) of the parts of all dofs at the reference pose, from which heights are measured."""
    origin = origins.grid[:, None] * np.floor(origins.fixed / origins.grid[:, None] + 0.5)
    return np.where(origins.row[:, None] == -1, 0.0, np.vstack((np.zeros((1, 3)), origin))[-1 - origins.row])


def exchange(xp, tables, u, R0, z):
    """Return the energy (B, k) that each component can exchange with its kinetic one, as in the balance of a step."""
    _, A, r, _, V = motion(xp, tables, R0, z, 0 * z)
    gravity = u[GRAVITY_SLOT : GRAVITY_SLOT + 3]
    reach = xp.sqrt(dot(xp, gravity, gravity)) * tables.balance.length[0]
    stored = [(tables.dofs.mass * reach + 0 * z, np.arange(len(tables.dofs.mass)))]
    stored += [(xp.sqrt(elastic * elastic), dof) for elastic, _, dof in elements(xp, tables, u, z, A, r, V)]
    return summed(xp, [sum(xp.sum(one * mask[dof], axis=-1) for one, dof in stored) for mask in members(tables)])


def elements(xp, tables, u, z, A, r, V):
    """Return elastic energies (B, e), those of constant loads, and the dof of each, kind by kind."""
    dof, slot = tables.joint_forces.dof, tables.joint_forces.slot
    stretch = take(z, dof) - u[slot + 2]
    found = [(0.5 * u[slot] * stretch * stretch, -u[slot + 3] * take(z, dof), dof)]
    for table, energy in ((tables.forces.springs, spring_energy), (tables.forces.bushings, bushing_energy)):
        if len(table.connector):
            found.append((*energy(xp, tables, u, A, r, V), lower_ends(tables, table.connector)))
    return found


def lower_ends(tables, connector):
    """Return the dof (k,) of the lower end of connectors."""
    return np.maximum(tables.connectors.a, tables.connectors.b)[connector]


def spring_energy(xp, tables, u, A, r, V):
    """Return stiffness / 2 (l - length)^2 and tension l (B, ns)."""
    springs = tables.forces.springs
    x_a, _ = points(xp, A, r, V, tables.connectors.a[springs.connector], springs.point_a)
    x_b, _ = points(xp, A, r, V, tables.connectors.b[springs.connector], springs.point_b)
    d, slot = x_b - x_a, springs.slot
    l = xp.sqrt(dot(xp, d, d))
    return 0.5 * u[slot] * (l - u[slot + 2]) * (l - u[slot + 2]), u[slot + 3] * l


def bushing_energy(xp, tables, u, A, r, V):
    """Return q . K q / 2 and -preload . q (B, nb)."""
    bushings = tables.forces.bushings
    frames = bushings.frame_a, bushings.frame_b
    _, _, r_b, R, _, _ = relative_motion(xp, tables.connectors, bushings.connector, *frames, A, r, V)
    q, slot = xp.concatenate((r_b, logarithm(xp, R)), axis=-1), bushings.slot[:, None]
    K = u[slot + np.arange(36)].reshape(len(slot), 6, 6)
    return dot(xp, 0.5 * turn(xp, K, q), q), -dot(xp, u[slot + PRELOAD + np.arange(6)], q)


def damped(xp, tables, u, h, way, change):
    """Return the work (B, k) of joint dampers over a step: -d (way^2 / h + h/12 change^2), of rates ``change``."""
    dof, slot = tables.joint_forces.dof, tables.joint_forces.slot
    own, more = take(way, dof), take(change, dof)
    work = -u[slot + 1] * (own * own / h + h / 12.0 * more * more)
    return summed(xp, [xp.sum(work * mask[dof], axis=-1) for mask in members(tables)])


def change_of_acceleration(xp, dofs, h, before, zd, zdd):
    """Return zdd - before (B, n), for a rotation less h zd x zdd, which its increment includes (METHODS 1.7)."""
    columns = []
    for i in range(len(dofs.kind)):
        change = zdd[:, i] - before[:, i]
        if dofs.kind[i] == ROTATION:
            first = int(dofs.tip[i]) - 2
            j, k = first + (i - first + 1) % 3, first + (i - first + 2) % 3
            change = change - h * (zd[:, j] * zdd[:, k] - zd[:, k] * zdd[:, j])
        columns.append(change)
    return xp.stack(columns, axis=-1)

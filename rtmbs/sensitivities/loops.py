"""Loop equations in the page form, also where the ratios of couplers depend on parameters.

``semirecursive/page.py`` writes ratios into an array of floats, which no traced number goes into. With such ratios it
is asked for the couplers without them, and the products with the coordinates are added here.
"""

# Arrays of several namespaces pass through here: there is no type to write down.
# mypy: allow-untyped-defs, allow-untyped-calls

from typing import Any

import numpy as np

from rtmbs.semirecursive import page as untyped_page

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
    """Return tables without ratios that are traced or complex, and these (k, n); None where ratios are floats."""
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

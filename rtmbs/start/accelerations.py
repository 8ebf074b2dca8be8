"""First accelerations and multipliers: the constrained equations of motion at the start (METHODS 1.8, 1.15).

M zdd + Phi_z^T lam = Q, Phidd = 0, by multiplier sweeps on M + q4 Phi_z^T alpha Phi_z with the alpha of c = 1e6: the
answer for redundant loops is the least lam in the norm of 1 / alpha. Never zero by default: a wrong first acceleration
costs an order of accuracy.
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StartError
from rtmbs.linear.sparse_lu import factor, solve
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.evaluation import assemble_mass_weight

Array = NDArray[np.float64]

MAX_SWEEPS = 30
ENOUGH = 1e-13


def first_accelerations(
    equations: SemiRecursiveEquations, z: Array, zd: Array, R0: Array, masses: Array, stiffness: float = 1e6
) -> tuple[Array, Array]:
    """Return zdd (n,) and lam (m,) of the constrained equations at z, zd.

    ``masses`` (m,) are the effective masses of the rows, ``stiffness`` the dimensionless penalty c of the sweeps.
    """
    weight = stiffness * masses
    zdd, lam = np.zeros(equations.n), np.zeros(equations.m)
    force, violation = unbalance(equations, z, zd, zdd, lam, R0)
    assemble_mass_weight(equations.tables, 1.0, weight, equations.ws, equations.work.original)
    equations.work.factored[:] = equations.work.original
    if bad := factor(equations.lu, equations.work.factored, equations.work):
        if not np.isfinite(equations.work.original).all():
            raise StartError("a number that is not finite appeared: a force, an input, a rate or an angle is too large")
        raise StartError(
            f"coordinate {equations.system.coordinate_names[bad - 1]!r} has no inertia and no loop holds it;"
            " give its body mass or inertia"
        )
    previous = np.inf
    for _ in range(MAX_SWEEPS):
        change = -(force + equations.pull_back(weight * violation))
        solve(equations.lu, equations.work.factored, equations.work, change)
        zdd = zdd + change
        lam = lam + weight * (violation + equations.apply_Phi_z(change))
        size = np.max(np.abs(change), initial=0.0)
        if size <= ENOUGH * np.max(np.abs(zdd), initial=0.0) or (
            size >= 0.5 * previous and size <= 1e-9 * np.max(np.abs(zdd))
        ):
            break
        previous = size
        force, violation = unbalance(equations, z, zd, zdd, lam, R0)
    return zdd, lam


def unbalance(
    equations: SemiRecursiveEquations, z: Array, zd: Array, zdd: Array, lam: Array, R0: Array
) -> tuple[Array, Array]:
    """Return M zdd - Q + Phi_z^T lam and Phidd."""
    equations.residual(z, zd, zdd, R0)
    force = equations.ws.tau + equations.pull_back(lam)
    return force, equations.closure_accelerations(zd, zdd)

"""First accelerations and multipliers: the constrained equations of motion at the start (METHODS 1.8, 1.15).

M zdd + Phi_z^T lam = Q, Phidd = 0, by the augmented Lagrangian with the weight c m_l: A = M + Phi_z^T weight Phi_z, and
lam solves (Phi_z A^-1 Phi_z^T) lam = what is left of Phidd. Scaled by the roots of the weights that matrix has the
eigenvalues s / (1 + s): one but for the directions that a nearly singular pose loses. Conjugate gradients need one
iteration for each cluster, and of all answers for redundant loops give the least lam in the norm of 1 / weight.
Never zero by default: a wrong first acceleration costs an order of accuracy.

Components that share nothing but ground are solved side by side, each with scalars of its own: rounding of a large one
may be more than all that there is in a small one.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rtmbs.semirecursive.closure_jacobian import apply_through
from rtmbs.semirecursive.independent import Independent
from rtmbs.semirecursive.noise import ROUNDING, accuracy_of
from rtmbs.semirecursive.weighted_factor import factor_weights

if TYPE_CHECKING:
    from rtmbs.semirecursive.equations import SemiRecursiveEquations

Array = NDArray[np.float64]

ROUNDS = 6  # of conjugate gradients, each from the residual of the round before
MAX_ITERATIONS = 60  # of one round
LOST = 1e-13  # eigenvalue that counts as zero: no multiplier acts in that direction
SOLVED = 0.1  # of the accuracy of the geometry: what is left of Phidd, in terms of its parts
ENOUGH = 1e-13


def first_accelerations(
    equations: "SemiRecursiveEquations", z: Array, zd: Array, R0: Array, masses: Array, stiffness: float = 1e6
) -> tuple[Array, Array]:
    """Return zdd (n,) and lam (m,) of the constrained equations at z, zd.

    ``masses`` (m,) are the effective masses of the rows, ``stiffness`` the dimensionless penalty c. Where loops or
    drivers contradict each other there is no solution; `start.consistency.check_motion` judges what is returned.
    Raises StartError naming the coordinate when nothing gives it inertia.
    """
    root, parts = np.sqrt(stiffness * masses), equations.parts
    zdd, lam = np.zeros(equations.n), np.zeros(equations.m)
    force, violation = unbalance(equations, z, zd, zdd, lam, R0)
    factor_weights(equations, [root * root])
    previous = np.full(parts.count, np.inf)
    for _ in range(ROUNDS):
        change = -equations.solve(force + equations.pull_back(root * root * violation))
        left = root * (violation + equations.apply_Phi_z(change))  # of the scaled equations of lam
        relative, rounding = violation_terms(equations, zd, zdd + change, (lam + root * left) / masses)
        enough = root * (SOLVED * accuracy_of(equations) * relative + rounding)
        change, more = correction(equations, parts, root, change, left, enough)
        zdd, lam = zdd + change, lam + more
        force, violation = unbalance(equations, z, zd, zdd, lam, R0)
        size = parts.largest(change)
        settled = (size <= ENOUGH * parts.largest(zdd)) | (size >= 0.5 * previous)
        if np.all(settled):
            break
        previous = np.where(settled, 0.0, size)
    return zdd, lam


def correction(
    equations: "SemiRecursiveEquations", parts: Independent, root: Array, change: Array, left: Array, enough: Array
) -> tuple[Array, Array]:
    """Return the changes of zdd and lam that take away what is ``left`` (m,) of the loops, by conjugate gradients.

    ``change`` (n,) is the answer without multipliers, root (m,) that of the weights inside the factor. Iterations end
    at ``enough``, where rounding begins: what is left there is the part of redundant equations, which no multiplier
    takes away.
    """
    if not len(left):
        return change, left
    rows, columns = parts.rows, parts.columns
    more, step, square = np.zeros(len(root)), left, parts.product(left, left)
    goes_on = np.ones(parts.count, np.bool_)
    for _ in range(MAX_ITERATIONS):
        goes_on &= parts.any(np.abs(left) > enough)
        step = np.where(goes_on[rows], step, 0.0)
        if not np.any(goes_on):
            break
        response = equations.solve(equations.pull_back(root * step))
        seen = root * equations.apply_Phi_z(response)
        curvature = parts.product(step, seen)
        goes_on &= curvature > LOST * parts.product(step, step)
        length = np.divide(square, curvature, out=np.zeros(parts.count), where=goes_on)
        more, change, left = more + length[rows] * step, change - length[columns] * response, left - length[rows] * seen
        square, previous = parts.product(left, left), square
        step = left + np.divide(square, previous, out=np.zeros(parts.count), where=goes_on)[rows] * step
    return change, root * (more + left)  # with what is left, so that forces balance whatever was reached


def violation_terms(equations: "SemiRecursiveEquations", zd: Array, zdd: Array, pushed: Array) -> tuple[Array, Array]:
    """Return the size of the terms of Phidd (m,), and its rounding, which grows with distances from the origin.

    pushed (m,) is lam over the effective masses: what the loops prevent counts too, or a truss at rest had no size.
    """
    if not equations.m:
        return np.zeros(0), np.zeros(0)
    ws, tables = equations.ws, equations.tables
    count, connectors = len(tables.closures.kind), tables.connectors
    terms = np.zeros(equations.m)
    speed = np.abs(zd) * np.max(np.abs(zd) / equations.system.typical, initial=0.0)
    apply_through(tables, np.abs(ws.Phi_z), np.abs(zdd) + speed, terms)
    terms += np.abs(pushed) + np.abs(equations.closure_accelerations(zd, np.zeros(equations.n)))
    equations.closure_accelerations(zd, zdd)
    connector = tables.closures.connector[equations.system.closure_of_row[:count]]
    a, b = connectors.a[connector], connectors.b[connector]
    motion = np.abs(ws.acc[a]) + np.abs(ws.acc[b])
    turning = np.linalg.norm(ws.V[a, 3:], axis=1) + np.linalg.norm(ws.V[b, 3:], axis=1)
    motion += turning[:, None] * (np.abs(ws.V[a]) + np.abs(ws.V[b]))
    rounding = np.zeros(equations.m)
    rounding[:count] = ROUNDING * np.sum(np.abs(ws.G) * motion, axis=1)
    return terms, rounding


def unbalance(
    equations: "SemiRecursiveEquations", z: Array, zd: Array, zdd: Array, lam: Array, R0: Array
) -> tuple[Array, Array]:
    """Return M zdd - Q + Phi_z^T lam and Phidd."""
    equations.residual(z, zd, zdd, R0)
    force = equations.ws.tau + equations.pull_back(lam)
    return force, equations.closure_accelerations(zd, zdd)

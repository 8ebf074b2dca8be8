"""First accelerations and multipliers: the constrained equations of motion at the start (METHODS 1.8, 1.15).

M zdd + Phi_z^T lam = Q, Phidd = 0, by the augmented Lagrangian with the weight c m_l: A = M + Phi_z^T weight Phi_z, and
lam solves (Phi_z A^-1 Phi_z^T) lam = what is left of Phidd. Scaled by the roots of the weights that matrix has the
eigenvalues s / (1 + s): one but for the directions that a nearly singular pose loses. Conjugate gradients need one
iteration for each cluster, and of all answers for redundant loops give the least lam in the norm of 1 / weight.
Never zero by default: a wrong first acceleration costs an order of accuracy.

The rounds are no Newton iteration, and share no end with one: they refine a linear solution by the residual of the
whole equations, and each component ends by itself.

Components that share nothing but ground are solved side by side, each with scalars of its own: rounding of a large one
may be more than all that there is in a small one.
"""

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import StartError
from rtmbs.integrators.contract import Missed, NotFinite, SingularTangent
from rtmbs.integrators.settings import StateArrays
from rtmbs.semirecursive.closure_jacobian import apply_through
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.evaluation import assemble_mass_metric
from rtmbs.semirecursive.loop_jacobian import ROUNDING, accuracy_of, lengths
from rtmbs.system.components import ComponentSums

Array = NDArray[np.float64]

ROUNDS = 6  # of conjugate gradients, each from the residual of the round before
MAX_ITERATIONS = 60  # of one round
LOST = 1e-13  # eigenvalue that counts as zero: no multiplier acts in that direction
SOLVED = 0.1  # of the accuracy of the geometry: what is left of Phidd, in terms of its parts
ENOUGH = 1e-13


def first_accelerations(
    equations: EvaluatedEquations, z: Array, zd: Array, R0: Array, masses: Array, stiffness: float = 1e6
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
    equations: EvaluatedEquations, parts: ComponentSums, root: Array, change: Array, left: Array, enough: Array
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


def violation_terms(equations: EvaluatedEquations, zd: Array, zdd: Array, pushed: Array) -> tuple[Array, Array]:
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
    turning = lengths(ws.V[a, 3:]) + lengths(ws.V[b, 3:])
    motion += turning[:, None] * (np.abs(ws.V[a]) + np.abs(ws.V[b]))
    rounding = np.zeros(equations.m)
    rounding[:count] = ROUNDING * np.sum(np.abs(ws.G) * motion, axis=1)
    return terms, rounding


def unbalance(
    equations: EvaluatedEquations, z: Array, zd: Array, zdd: Array, lam: Array, R0: Array
) -> tuple[Array, Array]:
    """Return M zdd - Q + Phi_z^T lam and Phidd."""
    equations.residual(z, zd, zdd, R0)
    force = equations.ws.tau + equations.pull_back(lam)
    return force, equations.closure_accelerations(zd, zdd)


# ---- residuals of the equations of motion (METHODS 1.15) ------------------------------------------------------------


ALLOWED = 1e4  # accuracies of the geometry: Phidd left, in terms of its parts
SETTLED = 1e-6  # change of an acceleration that is still wanted, relative to the largest of its component
UNSEEN = 1e-13  # of the sizes: a change of a coordinate, or a gap, in one step that is rounding


def allowed_violation(equations: EvaluatedEquations, terms: Array, rounding: Array) -> Array:
    """Return how much of Phidd (m,) may be left, for terms of this size."""
    return ALLOWED * (accuracy_of(equations) * terms + rounding)


def equation_residuals(equations: EvaluatedEquations, state: StateArrays, masses: Array, h: float) -> Missed:
    """Return the residuals of Phidd and of the balance of forces; the factor is that of the accelerations.

    ``masses`` (m,) are the effective ones. What moves nothing by more than rounding in a step h [s] is no miss: forces
    may balance to zero.
    """
    scale, typical, parts = equations.sizes.scale, equations.sizes.typical, equations.parts
    force, violation = unbalance(equations, state.z, state.zd, state.zdd, state.lam, state.R0)
    terms, rounding = violation_terms(equations, state.zd, state.zdd, state.lam / masses)
    loops = np.abs(violation) > allowed_violation(equations, terms, rounding) + UNSEEN / h**2 * scale
    change = np.abs(equations.solve(force)) / typical
    largest = np.maximum(
        parts.largest(state.zdd / typical), parts.largest_of_rows(state.lam / masses / scale)
    )  # fmt: skip
    forces = change > SETTLED * largest[parts.columns] + UNSEEN / h**2
    return Missed(violation, np.asarray(loops), change, np.asarray(forces))


# ---- the factor of the start ----------------------------------------------------------------------------------------


INERTIA = 1e-8  # of the largest square root of a diagonal entry: a coordinate that moves bodies with inertia
ONE_MOTION = 1e-12  # eigenvalue of the mass matrix with a unit diagonal: coordinates that move the same
PART = 0.1  # of the largest part in that motion
DENSE_LIMIT = 6000  # coordinates: a dense factor of more takes gigabytes


def factor_weights(equations: EvaluatedEquations, weights: list[Array]) -> None:
    """Factor M + Phi_z^T weight Phi_z with the first of the weights (m,) that allows it; ``equations.solve`` solves.

    Static order first, for every weight; a long straight chain needs the exchanges of a dense factor.
    Raises StartError naming the coordinate when nothing gives it inertia.
    """
    for solver in equations.solvers if equations.n <= DENSE_LIMIT else equations.solvers[:1]:
        equations.solver = solver
        for weight in weights:
            assemble_mass_metric(equations.tables, 1.0, weight, equations.ws, equations.matrix.values)
            try:
                with suppress(SingularTangent):
                    return equations.factor_matrix()
            except NotFinite:
                raise StartError(
                    "a number that is not finite appeared: a force, an input, a rate or an angle is too large"
                ) from None
    raise StartError(reason(equations))


def reason(equations: EvaluatedEquations) -> str:
    """Return the reason of a missing factor, with the name of the coordinate."""
    name = equations.system.coordinate_names[equations.weakest]
    if equations.n > DENSE_LIMIT:
        return (
            f"coordinate {name!r} has no inertia, or one that rounding hides among {equations.n} coordinates (above"
            f" {DENSE_LIMIT} no dense factor is tried); give what it moves mass and inertia, or bend a long straight"
            " chain at the start"
        )
    if together := moving_together(equations):
        return (
            f"the motions of {' and '.join(map(repr, together))} are one and the same at this pose, as when the axes of"
            " two hinges coincide (gimbal lock): nothing tells their accelerations apart; start from another pose, or"
            " give the bodies between them inertia"
        )
    return (
        f"coordinate {name!r} has no inertia: the bodies it moves are massless (or turn about their own mass points)"
        " and no loop holds them; give them mass or inertia, or close them"
    )


def moving_together(equations: EvaluatedEquations) -> tuple[str, ...]:
    """Return the coordinates that move bodies with inertia, and of which a combination moves none."""
    M = np.asarray(equations.matrix)
    size = np.sqrt(np.abs(np.diag(M)))
    moving = size > INERTIA * size.max(initial=0.0)
    if not np.any(moving) or not np.all(np.isfinite(M)):
        return ()
    scaled = M[np.ix_(moving, moving)] / np.outer(size[moving], size[moving])
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    if values[0] > ONE_MOTION:
        return ()
    taking_part = np.flatnonzero(moving)[np.abs(vectors[:, 0]) > PART * np.abs(vectors[:, 0]).max()]
    names = [equations.system.coordinate_names[i] for i in taking_part]
    return tuple(names) if len(names) > 1 else ()

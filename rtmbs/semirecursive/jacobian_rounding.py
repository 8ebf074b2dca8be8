"""How much of every entry of Phi_z is rounding, from the sizes of the terms that cancel in it (METHODS 1.13).

An entry is the speed of the closure's point, or of an axis, along the row's direction per unit rate. Its terms are as
large as the arm from the joint to the point, for an axis one. Below RELATIVE of that size the entry counts as zero:
axes, points and closed poses are not known better. Columns and wrenches stand at the global origin, so rounding of the
distances from there comes on top.
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.loop_jacobian import LoopJacobian
from rtmbs.system.tables import CONDITION, DISTANCE, DOT, RELATION

Array = NDArray[np.float64]

RELATIVE = 1e-10  # of the terms: assembly closes to 1e-12, and a rank must not hang on that
OFFSETS = 10.0  # assembly offsets: equations that are redundant up to an assembly offset are meant to be redundant
ROUNDING = 100.0 * float(np.finfo(np.float64).eps)  # of distances from the global origin


def accuracy_of(equations: EvaluatedEquations) -> float:
    """Return the relative size of terms below which nothing counts: RELATIVE, or what the assembly offsets admit."""
    assembly_offset = float(np.max(np.abs(equations.tables.closures.assembly_offset), initial=0.0))
    return max(RELATIVE, OFFSETS * assembly_offset / equations.system.length)


def noise_of(equations: EvaluatedEquations, jacobian: LoopJacobian) -> Array:
    """Return the rounding of every entry of ``jacobian.matrix`` at the closed state (entries,)."""
    ws, closures = equations.ws, equations.tables.closures
    relative = accuracy_of(equations)
    if jacobian.inner == 0:
        return np.full(jacobian.drivers, relative)
    row, dof, closure = jacobian.rows[: jacobian.inner], jacobian.columns[: jacobian.inner], jacobian.closures
    xa, xb = closure_points(equations)
    kind, length = closures.kind[row], np.where(closures.kind == DISTANCE, closures.length, 1.0)[row]
    gap = np.linalg.norm(xb - xa, axis=1)[closure]
    arm = np.linalg.norm(xb[closure] - ws.r[dof], axis=1)
    far = np.linalg.norm(xb, axis=1)[closure] + np.linalg.norm(ws.r[dof], axis=1)
    turns = np.linalg.norm(ws.S[dof, 3:], axis=1)
    slides = np.where(turns > 0.0, 0.0, np.linalg.norm(ws.S[dof, :3], axis=1))
    point = turns * (relative * arm + ROUNDING * far) + slides * relative
    distance = (point * gap + (turns * arm + slides) * ROUNDING * far) / length
    noise = np.where(kind == DOT, relative * turns, np.where(kind == DISTANCE, distance, point))
    noise = np.where(kind == RELATION, relative * np.abs(ws.Phi_z), noise)  # one term: the ratio itself
    if np.any(kind == CONDITION):
        noise = np.where(
            kind == CONDITION, condition_noise(equations, jacobian, point, relative * turns, relative), noise
        )
    return np.concatenate([noise, np.full(jacobian.drivers, relative)])


def condition_noise(
    equations: EvaluatedEquations, jacobian: LoopJacobian, point: Array, turn: Array, relative: float
) -> Array:
    """Return the rounding of the entries as if all rows were constraints of the user.

    Between frames f . v + n . w with the rounding of ``point`` and ``turn``; on coordinates that of the largest term.
    """
    ws, row, typical = equations.ws, jacobian.rows[: jacobian.inner], equations.system.typical
    force = np.linalg.norm(ws.G[:, :3], axis=1)
    xb = closure_points(equations)[1][equations.system.closure_of_row[: len(force)]]
    torque = np.linalg.norm(ws.G[:, 3:] - np.cross(xb, ws.G[:, :3]), axis=1)
    between = force[row] * point + torque[row] * turn
    column = jacobian.columns[: jacobian.inner]
    largest = np.zeros(len(force))
    np.maximum.at(largest, row, np.abs(ws.Phi_z) * typical[column])
    joined = jacobian.closures >= equations.tables.conditions.first[1]
    return np.where(joined, relative * largest[row] / typical[column], between)


def closure_points(equations: EvaluatedEquations) -> tuple[Array, Array]:
    """Return where the points of every closure stand on its dofs a and b (nc, 3), world axes [m]."""
    ws, closures, connectors = equations.ws, equations.tables.closures, equations.tables.connectors
    ends, mine = [], closures.connector
    for dof, point in ((connectors.a[mine], closures.point_a), (connectors.b[mine], closures.point_b)):
        ends.append(ws.r[dof] + np.einsum("kij,kj->ki", ws.A[dof], point))
    return ends[0], ends[1]

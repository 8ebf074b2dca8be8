"""Assembly by the angles of cut joints: their axes lead the right way round from any pose.

Dot products of axes, the loop equations of a cut joint, are closed as well where axes point against each other, and
have minima in between. The rotation vector that leads one side onto the other has neither. It takes the place of the
rotation equations of each cut joint that has axes to align.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.errors import RtmbsError
from rtmbs.numerics.rotations.quaternions import quaternions, right_jacobian
from rtmbs.semirecursive.equations import SemiRecursiveEquations

Array = NDArray[np.float64]

MOST_EVALUATIONS = 200
SMALL = 1e-9  # sine below which two axes are parallel


class LoopEquations(Protocol):
    """Loop equations of joint coordinates, as ``Assembly`` has them."""

    equations: SemiRecursiveEquations
    typical: Array

    def gap(self, z: Array) -> Array:
        """Return Phi over its scale (m,)."""

    def scaled_jacobian(self, z: Array) -> csc_array:
        """Return the derivative (m, n) of the gap by z / typical."""

    def turns_of(self, z: Array) -> csc_array:
        """Return the matrix (n, n) from changes of z to turns."""


def turned_to_face(loops: LoopEquations, wanted: Array, free: NDArray[np.int64]) -> Array | None:
    """Return the pose (n,) to which least squares lead from ``wanted``; None without axes to align or without a pose.

    ``free`` are the coordinates that may change.
    """
    from scipy.optimize import least_squares  # takes long to load, and few starts need it

    if not len(free) or not any(len(one.aligned_a) for one in loops.equations.system.closures):
        return None

    def at(x: Array) -> Array:
        z = wanted.copy()
        z[free] += x * loops.typical[free]
        return z

    try:
        found = least_squares(
            lambda x: facing_gap(loops, at(x))[0],
            np.zeros(len(free)),
            lambda x: facing_gap(loops, at(x))[1][:, free],
            max_nfev=MOST_EVALUATIONS,
        )
    except (RtmbsError, ValueError):  # a rotation vector of a whole turn, a gap beyond all numbers
        return None
    return at(found.x)


def facing_gap(loops: LoopEquations, z: Array) -> tuple[Array, Array]:
    """Return the gap with angles in place of dot products (k,), and its derivative (k, n) by z / typical."""
    equations, system = loops.equations, loops.equations.system
    gap, J = loops.gap(z), loops.scaled_jacobian(z).toarray()
    ws, connectors = equations.ws, equations.tables.connectors
    reference = equations.tables.dofs.reference
    turns = loops.turns_of(z) if np.any(reference >= 0) else None
    kept = np.ones(len(gap), np.bool_)
    errors, slopes = [gap], [J]
    for k, info in enumerate(system.closures):
        if not len(info.aligned_a):
            continue
        c = int(equations.tables.closures.connector[k])
        kept[(system.closure_of_row == k) & system.row_is_rotation] = False
        a, b = (
            A @ axes.T for A, axes in ((ws.A[connectors.a[c]], info.aligned_a), (ws.A[connectors.b[c]], info.aligned_b))
        )
        own = slice(connectors.pointer[c], connectors.pointer[c + 1])
        spin = np.zeros((3, len(z)))
        np.add.at(spin.T, connectors.dof[own], connectors.sign[own, None] * ws.S[connectors.dof[own], 3:])
        spin = spin if turns is None else spin @ turns
        error, slope = turn_onto(a, b)
        errors.append(error)
        slopes.append(slope @ spin * loops.typical)
    errors[0], slopes[0] = gap[kept], J[kept]
    return np.concatenate(errors), np.concatenate(slopes)


def turn_onto(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the rotation vector (3,) that leads directions a (3, k) onto b, its derivative (3, 3) by turns of b."""
    if a.shape[1] == 1:
        axis, other = a[:, 0], b[:, 0]
        normal, cosine = np.cross(axis, other), float(axis @ other)
        sine = float(np.linalg.norm(normal))
        if sine < SMALL:  # parallel, or against each other: then about any normal
            normal = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))]) if cosine < 0.0 else normal
        size = float(np.linalg.norm(normal))
        vector = normal * (np.arctan2(sine, cosine) / size) if size > 0.0 else normal
        across = np.eye(3) - np.outer(axis, axis)
    else:
        U, _, Vt = np.linalg.svd(b @ a.T)
        R = U @ np.diag((1.0, 1.0, np.linalg.det(U @ Vt))) @ Vt
        w, *xyz = quaternions(R[None])[0]
        size = float(np.linalg.norm(xyz))
        vector = np.array(xyz) * (2.0 * np.arctan2(size, w) / size if size > 0.0 else 2.0)
        across = np.eye(3)
    return vector, across @ np.linalg.inv(right_jacobian(-vector))

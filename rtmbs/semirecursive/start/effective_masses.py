"""Effective masses of the loop equations, one for each block of a closure (METHODS 1.6)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rtmbs.core.remembered import by_content
from rtmbs.numerics.linear.sparse_solver import SelectedInverse
from rtmbs.semirecursive.accelerations import factor_weights
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.loop_jacobian import RELATIVE, LoopJacobian, closure_points, noise_of
from rtmbs.system.system import System

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

MANY = 1000  # blocks from which on the inverse of M within its pattern is found
LIGHTEST = 1e-2  # effective mass of a block at least, relative to the mean of the bodies that its loop moves


def effective_masses(equations: SemiRecursiveEquations, jacobian: LoopJacobian) -> tuple[Array, Mask]:
    """Return m_l (m,), expanded from blocks, and which rows belong to a block that constrains nothing.

    m_l = 1 / lambda_max(P_l M^-1 P_l^T) of the rows P_l of one block. A block is blind when each of its entries is
    rounding; it takes the mass against every motion of its kind between its two bodies, held or not. When there is
    none, it takes the mass, or the inertia, of the body that it holds. No block counts as lighter than LIGHTEST of the
    bodies that its loop moves.
    """
    system = equations.system
    factor_mass(equations)
    if not equations.m:
        return np.zeros(0), np.zeros(0, np.bool_)
    values = jacobian.values(equations)
    Phi_z = jacobian.by_row(values)
    seeing = np.bincount(jacobian.rows, np.abs(values) > noise_of(equations, jacobian), equations.m) > 0.0
    masses, blind_rows = np.zeros(equations.m), np.zeros(equations.m, np.bool_)
    points, blocks = closure_points(equations)[1], blocks_of_rows(system.block_of_row)
    inverse = mass_inverse(equations, len(blocks))
    for rows in blocks:
        blind = not np.any(seeing[rows])
        masses[rows] = (
            mass_of_blind(equations, points, int(rows[0]), inverse)
            if blind
            else mass_against(equations, *rows_of(Phi_z, rows), inverse)
        )
        blind_rows[rows] = blind
    return np.maximum(masses, LIGHTEST * typical_masses(system)), blind_rows


def typical_masses(system: System) -> Array:
    """Return for every row (m,) the mean mass of the bodies on its branch, the mean inertia in rotation rows.

    The loads of a light body are those of its heavy neighbours: a penalty that follows its own mass lets the loop open
    by lam / alpha, and asking for more costs nothing, for the other masses bound the rounding (METHODS 1.6).
    """
    dofs, connectors = system.tables.dofs, system.tables.connectors
    turning = np.trace(dofs.inertia, axis1=1, axis2=2) / 3.0
    found = np.zeros(len(system.row_names))
    starts = system.tables.closures.row_pointer.tolist()
    for closure, connector in enumerate(system.tables.closures.connector):
        branch = connectors.dof[connectors.pointer[connector] : connectors.pointer[connector + 1]]
        bodies = branch[dofs.mass[branch] > 0.0]
        rows = slice(starts[closure], starts[closure + 1])
        if len(bodies):
            means = np.where(system.row_is_rotation[rows], turning[bodies].mean(), dofs.mass[bodies].mean())
            found[rows] = means
    return found


@by_content
def blocks_of_rows(block_of_row: Indices) -> list[Indices]:
    """Return the rows of every block."""
    order = np.argsort(block_of_row, kind="stable")
    starts = np.flatnonzero(np.diff(block_of_row[order], prepend=-1))
    return np.split(order, starts[1:]) if len(order) else []


def rows_of(Phi_z: csr_array, rows: Indices) -> tuple[Indices, Array]:
    """Return the columns (w,) that rows of one block touch, and their entries (k, w)."""
    first, last = Phi_z.indptr[rows[0]], Phi_z.indptr[rows[0] + 1]
    columns, width = Phi_z.indices[first:last], last - first
    starts = Phi_z.indptr[rows]
    return columns.astype(np.int64), Phi_z.data[starts[:, None] + np.arange(width)]


def mass_inverse(equations: SemiRecursiveEquations, blocks: int) -> SelectedInverse | None:
    """Return the inverse of M within its pattern where that takes less than a solution for every row of a block."""
    if blocks < MANY or equations.solver is not equations.solvers[0]:
        return None
    return SelectedInverse(equations.lu, equations.work.factored)


def mass_of_blind(
    equations: SemiRecursiveEquations, points: Array, row: int, inverse: SelectedInverse | None = None
) -> float:
    """Return the mass, or inertia, against the relative motion that a blind block would hold if it could.

    ``points`` (nc, 3) are those of the closures on their dofs b.
    """
    system, tables, ws = equations.system, equations.tables, equations.ws
    closure, turning = int(system.closure_of_row[row]), bool(system.row_is_rotation[row])
    connector = tables.closures.connector[closure]
    branch = slice(tables.connectors.pointer[connector], tables.connectors.pointer[connector + 1])
    dofs, sign = tables.connectors.dof[branch], tables.connectors.sign[branch]
    spin, x = ws.S[dofs, 3:], points[closure]
    motion = spin if turning else ws.S[dofs, :3] + np.cross(spin, x)
    reach = np.linalg.norm(spin, axis=1) * (1.0 if turning else np.linalg.norm(x - ws.r[dofs], axis=1))
    if np.any(np.linalg.norm(motion, axis=1) > RELATIVE * np.maximum(reach, system.length)):
        return mass_against(equations, dofs, (sign[:, None] * motion).T, inverse)
    return mass_held(equations, closure, turning)


def mass_held(equations: SemiRecursiveEquations, closure: int, turning: bool) -> float:
    """Return the mass, or the largest moment of inertia, of body b of a closure; of body a when b has none."""
    dofs, connectors = equations.tables.dofs, equations.tables.connectors
    connector = equations.tables.closures.connector[closure]
    held = [dof for dof in (connectors.b[connector], connectors.a[connector]) if dof >= 0 and dofs.mass[dof] > 0.0]
    mass = dofs.mass[held[0]] if held else mean_mass(equations)
    inertia = float(np.linalg.eigvalsh(dofs.inertia[held[0]])[-1]) if held else 0.0
    return float((inertia or mass * equations.system.length**2) if turning else mass)


def mean_mass(equations: SemiRecursiveEquations) -> float:
    """Return the mean mass of the bodies that have one; 1 when none has."""
    mass = equations.tables.dofs.mass
    return float(np.mean(mass[mass > 0.0])) if np.any(mass > 0.0) else 1.0


def mass_against(
    equations: SemiRecursiveEquations, columns: Indices, entries: Array, inverse: SelectedInverse | None = None
) -> float:
    """Return 1 / lambda_max(P_l M^-1 P_l^T) for rows P_l with ``entries`` (k, w) in ``columns`` (w,)."""
    within = None if inverse is None else inverse.block(columns)
    if within is not None:
        held = entries @ within @ entries.T
        return 1.0 / float(np.linalg.eigvalsh(0.5 * (held + held.T))[-1])
    rows = np.zeros((len(entries), equations.n))
    rows[:, columns] = entries
    answers = np.array([equations.solve(row) for row in rows])
    return 1.0 / float(np.linalg.eigvalsh(0.5 * (rows @ answers.T + answers @ rows.T))[-1])


def factor_mass(equations: SemiRecursiveEquations) -> None:
    """Factor M, or M + tau Phi_z^T Phi_z when massless bodies make it singular (METHODS 1.21).

    tau is the mean mass of a body (times length squared in rotation rows): a massless body counts as a typical one.
    Raises StartError naming the coordinate when nothing gives it inertia.
    """
    system = equations.system
    typical = np.where(system.row_is_rotation, system.length**2, 1.0) * mean_mass(equations)
    factor_weights(equations, [np.zeros(equations.m), typical])

"""Penalty factors: one alpha for each block of a closure, from its effective mass (METHODS 1.6)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.errors import InputError, StartError
from rtmbs.linear.sparse_lu import factor, solve
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.evaluation import assemble_mass_weight
from rtmbs.system.system import System

Array = NDArray[np.float64]

BLIND = 1e-12  # lambda_max of a block, relative to the largest in the model, below which it constrains nothing


def effective_masses(equations: SemiRecursiveEquations, Phi_z: csc_array) -> tuple[Array, NDArray[np.bool_]]:
    """Return m_l (m,), expanded from blocks, and which rows belong to a block that constrains nothing.

    m_l = 1 / lambda_max(P_l M^-1 P_l^T) of the rows P_l of one block. A blind block takes the mass of its sister block,
    times length squared for rotation, or of the strongest block of the model.
    """
    system, length = equations.system, equations.system.length
    factor_mass(equations)
    rows_of = Phi_z.tocsr()
    blocks = [
        np.flatnonzero(system.block_of_row == block) for block in range(int(system.block_of_row.max(initial=-1)) + 1)
    ]
    mobility = np.array([largest_mobility(equations, rows_of[rows].toarray()) for rows in blocks])
    turning = np.array([bool(system.row_is_rotation[rows[0]]) for rows in blocks], bool)
    comparable = np.where(turning, mobility * length**2, mobility)  # 1 / kg
    blind = comparable <= BLIND * np.max(comparable, initial=0.0)
    masses, blind_rows = np.zeros(equations.m), np.zeros(equations.m, bool)
    lightest = 1.0 / np.max(comparable, initial=0.0) if np.any(~blind) else 1.0
    for block, rows in enumerate(blocks):
        sister = sister_of(block, blocks, system.closure_of_row)
        if not blind[block]:
            mass = 1.0 / mobility[block]
        else:
            as_translation = lightest if sister is None or blind[sister] else 1.0 / comparable[sister]
            mass = as_translation * (length**2 if turning[block] else 1.0)
        masses[rows], blind_rows[rows] = mass, blind[block]
    return masses, blind_rows


def sister_of(block: int, blocks: list[NDArray[np.int64]], closure_of_row: NDArray[np.int64]) -> int | None:
    """Return the other block of the same closure, if there is one."""
    closure = closure_of_row[blocks[block][0]]
    for other in (block - 1, block + 1):
        if closure >= 0 and 0 <= other < len(blocks) and closure_of_row[blocks[other][0]] == closure:
            return other
    return None


def largest_mobility(equations: SemiRecursiveEquations, rows: Array) -> float:
    """Return lambda_max(P_l M^-1 P_l^T) for the dense rows P_l (k, n)."""
    answers = np.empty_like(rows)
    for k, row in enumerate(rows):
        x = row.copy()
        solve(equations.lu, equations.work.factored, equations.work, x)
        answers[k] = x
    return float(np.linalg.eigvalsh(0.5 * (rows @ answers.T + answers @ rows.T))[-1])


def factor_mass(equations: SemiRecursiveEquations) -> None:
    """Factor M, or M + tau Phi_z^T Phi_z when massless bodies make it singular (METHODS 1.21).

    tau is the mean mass of a body (times length squared in rotation rows): a massless body counts as a typical one.
    Raises StartError naming the coordinate when nothing gives it inertia.
    """
    system, tables = equations.system, equations.tables
    mean = float(np.sum(tables.steps.mass)) / max(int(np.count_nonzero(tables.steps.mass)), 1)
    unit = np.where(system.row_is_rotation, system.length**2, 1.0)
    for tau in (0.0, mean):
        assemble_mass_weight(tables, tau, unit, equations.ws, equations.work.original)
        equations.work.factored[:] = equations.work.original
        if (bad := factor(equations.lu, equations.work.factored, equations.work)) == 0:
            return
    raise StartError(
        f"coordinate {system.coordinate_names[bad - 1]!r} has no inertia: the bodies it moves are massless (or turn"
        " about their own mass points) and no loop holds them; give them mass or inertia, or close them"
    )


def set_alpha(
    equations: SemiRecursiveEquations, masses: Array, h: float, penalty: float | None, fixed_alpha: float | None
) -> None:
    """Give the equations their penalty factors."""
    equations.alpha[:] = penalty_factors(equations.system, masses, h, penalty, fixed_alpha)


def penalty_factors(system: System, masses: Array, h: float, penalty: float | None, fixed_alpha: float | None) -> Array:
    """alpha_l = c (4/h^2) m_l, or one fixed alpha in SI units as in the paper (times length^2 in rotation rows)."""
    if fixed_alpha is not None:
        alpha = np.where(system.row_is_rotation, fixed_alpha * system.length**2, fixed_alpha)
    else:
        alpha = (penalty or 0.0) * 4.0 / h**2 * masses
    if not np.all(np.isfinite(alpha)):
        given = f"penalty = {penalty:g} at h = {h:g} s" if fixed_alpha is None else f"alpha = {fixed_alpha:g}"
        raise InputError(f"{given} makes penalty factors that are not finite; give a smaller penalty or a larger step")
    return alpha

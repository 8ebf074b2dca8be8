"""Rank of the loop equations, and their effective masses: independent rows, mobility, redundant rows that contradict.

Rank and mobility are those of METHODS 1.13 and 1.14. Each block of a closure has one effective mass (METHODS 1.6).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgelss
from scipy.sparse import csr_array

from rtmbs.core.remembered import by_content
from rtmbs.errors import StartError
from rtmbs.integrators.contract import Method
from rtmbs.numerics.linear.rank import SMALL, banded, equilibrate_entries, independent_rows_of_dense
from rtmbs.numerics.linear.rank import independent_rows as rows_above
from rtmbs.numerics.linear.sparse_solver import SelectedInverse
from rtmbs.semirecursive.equations import SemiRecursiveEquations, factor_weights, first_accelerations
from rtmbs.semirecursive.loop_jacobian import RELATIVE, Group, LoopJacobian, closure_points, loop_jacobian, noise_of
from rtmbs.semirecursive.start.assembly import (
    CLOSED,
    LARGEST,
    RANK,
    REFUSED,
    Assembly,
    check_closed,
    scaled_entries,
    worst_of,
)
from rtmbs.system.contact_tables import rate_mask
from rtmbs.system.system import System

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]
MANY_BLOCKS = 1000  # blocks from which on the inverse of M within its pattern is found
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
    if blocks < MANY_BLOCKS or equations.solver is not equations.solvers[0]:
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


class Scaled:
    """Phi_z with rows and columns divided so that the rounding of an entry is at most one, whatever its units.

    A small Phi_z is dense: sparse arrays take ten times as long as the arithmetic there.
    """

    def __init__(self, equations: SemiRecursiveEquations, jacobian: LoopJacobian) -> None:
        i, j, noise = jacobian.rows, jacobian.columns, noise_of(equations, jacobian)
        row, column = equilibrate_entries(i, j, noise, jacobian.shape)
        self.row = row  # factor of each row
        squares = np.bincount(i, (row[i] * noise * column[j]) ** 2, equations.m)
        self.tolerance = float(np.sqrt(np.max(squares, initial=1.0)))
        self.blocks, self.P = blocks_of(equations), None
        if max(jacobian.shape) <= SMALL:
            self.dense = np.zeros(jacobian.shape)
            self.dense[i, j] = row[i] * jacobian.values(equations) * column[j]
            return
        self.P = csr_array(scaled_entries(jacobian.matrix(equations), row, column))
        self.blocks = banded(self.P, self.blocks, len(equations.system.closures))  # drivers stay the last

    def independent(self, rows: NDArray[np.int64] | None = None) -> Mask:
        """Return which rows are independent, of all or of those given."""
        chosen: Any = slice(None) if rows is None else rows
        if self.P is None:
            return independent_rows_of_dense(self.dense[chosen], self.blocks[chosen], self.tolerance)
        return rows_above(self.P[chosen], self.blocks[chosen], self.tolerance)

    def part(self, rows: Indices, columns: Indices) -> Array:
        """Return some rows and columns as a dense matrix."""
        if self.P is None:
            return self.dense[np.ix_(rows, columns)]
        return np.asarray(self.P[rows][:, columns].toarray())


def independent_rows(equations: SemiRecursiveEquations, among: Mask | None = None) -> Mask:
    """Return which rows (m,) of the loops are independent at the pose that ``equations`` closed last.

    ``among`` (m,) leaves the other rows out.
    """
    found = np.zeros(equations.m, np.bool_)
    if not equations.m or (among is not None and not np.any(among)):
        return found
    scaled = Scaled(equations, loop_jacobian(equations.system))
    chosen = None if among is None else np.flatnonzero(among)
    found[slice(None) if chosen is None else chosen] = scaled.independent(chosen)
    return found


def blocks_of(equations: SemiRecursiveEquations) -> NDArray[np.int64]:
    """Return the block of every row: its closure, and one for each driven coordinate, behind all closures."""
    closure = equations.system.closure_of_row
    driven = closure < 0
    return np.where(driven, np.max(closure, initial=0) + np.cumsum(driven), closure)


def inconsistent_part(scaled: Scaled, group: Group, root: Array, Phi: Array) -> Array:
    """Return the part of Phi of the group that no motion can remove, smallest in the metric of the penalties.

    root @ Phi is split; ``root`` (m,) is the root of the effective masses. Left null vectors of Phi_z follow from the
    rows that depend on others: each is a combination of the rows kept.
    """
    rows = group.rows
    keep = scaled.independent(rows)
    if np.all(keep):
        return np.zeros(len(rows))
    dense = scaled.part(rows, group.columns)
    null = np.zeros((len(rows), int(np.count_nonzero(~keep))))
    null[~keep] = np.eye(null.shape[1])
    null[keep] = -np.linalg.lstsq(dense[keep].T, dense[~keep].T, rcond=None)[0]
    Y = np.linalg.qr(null * (scaled.row[rows] / root[rows])[:, None])[0]
    return np.asarray(Y @ (Y.T @ (root * Phi)[rows])) / root[rows]


NEARBY = 0.02  # size of the random step to the nearby pose, in typical sizes
PATIENCE = 15  # iterations of assembly for a pose nearby
NEWTON = 6  # plain Newton steps to the pose nearby, before assembly is asked
LEADERS = 5  # coordinates of each group that are tried alone
MANY = 300  # coordinates above which only the first of each group is tried alone
CLOSED_ENOUGH = 1e-11  # gap at the nearby pose, in row scales: equations that hold only in closed poses still show


@dataclass(frozen=True)
class Mobility:
    """Rank at the start and nearby."""

    rank: int
    nearby: int
    redundant: NDArray[np.bool_]  # (m,) rows that the others hold
    locked: tuple[str, ...]  # closures that leave no degree of freedom to what they join, drivers apart
    known: bool  # a closed pose was found beside the start of every group of loops
    of_positions: int = 0  # rank at the start without the rows that bind rates alone

    @classmethod
    def find(cls, equations: SemiRecursiveEquations, assembly: Assembly, z: Array) -> "Mobility":
        """Return the rank of the loops at z and at a random assembled pose close by."""
        if not equations.m:
            equations.close(z, assembly.R0)
            return cls(0, 0, np.zeros(0, np.bool_), (), True)
        keep = Scaled(equations, assembly.jacobian).independent()
        of_positions = int(np.count_nonzero(keep))
        if equations.binds_rates:
            among = ~rate_mask(equations.tables.contacts, equations.m)
            of_positions = int(np.count_nonzero(independent_rows(equations, among)))
        locked = locked_closures(equations, assembly, keep)
        nearby, known = ranks_nearby(equations, assembly, z, ranks(assembly, keep))
        equations.close(z, assembly.R0)
        return cls(int(np.count_nonzero(keep)), int(nearby.sum()), ~keep, locked, bool(np.all(known)), of_positions)


def locked_closures(equations: SemiRecursiveEquations, assembly: Assembly, keep: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the closures of the groups in which nothing can move, whatever the drivers do.

    Rows of drivers come last, so that a row of a loop never counts as redundant because of them.
    """
    system = equations.system
    given = given_in_time(equations)
    names: list[str] = []
    for group in assembly.groups:
        own = group.rows[~given[group.rows]]
        if np.count_nonzero(keep[own]) == len(group.columns) > 0:
            names += [system.closure_names[closure] for closure in np.unique(system.closure_of_row[own])]
    return tuple(names)


def given_in_time(equations: SemiRecursiveEquations) -> NDArray[np.bool_]:
    """Return which rows are those of drivers (m,)."""
    given = np.ones(equations.m, np.bool_)
    slots = equations.tables.closures.slot
    given[: len(slots)] = slots >= 0
    return given


def ranks_nearby(
    equations: SemiRecursiveEquations, assembly: Assembly, z: Array, here: Indices
) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the rank of every group at assembled poses close to z, and where one was found; ``here`` is that at z.

    All coordinates are moved at random. Where that changes a rank, or does not close, z is singular for many loops at
    once and so may be what was found: then one coordinate of each group leads the others. Ranks near a pose are never
    below those in it, so the largest counts.
    """
    nearby, known = here, np.zeros(len(here), bool)
    with assembly.patience(PATIENCE):
        for wanted, leading in tried_poses(assembly, z):
            pose = closed_beside(assembly, wanted, leading)
            if pose is None:
                pose, _ = assembly.closed_pose(wanted, leading, equations.system.weights)
            gap = np.abs(assembly.gap(pose))
            closed = np.array([bool(np.all(gap[group.rows] <= CLOSED_ENOUGH)) for group in assembly.groups])
            if np.any(closed):
                found = ranks(assembly, Scaled(equations, assembly.jacobian).independent())
                nearby, known = np.maximum(nearby, np.where(closed, found, 0)), known | closed
            if np.all(closed) and np.array_equal(nearby, here):
                break
    return nearby, known


def closed_beside(assembly: Assembly, wanted: Array, kept: Mask) -> Array | None:
    """Return a closed pose (n,) beside ``wanted`` by plain Newton steps of least length; None where they do not settle.

    Any closed pose nearby tells the rank, so it need not be the nearest one that ``assembly.solve`` looks for.
    """
    if len(wanted) > SMALL or np.any(assembly.equations.tables.dofs.reference >= 0):
        return None
    z, free, jacobian = wanted.copy(), np.flatnonzero(~kept), assembly.jacobian
    factor = assembly.of_positions[jacobian.rows] * assembly.typical[jacobian.columns]
    J = np.zeros(jacobian.shape)
    for _ in range(NEWTON):
        gap = assembly.gap(z)
        if worst_of(gap) <= CLOSED:
            return z
        J[jacobian.rows, jacobian.columns] = factor * jacobian.values(assembly.equations)
        step = least_squares(J[:, free], -gap)
        if not np.max(np.abs(step), initial=0.0) <= LARGEST:
            return None
        z[free] += step * assembly.typical[free]
    return None


def least_squares(A: Array, b: Array) -> Array:
    """Return the least x (n,) of all that come nearest to A x = b; NaN where LAPACK finds no singular values."""
    m, n = A.shape
    right = np.zeros(max(m, n))
    right[:m] = b
    _, x, _, _, _, fault = dgelss(A, right, cond=RANK, overwrite_b=True)
    return x[:n] if fault == 0 else np.full(n, np.nan)


def tried_poses(assembly: Assembly, z: Array) -> Iterator[tuple[Array, NDArray[np.bool_]]]:
    """Yield poses to assemble from, and which coordinates are kept there."""
    rng = np.random.default_rng(0)
    step = NEARBY * assembly.typical
    yield z + step * rng.standard_normal(len(z)), np.zeros(len(z), bool)
    for attempt in range(LEADERS if len(z) <= MANY else 1):
        alone = np.zeros(len(z), bool)
        for group in assembly.groups:
            alone[group.columns[rng.integers(len(group.columns)) if attempt else 0 :][:1]] = True
        yield z + step * alone, alone


def ranks(assembly: Assembly, keep: NDArray[np.bool_]) -> Indices:
    """Return how many rows of every group are kept."""
    return np.array([np.count_nonzero(keep[group.rows]) for group in assembly.groups], np.int64)


# ---- redundant loop equations that contradict each other ------------------------------------------------------------


STRESS = 1e-2  # self-stress of an inconsistent redundant closure, relative to the typical reaction, that is refused
SHIMMED = 1e-3  # of the row scale: a larger contradiction is no tolerance but a wrong model
SHIM_ROUNDS = 4


def settle_redundant(
    equations: SemiRecursiveEquations,
    assembly: Assembly,
    z: Array,
    gap: Array,
    h: float,
    method: Method,
    assembly_offset: bool,
) -> Array:
    """Return the pose for a gap that no motion removes: measured as an assembly offset, or refused when it would stress
    the mechanism.
    """
    system, offsets = equations.system, equations.tables.closures.assembly_offset
    masses = equations.masses = effective_masses(equations, assembly.jacobian)[0]
    equations.alpha = method.penalties(equations, h)
    pose = measure_assembly_offsets(equations, assembly, z, masses)
    stuck = np.zeros(equations.m)
    stuck[: len(offsets)] = offsets
    if worst_of(assembly.gap(pose)) > REFUSED or worst_of(stuck / assembly.scale) > SHIMMED:
        offsets[:] = 0.0
        check_closed(assembly, gap, system.pinned_z)
    if assembly_offset:
        return pose
    offsets[:] = 0.0
    equations.close(z, assembly.R0)
    _, lam = first_accelerations(equations, z, np.zeros(equations.n), assembly.R0, masses)
    refuse_stress(equations, stuck, lam, assembly.scale)
    return z


def refuse_stress(equations: SemiRecursiveEquations, stuck: Array, lam: Array, scale: Array) -> None:
    """Raise StartError when what is ``stuck`` (m,) would stress the mechanism; ``lam`` (m,) are typical reactions.

    Forces and moments are compared as what they do along ``scale`` (m,) of their row [J].
    """
    system = equations.system
    weight = float(np.sum(equations.tables.dofs.mass)) * float(np.linalg.norm(equations.u[:3]))
    stress = equations.alpha * np.abs(stuck) * scale
    typical = max(weight * system.length / max(equations.n, 1), float(np.max(np.abs(lam) * scale, initial=0.0)))
    worst = int(np.argmax(stress))
    if stress[worst] > STRESS * typical:
        length, force = ("", "N m") if system.row_is_rotation[worst] else (" m", "N")
        raise StartError(
            f"the redundant loop equations at {system.row_names[worst]!r} contradict each other by"
            f" {abs(stuck[worst]):.3g}{length} and would stress the mechanism with {stress[worst] / scale[worst]:.3g}"
            f" {force} (typical reaction {typical / scale[worst]:.3g} {force});"
            " correct the points of this closure, or use assembly_offset=True to measure lengths from the pose as it is"
        )


def measure_assembly_offsets(equations: SemiRecursiveEquations, assembly: Assembly, z: Array, masses: Array) -> Array:
    """Subtract from Phi what no motion removes, and return the pose that closes the rest.

    The part is that of METHODS 1.13, in the metric of the penalties. Unless all rows weigh the same, the gap at the
    nearest pose has another part, which motion does remove; so a few rounds of measuring and assembling are taken.
    """
    root, offsets = np.sqrt(masses), equations.tables.closures.assembly_offset
    for _ in range(SHIM_ROUNDS):
        Phi = equations.close(z, assembly.R0).copy()
        if worst_of(Phi / assembly.scale) <= CLOSED:
            break
        scaled = Scaled(equations, assembly.jacobian)
        for group in assembly.groups:
            rows = group.rows[group.rows < len(offsets)]
            part = inconsistent_part(scaled, group, root, Phi)
            offsets[rows] += part[group.rows < len(offsets)]
        z = assembly.solve(z, equations.system.pinned_z, equations.system.weights)
    return z

"""Phi_z as a sparse matrix, the rounding of its entries, and the groups of coordinates that loops couple.

An entry of Phi_z is the speed of the closure's point, or of an axis, along the row's direction per unit rate. Its terms
are as large as the arm from the joint to the point, for an axis one. Below RELATIVE of that size the entry counts as
zero: axes, points and closed poses are not known better. Columns and wrenches stand at the global origin, so rounding
of the distances from there comes on top.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array
from scipy.sparse.csgraph import connected_components

from rtmbs.core.remembered import by_content
from rtmbs.numerics.linear.sparse_solver import same_pattern
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.system.system import System, once_per_system
from rtmbs.system.tables import CONDITION, DISTANCE, DOT, RELATION

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Group:
    """Rows of Phi and coordinates that belong together: no row of another group touches them."""

    rows: Indices
    columns: Indices


class LoopJacobian:
    """Places of the flat Phi_z in the sparse (m, n) matrix, found once."""

    def __init__(
        self,
        connector: Indices,
        row_pointer: Indices,
        branch: Indices,
        branch_pointer: Indices,
        driven: Indices,
        n: int,
    ) -> None:
        rows: list[Indices] = []
        columns: list[Indices] = []
        for closure, one in enumerate(connector):
            own = np.arange(row_pointer[closure], row_pointer[closure + 1])
            dofs = branch[branch_pointer[one] : branch_pointer[one + 1]]
            rows.append(np.repeat(own, len(dofs)))
            columns.append(np.tile(dofs, len(own)))
        m, last = int(row_pointer[-1]) + len(driven), int(row_pointer[-1])
        sizes = [len(own) for own in rows]
        self.closures = np.repeat(np.arange(len(sizes)), sizes)  # of every entry that is not a driver's
        self.inner = len(self.closures)
        rows.append(last + np.arange(len(driven)))
        columns.append(driven)
        self.rows, self.columns = np.concatenate(rows).astype(np.int64), np.concatenate(columns).astype(np.int64)
        self.shape, self.drivers = (m, n), len(driven)
        places = csc_array(coo_array((1 + np.arange(len(self.rows)), (self.rows, self.columns)), shape=self.shape))
        self.order = places.data - 1  # of the entries in the sparse matrix, column by column
        self.pattern = places

    def values(self, equations: EvaluatedEquations) -> Array:
        """Return the entries of Phi_z at the closed state, in the order of ``rows`` and ``columns``."""
        return np.concatenate([equations.ws.Phi_z, np.ones(self.drivers)])

    def sparse(self, values: Array) -> csc_array:
        """Return the matrix (m, n) with these entries."""
        return same_pattern(self.pattern, values[self.order])

    def matrix(self, equations: EvaluatedEquations) -> csc_array:
        """Return Phi_z (m, n) at the closed state."""
        return self.sparse(self.values(equations))

    @cached_property
    def rows_first(self) -> csr_array:
        """Pattern of the matrix row by row; its entries are places in ``rows`` and ``columns``."""
        return self.sparse(np.arange(len(self.rows), dtype=np.float64)).tocsr()

    def by_row(self, values: Array) -> csr_array:
        """Return the matrix (m, n) with these entries, row by row."""
        return same_pattern(self.rows_first, values[self.rows_first.data.astype(np.int64)])

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Connected groups, those with at least one row."""
        m, n = self.shape
        pattern = coo_array((np.ones(len(self.rows)), (self.rows, m + self.columns)), shape=(m + n, m + n))
        count, label = connected_components(pattern, directed=False)
        order = np.argsort(label, kind="stable")
        bounds = np.searchsorted(label[order], np.arange(count + 1))
        members = (np.sort(order[bounds[k] : bounds[k + 1]]) for k in range(count))
        found = (Group(nodes[nodes < m], nodes[nodes >= m] - m) for nodes in members)
        return tuple(group for group in found if len(group.rows))


@once_per_system
def loop_jacobian(system: System) -> LoopJacobian:
    """Return the places of Phi_z of a System."""
    closures, connectors = system.tables.closures, system.tables.connectors
    return places_of_branches(
        closures.connector,
        closures.row_pointer,
        connectors.dof,
        connectors.pointer,
        system.tables.drivers.dof,
        system.n,
    )


@by_content
def places_of_branches(
    connector: Indices, row_pointer: Indices, branch: Indices, branch_pointer: Indices, driven: Indices, n: int
) -> LoopJacobian:
    """Return the places of Phi_z for closures over branches; mechanisms that differ in real numbers share them."""
    return LoopJacobian(connector, row_pointer, branch, branch_pointer, driven, n)


@once_per_system
def loop_groups(system: System) -> tuple[Group, ...]:
    """Return the groups of rows and coordinates that the loops of a System couple."""
    return loop_jacobian(system).groups


# ---- rounding of every entry of Phi_z, from the sizes of the terms that cancel in it (METHODS 1.13) -----------------


RELATIVE = 1e-10  # of the terms: assembly closes to 1e-12, and a rank must not hang on that
OFFSETS = 10.0  # assembly offsets: equations that are redundant up to an assembly offset are meant to be redundant
ROUNDING = 100.0 * float(np.finfo(np.float64).eps)  # of distances from the global origin


def accuracy_of(equations: EvaluatedEquations) -> float:
    """Return the relative size of terms that count as zero: RELATIVE, or more with assembly offsets."""
    assembly_offset = float(np.max(np.abs(equations.tables.closures.assembly_offset), initial=0.0))
    return max(RELATIVE, OFFSETS * assembly_offset / equations.system.length)


def lengths(vectors: Array) -> Array:
    """Return the length of every row (k,); ``np.linalg.norm`` takes several times as long for a few rows."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))


def noise_of(equations: EvaluatedEquations, jacobian: LoopJacobian) -> Array:
    """Return the rounding of every entry of ``jacobian.matrix`` at the closed state (entries,)."""
    ws, closures = equations.ws, equations.tables.closures
    relative = accuracy_of(equations)
    if jacobian.inner == 0:
        return np.full(jacobian.drivers, relative)
    row, dof, closure = jacobian.rows[: jacobian.inner], jacobian.columns[: jacobian.inner], jacobian.closures
    xa, xb = closure_points(equations)
    kind, length = closures.kind[row], np.where(closures.kind == DISTANCE, closures.length, 1.0)[row]
    gap = lengths(xb - xa)[closure]
    arm = lengths(xb[closure] - ws.r[dof])
    far = lengths(xb)[closure] + lengths(ws.r[dof])
    turns = lengths(ws.S[dof, 3:])
    slides = np.where(turns > 0.0, 0.0, lengths(ws.S[dof, :3]))
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
    """Return the points of every closure on its dofs a and b (nc, 3), world axes [m]."""
    ws, closures, connectors = equations.ws, equations.tables.closures, equations.tables.connectors
    ends, mine = [], closures.connector
    for dof, point in ((connectors.a[mine], closures.point_a), (connectors.b[mine], closures.point_b)):
        ends.append(ws.r[dof] + np.einsum("kij,kj->ki", ws.A[dof], point))
    return ends[0], ends[1]

"""Phi_z as a sparse matrix, and the groups of coordinates that loops couple."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array
from scipy.sparse.csgraph import connected_components

from rtmbs.linear.sparse_solver import same_pattern
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.system.system import System, once_per_system
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Group:
    """Rows of Phi and coordinates that belong together: no row of another group touches them."""

    rows: Indices
    columns: Indices


class LoopJacobian:
    """Places of the flat Phi_z in the sparse (m, n) matrix, found once."""

    def __init__(self, tables: Tables, m: int, n: int) -> None:
        closures, connectors, drivers = tables.closures, tables.connectors, tables.drivers
        rows: list[Indices] = []
        columns: list[Indices] = []
        for closure, connector in enumerate(closures.connector):
            own = np.arange(closures.row_pointer[closure], closures.row_pointer[closure + 1])
            branch = connectors.dof[connectors.pointer[connector] : connectors.pointer[connector + 1]]
            rows.append(np.repeat(own, len(branch)))
            columns.append(np.tile(branch, len(own)))
        sizes = [len(own) for own in rows]
        self.closures = np.repeat(np.arange(len(sizes)), sizes)  # of every entry that is not a driver's
        self.inner = len(self.closures)
        rows.append(len(closures.kind) + np.arange(len(drivers.dof)))
        columns.append(drivers.dof)
        self.rows, self.columns = np.concatenate(rows).astype(np.int64), np.concatenate(columns).astype(np.int64)
        self.shape, self.drivers = (m, n), len(drivers.dof)
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

    def groups(self) -> list[Group]:
        """Return the connected groups, those with at least one row."""
        m, n = self.shape
        pattern = coo_array((np.ones(len(self.rows)), (self.rows, m + self.columns)), shape=(m + n, m + n))
        count, label = connected_components(pattern, directed=False)
        order = np.argsort(label, kind="stable")
        bounds = np.searchsorted(label[order], np.arange(count + 1))
        members = (np.sort(order[bounds[k] : bounds[k + 1]]) for k in range(count))
        found = (Group(nodes[nodes < m], nodes[nodes >= m] - m) for nodes in members)
        return [group for group in found if len(group.rows)]


@once_per_system
def loop_jacobian(system: System) -> LoopJacobian:
    """Return the places of Phi_z of a System."""
    return LoopJacobian(system.tables, system.m, system.n)


@once_per_system
def loop_groups(system: System) -> tuple[Group, ...]:
    """Return what the loops of a System couple."""
    return tuple(loop_jacobian(system).groups())

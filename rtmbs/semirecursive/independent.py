"""Components of a mechanism that share nothing but ground: sums and largest values of each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.system.components import find_components
from rtmbs.system.system import System, once_per_system

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Independent:
    """The component of every loop equation and of every coordinate."""

    count: int
    rows: NDArray[np.int64]  # (m,)
    columns: NDArray[np.int64]  # (n,)

    @staticmethod
    @once_per_system
    def of(system: System) -> "Independent":
        """Return the components of a System; a loop equation belongs to that of the bodies that it joins."""
        tables, n = system.tables, len(system.tables.dofs.kind)
        columns = find_components(tables, system.lu)[:n]
        connectors = tables.connectors
        ends = np.maximum(connectors.a, connectors.b)[tables.closures.connector]  # the lower end of a connector is
        # never ground
        rows = np.concatenate([np.repeat(ends, np.diff(tables.closures.row_pointer)), tables.drivers.dof])
        return Independent(int(columns.max(initial=-1)) + 1, columns[rows], columns)

    def product(self, a: Array, b: Array) -> Array:
        """Return the inner product of rows a, b (m,) for each component."""
        return np.asarray(np.bincount(self.rows, a * b, self.count), np.float64)

    def largest(self, values: Array) -> Array:
        """Return the largest |value| of coordinates (n,) for each component."""
        return largest_in(self.columns, values, self.count)

    def largest_of_rows(self, values: Array) -> Array:
        """Return the largest |value| of loop equations (m,) for each component."""
        return largest_in(self.rows, values, self.count)

    def any(self, rows: Mask) -> Mask:
        """Return which components have a row that is set."""
        return np.bincount(self.rows, rows, self.count) > 0.0


def largest_in(parts: NDArray[np.int64], values: Array, count: int) -> Array:
    """Return the largest |value| of each of ``count`` parts; NaN where a value is none."""
    found = np.zeros(count)
    with np.errstate(invalid="ignore"):  # the step says it
        np.maximum.at(found, parts, np.abs(values))
    return found

"""Numerical rank of the loop equations: which rows are independent, and what no motion can remove (METHODS 1.13)."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from rtmbs.linear.rank import equilibrate
from rtmbs.linear.rank import independent_rows as rows_above
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.semirecursive.jacobian_rounding import noise_of
from rtmbs.semirecursive.loop_jacobian import Group, LoopJacobian, loop_jacobian
from rtmbs.start.entries import scaled_entries

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Scaled:
    """Phi_z with rows and columns divided so that the rounding of an entry is at most one, whatever its units."""

    def __init__(self, equations: SemiRecursiveEquations, jacobian: LoopJacobian) -> None:
        noise = jacobian.sparse(noise_of(equations, jacobian))
        row, column = equilibrate(noise)
        self.row = row  # factor of each row
        self.P = csr_array(scaled_entries(jacobian.matrix(equations), row, column))
        rounding = scaled_entries(noise, row, column)
        squares = np.bincount(rounding.indices, rounding.data**2, equations.m)  # of the rows
        self.tolerance = float(np.sqrt(np.max(squares, initial=1.0)))
        self.blocks = blocks_of(equations)

    def independent(self, rows: NDArray[np.int64] | None = None) -> Mask:
        """Return which rows are independent, of all or of those given."""
        if rows is None:
            return rows_above(self.P, self.blocks, self.tolerance)
        return rows_above(self.P[rows], self.blocks[rows], self.tolerance)


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
    dense = scaled.P[rows][:, group.columns].toarray()
    null = np.zeros((len(rows), int(np.count_nonzero(~keep))))
    null[~keep] = np.eye(null.shape[1])
    null[keep] = -np.linalg.lstsq(dense[keep].T, dense[~keep].T, rcond=None)[0]
    Y = np.linalg.qr(null * (scaled.row[rows] / root[rows])[:, None])[0]
    return np.asarray(Y @ (Y.T @ (root * Phi)[rows])) / root[rows]

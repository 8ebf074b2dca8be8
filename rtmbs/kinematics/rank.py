"""Which rows of Phi are independent at a pose, and which are redundant, by name."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.assembly import scaled_jacobian
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.programs import Programs
from rtmbs.linear.rank import independent_rows

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

TOLERANCE = 1e-8  # of a row without unit; a pose that is open by a gap has rows that are dependent to about the gap


@dataclass(frozen=True)
class Mobility:
    """Unknowns, equations and rank at a pose; ground's seven of each are counted."""

    unknowns: int
    equations: int
    rank: int
    redundant: tuple[str, ...]  # rows that others hold already

    @property
    def degrees_of_freedom(self) -> int:
        """What is left free by joints and drivers together."""
        return self.unknowns - self.rank

    def __str__(self) -> str:
        return (
            f"{self.unknowns} coordinates, {self.equations} equations of rank {self.rank}, "
            f"{self.degrees_of_freedom} free, {len(self.redundant)} redundant"
        )


def rows_to_solve(programs: Programs, q: Array, f: Array) -> Mask:
    """Return the rows (m,) that make up a basis of all that do not belong to ground; of equal ones the later goes."""
    equations = programs.equations
    rows = np.flatnonzero(~equations.fixed_rows)
    J = scaled_jacobian(programs, q, f)
    gap = float(np.max(np.abs(programs.phi(q, f)), initial=0.0))
    order = {owner: k for k, owner in enumerate(dict.fromkeys(equations.rows.owner))}
    blocks = np.array([order[equations.rows.owner[row]] for row in rows])
    keep = np.zeros(equations.m, np.bool_)
    keep[rows] = independent_rows(J, blocks, max(TOLERANCE, 10.0 * gap))
    return keep


def smallest_singular(programs: Programs, q: Array, f: Array, rank: int) -> float:
    """Return the singular value number ``rank`` of all rows that do not belong to ground, without unit."""
    values = np.linalg.svd(scaled_jacobian(programs, q, f).toarray(), compute_uv=False)
    return float(values[rank - 1]) if 0 < rank <= len(values) else np.inf


def mobility(programs: Programs, keep: Mask) -> Mobility:
    """Return the counts for the rows that are kept."""
    equations = programs.equations
    names = equations.row_names
    left = np.flatnonzero(~keep & ~equations.fixed_rows)
    return Mobility(equations.n, equations.m, int(keep.sum()) + SIZE, tuple(names[row] for row in left))

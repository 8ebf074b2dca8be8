"""Mobility at a pose: independent and redundant rows of Phi by name, and coordinates that can still move."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.assembly import scaled_jacobian
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.equations import Programs
from rtmbs.numerics.linear.rank import independent_rows

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

TOLERANCE = 1e-8  # of a row without unit; a pose that is open by a gap has rows that are dependent to about the gap


@dataclass(frozen=True)
class ConstraintRank:
    """Unknowns, equations and rank at a pose; ground's seven of each are counted.

    Parameters
    ----------
    unknowns : int
        Number of coordinates.
    equations : int
        Number of equations.
    rank : int
        Rank of the equations.
    redundant : tuple[str, ...]
        Names of the rows that other rows hold already.
    """

    unknowns: int
    equations: int
    rank: int
    redundant: tuple[str, ...]  # rows that others hold already

    @property
    def degrees_of_freedom(self) -> int:
        """Degrees of freedom left by joints and drivers together."""
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


def mobility(programs: Programs, keep: Mask) -> ConstraintRank:
    """Return the counts for the rows that are kept."""
    equations = programs.equations
    names = equations.row_names
    left = np.flatnonzero(~keep & ~equations.fixed_rows)
    return ConstraintRank(equations.n, equations.m, int(keep.sum()) + SIZE, tuple(names[row] for row in left))


ZERO = 1e-8  # share of the largest singular value
DENSE = 1000  # unknowns up to which the free directions are looked at
PART = 0.3  # share of the largest part from which a body is named


def free_directions(programs: Programs, q: Array, f: Array, keep: Mask) -> Array:
    """Return the directions (k, n - 7) without unit that no equation holds, ground's unknowns left out.

    keep (m,): rows that make up a basis of all, so that the matrix has no more rows than columns.
    """
    J = scaled_jacobian(programs, q, f)[np.flatnonzero(keep[~programs.equations.fixed_rows])].toarray()
    _, values, Vt = np.linalg.svd(J)
    rank = int(np.count_nonzero(values > ZERO * max(values[0] if len(values) else 0.0, 1.0)))
    return np.asarray(Vt[rank:])


def free_elements(programs: Programs, q: Array, f: Array, keep: Mask) -> list[str]:
    """Return the bodies that can still move, each with how it moves most: "pend2 turns about (0.8, -0.6, 0)"."""
    equations = programs.equations
    if equations.n > DENSE:
        return [f"not named beyond {DENSE:,} unknowns"] if keep.sum() + SIZE < equations.n else []
    found: list[str] = []
    directions = free_directions(programs, q, f, keep)
    if not len(directions):
        return found
    bodies = len(equations.bodies)
    moved = (directions * equations.sizes()[SIZE:])[:, : SIZE * (bodies - 1)].reshape(len(directions), bodies - 1, SIZE)
    turn, slide = spins(q, moved, bodies), moved[:, :, :3] / equations.length
    part = np.sqrt(np.sum(turn**2, axis=(0, 2)) + np.sum(slide**2, axis=(0, 2)))
    for k, name in enumerate(equations.bodies[1:]):
        if part[k] >= PART * part.max():
            found.append(f"{name} {words(turn[:, k], slide[:, k], len(directions))}")
    return found


def spins(q: Array, moved: Array, bodies: int) -> Array:
    """Return the turns (k, bodies - 1, 3) in world axes."""
    from rtmbs.numerics.rotations.quaternions import world_rates

    e = q[SIZE : SIZE * bodies].reshape(bodies - 1, SIZE)[:, 3:]
    return np.einsum("bij,kbj->kbi", world_rates(e), moved[:, :, 3:])


def shown(direction: Array) -> Array:
    """Return a unit vector without its rounding, and without minus zeros."""
    return np.round(direction, 9) + 0.0


def words(turn: Array, slide: Array, count: int) -> str:
    """Return how a body moves in the free directions."""
    if count > 1:
        return f"takes part in {count} free directions"
    size = np.linalg.norm(turn[0])
    if size >= np.linalg.norm(slide[0]):
        axis = turn[0] / size
        return "turns about ({:.3g}, {:.3g}, {:.3g})".format(*shown(axis))
    way = slide[0] / np.linalg.norm(slide[0])
    return "slides along ({:.3g}, {:.3g}, {:.3g})".format(*shown(way))

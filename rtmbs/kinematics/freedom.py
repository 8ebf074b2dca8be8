"""Which coordinates can still move when every joint and driver holds."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.kinematics.assembly import scaled_jacobian
from rtmbs.kinematics.coordinates import SIZE
from rtmbs.kinematics.programs import Programs

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

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
    from rtmbs.rotations.quaternions import world_rates

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

"""Rank and degrees of freedom at the start and at a pose close by (METHODS 1.14)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.start.positions import Assembly
from rtmbs.start.rank import Scaled

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

NEARBY = 0.02  # size of the random step to the nearby pose, in typical sizes
PATIENCE = 15  # iterations of assembly for a pose nearby
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

    @classmethod
    def find(cls, equations: SemiRecursiveEquations, assembly: Assembly, z: Array) -> "Mobility":
        """Return the rank of the loops at z and at a random assembled pose close by."""
        if not equations.m:
            equations.close(z, assembly.R0)
            return cls(0, 0, np.zeros(0, np.bool_), (), True)
        keep = Scaled(equations, assembly.jacobian).independent()
        locked = locked_closures(equations, assembly, keep)
        nearby, known = ranks_nearby(equations, assembly, z, ranks(assembly, keep))
        equations.close(z, assembly.R0)
        return cls(int(np.count_nonzero(keep)), int(nearby.sum()), ~keep, locked, bool(np.all(known)))


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
            gap = np.abs(assembly.gap(assembly.solve(wanted, leading, equations.system.weights)))
            closed = np.array([bool(np.all(gap[group.rows] <= CLOSED_ENOUGH)) for group in assembly.groups])
            if np.any(closed):
                found = ranks(assembly, Scaled(equations, assembly.jacobian).independent())
                nearby, known = np.maximum(nearby, np.where(closed, found, 0)), known | closed
            if np.all(closed) and np.array_equal(nearby, here):
                break
    return nearby, known


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

"""Rank and degrees of freedom at the start and at a pose close by (METHODS 1.14)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.start.positions import REFUSED, Assembly, worst_of
from rtmbs.start.rank import group_rank, redundant_rows, scaled

Array = NDArray[np.float64]

NEARBY = 0.02  # size of the random step to the nearby pose, in typical sizes


@dataclass(frozen=True)
class Mobility:
    """Rank at the start and nearby."""

    rank: int
    nearby: int
    redundant: tuple[str, ...]
    estimated: bool

    @classmethod
    def find(cls, equations: SemiRecursiveEquations, assembly: Assembly, z: Array, masses: Array) -> "Mobility":
        """Return the rank of the loops at z and at a random assembled pose close by."""
        P = scaled(assembly.jacobian.matrix(equations), masses)
        answers = [group_rank(P, group) for group in assembly.groups]
        rank = sum(count for count, _ in answers)
        estimated = any(guess for _, guess in answers)
        redundant = [] if estimated else redundant_names(equations, P, assembly, [count for count, _ in answers])
        nearby = rank_nearby(equations, assembly, z, masses, rank)
        equations.close(z, assembly.R0)
        return cls(rank, nearby, tuple(redundant), estimated)


def redundant_names(equations: SemiRecursiveEquations, P: csc_array, assembly: Assembly, ranks: list[int]) -> list[str]:
    """Return the names of the rows that other rows already hold."""
    rows = [redundant_rows(P, group, rank) for group, rank in zip(assembly.groups, ranks, strict=True)]
    return [equations.system.row_names[row] for some in rows for row in some]


def rank_nearby(equations: SemiRecursiveEquations, assembly: Assembly, z: Array, masses: Array, rank: int) -> int:
    """Return the rank at a random assembled pose close to z; that at z when none was found."""
    system = equations.system
    rng = np.random.default_rng(0)
    free = np.zeros(equations.n, bool)
    for size in (NEARBY, 0.1 * NEARBY):
        trial = assembly.solve(z + size * system.typical * rng.standard_normal(equations.n), free, system.weights)
        if worst_of(assembly.gap(trial)) <= REFUSED:
            P = scaled(assembly.jacobian.matrix(equations), masses)
            return sum(group_rank(P, group)[0] for group in assembly.groups)
    return rank

"""Direct integration of the augmented system, index 1 (METHODS 2.1). Phi drifts with the square of time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.formulations.augmented_system import Solver, augmented_accelerations, check_solver, solver_for, takes_parts
from rtmbs.formulations.contract import ConstrainedSystem, Positive
from rtmbs.formulations.reduction import RANK_TOLERANCE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Direct:
    """Accelerations and multipliers from the augmented linear system.

    [[M, Phi_q^T], [Phi_q, 0]] [a; lam] = [F; gamma], by ``solver``: a class of ``rtmbs.numerics.linear``.

    DenseSolver and SuperLUSolver refuse dependent rows; KKTSolver lets them share their load. Unless given, SuperLU
    serves large systems with sparse forms, and dense LU all others.

    Parameters
    ----------
    rank_tolerance : float, default RANK_TOLERANCE
        Smallest pivot or singular value that counts, relative to the largest.
    solver : Solver, optional
        Class of a linear solver in ``rtmbs.numerics.linear``; chosen by size unless given.

    Examples
    --------
    >>> a, lam = Direct().accelerations(system, q, v, t)  # doctest: +SKIP
    """

    rank_tolerance: float = RANK_TOLERANCE
    solver: Solver | None = None

    def __post_init__(self) -> None:
        Positive("rank_tolerance").check(self.rank_tolerance)
        check_solver("solver of Direct", self.solver)

    @property
    def redundant(self) -> bool:
        """True when dependent rows are accepted: as the solver does."""
        return takes_parts(self.solver)

    def memory(self) -> None:
        """Nothing is kept."""

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state."""
        solver = solver_for(system, self.solver)
        return augmented_accelerations(system, q, v, t, solver, self.rank_tolerance, "Direct")

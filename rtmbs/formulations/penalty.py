"""Penalty on three levels: springs, dampers and masses of alpha hold Phi, Phid and Phidd."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.formulations.contract import ConstrainedSystem
from rtmbs.formulations.penalty_options import PenaltyOptions
from rtmbs.formulations.saddle import solve_saddle
from rtmbs.formulations.solvers import Solver, check_solver, is_sparse, solver_for, takes_parts

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Penalty(PenaltyOptions):
    """Accelerations by the penalty method.

    (M + Phi_q^T alpha Phi_q) a = F + Phi_q^T alpha gamma*, alpha = ``penalty`` times the masses of the rows.

    gamma* = gamma - 2 damping frequency Phid - frequency^2 Phi, and lam = alpha (Phi_q a - gamma*). The error of a is
    about 1 / ``penalty``. The sum is not formed: [[M, Phi_q^T], [Phi_q, -1/alpha]] has the same solution, and keeps its
    digits at any penalty. ``solver`` is a class of ``rtmbs.linear``, as in Direct. Dependent rows share their force.

    Parameters
    ----------
    penalty : float, default 100000000000000.0
        Penalty as a multiple of the masses of the rows.
    frequency : float, default 20.0
        [1/s], of Phi.
    damping : float, default 1.0
        [1], 1 is critical.
    solver : Solver, optional
        Class of the linear solver, as in ``Direct``.

    Examples
    --------
    >>> a, lam = Penalty(penalty=1e9).accelerations(system, q, v, t)  # doctest: +SKIP
    """

    penalty: float = 1e14
    solver: Solver | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_solver("solver of Penalty", self.solver)
        if takes_parts(self.solver):
            raise InputError(
                "solver of Penalty is KKTSolver, which has no use beside penalties; take DenseSolver or SuperLUSolver"
            )

    def accelerations(
        self, system: ConstrainedSystem, q: Array, v: Array, t: float, memory: Any = None
    ) -> tuple[Array, Array]:
        """Return a (n,) and lam (m,) at a state, which need not satisfy Phi = 0."""
        solver = solver_for(system, self.solver)
        terms, alpha = self.stabilised(system, q, v, t, is_sparse(solver))
        return solve_saddle(terms, 1.0 / alpha, solver, "Penalty")

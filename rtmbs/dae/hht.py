"""Hilber, Hughes and Taylor's method at index 3 (METHODS 1.18)."""

from dataclasses import dataclass

from rtmbs.dae.checks import demand_between
from rtmbs.dae.contract import Motion, Orders
from rtmbs.dae.dynamics import Steps
from rtmbs.dae.method import DAEMethod
from rtmbs.dae.newmark import Family
from rtmbs.formulations.solvers import Solver, check_solver
from rtmbs.linear.dense_solver import DenseSolver


@dataclass(frozen=True)
class HHT(DAEMethod):
    """Phi = 0 at the end of each step; ``alpha`` (-1/3 to -0.01) damps high frequencies.

    Newton's matrix is factored by ``solver``, a class of ``rtmbs.linear``. Dependent rows are refused.

    alpha_m = 0 and alpha_f = -alpha of the generalised-alpha family, with gamma = (1 - 2 alpha) / 2 and
    beta = (1 - alpha)^2 / 4.

    >>> method = HHT(alpha=-0.1)
    """

    alpha: float = -0.1
    solver: Solver = DenseSolver
    redundant = False
    orders = Orders(2, 2, 2, 2)
    carries = 2
    exact_end = False

    def __post_init__(self) -> None:
        demand_between("alpha of HHT", self.alpha, -1.0 / 3.0, -0.01)
        check_solver("solver of HHT", self.solver)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return Family(0.0, -self.alpha, (1.0 - self.alpha) ** 2 / 4.0).steps(motion, "HHT", self.solver)

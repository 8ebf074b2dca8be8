"""Generalised alpha of Chung and Hulbert at index 3 (METHODS 1.18; Arnold and Bruels 2007)."""

from dataclasses import dataclass

from rtmbs.dae.checks import demand_between
from rtmbs.dae.contract import Motion, Orders
from rtmbs.dae.dynamics import Steps
from rtmbs.dae.method import DAEMethod
from rtmbs.dae.newmark import Family
from rtmbs.formulations.solvers import Solver, check_solver
from rtmbs.linear.dense_solver import DenseSolver


@dataclass(frozen=True)
class GeneralisedAlpha(DAEMethod):
    """Phi = 0 at the end of each step; ``rho_inf`` (0 to 0.99) is what is left of infinite frequencies a step.

    Rates violate Phid by the error of the method. Newton's matrix is factored by ``solver``, a class of
    ``rtmbs.linear``. Dependent rows are refused.

    >>> method = GeneralisedAlpha(rho_inf=0.8)
    """

    rho_inf: float = 0.8
    solver: Solver = DenseSolver
    redundant = False
    orders = Orders(2, 2, 2, 2)
    carries = 2
    exact_end = False

    def __post_init__(self) -> None:
        demand_between("rho_inf of GeneralisedAlpha", self.rho_inf, 0.0, 0.99)
        check_solver("solver of GeneralisedAlpha", self.solver)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        r = self.rho_inf
        alpha_m, alpha_f = (2.0 * r - 1.0) / (r + 1.0), r / (r + 1.0)
        family = Family(alpha_m, alpha_f, (1.0 + alpha_f - alpha_m) ** 2 / 4.0)
        return family.steps(motion, "GeneralisedAlpha", self.solver)

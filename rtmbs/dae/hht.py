"""Hilber, Hughes and Taylor's method at index 3 (METHODS 1.18)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.checks import demand_between
from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.newmark import Family
from rtmbs.formulations.solvers import Solver, check_solver
from rtmbs.linear.dense_solver import DenseSolver

Array = NDArray[np.float64]


@dataclass(frozen=True)
class HHT:
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

    def __post_init__(self) -> None:
        demand_between("alpha of HHT", self.alpha, -1.0 / 3.0, -0.01)
        check_solver("solver of HHT", self.solver)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the end of each step."""
        return Family(0.0, -self.alpha, (1.0 - self.alpha) ** 2 / 4.0).points(motion, times, "HHT", self.solver)

"""Explicit Runge-Kutta methods of fixed step: any table with any formulation."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.checks import demand_formulation, demand_tableau
from rtmbs.dae.contract import Motion, Orders, OverFormulation, Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.dae.stepping import step_explicit
from rtmbs.formulations.contract import Formulation
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.integrators import tableaux
from rtmbs.integrators.tableaux import DORMAND_PRINCE, EULER, GILL, HEUN, KUTTA, RK4, TABLEAUX, THREE_EIGHTHS, Tableau

__all__ = [  # the method and the tables that it takes
    "DORMAND_PRINCE", "EULER", "GILL", "HEUN", "KUTTA", "RK4", "TABLEAUX", "THREE_EIGHTHS", "RungeKutta", "Tableau",
]  # fmt: skip

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RungeKutta(OverFormulation):
    """``tableau`` over the accelerations of ``formulation``, whose correction follows each step.

    >>> method = RungeKutta(GILL, Partitioning())
    """

    tableau: Tableau = GILL
    formulation: Formulation = field(default_factory=Partitioning)

    def __post_init__(self) -> None:
        demand_tableau(self.tableau)
        demand_formulation(self.formulation)

    @property
    def orders(self) -> Orders:
        """Those of the table: accelerations and multipliers are functions of the state."""
        return Orders(*[self.tableau.order] * 4)

    def growth(self, z: complex) -> float:
        """Return what a step does to the error of y' = s y with z = h s."""
        return tableaux.growth(self.tableau, z)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the end of each step."""
        dynamics = Dynamics(motion, self.formulation)
        point = dynamics.point(motion.q, motion.v, float(times[0]), motion.s)
        yield point
        for t, following in pairwise(times):
            point = step_explicit(dynamics, self.tableau, point, float(following - t))
            motion.counts.steps += 1
            yield point

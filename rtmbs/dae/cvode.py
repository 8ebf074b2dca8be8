"""CVODE of SUNDIALS over the accelerations of a formulation: BDF or Adams of variable order and step."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.checks import demand_formulation, demand_tolerances
from rtmbs.dae.contract import ByTolerance, Motion, Point
from rtmbs.dae.dynamics import Dynamics, first_order_start
from rtmbs.dae.sundials import MOST_STEPS, reached, solver_class
from rtmbs.errors import unknown_name
from rtmbs.formulations.contract import Formulation
from rtmbs.formulations.partitioning import Partitioning

Array = NDArray[np.float64]

FORMULAS = {"adams": "Adams", "bdf": "BDF"}


@dataclass(frozen=True)
class CVODE(ByTolerance):
    """``formula`` "adams" or "bdf" over y = (q, v, s); needs the extra ``sundials``.

    A formulation that corrects states does so inside dy/dt and at each sample, as in SolveIVP.

    >>> method = CVODE("bdf", Partitioning(), rtol=1e-8)
    """

    formula: str = "adams"
    formulation: Formulation = field(default_factory=Partitioning)
    rtol: float = 1e-8
    atol: float = 1e-10

    def __post_init__(self) -> None:
        if self.formula not in FORMULAS:
            raise unknown_name("formula of CVODE", self.formula, FORMULAS)
        demand_formulation(self.formulation)
        demand_tolerances(self.rtol, self.atol)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the samples."""
        dynamics = Dynamics(motion, self.formulation)

        def rhs(t: float, y: Array, out: Array) -> None:
            out[:] = dynamics.first_order(t, y.copy())

        options: dict[str, Any] = {"method": FORMULAS[self.formula], "rtol": self.rtol, "atol": self.atol}
        solver = solver_class("CVODE")(rhs, max_num_steps=MOST_STEPS, **options)
        solver.init_step(float(times[0]), first_order_start(motion))
        yield dynamics.point(motion.q, motion.v, float(times[0]), motion.s)
        for t in times[1:]:
            yield dynamics.sample(float(t), reached(solver, float(t), "CVODE"))

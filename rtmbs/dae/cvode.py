"""CVODE of SUNDIALS over the accelerations of a formulation: BDF or Adams of variable order and step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.checks import demand_formulation, demand_tolerances
from rtmbs.dae.contract import Motion, Point
from rtmbs.dae.dynamics import Dynamics, Steps, first_order_start
from rtmbs.dae.method import ByTolerance, OverFormulation
from rtmbs.dae.sundials import MOST_STEPS, reached, solver_class
from rtmbs.errors import unknown_name
from rtmbs.formulations.contract import Formulation
from rtmbs.formulations.partitioning import Partitioning

Array = NDArray[np.float64]

FORMULAS = {"adams": "Adams", "bdf": "BDF"}


@dataclass(frozen=True)
class CVODE(ByTolerance, OverFormulation):
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
        """Yield the start and the samples, of one solver from the first time to the last."""
        dynamics = Dynamics(motion, self.formulation)
        solver = self.solver_over(dynamics)
        solver.init_step(float(times[0]), first_order_start(motion))
        yield dynamics.point(motion.q, motion.v, float(times[0]), motion.s)
        for t in times[1:]:
            yield dynamics.sample(float(t), reached(solver, float(t), "CVODE"))

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return CVODESteps(motion, self)

    def solver_over(self, dynamics: Dynamics) -> Any:
        """Return a solver that has no start yet."""

        def rhs(t: float, y: Array, out: Array) -> None:
            out[:] = dynamics.first_order(t, y.copy())

        options: dict[str, Any] = {"method": FORMULAS[self.formula], "rtol": self.rtol, "atol": self.atol}
        return solver_class("CVODE")(rhs, max_num_steps=MOST_STEPS, **options)


class CVODESteps(Steps):
    """Steps of a Simulation: a solver for each, which never looks beyond its end."""

    def __init__(self, motion: Motion, method: CVODE) -> None:
        super().__init__(motion, method.formulation)
        self.method = method

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        solver = self.method.solver_over(self.dynamics)
        solver.init_step(past[0].t, np.concatenate((past[0].q, past[0].v, past[0].s)))
        return self.dynamics.sample(t, reached(solver, t, "CVODE", last=t))

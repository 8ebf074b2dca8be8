"""Explicit Runge-Kutta methods of fixed step: any table, in joint coordinates or over any formulation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Steps, step_explicit
from rtmbs.dae.method import DAEMethod, demand_formulation, demand_tableau
from rtmbs.errors import StartError
from rtmbs.formulations.contract import Formulation
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.integrators import tableaux
from rtmbs.integrators.base import Equations
from rtmbs.integrators.checks import one_of, switches
from rtmbs.integrators.explicit import complete_step, runge_kutta_step
from rtmbs.integrators.explicit_rules import rule_of_table
from rtmbs.integrators.explicit_steps import KERNEL, Work, explicit_work, follow_explicit, fused_report, many_steps
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import Chunk
from rtmbs.integrators.tableaux import DORMAND_PRINCE, EULER, GILL, HEUN, KUTTA, RK4, TABLEAUX, THREE_EIGHTHS, Tableau
from rtmbs.methods import Capability
from rtmbs.state import State

__all__ = [  # the method and the tables that it takes
    "DORMAND_PRINCE", "EULER", "GILL", "HEUN", "KUTTA", "RK4", "TABLEAUX", "THREE_EIGHTHS", "RungeKutta", "Tableau",
]  # fmt: skip

Array = NDArray[np.float64]

BY_NAME = {"classical": RK4, "three-eighths": THREE_EIGHTHS}


@dataclass(frozen=True)
class RungeKutta(DAEMethod):
    """An explicit Runge-Kutta method of fixed step; forces are to be smooth within a step.

    Trees without functions of time are stepped by compiled code, also in ``rtmbs.Batch``. Mechanisms with closed loops,
    drivers or functions of time, and steps over a formulation, are stepped in Python.

    Parameters
    ----------
    tableau : Tableau, str or None
        Butcher's table, such as ``DORMAND_PRINCE`` of ``rtmbs.methods``, or "classical" or "three-eighths". None is the
        classical one in joint coordinates, and Gill's over a formulation.
    formulation : Formulation or None
        None in a Simulation: each stage solves for the accelerations in joint coordinates that keep Phidd = 0. Loops
        and drivers drift apart with the order of the table, so a long run ends LOOP_OPEN. With a formulation, its
        accelerations, and its correction after each step. None in ``rtmbs.dae.integrate`` is ``Partitioning()``.
    fused : bool, default True
        True for compiled steps where there are some, False for readable ones, for comparison.

    Raises
    ------
    InputError
        For a table or a formulation that is none.

    Examples
    --------
    >>> method = RungeKutta(DORMAND_PRINCE, formulation=Partitioning())
    """

    capabilities: ClassVar[frozenset[Capability]] = DAEMethod.capabilities | {Capability.CHUNKS, Capability.BATCH}
    compiled_step: ClassVar[str] = KERNEL

    tableau: Tableau | str | None = None
    formulation: Formulation | None = None
    fused: bool = True

    def __post_init__(self) -> None:
        switches(fused=self.fused)
        if isinstance(self.tableau, str):
            one_of("tableau", self.tableau, BY_NAME)
        elif self.tableau is not None:
            demand_tableau(self.tableau)
        if self.formulation is not None:
            demand_formulation(self.formulation)
            object.__setattr__(self, "capabilities", DAEMethod.capabilities)

    @property
    def redundant(self) -> bool:  # type: ignore[override]
        return self.over.redundant

    @property
    def over(self) -> Formulation:
        """The formulation of ``integrate``."""
        return Partitioning() if self.formulation is None else self.formulation

    def table(self, default: Tableau) -> Tableau:
        """Return Butcher's tableau.

        Parameters
        ----------
        default : Tableau
            Tableau where none was given.

        Returns
        -------
        Tableau
            Butcher's tableau of the method.
        """
        if isinstance(self.tableau, str):
            return BY_NAME[self.tableau]
        return default if self.tableau is None else self.tableau

    @property
    def orders(self) -> Orders:
        """Those of the table: accelerations and multipliers are functions of the state."""
        return Orders(*[self.table(GILL).order] * 4)

    def growth(self, z: complex) -> float:
        """Return the growth |R(z)| of the error of y' = s y in a step, z = h s.

        Parameters
        ----------
        z : complex
            Step times eigenvalue, z = h s.

        Returns
        -------
        float
            Factor of the error in a step; at most 1 in the stability region.
        """
        return tableaux.growth(self.table(GILL), z)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion.

        Parameters
        ----------
        motion : Motion
            System with its consistent start.

        Returns
        -------
        Steps
            Steps of this motion.
        """
        return RungeKuttaSteps(motion, self.over, self.table(GILL))

    def start(self, equations: Equations, state: State) -> Any:
        """Return the memory of steps over a formulation, or what compiled steps in joint coordinates need."""
        if self.formulation is not None:
            return super().start(equations, state)
        return explicit_work(equations, state.h, rule_of_table(self.table(RK4)), self.fused and not equations.timed)

    def pushed(self, equations: Equations, work: Any, state: State, seen: bool = False) -> bool:
        """Let accelerations follow changed inputs by the kernel; False where there is none."""
        return isinstance(work, Work) and follow_explicit(equations, work, state)

    def takes_many(self, equations: Equations) -> bool:
        """True for compiled steps: of a tree, without functions of time, which stages ask for."""
        alone = self.formulation is None and self.fused and not equations.timed
        return alone and equations.step_kernel(KERNEL) is not None

    def advance_many(self, equations: Equations, work: Any, old: State, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row, in one kernel call; ``advance`` takes again what it does not accept."""
        return many_steps(equations, work, old, chunk)

    def advance(self, equations: Equations, work: Any, old: State, new: State) -> StepReport:
        """Take a step by the kernel, or a readable one; functions of time are evaluated at every stage."""
        if self.formulation is not None:
            return super().advance(equations, work, old, new)
        report = fused_report(equations, work, old, new)
        if report is not None:
            return report
        try:
            new.z[:], new.zd[:], new.s[:] = runge_kutta_step(equations, self.table(RK4), old, new.u)
        except StartError:
            new.z[:] = np.nan
        return complete_step(equations, old, new)


class RungeKuttaSteps(Steps):
    """The steps of one table over a formulation."""

    def __init__(self, motion: Motion, formulation: Formulation, table: Tableau) -> None:
        super().__init__(motion, formulation)
        self.table = table

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        return step_explicit(self.dynamics, self.table, past[0], h)

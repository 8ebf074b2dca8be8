"""Explicit and half-explicit Runge-Kutta methods of fixed step.

Explicit Runge-Kutta methods of fixed step: any table, in joint coordinates or over any formulation.

Half-explicit Runge-Kutta of order four at index 2: HEM4 of Brasey and Hairer (1993).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Dynamics, Steps, demand_small_correction, doubled, step_explicit
from rtmbs.dae.method import DAEMethod, demand_formulation, demand_tableau
from rtmbs.errors import StartError
from rtmbs.formulations.consistent import closed_state, least_solution
from rtmbs.formulations.contract import Formulation, FormulationError
from rtmbs.formulations.direct import Direct
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.integrators import tableaux
from rtmbs.integrators.checks import one_of, switches
from rtmbs.integrators.contract import Equations
from rtmbs.integrators.explicit import (
    KERNEL,
    Work,
    complete_step,
    explicit_work,
    follow_explicit,
    fused_report,
    many_steps,
    runge_kutta_step,
)
from rtmbs.integrators.report import StepReport
from rtmbs.integrators.settings import Chunk, rule_of_table
from rtmbs.integrators.tableaux import DORMAND_PRINCE, EULER, GILL, HEUN, KUTTA, RK4, TABLEAUX, THREE_EIGHTHS, Tableau
from rtmbs.methods import Capability
from rtmbs.state import State

Array = NDArray[np.float64]
__all__ = [  # the method and the tables that it takes
    "DORMAND_PRINCE", "EULER", "GILL", "HEUN", "KUTTA", "RK4", "TABLEAUX", "THREE_EIGHTHS", "RungeKutta", "Tableau",
]  # fmt: skip


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


R6 = sqrt(6.0)
A = (  # row i makes stage i from the stages before it; the last row is b
    (),
    (3 / 10,),
    ((1 + R6) / 30, (11 - 4 * R6) / 30),
    ((-79 - 31 * R6) / 150, (-1 - 4 * R6) / 30, (24 + 11 * R6) / 25),
    ((14 + 5 * R6) / 6, (-8 + 7 * R6) / 6, (-9 - 7 * R6) / 4, (9 - R6) / 4),
    (0.0, 0.0, (16 - R6) / 36, (16 + R6) / 36, 1 / 9),
)


@dataclass(frozen=True)
class HalfExplicit(DAEMethod):
    """Half-explicit Runge-Kutta method of order four at index 2: HEM4 of Brasey and Hairer (1993).

    Stage i has explicit Q_i, V_i. Its a_i solves M a_i + Phi_q^T lam_i = F at stage i, with lam_i such that Phi_q V +
    Phi_t = 0 at stage i + 1, whose place is known already. Five linear systems a step. Dependent rows are left out.

    Parameters
    ----------
    project : bool, default True
        True puts positions back on Phi = 0 after each step.
    rtol : float, optional
        Relative tolerance of the local error of q, v and s. The method then chooses its steps, by halved steps
        (Richardson), whose difference it takes off where it projects. Fixed steps unless given.
    atol : float, optional
        Absolute tolerance of the local error, in the units of q, v and s; a hundredth of ``rtol`` unless given.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = HalfExplicit()
    """

    project: bool = True
    rtol: float | None = None
    atol: float | None = None
    redundant = False
    leaves_out = True
    fixed_orders = Orders(4, 4, 4, 4)

    def __post_init__(self) -> None:
        self.check_tolerances()

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return HalfExplicitSteps(motion, self.project)


class HalfExplicitSteps(Steps):
    """The steps of one motion; ``project`` as in HalfExplicit."""

    estimate_order = 5
    steady = False

    def __init__(self, motion: Motion, project: bool) -> None:
        super().__init__(motion, Direct())
        self.project = project

    def trial(self, past: Sequence[Point], t: float, h: float) -> tuple[Point, Array]:
        return doubled(self, past, t, h, 4, self.project)

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        q, v, s = stages(self.motion, self.dynamics, past[0], h)
        if self.project:
            found = closed_state(self.motion.system, q, v, t, least_solution)
            q, v = demand_small_correction(past[0], (q, v), found, t)
        return self.dynamics.point(q, v, t, s)


def stages(motion: Motion, dynamics: Dynamics, old: Point, h: float) -> tuple[Array, Array, Array]:
    """Return q, v and s a step of ``h`` [s] later, with Phid = 0 there."""
    system, n = motion.system, motion.system.n
    q, v, t, s = old.q, old.v, old.t, old.s
    rates: list[Array] = []
    accelerations: list[Array] = []
    state_rates: list[Array] = []
    here = system.constraint_jacobian(q, t)
    for row in A[1:]:
        rates.append(v)
        state_rates.append(dynamics.state_rates(q, v, t, s))
        weights = h * np.array(row)
        t_next = old.t + float(weights.sum())
        q_next = old.q + weights @ np.array(rates)
        known = old.v + (weights[:-1] @ np.array(accelerations) if accelerations else 0.0)
        there = system.constraint_jacobian(q_next, t_next)
        right = -(system.constraint_rate_terms(q_next, known, t_next)[0] + there @ known) / weights[-1]
        matrix = np.block([[system.mass(q, t), here.T], [there, np.zeros((system.m, system.m))]])
        motion.counts.factorisations += 1
        try:
            x = np.linalg.solve(matrix, np.concatenate((system.force(q, v, t), right)))
        except np.linalg.LinAlgError:
            raise FormulationError(
                f"HalfExplicit met a singular matrix at t = {t:g}; Phi_q lost rank, or a coordinate has no inertia"
            ) from None
        accelerations.append(x[:n])
        here = there
        q, v, t, s = q_next, known + weights[-1] * x[:n], t_next, old.s + weights @ np.array(state_rates)
    return q, v, s

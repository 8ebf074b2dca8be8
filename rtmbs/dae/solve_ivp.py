"""scipy's solvers of ordinary differential equations over the accelerations of a formulation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.integrate
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, MotionError, Point
from rtmbs.dae.dynamics import Dynamics, Steps, first_order_start
from rtmbs.dae.linearisation import derivative
from rtmbs.dae.method import ByTolerance, OverFormulation, demand_formulation, demand_tolerances
from rtmbs.errors import RtmbsError, unknown_name
from rtmbs.formulations.contract import Formulation, FormulationError
from rtmbs.formulations.partitioning import Partitioning

Array = NDArray[np.float64]

SOLVERS = {
    "RK23": scipy.integrate.RK23,
    "RK45": scipy.integrate.RK45,
    "DOP853": scipy.integrate.DOP853,
    "Radau": scipy.integrate.Radau,
    "BDF": scipy.integrate.BDF,
    "LSODA": scipy.integrate.LSODA,
}
IMPLICIT = ("Radau", "BDF", "LSODA")
MOST_STEPS = 10**6  # between two samples


@dataclass(frozen=True)
class SolveIVP(ByTolerance, OverFormulation):
    """Solvers of scipy.integrate over y = (q, v, s), with samples on their dense output.

    In a Simulation a solver ends at each step. A formulation that corrects states does so inside dy/dt and at each
    sample. The solver then integrates independent coordinates, and what it does with dependent ones has no effect.

    Parameters
    ----------
    solver : str, optional
        Solver of scipy.integrate: "RK23", "RK45", "DOP853", "Radau", "BDF" or "LSODA".
    formulation : Formulation, optional
        Formulation of the accelerations. ``Partitioning()`` unless given.
    rtol : float, default 1e-08
        Relative tolerance of the local error of q, v and s; 1e-14 or more.
    atol : float, default 1e-10
        Absolute tolerance of the local error of q, v and s, in their units.

    Raises
    ------
    InputError
        For an option out of range.
    UnknownNameError
        For an unknown solver.

    Examples
    --------
    >>> method = SolveIVP("Radau", Partitioning(), rtol=1e-8)
    """

    solver: str = "DOP853"
    formulation: Formulation = field(default_factory=Partitioning)
    rtol: float = 1e-8
    atol: float = 1e-10

    def __post_init__(self) -> None:
        if self.solver not in SOLVERS:
            raise unknown_name("solver", self.solver, SOLVERS)
        demand_formulation(self.formulation)
        demand_tolerances(self.rtol, self.atol)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the samples, of one solver from the first time to the last."""
        dynamics = Dynamics(motion, self.formulation)
        solver = self.solver_over(dynamics, first_order_start(motion), float(times[0]), float(times[-1]))
        yield dynamics.point(motion.q, motion.v, float(times[0]), motion.s)
        matrices = 0
        for t in times[1:]:
            advance(solver, float(t), motion)
            y = solver.y if solver.t == t else solver.dense_output()(t)
            motion.counts.factorisations, matrices = (
                motion.counts.factorisations + int(solver.nlu) - matrices,
                int(solver.nlu),
            )
            yield dynamics.sample(float(t), y)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return SolverSteps(motion, self)

    def solver_over(self, dynamics: Dynamics, y: Array, t: float, t_end: float) -> Any:
        """Return a solver of SciPy from a start to an end time.

        Parameters
        ----------
        dynamics : Dynamics
            Equations of motion of one run.
        y : ndarray
            Start (2n + ns,): q, v and s.
        t : float
            Start time [s].
        t_end : float
            Last time [s].

        Returns
        -------
        object
            Solver of scipy.integrate.
        """

        def rates(t: float, y: Array) -> Array:
            try:
                return dynamics.first_order(t, y)
            except FormulationError:  # of a trial too far away; solvers take a shorter step
                return np.full(len(y), np.nan)

        options: dict[str, Any] = {"rtol": max(self.rtol, 2.3e-14), "atol": self.atol}
        if self.solver in IMPLICIT:  # scipy's differences grow without end in coordinates that nothing depends on
            options["jac"] = lambda t, y: derivative(lambda x: rates(t, x), y)
        return SOLVERS[self.solver](rates, t, y, t_end, **options)


class SolverSteps(Steps):
    """Steps of a Simulation, each by a new solver, so that no input is evaluated beyond its end."""

    def __init__(self, motion: Motion, method: SolveIVP) -> None:
        super().__init__(motion, method.formulation)
        self.method = method

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        y = np.concatenate((past[0].q, past[0].v, past[0].s))
        solver = self.method.solver_over(self.dynamics, y, past[0].t, t)
        advance(solver, t, self.motion)
        self.motion.counts.factorisations += int(solver.nlu)
        return self.dynamics.sample(t, solver.y)


def advance(solver: Any, t: float, motion: Motion) -> None:
    """Take steps until ``t`` [s] is reached or passed; raises MotionError."""
    for _ in range(MOST_STEPS):
        if solver.t >= t:
            return
        try:
            message = solver.step()
        except RtmbsError:
            raise
        except (ValueError, np.linalg.LinAlgError) as error:  # scipy met a matrix that is not finite
            raise MotionError(f"{type(solver).__name__} failed at t = {solver.t:g}: {error}") from error
        motion.counts.steps += 1
        if solver.status == "failed":
            raise MotionError(f"{type(solver).__name__} failed at t = {solver.t:g}: {message}")
    raise MotionError(
        f"{type(solver).__name__} took {MOST_STEPS} steps and is at t = {solver.t:g}; t = {t:g} is wanted"
    )

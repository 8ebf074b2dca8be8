"""scipy's solvers of ordinary differential equations over the accelerations of a formulation."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.integrate
from numpy.typing import NDArray

from rtmbs.dae.compiled_dop853 import CompiledDOP853
from rtmbs.dae.contract import Motion, MotionError, Point
from rtmbs.dae.dynamics import Steps
from rtmbs.dae.first_order import FirstOrderMotion
from rtmbs.dae.method import ByTolerance, OverFormulation, demand_formulation, demand_tolerances
from rtmbs.dae.runs import DenseRun, Restart, Run
from rtmbs.errors import RtmbsError, unknown_name
from rtmbs.formulations.compiled import CompiledSystem
from rtmbs.formulations.contract import Formulation
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
SEVERAL_STEPS = ("BDF", "LSODA")
FLOOR = 2.3e-14  # relative tolerance that scipy takes as it is
MOST_STEPS = 10**6  # between two samples


@dataclass(frozen=True)
class SolveIVP(ByTolerance, OverFormulation):
    """Solvers of scipy.integrate with samples on their dense output.

    In a Simulation a solver ends at each step. One of one step goes on with the step that it had. BDF and LSODA begin
    anew, since their history is no part of a State.

    Over a formulation that corrects states, a solver of one step gets the corrected state back after each step. BDF and
    LSODA, which keep earlier points, are pulled back by y' instead. The change is the least one in the metric of the
    inertias, whichever formulation gives the accelerations. Violations of a Result are those of the solver's own state,
    before it is corrected.

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

    def run(self, motion: Motion, times: Array, restart: Restart | None = None) -> Run:
        """Return the run of one solver from the first time to the last.

        Parameters
        ----------
        motion : Motion
            System with its consistent start.
        times : ndarray
            Times of the samples (k + 1,) [s].
        restart : Restart, optional
            What an earlier run needs to go on.

        Returns
        -------
        Run
            Run of one motion.
        """
        return SolverRun(motion, self, motion.t0, float(times[-1]), restart.h if restart is not None else 0.0)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return SolverSteps(motion, self)


class SolverRun(DenseRun):
    """One solver of SciPy along a motion, from a start to an end time; ``h`` is its first step [s], 0 for any."""

    def __init__(self, motion: Motion, method: SolveIVP, t: float, t_end: float, h: float = 0.0) -> None:
        self.matrices = 0
        self.equations = FirstOrderMotion(motion, method.formulation, method.solver in SEVERAL_STEPS)
        super().__init__(motion, self.equations.dynamics)
        rates = self.equations.rates
        options: dict[str, Any] = {"rtol": max(method.rtol, FLOOR), "atol": method.atol}
        if method.solver in IMPLICIT:  # scipy's differences grow without end in coordinates that nothing depends on
            options["jac"] = self.equations.jacobian
        if h > 0.0 and not self.equations.several:  # a formula of several steps begins at order one, by shorter steps
            options["first_step"] = min(h, t_end - t)
        compiled = self.equations.compiled
        if method.solver == "DOP853" and isinstance(compiled, CompiledSystem) and not len(motion.s):
            self.solver = CompiledDOP853(self.equations, compiled, t, t_end, **options)
        else:
            self.solver = SOLVERS[method.solver](rates, t, self.equations.start, t_end, **options)
        self.end = self.equations.start  # of the last step, before it is corrected
        self.begin: tuple[float, Array] = (t, self.end)  # of the last step
        self.h = h  # that the end of the run does not cut short

    @property
    def start(self) -> Point:
        """The start with its accelerations and multipliers."""
        motion = self.motion
        return self.equations.point_at(motion.t0, motion.q, motion.v, motion.s)

    def forward(self, stop: float) -> float:
        """Take one step, and return the time of its end [s]."""
        self.step()
        return float(self.solver.t)

    def restart(self) -> Restart:
        """Return the beginning of the last step where the end cut it short, or else its end, and the next step."""
        begin, t = self.begin[0], float(self.solver.t)
        cut = self.present is not None and self.present.t < t  # by an event
        if cut or self.h <= t - begin or self.equations.several:
            return super().restart()
        q, v, s = self.equations.own(self.begin[1])
        return Restart((self.equations.point_at(begin, q, v, s),), h=self.h)

    def point(self, t: float) -> Point:
        """Return the point at ``t`` [s]. Raises MotionError, and the errors of the system."""
        self.reach(t)
        found = int(self.solver.nlu)
        self.motion.counts.factorisations, self.matrices = (
            self.motion.counts.factorisations + found - self.matrices,
            found,
        )
        return self.equations.point(t, self.end if self.solver.t == t else self.solver.dense_output()(t))

    def reach(self, t: float) -> None:
        """Take steps until ``t`` [s] is reached or passed. Raises MotionError."""
        for _ in range(MOST_STEPS):
            if self.solver.t >= t:
                return
            self.step()
        raise MotionError(
            f"{type(self.solver).__name__} took {MOST_STEPS} steps and is at t = {self.solver.t:g}; t = {t:g} is wanted"
        )

    def step(self) -> None:
        """Take one step. Raises MotionError."""
        solver = self.solver
        self.equations.refusal = None
        before, self.begin = float(getattr(solver, "h_abs", 0.0)), (float(solver.t), solver.y.copy())
        try:
            message = solver.step()
        except RtmbsError:
            raise
        except (ValueError, np.linalg.LinAlgError) as error:  # scipy met a matrix that is not finite
            self.fail(str(error))
        self.motion.counts.steps += 1
        if solver.status == "failed":
            self.fail(str(message))
        whole = solver.t < solver.t_bound or before <= solver.t - self.begin[0]
        self.h = float(getattr(solver, "h_abs", 0.0)) if whole else before
        self.end = solver.y
        if len(closed := getattr(solver, "closed", ())):  # by the compiled step
            solver.y = closed if self.equations.corrects else self.end
            self.equations.t = float(solver.t)
        elif not self.equations.several:  # f at the end of the step was evaluated at the corrected state
            solver.y = self.equations.stepped(float(solver.t), self.end)
        else:
            self.equations.stepped(float(solver.t), self.end)

    def fail(self, message: str) -> None:
        """Raise the last error of the system, or MotionError with the message of the solver."""
        if self.equations.refusal is not None:
            raise self.equations.refusal
        raise MotionError(f"{type(self.solver).__name__} failed at t = {self.solver.t:g}: {message}")


class SolverSteps(Steps):
    """Steps of a Simulation, each by a new solver, so that no input is evaluated beyond its end."""

    def __init__(self, motion: Motion, method: SolveIVP) -> None:
        super().__init__(motion, method.formulation)
        self.method = method

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        old = past[0]
        at = replace(self.motion, q=old.q, v=old.v, s=old.s, t0=old.t)
        run = SolverRun(at, self.method, old.t, t, float(self.planned[0]))
        point = run.point(t)
        self.planned = np.array([run.h, 1.0, 0.0, 0.0])
        return point

"""CVODE and IDA of SUNDIALS through scikit-sundae, the optional extra ``sundials``."""

import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, MotionError, Point
from rtmbs.dae.dynamics import Steps
from rtmbs.dae.first_order import FirstOrderMotion
from rtmbs.dae.linearisation import constraint_rate, imbalance, linearised
from rtmbs.dae.method import ByTolerance, DAEMethod, OverFormulation, demand_formulation, demand_tolerances
from rtmbs.dae.runs import DenseRun, Restart, Run
from rtmbs.errors import InputError, RtmbsError, unknown_name
from rtmbs.formulations.contract import Formulation
from rtmbs.formulations.direct import Direct
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.formulations.rate_constraints import holonomic_rows

Array = NDArray[np.float64]

MOST_STEPS = 10**6  # between two samples
UNTESTED = 1e12  # absolute tolerance of lam and mu: their errors are larger by 1/h, and must not choose the step
ROUNDED = 16.0  # spacings of t: a step of this length is one of rounding
MOST_STUCK = 1000  # of them in a row: no rates behind t. Noise at rtol = 1e-11 makes 160, then steps grow again
REPORT = re.compile(r"\n\[\w+, Error: -?\d+\] ")
FORMULAS = {"adams": "Adams", "bdf": "BDF"}


def solver_class(name: str) -> Any:
    """Return CVODE or IDA of scikit-sundae. Raises InputError where the package is missing."""
    try:
        import sksundae
    except ImportError:
        raise InputError(f"{name} needs scikit-sundae; install the extra: pip install 'rtmbs[sundials]'") from None
    return getattr(getattr(sksundae, name.lower()), name)


class WithoutReports:
    """A stream without the reports that the solver prints of a failure: its message is part of the error."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.dropped = stream, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write what is no report, and no end of one."""
        ends, self.dropped = self.dropped and text == "\n", REPORT.match(text) is not None
        return len(text) if ends or self.dropped else int(self.stream.write(text))


def step_of(solver: Any, t: float, **options: Any) -> Any:
    """Return what a solver finds by its next steps towards ``t`` [s]."""
    with redirect_stdout(WithoutReports(sys.stdout)):
        return solver.step(t, **options)


def solution_at(solver: Any, t: float, name: str, last: float | None = None) -> Array:
    """Return y at ``t`` [s] on the dense output of a solver that asks for nothing behind ``last`` [s].

    Raises MotionError, and what the system raises.
    """
    found = step_of(solver, t) if last is None else step_of(solver, t, tstop=last)
    if not found.success:
        raise MotionError(f"{name} failed before t = {t:g}: {found.message}")
    return np.array(found.y, np.float64).ravel()


@dataclass(frozen=True)
class CVODE(ByTolerance, OverFormulation):
    """CVODE of SUNDIALS: Adams or BDF formulas of variable order and step.

    It needs the extra ``sundials``. Over a formulation that corrects states, y' pulls the solver back to the
    constraints, as in SolveIVP with BDF. Violations of a Result are those of the solver's own state.

    Parameters
    ----------
    formula : str, default 'adams'
        "adams" or "bdf".
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
        For an unknown formula.

    Examples
    --------
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
        return CVODERun(motion, self, motion.t0)

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return CVODESteps(motion, self)


class CVODERun(DenseRun):
    """One solver along a motion."""

    def __init__(self, motion: Motion, method: CVODE, t: float) -> None:
        self.equations = FirstOrderMotion(motion, method.formulation, several=True)
        super().__init__(motion, self.equations.dynamics)
        self.t, self.y, self.stuck = t, self.equations.start, 0
        self.reason: RtmbsError | None = None

        def rhs(t: float, y: Array, out: Array) -> None:
            out[:] = self.equations.rates(t, y.copy())

        options: dict[str, Any] = {"method": FORMULAS[method.formula], "rtol": method.rtol, "atol": method.atol}
        if hasattr(motion.system, "linearisation"):

            def jacobian(t: float, y: Array, yp: Array, out: Array) -> None:
                out[:] = self.equations.jacobian(t, y.copy())

            options["jacfn"] = jacobian
        self.solver = solver_class("CVODE")(rhs, max_num_steps=MOST_STEPS, **options)
        self.solver.init_step(t, self.y)

    @property
    def start(self) -> Point:
        """The start with its accelerations and multipliers."""
        motion = self.motion
        return self.equations.point_at(motion.t0, motion.q, motion.v, motion.s)

    def forward(self, stop: float) -> float:
        """Take one step, and return the time of its end [s]."""
        self.step(stop, None)
        return self.t

    def point(self, t: float, last: float | None = None) -> Point:
        """Return the point at ``t`` [s]; nothing is asked for behind ``last`` [s].

        Raises MotionError, and what the system refuses.
        """
        for _ in range(MOST_STEPS):
            if self.t >= t:
                return self.equations.point(t, self.solution(t))
            self.step(t, last)
        raise MotionError(f"CVODE took {MOST_STEPS} steps and is at t = {self.t:g}; t = {t:g} is wanted")

    def solution(self, t: float) -> Array:
        """Return y at ``t`` [s] within the last step."""
        return self.y if self.t == t else solution_at(self.solver, t, "CVODE")

    def step(self, t: float, last: float | None) -> None:
        """Take one step towards ``t`` [s]. Raises MotionError, and what the system refuses."""
        self.equations.refusal = None
        found = step_of(self.solver, t, method="onestep", tstop=last)
        if not found.success:
            raise self.equations.refusal or MotionError(f"CVODE failed at t = {self.t:g}: {found.message}")
        self.motion.counts.steps += 1
        self.reason = self.equations.refusal or self.reason
        after = float(np.ravel(found.t)[0])
        self.stuck = self.stuck + 1 if after - self.t <= ROUNDED * np.spacing(abs(self.t)) else 0
        if self.stuck > MOST_STUCK:
            raise self.reason or MotionError(f"CVODE takes steps of rounding only at t = {self.t:g}")
        self.t, self.y = after, np.array(found.y, np.float64).ravel()
        self.equations.stepped(self.t, self.y)


class CVODESteps(Steps):
    """Steps of a Simulation, each by a new solver that stops at its end."""

    def __init__(self, motion: Motion, method: CVODE) -> None:
        super().__init__(motion, method.formulation)
        self.method = method

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        old = past[0]
        at = replace(self.motion, q=old.q, v=old.v, s=old.s, t0=old.t)
        return CVODERun(at, self.method, old.t).point(t, last=t)


@dataclass(frozen=True)
class IDA(ByTolerance, DAEMethod):
    """IDA of SUNDIALS on the stabilised index-2 form of Gear, Gupta and Leimkuhler: BDF of variable order and step.

    q' = v - Phi_q^T mu, M v' + Phi_q^T lam = F, s' = g, Phi = 0, Phid = 0 for y = (q, v, s, lam, mu).

    It needs the extra ``sundials``. Tolerances bound q, v and s only. Accelerations and multipliers are worked out from
    them. Dependent rows are left out.

    Parameters
    ----------
    rtol : float, default 1e-08
        Relative tolerance of the local error of q, v and s; 1e-14 or more.
    atol : float, default 1e-10
        Absolute tolerance of the local error of q, v and s, in their units.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = IDA(rtol=1e-8)
    """

    rtol: float = 1e-8
    atol: float = 1e-10
    redundant = False
    leaves_out = True

    def __post_init__(self) -> None:
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
        return IDARun(motion, IDASteps(motion, self))

    def steps(self, motion: Motion) -> Steps:
        """Return the steps of one motion."""
        return IDASteps(motion, self)


class IDARun(DenseRun):
    """One solver along a motion."""

    def __init__(self, motion: Motion, steps: "IDASteps") -> None:
        super().__init__(motion, steps.dynamics)
        self.own, self.first = steps, steps.first()
        self.t, self.solver = motion.t0, steps.solver_from(self.first)

    @property
    def start(self) -> Point:
        """The start with its accelerations and multipliers."""
        return self.first

    def forward(self, stop: float) -> float:
        """Take one step, and return the time of its end [s]. Raises MotionError."""
        found = step_of(self.solver, stop, method="onestep")
        if not found.success:
            raise MotionError(f"IDA failed before t = {stop:g}: {found.message}")
        self.motion.counts.steps += 1
        self.t = float(np.ravel(found.t)[0])
        return self.t

    def point(self, t: float) -> Point:
        """Return the point at ``t`` [s]; steps are taken, and counted, until it is passed."""
        for _ in range(MOST_STEPS):
            if self.t >= t:
                return self.own.point(t, solution_at(self.solver, t, "IDA"))
            self.forward(t)
        raise MotionError(f"IDA took {MOST_STEPS} steps and is at t = {self.t:g}; t = {t:g} is wanted")


class IDASteps(Steps):
    """The equations of one motion. In a Simulation a new solver takes each step and stops at its end."""

    def __init__(self, motion: Motion, method: IDA) -> None:
        super().__init__(motion, Direct())
        self.method = method

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        return self.point(t, solution_at(self.solver_from(past[0]), t, "IDA", last=t))

    def point(self, t: float, y: Array) -> Point:
        """Return the point of y = (q, v, s, lam, mu)."""
        n = self.motion.system.n
        q, v, s, _ = np.split(y.copy(), (n, 2 * n, 2 * n + len(self.motion.s)))
        return self.dynamics.point(q, v, t, s)

    def solver_from(self, start: Point) -> Any:
        """Return a solver that begins at a point."""
        dynamics, system, n, m = self.dynamics, self.motion.system, self.motion.system.n, self.motion.system.m
        k, held = 2 * n + len(start.s), holonomic_rows(system)  # differential unknowns, and rows that bind positions

        def residual(t: float, y: Array, yp: Array, out: Array) -> None:
            q, v, s, lam, mu = np.split(y.copy(), (n, 2 * n, k, k + m))
            out[2 * n : k] = yp[2 * n : k] - dynamics.state_rates(q, v, t, s)
            out[:n] = yp[:n] - v + system.constraint_jacobian(q, t)[:held].T @ mu
            out[n : 2 * n] = imbalance(system, q, v, yp[n : 2 * n].copy(), lam, t)
            out[k : k + held] = system.constraints(q, t)[:held]
            out[k + held :] = constraint_rate(system, q, v, t)

        def jacobian(t: float, y: Array, yp: Array, left: Array, c: float, out: Array) -> None:
            q, v, _, lam, _ = np.split(y.copy(), (n, 2 * n, k, k + m))
            at, eye = linearised(system, q, v, yp[n : 2 * n].copy(), lam, t), np.eye(n)
            out[:] = 0.0
            out[:n, :n], out[:n, n:k], out[:n, k + m :] = c * eye, -eye, at.Phi_q[:held].T  # mu is rounding
            out[n:k, :n], out[n:k, n:k], out[n:k, k : k + m] = at.K, c * at.M + at.C, at.Phi_q.T
            out[k : k + held, :n], out[k + held :, :n], out[k + held :, n : 2 * n] = at.Phi_q[:held], at.rate, at.Phi_q

        y0 = np.concatenate((start.q, start.v, start.s, start.lam, np.zeros(held)))
        yp0 = np.concatenate((start.v, start.a, start.sd, np.zeros(m + held)))
        atol = np.concatenate((np.full(k, self.method.atol), np.full(m + held, UNTESTED)))
        algebraic = list(range(k, k + m + held))
        options: dict[str, Any] = {"max_num_steps": MOST_STEPS, **({} if len(start.s) else {"jacfn": jacobian})}
        solver = solver_class("IDA")(
            residual,
            rtol=self.method.rtol,
            atol=atol,
            algebraic_idx=algebraic or None,
            **options,
        )
        solver.init_step(start.t, y0, yp0)
        return solver

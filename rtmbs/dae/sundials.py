"""CVODE and IDA of SUNDIALS through scikit-sundae, the optional extra ``sundials``.

They integrate a formulation, and the recursion on one rank or many (METHODS 3). IDA also takes general implicit
differential equations F(t, y, y') = 0.
"""

import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.ad import Traced, TraceError
from rtmbs.dae.contract import Counts, Motion, MotionError, Point
from rtmbs.dae.driver import IntegrationReport, columns, sample_times
from rtmbs.dae.dynamics import Steps, constraint_rate, derivative, imbalance, linearised
from rtmbs.dae.method import ByTolerance, DAEMethod, OverFormulation, demand_formulation, demand_tolerances
from rtmbs.dae.runs import DenseRun, FirstOrderMotion, Restart, Run
from rtmbs.errors import InputError, RtmbsError, StepError, shown, unknown_name
from rtmbs.formulations.contract import (
    Formulation,
    FormulationError,
    OutOfRange,
    checked_answer,
    checked_time,
    checked_vector,
    holonomic_rows,
)
from rtmbs.formulations.direct import Direct
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.formulations.reduction import row_factor
from rtmbs.recursive.motion import Alone, Exchange, RankSteps, check_times, recursion_result
from rtmbs.results.channel import TIME, Entry, Source, StoredValues, resolve_names
from rtmbs.results.result import Result
from rtmbs.system.system import System

Array = NDArray[np.float64]
MOST_STEPS = 10**6  # between two samples
UNTESTED = 1e12  # absolute tolerance of lam and mu: their errors are larger by 1/h, and must not choose the step
ROUNDED = 16.0  # spacings of t: a step of this length is one of rounding
MOST_STUCK = 30  # of them in a row: no rates behind t, or none that the tolerances can be held with
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
        self.equations = FirstOrderMotion(motion, method.formulation, several=True, renews=True)
        super().__init__(motion, self.equations.dynamics)
        self.t, self.y, self.stuck = t, self.equations.start, 0
        self.reason: RtmbsError | None = None

        def rhs(t: float, y: Array, out: Array) -> None:
            out[:] = self.equations.rates(t, y.copy())

        options: dict[str, Any] = {"method": FORMULAS[method.formula], "rtol": method.rtol, "atol": method.atol}

        def jacobian(t: float, y: Array, yp: Array, out: Array) -> None:
            out[:] = self.equations.jacobian(t, y.copy())

        self.solver = solver_class("CVODE")(rhs, jacfn=jacobian, max_num_steps=MOST_STEPS, **options)
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
            raise self.reason or MotionError(
                f"CVODE takes steps of rounding only at t = {self.t:g}; take larger tolerances, or end at jumps"
            )
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


class SharedAccelerations:
    """Accelerations of all coordinates by the parts of several ranks; every rank finds the same bits."""

    def __init__(self, system: System, exchange: Exchange, alpha: float, beta: float) -> None:
        self.march, self.n = RankSteps(system, exchange, alpha, beta), len(system.tables.dofs.kind)
        self.refusal: StepError | None = None
        self.owner = np.zeros(self.n, np.int64)  # of every coordinate: the first rank that has it
        for rank, coordinates in reversed(list(enumerate(exchange.together(self.march.part.coordinates)))):
            self.owner[coordinates] = rank
        self.message, self.messages = np.zeros(self.n), np.zeros((exchange.ranks, self.n))
        self.all = np.arange(self.n)

    def at(self, t: float, z: Array, zd: Array) -> Array:
        """Return zdd (n,) at a state. Raises StepError, on all ranks."""
        part, exchange = self.march.part, self.march.exchange
        part.ws.z[part.places], part.ws.zd[part.places] = z[part.coordinates], zd[part.coordinates]
        self.march.evaluate(t)
        self.message[part.coordinates] = part.scratch.zdd[part.places]
        if exchange.ranks == 1:
            return self.message
        exchange.share(self.message, self.messages)
        return np.asarray(self.messages[self.owner, self.all])

    def rates(self, t: float, y: Array, out: Array) -> None:
        """Write y' of y = (z, zd); numbers that are none where a state has no accelerations."""
        n = self.n
        out[:n] = y[n:]
        try:
            out[n:] = self.at(t, y[:n], y[n:])
        except StepError as error:
            self.refusal, out[n:] = error, np.nan


def run_bdf(
    system: System,
    z: Array,
    zd: Array,
    times: Array,
    exchange: Exchange | None = None,
    alpha: float = 0.0,
    beta: float = 0.0,
    rtol: float = 1e-8,
    atol: float = 1e-10,
    watch: Callable[[int], None] | None = None,
) -> Result:
    """Return the motion by the recursion at given times, with BDF of variable order and step.

    It needs the extra ``sundials``. Every rank takes the same steps of the whole state; evaluations are shared.

    Parameters
    ----------
    system : System
        Compiled System without spherical and floating joints.
    z : ndarray
        Coordinates (n,) at the start, which satisfy the loops.
    zd : ndarray
        Rates (n,) at the start, which satisfy the loops.
    times : ndarray
        Times of the samples (k,) [s]; the first is the start.
    exchange : Exchange, optional
        Ranks that share the work; one rank unless given. All ranks return the whole motion.
    alpha : float, default 0.0
        Baumgarte's gain of the rate of the violation [1/s].
    beta : float, default 0.0
        Baumgarte's gain of the violation [1/s].
    rtol : float, default 1e-08
        Relative tolerance of the local error of coordinates and rates; 1e-14 or more.
    atol : float, default 1e-10
        Absolute tolerance of the local error of coordinates and rates, in their units.
    watch : Callable[[int], None], optional
        Function called with the number of every sample after the first.

    Returns
    -------
    Result
        Channels of a run of this System, and ``ranks``, ``shares``, ``z`` and ``zd``.

    Raises
    ------
    InputError
        For times or tolerances out of range, rotation vectors, and for what ranks cannot share.
    StepError
        For a coordinate without inertia, or a motion that is not finite.

    Examples
    --------
    >>> result = run_bdf(system, z, zd, np.linspace(0.0, 1.0, 101), alpha=10.0, beta=10.0)  # doctest: +SKIP
    """
    exchange = exchange or Alone()
    check_times(times, 1.0)
    demand_tolerances(rtol, atol)
    if len(system.R0):
        raise InputError(
            f"{system.name} has a spherical or floating joint in its tree; run_bdf takes coordinates without rotation "
            "vectors, and rtmbs.recursive.run takes all"
        )
    shared = SharedAccelerations(system, exchange, alpha, beta)
    shared.march.begin(z, zd, float(times[0]))
    solver = solver_class("CVODE")(shared.rates, method="BDF", rtol=rtol, atol=atol, max_num_steps=MOST_STEPS)
    start = np.concatenate((z, zd))
    solver.init_step(float(times[0]), start)
    rows = [start]
    for k in range(1, len(times)):
        rows.append(solved_at(solver, shared, float(times[k])))
        if watch is not None:
            watch(k)
    parts = [(np.arange(shared.n), np.zeros(0, np.int64), np.array(rows))]
    return recursion_result(system, times, parts, shared.march.split, alpha, beta)


def solved_at(solver: Any, shared: SharedAccelerations, t: float) -> Array:
    """Return y at ``t`` [s]. Raises StepError where the solver fails, with the reason of the mechanism."""
    found = solver.step(t)
    if not found.success:
        raise shared.refusal or StepError(f"BDF failed before t = {t:g}: {found.message}")
    return np.array(found.y, np.float64).ravel()


Residual = Callable[[float, Array, Array], ArrayLike]
SOURCES = ("trace", "differences")
ITERATIONS = 50
HALVINGS = 20  # of one step of Newton
SETTLED = 1e-12  # of a correction, in terms of the unknown, or 1
CLOSED = 1e-9  # of the terms of F: what a consistent start leaves


class ImplicitEquations:
    """F(t, y, y') = 0 with its derivatives, and which unknowns are differential.

    Parameters
    ----------
    residual : callable
        Function F(t, y, y') of k numbers.
    n : int
        Number k of unknowns and of equations.
    differential : iterable of int, optional
        Unknowns whose derivatives F depends on. Found from dF/dy' at the start unless given.
    jacobian : str or callable, default 'trace'
        "trace": F is recorded by ``rtmbs.ad``, and differences serve where it cannot be. "differences", or a function
        (t, y, y') that returns dF/dy and dF/dy' (k, k).
    names : sequence of str, optional
        Names of the unknowns, for channels and errors.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> equations = ImplicitEquations(lambda t, y, yp: [yp[0] + y[0] - y[1], y[1] - t], 2)
    """

    def __init__(
        self, residual: Residual, n: int, *, differential: Iterable[int] | None = None,
        jacobian: str | Callable[..., tuple[Array, Array]] = "trace", names: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InputError(f"n is {shown(n)}; a whole number of unknowns of at least 1 is wanted")
        if not callable(jacobian) and jacobian not in SOURCES:
            raise InputError(f"jacobian is {shown(jacobian)}; {', '.join(SOURCES)} or a function is wanted")
        if names is not None and len({*names}) != n:
            raise InputError(f"names are {shown(names)}; {n} different ones are wanted")
        self.residual, self.n, self.names, self.jacobian = residual, n, names, jacobian
        self.evaluations = 0
        self.differential = None if differential is None else checked_indices(n, differential)
        self.recorded = recorded(residual, n) if jacobian == "trace" else None

    def value(self, t: float, y: Array, yp: Array) -> Array:
        """Return F (k,), checked.

        Parameters
        ----------
        t : float
            Time [s].
        y : ndarray
            Unknowns (k,).
        yp : ndarray
            Their derivatives (k,).

        Returns
        -------
        ndarray
            F (k,).

        Raises
        ------
        InputError
            For a wrong shape, or numbers that are not finite.
        """
        self.evaluations += 1
        return checked_answer("residual(t, y, yp)", np.asarray(self.residual(t, y, yp), np.float64), (self.n,))

    def derivatives(self, t: float, y: Array, yp: Array) -> tuple[Array, Array]:
        """Return dF/dy and dF/dy' (k, k).

        Parameters
        ----------
        t : float
            Time [s].
        y : ndarray
            Unknowns (k,).
        yp : ndarray
            Their derivatives (k,).

        Returns
        -------
        tuple[ndarray, ndarray]
            dF/dy and dF/dy' (k, k).

        Raises
        ------
        InputError
            For a wrong shape, or numbers that are not finite.
        """
        n = self.n
        if callable(self.jacobian):
            by_y, by_yp = self.jacobian(t, y, yp)
            return checked_answer("dF/dy", by_y, (n, n)), checked_answer("dF/dy'", by_yp, (n, n))
        if self.recorded is not None:
            found = np.asarray(self.recorded.jacobian(np.concatenate((y, yp, [t]))))
        else:
            found = derivative(lambda x: self.value(t, x[:n], x[n:]), np.concatenate((y, yp)))
        found = checked_answer("the derivative of residual", found[:, : 2 * n], (n, 2 * n))
        return found[:, :n], found[:, n:]

    def consistent(
        self, y: ArrayLike, yp: ArrayLike | None = None, t: float = 0.0, keep: Iterable[int] | None = None
    ) -> tuple[Array, Array]:
        """Return consistent y and y': F(t, y, y') = 0 with the kept unknowns as given.

        Newton's method in algebraic unknowns and derivatives of differential ones, by the least change of both. Above
        index one hidden constraints must hold already.

        Parameters
        ----------
        y : array_like
            Unknowns (k,), of which algebraic ones are guesses.
        yp : array_like, optional
            Guesses of the derivatives (k,); zero unless given.
        t : float, default 0.0
            Time [s].
        keep : iterable of int, optional
            Unknowns that stay as they are; the differential ones unless given.

        Returns
        -------
        tuple[ndarray, ndarray]
            y and y' (k,).

        Raises
        ------
        InputError
            For shapes and numbers.
        FormulationError
            For equations that follow from others, or where there are no consistent values near.

        Examples
        --------
        >>> equations = ImplicitEquations(lambda t, y, yp: [yp[0] + y[0] - y[1], y[1] - t], 2)
        >>> y, yp = equations.consistent([1.0, 0.3])
        >>> y.round(9), yp.round(9)
        (array([1., 0.]), array([-1.,  0.]))
        """
        n, t = self.n, checked_time(t)
        guess: Any = np.zeros(n) if yp is None else yp
        x = np.concatenate((checked_vector("y", np.asarray(y), n), checked_vector("yp", np.asarray(guess), n)))
        by_y, by_yp = self.derivatives(t, x[:n], x[n:])
        demand_rows(by_y, by_yp, t)
        differential = differential_at(self, by_yp)
        kept = checked_indices(n, differential if keep is None else keep)
        free = np.concatenate((np.setdiff1d(np.arange(n), kept), n + differential)).astype(np.int64)
        x[n + np.setdiff1d(np.arange(n), differential)] = 0.0
        left = self.value(t, x[:n], x[n:])
        for _ in range(ITERATIONS):
            both = np.hstack(self.derivatives(t, x[:n], x[n:]))
            terms = np.abs(both) @ np.maximum(np.abs(x), 1.0)
            step = np.asarray(np.linalg.lstsq(both[:, free], left, rcond=1e-12)[0], np.float64)
            x, left, length = shortened(self, t, x, free, step, left)
            if length <= SETTLED * max(1.0, float(np.abs(x).max())):
                if np.all(np.abs(left) <= CLOSED * terms):
                    return x[:n], x[n:]
                break
        worst = int(np.argmax(np.abs(left)))
        raise FormulationError(
            f"equation {worst} of F stays open by {abs(left[worst]):.2g} at t = {t:g}; give a nearer start, or "
            "differentiate constraints: above index one hidden ones must hold already"
        )


def checked_indices(n: int, given: Iterable[int]) -> NDArray[np.int64]:
    """Return numbers of unknowns as a sorted array. Raises InputError."""
    found = sorted({int(i) for i in given})
    if found and not 0 <= found[0] <= found[-1] < n:
        raise InputError(f"differential is {found}; numbers from 0 to {n - 1} are wanted")
    return np.array(found, np.int64)


def recorded(residual: Residual, n: int) -> Traced | None:
    """Return F recorded as a function of (y, y', t); None where it cannot be recorded."""
    try:
        return Traced(lambda x: residual(x[2 * n], x[:n], x[n : 2 * n]), 2 * n + 1)
    except (TraceError, TypeError, ValueError):
        return None


def demand_rows(by_y: Array, by_yp: Array, t: float) -> None:
    """Raise FormulationError naming equations that follow from the others, by dF/dy and dF/dy' (k, k)."""
    both = np.hstack((by_y, by_yp))
    sizes = np.linalg.norm(both, axis=1)
    empty = np.flatnonzero(sizes == 0.0)
    dependent = row_factor(both / np.where(sizes > 0.0, sizes, 1.0)[:, None]).dependent
    rows = sorted({*empty.tolist(), *dependent.tolist()})
    if rows:
        raise FormulationError(
            f"equations {rows} of F depend on the other rows at t = {t:g}; take them out, or give equations that "
            "tell the unknowns apart"
        )


def differential_at(equations: ImplicitEquations, by_yp: Array) -> NDArray[np.int64]:
    """Return the numbers of the differential unknowns: those given, or where dF/dy' is not zero."""
    return np.flatnonzero(np.any(by_yp != 0.0, axis=0)) if equations.differential is None else equations.differential


def shortened(
    equations: ImplicitEquations, t: float, x: Array, free: Any, step: Array, left: Array
) -> tuple[Array, Array, float]:
    """Return x after a step of Newton, halved until F shrinks, F there, and the length of the step."""
    size = float(np.linalg.norm(left))
    for k in range(HALVINGS):
        moved = x.copy()
        moved[free] -= step * 0.5**k
        try:
            new = equations.value(t, moved[: equations.n], moved[equations.n :])
        except OutOfRange:
            continue
        if np.linalg.norm(new) <= size or k == HALVINGS - 1:
            return moved, new, float(np.abs(step * 0.5**k).max(initial=0.0))
    return x, left, 0.0


def solve_implicit(
    equations: ImplicitEquations | Residual, y: ArrayLike, yp: ArrayLike | None = None, *, t_end: float, h: float,
    t0: float = 0.0, rtol: float = 1e-8, atol: float | ArrayLike = 1e-10,
) -> Result:  # fmt: skip
    """Solve F(t, y, y') = 0 by IDA of SUNDIALS: BDF of variable order and step, from consistent initial values.

    It needs the extra ``sundials``. Initial values are made consistent first, with the differential unknowns as given.

    Parameters
    ----------
    equations : ImplicitEquations or callable
        Equations, or the function F(t, y, y').
    y : array_like
        Unknowns (k,) at the start.
    yp : array_like, optional
        Guesses of the derivatives (k,).
    t_end : float
        Last time [s].
    h : float
        Interval of the samples [s].
    t0 : float, default 0.0
        Time of the start [s].
    rtol : float, default 1e-08
        Relative tolerance of the local error.
    atol : float or array_like, default 1e-10
        Absolute tolerance of the local error, one or (k,), in the units of y.

    Returns
    -------
    Result
        Channels ``y`` and ``yp``, and their columns ``y0``, or NAME and NAME.rate; ``result.counts`` says what it took.

    Raises
    ------
    InputError
        For shapes, numbers, and a missing package.
    FormulationError
        For equations that follow from others, or values that cannot be made consistent.
    MotionError
        Where IDA fails, with the Result up to there.

    Examples
    --------
    >>> found = solve_implicit(lambda t, y, yp: [yp[0] + y[0]], [1.0], t_end=1.0, h=0.1)  # doctest: +SKIP
    """
    start = np.atleast_1d(np.asarray(y, np.float64))
    if not isinstance(equations, ImplicitEquations):
        equations = ImplicitEquations(equations, len(start))
    times, n = sample_times(t0, t_end, h), equations.n
    limits = np.broadcast_to(np.asarray(atol, np.float64), n)
    demand_tolerances(rtol, float(limits.min()))
    began, counts = time.perf_counter(), Counts()
    rows = [equations.consistent(start, yp, float(times[0]))]
    solver = solver_of(equations, float(times[0]), *rows[0], rtol, limits)
    failure: MotionError | None = None
    for t in times[1:]:
        try:
            found = step_of(solver, float(t))
            if not found.success:
                raise MotionError(
                    f"IDA failed before t = {t:g}: {found.message} Differentiate constraints of an index above one, end"
                    " at a jump of F and begin anew, or take larger tolerances"
                )
        except (MotionError, OutOfRange, FormulationError) as error:
            failure = MotionError(f"IDA stopped after t = {times[len(rows) - 1]:g}: {error}")
            break
        rows.append((np.ravel(found.y).copy(), np.ravel(found.yp).copy()))
    counts.evaluations = equations.evaluations
    report = IntegrationReport(counts, time.perf_counter() - began)
    result = implicit_result(equations, times[: len(rows)], rows, report)
    if failure is not None:
        failure.result = result
        raise failure
    return result


def solver_of(equations: ImplicitEquations, t: float, y: Array, yp: Array, rtol: float, atol: Array) -> Any:
    """Return IDA at consistent initial values."""

    def residual(t: float, y: Array, yp: Array, out: Array) -> None:
        out[:] = equations.value(t, y.copy(), yp.copy())

    def jacobian(t: float, y: Array, yp: Array, left: Array, c: float, out: Array) -> None:
        by_y, by_yp = equations.derivatives(t, y.copy(), yp.copy())
        out[:] = by_y + c * by_yp

    differential = differential_at(equations, equations.derivatives(t, y, yp)[1])
    algebraic = np.setdiff1d(np.arange(equations.n), differential).tolist()
    solver = solver_class("IDA")(
        residual, rtol=rtol, atol=atol, algebraic_idx=algebraic or None, jacfn=jacobian, max_num_steps=MOST_STEPS
    )
    solver.init_step(t, y, yp)
    return solver


def implicit_result(
    equations: ImplicitEquations, times: Array, rows: Sequence[tuple[Array, Array]], report: IntegrationReport
) -> Result:
    """Return the Result of these values and derivatives."""
    names = None if equations.names is None else [str(name) for name in equations.names]
    entries = [Entry("time", TIME, Source((), "s", StoredValues(times)))]
    for k, (symbol, suffix) in enumerate((("y", ""), ("yp", ".rate"))):
        values = np.array([row[k] for row in rows])
        entries += columns("unknown", symbol, values, names, suffix, [""] * equations.n)
    named = resolve_names(entries)
    return Result({key: entry.source for key, entry in named.items()}, "implicit equations", report=report)

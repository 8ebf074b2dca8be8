"""scipy's solvers of ordinary differential equations over a formulation, and DOP853 with compiled steps.

scipy's solvers of ordinary differential equations over the accelerations of a formulation.

DOP853 with compiled steps: stages, error estimate and correction of a recorded system in one call.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ulp
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
from numpy.typing import NDArray
from scipy.integrate import DOP853

from rtmbs.ad.program import Program
from rtmbs.dae.contract import Motion, MotionError, Point
from rtmbs.dae.dynamics import Steps
from rtmbs.dae.method import ByTolerance, OverFormulation, demand_formulation, demand_tolerances
from rtmbs.dae.runs import LIGHT, DenseRun, FirstOrderMotion, Restart, Run
from rtmbs.errors import RtmbsError, unknown_name
from rtmbs.formulations.compiled import CompiledSystem
from rtmbs.formulations.compiled_kernels import SOLVED, Work, corrected_accelerations
from rtmbs.formulations.contract import Formulation
from rtmbs.formulations.partitioning import Partitioning
from rtmbs.jit.compiled import entry_for, inner_kernel, kernel
from rtmbs.jit.struct import struct

Array = NDArray[np.float64]
STAGES = 12
SAFETY, LEAST, MOST = 0.9, 0.2, 10.0  # factors of the next step, as SciPy has them
EXPONENT = -1.0 / 8.0  # of the error: the estimate has order seven
SHORTEST = 10.0  # spacings of t
TAKEN, LEFT = 0, 1


@struct
class Stages(NamedTuple):
    """Coefficients and scratch of one run of ``size`` unknowns."""

    A: Array  # (12, 12)
    B: Array  # (12,)
    C: Array  # (12,)
    E3: Array  # (13,)
    E5: Array  # (13,)
    K: Array  # (16, size): stages, and those of the dense output
    y: Array  # (size,) at the start of the step
    new: Array  # (size,) at its end, as the formula has it
    closed: Array  # (size,) there on the constraints
    control: Array  # (7,) t, next step, last time, rtol, atol, least step, evaluations; t of the end comes back


@kernel
def step_dop853(
    motion: Program, motion_memory: Array, phi: Program, phi_memory: Array, jacobian: Program, jacobian_memory: Array,
    place: Array, second: Program, second_memory: Array, psi: Program, psi_memory: Array, rates: Program,
    rates_memory: Array, rates_place: Array, weight: Array, w: Work, out: Array, stages: Stages, light: float,
) -> int:  # fmt: skip
    """Take one accepted step of y = (q, v) and choose the next; LEFT where a stage has no answer.

    ``stages.K[0]`` are the rates at ``stages.y``. ``weight`` (n,) are inverse inertias, those of the end come back.
    """
    n, size, control, K = len(weight), 2 * len(weight), stages.control, stages.K
    t, h, refused = control[0], max(control[1], control[5]), False
    while h >= control[5]:
        end = min(t + h, control[2])
        h = end - t
        for s in range(1, STAGES + 1):
            for i in range(size):
                total = 0.0
                for j in range(s):
                    total += (stages.A[s, j] if s < STAGES else stages.B[j]) * K[j, i]
                w.z[i] = stages.y[i] + h * total
            if s == STAGES:
                for i in range(size):
                    stages.new[i] = w.z[i]
            w.z[size] = t + stages.C[s] * h if s < STAGES else end
            control[6] += 1.0
            status = corrected_accelerations(
                motion, motion_memory, phi, phi_memory, jacobian, jacobian_memory, place, second, second_memory, psi,
                psi_memory, rates, rates_memory, rates_place, weight, w, out,
            )  # fmt: skip
            if status != SOLVED:
                return LEFT
            for i in range(size):
                K[s, i] = out[i]
        error = error_norm(stages, h, size)
        if error < 1.0:
            factor = MOST if error == 0.0 else min(MOST, SAFETY * error**EXPONENT)
            control[0], control[1] = end, h * (min(1.0, factor) if refused else factor)
            for i in range(n):
                stages.closed[i], stages.closed[n + i] = w.q[i], w.v[i]
            set_weights(weight, w, n, light)
            return TAKEN
        if not error >= 1.0:
            return LEFT
        h *= max(LEAST, SAFETY * error**EXPONENT)
        refused = True
    return LEFT


@inner_kernel
def error_norm(stages: Stages, h: float, size: int) -> float:
    """Return the estimated error of a step, 1 for the tolerances (Hairer, Norsett and Wanner I, II.10)."""
    five, three, rtol, atol = 0.0, 0.0, stages.control[3], stages.control[4]
    for i in range(size):
        unit = atol + max(abs(stages.y[i]), abs(stages.new[i])) * rtol
        a, b = 0.0, 0.0
        for s in range(STAGES + 1):
            a += stages.E5[s] * stages.K[s, i]
            b += stages.E3[s] * stages.K[s, i]
        five += (a / unit) ** 2
        three += (b / unit) ** 2
    if five == 0.0 and three == 0.0:
        return 0.0
    return float(h * five / np.sqrt((five + 0.01 * three) * size))


@inner_kernel
def set_weights(weight: Array, w: Work, n: int, light: float) -> None:
    """Set the inverse inertias (n,) from M in ``w.terms``, as ``FirstOrderMotion.units_at`` does."""
    largest, total, heavy = 0.0, 0.0, 0
    for i in range(n):
        largest = max(largest, abs(w.terms[i * n + i]))
    for i in range(n):
        inertia = abs(w.terms[i * n + i])
        if inertia > light * largest:
            total += np.log(inertia)
            heavy += 1
    mean = np.exp(total / heavy) if heavy else 1.0
    for i in range(n):
        inertia = abs(w.terms[i * n + i])
        weight[i] = 1.0 / (inertia if inertia > light * largest else mean)


class CompiledDOP853(DOP853):  # type: ignore[misc]
    """DOP853 of SciPy whose steps are one compiled call; a step that the call leaves is SciPy's."""

    t: Any
    y: Any
    f: Any
    h_abs: Any
    K_extended: Any

    def __init__(
        self, equations: FirstOrderMotion, system: CompiledSystem, t: float, t_end: float, **options: Any
    ) -> None:
        super().__init__(equations.rates, t, equations.start, t_end, **options)
        self.equations, self.system, size = equations, system, self.n
        self.weight, self.closed = equations.unit**2, np.zeros(0)  # the end of a compiled step on the constraints
        zeros = np.zeros
        A, B, C, E3, E5 = (np.ascontiguousarray(x, np.float64) for x in (self.A, self.B, self.C, self.E3, self.E5))
        self.K_extended = zeros((len(self.K_extended), size))
        self.K = self.K_extended[: self.n_stages + 1]
        self.stages = Stages(A, B, C, E3, E5, self.K_extended, zeros(size), zeros(size), zeros(size), zeros(7))
        self.call = entry_for(step_dop853, self.arguments())

    def arguments(self) -> tuple[Any, ...]:
        """Return the arguments of the kernel."""
        system = self.system
        return *system.programs, self.weight, system.work, system.out, self.stages, LIGHT

    def _step_impl(self) -> tuple[bool, str | None]:
        """Take one step; this is what SciPy asks of a solver."""
        stages, equations, t = self.stages, self.equations, float(self.t)
        self.weight[:], stages.y[:], stages.K[0] = equations.unit**2, self.y, self.f
        stages.control[:] = t, self.h_abs, self.t_bound, self.rtol, self.atol, SHORTEST * ulp(t), 0.0
        status = self.call(*self.arguments())
        count = int(stages.control[6])
        equations.motion.counts.evaluations += count
        equations.motion.counts.factorisations += count
        if status != TAKEN:
            self.closed = np.zeros(0)
            return super()._step_impl()
        self.t, self.h_abs = float(stages.control[0]), float(stages.control[1])
        self.h_previous, self.y_old = self.t - t, self.y
        self.y, self.closed, self.f = stages.new.copy(), stages.closed.copy(), stages.K[STAGES].copy()
        equations.unit = np.sqrt(self.weight)
        return True, None


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

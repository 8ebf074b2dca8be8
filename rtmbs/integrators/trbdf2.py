"""TR-BDF2: a trapezoidal stage and a backward differentiation stage, L-stable, in joint coordinates (METHODS 7)."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.checks import positive_floats, switches, whole
from rtmbs.integrators.contract import (
    PENALTY,
    USUAL,
    Equations,
    Method,
    NotFinite,
    SingularTangent,
    followed,
    penalty_factors,
    settings_for,
)
from rtmbs.integrators.explicit import complete_step, in_range
from rtmbs.integrators.newton import (
    FAR,
    FOUND,
    GAMMA,
    MOST_EVALUATIONS,
    NEWER,
    OLDER,
    ahead_of_stage,
    ahead_of_step,
    slack,
    starts_stiffly,
)
from rtmbs.integrators.penalty_trapezoidal import FREED, PROJECTIONS_SCALED, RELATIVE
from rtmbs.integrators.projection import largest, project_velocities
from rtmbs.integrators.report import TAKEN, Outcome, StepReport, report_of
from rtmbs.integrators.settings import (
    ADAPTIVE,
    BY_SLOPE,
    EVERY_ITERATION,
    FACTORISATIONS,
    FORCES,
    INERTIA,
    ITERATIONS,
    ITERATIONS_TO_TOLERANCE,
    LEFT,
    LOOP_TOLERANCE,
    MAX_ITERATIONS,
    MOST_TRIES,
    NEAR_SINGULAR,
    OPEN,
    POSITION_VIOLATION,
    RESTING,
    STATS_SIZE,
    STEADY,
    TRY_START,
    VELOCITY_VIOLATION,
    Chunk,
    Settings,
    StateArrays,
    arrays_of,
    one_row_chunk,
)
from rtmbs.integrators.trapezoidal import Damped, TrapezoidalStep, restart
from rtmbs.methods import Capability
from rtmbs.state import State

Array = NDArray[np.float64]

# ---- one step, readable (METHODS 7) ---------------------------------------------------------------------------------


class StageDamped(Damped):
    """A further try of a stage, from first increments and within a neighbourhood of its own."""

    def __init__(self, stage: "Stage", old: StateArrays, number: int) -> None:
        super().__init__(stage, old, number)
        start = TRY_START[number - 1]
        self.ahead = stage.ahead
        self.increment = np.zeros_like(old.z) if start == RESTING else stage.steady if start == STEADY else stage.ahead
        self.tried = self.increment

    def arrive(self, dz: Array) -> bool:
        """Take the last correction; True when it ends in the neighbourhood of the predictor."""
        stats = self.step.stats
        self.increment = self.increment + self.added(dz)
        if not np.all(np.abs(self.increment - self.ahead) <= FAR * self.step.settings.typical):
            return False
        stats[ITERATIONS_TO_TOLERANCE] = stats[ITERATIONS]
        return True


class Stage(TrapezoidalStep):
    """One stage: a trapezoidal step of gamma h from a given past, with its own first increments."""

    ahead: Array  # (n,) first increment
    steady: Array  # (n,) that of constant rates

    def solve(self, past: StateArrays, ahead: Array, steady: Array) -> tuple[Outcome, Array]:
        """Return how the iteration from ``past`` ended, further tries included, and the increment (n,)."""
        self.ahead, self.steady = ahead, steady
        half = 0.5 * self.settings.h
        self.equations.follow_states(past.s + half * past.sd, half)
        restart(self.stats)
        outcome, increment = self.plain(past)
        tries = 0 if self.settings.fixed_iterations else self.settings.tries
        for number in range(1, tries + 1):
            if outcome in TAKEN:
                break
            damped = StageDamped(self, past, number)
            if damped.take_by_slope() if number == BY_SLOPE else damped.take(MOST_EVALUATIONS):
                outcome, increment = Outcome.CONVERGED, damped.increment
        if outcome not in TAKEN:
            restart(self.stats)
            outcome, increment = self.plain(past)  # so that a report tells of it
        return outcome, increment

    def yields(self, new: StateArrays) -> bool:
        """True when loops of the finished step yield so far that multipliers miss their bound, or may (METHODS 1.12).

        Raises NotFinite.
        """
        if not self.equations.m or not slack(self.settings, self.stats):
            return False
        self.equations.close(new.z, new.R0)
        self.stats[FACTORISATIONS] += 1
        try:
            self.equations.factor_mass_metric(0.25 * self.settings.h**2)
            return not self.yielding(new) <= FOUND
        except SingularTangent:
            return True

    def plain(self, past: StateArrays) -> tuple[Outcome, Array]:
        """Take the plain iteration; a factor that is none is a failure of it."""
        try:
            return self.correct(self.ahead, past)
        except SingularTangent:
            return Outcome.SINGULAR_TANGENT, self.ahead
        except NotFinite:
            return Outcome.NOT_FINITE, self.ahead


class TRBDF2Step:
    """One step: both stages, then rates that the loops allow."""

    def __init__(self, equations: Equations, settings: Settings, stats: Array) -> None:
        self.equations, self.settings, self.stats = equations, settings, stats
        self.stage = Stage(equations, settings, stats)

    def take(self, old: StateArrays, new: State, start: Array) -> Outcome:
        """Fill z, zd, s and sd of ``new``; ``start`` (nu,) are the inputs where the step begins."""
        equations, settings, stage = self.equations, self.settings, self.stage
        h, half, typical = settings.h, 0.5 * settings.h, settings.typical
        equations.u = equations.inputs_between(start, new.u, GAMMA, h / GAMMA)
        first, way = stage.solve(old, elementwise(ahead_of_step, h, old.zd, old.zdd, typical), h * old.zd)
        if first not in TAKEN:
            return first
        z, zd, zdd = stage.iterate_at(way, old)
        right = NEWER * zd - OLDER * old.zd
        past_zd = NEWER * way / half
        states = self.states(z, zd, old)
        past = old._replace(zd=past_zd, zdd=(right - past_zd) / half, s=states, sd=np.zeros_like(states))
        equations.u = new.u
        ahead = half * past_zd + half * elementwise(ahead_of_stage, half, right, old.zdd, zdd, typical)
        second, way = stage.solve(past, ahead, half * past_zd + half * right)
        if second not in TAKEN:
            return second
        closed = self.close(way, past, old, new)
        if closed is not Outcome.CONVERGED:
            return closed
        return first if second is Outcome.CONVERGED else second

    def states(self, z: Array, zd: Array, old: StateArrays) -> Array:
        """Return the force states (ns,) that the second stage begins with."""
        if not len(old.s):
            return old.s
        found = old._replace(z=z, zd=zd, s=np.zeros_like(old.s), sd=np.zeros_like(old.s))
        self.equations.close(z, old.R0)
        self.equations.keep_states(found)
        return np.asarray(NEWER * found.s - OLDER * old.s)

    def close(self, way: Array, past: StateArrays, old: StateArrays, new: State) -> Outcome:
        """Write z, zd, s and sd of ``new``, its rates projected in the metric of the last factor (METHODS 7.4)."""
        equations, settings, stage = self.equations, self.settings, self.stage
        z, zd, _ = stage.iterate_at(way, past)
        Phi = equations.close(z, old.R0)
        stage.note(Phi, POSITION_VIOLATION)
        self.stats[OPEN] = largest(Phi, settings)
        if not self.stats[OPEN] <= LOOP_TOLERANCE:
            return Outcome.LOOP_OPEN
        zd, Phid, _ = project_velocities(equations, settings, old, z, zd, self.stats)
        stage.note(Phid, VELOCITY_VIOLATION)
        new.z[:], new.zd[:] = z, zd
        equations.keep_states(arrays_of(new), old, settings.h / GAMMA)
        return Outcome.CONVERGED if in_range(new.z, new.zd, new.s) else Outcome.NOT_FINITE


def elementwise(rule, *values) -> Array:  # type: ignore[no-untyped-def]
    """Return ``rule`` of every coordinate (n,); numbers are the same for all."""
    arrays = np.broadcast_arrays(*values)
    return np.array([rule(*(float(x) for x in one)) for one in zip(*arrays, strict=True)])


# ---- method ---------------------------------------------------------------------------------------------------------


KERNEL = "trbdf2"  # of the compiled step


class FusedTRBDF2(Protocol):
    """The TR-BDF2 step as one compiled kernel for these equations."""

    @property
    def tick(self) -> float:
        """Length of a phase unit [s]."""

    def __call__(
        self, settings: Settings, alpha: Array, weight: Array, old: StateArrays, u: Array, chunk: Chunk, anyhow: bool
    ) -> tuple[Outcome, int]:
        """Take a step for every row from ``old`` with inputs ``u``; how the last one ended, and the accepted steps.

        ``alpha`` (m,) are the penalty factors of stages, ``weight`` (m,) those of loops beside M. A step that
        starts stiffly is taken ``anyhow`` only. What is not accepted is for the readable step, which says why.
        """


@dataclass
class Work:
    """Settings of the stages, penalties, kernel and stats of steps."""

    settings: Settings
    alpha: Array  # (m,) penalty factors of the stages
    weight: Array  # (m,) of the loops beside M [kg or kg m^2]
    fused: FusedTRBDF2 | None
    stats: Array  # (STATS_SIZE,) of the last step


@dataclass(frozen=True)
class TRBDF2(Method):
    """TR-BDF2, L-stable of order two: for stiff dampers, brakes, clutches, bump stops and friction (METHODS 7).

    A step has a trapezoidal stage over 2 - sqrt(2) of it, and a stage of the backward differentiation formula to its
    end. Both have Newton matrices of the same form as ``PenaltyTrapezoidal``, with a smaller step. Infinitely stiff
    damping comes to rest within one step. A vibration with w h = 0.1 loses 7e-7 of its energy in a step, with w h = 1
    it loses 0.6 %. Errors of phase are half of those of the trapezoidal rule.

    A step that starts stiffly is taken in parts that double, the first a thousandth of it: behind a brake that was
    just set, for instance. The report is then that of the last part.

    Rates are projected in the metric of the last Newton matrix, which holds damping. Accelerations and multipliers
    satisfy the equations of motion at the end of the step. ``State.memory`` is empty.

    Parameters
    ----------
    penalty : float, optional
        Dimensionless c of METHODS 1.6, 1e6 unless given.
    tol : float, default 1e-10
        Tolerance of the increments of the stages in typical sizes (1 rad; characteristic length), METHODS 1.11.
    max_iterations : int, default 12
        Largest number of Newton's iterations in a stage.
    fixed_iterations : bool, default False
        True for exactly ``max_iterations`` in each stage: the same work in every step. A step that they do not finish
        is taken and answers UNFINISHED.
    fused : bool, default True
        True for one compiled kernel a step, False for the readable step, for comparison.
    tries : int, optional
        Largest number of further tries of a stage whose Newton iteration fails, damped and from other starts (METHODS
        1.11); 0 for none.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> sim = Simulation(system, h=1e-3, method=rtmbs.TRBDF2())  # doctest: +SKIP
    """

    order: ClassVar[int] = 2
    averages_inputs: ClassVar[bool] = True
    capabilities: ClassVar[frozenset[Capability]] = USUAL | {Capability.RAMPS, Capability.CHUNKS, Capability.BATCH}
    compiled_step: ClassVar[str] = KERNEL

    penalty: float = PENALTY
    tol: float = 1e-10
    max_iterations: int = 12
    fixed_iterations: bool = False
    fused: bool = True
    tries: int = MOST_TRIES

    def __post_init__(self) -> None:
        positive_floats(self, "penalty", "tol")
        whole("max_iterations", self.max_iterations, 1, MAX_ITERATIONS)
        whole("tries", self.tries, 0, MOST_TRIES)
        switches(fixed_iterations=self.fixed_iterations, fused=self.fused)

    @property
    def c(self) -> float:
        """Dimensionless penalty."""
        return self.penalty

    def start(self, equations: Equations, state: State) -> Work:
        """Return settings, penalties, the scratch of steps, and the kernel where the equations have one."""
        fused = equations.step_kernel(KERNEL) if self.fused else None
        alpha = penalty_factors(equations, GAMMA * state.h, self.c, None)
        return Work(self.settings(equations, state.h), alpha, self.c * equations.masses, fused, np.zeros(STATS_SIZE))

    def settings(self, equations: Equations, h: float) -> Settings:
        """Return the Settings of the stages of a step of ``h`` [s]: those of trapezoidal steps of gamma h.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        h : float
            Step [s].

        Returns
        -------
        Settings
            Settings of a stage as a flat struct.
        """
        return settings_for(
            equations,
            self.tol,
            h=GAMMA * float(h),
            relative=RELATIVE,
            max_iterations=int(self.max_iterations),
            fixed_iterations=bool(self.fixed_iterations),
            tries=int(self.tries),
            refactor=EVERY_ITERATION if self.fixed_iterations or equations.binds_rates else ADAPTIVE,
            reuse_below=FREED / float(np.sqrt(max(self.c, 1.0))),
            max_projections=PROJECTIONS_SCALED,
            projection_bound=PROJECTED,
            tangent_terms=INERTIA,
            project_velocities=True,
            project_accelerations=False,
            hold_energy=False,
            mass_metric=False,
            held=float(self.c),
        )

    def pushed(self, equations: Equations, work: Work, state: State, seen: bool = False) -> bool:
        """Let accelerations and multipliers follow changed inputs by the kernel; False where there is none."""
        return self.fused and followed(equations, work.settings, state, seen)

    def loop_weights(self, work: Work, state: State) -> tuple[Array, Array]:
        """Return the penalty factors of the stages (m,), and the weights (m,) of the loops beside M."""
        return work.alpha, work.weight

    def advance(self, equations: Equations, work: Work, old: State, new: State) -> StepReport:
        """Take a step, in graded parts where it starts stiffly."""
        equations.u = new.u
        if bad := equations.not_finite_inputs():
            return StepReport(Outcome.NOT_FINITE, new.t, worst=bad)
        if starts_stiffly(GAMMA * new.h, old.zd, old.zdd, equations.sizes.typical):
            return self.advance_in_parts(equations, work, old, new)
        return self.advance_once(equations, work, old, new)

    def advance_in_parts(self, equations: Equations, work: Work, old: State, new: State) -> StepReport:
        """Take a step in parts that double, the first HALVINGS times halved.

        What dies out at its start is over when the parts grow, so that it costs no accuracy (METHODS 7.6).

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        work : Work
            Object that ``start`` returned.
        old : State
            State at the beginning of the step.
        new : State
            State at the end, written in place.

        Returns
        -------
        StepReport
            Report of the last part, or of the first one that was not taken, with the worst outcome of all.
        """
        here, there, worst = old.copy(), old.copy(), Outcome.CONVERGED
        for k in range(HALVINGS + 1):
            there.h = new.h / 2 ** (HALVINGS if k == 0 else HALVINGS + 1 - k)
            there.u[:] = equations.inputs_between(old.u, new.u, 0.5 ** (HALVINGS - k), new.h)
            report = self.advance_once(equations, work, here, there)
            if report.outcome not in TAKEN:
                break
            worst = worst if report.outcome is Outcome.CONVERGED else report.outcome
            here, there = there, here
        equations.u = new.u
        for name in ("z", "zd", "zdd", "lam", "R0", "s", "sd"):
            getattr(new, name)[:] = getattr(here, name)
        return report._replace(t=new.t, outcome=worst if report.outcome in TAKEN else report.outcome)

    def advance_once(self, equations: Equations, work: Work, old: State, new: State) -> StepReport:
        """Take a step by the kernel, and by the readable step what it does not accept.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        work : Work
            Object that ``start`` returned.
        old : State
            State at the beginning of the step.
        new : State
            State at the end, written in place.

        Returns
        -------
        StepReport
            Outcome, counts and violations of the step.
        """
        follow_step(self, equations, work, new)
        equations.u = new.u
        if work.fused is not None:
            row = one_row_chunk(new, work.stats)
            outcome, _ = work.fused(work.settings, work.alpha, work.weight, arrays_of(old), old.u, row, True)
            if outcome in TAKEN:
                return report_of(work.stats, outcome, new.t, work.fused.tick)
        return self.readable(equations, work, old, new)

    def takes_many(self, equations: Equations) -> bool:
        """True for the fused step."""
        return self.fused and equations.step_kernel(KERNEL) is not None

    def advance_many(self, equations: Equations, work: Work, old: State, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row, in one kernel call; ``advance`` takes again what it does not accept."""
        follow_step(self, equations, work, old)
        equations.u = old.u
        if work.fused is None or equations.not_finite_inputs():
            return 0, True
        outcome, done = work.fused(work.settings, work.alpha, work.weight, arrays_of(old), old.u, chunk, False)
        return done, outcome not in TAKEN

    def readable(self, equations: Equations, work: Work, old: State, new: State) -> StepReport:
        """Take the readable step, with the next solver of ``equations.solvers`` where a pivot is too small.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        work : Work
            Object that ``start`` returned.
        old : State
            State at the beginning of the step.
        new : State
            State at the end, written in place.

        Returns
        -------
        StepReport
            Outcome, counts and violations of the step.
        """
        outcome, start = Outcome.SINGULAR_TANGENT, arrays_of(old)
        equations.alpha = work.alpha
        for solver in equations.solvers:
            equations.solver, work.stats[:] = solver, 0.0
            step = TRBDF2Step(equations, work.settings, work.stats)
            startable = step.stage.startable(start)
            with np.errstate(all="ignore"):
                outcome = step.take(start, new, old.u) if startable else Outcome.NOT_FINITE
            if outcome is not Outcome.SINGULAR_TANGENT:
                break
        equations.u = new.u
        if outcome not in TAKEN:
            worst = equations.worst(outcome, start, work.settings.scale)
            return report_of(work.stats, outcome, new.t, dense=equations.solver.pivoted, worst=worst)
        return self.completed(equations, work, old, new, outcome)

    def completed(self, equations: Equations, work: Work, old: State, new: State, outcome: Outcome) -> StepReport:
        """Return the report of a step whose accelerations and multipliers are solved for now.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        work : Work
            Object that ``start`` returned.
        old : State
            State at the beginning of the step.
        new : State
            State at the end, written in place.
        outcome : Outcome
            How both stages ended.

        Returns
        -------
        StepReport
            Outcome, counts and violations of the step.
        """
        done = complete_step(equations, old, new)
        if done.outcome is Outcome.CONVERGED:
            done = done._replace(outcome=judged(equations, work, new, outcome))
        told = report_of(work.stats, done.outcome, new.t, dense=equations.solver.pivoted, worst=done.worst)
        return told._replace(
            acceleration_violation=done.acceleration_violation,
            acceleration_violation_rotation=done.acceleration_violation_rotation,
        )


HALVINGS = 10  # of a step that starts stiffly: its first part is a thousandth
PROJECTED = 1e-13  # of the largest joint rate: what projections leave, so that nothing adds up over steps


def follow_step(method: TRBDF2, equations: Equations, work: Work, state: State) -> None:
    """Set h and the penalties to those of the state."""
    if GAMMA * state.h != work.settings.h:
        work.settings = work.settings._replace(h=GAMMA * float(state.h))
        work.alpha = penalty_factors(equations, GAMMA * state.h, method.c, None)


def judged(equations: Equations, work: Work, new: State, outcome: Outcome) -> Outcome:
    """NEAR_SINGULAR or UNBALANCED in place of CONVERGED where loops lose a direction, or yield too far."""
    if outcome is not Outcome.CONVERGED:
        return outcome
    if work.stats[NEAR_SINGULAR] > 0.0:
        return Outcome.NEAR_SINGULAR
    try:
        with np.errstate(all="ignore"):
            yields = Stage(equations, work.settings, work.stats).yields(arrays_of(new))
    except NotFinite:
        return Outcome.NOT_FINITE
    if yields:
        work.stats[LEFT] = FORCES
    return Outcome.UNBALANCED if yields else outcome

"""Variational midpoint rule in joint coordinates: symplectic, symmetric, momentum-preserving (METHODS 6).

``ExtrapolatedMidpoint`` takes three runs of its steps to order six in plain Python (METHODS 6.10); it is the oracle of
``extrapolated_step.py``, and serves where force laws need Python and where the kernel does not accept a step.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.checks import positive_floats, switches, whole
from rtmbs.integrators.contract import (
    PENALTY,
    USUAL,
    Equations,
    Method,
    MomentumEquations,
    NotFinite,
    SingularTangent,
    Turned,
    followed,
    settings_for,
)
from rtmbs.integrators.explicit import complete_step, in_range
from rtmbs.integrators.midpoint_arithmetic import FOURTH, MIDDLE, SIXTH, SMALL_ERROR, SMALL_TURN, pairs_in_history
from rtmbs.integrators.newton import (
    ACCEPT,
    DIVERGED,
    ENOUGH,
    LOST_DIRECTION,
    NOT_A_NUMBER,
    PROGRESS,
    ROUNDS,
    SLOW_RATE,
    STIFFER,
    STILL,
    TRUSTED,
    contraction_rate,
    leads_away,
    leaps,
    scaled_norm,
    strays,
    sure_below,
    too_far,
    verdict,
)
from rtmbs.integrators.report import TAKEN, Outcome, StepReport, report_of
from rtmbs.integrators.settings import (
    ADAPTIVE,
    EVERY_ITERATION,
    INERTIA,
    MAX_ITERATIONS,
    STATS_SIZE,
    Chunk,
    Settings,
    StateArrays,
    arrays_of,
    one_row_chunk,
)
from rtmbs.methods import Capability
from rtmbs.state import State

# ---- one step, readable (METHODS 6) ---------------------------------------------------------------------------------

Array = NDArray[np.float64]


class MidpointStep:
    """One step: Newton's iteration on the half increment y, then the rates at the end."""

    def __init__(self, equations: Equations, midpoint: MomentumEquations, settings: Settings, weight: Array) -> None:
        self.equations, self.midpoint, self.settings, self.weight = equations, midpoint, settings, weight
        self.corrections: list[float] = []
        self.to_tolerance, self.near_singular = 0, False

    def take(self, old: State, new: State) -> Outcome:
        """Fill z, zd and s of ``new``; True outcomes are those of Newton's iteration."""
        self.corrections, self.to_tolerance = [], 0
        midpoint, h = self.midpoint, new.h
        try:
            p0 = midpoint.begin(old.z, old.zd, old.R0, old.u)
            self.equations.follow_states(old.s, 0.5 * h)  # at the middle, s = s_n + h/2 ds/dt there
            outcome, y, impulse = self.correct(p0, old, new)
            if outcome not in TAKEN:
                return outcome
            inputs = 0.5 * (old.u + new.u)
            _, tau = midpoint.middle(old.z + y, 2.0 / h * y, old.R0, inputs)
            start = p0 - 2.0 / h * midpoint.pulled(impulse)
            p1 = midpoint.turned_back(2.0 * y, start) - h * midpoint.turned_back(y, tau)
            new.s[:] = old.s + h * midpoint.state_rates()
            new.z[:] = old.z + 2.0 * y
            new.zd[:] = self.rates(p1, 4.0 / h * y - old.zd, old, new)
        except SingularTangent:
            return Outcome.SINGULAR_TANGENT
        except NotFinite:
            return Outcome.NOT_FINITE
        if not in_range(new.z, new.zd, new.s):
            return Outcome.NOT_FINITE
        return Outcome.NEAR_SINGULAR if self.near_singular and outcome is Outcome.CONVERGED else outcome

    def correct(self, p0: Array, old: State, new: State) -> tuple[Outcome, Array, Array]:
        """Return how the iteration ended, the half increment (n,), and h/2 times the impulse of the loops (m,).

        Both unknowns are found at once: (A + P0^T w P1) dy = -f - P0^T w Phi, and the impulse takes w (Phi + P1 dy). A
        is the derivative of f, P0 and P1 those of the loops at the two ends.
        """
        settings, midpoint, h, weight = self.settings, self.midpoint, new.h, STIFFER * self.weight
        y, impulse = 0.5 * h * old.zd + 0.25 * h * h * old.zdd, 0.25 * h * h * old.lam
        inputs = 0.5 * (old.u + new.u)
        previous, slow, strayed, leapt = 0.0, 0, False, False
        for iteration in range(1, settings.max_iterations + 1):
            Phi = midpoint.end(old.z + 2.0 * y, old.R0, new.u) + midpoint.slip(y)
            p, tau = midpoint.middle(old.z + y, 2.0 / h * y, old.R0, inputs)
            start = p0 - 2.0 / h * midpoint.pulled(impulse)
            f = 0.5 * h * (midpoint.undone(y, p) - midpoint.half_turned(y, start)) + 0.25 * h * h * tau
            midpoint.factor(h, y, start, weight)
            dy = self.equations.solve(-f - midpoint.pulled_left(0.5 * weight * Phi), refined=True)
            impulse = impulse + 0.5 * weight * (Phi + midpoint.moved_right(dy))
            y = self.equations.corrected(y, dy)
            norm = float(scaled_norm(dy, y, settings.absolute, 0.0))
            rate = contraction_rate(norm, previous)
            self.corrections.append(norm)
            strayed = strayed or strays(settings, norm, previous)
            slow += iteration > 1 and rate > SLOW_RATE
            sure = sure_below(settings, self.equations.stiffness, old.z)
            answer, previous = verdict(iteration, norm, rate, slow, sure), norm
            if answer == NOT_A_NUMBER:
                return Outcome.NOT_FINITE, y, impulse
            leapt = leaps(settings, iteration, leapt, norm, dy, 2.0)
            strayed |= leapt and answer == ACCEPT and leads_away(y, 0.5 * h * old.zd, 2.0, settings.typical)
            if answer == ACCEPT and not self.to_tolerance:
                self.to_tolerance = 0 if strayed else iteration
                if iteration > TRUSTED and too_far(h, 2.0 * y, old.zd, old.zdd, settings.typical):
                    return Outcome.NOT_CONVERGED, y, impulse
            if not settings.fixed_iterations and (answer == DIVERGED or strayed):
                return Outcome.NOT_CONVERGED, y, impulse
            if answer == ACCEPT and not settings.fixed_iterations:
                return Outcome.CONVERGED, y, impulse
        if self.to_tolerance:
            return Outcome.CONVERGED, y, impulse
        return (Outcome.UNFINISHED if settings.fixed_iterations else Outcome.NOT_CONVERGED), y, impulse

    def rates(self, p1: Array, guess: Array, old: Turned, new: State) -> Array:
        """Return zd (n,) with M zd = p1 - Phi_z^T Lambda and Phid = 0 where the step ends; rotations begin at ``old``.

        Every round corrects what is left of both equations, so momenta are kept to rounding and not to that of the
        factor.
        """
        equations, midpoint, weight = self.equations, self.midpoint, STIFFER * self.weight
        midpoint.end(new.z, old.R0, new.u)
        midpoint.factor_end(weight)
        zd, impulse, previous = guess, np.zeros(equations.m), np.inf
        for _ in range(ROUNDS):
            left = p1 - midpoint.here(zd) - equations.pull_back(impulse)
            Phid = equations.closure_velocities(zd)
            change = equations.solve(left - equations.pull_back(weight * Phid), refined=True)
            zd, impulse = zd + change, impulse + weight * (Phid + equations.apply_Phi_z(change))
            size, fastest = (float(np.max(np.abs(x) / self.settings.typical, initial=0.0)) for x in (change, zd))
            if not size > ENOUGH * fastest or size > PROGRESS * previous:
                break
            previous = size
        open_by = float(np.max(np.abs(equations.closure_velocities(zd)) / self.settings.scale, initial=0.0))
        settings = self.settings
        still = STILL * settings.absolute[0] / settings.typical[0] / settings.h
        fastest = float(np.max(np.abs(zd) / settings.typical, initial=0.0))
        self.near_singular = open_by > LOST_DIRECTION * fastest + still
        return np.asarray(zd)

    def counted(self, report: StepReport) -> StepReport:
        """Return the report with the counts of the iteration."""
        count = len(self.corrections)
        return report._replace(
            iterations=count,
            iterations_to_tolerance=self.to_tolerance,
            evaluations=count,
            jacobians=count,
            factorisations=count + 1,
            corrections=tuple(self.corrections),
            dense=self.equations.solver.pivoted,
        )


REUSED_BELOW = 1e-3  # typical sizes: the largest correction behind which a factor may serve again (METHODS 6.5)


KERNEL, EXTRAPOLATED = "variational-midpoint", "extrapolated-midpoint"  # of the compiled step, and of its extrapolation


class FusedMidpoint(Protocol):
    """The variational midpoint step as one compiled kernel for these equations."""

    @property
    def tick(self) -> float:
        """Length of a phase unit [s]."""

    def __call__(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk
    ) -> tuple[Outcome, int]:
        """Take a step for every row from ``old`` with inputs ``u``; how the last one ended, and the accepted steps.

        What it does not accept is for the readable step, which says why.
        """


@dataclass
class Work:
    """Settings, weights, equations, kernel and stats of steps."""

    settings: Settings
    weight: Array  # (m,) of the loops beside M [kg or kg m^2]
    midpoint: MomentumEquations
    fused: FusedMidpoint | None
    stats: Array  # (STATS_SIZE,) of the last step


@dataclass(frozen=True)
class VariationalMidpoint(Method):
    """Variational midpoint rule: discrete equations of Hamilton's principle, with loops held by impulses (METHODS 6).

    Momenta M zd are what a step carries on. Those that no force changes stay as they are, to rounding: of a floating or
    sliding base with loops too. Angular momentum is kept about a fixed point; about a moving mass centre its error is
    of order h^2. Energies of conservative mechanisms swing by an amount of order h^2 and do not drift, and nothing
    balances them. Errors of all quantities are even powers of h.

    Forces act at the middle of the step, with the mean of the inputs at its ends. Accelerations and multipliers are
    those that satisfy the equations of motion at the end. Steps that are not recorded leave rates and
    accelerations out, which halves their cost. ``State.memory`` holds ``momentum``, what the next step begins
    with: the momentum before the loops act at the end, and the increments of the last steps.

    Parameters
    ----------
    penalty : float, optional
        Dimensionless c of METHODS 1.6, 1e6 unless given. It decides how fast multipliers are found, not how closed
        loops are: multipliers are carried over from step to step.
    tol : float, default 1e-10
        Tolerance of the increment in typical sizes (1 rad; characteristic length), METHODS 1.11.
    max_iterations : int, default 12
        Largest number of Newton's iterations.
    fixed_iterations : bool, default False
        True for exactly ``max_iterations``: the same work in every step. A step that they do not finish is taken and
        answers UNFINISHED.
    fused : bool, default True
        True for one compiled kernel a step, False for the readable step, for comparison.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> sim = Simulation(system, h=5e-3, method=rtmbs.VariationalMidpoint())  # doctest: +SKIP
    """

    order: ClassVar[int] = 2
    symmetric: ClassVar[bool] = True
    averages_inputs: ClassVar[bool] = True
    extrapolates: ClassVar[bool] = True
    capabilities: ClassVar[frozenset[Capability]] = USUAL | {
        Capability.RAMPS,
        Capability.CHUNKS,
        Capability.TOLERANCE,
        Capability.SENSITIVITY,
        Capability.BATCH,
    }
    compiled_step: ClassVar[str] = KERNEL

    penalty: float = PENALTY
    tol: float = 1e-10
    max_iterations: int = 12
    fixed_iterations: bool = False
    fused: bool = True

    def __post_init__(self) -> None:
        positive_floats(self, "penalty", "tol")
        whole("max_iterations", self.max_iterations, 1, MAX_ITERATIONS)
        switches(fixed_iterations=self.fixed_iterations, fused=self.fused)

    @property
    def c(self) -> float:
        """Dimensionless penalty."""
        return self.penalty

    def remember(self, equations: Equations, h: float) -> dict[str, Array]:
        """Return a history that belongs to no state."""
        pairs = pairs_in_history(equations.n, equations.m, equations.states, equations.shapes["R0"][0])
        return {"momentum": np.zeros((pairs, 2))}

    def start(self, equations: Equations, state: State) -> Work:
        """Return settings, the scratch of steps, and the kernel where the equations have one."""
        midpoint = equations.in_momenta()
        fused = equations.step_kernel(KERNEL) if self.fused else None
        return Work(self.settings(equations, state.h), self.c * equations.masses, midpoint, fused, np.zeros(STATS_SIZE))

    def settings(self, equations: Equations, h: float) -> Settings:
        """Return the Settings of a step of ``h`` [s]; nothing is projected, and no energy is held.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        h : float
            Step [s].

        Returns
        -------
        Settings
            Settings of a step as a flat struct.
        """
        return settings_for(
            equations,
            self.tol,
            h=float(h),
            relative=0.0,
            max_iterations=int(self.max_iterations),
            fixed_iterations=bool(self.fixed_iterations),
            tries=0,
            refactor=EVERY_ITERATION if self.fixed_iterations else ADAPTIVE,
            reuse_below=REUSED_BELOW,
            max_projections=0,
            projection_bound=0.0,
            tangent_terms=INERTIA,
            project_velocities=False,
            project_accelerations=False,
            hold_energy=False,
            mass_metric=True,
            held=float(self.c),
        )

    def pushed(self, equations: Equations, work: Work, state: State, seen: bool = False) -> bool:
        """Let accelerations and multipliers follow changed inputs by the kernel; False where there is none."""
        return self.fused and followed(equations, work.settings, state, seen)

    def loop_weights(self, work: Work, state: State) -> tuple[Array, Array]:
        """Return the weights (m,) of the loops beside M; penalty factors are not used."""
        return np.zeros_like(state.lam), work.weight

    def advance(self, equations: Equations, work: Work, old: State, new: State) -> StepReport:
        """Take a step by the kernel, and by the readable step what it does not accept."""
        follow_step(work, new)
        equations.u = new.u
        if bad := equations.not_finite_inputs():
            return StepReport(Outcome.NOT_FINITE, new.t, worst=bad)
        if work.fused is not None:
            row = one_row_chunk(new, work.stats)
            outcome, _ = work.fused(work.settings, work.weight, arrays_of(old), old.u, row)
            if outcome in TAKEN:
                return report_of(work.stats, outcome, new.t, work.fused.tick)
        return self.readable(equations, work, old, new)

    def takes_many(self, equations: Equations) -> bool:
        """True for the fused step."""
        return self.fused and equations.step_kernel(KERNEL) is not None

    def advance_many(self, equations: Equations, work: Work, old: State, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row, in one kernel call; ``advance`` takes again what it does not accept."""
        follow_step(work, old)
        equations.u = old.u
        if work.fused is None or equations.not_finite_inputs():
            return 0, True
        outcome, done = work.fused(work.settings, work.weight, arrays_of(old), old.u, chunk)
        return done, outcome not in TAKEN

    def readable(self, equations: Equations, work: Work, old: State, new: State) -> StepReport:
        """The readable step, by the surest solver when the others meet too small a pivot.

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
        outcome, step = Outcome.SINGULAR_TANGENT, MidpointStep(equations, work.midpoint, work.settings, work.weight)
        for solver in equations.solvers:
            equations.solver = solver
            with np.errstate(all="ignore"):
                outcome = step.take(old, new)
            if outcome is not Outcome.SINGULAR_TANGENT:
                break
        if outcome not in TAKEN:
            worst = equations.worst(outcome, arrays_of(old), work.settings.scale)
            return step.counted(StepReport(outcome, new.t, worst=worst))
        report = step.counted(complete_step(equations, old, new))
        if outcome is not Outcome.CONVERGED and report.outcome in TAKEN:
            return report._replace(outcome=outcome)
        return report


def follow_step(work: Work, state: State) -> None:
    """Set h to that of the state."""
    if state.h != work.settings.h:
        work.settings = work.settings._replace(h=float(state.h))


# ---- extrapolated steps ---------------------------------------------------------------------------------------------

PARTS = 1, 2, 4  # of a step, in midpoint steps


class Extrapolated(NamedTuple):
    """One step, judged."""

    report: StepReport
    new: State
    error: Array  # (2, n) of positions and rates
    second: Array  # (2, n) the same part of the difference between two and four midpoint steps
    coarse: State  # where one midpoint step ends


class ExtrapolatedMidpoint:
    """Steps of one, two and four midpoint steps, extrapolated to order six and put back on the loops."""

    def __init__(self, method: VariationalMidpoint, equations: Equations, work: Work) -> None:
        self.method, self.equations, self.work = method, equations, work

    def take(self, old: State, h: float, inputs: Array) -> Extrapolated:
        """Take one step of ``h`` [s]; ``inputs`` (4, nu) are those at the ends of its quarters."""
        zero = np.zeros((2, self.equations.n))
        ends, wrenches = [], []
        for parts in PARTS:
            report, end, P = self.run(old, h, parts, inputs)
            if report.outcome not in TAKEN:
                return Extrapolated(report, end, zero, zero, end)
            ends.append(end)
            wrenches.append(P)
        with np.errstate(all="ignore"):
            report, new, error, second = self.combine(old, h, ends, wrenches)
        return Extrapolated(report, new, error, second, ends[0])

    def run(self, old: State, h: float, parts: int, inputs: Array) -> tuple[StepReport, State, Array]:
        """Take a step in equal parts; returns the report of the last one, the state, and the momenta of all dofs."""
        before = placed(old, old.t, h / parts)
        for i in range(parts):
            new = before.copy()
            new.k, new.u[:] = before.k + 1, inputs[(i + 1) * (4 // parts) - 1]
            report = self.method.advance(self.equations, self.work, before, new)
            if report.outcome not in TAKEN:
                return report, new, np.zeros((0, 6))
            before = new
        midpoint = self.work.midpoint
        midpoint.end(before.z, before.R0, before.u)
        return report, before, midpoint.wrenches(before.zd)

    def combine(
        self, old: State, h: float, ends: list[State], wrenches: list[Array]
    ) -> tuple[StepReport, State, Array, Array]:
        """Return the extrapolation, on the loops, with its errors."""
        one, two, four = ends
        midpoint, new = self.work.midpoint, placed(four, old.t, h)
        new.k = 1
        parts = {}
        for name in ("z", "zd", "s"):
            fine = getattr(four, name)
            parts[name] = getattr(one, name) - fine, getattr(two, name) - fine
        turns = midpoint.turns(four.R0, one.R0), midpoint.turns(four.R0, two.R0)
        parts["z"] = parts["z"][0] + turns[0], parts["z"][1] + turns[1]  # the positions of rotation dofs are zero
        for name, (a, b) in parts.items():
            getattr(new, name)[:] += SIXTH * a - MIDDLE * b
        error = np.array([FOURTH * (a - 5.0 * b) for a, b in (parts["z"], parts["zd"])])
        second = np.array([4.0 * FOURTH * b for _, b in (parts["z"], parts["zd"])])
        self.equations.commit(new)
        report = StepReport(Outcome.SINGULAR_TANGENT, new.t)
        for solver in self.equations.solvers:
            self.equations.solver = solver
            report = self.end(new, wrenches)
            if report.outcome is not Outcome.SINGULAR_TANGENT:
                break
        return report, new, error, second

    def end(self, new: State, wrenches: list[Array]) -> StepReport:
        """Put an extrapolated state on the loops, with rates of the extrapolated momenta, and accelerations."""
        midpoint = self.work.midpoint
        try:
            self.close_loops(new)
            P = wrenches[2] + SIXTH * (wrenches[0] - wrenches[2]) - MIDDLE * (wrenches[1] - wrenches[2])
            midpoint.end(new.z, new.R0, new.u)
            step = MidpointStep(self.equations, midpoint, self.work.settings, self.work.weight)
            new.zd[:] = step.rates(midpoint.along(P), new.zd, new, new)
        except SingularTangent:
            return StepReport(Outcome.SINGULAR_TANGENT, new.t)
        except NotFinite:
            return StepReport(Outcome.NOT_FINITE, new.t)
        return complete_step(self.equations, new, new)

    def close_loops(self, new: State) -> None:
        """Move positions to the loops by the least change in the metric of M."""
        equations, midpoint, stiff = self.equations, self.work.midpoint, STIFFER * self.work.weight
        before = np.inf
        for number in range(ROUNDS):
            Phi = midpoint.end(new.z, new.R0, new.u)
            left = float(np.max(np.abs(Phi) / self.work.settings.scale, initial=0.0))
            if not left > SMALL_ERROR or left > PROGRESS * before:
                return
            before = left
            if number == 0:
                midpoint.factor_end(stiff)
            new.z += equations.solve(-equations.pull_back(stiff * Phi), refined=True)
            equations.commit(new)

    def grown(self, old: State, h: float, taken: Extrapolated, last: Array) -> Array:
        """Return the error (2, n) after a step: that of before, moved as a neighbour of the motion, and its own."""
        typical, midpoint = self.work.settings.typical, self.work.midpoint
        size = float(np.max(np.abs(last) * [[1.0], [h]] / typical, initial=0.0))
        moved = np.array([last[0] + h * last[1], last[1]])
        if size > 0.0:
            scale = SMALL_TURN / size
            start = placed(old, old.t, h)
            start.z += scale * last[0]
            start.zd += scale * last[1]
            self.equations.commit(start)
            end = start.copy()
            end.k, end.u[:] = 1, taken.coarse.u
            if self.method.advance(self.equations, self.work, start, end).outcome in TAKEN:
                apart = end.z - taken.coarse.z + midpoint.turns(taken.coarse.R0, end.R0)
                moved = np.array([apart, end.zd - taken.coarse.zd]) / scale
        return moved + taken.error


def placed(state: State, t: float, h: float) -> State:
    """Return a copy from which steps of ``h`` [s] go, at ``t`` [s]."""
    copy = state.copy()
    copy.t_ref, copy.k, copy.h = float(t), 0, float(h)
    return copy

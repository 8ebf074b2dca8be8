"""Explicit steps in joint coordinates: Runge-Kutta stages, Adams-Bashforth, velocity Verlet, semi-implicit Euler.

Stages end with a check of the loops and the accelerations at the end. Velocity Verlet and semi-implicit Euler are
methods of trees (METHODS 9), with compiled steps.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import InputError, StartError
from rtmbs.integrators.checks import switches
from rtmbs.integrators.contract import PENALTY, USUAL, Equations, Method, settings_for
from rtmbs.integrators.report import TAKEN, Outcome, StepReport, report_of
from rtmbs.integrators.settings import (
    EVERY_STEP,
    INERTIA,
    LOOP_TOLERANCE,
    SEMI_IMPLICIT,
    STATS_SIZE,
    VERLET,
    Chunk,
    ExplicitRule,
    Settings,
    StateArrays,
    arrays_of,
    one_row_chunk,
    rule_of_kind,
)
from rtmbs.integrators.tableaux import RK4, Tableau, stepped
from rtmbs.methods import Capability, demand
from rtmbs.state import State

Array = NDArray[np.float64]
DRIFT = 1e-8  # of the sizes: what a loop opens by in one step
STEPS = 3  # accelerations that a step is taken with: its own, and those of the steps before


def runge_kutta_step(equations: Equations, tableau: Tableau, old: State, u: Array) -> tuple[Array, ...]:
    """Return z, zd and s at the end of the step from ``old``; ``u`` (nu,) are its inputs. Raises StartError."""
    parts = equations.n, 2 * equations.n
    equations.u = u

    def rates(values: Array, c: float) -> Array:
        z, zd, s = np.split(values, parts)
        equations.at(old.t + c * old.h)
        zdd, _, sd = equations.accelerations(z, zd, old.R0, s)
        return np.concatenate((equations.coordinate_rates(z, zd), zdd, sd))

    start = np.concatenate((old.z, old.zd, old.s))
    slope = np.concatenate((equations.coordinate_rates(old.z, old.zd), old.zdd, old.sd))
    return tuple(np.split(stepped(tableau, old.h, start, slope, rates), parts))


def complete_step(equations: Equations, old: State, new: State) -> StepReport:
    """Complete ``new``, whose z, zd and s are those of the end, and return the report of the step.

    LOOP_OPEN or NOT_FINITE where it is not taken; UNPROJECTED or UNBALANCED where rates drift off the loops, or no
    accelerations satisfy the equations of motion.
    """
    scale, rotation = equations.sizes.scale, equations.sizes.rotation
    new.R0[:], equations.u = old.R0, new.u
    if bad := equations.not_finite_inputs():
        return StepReport(Outcome.NOT_FINITE, new.t, worst=bad)
    outcome, Phi, Phid, Phidd = Outcome.NOT_FINITE, *np.zeros((3, equations.m))
    if in_range(new.z, new.zd, new.s):
        Phi = equations.close(new.z, new.R0)
        Phid = equations.closure_velocities(new.zd)
        still_closed = np.max(np.abs(Phi) / scale, initial=0.0) <= LOOP_TOLERANCE
        outcome = solve_accelerations(equations, new) if still_closed else Outcome.LOOP_OPEN
    if outcome not in TAKEN:
        return StepReport(outcome, new.t, worst=equations.worst(outcome, arrays_of(old), scale))
    if equations.m:
        outcome, Phidd = drift_outcome(equations, new, Phid)
    equations.commit(new)
    largest = [
        float(np.max(np.abs(x[rows]), initial=0.0)) for x in (Phi, Phid, Phidd) for rows in (~rotation, rotation)
    ]
    return StepReport(
        outcome, new.t, position_violation=largest[0], position_violation_rotation=largest[1],
        velocity_violation=largest[2], velocity_violation_rotation=largest[3],
        acceleration_violation=largest[4], acceleration_violation_rotation=largest[5],
    )  # fmt: skip


def drift_outcome(equations: Equations, new: State, Phid: Array) -> tuple[Outcome, Array]:
    """Return the Outcome of a step from its accelerations, and their Phidd (m,).

    Rates may drift as far as positions may: by LOOP_TOLERANCE of the largest rate, or of that which an acceleration
    makes of it in a step. A drift that opens no loop by more than DRIFT in a step is none.
    """
    sizes, found = equations.sizes, equations.missed(arrays_of(new), new.h)
    rate = np.max((np.abs(new.zd) + new.h * np.abs(new.zdd)) / sizes.typical, initial=0.0)
    drifted = np.max(np.abs(Phid) / sizes.scale, initial=0.0) > LOOP_TOLERANCE * rate + DRIFT / new.h
    if drifted or np.any(found.loops):
        return Outcome.UNPROJECTED, found.violation
    return (Outcome.UNBALANCED if np.any(found.forces) else Outcome.CONVERGED), found.violation


def solve_accelerations(equations: Equations, new: State) -> Outcome:
    """Solve for zdd and lam of ``new``; returns CONVERGED, or NOT_FINITE where there are none."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            new.zdd[:], new.lam[:], new.sd[:] = equations.accelerations(new.z, new.zd, new.R0, new.s)
    except StartError:
        return Outcome.NOT_FINITE
    return Outcome.CONVERGED if in_range(new.zdd, new.lam, new.sd) else Outcome.NOT_FINITE


def in_range(*arrays: Array) -> bool:
    """True when every entry is a number that a mechanism may have."""
    return all(float(np.abs(values).max(initial=0.0)) <= BEYOND for values in arrays)  # NaN is not


@dataclass(frozen=True)
class AdamsBashforth(Method):
    """Adams-Bashforth method of order three, with accelerations that keep Phidd = 0.

    Accelerations of three steps are extrapolated; rates are their integral, and positions that of the rates. The first
    steps, and those after a change of inputs, of h or of the state, are Runge-Kutta steps. Loops drift as there.
    ``State.memory`` holds the accelerations of earlier steps and behind them the rates of force states, ``history``
    (2, n + ns), how many there are, ``known``, and z, zd and s of the path that they belong to, ``path`` (2 n + ns,).

        Simulation(system, h=1e-3, method=AdamsBashforth())
    """

    order: ClassVar[int] = 3

    def remember(self, equations: Equations, h: float) -> dict[str, Array]:
        """Return a history that is empty."""
        rates = equations.n + equations.states
        return {"history": np.zeros((STEPS - 1, rates)), "known": np.zeros(1), "path": np.zeros(equations.n + rates)}

    def moved(self, equations: Equations, state: State) -> None:
        """Forget the history of another path."""
        if not np.array_equal(state.memory["path"], np.concatenate((state.z, state.zd, state.s))):
            self.pushed(equations, None, state)

    def pushed(self, equations: Equations, work: Any, state: State, seen: bool = False) -> bool:
        """Forget the history: accelerations jump with the inputs."""
        if not seen:
            state.memory["known"][:] = 0.0
        return False

    def advance(self, equations: Equations, work: Any, old: State, new: State) -> StepReport:
        """Take a step, and remember the accelerations that it began with."""
        known = int(old.memory["known"][0])
        try:
            if known < STEPS - 1:
                new.z[:], new.zd[:], new.s[:] = runge_kutta_step(equations, RK4, old, new.u)
            else:
                new.z[:], new.zd[:], new.s[:] = adams_bashforth_step(equations, old)
        except StartError:
            new.z[:] = np.nan
        new.memory["history"][:] = [rates_to_extrapolate(old), *old.memory["history"][:-1]]
        new.memory["known"][:] = min(known + 1, STEPS - 1)
        report = complete_step(equations, old, new)
        new.memory["path"][:] = np.concatenate((new.z, new.zd, new.s))
        return report


def rates_to_extrapolate(state: State) -> Array:
    """Return accelerations, then rates of force states (n + ns,)."""
    return np.concatenate((state.zdd, state.sd))


def adams_bashforth_step(equations: Equations, old: State) -> tuple[Array, Array, Array]:
    """Return z, zd and s at the end of the step, of the polynomial through the rates that are known."""
    values, n = np.array([rates_to_extrapolate(old), *old.memory["history"]]), equations.n
    powers = np.linalg.solve(np.vander(-np.arange(STEPS), increasing=True).astype(np.float64), values)
    whole = powers / np.arange(1, STEPS + 1)[:, None] * old.h

    def rate(c: float) -> Array:
        """zd at t_n + c h."""
        return old.zd + np.array([c**k for k in range(1, STEPS + 1)]) @ whole[:, :n]

    slope = equations.coordinate_rates(old.z, rate(0.0))
    z = stepped(RK4, old.h, old.z, slope, lambda z, c: equations.coordinate_rates(z, rate(c)))
    return z, rate(1.0), old.s + whole[:, n:].sum(axis=0)


KERNEL = "explicit"  # name of the compiled step
GROWTH = 1.001  # of a motion in a step, beyond that of the equations: above, the start is refused as unstable
FINEST = 40  # halvings of a step in the search for a stable one


class FusedExplicit(Protocol):
    """Explicit steps of a tree as one compiled kernel for these equations."""

    @property
    def tick(self) -> float:
        """Length of a phase unit [s]."""

    def __call__(self, settings: Settings, rule: ExplicitRule, old: StateArrays, chunk: Chunk) -> tuple[Outcome, int]:
        """Take a step for every row from ``old``; how the last one ended, and the accepted steps."""

    def follow(self, state: StateArrays, u: Array) -> bool:
        """Let accelerations of ``state`` follow its inputs; False, as they were, where there are none."""

    def linearised(self, state: StateArrays, u: Array) -> tuple[Array, Array] | None:
        """Return M^-1 K and M^-1 C (n, n) at ``state``; None where nothing gives stiffness or damping."""


@dataclass
class Work:
    """Settings, rule, kernel and stats of explicit steps."""

    settings: Settings
    rule: ExplicitRule
    fused: FusedExplicit | None
    stats: Array  # (STATS_SIZE,) of the last step


def explicit_settings(equations: Equations, h: float) -> Settings:
    """Return the Settings of explicit steps of ``h`` [s]: sizes alone count, for nothing is iterated or projected."""
    return settings_for(
        equations,
        1e-10,
        h=float(h),
        relative=0.0,
        max_iterations=1,
        fixed_iterations=False,
        tries=0,
        refactor=EVERY_STEP,
        reuse_below=0.0,
        max_projections=0,
        projection_bound=0.0,
        tangent_terms=INERTIA,
        project_velocities=False,
        project_accelerations=False,
        hold_energy=False,
        mass_metric=False,
        held=PENALTY,
    )


def explicit_work(equations: Equations, h: float, rule: ExplicitRule, fused: bool) -> Work:
    """Return what explicit steps of ``h`` [s] need, with the kernel where the equations have one."""
    kernel = equations.step_kernel(KERNEL) if fused else None
    return Work(explicit_settings(equations, h), rule, kernel, np.zeros(STATS_SIZE))


def follow_explicit(equations: Equations, work: Work, state: State) -> bool:
    """Let accelerations follow changed inputs by the kernel; False where there is none."""
    if work.fused is None or not np.all(np.abs(state.u) <= BEYOND):
        return False
    return work.fused.follow(arrays_of(state), state.u)


def fused_report(equations: Equations, work: Work, old: State, new: State) -> StepReport | None:
    """Take a step by the kernel; its report, or None where it is for the readable step."""
    equations.u = new.u
    if work.fused is None or equations.not_finite_inputs():
        return None
    follow_h(work, new)
    outcome, _ = work.fused(work.settings, work.rule, arrays_of(old), one_row_chunk(new, work.stats))
    return report_of(work.stats, outcome, new.t, work.fused.tick) if outcome in TAKEN else None


def many_steps(equations: Equations, work: Work, old: State, chunk: Chunk) -> tuple[int, bool]:
    """Take a step for every row in one kernel call; (accepted steps, whether the next one is for ``advance``)."""
    equations.u = old.u
    if work.fused is None or equations.not_finite_inputs():
        return 0, True
    follow_h(work, old)
    outcome, done = work.fused(work.settings, work.rule, arrays_of(old), chunk)
    return done, outcome not in TAKEN


def follow_h(work: Work, state: State) -> None:
    """Set h to that of the state."""
    if state.h != work.settings.h:
        work.settings = work.settings._replace(h=float(state.h))


# ---- methods of trees -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreeMethod(Method):
    """Explicit method of mechanisms without loops and drivers."""

    capabilities: ClassVar[frozenset[Capability]] = (USUAL - {Capability.LOOPS, Capability.REDUNDANT}) | {
        Capability.CHUNKS,
        Capability.BATCH,
    }
    compiled_step: ClassVar[str] = KERNEL
    kind: ClassVar[int]

    fused: bool = True

    def __post_init__(self) -> None:
        switches(fused=self.fused)

    def start(self, equations: Equations, state: State) -> Work:
        """Return what steps need; InputError for loops, and for a step in which the fastest motion would grow."""
        if equations.m:
            demand(self, Capability.LOOPS, "a mechanism with closed loops or drivers")
        work = explicit_work(equations, state.h, rule_of_kind(self.kind), self.fused)
        demand_stable(self, equations, state)
        return work

    def linear_step(self, h: float, A: Array, B: Array) -> Array:
        """Return the matrix (2n, 2n) of a step of zdd = A z + B zd, by (z, zd)."""
        raise NotImplementedError

    def take(self, equations: Equations, old: State, new: State) -> None:
        """Write z, zd and s of ``new``, readable; StartError where M is singular."""
        raise NotImplementedError

    def pushed(self, equations: Equations, work: Work, state: State, seen: bool = False) -> bool:
        """Let accelerations follow changed inputs by the kernel; False where there is none."""
        return follow_explicit(equations, work, state)

    def advance(self, equations: Equations, work: Work, old: State, new: State) -> StepReport:
        """Take a step by the kernel, and by the readable step what it does not accept."""
        report = fused_report(equations, work, old, new)
        if report is not None:
            return report
        equations.u = new.u
        try:
            with np.errstate(all="ignore"):
                self.take(equations, old, new)
        except StartError:
            new.z[:] = np.nan
        return complete_step(equations, old, new)

    def takes_many(self, equations: Equations) -> bool:
        """True for the fused step."""
        return self.fused and equations.step_kernel(KERNEL) is not None

    def advance_many(self, equations: Equations, work: Work, old: State, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row, in one kernel call; ``advance`` takes again what it does not accept."""
        return many_steps(equations, work, old, chunk)


@dataclass(frozen=True)
class VelocityVerlet(TreeMethod):
    """Velocity Verlet, explicit of order two with one mass matrix a step: for trees without stiff forces (METHODS 9).

    Positions follow from rates and accelerations at the start. Accelerations at the end are evaluated at rates that are
    predicted, and rates take the mean of both ends. Where forces depend on positions alone, and inertia is constant,
    the rule is symplectic. Closed loops and drivers are refused, and so is a start from which springs or dampers would
    make the motion grow.

    Parameters
    ----------
    fused : bool, default True
        True for one compiled kernel a step, False for the readable step, for comparison.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> sim = Simulation(system, h=5e-3, method=rtmbs.methods.VelocityVerlet())  # doctest: +SKIP
    """

    order: ClassVar[int] = 2
    kind: ClassVar[int] = VERLET

    def linear_step(self, h: float, A: Array, B: Array) -> Array:
        """Return the matrix (2n, 2n) of a step of zdd = A z + B zd, by (z, zd).

        Parameters
        ----------
        h : float
            Step [s].
        A, B : ndarray
            Derivatives (n, n) of accelerations by positions and rates.

        Returns
        -------
        ndarray
            Matrix of the step.
        """
        one, none = np.eye(len(A)), np.zeros_like(A)
        start, z, zd = np.hstack((A, B)), np.hstack((one, none)), np.hstack((none, one))
        end = z + h * zd + 0.5 * h * h * start
        return np.vstack((end, zd + 0.5 * h * (start + A @ end + B @ (zd + h * start))))

    def take(self, equations: Equations, old: State, new: State) -> None:
        """Write z, zd and s of ``new``.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System, with the inputs at the end of the step.
        old : State
            State at the beginning of the step.
        new : State
            State at the end, written in place.
        """
        h = old.h
        new.z[:] = old.z + h * (old.zd + 0.5 * h * old.zdd)
        zdd, _, sd = equations.accelerations(new.z, old.zd + h * old.zdd, old.R0, old.s + h * old.sd)
        new.zd[:], new.s[:] = old.zd + 0.5 * h * (old.zdd + zdd), old.s + 0.5 * h * (old.sd + sd)


@dataclass(frozen=True)
class SemiImplicitEuler(TreeMethod):
    """Semi-implicit (symplectic) Euler rule, of order one: the default of MuJoCo, for trees (METHODS 9).

    Rates at the end follow from the accelerations at the start, and positions from these rates. Dampers are explicit
    too. Closed loops and drivers are refused, and so is a start from which a spring or a damper would make the motion
    grow. ``VelocityVerlet`` costs little more and is of order two.

    Parameters
    ----------
    fused : bool, default True
        True for one compiled kernel a step, False for the readable step, for comparison.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> sim = Simulation(system, h=5e-3, method=rtmbs.methods.SemiImplicitEuler())  # doctest: +SKIP
    """

    order: ClassVar[int] = 1
    kind: ClassVar[int] = SEMI_IMPLICIT

    def linear_step(self, h: float, A: Array, B: Array) -> Array:
        """Return the matrix (2n, 2n) of a step of zdd = A z + B zd, by (z, zd).

        Parameters
        ----------
        h : float
            Step [s].
        A, B : ndarray
            Derivatives (n, n) of accelerations by positions and rates.

        Returns
        -------
        ndarray
            Matrix of the step.
        """
        one, none = np.eye(len(A)), np.zeros_like(A)
        rates = np.hstack((none, one)) + h * np.hstack((A, B))
        return np.vstack((np.hstack((one, none)) + h * rates, rates))

    def take(self, equations: Equations, old: State, new: State) -> None:
        """Write z, zd and s of ``new``.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System, with the inputs at the end of the step.
        old : State
            State at the beginning of the step.
        new : State
            State at the end, written in place.
        """
        new.zd[:], new.s[:] = old.zd + old.h * old.zdd, old.s + old.h * old.sd
        new.z[:] = old.z + old.h * new.zd


def demand_stable(method: TreeMethod, equations: Equations, state: State) -> None:
    """Raise InputError where springs and dampers make the motion about ``state`` grow in a step.

    The sentence names a step that is small enough.
    """
    kernel = equations.step_kernel(KERNEL)
    found = None if kernel is None else kernel.linearised(arrays_of(state), state.u)
    if found is None:
        return
    K, C = found
    J = np.block([[np.zeros_like(K), np.eye(len(K))], [-K, -C]])
    if not np.all(np.isfinite(J)):
        return
    fastest = max(float(np.linalg.eigvals(J).real.max()), 0.0)

    def grown(h: float) -> float:
        """Return the growth in a step beyond that of the equations."""
        return float(np.abs(np.linalg.eigvals(method.linear_step(h, -K, -C))).max() / np.exp(min(fastest * h, 700.0)))

    growth, small = grown(state.h), state.h
    if growth <= GROWTH:
        return
    for _ in range(FINEST):
        small *= 0.5
        if grown(small) <= GROWTH:
            break
    raise InputError(
        f"h = {state.h:g} s is too large for the stiff forces at this state: in a step of {type(method).__name__} the "
        f"fastest motion grows {growth:.3g}-fold; h = {small:.2g} s is small enough, and methods with Newton's "
        "iteration, as PenaltyTrapezoidal and TRBDF2, take larger steps"
    )

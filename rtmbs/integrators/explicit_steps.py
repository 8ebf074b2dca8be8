"""Explicit methods of trees with compiled steps: velocity Verlet and semi-implicit Euler (METHODS 9)."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import InputError, StartError
from rtmbs.integrators.checks import switches
from rtmbs.integrators.contract import PENALTY, USUAL, Equations, Method, settings_for
from rtmbs.integrators.explicit import complete_step
from rtmbs.integrators.report import TAKEN, Outcome, StepReport, report_of
from rtmbs.integrators.settings import (
    EVERY_STEP,
    INERTIA,
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
from rtmbs.methods import Capability, demand
from rtmbs.state import State

Array = NDArray[np.float64]

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

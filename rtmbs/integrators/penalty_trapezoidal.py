"""Implicit trapezoidal rule with position penalties and projections: options, compiled and readable step.

Equations 10 to 26 of the paper as corrected in METHODS 1.2 to 1.15. A step is one compiled kernel where the equations
offer one, and the readable step of ``trapezoidal.py`` otherwise; a contract test holds the two together.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import InputError, StateError, shown
from rtmbs.integrators.checks import one_of, positive_floats, switches, whole
from rtmbs.integrators.contract import PENALTY, USUAL, Equations, Method, penalty_factors, settings_for
from rtmbs.integrators.report import TAKEN, Outcome, StepReport, report_of
from rtmbs.integrators.settings import (
    EVERY_ITERATION,
    FOLLOWED,
    MAX_ITERATIONS,
    MOST_TRIES,
    OWN,
    REFACTOR,
    STATS_SIZE,
    TANGENT_TERMS,
    Chunk,
    Settings,
    StateArrays,
    arrays_of,
    one_row_chunk,
)
from rtmbs.integrators.trapezoidal import TrapezoidalStep
from rtmbs.methods import Capability
from rtmbs.state import State

Array = NDArray[np.float64]

PROJECTIONS_SCALED, PROJECTIONS_FIXED = 3, 10  # projection iterations at most, METHODS 1.12
MOST_PROJECTIONS = 100
RELATIVE = 1e-6
FREED = 5e-3  # sqrt(c) times the largest correction behind which an older factor may serve (METHODS 1.10)
SAME_ENERGY = 1e-9  # relative difference of a state's energy that is rounding


KERNEL = "penalty-trapezoidal"  # of the compiled step


class Fused(Protocol):
    """The penalty trapezoidal rule as one compiled kernel for these equations."""

    outcomes: dict[int, Outcome]  # of what the kernel answers

    @property
    def tick(self) -> float:
        """Length of a phase unit [s]."""

    @property
    def kernel(self) -> Any:
        """The kernel: takes ``arguments``, returns (how the last step ended, accepted steps)."""

    def arguments(self, settings: Settings, old: StateArrays, chunk: Chunk) -> tuple[Any, ...]:
        """Return the arguments of the kernel for a step in every row."""

    def follow(self, settings: Settings, state: StateArrays, u: Array, push: bool) -> bool:
        """Let accelerations of ``state`` follow ``u``, and with ``push`` balances; False when accelerations did not."""

    def take_changed(self, settings: Settings, u: Array, known: Array, old: StateArrays, row: Chunk) -> Outcome | None:
        """Take one step from ``old``, whose accelerations are of ``known``, not of ``u``; None where that failed."""

    @property
    def groups(self) -> Any:
        """Parts of the mechanism that are stepped on threads of their own; None when there is one."""

    def in_groups(self, settings: Settings, old: StateArrays, row: Chunk) -> Outcome:
        """Take one step, the groups in turns."""

    def many_in_groups(self, settings: Settings, old: StateArrays, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row, the groups side by side; (accepted steps, whether the next one failed)."""


@dataclass
class Work:
    """Settings, stats and kernel of steps."""

    settings: Settings
    stats: Array  # (STATS_SIZE,) of the last step
    fused: Fused | None


@dataclass(frozen=True)
class PenaltyTrapezoidal(Method):
    """Implicit trapezoidal rule with position penalties and projections.

    ``State.memory`` holds the penalty factors ``alpha`` (m,), frozen when h was set, and ``energy`` (n, 2): the energy
    that components with loops keep on their path and that of z and zd, at their first coordinate [J]; 0 elsewhere.

    Parameters
    ----------
    penalty : float, optional
        Dimensionless c of METHODS 1.6, 1e6 unless given; alpha_l = c (4/h^2) m_l for each closure block.
    alpha : float, optional
        One penalty in SI units for all rows, as in the paper, in place of ``penalty``.
    tol : float, default 1e-09
        Tolerance of the increment in typical sizes (1 rad; characteristic length), METHODS 1.11.
    tangent_terms : str, default 'inertia'
        "paper", "inertia", "lagged" or "exact", METHODS 5. With long loops that are condensed, "inertia" has the
        turning of loop forces of the iterate as well.
    max_iterations : int, default 8
        Largest number of Newton's iterations.
    fixed_iterations : bool, default False
        True for exactly ``max_iterations`` (2 are usual): the same work in every step. A step that they do not finish
        is taken and answers UNFINISHED.
    refactor : str, default 'adaptive'
        When the Newton matrix is made anew: "every-iteration", "every-step" (again only when the iteration hardly
        contracts), or "adaptive" (once a step while corrections are small and the iteration contracts well).
    projection_metric : str, default 'tangent'
        "tangent" (the Newton matrix) or "mass".
    projection_tol : float, default 1e-09
        Violation that a projection leaves, over the largest joint rate (acceleration), METHODS 1.12. What is left adds
        up over steps: runs whose own error is below 1e-7 want 1e-13, as ``rtmbs.refined`` has.
    project_velocities : bool, default True
        False leaves the projection of velocities out, to see its effect.
    project_accelerations : bool, default True
        False leaves the projection of accelerations out, to see its effect.
    hold_energy : bool, default True
        True scales the rates of loops after each step so that their energy balances (METHODS 1.7). This needs projected
        velocities, and has no effect beside ``alpha``. Loops with drivers, functions of time, force laws or dampers
        between bodies keep their rates.
    fused : bool, default True
        True for one compiled kernel a step, False for the readable step, for comparison.
    tries : int, optional
        Largest number of further tries of a step whose Newton iteration fails, damped and from other starts (METHODS
        1.11); 0 for none. Steps that need none cost nothing. Fixed iterations spend only their own number.
    max_projections : int, optional
        Largest number of iterations of a projection, 3 unless given and 10 with ``alpha``. 1 is the projection of the
        paper (Eq. 23 and 25); steps that it leaves with more violation than they may have answer UNPROJECTED.

    Raises
    ------
    InputError
        For an option out of range.

    Examples
    --------
    >>> method = PenaltyTrapezoidal(penalty=1e7, refactor="every-step")
    >>> sim = Simulation(system, h=5e-3, method=method)  # doctest: +SKIP
    """

    order: ClassVar[int] = 2
    averages_inputs: ClassVar[bool] = True
    capabilities: ClassVar[frozenset[Capability]] = USUAL | {
        Capability.RAMPS, Capability.CHUNKS, Capability.THREADS, Capability.WARM_UP, Capability.TOLERANCE,
        Capability.SENSITIVITY, Capability.BATCH,
    }  # fmt: skip
    compiled_step: ClassVar[str] = KERNEL

    penalty: float | None = None
    alpha: float | None = None
    tol: float = 1e-9
    tangent_terms: str = "inertia"
    max_iterations: int = 8
    fixed_iterations: bool = False
    refactor: str = "adaptive"
    projection_metric: str = "tangent"
    projection_tol: float = 1e-9
    project_velocities: bool = True
    project_accelerations: bool = True
    hold_energy: bool = True
    fused: bool = True
    tries: int = MOST_TRIES
    max_projections: int | None = None

    def __post_init__(self) -> None:
        if self.penalty is not None and self.alpha is not None:
            raise InputError(
                f"penalty = {shown(self.penalty)} and alpha = {shown(self.alpha)} exclude each other; give one of them"
            )
        given = [name for name in ("penalty", "alpha") if getattr(self, name) is not None]
        positive_floats(self, "tol", "projection_tol", *given)
        whole("max_iterations", self.max_iterations, 1, MAX_ITERATIONS)
        whole("tries", self.tries, 0, MOST_TRIES)
        if self.max_projections is not None:
            whole("max_projections", self.max_projections, 1, MOST_PROJECTIONS)
        one_of("tangent_terms", self.tangent_terms, TANGENT_TERMS)
        one_of("refactor", self.refactor, REFACTOR)
        one_of("projection_metric", self.projection_metric, ("tangent", "mass"))
        switches(
            fixed_iterations=self.fixed_iterations, fused=self.fused, project_velocities=self.project_velocities,
            project_accelerations=self.project_accelerations, hold_energy=self.hold_energy,
        )  # fmt: skip

    @property
    def c(self) -> float | None:
        """Dimensionless penalty, None when ``alpha`` is given."""
        if self.alpha is not None:
            return None
        return PENALTY if self.penalty is None else self.penalty

    @property
    def most_projections(self) -> int:
        """Largest number of iterations of a projection."""
        if self.max_projections is not None:
            return int(self.max_projections)
        return PROJECTIONS_SCALED if self.alpha is None else PROJECTIONS_FIXED

    def changed(self, changes: dict[str, Any]) -> "PenaltyTrapezoidal":
        """Return these options with some changed; a penalty takes the place of an alpha and the reverse."""
        other = {"penalty": "alpha", "alpha": "penalty"}
        gone = {other[name]: None for name in changes if name in other and changes[name] is not None}
        return replace(self, **{**gone, **changes})

    # ---- what a State remembers -------------------------------------------------------------------------------------

    def remember(self, equations: Equations, h: float) -> dict[str, Array]:
        """Return penalty factors for steps of ``h`` [s], and energies that are yet to be kept."""
        return {"alpha": self.penalties(equations, h), "energy": np.zeros((equations.n, 2))}

    def penalties(self, equations: Equations, h: float) -> Array:
        """Return the penalty factors (m,) for steps of ``h`` [s]."""
        return penalty_factors(equations, h, self.c, self.alpha)

    def penalties_of(self, state: State) -> Array:
        """Return the penalty factors (m,) that a state carries."""
        return state.memory["alpha"]

    def carried(self, state: State, before: Self | None = None) -> dict[str, Array]:
        """Return the energies, for a balance goes on, and the penalty factors while options ask for no others."""
        same = before is not None and (before.c, before.alpha) == (self.c, self.alpha)
        return {name: state.memory[name] for name in (("alpha", "energy") if same else ("energy",))}

    def ended_by_ramps(self, state: State) -> Array | None:
        """Return the energies: potentials do not include the work of a moving input."""
        return state.memory["energy"]

    def even_powers(self, balanced: bool, turning: bool) -> bool:
        """True where no energy is held and no reaction of a loop turns: the rule itself is symmetric."""
        return not (self.hold_energy and balanced) and not turning

    def begin(self, equations: Equations, state: State) -> None:
        """Let balances of energy begin with the energy of ``state``."""
        state.memory["energy"][:] = equations.component_energies(state.z, state.zd, state.R0)[0][:, None]

    def moved(self, equations: Equations, state: State) -> None:
        """Let another balance begin where positions or rates of a state were changed by hand."""
        energy = state.memory["energy"]
        with np.errstate(all="ignore"):  # numbers out of range are the step's business
            found, size = equations.component_energies(state.z, state.zd, state.R0)
            if np.any(np.abs(found - energy[:, OWN]) > SAME_ENERGY * size):
                energy[:] = 0.0

    def pushed(self, equations: Equations, work: Work, state: State, seen: bool = False) -> bool:
        """Let balances go on with the potentials of changed inputs; what the path has beyond zd stays.

        True when accelerations followed as well, by the kernel.
        """
        fused = work.fused
        if fused is not None and equations.step_kernel(KERNEL) is fused:
            return fused.follow(work.settings, arrays_of(state), state.u, not seen)
        if seen:
            return False
        energy = state.memory["energy"]
        with np.errstate(over="ignore", invalid="ignore"):
            found, _ = equations.component_energies(state.z, state.zd, state.R0)
        if np.all(np.isfinite(found)):
            begun = np.any(energy != 0.0, axis=1)
            energy[begun] += (found - energy[:, OWN])[begun, None]
        return False

    def check(self, state: State, what: str) -> None:
        """Refuse penalty factors that are not positive: StateError."""
        if np.any((least := state.memory["alpha"]) <= 0.0):
            raise StateError(f"{what}: alpha holds {np.min(least):g}; penalty factors are positive")

    # ---- steps ------------------------------------------------------------------------------------------------------

    def start(self, equations: Equations, state: State) -> Work:
        """Return settings, stats, and the kernel where the equations have one."""
        fused = equations.step_kernel(KERNEL) if self.fused else None
        return Work(self.settings(equations, state.h, state.memory["alpha"]), np.zeros(STATS_SIZE), fused)

    def settings(self, equations: Equations, h: float, alpha: Array) -> Settings:
        """Return the Settings of a step of ``h`` [s] with penalty factors ``alpha`` (m,).

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        h : float
            Step [s].
        alpha : ndarray
            Penalty factors (m,) of the loop equations.

        Returns
        -------
        Settings
            Settings of a step as a flat struct.
        """
        held = alpha * h * h / 4.0 / np.maximum(equations.masses, np.finfo(float).tiny)  # c of every row
        return settings_for(
            equations,
            self.tol,
            h=float(h),
            relative=RELATIVE,
            max_iterations=int(self.max_iterations),
            fixed_iterations=bool(self.fixed_iterations),
            tries=int(self.tries),
            refactor=EVERY_ITERATION if equations.binds_rates else REFACTOR.index(self.refactor),
            reuse_below=FREED / math.sqrt(max(float(np.max(held, initial=0.0)), 1.0)),
            max_projections=self.most_projections,
            projection_bound=float(self.projection_tol),
            tangent_terms=FOLLOWED
            if self.tangent_terms == "inertia" and equations.long_loops
            else TANGENT_TERMS.index(self.tangent_terms),
            project_velocities=bool(self.project_velocities),
            project_accelerations=bool(self.project_accelerations),
            hold_energy=bool(self.hold_energy and self.project_velocities and self.alpha is None),
            mass_metric=self.projection_metric == "mass",
            held=float(np.max(held, initial=0.0)),
        )

    def advance(self, equations: Equations, work: Work, old: State, new: State) -> StepReport:
        """Fill ``new`` with the state at its time; its h and the inputs at that time stand in it already."""
        equations.u, equations.alpha, h = new.u, new.memory["alpha"], new.h  # as in ``adopt_state``
        if h != work.settings.h:
            work.settings = work.settings._replace(h=float(h))
        if new.u.size and not np.abs(new.u).max() <= BEYOND and (bad := equations.not_finite_inputs()):
            work.stats[:] = 0.0
            return report_of(work.stats, Outcome.NOT_FINITE, new.t, worst=bad)
        if (fused := work.fused) is not None:
            row, start = one_row_chunk(new, work.stats), arrays_of(old)
            outcome = fused.in_groups(work.settings, start, row) if fused.groups is not None else None
            if outcome not in TAKEN:
                code, _ = fused.kernel(*fused.arguments(work.settings, start, row))
                outcome = fused.outcomes[code]
            if outcome in TAKEN:
                return report_of(work.stats, outcome, new.t_ref + new.k * h, fused.tick)
            if outcome is not Outcome.SINGULAR_TANGENT:
                names = self.worst(equations, work, outcome, old)
                return diagnosed_report(
                    equations, work, report_of(work.stats, outcome, new.t, fused.tick, worst=names), old
                )
        return self.readable(equations, work, old, new)

    def advance_changed(
        self, equations: Equations, work: Work, known: Array, old: State, new: State
    ) -> StepReport | None:
        """Let the Newton matrix of a step answer the forces that changed inputs leave over at its start."""
        equations.u, equations.alpha = new.u, new.memory["alpha"]
        if new.h != work.settings.h:
            work.settings = work.settings._replace(h=float(new.h))
        fused = work.fused
        if fused is None or fused.groups is not None:
            return None
        if new.u.size and not max(np.abs(new.u).max(), np.abs(old.u).max()) <= BEYOND:
            return None
        outcome = fused.take_changed(work.settings, old.u, known, arrays_of(old), one_row_chunk(new, work.stats))
        return None if outcome is None else report_of(work.stats, outcome, new.t_ref + new.k * new.h, fused.tick)

    def takes_many(self, equations: Equations) -> bool:
        """True for the fused step."""
        return self.fused and equations.step_kernel(KERNEL) is not None

    def loop_weights(self, work: Work, state: State) -> tuple[Array, Array]:
        """Return the penalty factors (m,) of the State; the second weights are not used."""
        return state.memory["alpha"], np.zeros_like(state.lam)

    def groups(self, equations: Equations) -> Any:
        """Return the groups of the fused step, which threads share."""
        fused = equations.step_kernel(KERNEL) if self.fused else None
        return None if fused is None else fused.groups

    def advance_many(self, equations: Equations, work: Work, old: State, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row, in one kernel call a thread; ``advance`` takes a failed one again and reports."""
        adopt_state(equations, work, old)
        fused = work.fused
        if fused is None or equations.not_finite_inputs():
            return 0, True
        if fused.groups is not None:
            return fused.many_in_groups(work.settings, arrays_of(old), chunk)
        code, done = fused.kernel(*fused.arguments(work.settings, arrays_of(old), chunk))
        return done, fused.outcomes[code] not in TAKEN

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
        outcome = Outcome.SINGULAR_TANGENT
        for solver in equations.solvers if work.fused is None else equations.solvers[-1:]:
            equations.solver = solver
            step = TrapezoidalStep(equations, work.settings, work.stats)
            outcome = step.advance(arrays_of(old), arrays_of(new))
            if outcome is not Outcome.SINGULAR_TANGENT:
                break
        names, dense = self.worst(equations, work, outcome, old), equations.solver.pivoted
        return diagnosed_report(equations, work, report_of(work.stats, outcome, new.t, dense=dense, worst=names), old)

    def worst(self, equations: Equations, work: Work, outcome: Outcome, old: State) -> tuple[str, ...]:
        """Return the names of the elements at fault in a failed step.

        Parameters
        ----------
        equations : Equations
            Equations of motion of the System.
        work : Work
            Object that ``start`` returned.
        outcome : Outcome
            How the step ended.
        old : State
            State at the beginning of the step.

        Returns
        -------
        tuple[str, ...]
            Names of the elements at fault; none for an accepted step.
        """
        return () if outcome in TAKEN else equations.worst(outcome, arrays_of(old), work.settings.scale)


def adopt_state(equations: Equations, work: Work, state: State) -> None:
    """Set inputs, penalty factors and h to those of the state."""
    equations.u, equations.alpha = state.u, state.memory["alpha"]
    if state.h != work.settings.h:
        work.settings = work.settings._replace(h=float(state.h))


def diagnosed_report(equations: Equations, work: Work, report: StepReport, old: State) -> StepReport:
    """Return the report of a failed step with its cause, the elements at fault first."""
    if report.outcome in TAKEN or report.outcome is Outcome.NOT_FINITE:
        return report
    found = equations.diagnose(work.settings, arrays_of(old))
    names = tuple(dict.fromkeys((*found.worst, *report.worst)))
    return report._replace(worst=names, reason=found.reason, hopeless=found.hopeless)

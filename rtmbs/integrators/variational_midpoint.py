"""The variational midpoint rule in joint coordinates: symplectic, symmetric, and true to momenta (METHODS 6)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.base import Equations, FusedMidpoint, MidpointEquations
from rtmbs.integrators.checks import positive, switches, whole
from rtmbs.integrators.chunks import arrays_of, one_row_chunk
from rtmbs.integrators.explicit import finished
from rtmbs.integrators.method import USUAL, Method
from rtmbs.integrators.midpoint import MidpointStep
from rtmbs.integrators.penalties import PENALTY
from rtmbs.integrators.report import TAKEN, Outcome, StepReport, report_of
from rtmbs.integrators.settings import (
    ADAPTIVE,
    EVERY_ITERATION,
    INERTIA,
    LOOP_TOLERANCE,
    MAX_ITERATIONS,
    STATS_SIZE,
    Chunk,
    Settings,
)
from rtmbs.methods import Capability
from rtmbs.state import State

Array = NDArray[np.float64]

FREED = 5e-3  # sqrt(c) times the largest correction behind which an older factor may serve (METHODS 1.10)


@dataclass
class Work:
    """What steps need besides states."""

    settings: Settings
    weight: Array  # (m,) of the loops beside M [kg or kg m^2]
    midpoint: MidpointEquations
    fused: FusedMidpoint | None
    stats: Array  # (STATS_SIZE,) of the last step


@dataclass(frozen=True)
class VariationalMidpoint(Method):
    """The variational midpoint rule: the discrete equations of Hamilton's principle, with loops held by impulses.

    Momenta M zd are what a step carries on. Those that no force changes stay as they are, to rounding: of a floating or
    sliding base with loops too. Angular momentum is kept about a fixed point; about a moving mass centre its error is
    of order h^2. Energies of conservative mechanisms swing by an amount of order h^2 and do not drift, and nothing
    balances them. Errors of all quantities are even powers of h.

    Parameters
    ----------
    penalty : dimensionless c of METHODS 1.6, 1e6 unless given. It decides how fast multipliers are found, not how
        closed loops are: multipliers are carried over from step to step
    tol : tolerance of the increment in typical sizes (1 rad; characteristic length), METHODS 1.11
    max_iterations, fixed_iterations : bound of Newton's iteration, or always exactly so many: the same work in every
        step; one that they do not finish is taken and answers UNFINISHED
    fused : one compiled kernel a step (False: the readable step, for comparison)

    Forces act at the middle of the step, with the mean of the inputs at its ends. Accelerations and multipliers are
    those that satisfy the equations of motion at the end. ``State.memory`` is empty.

    Raises InputError for an option out of range.

        Simulation(system, h=5e-3, method=rtmbs.VariationalMidpoint())
    """

    order: ClassVar[int] = 2
    symmetric: ClassVar[bool] = True
    averages_inputs: ClassVar[bool] = True
    capabilities: ClassVar[frozenset[Capability]] = USUAL | {Capability.RAMPS, Capability.CHUNKS}

    penalty: float = PENALTY
    tol: float = 1e-10
    max_iterations: int = 12
    fixed_iterations: bool = False
    fused: bool = True

    def __post_init__(self) -> None:
        positive(penalty=self.penalty, tol=self.tol)
        whole("max_iterations", self.max_iterations, 1, MAX_ITERATIONS)
        switches(fixed_iterations=self.fixed_iterations, fused=self.fused)

    @property
    def c(self) -> float:
        """Dimensionless penalty."""
        return self.penalty

    def start(self, equations: Equations, state: State) -> Work:
        """Return settings, the scratch of steps, and the kernel where the equations have one."""
        midpoint = equations.midpoint()
        fused = midpoint.fused() if self.fused else None
        return Work(self.settings(equations, state.h), self.c * equations.masses, midpoint, fused, np.zeros(STATS_SIZE))

    def settings(self, equations: Equations, h: float) -> Settings:
        """Return the Settings of a step of ``h`` [s]; nothing is projected, and no energy is held."""
        sizes = equations.sizes
        return Settings(
            h=float(h),
            relative=0.0,
            max_iterations=int(self.max_iterations),
            fixed_iterations=bool(self.fixed_iterations),
            tries=0,
            refactor=EVERY_ITERATION if self.fixed_iterations else ADAPTIVE,
            reuse_below=FREED / math.sqrt(max(self.c, 1.0)),
            max_projections=0,
            projection_bound=0.0,
            tangent_terms=INERTIA,
            project_velocities=False,
            project_accelerations=False,
            hold_energy=False,
            mass_metric=True,
            loop_tolerance=LOOP_TOLERANCE,
            absolute=self.tol * sizes.typical,
            typical=sizes.typical,
            pace=sizes.pace,
            rotation=sizes.rotation,
            scale=sizes.scale,
            mass=equations.masses,
            first=sizes.first,
            held=float(self.c),
        )

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
        return self.fused and equations.midpoint().fused() is not None

    def advance_many(self, equations: Equations, work: Work, old: State, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row, in one kernel call; ``advance`` takes again what it does not accept."""
        follow_step(work, old)
        equations.u = old.u
        if work.fused is None or equations.not_finite_inputs():
            return 0, True
        outcome, done = work.fused(work.settings, work.weight, arrays_of(old), old.u, chunk)
        return done, outcome not in TAKEN

    def readable(self, equations: Equations, work: Work, old: State, new: State) -> StepReport:
        """The readable step, by the surest solver when the others meet too small a pivot."""
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
        report = step.counted(finished(equations, old, new))
        if outcome is Outcome.UNFINISHED and report.outcome in TAKEN:
            return report._replace(outcome=outcome)
        return report


def follow_step(work: Work, state: State) -> None:
    """Let h be that of the state."""
    if state.h != work.settings.h:
        work.settings = work.settings._replace(h=float(state.h))

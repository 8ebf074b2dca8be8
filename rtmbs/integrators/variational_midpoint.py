"""The variational midpoint rule in joint coordinates: symplectic, symmetric, and true to every momentum (METHODS 1.41)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.base import Equations, MidpointEquations, NotFinite, SingularTangent
from rtmbs.integrators.checks import positive, switches, whole
from rtmbs.integrators.explicit import NO_ENERGY, finished, in_range
from rtmbs.integrators.method import Method
from rtmbs.integrators.newton import ACCEPT, DIVERGED, NOT_A_NUMBER, SLOW_RATE, contraction_rate, scaled_norm, verdict
from rtmbs.integrators.penalties import PENALTY
from rtmbs.integrators.report import TAKEN, Outcome, StepReport
from rtmbs.integrators.settings import MAX_ITERATIONS, StateArrays
from rtmbs.state import State

Array = NDArray[np.float64]

ROUNDS = 8  # of the rates at the end: each divides what loops miss by 1 + c, and what the factor rounds off
PROGRESS = 0.5  # of a round: a smaller one ends them, for what is left is rounding
ROUNDING = 1e-15  # of the largest rate


@dataclass(frozen=True)
class VariationalMidpoint(Method):
    """The variational midpoint rule: the discrete equations of Hamilton's principle, with loops held by impulses.

    Momenta M zd are what a step carries on. Those that no force changes stay as they are, to rounding: of a floating or
    sliding base with loops too. Energies of conservative mechanisms swing by an amount of order h^2 and do not drift, and
    nothing balances them. Errors of all quantities are even powers of h.

    Parameters
    ----------
    penalty : dimensionless c of METHODS 1.6, 1e6 unless given. It decides how fast multipliers are found, not how
        closed loops are: multipliers are carried over from step to step
    tol : tolerance of the increment in typical sizes (1 rad; characteristic length), METHODS 1.11
    max_iterations, fixed_iterations : bound of Newton's iteration, or always exactly so many: the same work in every
        step; one that they do not finish is taken and answers UNFINISHED

    Forces act at the middle of the step, with the mean of the inputs at its ends. Accelerations and multipliers are
    those that satisfy the equations of motion at the end. ``State.memory`` is empty.

    Raises InputError for an option out of range.

        Simulation(system, h=5e-3, method=rtmbs.VariationalMidpoint())
    """

    order: ClassVar[int] = 2
    averages_inputs: ClassVar[bool] = True

    penalty: float = PENALTY
    tol: float = 1e-10
    max_iterations: int = 12
    fixed_iterations: bool = False

    def __post_init__(self) -> None:
        positive(penalty=self.penalty, tol=self.tol)
        whole("max_iterations", self.max_iterations, 1, MAX_ITERATIONS)
        switches(fixed_iterations=self.fixed_iterations)

    @property
    def c(self) -> float:
        """Dimensionless penalty."""
        return self.penalty

    def advance(self, equations: Equations, work: Any, old: State, new: State) -> StepReport:
        """Take a step, by the surest solver when the others meet too small a pivot."""
        equations.u = new.u
        if bad := equations.not_finite_inputs():
            return StepReport(Outcome.NOT_FINITE, new.t, worst=bad)
        step = MidpointStep(self, equations, equations.midpoint())
        outcome = Outcome.SINGULAR_TANGENT
        for solver in equations.solvers:
            equations.solver = solver
            with np.errstate(all="ignore"):
                outcome = step.take(old, new)
            if outcome is not Outcome.SINGULAR_TANGENT:
                break
        if outcome not in TAKEN:
            arrays = StateArrays(old.z, old.zd, old.zdd, old.lam, old.R0, NO_ENERGY, old.s, old.sd)
            worst = equations.worst(outcome, arrays, equations.sizes.scale)
            return step.counted(StepReport(outcome, new.t, worst=worst))
        report = step.counted(finished(equations, old, new))
        if outcome is Outcome.UNFINISHED and report.outcome in TAKEN:
            return report._replace(outcome=outcome)
        return report


class MidpointStep:
    """One step: Newton's iteration on the half increment y, then the rates at the end."""

    def __init__(self, method: VariationalMidpoint, equations: Equations, midpoint: MidpointEquations) -> None:
        self.method, self.equations, self.midpoint = method, equations, midpoint
        self.weight: Array = method.c * equations.masses
        self.corrections: list[float] = []
        self.to_tolerance = self.evaluations = self.factorisations = 0

    def take(self, old: State, new: State) -> Outcome:
        """Fill z, zd and s of ``new``; True outcomes are those of Newton's iteration."""
        self.corrections, self.to_tolerance = [], 0
        midpoint, h = self.midpoint, new.h
        try:
            p0 = midpoint.begin(old.z, old.zd, old.R0, old.u)
            still = np.zeros_like(old.sd)
            arrays = StateArrays(old.z, old.zd, old.zdd, old.lam, old.R0, NO_ENERGY, old.s, still)
            self.equations.follow_states(h, arrays)  # at the middle, s = s_n + h/2 ds/dt there
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
        return outcome if in_range(new.z, new.zd, new.s) else Outcome.NOT_FINITE

    def correct(self, p0: Array, old: State, new: State) -> tuple[Outcome, Array, Array]:
        """Return how the iteration ended, the half increment (n,), and h/2 times the impulse of the loops (m,).

        Both unknowns are found at once: (A + P0^T w P1) dy = -f - P0^T w Phi, and the impulse takes w (Phi + P1 dy). A
        is the derivative of f, P0 and P1 those of the loops at the two ends.
        """
        method, midpoint, h = self.method, self.midpoint, new.h
        y, impulse = 0.5 * h * old.zd + 0.25 * h * h * old.zdd, 0.25 * h * h * old.lam
        inputs, typical = 0.5 * (old.u + new.u), self.equations.sizes.typical
        previous, slow = 0.0, 0
        for iteration in range(1, method.max_iterations + 1):
            Phi = midpoint.end(old.z + 2.0 * y, old.R0, new.u)
            p, tau = midpoint.middle(old.z + y, 2.0 / h * y, old.R0, inputs)
            start = p0 - 2.0 / h * midpoint.pulled(impulse)
            f = 0.5 * h * (midpoint.undone(y, p) - midpoint.half_turned(y, start)) + 0.25 * h * h * tau
            midpoint.factor(h, y, start, self.weight)
            dy = self.equations.solve(-f - midpoint.pulled_left(0.5 * self.weight * Phi), refined=True)
            impulse = impulse + 0.5 * self.weight * (Phi + midpoint.moved_right(dy))
            y = self.equations.corrected(y, dy)
            norm = float(scaled_norm(dy, y, method.tol * typical, 0.0))
            rate = contraction_rate(norm, previous)
            self.corrections.append(norm)
            slow += iteration > 1 and rate > SLOW_RATE
            answer, previous = verdict(iteration, norm, rate, slow), norm
            if answer == NOT_A_NUMBER:
                return Outcome.NOT_FINITE, y, impulse
            if answer == ACCEPT and not self.to_tolerance:
                self.to_tolerance = iteration
            if not method.fixed_iterations and answer == DIVERGED:
                return Outcome.NOT_CONVERGED, y, impulse
            if answer == ACCEPT and not method.fixed_iterations:
                return Outcome.CONVERGED, y, impulse
        if self.to_tolerance:
            return Outcome.CONVERGED, y, impulse
        return (Outcome.UNFINISHED if method.fixed_iterations else Outcome.NOT_CONVERGED), y, impulse

    def rates(self, p1: Array, guess: Array, old: State, new: State) -> Array:
        """Return zd (n,) with M zd = p1 - Phi_z^T Lambda and Phid = 0 where the step ends.

        Every round corrects what is left of both equations, so momenta are kept to rounding and not to that of the
        factor.
        """
        equations, midpoint, weight = self.equations, self.midpoint, self.weight
        midpoint.end(new.z, old.R0, new.u)
        midpoint.factor_end(weight)
        zd, impulse, previous = guess, np.zeros(equations.m), np.inf
        for _ in range(ROUNDS):
            left = p1 - midpoint.here(zd) - equations.pull_back(impulse)
            Phid = equations.closure_velocities(zd)
            change = equations.solve(left - equations.pull_back(weight * Phid), refined=True)
            zd, impulse = zd + change, impulse + weight * (Phid + equations.apply_Phi_z(change))
            size = float(np.max(np.abs(change) / equations.sizes.typical, initial=0.0))
            fastest = float(np.max(np.abs(zd) / equations.sizes.typical, initial=0.0))
            if not size > ROUNDING * fastest or size > PROGRESS * previous:
                break
            previous = size
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

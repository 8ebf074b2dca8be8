"""One step of the variational midpoint rule, readable (METHODS 6).

``semirecursive/midpoint_step.py`` is the same fused; a contract test holds the two together.
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.base import Equations, MidpointEquations, NotFinite, SingularTangent
from rtmbs.integrators.chunks import arrays_of
from rtmbs.integrators.explicit import in_range
from rtmbs.integrators.newton import (
    ACCEPT,
    DIVERGED,
    NOT_A_NUMBER,
    SLOW_RATE,
    contraction_rate,
    scaled_norm,
    too_far,
    verdict,
)
from rtmbs.integrators.report import TAKEN, Outcome, StepReport
from rtmbs.integrators.settings import Settings
from rtmbs.integrators.variational_rounds import ENOUGH, PROGRESS, ROUNDS, STIFFER, TRUSTED
from rtmbs.state import State

Array = NDArray[np.float64]


class MidpointStep:
    """One step: Newton's iteration on the half increment y, then the rates at the end."""

    def __init__(self, equations: Equations, midpoint: MidpointEquations, settings: Settings, weight: Array) -> None:
        self.equations, self.midpoint, self.settings, self.weight = equations, midpoint, settings, weight
        self.corrections: list[float] = []
        self.to_tolerance = 0

    def take(self, old: State, new: State) -> Outcome:
        """Fill z, zd and s of ``new``; True outcomes are those of Newton's iteration."""
        self.corrections, self.to_tolerance = [], 0
        midpoint, h = self.midpoint, new.h
        try:
            p0 = midpoint.begin(old.z, old.zd, old.R0, old.u)
            still = arrays_of(old)._replace(sd=np.zeros_like(old.sd))
            self.equations.follow_states(h, still)  # at the middle, s = s_n + h/2 ds/dt there
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
        settings, midpoint, h = self.settings, self.midpoint, new.h
        y, impulse = 0.5 * h * old.zd + 0.25 * h * h * old.zdd, 0.25 * h * h * old.lam
        inputs = 0.5 * (old.u + new.u)
        previous, slow = 0.0, 0
        for iteration in range(1, settings.max_iterations + 1):
            Phi = midpoint.end(old.z + 2.0 * y, old.R0, new.u)
            p, tau = midpoint.middle(old.z + y, 2.0 / h * y, old.R0, inputs)
            start = p0 - 2.0 / h * midpoint.pulled(impulse)
            f = 0.5 * h * (midpoint.undone(y, p) - midpoint.half_turned(y, start)) + 0.25 * h * h * tau
            midpoint.factor(h, y, start, self.weight)
            dy = self.equations.solve(-f - midpoint.pulled_left(0.5 * self.weight * Phi), refined=True)
            impulse = impulse + 0.5 * self.weight * (Phi + midpoint.moved_right(dy))
            y = self.equations.corrected(y, dy)
            norm = float(scaled_norm(dy, y, settings.absolute, 0.0))
            rate = contraction_rate(norm, previous)
            self.corrections.append(norm)
            slow += iteration > 1 and rate > SLOW_RATE
            answer, previous = verdict(iteration, norm, rate, slow), norm
            if answer == NOT_A_NUMBER:
                return Outcome.NOT_FINITE, y, impulse
            if answer == ACCEPT and not self.to_tolerance:
                self.to_tolerance = iteration
                if iteration > TRUSTED and too_far(h, 2.0 * y, old.zd, old.zdd, settings.typical):
                    return Outcome.NOT_CONVERGED, y, impulse
            if not settings.fixed_iterations and answer == DIVERGED:
                return Outcome.NOT_CONVERGED, y, impulse
            if answer == ACCEPT and not settings.fixed_iterations:
                return Outcome.CONVERGED, y, impulse
        if self.to_tolerance:
            return Outcome.CONVERGED, y, impulse
        return (Outcome.UNFINISHED if settings.fixed_iterations else Outcome.NOT_CONVERGED), y, impulse

    def rates(self, p1: Array, guess: Array, old: State, new: State) -> Array:
        """Return zd (n,) with M zd = p1 - Phi_z^T Lambda and Phid = 0 where the step ends.

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

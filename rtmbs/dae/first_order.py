"""Equations of motion as y' = f(t, y) for solvers that choose their own steps, with corrections against drift.

A solver leaves the constraints a little with every step. A correction inside f that it never hears of does not put it
back, and the next one is larger: the error of q then grows with the square of what was left. A solver of one step gets
the corrected state back after each step. A solver of several steps keeps its history, so f pulls it back instead:
f = (v, a, sd) + (P(y) - y) / tau, P the correction. The pull is zero on the constraints, whatever tau is.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, MotionError, Point
from rtmbs.dae.dynamics import Dynamics, acceleration_derivatives, constraint_rate, derivative
from rtmbs.errors import InputError, RtmbsError
from rtmbs.formulations.compiled import CompiledSystem
from rtmbs.formulations.contract import NO_STATES, Formulation, FormulationError, OutOfRange
from rtmbs.formulations.correction import Correcting, closed_state, least_solution
from rtmbs.formulations.terms import holonomic_rows

Array = NDArray[np.float64]

PULL = 10.0  # tau in steps: a faster pull shortens steps, a slower one lets the solver drift further
MEMORY = 0.9  # of the mean of the logarithms of steps
FIRST = 30  # steps without a pull: a solver grows its step then, and keeps a matrix that was made at a short one
MOST_REFUSED = 1000  # trials without an answer in a row: a solver that shortens its step by them gives up long before
ROUNDING = 1e-12  # of the largest coordinate or rate, or 1: a correction of a state on the constraints
LIGHT = 1e-12  # of the largest inertia: less counts as none


class FirstOrderMotion:
    """One motion as y' = f(t, y), y = (q, v, s), for a solver of one step or of ``several``.

    A formulation that corrects nothing and takes feedback instead is left as it is. A trial without an answer has rates
    that are not numbers, so that a solver takes a shorter step; ``refusal`` is the reason of the last one.
    """

    def __init__(self, motion: Motion, formulation: Formulation, several: bool) -> None:
        self.motion, self.dynamics, self.several = motion, Dynamics(motion, formulation), several
        self.corrects = motion.system.m > 0 and (isinstance(formulation, Correcting) or self.dynamics.dependent)
        self.unit = self.units_at(motion.q, motion.t0)
        compiled = getattr(formulation, "compiled", None)
        self.compiled = compiled(motion.system, motion.q, motion.v, motion.t0) if compiled is not None else None
        self.refusal: RtmbsError | None = None
        self.refused = 0  # trials without an answer since the last one with an answer
        self.t, self.step, self.count = motion.t0, np.inf, 0  # end of the last step, mean step [s], and steps so far

    @property
    def start(self) -> Array:
        """Y at the start."""
        return np.concatenate((self.motion.q, self.motion.v, self.motion.s))

    def own(self, y: Array) -> tuple[Array, Array, Array]:
        """Return q, v (n,) and s (ns,) as the solver has them."""
        n = len(self.motion.q)
        return y[:n], y[n : 2 * n], y[2 * n :]

    def units_at(self, q: Array, t: float) -> Array:
        """Return roots (n,) of the inverse inertias at a place; what has none counts as the mean of the others.

        Euler parameters have none along themselves: the metric follows them from step to step.
        """
        inertia = np.abs(self.motion.system.mass(q, t).diagonal())
        heavy = inertia > LIGHT * float(inertia.max(initial=0.0))
        mean = float(np.exp(np.log(inertia[heavy]).mean())) if heavy.any() else 1.0
        return np.asarray(1.0 / np.sqrt(np.where(heavy, inertia, mean)))

    def corrected(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return q and v (n,) on the constraints, by the least change in the metric of the last step's inertias."""
        if not self.corrects:
            return q, v
        return closed_state(
            self.motion.system, q, v, t, lambda rows, right: self.unit * least_solution(rows * self.unit, right)
        )

    def accelerations(self, t: float, q: Array, v: Array, s: Array) -> tuple[Array, Array, Array]:
        """Return q and v (n,) on the constraints, and a (n,) there."""
        if self.compiled is not None and (found := self.compiled(q, v, t, self.unit**2)) is not None:
            self.motion.counts.evaluations += 1
            self.motion.counts.factorisations += 1
            return found
        q, v = self.corrected(t, q, v)  # what the compiled call has no answer for is said here
        return q, v, self.dynamics.accelerations(q, v, t, s)

    def rates(self, t: float, y: Array) -> Array:
        """Return dy/dt; not a number where there is no answer.

        Raises the reason where there is none at the start, which no shorter step reaches, and for a solver that goes on
        for ever. SciPy's explicit solvers do so from a first step that is not a number.
        """
        try:
            if np.all(np.isfinite(y)):
                q, v, s = self.own(y)
                q, v, a = self.accelerations(t, q, v, s)
                found = np.concatenate((v, a, self.dynamics.state_rates(q, v, t, s)))
                if self.corrects and self.several and self.count >= FIRST:
                    found += (np.concatenate((q, v, s)) - y) / (PULL * self.step)
                self.refused = 0
                return found
        except (FormulationError, OutOfRange) as error:
            self.refusal = error
        self.refused += 1
        if self.refused > MOST_REFUSED or np.array_equal(y, self.start):
            raise self.refusal or MotionError(f"a trial of the solver is not finite at t = {t:g}")
        return np.full(len(y), np.nan)

    def jacobian(self, t: float, y: Array) -> Array:
        """Return df/dy: exact for a system with ``linearisation``, by differences of f for others.

        Corrections have the derivative of a projection: what y changes along the normals, f does not see.
        """
        system, n = self.motion.system, self.motion.system.n
        q, v, s = self.own(y)
        if len(s) or hasattr(self.dynamics.formulation, "gains") or not hasattr(system, "linearisation"):
            return derivative(lambda x: self.rates(t, x), y)  # feedback of violations has further terms
        try:
            q, v = self.corrected(t, q, v)
            point = self.dynamics.point(q, v, t, s)
            if not np.all(np.isfinite(point.lam)):
                return derivative(lambda x: self.rates(t, x), y)
            by_q, by_v, at = acceleration_derivatives(system, q, v, point.a, point.lam, t)
        except (FormulationError, OutOfRange):
            return derivative(lambda x: self.rates(t, x), y)
        zero, eye = np.zeros((n, n)), np.eye(n)
        if not self.corrects:
            return np.block([[zero, eye], [by_q, by_v]])
        held = holonomic_rows(system)
        along = self.unit[:, None] * np.linalg.pinv(at.Phi_q * self.unit)
        kept_q = eye - self.unit[:, None] * np.linalg.pinv(at.Phi_q[:held] * self.unit) @ at.Phi_q[:held]
        kept = np.block([[kept_q, zero], [-along @ at.rate @ kept_q, eye - along @ at.Phi_q]])
        found = np.block([[zero, eye], [by_q, by_v]]) @ kept
        if self.several and self.count >= FIRST:
            found += (kept - np.eye(2 * n)) / (PULL * self.step)
        return found

    def stepped(self, t: float, y: Array) -> Array:
        """Return y after a step of the solver to ``t`` [s]: put back on the constraints for a solver of one step."""
        h, self.t = t - self.t, t
        if not self.corrects:
            return y
        if self.several:
            if h > 0.0:  # a solver may show a step twice; its first ones are short
                self.count, mean = self.count + 1, self.step if np.isfinite(self.step) else h
                self.step = max(h, float(mean**MEMORY * h ** (1.0 - MEMORY)))
                self.unit = self.units_at(y[: self.motion.system.n], t)
            return y
        q, v, s = self.own(y)
        q, v = self.corrected(t, q, v)
        self.unit = self.units_at(q, t)
        return np.concatenate((q, v, s))

    def point(self, t: float, y: Array) -> Point:
        """Return the point of y at ``t`` [s], with the violations of the solver's own state."""
        q, v, s = self.own(y)
        Phi, Phid = self.motion.system.constraints(q, t), constraint_rate(self.motion.system, q, v, t)
        left = float(np.abs(Phi).max(initial=0.0)), float(np.abs(Phid).max(initial=0.0))
        if (found := self.compiled_point(t, q, v, s)) is None:
            found = self.dynamics.point(*self.corrected(t, q, v), t, s)
        return found._replace(left=left)

    def point_at(self, t: float, q: Array, v: Array, s: Array) -> Point:
        """Return the point of q and v (n,) that are on the constraints."""
        found = self.compiled_point(t, q, v, s)
        if found is not None:
            moved = max(float(np.abs(found.q - q).max()), float(np.abs(found.v - v).max()))
            if moved <= ROUNDING * max(1.0, float(np.abs(q).max()), float(np.abs(v).max())):
                return found._replace(q=q, v=v)
        return self.dynamics.point(q, v, t, s)

    def compiled_point(self, t: float, q: Array, v: Array, s: Array) -> Point | None:
        """Return the point of a state put back on the constraints, by the compiled call; None where it has none."""
        compiled: Any = self.compiled
        multipliers = getattr(compiled, "multipliers", None)
        if multipliers is None or len(s) or self.dynamics.dependent or not np.all(np.isfinite(q + v)):
            return None
        found = compiled(q, v, t, self.unit**2)
        if found is None:
            return None
        self.motion.counts.evaluations += 1
        self.motion.counts.factorisations += 1
        q, v, a = found
        if isinstance(compiled, CompiledSystem) and not compiled.agrees(q, v, t):
            raise InputError(
                f"mass or force at t = {t:g} s is not what Compiled recorded at the start; they must be functions of"
                " q, v and t alone, or take a formulation that asks them at every state, such as QR()"
            )
        return Point(t, q, v, a, multipliers(), s, NO_STATES)

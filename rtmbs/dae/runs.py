"""Runs of methods over one motion: fixed steps, steps by a tolerance, points of any Integrator, and y' = f(t, y).

The form y' = f(t, y) is for solvers that choose their own steps. Such a solver leaves the constraints a little with
every step. A correction inside f that it never hears of does not put it back, and the next one is larger: the error of
q then grows with the square of what was left. A solver of one step gets the corrected state back after each step. A
solver of several steps keeps its history, so f pulls it back instead: f = (v, a, sd) + (P(y) - y) / tau, P the
correction. The pull is zero on the constraints, whatever tau is.

A change of tau is a change of f. CVODE often takes one iteration of Newton, with a matrix of up to some seventy steps
ago. Where tau had followed the steps meanwhile, the matrix held another pull than f. What was left of the pull is then
answered explicitly, for which formulas of high order have next to no room: it swung from step to step, and steps were
refused. Shorter ones made tau shorter, and h / tau stayed as it was, down to steps of rounding. So tau changes with the
matrix only. SciPy's BDF and LSODA evaluate f anew at every iterate, and ask for a matrix seldom or never: there tau
follows the steps.
"""

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, MotionError, Point
from rtmbs.dae.dynamics import Dynamics, Steps, acceleration_derivatives, constraint_rate, derivative
from rtmbs.dae.newton import StepControl, Tolerances, first_step, slopes_of, values_of
from rtmbs.errors import InputError, RtmbsError
from rtmbs.formulations.compiled import CompiledSystem
from rtmbs.formulations.consistent import Correcting, closed_state, least_solution
from rtmbs.formulations.contract import NO_STATES, Formulation, FormulationError, OutOfRange, holonomic_rows
from rtmbs.formulations.direct import Direct

Array = NDArray[np.float64]
PULL = 20.0  # tau in steps: h / tau within 0.068, the room of Adams-Moulton of order 12. Slower pulls drift further
MEMORY = 0.9  # of the mean of the logarithms of steps
FIRST = 30  # steps without a pull: a solver grows its step then, and keeps a matrix that was made at a short one
MOST_REFUSED = 1000  # trials without an answer in a row: a solver that shortens its step by them gives up long before
ROUNDING = 1e-12  # of the largest coordinate or rate, or 1: a correction of a state on the constraints
LIGHT = 1e-12  # of the largest inertia: less counts as none


class FirstOrderMotion:
    """One motion as y' = f(t, y), y = (q, v, s), for a solver of one step or of ``several``.

    ``renews``: the solver asks for a matrix every now and then, and tau changes with the matrix only.

    A formulation that corrects nothing and takes feedback instead is left as it is. A trial without an answer has rates
    that are not numbers, so that a solver takes a shorter step; ``refusal`` is the reason of the last one.
    """

    def __init__(self, motion: Motion, formulation: Formulation, several: bool, renews: bool = False) -> None:
        self.motion, self.dynamics, self.several = motion, Dynamics(motion, formulation), several
        self.renews, self.gain = renews, 0.0  # 1 / tau [1/s]
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
                if self.corrects and self.gain > 0.0:
                    found += self.gain * (np.concatenate((q, v, s)) - y)
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

        For a solver that ``renews`` its matrix, f has the pull of this one from now on.

        Corrections have the derivative of a projection: what y changes along the normals, f does not see.
        """
        system, n = self.motion.system, self.motion.system.n
        q, v, s = self.own(y)
        if self.renews:
            self.gain = self.gain_of_steps()
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
        return found + self.gain * (kept - np.eye(2 * n))

    def gain_of_steps(self) -> float:
        """Return 1 / tau [1/s] for the steps so far; 0 for no pull."""
        return 1.0 / (PULL * self.step) if self.corrects and self.several and self.count >= FIRST else 0.0

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
                if not self.renews:
                    self.gain = self.gain_of_steps()
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


NEAR = 1e-10  # of a step: an end as near is reached
SHORTEST = 32.0  # spacings of t: no step is shorter
MOST_TRIALS = 200  # of one step
MOST_STEPS = 10**8  # of one run
NO_ANSWER = FormulationError, MotionError, OutOfRange, np.linalg.LinAlgError


class Span(NamedTuple):
    """One step of a method.

    Parameters
    ----------
    start : Point
        Point at the beginning of the step.
    end : Point
        Point at its end.
    at : callable
        Point at a time [s] within the step, on the dense output of the method.
    ending : callable
        Point at a time [s] within the step, by a step of the method that ends there where it can take one.
    """

    start: Point
    end: Point
    at: Callable[[float], Point]
    ending: Callable[[float], Point]


class Restart(NamedTuple):
    """What a method needs to go on: points, the newest first, what it keeps, and its next step."""

    past: tuple[Point, ...]
    kept: Any = None
    control: StepControl | None = None
    h: float = 0.0  # [s]


class Run(Protocol):
    """One motion under one method, step by step. ``dense``: steps may pass the samples."""

    dense: bool

    @property
    def start(self) -> Point:
        """The start with its accelerations and multipliers."""

    def advance(self, stop: float) -> Span:
        """Take one step that does not pass ``stop`` [s], and return it. Raises MotionError, FormulationError."""

    def samples(self, times: Array) -> Iterator[Point]:
        """Yield the point at each of ``times`` but the first. Raises MotionError, FormulationError."""

    def cut(self, t: float) -> Point:
        """Return the point at ``t`` [s] within the last step, which becomes the present one."""

    def restart(self) -> Restart:
        """Return what a run needs to go on as if it had not stopped."""


class SampledRun:
    """A run whose samples are those of its steps."""

    dense = False
    start: Point

    def advance(self, stop: float) -> Span:
        """Take one step that does not pass ``stop`` [s], and return it."""
        raise NotImplementedError

    def samples(self, times: Array) -> Iterator[Point]:
        """Yield the point at each of ``times`` but the first."""
        for _, samples in spans_to(self, times):
            yield from samples


class OwnRun(SampledRun):
    """What runs of both kinds of steps of this room have in common."""

    def __init__(self, motion: Motion, steps: Steps, behind: int, restart: Restart | None) -> None:
        self.motion, self.own, self.behind = motion, steps, behind
        if restart is None:
            self.past = [steps.first()]
        else:
            self.past = list(restart.past)
            if restart.kept is not None:
                steps.put_back(restart.kept)
        self.start = self.past[0]
        self.last: tuple[list[Point], Any] = (self.past, steps.kept())  # before the last step

    def take(self, point: Point) -> Span:
        """Make a point the present one, and return the step to it."""
        old, motion = self.past, self.motion
        if motion.rows is not None and motion.rows.renew(point):
            point = self.own.dynamics.point(point.q, point.v, point.t, point.s)._replace(a=point.a)
        self.past = [point, *old][: self.behind + 1]
        self.motion.counts.steps += 1
        return Span(old[0], point, lambda t: between(self.own, old[0], point, t), self.ending)

    def ending(self, t: float) -> Point:
        """Return the point at ``t`` [s] within the last step, by a step that ends there."""
        (past, kept), now = self.last, self.own.kept()
        if t <= past[0].t:
            return past[0]
        if t == self.past[0].t:
            return self.past[0]
        self.own.put_back(kept)
        try:
            return self.own.step(past, t, t - past[0].t)
        finally:
            self.own.put_back(now)

    def cut(self, t: float) -> Point:
        """Return the point at ``t`` [s] within the last step, which becomes the present one."""
        past, kept = self.last
        if t != self.past[0].t:
            self.own.put_back(kept)
            point = past[0] if t <= past[0].t else self.own.step(past, t, t - past[0].t)
            self.past = past if point is past[0] else [point, *past][: self.behind + 1]
        return self.past[0]

    def restart(self) -> Restart:
        """Return what a run needs to go on."""
        return Restart(tuple(self.past), self.own.kept())


class FixedRun(OwnRun):
    """Steps of a method from time to time."""

    def advance(self, stop: float) -> Span:
        """Take one step to ``stop`` [s]."""
        self.last = self.past, self.own.kept()
        return self.take(self.own.step(self.past, stop, stop - self.past[0].t))


class VariableRun(OwnRun):
    """Steps that a method chooses by its tolerances; a rejected one leaves nothing behind."""

    def __init__(
        self, motion: Motion, steps: Steps, tolerances: Tolerances, depth: int, longest: float, who: str,
        restart: Restart | None = None,
    ) -> None:  # fmt: skip
        super().__init__(motion, steps, depth, restart)
        self.tolerances, self.who = tolerances, who
        self.dense = not len(motion.s)  # states have no dense output of the order of the method: steps end at samples
        self.control = StepControl(steps.estimate_order, steps.growth, steps.steady)
        if restart is not None and restart.control is not None:
            self.control, self.h = copy(restart.control), restart.h
        else:
            self.h = first_step(self.start, tolerances, steps.estimate_order, longest, self.slopes_ahead)
        self.whole: Restart | None = None  # before a last step that the end cut short

    def slopes_ahead(self, h: float) -> Array | None:
        """Return v, a and sd after an Euler step of ``h`` [s]; None where there are none."""
        n, dynamics, start = len(self.start.q), self.own.dynamics, self.start
        q, v, s = np.split(values_of(start) + h * slopes_of(start), (n, 2 * n))
        try:
            a, sd = dynamics.accelerations(q, v, start.t + h, s), dynamics.state_rates(q, v, start.t + h, s)
        except NO_ANSWER:
            return None
        finally:
            dynamics.hold(start.s)
        return np.concatenate((v, a, sd))

    def advance(self, stop: float) -> Span:
        """Take one accepted step that does not pass ``stop`` [s]."""
        old, kept, reason = self.past[0], self.own.kept(), None
        for _ in range(MOST_TRIALS):
            t = old.t + self.h
            cut = t >= stop - NEAR * self.h
            t = stop if cut else t
            h = t - old.t
            if h < SHORTEST * np.spacing(max(abs(old.t), abs(t))) and (not cut or reason is not None):
                break
            try:
                point, estimate = self.own.trial(self.past, t, h)
                error, reason = self.tolerances.norm(estimate, old, point), None
            except NO_ANSWER as failure:
                error, reason = np.inf, failure
            if error <= 1.0:
                return self.accept(point, kept, h, error, cut)
            self.own.put_back(kept)
            self.h = self.control.rejected(h, error)
        told = f": {reason}" if reason is not None else ""
        raise MotionError(
            f"{self.who} does not reach rtol = {self.tolerances.rtol:.3g} and atol = {self.tolerances.atol:.3g} at "
            f"t = {old.t:g} even by a step of {h:.2g} s; take larger tolerances{told}"
        ) from reason

    def accept(self, point: Point, kept: Any, h: float, error: float, cut: bool) -> Span:
        """Make a point the present one, choose the next step, and return this one."""
        self.last = self.past, kept
        shortened = cut and h < self.h * (1.0 - NEAR)
        self.whole = Restart(tuple(self.past), kept, copy(self.control), self.h) if shortened and self.dense else None
        if shortened:
            self.control.refused = False
        else:
            longer = self.control.accepted(h, error)
            self.h = min(longer, h) if len(self.past) <= self.behind else longer  # explicit steps start a formula
        return self.take(point)

    def cut(self, t: float) -> Point:
        """Return the point at ``t`` [s] within the last step, which becomes the present one."""
        self.whole = None
        return super().cut(t)

    def restart(self) -> Restart:
        """Return what a run needs to go on as if it had not stopped."""
        return self.whole or Restart(tuple(self.past), self.own.kept(), copy(self.control), self.h)


class PointsRun(SampledRun):
    """Points of an Integrator that has no steps of its own, one step from sample to sample."""

    def __init__(self, points: Callable[[Motion, Array], Iterator[Point]], motion: Motion, times: Array) -> None:
        self.motion, self.steps = motion, points(motion, times)
        self.start = self.present = self.old = next(self.steps)
        self.own = Steps(motion, Direct())

    def advance(self, stop: float) -> Span:
        """Take the next point."""
        self.old = old = self.present
        self.present = new = next(self.steps)

        def at(t: float) -> Point:
            return between(self.own, old, new, t)

        return Span(old, new, at, at)

    def cut(self, t: float) -> Point:
        """Return the point at ``t`` [s], which becomes the present one."""
        self.present = between(self.own, self.old, self.present, t)
        return self.present

    def restart(self) -> Restart:
        """Return the present point."""
        return Restart((self.present,))


class DenseRun:
    """A solver of a library with dense output, which ``advance`` of a subclass moves on.

    Points of a Span are to be taken before the next step. A run begins anew from the point where it was cut.
    """

    dense = True
    h = 0.0  # next step [s], where it is known

    def __init__(self, motion: Motion, dynamics: Dynamics) -> None:
        self.motion, self.dynamics, self.present = motion, dynamics, None

    present: Point | None

    @property
    def start(self) -> Point:
        """The start with its accelerations and multipliers."""
        motion = self.motion
        return self.dynamics.point(motion.q, motion.v, motion.t0, motion.s)

    def point(self, t: float) -> Point:
        """Return the point at ``t`` [s]; steps are taken until it is passed."""
        raise NotImplementedError

    def forward(self, stop: float) -> float:
        """Take one step, and return the time of its end [s]."""
        raise NotImplementedError

    def samples(self, times: Array) -> Iterator[Point]:
        """Yield the point at each of ``times`` but the first."""
        for t in times[1:]:
            self.present = self.point(float(t))
            yield self.present

    def advance(self, stop: float) -> Span:
        """Take one step, and return it; a last one ends at ``stop`` [s] for the caller."""
        old = self.present or self.start
        end = old.t
        for _ in range(MOST_TRIALS):  # a solver may show its start as a step
            end = min(self.forward(stop), stop)
            if end > old.t:
                break
        self.present = new = self.point(end)
        if self.motion.rows is not None:
            self.motion.rows.renew(new)

        def at(t: float) -> Point:
            return old if t <= old.t else new if t >= new.t else self.point(t)

        return Span(old, new, at, at)

    def cut(self, t: float) -> Point:
        """Return the point at ``t`` [s] within the last step, which becomes the present one."""
        if self.present is not None and t < self.present.t:
            self.present = self.point(t)
        return self.present or self.start

    def restart(self) -> Restart:
        """Return the present point, and the next step."""
        return Restart((self.present or self.start,), h=self.h)


def between(steps: Steps, old: Point, new: Point, t: float) -> Point:
    """Return the point at ``t`` [s]: a quintic of q, v and a of both ends for q and v, a cubic for s.

    Constraints are met by the least change, and accelerations are those of the state.
    """
    if t <= old.t:
        return old
    if t >= new.t:
        return new
    h = new.t - old.t
    x = (t - old.t) / h
    q, v = quintic(old, new, h, x)
    jump = new.s - old.s
    s = old.s + x * jump + x * (1.0 - x) * ((1.0 - x) * (h * old.sd - jump) + x * (jump - h * new.sd))
    system = steps.motion.system
    if system.m:
        q, v = closed_state(system, q, v, t, least_solution)
    return steps.dynamics.point(q, v, t, s)


def quintic(old: Point, new: Point, h: float, x: float) -> tuple[Array, Array]:
    """Return q and v at ``old.t + x h`` of the polynomial of degree five through q, v and a of both ends."""
    jump = new.q - old.q - h * old.v - 0.5 * h * h * old.a
    rate = h * (new.v - old.v - h * old.a)
    bend = h * h * (new.a - old.a)
    c3, c4, c5 = (
        10.0 * jump - 4.0 * rate + 0.5 * bend,
        -15.0 * jump + 7.0 * rate - bend,
        6.0 * jump - 3.0 * rate + 0.5 * bend,
    )
    q = old.q + x * h * old.v + 0.5 * (x * h) ** 2 * old.a + x**3 * (c3 + x * (c4 + x * c5))
    v = old.v + x * h * old.a + x**2 * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)) / h
    return q, v


def spans_to(run: Any, times: Array) -> Iterator[tuple[Span, list[Point]]]:
    """Yield every step of a run with the samples inside it, from the first of ``times`` (k,) to the last."""
    done = 1
    for _ in range(MOST_STEPS):
        if done >= len(times):
            return
        stop = float(times[-1] if run.dense else times[done])
        span = run.advance(stop)
        ready = int(np.searchsorted(times, span.end.t, side="right"))
        yield span, [span.at(float(t)) if t < span.end.t else span.end for t in times[done:ready]]
        done = max(done, ready)
    raise MotionError(f"{MOST_STEPS} steps were taken, and t = {times[-1]:g} is not reached")

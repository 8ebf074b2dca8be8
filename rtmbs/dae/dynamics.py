"""Equations of motion along one run, and their derivatives.

Equations of motion along one run: accelerations by a formulation, corrections after a step, counts.

Derivatives of the equations of motion at a state, exact or by differences, for Newton matrices and solvers.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Counts, Motion, MotionError, Point
from rtmbs.dae.newton import Newton, values_of
from rtmbs.formulations.consistent import Correcting, closed_state, corrected, least_solution
from rtmbs.formulations.contract import (
    NO_STATES,
    ConstrainedSystem,
    Formulation,
    SystemWithStates,
    SystemWrapper,
    checked_answer,
    jacobian_rate,
    states_of,
)
from rtmbs.formulations.reduction import row_factor
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.tableaux import DORMAND_PRINCE, Tableau, stepped

Array = NDArray[np.float64]
ROUNDING = 1e-8  # of the largest coordinate or rate, or 1: a correction below says nothing about the step


@dataclass
class CountedSystem(SystemWrapper):
    """System with counted calls of ``force`` and checked forces, rates and constraints."""

    system: ConstrainedSystem
    counts: Counts
    same_answers: ClassVar[bool] = True

    def note_evaluation(self) -> None:
        """Count one evaluation of forces."""
        self.counts.evaluations += 1

    def force(self, q: Array, v: Array, t: float) -> Array:
        self.note_evaluation()
        return checked_answer("force(q, v, t)", self.system.force(q, v, t), (self.n,))

    @property
    def s(self) -> Array:
        return states_of(self.system)

    def state_rates(self, q: Array, v: Array, t: float) -> Array:
        found = cast(SystemWithStates, self.system).state_rates(q, v, t)
        return checked_answer("state_rates(q, v, t)", found, states_of(self.system).shape)

    def constraints(self, q: Array, t: float) -> Array:
        return checked_answer("constraints(q, t)", self.system.constraints(q, t), (self.m,))


class Dynamics:
    """The equations of motion of one run, with the memory of its formulation."""

    def __init__(self, motion: Motion, formulation: Formulation) -> None:
        self.system, self.counts, self.formulation = motion.system, motion.counts, formulation
        self.asked = with_multipliers(formulation)
        self.memory = formulation.memory()
        Phi_q = motion.system.constraint_jacobian(motion.q, motion.t0)
        self.states = states_of(motion.system)
        self.dependent = len(row_factor(Phi_q).dependent) > 0

    def accelerations(self, q: Array, v: Array, t: float, s: Array = NO_STATES) -> Array:
        """Return a (n,) at a state."""
        self.states[:] = s
        self.counts.factorisations += 1
        return self.formulation.accelerations(self.system, q, v, t, self.memory)[0]

    def state_rates(self, q: Array, v: Array, t: float, s: Array) -> Array:
        """Return sd (ns,) at a state."""
        self.states[:] = s
        return cast(SystemWithStates, self.system).state_rates(q, v, t) if len(s) else NO_STATES

    def hold(self, s: Array) -> None:
        """Set the force states ``s`` (ns,) of the system."""
        self.states[:] = s

    def stage(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return a stage of a step: corrected where rows depend on each other, since off Phi = 0 they contradict."""
        return self.corrected(t, q, v) if self.dependent else (q, v)

    def point(self, q: Array, v: Array, t: float, s: Array = NO_STATES) -> Point:
        """Return a state with its accelerations and multipliers."""
        self.states[:] = s
        self.counts.factorisations += 1
        a, lam = self.asked.accelerations(self.system, q, v, t, self.memory)
        lam = np.full(self.system.m, np.nan) if lam is None else lam
        return Point(t, q, v, a, lam, s, self.state_rates(q, v, t, s))

    def corrected(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return q and v as the formulation puts them back on the constraints.

        Dependent rows contradict each other off Phi = 0. There the least change serves a formulation without a
        correction of its own.
        """
        if self.dependent and not isinstance(self.formulation, Correcting):
            return closed_state(self.system, q, v, t, least_solution)
        return corrected(self.formulation, self.system, q, v, t, self.memory)

    def step_end(self, old: Point, q: Array, v: Array, t: float, s: Array = NO_STATES) -> Point:
        """Return the end of a step from ``old``, corrected. MotionError: the correction is longer than the step."""
        return self.point(*demand_small_correction(old, (q, v), self.corrected(t, q, v), t), t, s)


def with_multipliers(formulation: Any) -> Any:
    """Return the formulation with ``multipliers=True``, for ends of steps."""
    return replace(formulation, multipliers=True) if hasattr(formulation, "multipliers") else formulation


def demand_small_correction(
    old: Point, predicted: tuple[Array, Array], corrected: tuple[Array, Array], t: float
) -> tuple[Array, Array]:
    """Return the corrected q and v (n,) at ``t`` [s]. Raises MotionError where the correction outweighs the step.

    A formula of order p leaves the constraints by O(h^(p+1)), against O(h) that the step moves. A correction as long as
    the step shows that h is too long: the corrected state may belong to another branch, or have any energy.
    """
    for name, before, guess, after in zip(("q", "v"), (old.q, old.v), predicted, corrected, strict=True):
        moved, back = float(np.linalg.norm(guess - before)), float(np.linalg.norm(after - guess))
        if not back <= max(moved, ROUNDING * max(1.0, float(np.abs(before).max(initial=0.0)))):
            raise MotionError(
                f"the correction of {name} at t = {t:g} is {back:.3g} and the step itself is {moved:.3g}; "
                f"take a step shorter than h = {t - old.t:.3g} s",
                outcome=None if np.isfinite(moved + back) else Outcome.NOT_FINITE,
            )
    return corrected


def step_explicit(dynamics: Dynamics, tableau: Tableau, point: Point, h: float) -> Point:
    """Return the point a step of ``h`` [s] later, corrected; its accelerations are the first stage of the next."""
    parts = len(point.q), 2 * len(point.q)

    def rates(values: Array, c: float) -> Array:
        q, v, s = np.split(values, parts)
        t = point.t + c * h
        q, v = dynamics.stage(t, q, v)
        return np.concatenate((v, dynamics.accelerations(q, v, t, s), dynamics.state_rates(q, v, t, s)))

    start, slope = (np.concatenate(one) for one in ((point.q, point.v, point.s), (point.v, point.a, point.sd)))
    q, v, s = np.split(stepped(tableau, h, start, slope, rates), parts)
    return dynamics.step_end(point, q, v, point.t + h, s)


class Steps:
    """Steps of one motion by a method, with the memory of the method.

    ``carried`` (c, n) are further accelerations that a method carries on; None until its first step. They belong to
    times ``offsets`` (c,) behind the end of the step, in steps of ``spacing`` [s].

    A method that chooses its own steps answers ``trial``. Its estimate has the size O(h^``estimate_order``), and lets a
    step grow by ``growth``; ``steady`` as in StepControl. ``planned`` is the step-size control that a Simulation keeps.
    """

    carried: Array | None = None
    offsets: tuple[float, ...] = ()
    spacing = 0.0
    newton: Newton | None = None
    planned: Array = np.zeros(4)
    estimate_order = 0
    growth = 5.0
    steady = True

    def __init__(self, motion: Motion, formulation: Formulation) -> None:
        self.motion, self.dynamics = motion, Dynamics(motion, formulation)

    def first(self) -> Point:
        """Return the start with its accelerations and multipliers."""
        motion = self.motion
        return self.dynamics.point(motion.q, motion.v, motion.t0, motion.s)

    def step(self, past: Sequence[Point], t: float, h: float) -> Point:
        """Return the point at ``t`` [s], a step of ``h`` [s] behind ``past[0]``; earlier points follow it.

        Raises FormulationError where there is no answer, MotionError for a step that fails.
        """
        raise NotImplementedError

    def trial(self, past: Sequence[Point], t: float, h: float) -> tuple[Point, Array]:
        """Return the point at ``t`` [s], and the local error of its q, v and s (2n + ns,), estimated."""
        raise NotImplementedError

    def kept(self) -> tuple[Any, ...]:
        """Return what is kept from step to step, for ``put_back``."""
        newton = self.newton.kept() if self.newton is not None else None
        return self.carried, self.spacing, copy(self.dynamics.memory), newton

    def put_back(self, kept: tuple[Any, ...]) -> None:
        """Set what was kept at an earlier step, so that later ones leave no trace."""
        self.carried, self.spacing, memory, newton = kept[:4]
        self.dynamics.memory = copy(memory)
        if self.newton is not None:
            self.newton.put_back(newton)


def doubled(steps: Steps, past: Sequence[Point], t: float, h: float, order: int, better: bool) -> tuple[Point, Array]:
    """Return the end of two half steps, and its local error from one whole step (Richardson).

    ``better``: the error is taken off, and the constraints are met anew; one order is gained.
    """
    whole = values_of(steps.step(past, t, h))
    middle = steps.step(past, past[0].t + 0.5 * h, 0.5 * h)
    end = steps.step([middle, *past], t, 0.5 * h)
    found = values_of(end)
    estimate = (found - whole) / (2.0**order - 1.0)
    if better:
        system, n = steps.motion.system, steps.motion.system.n
        q, v, s = np.split(found + estimate, (n, 2 * n))
        end = steps.dynamics.point(*closed_state(system, q, v, t, least_solution), t, s)
    return end, estimate


def doubled_explicit(steps: Steps, past: Sequence[Point], t: float, h: float) -> tuple[Point, Array]:
    """Return two Runge-Kutta steps of order five, which start a formula of several steps, and their local error."""
    table, dynamics, old = DORMAND_PRINCE, steps.dynamics, past[0]
    whole = step_explicit(dynamics, table, old, h)
    end = step_explicit(dynamics, table, step_explicit(dynamics, table, old, 0.5 * h), 0.5 * h)._replace(t=t)
    return end, (values_of(end) - values_of(whole)) / (2.0**table.order - 1.0)


STEP = 1e-7  # of a difference, in terms of the coordinate or rate, or 1


class Linearisation(NamedTuple):
    """Derivatives at a state. A Newton matrix needs no more digits than differences have."""

    M: Array  # (n, n)
    K: Array  # (n, n): of M a + Phi_q^T lam - F by q
    C: Array  # (n, n): of -F by v
    Phi_q: Array  # (m, n)
    rate: Array  # (m, n): of Phid by q, which is d(Phi_q)/dt


def linearised(system: ConstrainedSystem, q: Array, v: Array, a: Array, lam: Array, t: float) -> Linearisation:
    """Return the derivatives at a state: those of the system where it has ``linearisation``, or else by differences.

    Differences take 2 n + 1 evaluations of the forces, exact ones none.
    """
    n = system.n
    exact = getattr(system, "linearisation", None)
    found = exact(q, v, a, lam, t) if exact is not None else None
    if found is not None:
        Phi_q = system.constraint_jacobian(q, t)
        K, C = found
        return Linearisation(system.mass(q, t), K, C, Phi_q, jacobian_rate(system, q, v, t))

    def imbalance(x: Array) -> Array:
        return system.mass(x, t) @ a + system.constraint_jacobian(x, t).T @ lam - system.force(x, v, t)

    middle, force = imbalance(q), system.force(q, v, t)
    K, C = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for x, matrix in ((q, K), (v, C)):
            moved = x.copy()
            moved[i] += STEP * max(1.0, abs(x[i]))
            step = moved[i] - x[i]
            change = imbalance(moved) - middle if matrix is K else force - system.force(q, moved, t)
            matrix[:, i] = change / step
    Phi_q = system.constraint_jacobian(q, t)
    return Linearisation(system.mass(q, t), K, C, Phi_q, jacobian_rate(system, q, v, t))


def acceleration_derivatives(
    system: ConstrainedSystem, q: Array, v: Array, a: Array, lam: Array, t: float
) -> tuple[Array, Array, Linearisation]:
    """Return da/dq and da/dv (n, n) on the constraints, and the derivatives that they are made of.

    M da + Phi_q^T dlam = -K dq - C dv and Phi_q da = -(Phidd)_q dq - 2 d(Phi_q)/dt dv. (Phidd)_q comes by differences
    of the constraints, without forces.
    """
    at, n, m = linearised(system, q, v, a, lam, t), system.n, system.m
    by_q = derivative(lambda x: system.constraint_jacobian(x, t) @ a - system.constraint_rate_terms(x, v, t)[1], q)
    left = np.block([[at.M, at.Phi_q.T], [at.Phi_q, np.zeros((m, m))]])
    right = -np.block([[at.K, at.C], [by_q, 2.0 * at.rate]])
    size = np.sqrt(np.maximum(np.abs(np.diag(at.M)), 1e-300))
    scale = 1.0 / np.concatenate((size, np.maximum(np.linalg.norm(at.Phi_q / size, axis=1), 1e-300)))
    found = scale[:n, None] * np.linalg.lstsq(scale[:, None] * left * scale, scale[:, None] * right, rcond=1e-12)[0][:n]
    return found[:, :n], found[:, n:], at


class StateLinearisation(NamedTuple):
    """Derivatives of forces and of the rates of force states at a state, by differences."""

    F_s: Array  # (n, ns): of F by s
    G_q: Array  # (ns, n): of sd by q
    G_v: Array  # (ns, n)
    G_s: Array  # (ns, ns)


def linearised_states(system: Any, q: Array, v: Array, t: float, s: Array) -> StateLinearisation:
    """Return the derivatives at a state with force states ``s`` (ns,), which the system holds in the end."""
    n, held = len(q), states_of(system)

    def values(x: Array) -> Array:
        held[:] = x[2 * n :]
        return np.concatenate((system.force(x[:n], x[n : 2 * n], t), system.state_rates(x[:n], x[n : 2 * n], t)))

    found = derivative(values, np.concatenate((q, v, s)))
    held[:] = s
    return StateLinearisation(found[:n, 2 * n :], found[n:, :n], found[n:, n : 2 * n], found[n:, 2 * n :])


def imbalance(system: ConstrainedSystem, q: Array, v: Array, a: Array, lam: Array, t: float) -> Array:
    """Return M a + Phi_q^T lam - F (n,)."""
    F = system.force(q, v, t)
    return np.asarray(system.mass(q, t) @ a + system.constraint_jacobian(q, t).T @ lam - F)


def constraint_rate(system: ConstrainedSystem, q: Array, v: Array, t: float) -> Array:
    """Return Phid = Phi_q v + Phi_t (m,)."""
    return np.asarray(system.constraint_jacobian(q, t) @ v + system.constraint_rate_terms(q, v, t)[0])


def derivative(function: Callable[[Array], Array], x: Array) -> Array:
    """Return d function / dx (k, len(x)) by differences."""
    middle = function(x)
    found = np.zeros((len(middle), len(x)))
    for i in range(len(x)):
        moved = x.copy()
        moved[i] += STEP * max(1.0, abs(x[i]))
        found[:, i] = (function(moved) - middle) / (moved[i] - x[i])
    return found

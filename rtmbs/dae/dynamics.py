"""A formulation along a motion: accelerations at a state, the correction after a step, and the work counted."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Point
from rtmbs.dae.landing import demand_small_correction
from rtmbs.formulations.contract import NO_STATES, Formulation, SystemWithStates, states_of
from rtmbs.formulations.correction import Correcting, closed, corrected, least_solution
from rtmbs.formulations.rank import row_factor

Array = NDArray[np.float64]


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
            return closed(self.system, q, v, t, least_solution)
        return corrected(self.formulation, self.system, q, v, t, self.memory)

    def landed(self, old: Point, q: Array, v: Array, t: float, s: Array = NO_STATES) -> Point:
        """Return the end of a step from ``old``, corrected. MotionError: the correction is longer than the step."""
        return self.point(*demand_small_correction(old, (q, v), self.corrected(t, q, v), t), t, s)

    def first_order(self, t: float, y: Array) -> Array:
        """Return dy/dt (2n + ns,) of y = (q, v, s), for solvers of ordinary differential equations.

        q and v are corrected first, so that a reduction integrates its own coordinates and the others follow.
        """
        q, v, s = self.parts(t, y)
        return np.concatenate((v, self.accelerations(q, v, t, s), self.state_rates(q, v, t, s)))

    def sample(self, t: float, y: Array) -> Point:
        """Return the point of y = (q, v, s), corrected."""
        q, v, s = self.parts(t, y)
        return self.point(q, v, t, s)

    def parts(self, t: float, y: Array) -> tuple[Array, Array, Array]:
        """Return q and v of y (2n + ns,), corrected, and s."""
        q, v, s = np.split(y, (self.system.n, 2 * self.system.n))
        return *self.corrected(t, q, v), s


def first_order_start(motion: Motion) -> Array:
    """Return y = (q, v, s) (2n + ns,) at the start."""
    return np.concatenate((motion.q, motion.v, motion.s))


def with_multipliers(formulation: Any) -> Any:
    """Return the same form with multipliers, which the stages of a step have no use for."""
    return replace(formulation, multipliers=True) if hasattr(formulation, "multipliers") else formulation

"""A formulation along a motion: accelerations at a state, the correction after a step, and the work counted."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Point
from rtmbs.dae.landing import demand_small_correction
from rtmbs.formulations.contract import Formulation
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
        self.dependent = len(row_factor(Phi_q).dependent) > 0

    def accelerations(self, q: Array, v: Array, t: float) -> Array:
        """Return a (n,) at a state."""
        self.counts.factorisations += 1
        return self.formulation.accelerations(self.system, q, v, t, self.memory)[0]

    def stage(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return a stage of a step: corrected where rows depend on each other, since off Phi = 0 they contradict."""
        return self.corrected(t, q, v) if self.dependent else (q, v)

    def point(self, q: Array, v: Array, t: float) -> Point:
        """Return a state with its accelerations and multipliers."""
        self.counts.factorisations += 1
        a, lam = self.asked.accelerations(self.system, q, v, t, self.memory)
        return Point(t, q, v, a, np.full(self.system.m, np.nan) if lam is None else lam)

    def corrected(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Return q and v as the formulation puts them back on the constraints.

        Dependent rows contradict each other off Phi = 0. There the least change serves a formulation without a
        correction of its own.
        """
        if self.dependent and not isinstance(self.formulation, Correcting):
            return closed(self.system, q, v, t, least_solution)
        return corrected(self.formulation, self.system, q, v, t, self.memory)

    def landed(self, old: Point, q: Array, v: Array, t: float) -> Point:
        """Return the end of a step from ``old``, corrected. MotionError: the correction is longer than the step."""
        return self.point(*demand_small_correction(old, (q, v), self.corrected(t, q, v), t), t)

    def first_order(self, t: float, y: Array) -> Array:
        """Return dy/dt (2n,) of y = (q, v), for solvers of ordinary differential equations.

        States are corrected first, so that a reduction integrates its own coordinates and the others follow.
        """
        q, v = self.corrected(t, *np.split(y, 2))
        return np.concatenate((v, self.accelerations(q, v, t)))


def with_multipliers(formulation: Any) -> Any:
    """Return the same form with multipliers, which the stages of a step have no use for."""
    return replace(formulation, multipliers=True) if hasattr(formulation, "multipliers") else formulation

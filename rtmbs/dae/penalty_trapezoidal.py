"""The main method, implicit trapezoidal rule with penalties and projections, on the bench of this room."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.dae.errors import MotionError
from rtmbs.errors import InputError, StepError
from rtmbs.formulations.augmented_lagrangian import AugmentedLagrangian
from rtmbs.integrators import penalty_trapezoidal
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.simulation import Simulation

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PenaltyTrapezoidal:
    """A Simulation of the compiled System behind JointCoordinates, step by step; no other system is taken.

    ``options`` are those of ``rtmbs.PenaltyTrapezoidal``.

    >>> method = PenaltyTrapezoidal()
    """

    options: penalty_trapezoidal.PenaltyTrapezoidal = field(default_factory=penalty_trapezoidal.PenaltyTrapezoidal)
    redundant = True
    orders = Orders(2, 2, 2, 2)
    integrates_states = True

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the end of each step."""
        sim, point = simulation_at(motion, times, self.options)
        yield point
        for t in times[1:]:
            try:
                report = sim.step()
            except StepError as error:
                raise MotionError(str(error)) from error
            motion.counts.steps += 1
            motion.counts.iterations += report.iterations
            motion.counts.evaluations += report.evaluations
            motion.counts.factorisations += report.factorisations
            now = sim.state
            parts = now.z, now.zd, now.zdd, now.lam, now.s, now.sd
            yield Point(float(t), *(part.copy() for part in parts))


def simulation_at(
    motion: Motion, times: Array, options: penalty_trapezoidal.PenaltyTrapezoidal
) -> tuple[Simulation, Point]:
    """Return a Simulation at the start of a motion, with a step from time to time, and the start.

    Raises InputError for a system that is no compiled one.
    """
    equations, t0 = getattr(motion.system, "equations", None), float(times[0])
    if not isinstance(equations, SemiRecursiveEquations):
        raise InputError("PenaltyTrapezoidal takes JointCoordinates of a compiled System, and no other system")
    if np.any(equations.tables.dofs.reference >= 0):
        raise InputError("PenaltyTrapezoidal takes no rotation dofs here; a Simulation steps such a System by itself")
    point = Dynamics(motion, AugmentedLagrangian()).point(motion.q, motion.v, t0, motion.s)
    sim = Simulation(equations.compiled, h=float(times[1] - times[0]), method=options)
    state = sim.state.copy()
    state.t_ref = t0
    state.z[:], state.zd[:], state.zdd[:], state.lam[:] = point.q, point.v, point.a, point.lam
    state.s[:], state.sd[:] = point.s, point.sd
    sim.restore(state)
    return sim, point

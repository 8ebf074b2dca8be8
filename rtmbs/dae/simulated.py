"""Methods that step the joint coordinates of a Simulation, for ``integrate`` over a compiled System."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, MotionError, Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.errors import InputError, StepError
from rtmbs.formulations.augmented_lagrangian import AugmentedLagrangian
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal as PenaltyTrapezoidal
from rtmbs.integrators.report import StepReport
from rtmbs.semirecursive.equations import SemiRecursiveEquations
from rtmbs.simulation.failures import step_error
from rtmbs.simulation.simulation import Simulation

Array = NDArray[np.float64]


def simulation_points(method: Any, motion: Motion, times: Array) -> Iterator[Point]:
    """Yield the start and the end of each step of a Simulation of the System behind JointCoordinates."""
    sim, point = simulation_at(motion, times, method)
    yield point
    for t in times[1:]:
        try:
            report = accepted(sim)
        except StepError as error:
            raise MotionError(str(error)) from error
        motion.counts.steps += 1
        motion.counts.iterations += report.iterations
        motion.counts.evaluations += report.evaluations
        motion.counts.factorisations += report.factorisations
        now = sim.state
        parts = now.z, now.zd, now.zdd, now.lam, now.s, now.sd
        yield Point(float(t), *(part.copy() for part in parts))


def accepted(sim: Simulation) -> StepReport:
    """Take a step; raises StepError for one that fails."""
    report = sim.step()
    if not report.outcome.accepted:
        raise step_error(sim.state.k + 1, report)
    return report


def simulation_at(motion: Motion, times: Array, method: Any) -> tuple[Simulation, Point]:
    """Return a Simulation at the start of a motion, with a step from time to time, and the start.

    Raises InputError for a system that is no compiled one.
    """
    equations, t0, who = getattr(motion.system, "equations", None), float(times[0]), type(method).__name__
    if not isinstance(equations, SemiRecursiveEquations):
        raise InputError(f"{who} takes JointCoordinates of a compiled System, and no other system")
    if np.any(equations.tables.dofs.reference >= 0):
        raise InputError(f"{who} takes no rotation dofs here; a Simulation steps such a System by itself")
    point = Dynamics(motion, AugmentedLagrangian()).point(motion.q, motion.v, t0, motion.s)
    sim = Simulation(equations.compiled, h=float(times[1] - times[0]), method=method)
    state = sim.state.copy()
    state.t_ref = t0
    state.z[:], state.zd[:], state.zdd[:], state.lam[:] = point.q, point.v, point.a, point.lam
    state.s[:], state.sd[:] = point.s, point.sd
    sim.restore(state)
    return sim, point

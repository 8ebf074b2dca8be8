"""The error of a few steps, seen by taking them again in halves from the same state (METHODS 1.34)."""

from typing import Any

import numpy as np

from rtmbs.simulation.batches import Batch, take_batch
from rtmbs.simulation.input_holder import NO_GOALS
from rtmbs.simulation.local_error import Track, increments
from rtmbs.system.system import System

PART = 4.0 / 3.0  # of the difference to halves: the error of a rule of order two


def error_of_positions(sim: Any, system: System, batch: Batch, count: int) -> float:
    """Return the error of coordinates after the first ``count`` steps of a batch, in typical sizes; inf: halves fail.

    The Simulation stands where it stood. Rates are not compared: off their loops they come back by themselves.
    """
    here, start = sim.state.copy(), batch.start.copy()
    sim.back_to(((start, start.copy()), NO_GOALS))
    sim.step_from_here(0.5 * start.h)
    halves = take_batch(sim, 2 * count, None)
    sim.back_to(((here, here.copy()), NO_GOALS))
    if halves.failed is not None:
        return np.inf
    ends = batch.moments[count], halves.moments[-1]
    both = Track(**{name: np.array([getattr(one, name) for one in ends]) for name in Track._fields})
    return PART * float(np.max(np.abs(increments(system.tables.dofs, both)) / system.typical, initial=0.0))

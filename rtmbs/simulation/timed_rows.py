"""Functions of time for many steps at once: asked ahead, so that one kernel call takes all of these steps."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.limits.bounds import BEYOND
from rtmbs.simulation.jumps import mean_inputs
from rtmbs.state import State
from rtmbs.system.input_slots import evaluate_signals
from rtmbs.system.system import System

Array = NDArray[np.float64]

MOST_AHEAD = 64  # steps that functions are asked about; those that a call has no time for are asked about again


def fill_timed_rows(system: System, start: State, rows: Array) -> int:
    """Write every function of time into ``rows`` (steps, nu), the inputs at the ends of steps from ``start``.

    Returns the number of rows that hold. The step behind them is one for ``Simulation.step``: a function jumps in it,
    raises, or returns what no mechanism may have.
    """
    before = start.u
    for k, row in enumerate(rows[:MOST_AHEAD]):
        t = start.t_ref + (start.k + k) * start.h
        try:
            evaluate_signals(system, start.t_ref + (start.k + k + 1) * start.h, row)
            if not np.abs(row).max() <= BEYOND or mean_inputs(system, t, start.h, before, row) is not None:
                return k
        except Exception:  # noqa: BLE001 - of the user; the step asks again, and lets it pass
            return k
        before = row
    return min(len(rows), MOST_AHEAD)

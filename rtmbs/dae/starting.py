"""The first points of a multistep method, by Runge-Kutta steps of order five."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Point
from rtmbs.dae.dynamics import Dynamics
from rtmbs.dae.stepping import step_explicit
from rtmbs.integrators.tableaux import DORMAND_PRINCE

Array = NDArray[np.float64]


def first_points(motion: Motion, dynamics: Dynamics, times: Array, count: int) -> Iterator[Point]:
    """Yield the points at the first ``count`` of the times, or at all where there are fewer."""
    point = dynamics.point(motion.q, motion.v, float(times[0]), motion.s)
    yield point
    for t in times[1:count]:
        point = step_explicit(dynamics, DORMAND_PRINCE, point, float(t - point.t))
        motion.counts.steps += 1
        yield point

"""``rtmbs.refined`` on the bench of methods: compiled runs of h, h/2 and h/4, extrapolated."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Motion, Orders, Point
from rtmbs.dae.penalty_trapezoidal import simulation_at
from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal
from rtmbs.simulation.refined import refined_from

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Refined:
    """The extrapolated points of a motion; ``runs`` is 2 or 3. The orders are the least that ``refined`` tells."""

    runs: int = 2
    redundant = True

    @property
    def orders(self) -> Orders:
        return Orders(*[self.runs + 1] * 4)

    def points(self, motion: Motion, times: Array) -> Iterator[Point]:
        """Yield the start and the end of each coarse step."""
        sim, point = simulation_at(motion, times, PenaltyTrapezoidal(hold_energy=False))
        samples = refined_from(sim, float(times[-1]), self.runs, threads=1).samples
        yield point
        parts = (samples.z[1:], samples.zd[1:], samples.zdd[1:], samples.lam[1:])
        for t, *values in zip(times[1:], *parts, strict=True):
            yield Point(float(t), *(value.copy() for value in values))

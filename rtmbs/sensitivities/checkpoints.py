"""A run in segments: States are kept where segments begin, and the steps between are taken again when they are needed.

A saved State continues with the same bytes, so the steps are the same ones. Memory holds the checkpoints and the record
of one segment.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rtmbs.sensitivities.recorded import Recorded, Watch
from rtmbs.sensitivities.steps import sizes_of
from rtmbs.simulation.simulation import Simulation
from rtmbs.state import State

Array = NDArray[np.float64]


class Run:
    """Steps from the present state of a Simulation, which nobody else uses meanwhile."""

    def __init__(self, sim: Simulation, steps: int, segments: int = 1) -> None:
        self.sim, self.steps = sim, steps
        self.bounds = np.unique(np.linspace(0, steps, min(segments, steps) + 1).round().astype(np.int64)).tolist()
        self.t_ref, self.k = sim.state.t_ref, sim.state.k
        self.states: list[State] = []
        self.last: Recorded | None = None
        self.sizes = np.zeros(2)  # largest rate and acceleration

    @property
    def t(self) -> Array:
        """Times (steps + 1,) of all samples [s]."""
        return np.asarray(self.t_ref + np.arange(self.k, self.k + self.steps + 1, dtype=np.float64) * self.sim.h)

    @property
    def alpha(self) -> Array:
        """Penalty factors (m,) of the run."""
        return np.asarray(self.states[0].memory["alpha"])

    def first(self) -> Iterator[tuple[int, Recorded]]:
        """Take all steps for the first time: yield the number of the first sample and the record of each segment."""
        for begin, end in zip(self.bounds, self.bounds[1:], strict=False):
            self.states.append(self.sim.state.copy())
            self.last = self.taken(end)
            self.sizes = np.maximum(self.sizes, sizes_of(self.last.samples))
            yield begin, self.last

    def again(self, backwards: bool = False) -> Iterator[tuple[int, Recorded]]:
        """Yield all segments once more; the record of the last one is still there."""
        order = range(len(self.states))
        for number in reversed(order) if backwards else order:
            if number == order[-1] and self.last is not None:
                yield self.bounds[number], self.last
            else:
                self.last = None if backwards else self.last
                self.sim.restore(self.states[number])
                yield self.bounds[number], self.taken(self.bounds[number + 1])

    def taken(self, end: int) -> Recorded:
        """Step to the sample of a number, and return the record."""
        watch = Watch()
        self.sim.run(float(self.t[end]), observers=[watch], on_failure="raise")
        return watch.recorded()

"""A run with all that its linear equations need: every state, kept energies, and where each Newton matrix was made."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.integrators.settings import JACOBIANS, KEPT, NEAR_SINGULAR, TRIES, Chunk
from rtmbs.observers.base import Observer, Watched
from rtmbs.results.samples import OF_STATE, Samples

Array = NDArray[np.float64]

HELPED = "was taken by a further try or in parts, and its derivatives are not known; take a smaller step h"
SINGULAR = (
    "ends next to a singular pose, where loops lose a direction and a motion has no derivative; end the run before it"
)


@dataclass(frozen=True)
class Recorded:
    """States 0 ... K of a run, and what steps 1 ... K did."""

    samples: Samples  # K + 1 of them
    kept: Array  # (K + 1, nc) energies that components keep [J]
    rates: Array  # (K + 1, ns) of states of force laws
    jacobians: NDArray[np.int64]  # (K,) Newton matrices made in a step

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.jacobians)


class Watch(Observer):
    """Keeps every step of a run."""

    def start(self, sim: Watched, steps: int | None) -> None:
        """Keep the first state."""
        self.first = sim.equations.tables.balance.first
        self.rows: list[tuple[Array, ...]] = []
        self.keep(sim, 0)

    def keep(self, sim: Watched, jacobians: int) -> None:
        """Keep the present state as a row."""
        state = sim.state
        arrays = [np.array(getattr(state, name))[None] for name in OF_STATE]
        kept = state.memory["energy"][None, self.first, KEPT]
        self.rows.append((np.array([state.t]), *arrays, kept, state.sd[None].copy(), np.array([jacobians])))

    def look(self, sim: Watched, report: StepReport) -> None:
        """Keep one step; InputError for one whose equations are others."""
        if report.tries or report.parts > 1:
            raise refused(sim.state.t, HELPED)
        if report.outcome is Outcome.NEAR_SINGULAR:
            raise refused(sim.state.t, SINGULAR)
        self.keep(sim, report.jacobians)

    def look_at_chunk(self, sim: Watched, t: Array, chunk: Chunk) -> None:
        """Keep many steps."""
        for place, why in ((TRIES, HELPED), (NEAR_SINGULAR, SINGULAR)):
            if len(wrong := np.flatnonzero(chunk.stats[:, place])):
                raise refused(float(t[wrong[0]]), why)
        arrays = [np.array(getattr(chunk, name)) for name in OF_STATE]
        kept = chunk.energy[:, self.first, KEPT]
        rates, jacobians = np.array(chunk.sd), chunk.stats[:, JACOBIANS].astype(np.int64)
        self.rows.append((np.array(t), *arrays, kept, rates, jacobians))

    def recorded(self) -> Recorded:
        """Return all rows."""
        t, *arrays, kept, rates, jacobians = (np.concatenate(column) for column in zip(*self.rows, strict=True))
        return Recorded(Samples(t, *arrays), kept, rates, jacobians[1:])


def refused(t: float, why: str) -> InputError:
    """Return the error of a step whose derivatives are not known."""
    return InputError(f"the step that ends at t = {t:g} s {why}")

"""Warnings of states of force laws that are too fast for the step, such as a current of half a millisecond.

The derivative dg/ds of the rates of a law's states by the states has the eigenvalues lambda. A step of h multiplies
what is left of a sudden change by (1 + h lambda / 2) / (1 - h lambda / 2) in place of exp(h lambda): the difference is
what a run of h makes of the transient.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.results.sample_kernels import resample_law_forces
from rtmbs.results.samples import one_sample
from rtmbs.semirecursive.workspace import workspace
from rtmbs.state import State
from rtmbs.system.law_tables import ACTS, COUNT, LOOKS, PLACE
from rtmbs.system.law_tables import STATE as FIRST
from rtmbs.system.system import LawStateInfo, System
from rtmbs.system.tables import Tables

Array = NDArray[np.float64]

TOO_FAST, RESOLVED = 0.5, 0.25  # of h |lambda|: warned of, and advised (0.2 % of a sudden change)
LOOKED = 64  # steps after which the error of a decay is looked at


class FastState(NamedTuple):
    """A state that the step does not resolve."""

    force: str
    state: str
    constant: float  # 1 / |lambda| [s]
    h: float  # [s]

    def __str__(self) -> str:
        error = 100.0 * transient_error(-self.h / self.constant)
        return (
            f"force {self.force!r}: its state {self.state!r} has a time constant of {self.constant:.3g} s, which steps "
            f"of h = {self.h:g} s do not resolve: of a sudden change of it up to {error:.0f} % is wrong in a run; "
            f"h = {RESOLVED * self.constant:.3g} s resolves it"
        )


class FastStates:
    """Check of the time constants of the states of a System's laws."""

    def __init__(self, system: System, tables: Tables) -> None:
        self.tables, self.states, self.ws = tables, system.states, workspace(tables)
        self.found: dict[tuple[str, str], FastState] = {}

    def look(self, state: State) -> list[FastState]:
        """Return the states that are too fast at ``state`` and were not found before."""
        out = np.zeros((1, len(self.tables.laws.row)))
        resample_law_forces(self.tables, one_sample(state), self.ws, out)
        new = []
        for block in self.tables.laws.state_block:
            fast = self.fast_of(block, state.h)
            if fast is not None and (fast.force, fast.state) not in self.found:
                self.found[fast.force, fast.state] = fast
                new.append(fast)
        return new

    def fast_of(self, block: NDArray[np.int64], h: float) -> FastState | None:
        """Return the fastest state of one law when ``h`` does not resolve it."""
        k = int(block[COUNT])
        first = int(block[PLACE]) + int(block[ACTS]) * k + k * int(block[LOOKS])
        slope = self.ws.state_slope[first : first + k * k].reshape(k, k)
        if not np.all(np.isfinite(slope)):
            return None
        values, vectors = np.linalg.eig(slope)
        fastest = int(np.argmax(np.abs(values)))
        if not h * abs(values[fastest]) > TOO_FAST:
            return None
        of: LawStateInfo = self.states[int(block[FIRST]) + int(np.argmax(np.abs(vectors[:, fastest])))]
        return FastState(of.force, of.name, 1.0 / float(abs(values[fastest])), h)


def transient_error(x: float) -> float:
    """Return the largest error of a decay by exp(x) a step, x = h lambda < 0, in terms of its first value."""
    steps = np.arange(1, LOOKED + 1)
    return float(np.max(np.abs(np.exp(x * steps) - ((1.0 + 0.5 * x) / (1.0 - 0.5 * x)) ** steps)))


def fast_states_of(system: System, tables: Tables) -> FastStates | None:
    """Return the check of the states of a System's laws, or None without any."""
    return FastStates(system, tables) if system.states else None

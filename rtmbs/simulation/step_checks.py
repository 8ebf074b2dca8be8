"""Checks of accepted steps: bushings past half a turn, and states of force laws too fast for the step.

A state alone does not tell on which side of half a turn a bushing was, so the two ends of every step are compared. The
rotation is measured only where the rates say that half a turn may have been reached since it was last measured.

The derivative dg/ds of the rates of a law's states by the states has the eigenvalues lambda. A step of h multiplies
what is left of a sudden change by (1 + h lambda / 2) / (1 - h lambda / 2) in place of exp(h lambda): the difference is
what a run of h makes of the transient.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.forces.bushings import BUSHINGS, DAMPING, PRELOAD
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.integrators.settings import Chunk
from rtmbs.results.sample_kernels import REPLAY, resample_law_forces
from rtmbs.results.samples import OF_STATE, Samples, one_sample
from rtmbs.semirecursive.workspace import workspace
from rtmbs.state import State
from rtmbs.system.law_tables import ACTS, COUNT, LOOKS, PLACE
from rtmbs.system.law_tables import STATE as FIRST
from rtmbs.system.system import LawStateInfo, System
from rtmbs.system.tables import PRISMATIC, Tables

Array = NDArray[np.float64]

ROTATION = slice(3, 6)  # of what a bushing measures: the rotation vector
NEAR = 0.1  # [rad] before half a turn, where every step is measured
MARGIN = 1.5  # of the turn that the rates at both ends of a step tell
REMEDY = "let a joint carry large turns, and a TorsionSpring on its coordinate the torque"


class HalfTurns:
    """Check of the bushings of a System after every step."""

    def __init__(self, system: System, tables: Tables) -> None:
        bushings, connectors = tables.forces.bushings, tables.connectors
        self.tables, self.bushings, self.ws = tables, bushings, workspace(tables)
        of_row = {info.row: info.name for info in system.forces.values() if info.kind == BUSHINGS.word}
        self.names = [of_row[row] for row in range(len(bushings.connector))]
        self.turning = np.zeros((len(self.names), len(tables.dofs.kind)))  # rates that may turn each bushing
        for row, connector in enumerate(bushings.connector):
            dofs = connectors.dof[connectors.pointer[connector] : connectors.pointer[connector + 1]]
            self.turning[row, dofs[tables.dofs.kind[dofs] != PRISMATIC]] = 1.0
        self.left = np.zeros(len(self.names))  # [rad] that each may turn before it is measured again
        self.pose = b""  # that ``left`` belongs to

    def checked(self, report: StepReport, old: State, new: State) -> StepReport:
        """Return the report of a step from ``old`` to ``new``, which is refused where a bushing passes half a turn."""
        if self.spared(old, new.zd[None], new):
            return report
        samples = [np.concatenate(pair) for pair in zip(one_sample(old), one_sample(new), strict=True)]
        row, name = self.passed(Samples(*samples))
        if row < 0:
            self.pose = pose_of(new)
            return report
        return report._replace(outcome=Outcome.HALF_TURN, worst=(f"force {name!r}",), hopeless=True, reason=REMEDY)

    def good(self, old: State, chunk: Chunk, done: int) -> int:
        """Return how many of the steps in the first rows of ``chunk`` come before one past half a turn."""
        last = Samples(np.zeros(1), *(getattr(chunk, name)[done - 1 : done] for name in OF_STATE))
        if self.spared(old, chunk.zd[:done], last):
            return done
        rows = {name: np.concatenate((getattr(old, name)[None], getattr(chunk, name)[:done])) for name in OF_STATE}
        row, _ = self.passed(Samples(np.zeros(done + 1), **rows))
        self.pose = pose_of(last) if row < 0 else b""
        return done if row < 0 else row

    def spared(self, old: State, rates: Array, new: State | Samples) -> bool:
        """Return whether the rates (k, n) at the ends of steps from ``old`` keep every bushing from half a turn."""
        if pose_of(old) != self.pose:
            return False
        speed = np.abs(old.zd) + np.abs(rates[-1]) + 2.0 * np.abs(rates[:-1]).sum(axis=0)
        left = self.left - self.turning @ (0.5 * MARGIN * old.h * speed)
        if not np.all(left > 0.0):
            return False
        self.left, self.pose = left, pose_of(new)
        return True

    def passed(self, samples: Samples) -> tuple[int, str]:
        """Return the number and the bushing of the first step past half a turn between samples; (-1, "") for none."""
        out = np.zeros((len(samples.t), len(self.names), BUSHINGS.measured))
        REPLAY[BUSHINGS.name](self.tables, samples, self.ws, out)
        turns = out[:, :, ROTATION]
        jumps = np.linalg.norm(np.diff(turns, axis=0), axis=2) > np.pi
        for row, k in np.argwhere(jumps):
            if self.acts(int(k), samples.u[row + 1]):
                return int(row), self.names[k]
        self.left = np.pi - NEAR - np.linalg.norm(turns[-1], axis=1)
        return -1, ""

    def acts(self, k: int, u: Array) -> bool:
        """Return whether the rotation of a bushing moves any force of it, with inputs ``u``."""
        slot = int(self.bushings.slot[k])
        matrices = [u[slot + first : slot + first + 36].reshape(6, 6) for first in (0, DAMPING)]
        parts = [part for one in matrices for part in (one[3:], one[:, 3:])]
        parts += [u[slot + PRELOAD + 3 : slot + PRELOAD + 6], self.bushings.knots[k, 3:]]
        return any(np.any(part != 0.0) for part in parts)


def pose_of(state: State | Samples) -> bytes:
    """Return the pose as bytes that compare at once."""
    return bytes(state.z.tobytes() + state.R0.tobytes())


def half_turns_of(system: System, tables: Tables) -> HalfTurns | None:
    """Return the check of the bushings of a System, or None without any."""
    return HalfTurns(system, tables) if len(tables.forces.bushings.connector) else None


# ---- warnings of states of force laws that are too fast for the step, such as a current of half a millisecond -------


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
        if not np.all(np.isfinite(slope)) or h * np.abs(slope).sum(axis=1).max() <= TOO_FAST:
            return None  # no eigenvalue is larger than the largest sum of a row
        values, vectors = np.linalg.eig(slope)
        for fastest in np.argsort(-np.abs(values)):
            if not h * abs(values[fastest]) > TOO_FAST:
                break
            of: LawStateInfo = self.states[int(block[FIRST]) + int(np.argmax(np.abs(vectors[:, fastest])))]
            if not of.settles:
                return FastState(of.force, of.name, 1.0 / float(abs(values[fastest])), h)
        return None


def transient_error(x: float) -> float:
    """Return the largest error of a decay by exp(x) a step, x = h lambda < 0, in terms of its first value."""
    steps = np.arange(1, LOOKED + 1)
    return float(np.max(np.abs(np.exp(x * steps) - ((1.0 + 0.5 * x) / (1.0 - 0.5 * x)) ** steps)))


def fast_states_of(system: System, tables: Tables) -> FastStates | None:
    """Return the check of the states of a System's laws, or None without any."""
    return FastStates(system, tables) if system.states else None

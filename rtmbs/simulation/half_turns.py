"""Refusal of steps in which a bushing turns past half a turn, where its rotation vector and its torque jump.

A state alone does not tell on which side of half a turn a bushing was, so the two ends of every step are compared. The
rotation is measured only where the rates say that half a turn may have been reached since it was last measured.
"""

import numpy as np
from numpy.typing import NDArray

from rtmbs.forces.bushings import BUSHINGS, DAMPING, PRELOAD
from rtmbs.integrators.report import Outcome, StepReport
from rtmbs.integrators.settings import Chunk
from rtmbs.results.sample_kernels import REPLAY
from rtmbs.results.samples import OF_STATE, Samples, one_sample
from rtmbs.semirecursive.workspace import workspace
from rtmbs.state import State
from rtmbs.system.system import System
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

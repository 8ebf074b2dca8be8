"""The penalty trapezoidal rule as one compiled kernel: of the whole mechanism, or of its groups on threads."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import TAKEN, Outcome
from rtmbs.integrators.settings import Chunk, Settings, StateArrays
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.endings import (
    CONVERGED,
    LOOP_OPEN,
    NEAR,
    NOT_CONVERGED,
    NOT_FINITE,
    SMALL_PIVOT,
    UNBALANCED,
    UNFINISHED,
    UNPROJECTED,
)
from rtmbs.semirecursive.follow_kernel import FollowKernel
from rtmbs.semirecursive.fused_kernel import FusedKernel
from rtmbs.semirecursive.groups import Groups

if TYPE_CHECKING:
    from rtmbs.semirecursive.equations import SemiRecursiveEquations

Array = NDArray[np.float64]

OUTCOMES = {
    CONVERGED: Outcome.CONVERGED,
    NOT_CONVERGED: Outcome.NOT_CONVERGED,
    NOT_FINITE: Outcome.NOT_FINITE,
    LOOP_OPEN: Outcome.LOOP_OPEN,
    UNFINISHED: Outcome.UNFINISHED,
    UNPROJECTED: Outcome.UNPROJECTED,
    NEAR: Outcome.NEAR_SINGULAR,
    UNBALANCED: Outcome.UNBALANCED,
    SMALL_PIVOT: Outcome.SINGULAR_TANGENT,
}
LONGEST_CALL = 0.05  # [s] so that Ctrl+C and the progress bar wait no longer, but for one step


class FusedSteps:
    """What a Python caller of the kernel keeps: its machine code, and the groups of the mechanism."""

    outcomes = OUTCOMES

    def __init__(self, equations: "SemiRecursiveEquations") -> None:
        self.equations, self.kernel, self.follow_kernel = equations, FusedKernel(), FollowKernel()
        self._groups: Groups | None = None

    def of(self, equations: "SemiRecursiveEquations") -> "FusedSteps":
        """Return this for equations of the same types and sizes; its machine code serves, and looking up takes long."""
        other = FusedSteps(equations)
        other.kernel, other.follow_kernel, other._groups = self.kernel, self.follow_kernel, self._groups
        return other

    @property
    def tick(self) -> float:
        """Length of a phase unit [s]."""
        return seconds_per_tick()

    @property
    def budget(self) -> int:
        """Ticks of the longest kernel call."""
        return round(LONGEST_CALL / seconds_per_tick())

    def arguments(self, settings: Settings, old: StateArrays, chunk: Chunk) -> tuple[Any, ...]:
        """Return what the kernel takes to make a step for every row."""
        equations = self.equations
        return (
            equations.tables, equations.lu, equations.work, settings, equations.alpha, old, chunk, equations.ws,
            self.budget,
        )  # fmt: skip

    def follow(self, settings: Settings, state: StateArrays, alpha: Array, u: Array, roughly: bool) -> bool:
        """Let balances, accelerations and multipliers of ``state`` follow ``u``; False when accelerations did not."""
        equations = self.equations
        given = (equations.tables, equations.lu, equations.work)
        return self.follow_kernel(*given, settings, alpha, u, state, equations.ws, roughly)

    @property
    def groups(self) -> Groups | None:
        """The groups that the mechanism is stepped in, or None when it is stepped as a whole."""
        equations = self.equations
        if equations.threads == 1 or equations.timed:
            return None
        tables, threads = equations.tables, equations.threads
        if self._groups is None or self._groups.tables is not tables or self._groups.threads != threads:
            self._groups = Groups(tables, equations.lu, threads, self.kernel)
        return self._groups if len(self._groups) > 1 else None

    def in_groups(self, settings: Settings, old: StateArrays, row: Chunk) -> Outcome:
        """Take one step, the groups in turns."""
        code, _ = self.step_groups(settings, old, row, side_by_side=False)
        return OUTCOMES[code]

    def many_in_groups(self, settings: Settings, old: StateArrays, chunk: Chunk) -> tuple[int, bool]:
        """Take a step for every row, the groups side by side; (accepted steps, whether the next one failed)."""
        code, done = self.step_groups(settings, old, chunk, side_by_side=True)
        return done, OUTCOMES[code] not in TAKEN

    def step_groups(self, settings: Settings, old: StateArrays, chunk: Chunk, side_by_side: bool) -> tuple[int, int]:
        """Call the kernel once for every group."""
        groups = self.groups
        assert groups is not None
        try:
            return groups.advance(settings, self.equations.alpha, old, chunk, self.budget, side_by_side)
        except BaseException:  # an interrupt: a thread may still be writing, to what nobody will read
            self._groups = None
            raise

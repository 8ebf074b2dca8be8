"""Calls of the compiled variational midpoint step from Python."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import KEPT_WHOLE, PASSED, Chunk, Settings, StateArrays
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.exit_codes import OUTCOMES
from rtmbs.semirecursive.machine_code import LONGEST_CALL, MachineCode
from rtmbs.semirecursive.midpoint_step import march_midpoint, scratch_for

Array = NDArray[np.float64]
COMPLETE_STEPS = 1_000_000  # behind steps that were lost


class FusedMidpoint(MachineCode):
    """The machine code of ``midpoint_step.march_midpoint`` and its scratch."""

    def __init__(self, equations: EvaluatedEquations) -> None:
        self.equations, self.complete_steps = equations, 0
        self.own = scratch_for(len(equations.ws.Phi_z), len(equations.u), equations.n, equations.m)

    def __call__(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk
    ) -> tuple[Outcome, int]:
        """Take a step for every row from ``old`` with inputs ``u``; how the last one ended, and the accepted steps.

        Steps that are lost, for want of rates where the next one fails, are taken again, each complete. The next steps
        then leave nothing out. An interrupt between two calls of the kernel takes all rows back.
        """
        passed = chunk.stats[:, PASSED].copy()
        passed[: self.complete_steps] = np.minimum(passed[: self.complete_steps], 0.0)
        ending, done, lost = self.marched(settings, weight, old, u, chunk, passed)
        if lost:
            self.complete_steps = done + COMPLETE_STEPS
            passed[done:] = KEPT_WHOLE
            ending, done, _ = self.marched(settings, weight, old, u, chunk, passed)
        self.complete_steps = max(self.complete_steps - done, 0)
        return OUTCOMES[ending], done

    def marched(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk, passed: Array
    ) -> tuple[int, int, int]:
        """Take the steps in calls of the kernel that end in time; exit code, accepted steps and lost ones.

        Where a call ends completes no row: that row's report would depend on the clock.
        """
        equations, ending, begun, done, lost = self.equations, 0, 0, 0, 0
        given = (
            equations.tables, equations.lu, equations.work, settings, weight, old, u, chunk, equations.ws, self.own,
            round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_midpoint, (*given, begun, done))
        chunk.stats[:, PASSED] = passed
        for _ in range(len(chunk.stats)):  # each call takes a step at least
            ending, done, lost, begun = self.march(*given, begun, done)
            if not begun:
                break
        return ending, int(done), int(lost)

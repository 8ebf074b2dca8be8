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
COMPLETE_CALLS = 1000  # behind one that lost steps


class FusedMidpoint(MachineCode):
    """The machine code of ``midpoint_step.march_midpoint`` and its scratch."""

    def __init__(self, equations: EvaluatedEquations) -> None:
        self.equations, self.complete_calls = equations, 0
        self.own = scratch_for(len(equations.ws.Phi_z), len(equations.u), equations.n, equations.m)

    def __call__(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk
    ) -> tuple[Outcome, int]:
        """Take a step for every row from ``old`` with inputs ``u``; how the last one ended, and the accepted steps.

        Steps that are lost, for want of rates where the next one fails, are taken again, each complete. The next calls
        then leave nothing out.
        """
        equations = self.equations
        arguments = (
            equations.tables, equations.lu, equations.work, settings, weight, old, u, chunk, equations.ws, self.own,
            round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_midpoint, arguments)
        if self.complete_calls > 0:
            self.complete_calls -= 1
            chunk.stats[:, PASSED] = np.minimum(chunk.stats[:, PASSED], 0.0)
        ending, done, lost = self.march(*arguments)
        if lost:
            self.complete_calls = COMPLETE_CALLS
            chunk.stats[:, PASSED] = KEPT_WHOLE
            ending, done, _ = self.march(*arguments)
        return OUTCOMES[ending], int(done)

"""Calls of the compiled TR-BDF2 step from Python."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import Chunk, Settings, StateArrays
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.exit_codes import OUTCOMES
from rtmbs.semirecursive.machine_code import LONGEST_CALL, MachineCode
from rtmbs.semirecursive.midpoint_step import scratch_for
from rtmbs.semirecursive.trbdf2_step import march_trbdf2, stage_scratch

Array = NDArray[np.float64]


class FusedTRBDF2(MachineCode):
    """The machine code of ``trbdf2_step.march_trbdf2`` and its scratch."""

    def __init__(self, equations: EvaluatedEquations) -> None:
        inputs, n, m, states = len(equations.u), equations.n, equations.m, equations.states
        self.equations, self.stage = equations, stage_scratch(inputs, n, states)
        self.own = scratch_for(len(equations.ws.Phi_z), inputs, n, m)

    def __call__(
        self, settings: Settings, alpha: Array, weight: Array, old: StateArrays, u: Array, chunk: Chunk, anyhow: bool
    ) -> tuple[Outcome, int]:
        """Take a step for every row from ``old`` with inputs ``u``; how the last one ended, and the accepted steps."""
        equations = self.equations
        arguments = (
            equations.tables, equations.lu, equations.work, settings, alpha, weight, old, u, chunk, equations.ws,
            self.own, self.stage, anyhow, round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_trbdf2, arguments)
        ending, done = self.march(*arguments)
        return OUTCOMES[ending], int(done)

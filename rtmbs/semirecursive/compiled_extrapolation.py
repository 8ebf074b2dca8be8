"""Calls of the compiled extrapolated midpoint step from Python."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import Chunk, Settings, StateArrays
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.exit_codes import OUTCOMES
from rtmbs.semirecursive.extrapolated_step import REFUSED, Judged, march_extrapolated, scratch_between
from rtmbs.semirecursive.machine_code import LONGEST_CALL, MachineCode
from rtmbs.semirecursive.midpoint_step import scratch_for

Array = NDArray[np.float64]


class FusedExtrapolation(MachineCode):
    """The machine code of ``extrapolated_step.march_extrapolated`` and its scratch."""

    def __init__(self, equations: EvaluatedEquations) -> None:
        self.equations, self.between = equations, scratch_between(equations.n)
        self.own = scratch_for(len(equations.ws.Phi_z), len(equations.u), equations.n, equations.m)

    @property
    def error(self) -> Array:
        """Error (2, n) of positions and rates of the last step that was tried."""
        return np.asarray(self.between.error)

    def __call__(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk, inputs: Array, rows: Chunk,
        control: Array, first: Array, judged: Judged,
    ) -> tuple[Outcome | None, int]:  # fmt: skip
        """Take a step for every row from ``old``; how the last one ended, None: refused, and the steps taken."""
        equations = self.equations
        arguments = (
            equations.tables, equations.lu, equations.work, settings, weight, old, u, chunk, inputs, rows, control,
            first, judged, equations.ws, self.own, self.between, round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_extrapolated, arguments)
        ending, done = self.march(*arguments)
        return None if ending == REFUSED else OUTCOMES[ending], int(done)

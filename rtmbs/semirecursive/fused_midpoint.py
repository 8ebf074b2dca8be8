"""The variational midpoint step as one compiled kernel, as Python calls it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import Chunk, Settings, StateArrays
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.fused import LONGEST_CALL, OUTCOMES
from rtmbs.semirecursive.midpoint_end import scratch_for
from rtmbs.semirecursive.midpoint_step import march_midpoint

if TYPE_CHECKING:
    from rtmbs.semirecursive.equations import SemiRecursiveEquations

Array = NDArray[np.float64]


class FusedMidpoint:
    """The machine code of ``midpoint_step.march_midpoint`` and its scratch; answers ``integrators.base``."""

    def __init__(self, equations: "SemiRecursiveEquations") -> None:
        self.equations = equations
        self.own = scratch_for(len(equations.ws.Phi_z), len(equations.u), equations.n, equations.m)
        self.march: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look up the machine code for themselves: it is an address in this process."""
        return {**vars(self), "march": None}

    @property
    def tick(self) -> float:
        """Length of a phase unit [s]."""
        return seconds_per_tick()

    def __call__(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk
    ) -> tuple[Outcome, int]:
        """Take a step for every row from ``old`` with inputs ``u``; how the last one ended, and the accepted steps."""
        equations = self.equations
        arguments = (
            equations.tables, equations.lu, equations.work, settings, weight, old, u, chunk, equations.ws, self.own,
            round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_midpoint, arguments)
        ending, done = self.march(*arguments)
        return OUTCOMES[ending], int(done)

"""Calls of the compiled extrapolated midpoint step from Python."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.integrators.extrapolation import LANDED, LEFT, TRIED
from rtmbs.integrators.report import Outcome
from rtmbs.integrators.settings import Chunk, Settings, StateArrays, chunk_from, row_of
from rtmbs.jit.compiled import entry_for
from rtmbs.jit.intrinsics import seconds_per_tick
from rtmbs.semirecursive.evaluated_equations import EvaluatedEquations
from rtmbs.semirecursive.exit_codes import ACCEPTED, CONVERGED, OUTCOMES
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
        """Take a step for every row from ``old``; how the last one ended, None: refused, and the steps taken.

        Kernel calls that are out of time are followed by others, so where they end decides nothing.
        """
        before, inputs_before, error = old, u, first
        done = tries = 0
        ending, more = CONVERGED, 0
        for _ in range(len(chunk.stats)):
            control[TRIED] = 0.0
            part = Judged(judged.h[done:], judged.growth[done:], judged.tried[tries:])
            ending, more = self.call(
                settings, weight, before, inputs_before, chunk_from(chunk, done), inputs[4 * done :], rows, control,
                error, part,
            )  # fmt: skip
            done, tries = done + more, tries + int(control[TRIED])
            if not (more and out_of_time(ending, control, chunk, judged, done, tries)):
                break
            before, inputs_before, error = row_of(chunk, done - 1), inputs[4 * done - 1], judged.growth[done - 1]
        control[TRIED] = tries
        return None if ending == REFUSED else OUTCOMES[ending], done

    def call(
        self, settings: Settings, weight: Array, old: StateArrays, u: Array, chunk: Chunk, inputs: Array, rows: Chunk,
        control: Array, error: Array, judged: Judged,
    ) -> tuple[int, int]:  # fmt: skip
        """Call the kernel once; returns its exit code and the steps taken."""
        equations = self.equations
        arguments = (
            equations.tables, equations.lu, equations.work, settings, weight, old, u, chunk, inputs, rows, control,
            error, judged, equations.ws, self.own, self.between, round(LONGEST_CALL / seconds_per_tick()),
        )  # fmt: skip
        if self.march is None:
            self.march = entry_for(march_extrapolated, arguments)
        ending, done = self.march(*arguments)
        return int(ending), int(done)


def out_of_time(ending: int, control: Array, chunk: Chunk, judged: Judged, done: int, tries: int) -> bool:
    """Return whether a call that took step ``done - 1`` in its last try left others to take."""
    room = done < len(chunk.stats) and tries < len(judged.tried)
    taken = ending in ACCEPTED and judged.tried[tries - 1, 3] > 0.0
    return bool(room and taken and control[LEFT] > LANDED * judged.h[done - 1])

"""Compiled steps as Python calls them: their exit codes, the Outcomes of these, and their machine code."""

from collections.abc import Callable
from typing import Any

from rtmbs.integrators.report import Outcome
from rtmbs.jit.compiled import inner_kernel
from rtmbs.jit.intrinsics import seconds_per_tick

CONVERGED, NOT_CONVERGED, SMALL_PIVOT, NOT_FINITE, LOOP_OPEN, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR = range(9)
ACCEPTED = (CONVERGED, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR)  # of steps that were taken, from best to worst
NOT_FOLLOWED = 10  # no accelerations of changed inputs; a mechanism file answers 9 for half a turn
Ending = tuple[int, int]  # exit code of the last step, and the number of accepted steps
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


@inner_kernel
def accepted(ending: int) -> bool:
    """True when the step was taken."""
    return ending in (CONVERGED, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR)


LONGEST_CALL = 0.05  # [s] so that Ctrl+C and the progress bar wait no longer, but for one step


class MachineCode:
    """Machine code of a compiled step, looked up at its first call."""

    march: Callable[..., Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look up the machine code for themselves: it is an address in this process."""
        return {**vars(self), "march": None}

    @property
    def tick(self) -> float:
        """Length of a phase unit [s]."""
        return seconds_per_tick()

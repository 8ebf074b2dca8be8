"""Exit codes of compiled steps, and the Outcomes that they stand for."""

from rtmbs.integrators.report import Outcome
from rtmbs.jit.compiled import inner_kernel

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
def accepted(ending):
    """True when the step was taken."""
    return ending in (CONVERGED, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR)

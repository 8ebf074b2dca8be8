"""Exit codes of compiled steps."""

from rtmbs.jit.compiled import inner_kernel

CONVERGED, NOT_CONVERGED, SMALL_PIVOT, NOT_FINITE, LOOP_OPEN, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR = range(9)
ACCEPTED = (CONVERGED, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR)  # of steps that were taken, from best to worst
Ending = tuple[int, int]  # exit code of the last step, and the number of accepted steps


@inner_kernel
def accepted(ending):
    """True when the step was taken."""
    return ending in (CONVERGED, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR)

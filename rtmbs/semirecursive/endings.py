"""How a fused step may end."""

from rtmbs.jit.compiled import inner_kernel

CONVERGED, NOT_CONVERGED, SMALL_PIVOT, NOT_FINITE, LOOP_OPEN, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR = range(9)


@inner_kernel
def accepted(ending):
    """True when the step was taken."""
    return ending in (CONVERGED, UNFINISHED, UNPROJECTED, UNBALANCED, NEAR)

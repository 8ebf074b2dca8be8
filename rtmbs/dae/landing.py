"""What a correction may change at the end of a step: less than the step itself."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.dae.contract import Point
from rtmbs.dae.errors import MotionError

Array = NDArray[np.float64]

ROUNDING = 1e-8  # of the largest coordinate or rate, or 1: a correction below says nothing about the step


def demand_small_correction(
    old: Point, predicted: tuple[Array, Array], corrected: tuple[Array, Array], t: float
) -> tuple[Array, Array]:
    """Return the corrected q and v (n,) at ``t`` [s]. Raises MotionError where the correction outweighs the step.

    A formula of order p leaves the constraints by O(h^(p+1)), against O(h) that the step moves. A correction as long as
    the step shows that h is too long: the corrected state may belong to another branch, or have any energy.
    """
    for name, before, guess, after in zip(("q", "v"), (old.q, old.v), predicted, corrected, strict=True):
        moved, back = float(np.linalg.norm(guess - before)), float(np.linalg.norm(after - guess))
        if not back <= max(moved, ROUNDING * max(1.0, float(np.abs(before).max(initial=0.0)))):
            raise MotionError(
                f"the correction of {name} at t = {t:g} is {back:.3g} and the step itself is {moved:.3g}; "
                f"take a step shorter than h = {t - old.t:.3g} s"
            )
    return corrected

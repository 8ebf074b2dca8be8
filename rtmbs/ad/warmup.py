"""Compile every kernel of this room, so that the first tape the user makes does not wait."""

import numpy as np


def warm_up() -> None:
    """Record a small function and evaluate everything a tape can answer."""
    from rtmbs.ad.trace import Traced

    x, one = np.array([0.5, 2.0, 3.0]), np.ones(3)
    for mode in ("sparse", "dense", "compressed"):
        made = Traced(lambda x: np.where(x > 1.0, x**3 + x[::-1], np.sin(x)) * np.cumsum(x), 3, mode=mode)
        made.value(x)
        made.jacobian(x)
        made.reverse(x, one)
        made.hessian(x, one)
        made.hessian_product(x, one, one)

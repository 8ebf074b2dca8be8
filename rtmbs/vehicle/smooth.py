"""Smooth functions of real, complex and recorded numbers: sign, magnitude, limits and steps (METHODS 1.19).

``numpy.sign`` and ``numpy.abs`` of a complex number are not analytic. These look at the real part only, so a complex
step gives the derivative of the side on which the number lies.
"""

from typing import Any

import numpy as np


def sign(x: Any) -> Any:
    """Return -1, 0 or 1."""
    return np.sign(x.real)


def magnitude(x: Any) -> Any:
    """Return |x|; its derivative at 0 is 0."""
    return sign(x) * x


def at_most(x: Any, bound: Any) -> Any:
    """Return the smaller one."""
    return np.where(x.real < bound, x, bound) if np.iscomplexobj(x) else np.minimum(x, bound)


def at_least(x: Any, bound: Any) -> Any:
    """Return the larger one."""
    return np.where(x.real > bound, x, bound) if np.iscomplexobj(x) else np.maximum(x, bound)


def step(x: Any) -> Any:
    """Return the cubic step 3 x^2 - 2 x^3 from 0 at x <= 0 to 1 at x >= 1."""
    s = at_most(at_least(x, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


def saturated(x: Any) -> Any:
    """Return sin(pi x / 2) between -1 and 1, and the sign of x beyond: a sign with a slope at 0."""
    return np.sin(0.5 * np.pi * at_most(at_least(x, -1.0), 1.0))

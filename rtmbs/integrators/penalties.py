"""Penalty factors of loop equations, from their effective masses (METHODS 1.6)."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError
from rtmbs.integrators.base import Equations

Array = NDArray[np.float64]

PENALTY = 1e6  # dimensionless c


def penalty_factors(equations: Equations, h: float, c: float | None, alpha: float | None) -> Array:
    """Return alpha_l = c (4/h^2) m_l (m,), or one in SI units as in the paper (times length^2 in rotation rows).

    Raises InputError for factors that are not finite.
    """
    rotation, length = equations.sizes.rotation, equations.sizes.length
    if alpha is not None:
        factors = np.where(rotation, alpha * length**2, alpha)
    else:
        factors = (c or 0.0) * 4.0 / h**2 * equations.masses
    if not np.all(np.isfinite(factors)):
        given = f"penalty = {c:g} at h = {h:g} s" if alpha is None else f"alpha = {alpha:g}"
        raise InputError(f"{given} makes penalty factors that are not finite; give a smaller penalty or a larger step")
    return np.asarray(factors, np.float64)

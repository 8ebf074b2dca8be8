"""Numbers that a user hands in: lengths, finite numbers, points of the plane and whole numbers, or an error."""

import math
from numbers import Real

import numpy as np

from rtmbs.errors import InputError, shown


def finite(of: str, name: str, value: object) -> float:
    """Return a finite number as a float; InputError for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise InputError(f"{of}: {name} is {shown(value)}; it must be a finite number")
    return float(value)


def length(of: str, name: str, value: object) -> float:
    """Return a length as a float; InputError for anything that is none above zero."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
        raise InputError(f"{of}: {name} is {shown(value)}; it must be a length above zero [m]")
    return float(value)


def plane_point(of: str, name: str, value: object) -> tuple[float, float]:
    """Return a point of the plane as two floats; InputError for anything that is not two finite numbers."""
    try:
        x, y = np.asarray(value, np.float64)
        if math.isfinite(x) and math.isfinite(y):
            return float(x), float(y)
    except (TypeError, ValueError):
        pass
    raise InputError(f"{of}: {name} is {shown(value)}; it must be two finite numbers [m]")


def whole_number(name: str, value: object, least: int = 1) -> int:
    """Return a whole number; InputError for anything else and for one below the least."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} is {shown(value)}; it must be a whole number from {least} on")
    return int(value)

"""Numbers that come into this room: of the user, and of a system, checked for shape and finite."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown
from rtmbs.formulations.errors import OutOfRange

Array = NDArray[np.float64]


def given(name: str, x: Array, n: int) -> Array:
    """Return the user's array (n,) as finite floats."""
    try:
        x = np.array(x, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} is an array ({n},) of numbers, not {shown(x)}") from None
    if x.shape != (n,):
        raise InputError(f"{name} is an array ({n},), not {x.shape}")
    if not np.all(np.isfinite(x)):
        i = int(np.argmin(np.isfinite(x)))
        raise OutOfRange(f"{name}[{i}] is {x[i]}; a finite number is wanted")
    return x


def instant(t: float) -> float:
    """Return the time as a finite number [s]."""
    try:
        number = float(t)
    except (TypeError, ValueError):
        raise InputError(f"t is a number of seconds, not {shown(t)}") from None
    if not np.isfinite(number):
        raise OutOfRange(f"t is {number}; a finite number of seconds is wanted")
    return number


def answered(call: str, x: Array, shape: tuple[int, ...]) -> Array:
    """Return what a system answered as finite floats of the shape that the contract asks for."""
    try:
        x = np.asarray(x, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{call} returned {shown(x)}; an array {shape} of numbers is wanted") from None
    if x.shape != shape:
        raise InputError(f"{call} returned an array {x.shape}; {shape} is wanted")
    if not np.all(np.isfinite(x)):
        i = tuple(int(k) for k in np.unravel_index(int(np.argmin(np.isfinite(x))), shape))
        raise OutOfRange(f"{call} returned {x[i]} at {i}; finite numbers are wanted")
    return x

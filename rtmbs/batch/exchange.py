"""Arrays of the caller: NumPy, or any library that has DLPack, as C-contiguous float64 arrays of NumPy."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, shown

Array = NDArray[np.float64]


def from_library(values: Any) -> Any:
    """Return an array of a library with DLPack as one of NumPy that shares its memory; anything else as it is."""
    return np.from_dlpack(values) if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray) else values


def as_numbers(values: Any, shape: tuple[int, ...], what: str) -> Array:
    """Return values of the caller as numbers, broadcast to a shape; they may be NaN. InputError for anything else."""
    try:
        numbers = np.asarray(from_library(values), np.float64)
    except (TypeError, ValueError, OverflowError, BufferError, RuntimeError):
        raise InputError(f"{what} is {shown(values)}; it must be an array of numbers of shape {shape}") from None
    try:
        return np.broadcast_to(numbers, shape)
    except ValueError:
        raise InputError(f"{what} has shape {numbers.shape}; the shape {shape} is needed") from None


def room_of(out: Any, shape: tuple[int, ...]) -> Array:
    """Return the memory of ``out``, an array of the caller that is written to; new memory when it is None."""
    if out is None:
        return np.zeros(shape)
    try:
        room: Any = out if isinstance(out, np.ndarray) else np.from_dlpack(out)
    except (TypeError, AttributeError, ValueError, BufferError, RuntimeError):
        raise InputError(f"out is {shown(out)}; it must be an array of NumPy, or one with DLPack") from None
    fits = room.dtype == np.float64 and room.shape == shape and room.flags.c_contiguous
    if not (fits and room.flags.writeable):
        raise InputError(
            f"out is an array {room.dtype} of shape {room.shape}; it must be float64, contiguous and writeable, of "
            f"shape {shape}"
        )
    return np.asarray(room)

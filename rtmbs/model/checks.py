"""Values a person wrote, turned into floats and arrays or refused with the name of their owner.

``what`` is the beginning of the sentence a person reads, such as ``body 'crank': mass``.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError

Array = NDArray[np.float64]
Numbers = Any  # anything numpy turns into floats

ROTATION_TOLERANCE = 1e-8  # largest entry of R^T R - 1 that is taken for rounding


def number(value: Numbers, what: str) -> float:
    """Return ``value`` as a finite float."""
    array = numbers(value, what, ())
    return float(array)


def numbers(value: Numbers, what: str, shape: tuple[int, ...]) -> Array:
    """Return ``value`` as a read-only float array of this ``shape`` without NaN or infinity."""
    wanted = "one number" if not shape else " x ".join(str(size) for size in shape) + " numbers"
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{what} is {value!r}; it must be {wanted}") from None
    if array.shape != shape:
        raise ModelError(f"{what} has shape {array.shape}; it must be {wanted}")
    if not np.all(np.isfinite(array)):
        raise ModelError(f"{what} is {value!r}; every number must be finite")
    array.flags.writeable = False
    return array


def direction(value: Numbers, what: str) -> Array:
    """Return the unit vector along ``value``."""
    vector = numbers(value, what, (3,))
    size = float(np.linalg.norm(vector))
    if size == 0.0:
        raise ModelError(f"{what} is zero; it must be a direction such as (1, 0, 0)")
    unit = np.array(vector / size)
    unit.flags.writeable = False
    return unit


def rotation(value: Numbers, what: str) -> Array:
    """Return the (3, 3) rotation given as such, or as a quaternion (w, x, y, z) that is normalised here."""
    if np.shape(value) == (4,):
        quaternion = numbers(value, what, (4,))
        if not np.any(quaternion):
            raise ModelError(f"{what} is a zero quaternion; no rotation is (1, 0, 0, 0)")
        matrix = rotation_of_quaternion(quaternion)
    else:
        try:
            matrix = np.array(numbers(value, what, (3, 3)))
        except ModelError as error:
            raise ModelError(f"{error}, or a quaternion (w, x, y, z)") from None
        miss = float(np.max(np.abs(matrix.T @ matrix - np.eye(3))))
        if miss > ROTATION_TOLERANCE:
            raise ModelError(f"{what} is not a rotation: R^T R misses the unit matrix by {miss:.1e}")
        if np.linalg.det(matrix) < 0.0:
            raise ModelError(f"{what} mirrors: its determinant is -1; turn one column around")
    matrix.flags.writeable = False
    return matrix


def rotation_of_quaternion(quaternion: Array) -> Array:
    """Return the rotation of a quaternion (w, x, y, z) of any length but zero."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def perpendiculars(axis: Array) -> tuple[Array, Array]:
    """Return two unit vectors that make a right-handed triad (first, second, axis), the same ones every time.

    The first is the base vector that ``axis`` has least of, made perpendicular: (0, 0, 1) gives x and y.
    """
    base = np.zeros(3)
    base[int(np.argmin(np.abs(axis)))] = 1.0
    first = base - (base @ axis) * axis
    first /= np.linalg.norm(first)
    (a, b, c), (x, y, z) = axis, first  # np.cross takes ten times as long, and large models ask often
    return first, np.array([b * z - c * y, c * x - a * z, a * y - b * x])

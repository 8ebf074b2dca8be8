"""Values the user wrote, turned into floats and arrays or refused with the name of their owner.

``what`` is the beginning of the sentence the user reads, such as ``body 'crank': mass``.
"""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import ModelError, shown
from rtmbs.numerics.rotations.quaternions import rotations

Array = NDArray[np.float64]
Numbers = Any  # anything numpy turns into floats

LONGEST_NAME = 1000  # letters
SMALL = 1e-140  # length of a vector whose squares are still exact
UNIT = 1e-15  # distance of a length from 1 that is rounding: dividing once more would only move the last digit
EYE = np.eye(3)
BASE_VECTORS = {"x": "(1, 0, 0)", "y": "(0, 1, 0)", "z": "(0, 0, 1)"}  # words that are taken for axes
ROTATION_TOLERANCE = 1e-8  # largest entry of R^T R - 1 that is taken for rounding


def number(value: Numbers, what: str) -> float:
    """Return ``value`` as a finite float."""
    array = numbers(value, what, ())
    return float(array)


def numbers(value: Numbers, what: str, shape: tuple[int, ...]) -> Array:
    """Return ``value`` as a read-only float array of this ``shape`` without NaN or infinity."""
    wanted = "one number" if not shape else " x ".join(str(size) for size in shape) + " numbers"
    try:
        array = as_floats(value)
    except ValueError:
        raise ModelError(f"{what} is {shown(value)}; it must be {wanted}") from None
    if array.shape != shape:
        raise ModelError(f"{what} has shape {array.shape}; it must be {wanted}")
    if not (np.abs(array) <= BEYOND).all():
        if not np.all(np.isfinite(array)):
            raise ModelError(f"{what} is {shown(value)}; every number must be finite")
        raise ModelError(f"{what} is {shown(value)}; no number may be beyond {BEYOND:g}, whose square is none")
    array.flags.writeable = False
    return array


def as_floats(value: Numbers) -> Array:
    """Return real numbers as a new float array; ValueError for anything else, for words and switches too."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return value.copy()
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O" and all(isinstance(one, Real) and not isinstance(one, bool) for one in array.flat):
            array = array.astype(np.float64)
        if array.dtype.kind not in "fiu":
            raise ValueError(f"entries of type {array.dtype} are no numbers")
        return np.array(array, dtype=np.float64)
    except Exception as error:  # a ragged list, an integer beyond all floats, whatever a user's object raises
        raise ValueError(str(error)) from error


def shape_of(value: Numbers, what: str, wanted: str) -> tuple[int, ...]:
    """Return the shape of numbers that may come in several; ModelError when they are none."""
    try:
        return as_floats(value).shape
    except ValueError:
        raise ModelError(f"{what} is {shown(value)}; {wanted}") from None


def name_of(kind: str, name: Any) -> str:
    """Return a name; ModelError for one that is empty, or that no file and no line of text can carry."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ModelError(f"{kind} name is {shown(name)}; it must be a word of at most {LONGEST_NAME} printable letters")
    return name


def switch(value: Any, what: str) -> bool:
    """Return True or False; ModelError for anything else, which would mean True more often than not."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"{what} is {shown(value)}; it must be True or False")
    return bool(value)


def direction(value: Numbers, what: str) -> Array:
    """Return the unit vector along ``value``."""
    if isinstance(value, str) and value.lower() in BASE_VECTORS:
        raise ModelError(f"{what} is {shown(value)}; it must be 3 numbers: {BASE_VECTORS[value.lower()]}")
    vector = numbers(value, what, (3,))
    if not np.any(vector):
        raise ModelError(f"{what} is zero; it must be a direction such as (1, 0, 0)")
    unit = unit_vector(vector)
    unit.flags.writeable = False
    return unit


def unit_vector(vector: Array) -> Array:
    """Return a vector but zero divided by its length, however small or large it is; a unit vector stays as it is."""
    size = float(np.linalg.norm(vector))
    if abs(size - 1.0) <= UNIT:
        return vector
    if size < SMALL:  # squares were lost
        vector = vector / np.max(np.abs(vector))
        size = float(np.linalg.norm(vector))
    return np.asarray(vector / size)


def rotation(value: Numbers, what: str) -> Array:
    """Return the (3, 3) rotation given as such, or as a quaternion (w, x, y, z) that is normalised here."""
    if shape_of(value, what, "it must be a 3 x 3 rotation, or a quaternion (w, x, y, z)") == (4,):
        quaternion = numbers(value, what, (4,))
        if not np.any(quaternion):
            raise ModelError(f"{what} is a zero quaternion; no rotation is (1, 0, 0, 0)")
        matrix = rotation_of_quaternion(quaternion)
    else:
        try:
            matrix = np.array(numbers(value, what, (3, 3)))
        except ModelError as error:
            raise ModelError(f"{error}, or a quaternion (w, x, y, z)") from None
        if np.array_equal(matrix, EYE):
            matrix.flags.writeable = False
            return matrix
        miss = float(np.max(np.abs(matrix.T @ matrix - EYE)))
        if miss > ROTATION_TOLERANCE:
            raise ModelError(f"{what} is not a rotation: R^T R misses the unit matrix by {miss:.1e}")
        if np.linalg.det(matrix) < 0.0:
            raise ModelError(f"{what} mirrors: its determinant is -1; turn one column around")
    matrix.flags.writeable = False
    return matrix


def rotation_of_quaternion(quaternion: Array) -> Array:
    """Return the rotation of a quaternion (w, x, y, z) of any length but zero."""
    return rotations(unit_vector(quaternion))


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

"""Many four-bars at once: positions over crank angles in one compiled call."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, shown
from rtmbs.kinematics.four_bar_kernel import four_bar_positions

Array = NDArray[np.float64]


class FourBars(NamedTuple):
    """Positions of N four-bars at S crank angles; nan where one cannot be assembled.

    Parameters
    ----------
    coupler : ndarray
        Coupler angles (N, S) from the line of the ground pivots [rad].
    rocker : ndarray
        Rocker angles (N, S) from this line [rad].
    transmission : ndarray
        Angles between coupler and rocker (N, S), 0 to pi [rad].
    point : ndarray
        Coupler points (N, S, 2), pivot A at the origin and D on the x axis [m].
    """

    coupler: Array
    rocker: Array
    transmission: Array
    point: Array


def four_bars(lengths: ArrayLike, angles: ArrayLike, points: ArrayLike = 0.0, branch: ArrayLike = 1) -> FourBars:
    """Return positions of many four-bars at the same crank angles.

    Parameters
    ----------
    lengths : array_like
        Ground, crank, coupler and rocker (N, 4) [m].
    angles : array_like
        Crank angles (S,) from the line of the ground pivots [rad].
    points : array_like, default 0.0
        Coupler points (N, 2) or (2,), along the coupler from the crank pin and to its left [m].
    branch : array_like, default 1
        Branches (N,), 1 or -1, or one for all.

    Returns
    -------
    FourBars
        Angles and points.

    Raises
    ------
    InputError
        For arrays of another shape, and for lengths that are not above zero.
    """
    sizes, turns = np.array(lengths, np.float64), np.atleast_1d(np.array(angles, np.float64))
    if sizes.ndim != 2 or sizes.shape[1] != 4 or not np.all(sizes > 0.0):
        raise InputError(f"lengths are {shown(lengths)}; they must be rows of four lengths above zero [m]")
    N, S = len(sizes), len(turns)
    places = np.ascontiguousarray(np.broadcast_to(np.asarray(points, np.float64), (N, 2)))
    sides = np.ascontiguousarray(np.broadcast_to(np.asarray(branch, np.int64), (N,)))
    if not np.all(np.abs(sides) == 1):
        raise InputError(f"branch is {shown(branch)}; it must be 1 or -1")
    coupler, rocker, transmission, x, y = (np.empty((N, S)) for _ in range(5))
    four_bar_positions(sizes, places, turns, sides, coupler, rocker, transmission, x, y)
    return FourBars(coupler, rocker, transmission, np.stack([x, y], axis=-1))

"""Tolerances of a four-bar: what deviations of its lengths do to coupler point, rocker and transmission."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.kinematics.design.batch import four_bars
from rtmbs.kinematics.design.four_bar import PARAMETERS, FourBar, pairs

Array = NDArray[np.float64]


class Tolerances(NamedTuple):
    """Deviations of a four-bar at S crank angles.

    Parameters
    ----------
    names : tuple[str, ...]
        Lengths with a tolerance, k of them.
    point_by : ndarray
        Derivative of the coupler point (S, 2, k) [1].
    rocker_by : ndarray
        Derivative of the rocker angle (S, k) [rad/m].
    point_worst : ndarray
        Largest deviation of x and y (S, 2) to first order, all lengths at their limits [m].
    rocker_worst : ndarray
        Largest deviation of the rocker angle (S,) to first order [rad].
    point_rss : ndarray
        Root of the sum of squares of x and y (S, 2) [m].
    rocker_rss : ndarray
        Root of the sum of squares of the rocker angle (S,) [rad].
    point_sampled : ndarray
        Standard deviation of x and y (S, 2) over random lengths, a third of the tolerance each [m].
    rocker_sampled : ndarray
        Standard deviation of the rocker angle (S,) over them [rad].
    open : float
        Share of the random four-bars that do not close at some crank angle.
    """

    names: tuple[str, ...]
    point_by: Array
    rocker_by: Array
    point_worst: Array
    rocker_worst: Array
    point_rss: Array
    rocker_rss: Array
    point_sampled: Array
    rocker_sampled: Array
    open: float


def tolerances(
    bar: FourBar, deviations: Mapping[str, float], angles: ArrayLike, samples: int = 1000, seed: int = 0
) -> Tolerances:
    """Return what tolerances of lengths do at crank angles: worst case, root of squares, and random four-bars.

    Parameters
    ----------
    bar : FourBar
        The nominal four-bar.
    deviations : Mapping[str, float]
        Tolerance, plus or minus, of "ground", "crank", "coupler", "rocker", "u" and "v" (of the coupler point) [m].
    angles : array_like
        Crank angles (S,) [rad].
    samples : int, default 1000
        Number of random four-bars; lengths are normal, three standard deviations within the tolerance.
    seed : int, default 0
        Seed of the random numbers.

    Returns
    -------
    Tolerances
        Derivatives and deviations.

    Raises
    ------
    UnknownNameError
        For a length that a four-bar does not have.
    InputError
        For a tolerance below zero, and for too few samples.
    """
    for name, value in deviations.items():
        if name not in PARAMETERS:
            raise unknown_name("length of a four-bar", name, PARAMETERS)
        if not value >= 0.0:
            raise InputError(f"tolerance of {name} is {shown(value)}; it must be zero or more [m]")
    if samples < 2:
        raise InputError(f"samples is {shown(samples)}; it must be two or more")
    turns = np.atleast_1d(np.asarray(angles, np.float64))
    names = tuple(deviations)
    chosen, size = [PARAMETERS.index(name) for name in names], np.array(list(deviations.values()))
    point, rocker = (derivative[..., chosen] for derivative in bar.derivatives(turns))
    rng = np.random.default_rng(seed)
    drawn = np.tile([*bar.lengths, *bar.point], (samples, 1))
    drawn[:, chosen] += rng.standard_normal((samples, len(names))) * size / 3.0
    found = four_bars(drawn[:, :4], turns, drawn[:, 4:], bar.branch)
    z = (found.point[..., 0] + 1j * found.point[..., 1]) * np.exp(1j * bar.tilt)
    nominal = bar.motion(turns).rocker
    apart = np.angle(np.exp(1j * (found.rocker - nominal)))
    closed = np.all(np.isfinite(found.rocker), axis=1)
    return Tolerances(
        names, point, rocker, np.abs(point) @ size, np.abs(rocker) @ size,
        np.sqrt(point**2 @ size**2), np.sqrt(rocker**2 @ size**2),
        np.std(pairs(z[closed]), axis=0), np.std(apart[closed], axis=0), float(np.mean(~closed)),
    )  # fmt: skip

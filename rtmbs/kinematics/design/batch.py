"""Many four-bars at once: positions over crank angles in one compiled call, and tolerances of lengths."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.jit.compiled import kernel
from rtmbs.kinematics.design.four_bar import PARAMETERS, ROUNDING, FourBar, gaps, pairs, through_pivot, whole_number

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
    if sizes.ndim != 2 or sizes.shape[1] != 4 or not np.all((sizes > 0.0) & (sizes < np.inf)):
        wrong = (
            sizes
            if sizes.ndim != 2 or sizes.shape[1] != 4
            else sizes[~((sizes > 0.0) & (sizes < np.inf)).all(axis=1)][0]
        )
        said = f"have the shape {sizes.shape}" if wrong.ndim != 1 else f"have the row {shown(wrong.tolist())}"
        raise InputError(f"lengths {said}; they must be rows of four lengths above zero [m]")
    N, S = len(sizes), len(turns)
    places, sides = np.asarray(points, np.float64), np.asarray(branch)
    if places.shape not in ((), (2,), (N, 2)) or not np.all(np.isfinite(places)):
        raise InputError(f"points are {shown(points)}; they must be two finite numbers, or {N} rows of two [m]")
    if sides.shape not in ((), (N,)) or not np.all((sides == 1) | (sides == -1)):
        raise InputError(f"branch is {shown(branch)}; it must be 1 or -1, or one for each four-bar")
    coupler, rocker, transmission, x, y = (np.empty((N, S)) for _ in range(5))
    places = np.ascontiguousarray(np.broadcast_to(places, (N, 2)))
    sides = np.ascontiguousarray(np.broadcast_to(sides.astype(np.int64), (N,)))
    flat = np.stack([*gaps(*sizes.T), through_pivot(*sizes.T)], axis=1)
    four_bar_positions(sizes, flat, places, turns, sides, coupler, rocker, transmission, x, y)
    return FourBars(coupler, rocker, transmission, np.stack([x, y], axis=-1))


@kernel
def flat_root(square: float, least: float) -> float:
    """Return a root, zero where rounding made its square negative and nan where it is less."""
    if square < 0.0:
        return 0.0 if square >= -least else np.nan
    return np.sqrt(square)


@kernel
def four_bar_positions(
    lengths: Array, flat: Array, points: Array, angles: Array, branch: NDArray[np.int64],
    coupler: Array, rocker: Array, transmission: Array, x: Array, y: Array,
) -> None:  # fmt: skip
    """Fill coupler and rocker angle, transmission angle [rad] and coupler point [m] (N, S) each; nan where none closes.

    lengths (N, 4): ground, crank, coupler, rocker [m]; flat (N, 3): p0, q0 [m^2] of ``closure.gaps``, and 1 where
    the crank pin passes through the rocker's pivot; points (N, 2) along and across the coupler from the crank pin;
    angles (S,) of the crank from the line of the ground pivots; branch (N,): 1 or -1, the side of the coupler's end.
    """
    for i in range(lengths.shape[0]):
        g, a, b, c = lengths[i, 0], lengths[i, 1], lengths[i, 2], lengths[i, 3]
        wave, least = 2.0 * np.sqrt(g * a), ROUNDING * (g + a + b + c) ** 2
        for k in range(len(angles)):
            bx, by = a * np.cos(angles[k]), a * np.sin(angles[k])
            dx, dy = g - bx, -by
            half_cosine, half_sine = np.cos(0.5 * angles[k]), np.sin(0.5 * angles[k])
            p, q = wave * half_cosine, wave * half_sine
            square = (g - a) * (g - a) + q * q
            if flat[i, 0] != 0.0:
                p = flat_root(flat[i, 0] + p * p, least)
            if flat[i, 1] != 0.0:
                q = flat_root(flat[i, 1] + q * q, least)
            if not (np.isfinite(p) and np.isfinite(q)):
                coupler[i, k] = rocker[i, k] = transmission[i, k] = x[i, k] = y[i, k] = np.nan
                continue
            if flat[i, 2] != 0.0:
                cx, cy = 0.5 * (dx + branch[i] * p * half_cosine), 0.5 * (dy + branch[i] * p * half_sine)
            else:
                along, across = 0.5 + 0.5 * (b * b - c * c) / square, 0.5 * branch[i] * p * q / square
                cx, cy = dx * along - dy * across, dy * along + dx * across
            ct, st = cx / b, cy / b
            coupler[i, k] = np.arctan2(cy, cx)
            rocker[i, k] = np.arctan2(cy - dy, cx - dx)
            transmission[i, k] = 2.0 * np.arctan2(abs(q), abs(p))
            u, v = points[i, 0], points[i, 1]
            x[i, k] = bx + u * ct - v * st
            y[i, k] = by + u * st + v * ct


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
    """Return deviations by tolerances of lengths at crank angles: worst case, root of squares, random four-bars.

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
        if not 0.0 <= value < np.inf:
            raise InputError(f"tolerance of {name} is {shown(value)}; it must be zero or more [m]")
        own = dict(zip(PARAMETERS, bar.lengths, strict=False)).get(name)
        if own is not None and value >= own:
            raise InputError(f"tolerance of {name} is {value:g}, and {name} is {own:g} long; it must be below that [m]")
    samples = whole_number("samples", samples, 2)
    turns = np.atleast_1d(np.asarray(angles, np.float64))
    names = tuple(deviations)
    chosen, size = [PARAMETERS.index(name) for name in names], np.array(list(deviations.values()))
    point, rocker = (derivative[..., chosen] for derivative in bar.derivatives(turns))
    rng = np.random.default_rng(seed)
    drawn = np.tile([*bar.lengths, *bar.point], (samples, 1))
    drawn[:, chosen] += rng.standard_normal((samples, len(names))) * size / 3.0
    real = np.all(drawn[:, :4] > 0.0, axis=1)  # the others count as open
    drawn[~real, :4] = bar.lengths
    found = four_bars(drawn[:, :4], turns, drawn[:, 4:], bar.branch)
    z = (found.point[..., 0] + 1j * found.point[..., 1]) * np.exp(1j * bar.tilt)
    nominal = bar.motion(turns).rocker
    apart = np.angle(np.exp(1j * (found.rocker - nominal)))
    if bar.grashof == "change-point":  # one that is not flattened exactly stays on its side: take the nearer one
        other = four_bars(drawn[:, :4], turns, drawn[:, 4:], -bar.branch)
        turned = np.angle(np.exp(1j * (other.rocker - nominal)))
        nearer = np.abs(turned) < np.abs(apart)
        apart = np.where(nearer, turned, apart)
        z = np.where(nearer, (other.point @ np.array([1.0, 1j])) * np.exp(1j * bar.tilt), z)
    closed = real & np.all(np.isfinite(found.rocker), axis=1)
    return Tolerances(
        names, point, rocker, np.abs(point) @ size, np.abs(rocker) @ size,
        np.sqrt(point**2 @ size**2), np.sqrt(rocker**2 @ size**2),
        np.std(pairs(z[closed]), axis=0), np.std(apart[closed], axis=0), float(np.mean(~closed)),
    )  # fmt: skip

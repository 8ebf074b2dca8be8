"""Local error of steps of the trapezoidal rule, estimated from consecutive states (METHODS 1.34)."""

from typing import NamedTuple

import numpy as np

from rtmbs.numerics.rotations.quaternions import Array, turn_between
from rtmbs.system.tables import Dofs

SEVERAL = 8  # steps that tell rounding from a motion
ALTERNATING = 0.2  # of the usual size: bends with a smaller mean go up and down


class Track(NamedTuple):
    """Consecutive states, the first of which the steps began from."""

    t: Array  # (k + 1,) [s]
    z: Array  # (k + 1, n)
    zd: Array  # (k + 1, n)
    zdd: Array  # (k + 1, n)
    R0: Array  # (k + 1, nr, 3, 3)


class Past(NamedTuple):
    """Size of the step before the first one of a batch, and the accelerations at its start."""

    h: float  # [s]
    zdd: Array  # (n,) at its start


class Noise(NamedTuple):
    """Errors across the loops that are harmless, because they do not add up, and rounding."""

    position: Array  # (n,)
    rate: Array  # (n,)
    acceleration: Array  # (n,) largest second difference over steps that rounding explains
    rounding: Array  # (n,) of accelerations, where terms that cancel are large
    place: Array  # (n,) rounding of positions and of time in a step


class LocalErrors(NamedTuple):
    """The errors that every one of some equal steps adds."""

    position: Array  # (k, n)
    rate: Array  # (k, n)
    across: Array  # (2, n): the part of the mean of both that may be noise


def local_errors(dofs: Dofs, track: Track, past: Past | None, noise: Noise) -> LocalErrors:
    """Return the errors that every one of some equal steps adds to positions and to rates.

    Positions: dz - h/2 (zd_0 + zd_1) + h^2/12 (zdd_1 - zdd_0). Rates: dzd - h/2 (zdd_0 + zdd_1) + h^3/12 zddd', with
    the second difference of zdd over this step and the one before; the first step of all takes that of the next. The
    first two terms are what the rule misses: their mean over the steps. Noise at both ends of these may explain a part.
    """
    h, count = np.diff(track.t)[:, None], len(track.t) - 1
    gone = beyond(np.diff(track.zdd, axis=0), noise.rounding)
    defect = increments(dofs, track) - 0.5 * h * (track.zd[1:] + track.zd[:-1])
    mean = defect.mean(axis=0)
    position, across = mean + h * h / 12.0 * gone, mean - beyond(mean, noise.position / count + noise.place)
    subtract_turning(dofs, track, h, position)
    slopes, steps = gone / h, h
    if past is not None:
        slopes = np.concatenate(([beyond(track.zdd[0] - past.zdd, noise.rounding) / past.h], slopes))
        steps = np.concatenate(([[past.h]], steps))
    bends = 2.0 * np.diff(slopes, axis=0) / (steps[1:] + steps[:-1])
    if past is None:
        bends = np.concatenate((bends[:1], bends)) if len(bends) else np.zeros_like(gone)
    defect = np.diff(track.zd, axis=0) - 0.5 * h * (track.zdd[1:] + track.zdd[:-1])
    mean = defect.mean(axis=0)
    rate = mean + h**3 / 12.0 * smoothed(bends, h, noise.acceleration)
    return LocalErrors(position, rate, np.array((across, mean - beyond(mean, noise.rate / count))))


def smoothed(bends: Array, h: Array, noise: Array) -> Array:
    """Return bends (k, n), in their place the mean where they are rounding: small, and now up, now down.

    ``h`` (k, 1) are the steps, ``noise`` (n,) the second differences that rounding explains. Rounding of accelerations
    grows as 1/h, and a bend of it comes back as the opposite in the next steps. Errors sum up to the same.
    """
    if len(bends) < SEVERAL:
        return bends
    size, mean = np.abs(bends), bends.mean(axis=0)
    small = np.max(h * h * size, axis=0) <= noise
    return np.where(small & (np.abs(mean) < ALTERNATING * np.median(size, axis=0)), mean, bends)


def beyond(values: Array, noise: Array) -> Array:
    """Return what values (..., n) have beyond the noise (n,)."""
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - noise, 0.0))


def increments(dofs: Dofs, track: Track) -> Array:
    """Return how far every step moved (k, n), rotations as turns in axes of their dofs."""
    moved = np.diff(track.z, axis=0)
    first = np.flatnonzero(dofs.reference >= 0)
    if len(first):
        turns = turn_between(track.R0[:-1], track.R0[1:])
        for i in first:
            moved[:, i : i + 3] = turns[:, dofs.reference[i]] @ dofs.axis[i : i + 3].T
    return np.asarray(moved)


def subtract_turning(dofs: Dofs, track: Track, h: Array, position: Array) -> None:
    """Take h^2/12 w_0 x w_1 from rotation dofs: what turns about changing axes add (Magnus)."""
    for i in np.flatnonzero(dofs.reference >= 0):
        w = track.zd[:, i : i + 3]
        position[:, i : i + 3] -= h * h / 12.0 * np.cross(w[:-1], w[1:])

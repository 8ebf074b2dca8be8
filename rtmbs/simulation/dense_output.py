"""Dense output, states between the ends of a step, and local errors of the trapezoidal rule (METHODS 1.34).

Coordinates are quintic polynomials through positions, rates and accelerations. Rotations are turns from the rotation at
the start of the step, whose components follow such polynomials too. Local errors are estimated from consecutive states.
"""

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.numerics.rotations.quaternions import Array, body_rates, turn_between, turned, vector_rates
from rtmbs.system.tables import Dofs

POWERS = np.arange(6.0)


class Moment(NamedTuple):
    """State, accelerations, multipliers and inputs of one instant."""

    t: float  # [s]
    z: Array  # (n,)
    zd: Array  # (n,)
    zdd: Array  # (n,)
    lam: Array  # (m,)
    R0: Array  # (nr, 3, 3)
    u: Array  # (nu,)
    s: Array  # (ns,)
    sd: Array  # (ns,)


class Stretch:
    """One step with dense output, from ``before`` to ``after``."""

    def __init__(self, dofs: Dofs, before: Moment, after: Moment) -> None:
        self.before, self.after = before, after
        self.h = after.t - before.t
        self._dofs = dofs
        self._known: dict[float, Moment] = {}  # several event functions look at the same times

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """First dof of every rotation."""
        return np.flatnonzero(self._dofs.reference >= 0)

    @cached_property
    def reference(self) -> NDArray[np.int64]:
        """Place of every rotation in R0."""
        return np.asarray(self._dofs.reference[self.first])

    @cached_property
    def axes(self) -> Array:
        """Axes of every rotation (nr, 3, 3), a row each."""
        return np.array([self._dofs.axis[i : i + 3] for i in self.first]).reshape(-1, 3, 3)

    @cached_property
    def start(self) -> Array:
        """Value, rate and acceleration (3, n) at the start."""
        return np.array([self.before.z, self.before.zd, self.before.zdd])

    @cached_property
    def end(self) -> Array:
        """Value, rate and acceleration (3, n) at the end, rotations as turns since the start."""
        end = np.array([self.after.z, self.after.zd, self.after.zdd])
        if len(self.first):
            self._turn(end)
        return end

    @cached_property
    def coefficients(self) -> Array:
        """Coefficients (6, n) of the polynomials."""
        return coefficients(self.h, self.start, self.end)

    def _turn(self, end: Array) -> None:
        """Let rotation dofs of the end be those of the turn since the start."""
        places = self.places
        turns = turn_between(self.before.R0[self.reference], self.after.R0[self.reference])
        d = np.einsum("kij,kj->ki", self.axes, turns)
        rate, second = vector_rates(d, end[1, places], end[2, places])
        end[0, places], end[1, places], end[2, places] = d, rate, second

    @property
    def places(self) -> NDArray[np.int64]:
        """Dofs of every rotation (nr, 3)."""
        return np.asarray(self.first[:, None] + np.arange(3))

    def at(self, t: float) -> Moment:
        """Return the moment at ``t`` [s] within the step; multipliers and inputs lie on straight lines."""
        if t == self.after.t:
            return self.after
        if t not in self._known:
            self._known[t] = self._between(t)
        return self._known[t]

    def _between(self, t: float) -> Moment:
        """Return the moment at ``t`` [s] before the end."""
        before, after, h = self.before, self.after, self.h
        x = (t - before.t) / h
        z, zd, zdd = quintic(x, h, self.coefficients)
        R0 = before.R0
        if len(self.first):
            places = self.places
            d, rate, second = z[places], zd[places], zdd[places]
            zd[places], zdd[places] = body_rates(d, rate, second)
            R0 = R0.copy()
            R0[self.reference] = turned(R0[self.reference], np.einsum("kji,kj->ki", self.axes, d))
            z[places] = 0.0
        lam, u = ((1.0 - x) * a + x * b for a, b in ((before.lam, after.lam), (before.u, after.u)))
        s, sd = cubic(x, h, (before.s, before.sd), (after.s, after.sd)) if len(before.s) else (before.s, before.sd)
        return Moment(t, z, zd, zdd, lam, R0, u, s, sd)

    def along_rates(self, dt: float) -> Moment:
        """Return the moment ``dt`` [s] from the start on straight lines along its rates."""
        start = self.before
        z, R0 = start.z + dt * start.zd, start.R0
        if len(self.first):
            d = z[self.places]
            R0 = R0.copy()
            R0[self.reference] = turned(R0[self.reference], np.einsum("kji,kj->ki", self.axes, d))
            z[self.places] = 0.0
        return start._replace(t=start.t + dt, z=z, zd=start.zd + dt * start.zdd, R0=R0, s=start.s + dt * start.sd)


def coefficients(h: float, start: Array, end: Array) -> Array:
    """Return those (6, n) of the quintic in x, 0 to 1, from value and derivatives (3, n) at both ends of a step."""
    a, b = start * [[1.0], [h], [h * h]], end * [[1.0], [h], [h * h]]
    rest = b[0] - a[0] - a[1] - 0.5 * a[2], b[1] - a[1] - a[2], b[2] - a[2]
    c3 = 10.0 * rest[0] - 4.0 * rest[1] + 0.5 * rest[2]
    c4 = -15.0 * rest[0] + 7.0 * rest[1] - rest[2]
    c5 = 6.0 * rest[0] - 3.0 * rest[1] + 0.5 * rest[2]
    return np.array([a[0], a[1], 0.5 * a[2], c3, c4, c5])


def quintic(x: float, h: float, c: Array) -> tuple[Array, Array, Array]:
    """Return value, first and second derivative at x, 0 to 1, of the quintic with coefficients (6, n)."""
    powers = x**POWERS
    first, second = POWERS[1:] * powers[:-1] / h, POWERS[2:] * POWERS[1:-1] * powers[:-2] / (h * h)
    return powers @ c, first @ c[1:], second @ c[2:]


def cubic(x: float, h: float, start: tuple[Array, Array], end: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return value and derivative at x, 0 to 1, from those at both ends of a step of ``h``."""
    (a, ad), (b, bd) = start, end
    rest, slope = b - a - h * ad, h * (bd - ad)
    c2, c3 = 3.0 * rest - slope, slope - 2.0 * rest
    return a + x * (h * ad + x * (c2 + x * c3)), ad + x * (2.0 * c2 + x * 3.0 * c3) / h


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

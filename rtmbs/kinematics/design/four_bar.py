"""Four-bars in closed form: arguments, loop, ``FourBar``, and pictures of paths.

``FourBar``: positions, rates, transmission angle, type of Grashof, dead centres, poles and cognates in closed form.

Points are complex numbers inside: A and D are the ground pivots, B the pin of the crank and C that of the rocker. With
e2, e3, e4 the unit vectors of crank, coupler and rocker the loop is a e2 + b e3 = g + c e4.

Closed form of a four-bar's loop, with exact derivatives by the crank angle, also through change points.

With B the crank pin, D = g the pivot of the rocker and s their distance, coupler and rocker close the triangle B C D if
P = (b + c)^2 - s^2 and Q = s^2 - (b - c)^2 are not below zero. C lies sqrt(P Q) / (2 s) beside the line from B to D.
By half angles P = p0 + 4 g a cos^2(t / 2) and Q = q0 + 4 g a sin^2(t / 2). A change point has p0 = 0 or q0 = 0. There
the root is 2 sqrt(g a) cos(t / 2) or 2 sqrt(g a) sin(t / 2), which changes its sign: coupler and rocker pass smoothly.

Numbers that a user hands in: lengths, finite numbers, points of the plane and whole numbers, or an error.

Paths of points as pictures, y over x.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, shown
from rtmbs.results.figure import PICTURES
from rtmbs.results.result import Result
from rtmbs.results.tables import needed

Array = NDArray[np.float64]
Lengths = tuple[float, float, float, float]

CHANGE = 1e-12  # of the sum of the lengths: a change point
ROUNDING = 1e-14  # of its square: a triangle that is flat


class Jet(NamedTuple):
    """Values (S,) with their first and second derivatives by the crank angle."""

    value: NDArray[Any]
    first: NDArray[Any]
    second: NDArray[Any]

    def times(self, other: "Jet") -> "Jet":
        """Return the product."""
        (f, df, ddf), (g, dg, ddg) = self, other
        return Jet(f * g, df * g + f * dg, ddf * g + 2.0 * df * dg + f * ddg)

    def plus(self, other: "Jet", factor: complex = 1.0) -> "Jet":
        """Return the sum with another one times a number."""
        return Jet(*(f + factor * g for f, g in zip(self, other, strict=True)))

    def inverse(self) -> "Jet":
        """Return one over it."""
        f, df, ddf = self
        return Jet(1.0 / f, -df / f**2, 2.0 * df**2 / f**3 - ddf / f**2)

    def root(self) -> "Jet":
        """Return its square root."""
        f, df, ddf = self
        r = np.sqrt(f)
        return Jet(r, df / (2.0 * r), ddf / (2.0 * r) - df**2 / (4.0 * f * r))


def gaps(g: Any, a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Return p0 and q0 of lengths, numbers or arrays [m^2]; exactly zero at a change point."""
    least = CHANGE * (g + a + b + c)
    far, near, other = b + c - g - a, g - a - b + c, g - a + b - c
    p0 = np.where(np.abs(far) <= least, 0.0, far * (b + c + g + a))
    q0 = np.where(np.minimum(np.abs(near), np.abs(other)) <= least, 0.0, near * other)
    return p0, q0


def roots(lengths: Lengths, angles: Array) -> tuple[Jet, Jet]:
    """Return the roots of P and Q over crank angles [m]; nan where the loop is open."""
    g, a, _, _ = lengths
    p0, q0 = gaps(*lengths)
    least = ROUNDING * sum(lengths) ** 2
    wave = 2.0 * np.sqrt(g * a)
    cosine, sine = wave * np.cos(0.5 * angles), wave * np.sin(0.5 * angles)
    slope, bend = 2.0 * g * a * np.sin(angles), 2.0 * g * a * np.cos(angles)  # of s^2

    def root(gap: float, own: Array, turned: Array, sense: float) -> Jet:
        if gap == 0.0:
            return Jet(own + 0j, 0.5 * turned + 0j, -0.25 * own + 0j)
        return Jet(flattened(gap + own**2, least) + 0j, sense * slope + 0j, sense * bend + 0j).root()

    return root(p0, cosine, -sine, -1.0), root(q0, sine, cosine, 1.0)


def flattened(square: Array, least: float) -> Array:
    """Return squares, zero where rounding made them negative and nan where they are less."""
    return np.where(square < 0.0, np.where(square >= -least, 0.0, np.nan), square)


def coupler_jets(lengths: Lengths, angles: Array, side: int) -> tuple[Jet, Jet]:
    """Return B to C and D to C as complex jets [m] over crank angles; nan where the loop is open."""
    g, a, b, c = lengths
    with np.errstate(divide="ignore", invalid="ignore"):
        p, q = roots(lengths, angles)
        e2 = np.exp(1j * angles)
        line = Jet(g - a * e2, -1j * a * e2, a * e2)
        if through_pivot(g, a, b, c):
            half = np.exp(0.5j * angles)
            beside = p.times(Jet(side * half, 0.5j * side * half, -0.25 * side * half))
            pin = Jet(*(0.5 * part for part in line.plus(beside)))
        else:
            square = (g - a) ** 2 + 4.0 * g * a * np.sin(0.5 * angles) ** 2
            over = Jet(square + 0j, 2.0 * g * a * np.sin(angles) + 0j, 2.0 * g * a * np.cos(angles) + 0j).inverse()
            factor = p.times(q).times(over)
            along = 0.5 * (b * b - c * c)
            factor = Jet(*(0.5j * side * beside + along * part for beside, part in zip(factor, over, strict=True)))
            pin = line.times(factor._replace(value=factor.value + 0.5))
        return pin, pin.plus(line, -1.0)


def through_pivot(g: Any, a: Any, b: Any, c: Any) -> Any:
    """Return whether the crank pin passes through the pivot of the rocker, for numbers or arrays."""
    return (np.abs(g - a) <= CHANGE * (g + a)) & (np.abs(b - c) <= CHANGE * (b + c))


def crank_limits(lengths: Lengths) -> tuple[float, float]:
    """Return the least and the largest angle between the crank and the ground line, 0 to pi [rad]."""
    g, a, _, _ = lengths
    p0, q0 = gaps(*lengths)
    low = 2.0 * np.arcsin(np.sqrt(min(max(-q0 / (4.0 * g * a), 0.0), 1.0)))
    high = 2.0 * np.arccos(np.sqrt(min(max(-p0 / (4.0 * g * a), 0.0), 1.0)))
    return float(low), float(high)


def side_changes(lengths: Lengths, angles: Array) -> Array:
    """Return 1 or -1 (S,): the side of C at crank angles over that within (0, pi), by change points passed."""
    p0, q0 = gaps(*lengths)
    passed = (q0 == 0.0) * np.floor(angles / (2.0 * np.pi)) + (p0 == 0.0) * np.floor(angles / (2.0 * np.pi) + 0.5)
    return np.asarray(1.0 - 2.0 * (passed % 2.0))


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


Complex = NDArray[np.complex128]

LENGTHS = ("ground", "crank", "coupler", "rocker")
PARAMETERS = (*LENGTHS, "u", "v")  # what derivatives are taken by
EQUAL = 1e-9  # of the coupler: a coupler point that is a pin
BRANCHES = (1, -1)
FOLLOWED = 33  # poses at which cognates are compared


class FourBarMotion(NamedTuple):
    """Motion of a four-bar at S crank angles; nan where it cannot be assembled.

    Parameters
    ----------
    crank : ndarray
        Crank angles (S,) from the line of the ground pivots [rad].
    coupler : ndarray
        Coupler angles (S,) from this line [rad].
    rocker : ndarray
        Rocker angles (S,) from this line [rad].
    coupler_rate : ndarray
        Rates of the coupler (S,) [rad/s].
    rocker_rate : ndarray
        Rates of the rocker (S,) [rad/s].
    coupler_acceleration : ndarray
        Angular accelerations of the coupler (S,) [rad/s^2].
    rocker_acceleration : ndarray
        Angular accelerations of the rocker (S,) [rad/s^2].
    point : ndarray
        Coupler point (S, 2) [m].
    velocity : ndarray
        Velocity of the coupler point (S, 2) [m/s].
    acceleration : ndarray
        Acceleration of the coupler point (S, 2) [m/s^2].
    transmission : ndarray
        Angle between coupler and rocker (S,), 0 to pi [rad].
    """

    crank: Array
    coupler: Array
    rocker: Array
    coupler_rate: Array
    rocker_rate: Array
    coupler_acceleration: Array
    rocker_acceleration: Array
    point: Array
    velocity: Array
    acceleration: Array
    transmission: Array


class DeadCentre(NamedTuple):
    """Pose in which two links of a four-bar lie in one line.

    Parameters
    ----------
    kind : str
        "limit of the rocker", crank and coupler in line; or "limit of the crank", coupler and rocker in line.
    crank : float
        Crank angle from the line of the ground pivots [rad].
    rocker : float
        Rocker angle from this line [rad].
    stretched : bool
        True for links end to end, False for links folded on each other.
    """

    kind: str
    crank: float
    rocker: float
    stretched: bool


@dataclass(frozen=True)
class FourBar:
    """A planar four-bar with a coupler point.

    Parameters
    ----------
    ground : float
        Distance of the ground pivots A and D [m].
    crank : float
        Length of the crank A B [m].
    coupler : float
        Length of the coupler B C [m].
    rocker : float
        Length of the rocker D C [m].
    point : tuple[float, float], default (0.0, 0.0)
        Coupler point from B: along the coupler and to its left [m].
    pivot : tuple[float, float], default (0.0, 0.0)
        Place of A [m].
    tilt : float, default 0.0
        Angle of the line from A to D from the x axis [rad].
    branch : int, default 1
        1: C lies left of the line from B to D; -1: right of it. A linkage with change points passes them smoothly, so
        C changes sides there; ``branch`` is the side at crank angles between 0 and pi.

    Raises
    ------
    InputError
        For lengths that are not above zero, points and angles that are not finite, and lengths that close in no pose.

    Examples
    --------
    >>> bar = FourBar(ground=8.0, crank=2.0, coupler=7.0, rocker=5.0, point=(3.5, 2.0))
    >>> bar.grashof
    'crank-rocker'
    """

    ground: float
    crank: float
    coupler: float
    rocker: float
    point: tuple[float, float] = (0.0, 0.0)
    pivot: tuple[float, float] = (0.0, 0.0)
    tilt: float = 0.0
    branch: int = 1

    def __post_init__(self) -> None:
        for name in LENGTHS:
            object.__setattr__(self, name, length("four-bar", name, getattr(self, name)))
        for name in ("point", "pivot"):
            object.__setattr__(self, name, plane_point("four-bar", name, getattr(self, name)))
        object.__setattr__(self, "tilt", finite("four-bar", "tilt", self.tilt))
        if self.branch not in BRANCHES:
            raise InputError(f"four-bar: branch is {shown(self.branch)}; it must be 1 or -1")
        object.__setattr__(self, "branch", int(self.branch))
        longest = max(self.lengths)
        if 2.0 * longest > sum(self.lengths) * (1.0 + ROUNDING):
            raise InputError(
                f"four-bar: the longest link is {longest:g} m and the others are {sum(self.lengths) - longest:g} m"
                " together; they must be longer to close the loop"
            )

    @property
    def lengths(self) -> tuple[float, float, float, float]:
        """Lengths of ground, crank, coupler and rocker [m]."""
        return self.ground, self.crank, self.coupler, self.rocker

    @property
    def grashof(self) -> str:
        """Type by Grashof: the motion of crank and rocker against ground.

        "crank-rocker", "rocker-crank", "double-crank" and "double-rocker" have a link that turns fully, the shortest;
        "triple-rocker" has none; "change-point" can flatten, to 1e-12 of the sum of its lengths.
        """
        s, p, q, l = sorted(self.lengths)
        margin = p + q - s - l
        if abs(margin) <= CHANGE * sum(self.lengths):
            return "change-point"
        if margin < 0.0:
            return "triple-rocker"
        kinds = ("double-crank", "crank-rocker", "double-rocker", "rocker-crank")
        return kinds[self.lengths.index(s)]

    @property
    def crank_turns(self) -> bool:
        """Whether the crank turns fully."""
        p0, q0 = gaps(*self.lengths)
        return bool(p0 >= 0.0 and q0 >= 0.0)

    def motion(self, angles: ArrayLike, rate: float = 1.0, acceleration: float = 0.0) -> FourBarMotion:
        """Return positions, rates and accelerations at crank angles.

        Parameters
        ----------
        angles : array_like
            Crank angles (S,) from the line of the ground pivots [rad].
        rate : float, default 1.0
            Rate of the crank [rad/s].
        acceleration : float, default 0.0
            Angular acceleration of the crank [rad/s^2].

        Returns
        -------
        FourBarMotion
            The motion; nan where the four-bar cannot be assembled. Rates are not finite at a limit of the crank.
        """
        t2 = np.atleast_1d(np.asarray(angles, np.float64))
        a, z = self.crank, complex(*self.point)
        pin, end = coupler_jets(self.lengths, t2, self.branch)
        e2, e3, e4 = np.exp(1j * t2), pin.value / self.coupler, end.value / self.rocker
        with np.errstate(divide="ignore", invalid="ignore"):
            (w3, a3), (w4, a4) = (turning(jet.first / jet.value, jet.second / jet.value) for jet in (pin, end))
            w3, a3 = w3 * rate, a3 * rate**2 + w3 * acceleration
            w4, a4 = w4 * rate, a4 * rate**2 + w4 * acceleration
        at = np.exp(1j * self.tilt)
        place = complex(*self.pivot) + at * (a * e2 + z * e3)
        velocity = at * 1j * (a * rate * e2 + z * w3 * e3)
        along = at * (a * e2 * (1j * acceleration - rate**2) + z * e3 * (1j * a3 - w3**2))
        t3, t4, between = np.angle(e3), np.angle(e4), self.transmission_angle(t2)
        return FourBarMotion(t2, t3, t4, w3, w4, a3, a4, pairs(place), pairs(velocity), pairs(along), between)

    def angles(self, crank: Array) -> tuple[Array, Array]:
        """Return the angles of coupler and rocker (S,) from the line of the ground pivots [rad].

        Parameters
        ----------
        crank : ndarray
            Crank angles (S,) from this line [rad].

        Returns
        -------
        tuple[ndarray, ndarray]
            Angles of coupler and rocker, nan where the four-bar cannot be assembled.
        """
        pin, end = coupler_jets(self.lengths, np.asarray(crank, np.float64), self.branch)
        return np.angle(pin.value), np.angle(end.value)

    def path(self, samples: int = 360) -> Array:
        """Return the coupler curve: places of the coupler point (S, 2) over the angles that the crank reaches [m].

        Parameters
        ----------
        samples : int, default 360
            Number of points.

        Returns
        -------
        ndarray
            Points (S, 2) in their order along the curve.

        Raises
        ------
        InputError
            For a number of points that is no whole number of two or more.
        """
        return self.motion(self.crank_angles(number_of_points(samples))).point

    def crank_angles(self, samples: int) -> Array:
        """Return crank angles (S,) over the whole range of the crank [rad].

        Parameters
        ----------
        samples : int
            Number of angles.

        Returns
        -------
        ndarray
            Angles of one turn, or from one limit to the other. Two turns where one change point is passed in a turn,
            for the curve closes after two.
        """
        p0, q0 = gaps(*self.lengths)
        if self.crank_turns:
            return np.linspace(0.0, 2.0 * np.pi * (2 if (p0 == 0.0) != (q0 == 0.0) else 1), samples)
        low, high = crank_limits(self.lengths)
        if q0 >= 0.0:  # through the ground line at angle 0
            return np.linspace(-high, high, samples)
        return np.linspace(low, high if p0 < 0.0 else 2.0 * np.pi - low, samples)

    def transmission_angle(self, angles: ArrayLike) -> Array:
        """Return the angle between coupler and rocker (S,), 0 to pi [rad]; pi / 2 is best.

        Parameters
        ----------
        angles : array_like
            Crank angles (S,) [rad].

        Returns
        -------
        ndarray
            Transmission angles, nan where the four-bar cannot be assembled.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            p, q = roots(self.lengths, np.asarray(angles, np.float64))
        return np.asarray(2.0 * np.arctan2(np.abs(q.value), np.abs(p.value)))

    @property
    def worst_transmission(self) -> float:
        """Smallest angle between the lines of coupler and rocker over a turn of the crank [rad]; else zero."""
        if not self.crank_turns:
            return 0.0
        angles = self.transmission_angle(np.array([0.0, np.pi]))
        return float(np.min(np.minimum(angles, np.pi - angles)))

    def dead_centres(self) -> list[DeadCentre]:
        """Return all poses in which crank and coupler, or coupler and rocker, lie in one line.

        Returns
        -------
        list[DeadCentre]
            Limits of the rocker, then limits of the crank, each on both sides of the ground line. A change point is in
            both lists.
        """
        g, a, b, c = self.lengths
        found = []
        for stretched, reach in ((True, a + b), (False, abs(b - a))):
            for turn in both_sides(corner(g, reach, c)):
                C = reach * complex(math.cos(turn), math.sin(turn))
                crank = turn if stretched or a > b else turn + math.pi
                rocker = float(np.angle(C - g))
                found.append(DeadCentre("limit of the rocker", math.remainder(crank, math.tau), rocker, stretched))
        for stretched, reach in ((True, b + c), (False, abs(b - c))):
            for crank in both_sides(corner(g, a, reach)):
                line = g - a * complex(math.cos(crank), math.sin(crank))
                C = folded_pin(g, line, b, c, stretched)
                found.append(DeadCentre("limit of the crank", crank, float(np.angle(C - g)), stretched))
        return found

    def assemblies(self, angle: float) -> list["FourBar"]:
        """Return the four-bar on every branch that closes at a crank angle.

        Parameters
        ----------
        angle : float
            Crank angle [rad].

        Returns
        -------
        list[FourBar]
            Two four-bars, or none where the crank does not reach the angle.
        """
        found = [replace(self, branch=branch) for branch in BRANCHES]
        return [one for one in found if np.isfinite(one.angles(np.array([angle]))[0][0])]

    def velocity_pole(self, angles: ArrayLike) -> Array:
        """Return the instant centres of the coupler (S, 2) [m]: where its velocity vanishes.

        Parameters
        ----------
        angles : array_like
            Crank angles (S,) [rad].

        Returns
        -------
        ndarray
            Points, infinite or nan where the coupler only translates.
        """
        m = self.motion(angles)
        at, e2 = np.exp(1j * self.tilt), np.exp(1j * m.crank)
        with np.errstate(divide="ignore", invalid="ignore"):  # v_B + i w3 (P - B) = 0
            pole = self.crank * e2 * (1.0 - 1.0 / m.coupler_rate)
        return pairs(complex(*self.pivot) + at * pole)

    def acceleration_pole(self, angles: ArrayLike, rate: float = 1.0, acceleration: float = 0.0) -> Array:
        """Return the points of the coupler (S, 2) without acceleration [m].

        Parameters
        ----------
        angles : array_like
            Crank angles (S,) [rad].
        rate : float, default 1.0
            Rate of the crank [rad/s].
        acceleration : float, default 0.0
            Angular acceleration of the crank [rad/s^2].

        Returns
        -------
        ndarray
            Points (S, 2).
        """
        m = self.motion(angles, rate, acceleration)
        at, B = np.exp(1j * self.tilt), self.crank * np.exp(1j * m.crank)
        with np.errstate(divide="ignore", invalid="ignore"):  # a_B + (i a3 - w3^2)(P - B) = 0
            pole = B - B * (1j * acceleration - rate**2) / (1j * m.coupler_acceleration - m.coupler_rate**2)
        return pairs(complex(*self.pivot) + at * pole)

    def cognates(self) -> list["FourBar"]:
        """Return the two other four-bars with the same coupler curve (Roberts and Chebyshev).

        Their crank angle, from their own ground line, is the coupler angle of this four-bar. They change their branch
        where this one has a limit of its rocker, or of its crank.

        Returns
        -------
        list[FourBar]
            The cognate at A and the cognate at D, on the branch that follows this four-bar in most poses.

        Raises
        ------
        InputError
            For a coupler point on a pin, where the curve is an arc.
        """
        g, a, b, c = self.lengths
        z = complex(*self.point) / b
        if min(abs(z), abs(z - 1.0)) < EQUAL:
            raise InputError("four-bar: its coupler point is a pin, which moves on an arc; there are no cognates")
        A, at = complex(*self.pivot), complex(math.cos(self.tilt), math.sin(self.tilt))
        first = (A, z, b, a, c, a * abs(z) / z)  # place, ratio, lengths of crank, coupler, rocker over |ratio|, point
        second = (A + at * g, z - 1.0, b, c, a, c * abs(1.0 - z) / (1.0 - z))
        found = []
        for place, ratio, crank, coupler, rocker, point in (first, second):
            size, tilt = abs(ratio), math.remainder(self.tilt + float(np.angle(ratio)), math.tau)
            found.append(
                FourBar(
                    size * g, size * crank, size * coupler, size * rocker, (point.real, point.imag),
                    (place.real, place.imag), tilt,
                )
            )  # fmt: skip
        return [self.following(one) for one in found]

    def following(self, cognate: "FourBar") -> "FourBar":
        """Return a cognate on the branch that follows this four-bar in most poses."""
        m = self.motion(self.crank_angles(FOLLOWED)[1:-1])
        ways = [np.abs(replace(cognate, branch=branch).motion(m.coupler).point - m.point) for branch in BRANCHES]
        return replace(cognate, branch=1 if np.sum(ways[0] <= ways[1]) >= np.sum(ways[1] <= ways[0]) else -1)

    def derivatives(self, angles: ArrayLike) -> tuple[Array, Array]:
        """Return the exact derivatives of coupler point and rocker angle by the lengths at fixed crank angles.

        Parameters
        ----------
        angles : array_like
            Crank angles (S,) [rad].

        Returns
        -------
        tuple[ndarray, ndarray]
            d point (S, 2, 6) [1] and d rocker (S, 6) [rad/m] by ground, crank, coupler, rocker, u and v.
        """
        place, _, rocker = self.by_lengths(self.motion(angles))
        return np.stack([place.real, place.imag], axis=1), rocker

    def by_lengths(self, m: FourBarMotion) -> tuple[Complex, Array, Array]:
        """Return the derivatives (S, 6) of coupler point, coupler angle and rocker angle of a motion by the lengths."""
        e2, e3, e4 = (np.exp(1j * one) for one in (m.crank, m.coupler, m.rocker))
        zero, one = np.zeros_like(e2), np.ones_like(e2)
        loop = np.stack([-one, e2, e3, -e4, zero, zero], axis=-1)  # of a e2 + b e3 - c e4 - g
        with np.errstate(divide="ignore", invalid="ignore"):
            sine = (e3 * e4.conj()).imag
            turn = (loop * e4.conj()[:, None]).real / (self.coupler * sine)[:, None]  # loop + i b e3 t3 - i c e4 t4 = 0
            rocker = (loop * e3.conj()[:, None]).real / (self.rocker * sine)[:, None]
        explicit = np.stack([zero, e2, zero, zero, e3, 1j * e3], axis=-1)
        place = np.exp(1j * self.tilt) * (explicit + 1j * complex(*self.point) * e3[:, None] * turn)
        return place, turn, rocker

    def model(self, rate: float = 1.0, start: float = 0.0) -> Any:
        """Return the four-bar as a Model with a driven crank, for pictures, loads and dynamics.

        Parameters
        ----------
        rate : float, default 1.0
            Rate of the crank [rad/s].
        start : float, default 0.0
            Crank angle at t = 0 [rad].

        Returns
        -------
        Model
            Bodies "crank", "coupler" and "rocker", joints "A", "B", "C", "D", marker "point", driver "drive".

        Raises
        ------
        InputError
            For a crank angle that cannot be reached.
        """
        from rtmbs.model import ConstantRate, Model, Revolute

        m = self.motion(np.array([start]))
        if not np.isfinite(m.coupler[0]):
            raise InputError(f"four-bar: the crank does not reach {start:g} rad; dead_centres() lists its limits")
        at = np.exp(1j * self.tilt)
        A, B = complex(*self.pivot), complex(*self.pivot) + at * self.crank * np.exp(1j * start)
        D, C = A + at * self.ground, B + at * self.coupler * np.exp(1j * m.coupler[0])
        model = Model("four-bar")
        for name, place, angle in (("crank", A, start), ("coupler", B, m.coupler[0]), ("rocker", D, m.rocker[0])):
            turn = [math.cos(0.5 * (angle + self.tilt)), 0.0, 0.0, math.sin(0.5 * (angle + self.tilt))]
            model.add_body(name, mass=0.0, position=(place.real, place.imag, 0.0), orientation=turn)
        joints = (("A", "ground", "crank", A), ("B", "crank", "coupler", B), ("C", "coupler", "rocker", C))
        for name, first, second, place in (*joints, ("D", "ground", "rocker", D)):
            point = (complex(place).real, complex(place).imag, 0.0)
            model.add_joint(name, Revolute(axis=(0, 0, 1)), first, second, point=point)
        tip = m.point[0]
        model.add_marker("point", "coupler", point=(tip[0], tip[1], 0.0))
        model.add_driver("drive", ConstantRate(rate), joint="A")
        return model


def number_of_points(samples: int) -> int:
    """Return a number of points of a path; InputError for what is none."""
    if not isinstance(samples, int | np.integer) or isinstance(samples, bool) or samples < 2:
        raise InputError(
            f"samples is {shown(samples)}; it must be a whole number of two or more; at chosen crank angles the point"
            " is motion(angles).point"
        )
    return int(samples)


def pairs(z: Complex) -> Array:
    """Return complex numbers (S,) as points (S, 2)."""
    return np.stack([z.real, z.imag], axis=-1)


def turning(first: Complex, second: Complex) -> tuple[Array, Array]:
    """Return rate and acceleration of a vector's angle from its derivatives over its value."""
    return first.imag, (second - first**2).imag


def corner(one: float, other: float, opposite: float) -> float:
    """Return the angle between two sides of a triangle, 0 to pi [rad]; nan for sides that close none."""
    least = CHANGE * (one + other + opposite)
    if other <= least or opposite <= least:  # no direction
        return math.nan
    near, far, whole = opposite - one + other, opposite + one - other, one + other - opposite
    near, far, whole = (0.0 if abs(part) <= least else part for part in (near, far, whole))
    if min(near, far, whole) < 0.0:
        return math.nan
    return 2.0 * math.atan2(math.sqrt(near * far), math.sqrt(whole * (one + other + opposite)))


def both_sides(angle: float) -> tuple[float, ...]:
    """Return an angle on both sides of a line, once on the line itself, or none for nan."""
    if math.isnan(angle):
        return ()
    return (angle, -angle) if 0.0 < angle < math.pi else (angle,)


def folded_pin(g: float, line: complex, b: float, c: float, stretched: bool) -> complex:
    """Return C where coupler and rocker lie in the line from B to D: between them, or beyond the end of the shorter."""
    along = line / abs(line)
    if stretched:
        return g - c * along
    return g + c * along if b > c else g - c * along


WIDTH, HEIGHT = 6.4, 5.2  # of a picture [inch]


def plot_path(
    of: Result | Array, *points: str, axes: str = "xy", file: str | Path | None = None, marks: Array | None = None
) -> Any:
    """Draw the paths of points, one coordinate over another, and return the figure of matplotlib (extra ``plot``).

    Parameters
    ----------
    of : Result or ndarray
        A result, or points (S, 2) such as ``FourBar.path()`` returns.
    *points : str
        Markers or bodies of the result.
    axes : str, default "xy"
        The two coordinates of a result, across and up: "xy", "xz" or "yz", or the reverse.
    file : str or Path, optional
        Picture to write (.png, .pdf, .svg).
    marks : ndarray, optional
        Points (k, 2) to mark, such as those of a synthesis [m].

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    InputError
        For a result without points, axes that are none, a file that is no picture, and without matplotlib.
    """
    if len(axes) != 2 or set(axes) - set("xyz") or axes[0] == axes[1]:
        raise InputError(f"axes is {axes!r}; it must be two of x, y and z, such as 'xy'")
    if file is not None and Path(file).suffix.lower() not in PICTURES:
        raise InputError(f"file is {str(file)!r}; a picture ends in one of {', '.join(PICTURES)}")
    figure = needed("matplotlib.figure", "plot_path", "plot").Figure((WIDTH, HEIGHT), layout="constrained")
    panel = figure.subplots()
    for name, path in paths(of, points, axes):
        panel.plot(path[:, 0], path[:, 1], label=name)
    if marks is not None:
        panel.plot(*np.asarray(marks).T[:2], "o", label="wanted")
    panel.set(xlabel=f"{axes[0]} [m]", ylabel=f"{axes[1]} [m]", aspect="equal")
    panel.grid(alpha=0.3)
    if points or marks is not None:
        panel.legend()
    if file is not None:
        figure.savefig(file)
    return figure


def paths(of: Any, points: Sequence[str], axes: str) -> list[tuple[str, Array]]:
    """Return the paths to draw with their names."""
    if not isinstance(of, Result):
        return [("path", np.asarray(of, np.float64))]
    if not points:
        raise InputError("plot_path of a result needs a point: the name of a marker or of a body")
    columns = ["xyz".index(one) for one in axes]
    return [(name, of[f"{name}.position"][:, columns]) for name in points]

"""``SliderCrank``: positions, rates, transmission angle and dead centres in closed form, also with an offset."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, shown
from rtmbs.kinematics.design.four_bar import (
    BRANCHES,
    CHANGE,
    ROUNDING,
    Jet,
    finite,
    flattened,
    length,
    number_of_points,
    pairs,
    plane_point,
    turning,
)

Array = NDArray[np.float64]


class SliderCrankMotion(NamedTuple):
    """Motion of a slider-crank at S crank angles; nan where it cannot be assembled.

    Parameters
    ----------
    crank : ndarray
        Crank angles (S,) from the way of the slider [rad].
    rod : ndarray
        Rod angles (S,) from this way [rad].
    slider : ndarray
        Place of the slider along its way (S,) from the crank's pivot [m].
    rod_rate : ndarray
        Rates of the rod (S,) [rad/s].
    slider_rate : ndarray
        Rates of the slider (S,) [m/s].
    slider_acceleration : ndarray
        Accelerations of the slider (S,) [m/s^2].
    point : ndarray
        Point of the rod (S, 2) [m].
    transmission : ndarray
        Angle between the rod and the normal of the way (S,), 0 to pi [rad].
    """

    crank: Array
    rod: Array
    slider: Array
    rod_rate: Array
    slider_rate: Array
    slider_acceleration: Array
    point: Array
    transmission: Array


@dataclass(frozen=True)
class SliderCrank:
    """A planar slider-crank whose slider moves along x.

    Parameters
    ----------
    crank : float
        Length of the crank [m].
    rod : float
        Length of the rod [m].
    offset : float, default 0.0
        Height of the slider's way over the crank's pivot [m].
    point : tuple[float, float], default (0.0, 0.0)
        Point of the rod from the crank pin: along the rod and to its left [m].
    branch : int, default 1
        1: the slider is on the side of x from the crank pin; -1: on the other side. A linkage with change points passes
        them smoothly, so the slider changes sides there; ``branch`` is the side at crank angles within pi / 2 of zero.

    Raises
    ------
    InputError
        For lengths that are not above zero, numbers that are not finite, and an offset out of reach.
    """

    crank: float
    rod: float
    offset: float = 0.0
    point: tuple[float, float] = (0.0, 0.0)
    branch: int = 1

    def __post_init__(self) -> None:
        for name in ("crank", "rod"):
            object.__setattr__(self, name, length("slider-crank", name, getattr(self, name)))
        object.__setattr__(self, "offset", finite("slider-crank", "offset", self.offset))
        object.__setattr__(self, "point", plane_point("slider-crank", "point", self.point))
        if self.branch not in BRANCHES:
            raise InputError(f"slider-crank: branch is {shown(self.branch)}; it must be 1 or -1")
        if abs(self.offset) > self.crank + self.rod:
            raise InputError(
                f"slider-crank: offset is {self.offset:g} m; crank and rod reach {self.crank + self.rod:g} m"
            )

    @property
    def crank_turns(self) -> bool:
        """Whether the crank turns fully."""
        return min(self.gaps()) >= 0.0

    def gaps(self) -> tuple[float, float]:
        """Return the rod less the height of the way over the lowest crank pin, and that under the highest one [m]."""
        least = CHANGE * (self.crank + self.rod)
        over, under = self.rod - self.offset - self.crank, self.rod + self.offset - self.crank
        return 0.0 if abs(over) <= least else over, 0.0 if abs(under) <= least else under

    @property
    def stroke(self) -> float:
        """Distance of the two dead centres of the slider [m].

        The crank alone may not drive the slider from one to the other, as where it does not turn fully.
        """
        (_, first), (_, second) = self.dead_centres()
        return abs(first - second)

    def dead_centres(self) -> list[tuple[float, float]]:
        """Return crank angle [rad] and place of the slider [m] where crank and rod lie in one line.

        Returns
        -------
        list[tuple[float, float]]
            Two: stretched, then folded. Where the slider passes above or below a folded linkage, or through it at a
            change point, the second one is stretched too, on the other side of the crank's pivot.
        """
        a, b, e = self.crank, self.rod, self.offset
        place = self.branch * math.sqrt(max((a + b) ** 2 - e * e, 0.0))
        found = [(math.atan2(e, place), place)]
        if abs(e) >= abs(b - a) - CHANGE * (a + b):
            return [*found, (math.atan2(e, -place), -place)]
        inner = self.branch * math.sqrt((b - a) ** 2 - e * e)
        angle = math.atan2(e, inner) + math.pi * (b > a)  # the rod goes back over the crank, or is the shorter one
        return [*found, (math.remainder(angle, math.tau), inner)]

    def motion(self, angles: ArrayLike, rate: float = 1.0, acceleration: float = 0.0) -> SliderCrankMotion:
        """Return positions, rates and accelerations at crank angles.

        Parameters
        ----------
        angles : array_like
            Crank angles (S,) from the way of the slider [rad].
        rate : float, default 1.0
            Rate of the crank [rad/s].
        acceleration : float, default 0.0
            Angular acceleration of the crank [rad/s^2].

        Returns
        -------
        SliderCrankMotion
            The motion; nan where the slider-crank cannot be assembled.
        """
        t2 = np.atleast_1d(np.asarray(angles, np.float64))
        a, e2 = self.crank, np.exp(1j * t2)
        with np.errstate(divide="ignore", invalid="ignore"):
            along = self.along(t2)
            rod = along.plus(Jet(1j * (self.offset - a * e2.imag), -1j * a * e2.real, 1j * a * e2.imag))
            w3, a3 = turning(rod.first / rod.value, rod.second / rod.value)
            w3, a3 = w3 * rate, a3 * rate**2 + w3 * acceleration
            s, ds, dds = (part.real for part in along.plus(Jet(a * e2, 1j * a * e2, -a * e2)))
            v, rise = ds * rate, dds * rate**2 + ds * acceleration
            t3 = np.angle(rod.value)
            place = a * e2 + complex(*self.point) * rod.value / self.rod
            between = np.arccos(np.clip(rod.value.imag / self.rod, -1.0, 1.0)) + 0.0 * t3
        return SliderCrankMotion(t2, t3, s, w3, v, rise, pairs(place), between)

    def along(self, angles: Array) -> Jet:
        """Return the part of the rod along the slider's way, over crank angles [m]; nan where the loop is open.

        Its square is (rod - offset + crank sin t) (rod + offset - crank sin t). At a change point the root of a factor
        is sqrt(2 crank) cos(t / 2 -+ pi / 4), which changes its sign there.
        """
        a, least = self.crank, ROUNDING * (self.crank + self.rod)

        def root(gap: float, sense: float) -> Jet:
            half = 0.5 * angles - sense * 0.25 * np.pi
            if gap == 0.0:
                size = math.sqrt(2.0 * a) + 0j
                return Jet(size * np.cos(half), -0.5 * size * np.sin(half), -0.25 * size * np.cos(half))
            wave = sense * a + 0j
            square = flattened(gap + 2.0 * a * np.cos(half) ** 2, least)
            return Jet(square + 0j, wave * np.cos(angles), -wave * np.sin(angles)).root()

        over, under = self.gaps()
        return Jet(*(self.branch * part for part in root(over, 1.0).times(root(under, -1.0))))

    def path(self, samples: int = 360) -> Array:
        """Return the curve of the rod's point (S, 2) over the angles that the crank reaches [m].

        The crank turns fully, or goes from one limit to the other. One change point makes a curve of two turns.

        Parameters
        ----------
        samples : int, default 360
            Number of points.

        Returns
        -------
        ndarray
            Points (S, 2).

        Raises
        ------
        InputError
            For a number of points that is no whole number of two or more.
        """
        over, under = self.gaps()
        low, high = (
            math.asin(min(max(sine / self.crank, -1.0), 1.0))
            for sine in (self.offset - self.rod, self.offset + self.rod)
        )
        ends = (low, high)
        if self.crank_turns:
            ends = (0.0, 2.0 * np.pi * (2 if (over == 0.0) != (under == 0.0) else 1))
        elif under >= 0.0:
            ends = (low, np.pi - low)
        elif over >= 0.0:
            ends = (-np.pi - high, high)
        return self.motion(np.linspace(*ends, number_of_points(samples))).point

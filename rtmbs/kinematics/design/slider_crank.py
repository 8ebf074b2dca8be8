"""``SliderCrank``: positions, rates, transmission angle and dead centres in closed form, also with an offset."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rtmbs.errors import InputError, shown
from rtmbs.kinematics.design.four_bar import BRANCHES, number_of_points, pairs

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
        1: the slider is on the side of x; -1: on the other side.

    Raises
    ------
    InputError
        For lengths that are not above zero, and for an offset that crank and rod do not reach.
    """

    crank: float
    rod: float
    offset: float = 0.0
    point: tuple[float, float] = (0.0, 0.0)
    branch: int = 1

    def __post_init__(self) -> None:
        for name in ("crank", "rod"):
            value = getattr(self, name)
            if not (isinstance(value, float | int) and 0.0 < value < math.inf):
                raise InputError(f"slider-crank: {name} is {shown(value)}; it must be a length above zero [m]")
        if self.branch not in BRANCHES:
            raise InputError(f"slider-crank: branch is {shown(self.branch)}; it must be 1 or -1")
        if abs(self.offset) > self.crank + self.rod:
            raise InputError(
                f"slider-crank: offset is {self.offset:g} m; crank and rod reach {self.crank + self.rod:g} m"
            )

    @property
    def crank_turns(self) -> bool:
        """Whether the crank turns fully."""
        return self.crank + abs(self.offset) <= self.rod

    @property
    def stroke(self) -> float:
        """Distance of the two dead centres of the slider [m]."""
        outer, inner = (self.dead_centres()[k][1] for k in (0, 1))
        return abs(outer - inner)

    def dead_centres(self) -> list[tuple[float, float]]:
        """Return crank angle [rad] and place of the slider [m] where crank and rod lie in one line.

        Returns
        -------
        list[tuple[float, float]]
            Stretched first, then folded where the slider's way is within reach.
        """
        found = []
        for reach in (self.rod + self.crank, self.rod - self.crank):
            if abs(self.offset) <= abs(reach):
                place = self.branch * math.sqrt(reach * reach - self.offset * self.offset)
                angle = math.atan2(self.offset, place)
                back = reach < self.rod  # folded: the rod goes back over the crank, unless it is the shorter one
                found.append((math.remainder(angle + math.pi * (back and reach > 0.0), math.tau), place))
        return found

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
        a, b = self.crank, self.rod
        with np.errstate(divide="ignore", invalid="ignore"):
            sine = (self.offset - a * np.sin(t2)) / b
            t3 = np.arcsin(sine) if self.branch == 1 else np.pi - np.arcsin(sine)
            c3 = np.cos(t3)
            w3 = -a * rate * np.cos(t2) / (b * c3)
            a3 = (a * rate**2 * np.sin(t2) - a * acceleration * np.cos(t2) + b * w3**2 * np.sin(t3)) / (b * c3)
            s = a * np.cos(t2) + b * c3
            v = -a * rate * np.sin(t2) - b * w3 * np.sin(t3)
            along = -a * (acceleration * np.sin(t2) + rate**2 * np.cos(t2)) - b * (a3 * np.sin(t3) + w3**2 * c3)
            place = a * np.exp(1j * t2) + complex(*self.point) * np.exp(1j * t3)
            between = np.arccos(np.clip(sine, -1.0, 1.0)) + 0.0 * t3
        return SliderCrankMotion(t2, t3, s, w3, v, along, pairs(place), between)

    def path(self, samples: int = 360) -> Array:
        """Return the curve of the rod's point (S, 2) over a turn of the crank [m]; nan where it does not reach.

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
        return self.motion(np.linspace(0.0, 2.0 * np.pi, number_of_points(samples))).point

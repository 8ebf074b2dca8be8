"""Paths on the road: position, heading and curvature over arc length, from points or from a curvature."""

from bisect import bisect_right
from typing import Any

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.model.checks import Array, Numbers, as_floats, number

SPACING = 0.25  # [m] between the points of paths that are made here
NEAREST = 8  # Newton iterations of the nearest point
CLOSE = 1e-9  # [m] at which they end
FEW = 32  # points that take less time one by one


class Path:
    """Smooth path in the plane of the road: a cubic spline through points, straight on beyond its ends.

    Parameters
    ----------
    points : array_like
        Points (k, 2) in their order [m], at least 4.

    Raises
    ------
    ModelError
        For fewer points, points that are not finite, and neighbours that coincide.

    Examples
    --------
    >>> path = rtmbs.vehicle.Path.circle(100.0, laps=1.0)
    >>> round(float(path.curvature(300.0)), 4)  # left
    0.01
    """

    def __init__(self, points: Numbers) -> None:
        from scipy.interpolate import CubicSpline  # takes long to load

        try:
            given = as_floats(points)
        except ValueError:
            given = np.zeros(0)
        if given.ndim != 2 or given.shape[1] != 2 or len(given) < 4 or not np.all(np.isfinite(given)):
            raise ModelError(f"path: points have shape {np.shape(points)}; it must be finite numbers (k, 2), k >= 4")
        steps = np.linalg.norm(np.diff(given, axis=0), axis=1)
        if np.any(steps < 1e-6):
            raise ModelError("path: two neighbouring points coincide; each point must be given once")
        s = np.concatenate(([0.0], np.cumsum(steps)))
        for _ in range(2):  # arc length in place of chords
            spline = CubicSpline(s, given)
            middle = 0.5 * (s[1:] + s[:-1])
            ends, between = np.linalg.norm(spline(s, 1), axis=1), np.linalg.norm(spline(middle, 1), axis=1)
            s = np.concatenate(([0.0], np.cumsum(np.diff(s) * (ends[1:] + ends[:-1] + 4.0 * between) / 6.0)))
        self.points, self.length, self._knots = given, float(s[-1]), s
        self._place = CubicSpline(s, given)
        self._rate, self._bend = self._place.derivative(), self._place.derivative(2)
        self._starts = s[:-1].tolist()  # pieces as plain numbers, for the nearest point in every step of a driver
        self._pieces = np.concatenate((self._place.c[:, :, 0], self._place.c[:, :, 1])).T.tolist()

    @classmethod
    def of_curvature(cls, s: Numbers, curvature: Numbers) -> "Path":
        """Return the path of a curvature over arc length, from the origin along x.

        Parameters
        ----------
        s : array_like
            Increasing arc lengths (k,) [m], from 0.
        curvature : array_like
            Curvature (k,) [1/m] there, left positive; linear in between.

        Returns
        -------
        Path
            Path through points at distances of 0.25 m.
        """
        ends, values = as_floats(s), as_floats(curvature)
        at = np.linspace(0.0, ends[-1], int(np.ceil(ends[-1] / SPACING)) + 1)
        fine = np.linspace(0.0, ends[-1], 4 * (len(at) - 1) + 1)
        heading = running_integral(fine, np.interp(fine, ends, values))
        x, y = running_integral(fine, np.cos(heading)), running_integral(fine, np.sin(heading))
        return cls(np.stack((x, y), axis=1)[::4])

    @classmethod
    def circle(cls, radius: float, laps: float = 2.0, entry: float = 50.0) -> "Path":
        """Return a straight of 10 m, a clothoid of the length ``entry``, and a circle.

        Parameters
        ----------
        radius : float
            Radius [m], positive left.
        laps : float, default 2.0
            Length of the circle in laps.
        entry : float, default 50.0
            Length of the clothoid [m].

        Returns
        -------
        Path
            Path from the origin along x.

        Raises
        ------
        ModelError
            For a radius of zero and lengths that are not positive.
        """
        r, turns, ramp = number(radius, "path: radius"), number(laps, "path: laps"), number(entry, "path: entry")
        if r == 0.0 or turns <= 0.0 or ramp <= 0.0:
            raise ModelError(
                f"path: radius is {r:g}, laps {turns:g} and entry {ramp:g}; each must be above zero in size"
            )
        end = 10.0 + ramp + turns * 2.0 * np.pi * abs(r)
        return cls.of_curvature((0.0, 10.0, 10.0 + ramp, end), (0.0, 0.0, 1.0 / r, 1.0 / r))

    @classmethod
    def lanes(cls, stations: Numbers, offsets: Numbers) -> "Path":
        """Return straight lanes with quintic changes between them: y over x with 10 u^3 - 15 u^4 + 6 u^5.

        Parameters
        ----------
        stations : array_like
            Increasing x (k,) [m]; lane offsets hold at them.
        offsets : array_like
            Lateral offsets y (k,) [m] there; equal neighbours are a straight lane.

        Returns
        -------
        Path
            Path through points at distances of 0.25 m.
        """
        at, y = as_floats(stations), as_floats(offsets)
        x = np.arange(at[0], at[-1] + 0.5 * SPACING, SPACING)
        k = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
        u = np.clip((x - at[k]) / (at[k + 1] - at[k]), 0.0, 1.0)
        blend = u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
        return cls(np.stack((x, y[k] + blend * (y[k + 1] - y[k])), axis=1))

    def position(self, s: Any) -> Array:
        """Return positions on the path.

        Parameters
        ----------
        s : float or ndarray
            Arc length (...) [m].

        Returns
        -------
        ndarray
            Positions (..., 2) [m].
        """
        s = np.asarray(s, float)
        if s.ndim == 1 and 0 < len(s) <= FEW:
            return np.array([self._at(one) for one in s.tolist()])
        inside = np.clip(s, 0.0, self.length)
        return np.asarray(self._place(inside) + (s - inside)[..., None] * self._rate(inside))

    def _at(self, s: float) -> tuple[float, float]:
        """Return one position by plain numbers: its sums are those of SciPy, to the last digit."""
        inside = min(max(s, 0.0), self.length)
        k = max(bisect_right(self._starts, inside) - 1, 0)
        u = inside - self._starts[k]
        a3, a2, a1, a0, b3, b2, b1, b0 = self._pieces[k]
        uu = u * u
        uuu = uu * u
        x, y = a0 + a1 * u + a2 * uu + a3 * uuu, b0 + b1 * u + b2 * uu + b3 * uuu
        if s == inside:
            return x, y
        over = s - inside
        return x + over * (a1 + 2.0 * a2 * u + 3.0 * a3 * uu), y + over * (b1 + 2.0 * b2 * u + 3.0 * b3 * uu)

    def heading(self, s: Any) -> Any:
        """Return the heading of the path.

        Parameters
        ----------
        s : float or ndarray
            Arc length (...) [m].

        Returns
        -------
        float or ndarray
            Angle of the tangent from the x axis (...) [rad], between -pi and pi.
        """
        t = self._rate(np.clip(s, 0.0, self.length))
        return np.arctan2(t[..., 1], t[..., 0])

    def curvature(self, s: Any) -> Any:
        """Return the curvature of the path, positive left, zero beyond its ends.

        Parameters
        ----------
        s : float or ndarray
            Arc length (...) [m].

        Returns
        -------
        float or ndarray
            Curvature (...) [1/m].
        """
        inside = np.clip(s, 0.0, self.length)
        t, n = self._rate(inside), self._bend(inside)
        bend = (t[..., 0] * n[..., 1] - t[..., 1] * n[..., 0]) / np.sum(t * t, axis=-1) ** 1.5
        return np.where(inside == np.asarray(s), bend, 0.0)

    def nearest(self, point: Numbers, near: float | None = None) -> float:
        """Return the arc length of the nearest point of the path.

        Parameters
        ----------
        point : array_like
            Point (2,) [m].
        near : float, optional
            Arc length from which the search begins [m]; all points of the path are looked at unless given.

        Returns
        -------
        float
            Arc length [m]; negative before the path, beyond its length after it.
        """
        X, Y = as_floats(point).tolist()
        s = near
        if s is None:
            s = float(self._knots[np.argmin(np.sum((self.points - (X, Y)) ** 2, axis=1))])
        for _ in range(NEAREST):
            inside = min(max(s, 0.0), self.length)
            k = max(bisect_right(self._starts, inside) - 1, 0)
            u = inside - self._starts[k]
            a3, a2, a1, a0, b3, b2, b1, b0 = self._pieces[k]
            tx, ty = (3.0 * a3 * u + 2.0 * a2) * u + a1, (3.0 * b3 * u + 2.0 * b2) * u + b1
            dx = X - ((a3 * u + a2) * u + a1) * u - a0 - (s - inside) * tx
            dy = Y - ((b3 * u + b2) * u + b1) * u - b0 - (s - inside) * ty
            tt, bent = tx * tx + ty * ty, dx * (6.0 * a3 * u + 2.0 * a2) + dy * (6.0 * b3 * u + 2.0 * b2)
            move = (dx * tx + dy * ty) / max(tt - (bent if s == inside else 0.0), 0.2 * tt)
            s += move
            if abs(move) < CLOSE:
                break
        return s


def running_integral(x: Array, f: Array) -> Array:
    """Return the integral of f over even x by parabolas (k,), from the first point."""
    h = x[1] - x[0]
    inner = (-f[:-3] + 13.0 * f[1:-2] + 13.0 * f[2:-1] - f[3:]) / 24.0  # cubics through four points
    first, last = (5.0 * f[0] + 8.0 * f[1] - f[2]) / 12.0, (5.0 * f[-1] + 8.0 * f[-2] - f[-3]) / 12.0
    return np.asarray(h * np.concatenate(([0.0], np.cumsum(np.concatenate(([first], inner, [last]))))))

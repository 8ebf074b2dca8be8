"""Curves of a model file: points (x, y, z) as functions of a parameter, and cams by their radius over an angle."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rtmbs.language.expressions import Steps, jet_at, value_at

Array = NDArray[np.float64]

PARAMETER = "s"  # its name in a file
OF_PARAMETER = {("cam", "radius"), ("point on curve", "curve")}  # statements and keys whose values are functions of it

HALF_TURN = 180  # steps of one degree
MOST_STEPS = 20 * 2 * HALF_TURN  # of a motion over many turns
FITS = 1e-6  # of the roller's radius: a smaller depth is rounding


@dataclass(frozen=True)
class Curve:
    """A curve in body axes (3,) [m], each coordinate an expression of its parameter."""

    rows: tuple[Steps, ...]

    def __call__(self, s: Any) -> Any:
        return np.stack([value_at(steps, s) + 0.0 * s for steps in self.rows])


@dataclass(frozen=True)
class CamCurve(Curve):
    """The path of a follower's roller centre on a cam: its radius r(s) over the angle s, offset by the roller [m].

    The cam lies in the x, y plane of its axes. With p = r (cos s, sin s) and p' its derivative, the centre stands at
    p + roller n, where n = (p'_y, -p'_x) / |p'| points outwards.
    """

    origin: Array  # (3,) of the cam in body axes [m]
    axes: Array  # (3, 3) of the cam, body axes
    roller: float  # radius of the roller, zero for a knife edge [m]

    def __call__(self, s: Any) -> Any:
        r = jet_at(self.rows[0], s)
        c, k = np.cos(s), np.sin(s)
        x, y = r.f * c, r.f * k
        if self.roller:
            dx, dy = r.fd * c - r.f * k, r.fd * k + r.f * c
            size = np.sqrt(dx * dx + dy * dy)
            x, y = x + self.roller * dy / size, y - self.roller * dx / size
        return np.stack([self.origin[i] + self.axes[i, 0] * x + self.axes[i, 1] * y for i in range(3)])

    def notes(self, name: str, first: float | None = None, last: float | None = None) -> list[str]:
        """Return a sentence where the roller does not fit the profile between two angles, by default over a turn."""
        span = (0.0, 2.0 * math.pi) if first is None or last is None else (first, last)
        depth, at, hollow = self.undercut(*span)
        if not depth > FITS * abs(self.roller):
            return []
        flank = f", which is hollow with a radius of {hollow:.6g} m," if hollow < abs(self.roller) else ","
        return [
            f"cam {name!r}: its roller of radius {abs(self.roller):.6g} m does not fit the profile{flank} and is up to"
            f" {depth:.3g} m inside it, at s = {at:.4g} rad; the follower would lift there: take a smaller roller, or"
            " rounder flanks"
        ]

    def undercut(self, first: float, last: float) -> tuple[float, float, float]:
        """Return how deep the roller is in the profile at most [m], at which angle, and the least hollow radius [m].

        Angles are in steps of a degree. The radius is infinite where no flank is hollow on the roller's side.

        The distance of the roller's centre from the profile half a turn to either side is less than the radius where a
        hollow flank is tighter than the roller, 1 + roller curvature < 0, and where the roller touches twice. A profile
        that does not come back after a turn counts between the two angles alone.
        """
        if not (self.roller and np.isfinite([first, last]).all() and first <= last):
            return 0.0, first, math.inf
        steps = min(max(math.ceil((last - first) * HALF_TURN / math.pi), 1), MOST_STEPS)
        step = max((last - first) / steps, 1e-6) if steps < MOST_STEPS else math.pi / HALF_TURN
        s = first + step * np.arange(-HALF_TURN, steps + HALF_TURN + 1)
        with np.errstate(all="ignore"):
            r, again = jet_at(self.rows[0], s), value_at(self.rows[0], s + 2.0 * np.pi)
            f, fd, fdd = (np.broadcast_to(np.asarray(one, np.float64), s.shape) for one in r)
            p = f * np.exp(1j * s)
            pd = (fd + 1j * f) * np.exp(1j * s)
            turns = (f * f + 2.0 * fd * fd - f * fdd) / (f * f + fd * fd) ** 1.5  # the curvature
            center = p - 1j * self.roller * pd / np.abs(pd)
        if not np.allclose(again, f, rtol=1e-9, atol=0.0):
            inside = (s >= first - 1e-9) & (s <= last + 1e-9)
            p, turns = np.where(inside, p, np.inf), np.where(inside, turns, 0.0)
        near = np.abs(sliding_window_view(p, 2 * HALF_TURN + 1) - center[HALF_TURN:-HALF_TURN, None]).min(axis=1)
        depth = np.nan_to_num(abs(self.roller) - near)
        turned = np.nan_to_num(self.roller * turns)[HALF_TURN:-HALF_TURN]
        hollow = 1.0 + turned < 0.0
        depth[hollow] = np.maximum(depth[hollow], 2.0 * FITS * abs(self.roller))
        k = int(np.argmax(depth))
        least = float(np.min(turned, initial=0.0))
        return float(depth[k]), float(s[HALF_TURN + k]), abs(self.roller) / -least if least < 0.0 else math.inf

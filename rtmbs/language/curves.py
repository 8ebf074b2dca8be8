"""Curves of a model file: points (x, y, z) as functions of a parameter, and cams by their radius over an angle."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.language.expressions import Steps, jet_at, value_at

Array = NDArray[np.float64]

PARAMETER = "s"  # its name in a file


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

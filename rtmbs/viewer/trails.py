"""Where points of bodies have been: bounded trails that fade."""

from collections import deque
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.frame import Frame

Array = NDArray[np.float64]

LENGTH = 400  # pictures that a trail remembers


class Trails:
    """Trails of points, each given by a body and a point in its axes; the mass centre as a rule."""

    def __init__(self) -> None:
        self._followed: dict[int, Array] = {}  # body -> point (3,) in body axes
        self._past: dict[int, deque[Array]] = {}
        self._t = np.nan

    def __contains__(self, body: int) -> bool:
        return body in self._followed

    def toggle(self, body: int, point: Array) -> bool:
        """Begin or end the trail of a body, and return whether it has one now."""
        if body in self._followed:
            del self._followed[body], self._past[body]
            return False
        self._followed[body], self._past[body] = np.asarray(point, float), deque(maxlen=LENGTH)
        return True

    def clear(self) -> None:
        """Forget the past of all trails: time has jumped."""
        for past in self._past.values():
            past.clear()

    def add(self, frame: Frame) -> None:
        """Take the points of a new frame; going back in time clears the trails first."""
        if frame.t < self._t:
            self.clear()
        if frame.t != self._t:
            for body, point in self._followed.items():
                self._past[body].append(frame.r[body] + frame.A[body] @ point)
        self._t = frame.t

    def segments(self, color_of: Mapping[int, tuple[float, ...]]) -> tuple[Array, Array]:
        """Return segments (k, 2, 3) and colours (k, 4): the older, the fainter."""
        points, colors = [np.zeros((0, 2, 3))], [np.zeros((0, 4))]
        for body, past in self._past.items():
            if len(past) > 1:
                way = np.array(past)
                points.append(np.stack([way[:-1], way[1:]], axis=1))
                faded = np.tile(color_of[body], (len(way) - 1, 1))
                faded[:, 3] = np.linspace(0.08, 0.95, len(faded))
                colors.append(faded)
        return np.concatenate(points), np.concatenate(colors)

"""Trails: the past positions of markers and mass centres, bounded in number and fading."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import InputError, unknown_name
from rtmbs.viewer.scene.description import MarkerDescription, SceneDescription
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.theme import Theme

Array = NDArray[np.float64]

LENGTH = 400  # pictures that a trail remembers
BODY = ""  # name of the trail of a body's mass centre; a marker's trail has the name of the marker


def traceable(description: SceneDescription) -> list[MarkerDescription]:
    """Return the points whose way can be drawn: markers that move, and the mass centres of bodies without one."""
    markers = [marker for marker in description.markers if marker.body > 0]
    taken = {marker.name for marker in markers}
    bodies = [
        MarkerDescription(body.name, number, body.center_of_mass)
        for number, body in enumerate(description.bodies)
        if number > 0 and body.name not in taken
    ]
    return [*markers, *bodies]


def named(description: SceneDescription, names: Iterable[str]) -> list[MarkerDescription]:
    """Return the points of these names; UnknownNameError lists the nearest, InputError names one that cannot move."""
    points, found = {point.name: point for point in traceable(description)}, []
    resting = {marker.name for marker in description.markers if marker.body == 0}
    for name in names:
        if name in resting:
            raise InputError(f"marker {name!r} is on ground, and leaves no trail")
        if name not in points:
            raise unknown_name("marker or body", name, points)
        found.append(points[name])
    return found


class Trails:
    """Trails of points, each given by a body, a name, and a point in the axes of the body."""

    def __init__(self) -> None:
        self._followed: dict[tuple[int, str], Array] = {}  # body, name -> point (3,) in body axes
        self._past: dict[tuple[int, str], deque[Array]] = {}
        self._times: dict[tuple[int, str], deque[float]] = {}  # of the points of each trail [s]
        self._t = np.nan

    def __contains__(self, trail: int | tuple[int, str]) -> bool:
        return (trail if isinstance(trail, tuple) else (trail, BODY)) in self._followed

    def __len__(self) -> int:
        return len(self._followed)

    def toggle(self, body: int, point: Array, name: str = BODY) -> bool:
        """Begin or end the trail of a point of a body, and return whether it has one now."""
        trail = body, name
        if trail in self._followed:
            del self._followed[trail], self._past[trail], self._times[trail]
            return False
        self._followed[trail], self._past[trail] = np.asarray(point, float), deque(maxlen=LENGTH)
        self._times[trail] = deque(maxlen=LENGTH)
        self._t = np.nan  # the next frame counts, also when time stands still
        return True

    def names(self) -> list[tuple[int, str]]:
        """Return the body and the name of every trail."""
        return list(self._followed)

    def back_to(self, t: float) -> None:
        """Forget what the trails have from time ``t`` [s] on."""
        for trail, times in self._times.items():
            for _ in range(len(times) - bisect_left(times, t)):
                times.pop()
                self._past[trail].pop()

    def add(self, frame: Frame) -> None:
        """Take the points of a new frame; going back in time takes away what came later."""
        if frame.t < self._t:
            self.back_to(frame.t)
        if frame.t != self._t:
            for trail, point in self._followed.items():
                self._past[trail].append(frame.point(trail[0], point))
                self._times[trail].append(frame.t)
        self._t = frame.t

    def segments(self, color_of: Callable[[int, str], tuple[float, ...]]) -> tuple[Array, Array]:
        """Return segments (k, 2, 3) and colours (k, 4), by body and name of the trail: the older, the fainter."""
        points, colors = [np.zeros((0, 2, 3))], [np.zeros((0, 4))]
        for (body, name), past in self._past.items():
            if len(past) > 1:
                way = np.array(past)
                points.append(np.stack([way[:-1], way[1:]], axis=1))
                faded = np.tile(np.asarray(color_of(body, name), float), (len(way) - 1, 1))
                faded[:, 3] = np.linspace(0.08, 0.95, len(faded))
                colors.append(faded)
        return np.concatenate(points), np.concatenate(colors)


def trail_color(description: SceneDescription, theme: Theme, body: int, name: str) -> str:
    """Return the colour of the trail of a marker, or of a body for no name: as in a page, by the place of the point."""
    points = [point.name for point in traceable(description)]
    wanted = name or description.bodies[body].name
    number = points.index(wanted) if wanted in points else len(points) + body
    return theme.plots[(number + 1) % len(theme.plots)]

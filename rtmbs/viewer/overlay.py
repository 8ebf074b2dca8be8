"""What lies over a scene on behalf of the user: the element that is chosen, and what is measured. No Qt."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer import meshes
from rtmbs.viewer.batch import GROUND, Batch, Lines
from rtmbs.viewer.choices import FORCE, INPUT, JOINT, MARKER, Choice
from rtmbs.viewer.description import SceneDescription
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.theme import Theme, rgba

Array = NDArray[np.float64]

Spot = tuple[int, Array]  # a body, and a point (3,) in its axes [m]
BALL = 2.6  # of the ball about a chosen joint, in radii of a bar
OPACITY = 0.55
WIDTH = 5.0  # of the line along a chosen spring [pixels]


class Overlay(Protocol):
    """Something that lies over a scene, and moves with its frames."""

    batches: list[Batch]
    lines: list[Lines]

    def show(self, frame: Frame) -> None:
        """Move to where ``frame`` says."""

    def texts(self) -> list[tuple[Array, str]]:
        """Return what is written beside points (3,) of the world."""


class Highlight:
    """A ball about a joint, a marker or a given force; a line along what acts between points, and balls at its ends."""

    def __init__(self, description: SceneDescription, choice: Choice, radius: float, theme: Theme) -> None:
        self._spots, self._pairs = marked(description, choice)
        color, self._line = rgba(theme.selected, OPACITY), rgba(theme.selected)
        ball = np.column_stack([BALL * radius * np.eye(3), np.zeros(3)])
        placements = np.tile(ball, (len(self._spots), 1, 1))
        for placement, (_, point) in zip(placements, self._spots, strict=True):
            placement[:, 3] = point
        self.batches = [Batch(meshes.sphere(), [body for body, _ in self._spots], placements, color)]
        self.lines = [Lines(width=WIDTH)]

    def show(self, frame: Frame) -> None:
        """Move with the bodies; a ball keeps its size whatever its body does."""
        self.batches[0].carry(frame.A, frame.r)
        ends = [[at(frame, one), at(frame, other)] for one, other in self._pairs]
        self.lines[0].put(ends, self._line)

    def texts(self) -> list[tuple[Array, str]]:
        """Return nothing: labels name bodies, and the panel names the rest."""
        return []


def marked(description: SceneDescription, choice: Choice) -> tuple[list[Spot], list[tuple[Spot, Spot]]]:
    """Return the points, and the pairs of points, that say where an element is."""
    kind, name = choice
    if kind == INPUT:
        kind, name = FORCE, name.rpartition(".")[0]
    if kind == MARKER:
        return [(marker.body, marker.point) for marker in description.markers if marker.name == name], []
    moved = {name} if kind == JOINT else joints_of(description, name)
    spots = [(joint.a, joint.point_a) for joint in description.joints if joint.name in moved]
    if kind == JOINT:
        return spots, []
    spots += [(wrench.body, wrench.point) for wrench in description.wrenches if wrench.name == name]
    ends = [((one.a, one.point_a), (one.b, one.point_b)) for one in description.connectors if one.name == name]
    return [*spots, *(spot for pair in ends for spot in pair)], ends


def joints_of(description: SceneDescription, name: str) -> set[str]:
    """Return the joints whose coordinates an element acts on."""
    found = (one.coordinates for one in description.elements if one.name == name)
    return {coordinate.rpartition(".")[0] for coordinates in found for coordinate in coordinates}


def at(frame: Frame, spot: Spot) -> Array:
    """Return where a point of a body is now (3,) [m]."""
    body, point = spot
    return np.asarray(frame.r[body] + frame.A[body] @ point) if body != GROUND else np.asarray(point)

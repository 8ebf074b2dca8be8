"""Overlays of a scene: the highlight of the chosen element, and measurements between two elements."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.scene import meshes
from rtmbs.viewer.scene.choices import BODY, FORCE, INPUT, JOINT, MARKER, Choice, channels_of
from rtmbs.viewer.scene.description import ChannelDescription, SceneDescription
from rtmbs.viewer.scene.drawing import Batch, Lines
from rtmbs.viewer.scene.frame import Frame
from rtmbs.viewer.scene.numbers import figures, with_unit
from rtmbs.viewer.scene.theme import Theme, rgba

Array = NDArray[np.float64]

Spot = tuple[int, Array]  # a body, and a point (3,) in its axes [m]
MARK_RADIUS = 2.6  # of the ball about a chosen joint, in radii of a bar
OPACITY = 0.55
MARK_WIDTH = 5.0  # of the line along a chosen spring [pixels]


class Overlay(Protocol):
    """Batches, lines and texts over a scene that move with its frames."""

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
        ball = np.column_stack([MARK_RADIUS * radius * np.eye(3), np.zeros(3)])
        placements = np.tile(ball, (len(self._spots), 1, 1))
        for placement, (_, point) in zip(placements, self._spots, strict=True):
            placement[:, 3] = point
        self.batches = [Batch(meshes.sphere(), [body for body, _ in self._spots], placements, color)]
        self.lines = [Lines(width=MARK_WIDTH)]

    def show(self, frame: Frame) -> None:
        """Move with the bodies; a ball keeps its size."""
        self.batches[0].carry(frame.A, frame.r)
        ends = [[frame.point(*one), frame.point(*other)] for one, other in self._pairs]
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


# ---- measurements ----------------------------------------------------------------------------------------------------

KINDS = (BODY, JOINT, MARKER)  # what can be measured between
LINE_WIDTH = 2.0  # of the line [pixels]
END_RADIUS = 0.8  # at its ends, in radii of a bar
UP = np.array([0.0, 0.0, 1.0])


class End(NamedTuple):
    """One end of a measurement: the mass centre of a body, the point of a joint, a marker."""

    choice: Choice
    spot: Spot
    axis: Array  # (3,) unit, in axes of the body: that of a joint; of bodies and markers the z axis of the body


class Reading(NamedTuple):
    """A measurement at one instant: vector, distance and angle."""

    start: Array  # (3,) world [m]
    vector: Array  # (3,) to the other element, world [m]
    distance: float  # [m]
    angle: float  # between the axes, 0 to 180 [degrees]

    def __str__(self) -> str:
        """Return the reading as the user sees it."""
        vector = ", ".join(figures(value, 4) for value in self.vector)
        return f"{with_unit(self.distance, 'm', 4)}   ({vector}) m   {self.angle:.2f}\N{DEGREE SIGN}"


def end_of(description: SceneDescription, choice: Choice) -> End | None:
    """Return where an element is measured, None for one that is no body, joint or marker of a description."""
    kind, name = choice
    if kind == BODY:
        found = [(k, body.center_of_mass, UP) for k, body in enumerate(description.bodies) if body.name == name]
    elif kind == JOINT:
        joints = [joint for joint in description.joints if joint.name == name]
        found = [(joint.a, joint.point_a, joint.axes_a[0] if len(joint.axes_a) else UP) for joint in joints]
    else:
        markers = description.markers if kind == MARKER else ()
        found = [(marker.body, marker.point, UP) for marker in markers if marker.name == name]
    return next((End(choice, (body, point), axis) for body, point, axis in found), None)


class Distance(NamedTuple):
    """A distance that can be plotted: the channels of the positions of its ends; none of ground, which is at zero."""

    name: str
    start: ChannelDescription | None
    end: ChannelDescription | None


def distances(description: SceneDescription, pairs: Sequence[tuple[Choice, Choice]]) -> list[Distance]:
    """Return the pairs whose ends are bodies and markers; joints have no channel of their position."""
    ground, found = Choice(BODY, description.bodies[0].name), list[Distance]()
    for pair in pairs:
        places = [position(description, choice) for choice in pair]
        if all(place is not None or choice == ground for place, choice in zip(places, pair, strict=True)):
            found.append(Distance(f"distance {pair[0].name} \N{RIGHTWARDS ARROW} {pair[1].name}", *places))
    return found


def position(description: SceneDescription, choice: Choice) -> ChannelDescription | None:
    """Return the channel of the point at which an element is measured."""
    word = {BODY: "mass_center", MARKER: "position"}.get(choice.kind)
    own = channels_of(description, choice) if word else []
    return next((channel for channel in own if channel.name.rpartition(".")[2] == word), None)


class Measurement:
    """An overlay between two elements: a line with a ball at each end, and the distance beside its middle."""

    def __init__(self, one: End, other: End, radius: float, theme: Theme) -> None:
        self.ends = one, other
        self._color, self._size = rgba(theme.accent), END_RADIUS * radius * np.eye(3)
        self.batches = [Batch(meshes.sphere(), (), np.zeros((0, 3, 4)), self._color)]
        self.lines = [Lines(width=LINE_WIDTH)]
        self.reading: Reading | None = None

    def show(self, frame: Frame) -> None:
        """Measure, and lay the line from end to end."""
        self.reading = read(frame, *self.ends)
        ends = [frame.point(*end.spot) for end in self.ends]
        self.lines[0].put([ends], self._color)
        self.batches[0].put(np.array([np.column_stack([self._size, end]) for end in ends]), self._color)

    def texts(self) -> list[tuple[Array, str]]:
        """Return the distance, at the middle of the line."""
        reading = self.reading
        return [] if reading is None else [(reading.start + 0.5 * reading.vector, with_unit(reading.distance, "m", 4))]


def read(frame: Frame, one: End, other: End) -> Reading:
    """Return what is measured from one end to the other."""
    start = frame.point(*one.spot)
    vector = frame.point(*other.spot) - start
    first, second = turned(frame, one), turned(frame, other)
    angle = math.degrees(math.atan2(float(np.linalg.norm(np.cross(first, second))), float(first @ second)))
    return Reading(start, vector, float(np.linalg.norm(vector)), angle)


def turned(frame: Frame, end: End) -> Array:
    """Return the axis of an end in the world (3,)."""
    body = end.spot[0]
    return np.asarray(frame.A[body] @ end.axis)

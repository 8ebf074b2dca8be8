"""Measuring between two elements: distance, vector and the angle between their axes, drawn in the scene. No Qt."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer import meshes
from rtmbs.viewer.batch import GROUND, Batch, Lines
from rtmbs.viewer.choices import BODY, JOINT, MARKER, Choice, channels_of
from rtmbs.viewer.description import ChannelDescription, SceneDescription
from rtmbs.viewer.frame import Frame
from rtmbs.viewer.overlay import Spot, at
from rtmbs.viewer.panels.numbers import figures, with_unit
from rtmbs.viewer.theme import Theme, rgba

Array = NDArray[np.float64]

KINDS = (BODY, JOINT, MARKER)  # what can be measured between
WIDTH = 2.0  # of the line [pixels]
BALL = 0.8  # at its ends, in radii of a bar
UP = np.array([0.0, 0.0, 1.0])


class End(NamedTuple):
    """Where an element is measured: the mass centre of a body, the point of a joint, a marker."""

    choice: Choice
    spot: Spot
    axis: Array  # (3,) unit, in axes of the body: that of a joint; of bodies and markers the z axis of the body


class Reading(NamedTuple):
    """What is measured at one instant."""

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
        self._color, self._size = rgba(theme.accent), BALL * radius * np.eye(3)
        self.batches = [Batch(meshes.sphere(), (), np.zeros((0, 3, 4)), self._color)]
        self.lines = [Lines(width=WIDTH)]
        self.reading: Reading | None = None

    def show(self, frame: Frame) -> None:
        """Measure, and lay the line from end to end."""
        self.reading = read(frame, *self.ends)
        ends = [at(frame, end.spot) for end in self.ends]
        self.lines[0].put([ends], self._color)
        self.batches[0].put(np.array([np.column_stack([self._size, end]) for end in ends]), self._color)

    def texts(self) -> list[tuple[Array, str]]:
        """Return the distance, at the middle of the line."""
        reading = self.reading
        return [] if reading is None else [(reading.start + 0.5 * reading.vector, with_unit(reading.distance, "m", 4))]


def read(frame: Frame, one: End, other: End) -> Reading:
    """Return what is measured from one end to the other."""
    start = at(frame, one.spot)
    vector = at(frame, other.spot) - start
    first, second = turned(frame, one), turned(frame, other)
    angle = math.degrees(math.atan2(float(np.linalg.norm(np.cross(first, second))), float(first @ second)))
    return Reading(start, vector, float(np.linalg.norm(vector)), angle)


def turned(frame: Frame, end: End) -> Array:
    """Return the axis of an end in the world (3,)."""
    body = end.spot[0]
    return np.asarray(end.axis if body == GROUND else frame.A[body] @ end.axis)

"""Elements of a mechanism by kind and name: facts, channels, visibility, highlight and measurements between two."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.scene import drawing
from rtmbs.viewer.scene.description import BodyDescription, ChannelDescription, JointDescription, SceneDescription
from rtmbs.viewer.scene.drawing import GROUND, Batch, Lines, Section
from rtmbs.viewer.scene.frame import INSPECTED, Frame
from rtmbs.viewer.scene.theme import Theme, rgba
from rtmbs.viewer.text import figures, with_unit

Array = NDArray[np.float64]

SQUARED = "\N{SUPERSCRIPT TWO}"
BODY, JOINT, CONSTRAINT, FORCE, MARKER, INPUT = "body", "joint", "constraint", "force", "marker", "input"
# Kinds of element whose channels belong to a choice; rods and constraints of the user have the reaction of a joint.
OWNERS = {CONSTRAINT: ("joint", "driver", "coupler")}
SHORT = ("rate", "acceleration")  # second names of the channels of a joint with one coordinate


class Choice(NamedTuple):
    """An element, by kind and name."""

    kind: str
    name: str


Pair = tuple[Choice, Choice]  # the two ends of a measurement


def groups(description: SceneDescription) -> dict[str, list[Choice]]:
    """Return everything that can be chosen, by heading; headings without an element are left out."""
    joints, elements = description.joints, description.elements
    found = {
        "Bodies": [Choice(BODY, body.name) for body in description.bodies[1:]],
        "Ground": [Choice(BODY, description.bodies[0].name)],
        "Joints of the tree": [Choice(JOINT, joint.name) for joint in joints if not joint.cut],
        "Cut joints": [Choice(JOINT, joint.name) for joint in joints if joint.cut],
        "Couplers, drivers, constraints": [Choice(CONSTRAINT, one.name) for one in elements if one.group == CONSTRAINT],
        "Forces": [Choice(FORCE, one.name) for one in elements if one.group == FORCE],
        "Markers": [Choice(MARKER, marker.name) for marker in description.markers],
        "Inputs": [Choice(INPUT, entry.name) for entry in description.inputs],
    }
    return {heading: choices for heading, choices in found.items() if choices}


def drawn(description: SceneDescription) -> set[Choice]:
    """Return the elements that are drawn, and so can be hidden."""
    lines = {line.name for line in description.connectors} | {wrench.name for wrench in description.wrenches}
    acting = {Choice(one.group, one.name) for one in description.elements if one.name in lines}
    bodies = {Choice(BODY, body.name) for body in description.bodies[1:]}
    return bodies | acting | {Choice(JOINT, joint.name) for joint in description.joints}


def bodies_of(description: SceneDescription, choice: Choice) -> set[int]:
    """Return the numbers of the bodies that an element is or acts on; of an input those of its force."""
    kind, name = choice
    if kind == BODY:
        return {k for k, body in enumerate(description.bodies) if body.name == name}
    if kind == JOINT:
        return {end for joint in description.joints if joint.name == name for end in (joint.a, joint.b)}
    if kind == MARKER:
        return {marker.body for marker in description.markers if marker.name == name}
    owner = name.rpartition(".")[0] if kind == INPUT else name
    return {end for one in description.elements if one.name == owner for end in one.bodies}


def second_names(description: SceneDescription) -> dict[str, str]:
    """Return the channels that stand twice, "pivot.rate" beside "pivot.angle_rate", with their first names."""
    names, found = {channel.name for channel in description.channels}, dict[str, str]()
    for name in names:
        owner, _, word = name.rpartition(".")
        base, _, kind = word.rpartition("_")
        if kind in SHORT and f"{owner}.{base}" in names and f"{owner}.{kind}" in names:
            found[f"{owner}.{kind}"] = name
    return found


def channels_of(description: SceneDescription, choice: Choice) -> list[ChannelDescription]:
    """Return the channels of an element, as many as can be inspected at once."""
    kinds = OWNERS.get(choice.kind, (choice.kind,))
    names = {choice.name, *(f"{kind}:{choice.name}" for kind in kinds)}
    found, numbers, twice = list[ChannelDescription](), 0, second_names(description)
    for channel in description.channels:
        owner = channel.name.rpartition(".")[0]
        if owner in names and channel.name not in twice and (not channel.kind or channel.kind in kinds):
            numbers += max(len(channel.axes), 1)
            if numbers <= INSPECTED:
                found.append(channel)
    return found


def facts(description: SceneDescription, choice: Choice) -> list[tuple[str, str]]:
    """Return the constant properties of an element as (label, text)."""
    kind, name = choice
    if kind == BODY:
        return body_facts(next(body for body in description.bodies if body.name == name))
    if kind == JOINT:
        return joint_facts(description, next(joint for joint in description.joints if joint.name == name))
    if kind == MARKER:
        marker = next(marker for marker in description.markers if marker.name == name)
        return [("on", description.bodies[marker.body].name), ("point in body axes", f"{vector(marker.point)} m")]
    if kind == INPUT:
        entry = next(entry for entry in description.inputs if entry.name == name)
        return [("set by", "the user" if entry.settable else "a function of time")]
    element = next(one for one in description.elements if (one.group, one.name) == (kind, name))
    ends = " and ".join(end_names(description, name) or (description.bodies[body].name for body in element.bodies))
    where = ("on", ", ".join(element.coordinates)) if element.coordinates else ("between", ends)
    return [("kind", element.kind), where]


def end_names(description: SceneDescription, name: str) -> list[str]:
    """Return the names of the two ends of a force or constraint: marker and body, or the body alone."""
    found = [((one.a, one.point_a), (one.b, one.point_b)) for one in description.connectors if one.name == name]
    return [end_name(description, *end) for end in found[0]] if len(found) == 1 else []


def end_name(description: SceneDescription, body: int, point: Array) -> str:
    """Return the marker at a point of a body with the body, or the body alone."""
    owner = description.bodies[body].name
    markers = (one for one in description.markers if one.body == body and np.array_equal(one.point, point))
    return next((f"{marker.name} on {owner}" for marker in markers), owner)


def body_facts(body: BodyDescription) -> list[tuple[str, str]]:
    """Return mass, mass centre and inertia; a recorded result knows none of them."""
    if body.inertia is None:
        return []
    (ixx, ixy, ixz), (_, iyy, iyz), (_, _, izz) = body.inertia
    return [
        ("mass", f"{body.mass:.6g} kg"),
        ("mass centre in body axes", f"{vector(body.center_of_mass)} m"),
        ("inertia about it xx, yy, zz", f"{vector(np.array([ixx, iyy, izz]))} kg m{SQUARED}"),
        ("inertia about it xy, xz, yz", f"{vector(np.array([ixy, ixz, iyz]))} kg m{SQUARED}"),
    ]


def joint_facts(description: SceneDescription, joint: JointDescription) -> list[tuple[str, str]]:
    """Return kind, bodies, place in the tree and axes."""
    a, b = (description.bodies[end].name for end in (joint.a, joint.b))
    axes = [(f"axis in axes of {a}", vector(axis)) for axis in joint.axes_a]
    return [
        ("kind", joint.type),
        ("from, to", f"{a}, {b}"),
        ("closed by", "equations (cut)" if joint.cut else "its coordinate (tree)"),
        (f"point in axes of {a}", f"{vector(joint.point_a)} m"),
        *axes,
    ]


def vector(values: Array) -> str:
    """Return numbers with blanks between them."""
    return "  ".join(f"{value + 0.0:.5g}" for value in values)


class Row(NamedTuple):
    """One line of the inspector: some components of a channel that share a unit."""

    label: str
    unit: str
    place: slice  # in ``Frame.inspected``


def rows(channels: list[ChannelDescription]) -> list[Row]:
    """Return the lines of these channels, in the order of the numbers of a frame."""
    found, first = list[Row](), 0
    for channel in channels:
        axes, word = channel.axes or ("",), channel.name.rpartition(".")[2].replace("_", " ")
        units = channel.unit.split(", ") if ", " in channel.unit else [channel.unit] * len(axes)
        start = 0
        for k in range(1, len(axes) + 1):
            if k == len(axes) or units[k] != units[start]:
                label, unit = " ".join([word, ", ".join(axes[start:k])]).strip(), units[start].replace("^2", SQUARED)
                found.append(Row(label, "" if unit == "1" else unit, slice(first + start, first + k)))
                start = k
        first += len(axes)
    return found


class Hidden:
    """Elements that are not drawn."""

    def __init__(self) -> None:
        self.choices: set[Choice] = set()

    def isolate(self, description: SceneDescription, choice: Choice) -> None:
        """Hide everything but an element, its bodies, and the elements that act on them."""
        kept = bodies_of(description, choice) - ({GROUND} if choice.kind != BODY else set())
        away = (one for one in drawn(description) if not bodies_of(description, one) & kept)
        self.choices = set(away) - {choice}

    def of(self, description: SceneDescription) -> SceneDescription:
        """Return a description without hidden elements; bodies keep their numbers."""
        if not self.choices:
            return description

        def shown(kind: str, name: str) -> bool:
            return Choice(kind, name) not in self.choices

        bodies = description.bodies
        elements = {one.name: one.group for one in description.elements}
        return replace(
            description,
            bodies=tuple(body if shown(BODY, body.name) else replace(body, shapes=()) for body in bodies),
            joints=tuple(joint for joint in description.joints if shown(JOINT, joint.name)),
            connectors=tuple(c for c in description.connectors if shown(elements.get(c.name, FORCE), c.name)),
            wrenches=tuple(wrench for wrench in description.wrenches if shown(FORCE, wrench.name)),
        )


# ---- highlight and measurements --------------------------------------------------------------------------------------

Spot = tuple[int, Array]  # a body, and a point (3,) in its axes [m]
MARK_RADIUS = 2.6  # of the ball about a chosen joint, in radii of a bar
OPACITY = 0.55
MOST_BOXES = 24  # of an outlined body
EDGES = [(one, one | bit) for bit in (1, 2, 4) for one in range(8) if not one & bit]  # of a box, by its corners
OUTLINE_BEYOND = 0.08  # of a section beyond the mechanism, in its size
MARK_WIDTH = 5.0  # of the line along a chosen spring [pixels]


class Overlay(Protocol):
    """Batches, lines and texts over a scene that move with its frames."""

    batches: list[Batch]
    lines: list[Lines]

    def show(self, frame: Frame) -> None:
        """Move to the poses of ``frame``."""

    def texts(self) -> list[tuple[Array, str]]:
        """Return (point, text) labels; points (3,) in the world [m]."""


class Highlight:
    """Ball about a joint, a marker or a given force; line with balls at its ends along an element between points."""

    def __init__(self, description: SceneDescription, choice: Choice, radius: float, theme: Theme) -> None:
        self._spots, self._pairs = highlight_points(description, choice)
        color, self._line = rgba(theme.selected, OPACITY), rgba(theme.selected)
        ball = np.column_stack([MARK_RADIUS * radius * np.eye(3), np.zeros(3)])
        placements = np.tile(ball, (len(self._spots), 1, 1))
        for placement, (_, point) in zip(placements, self._spots, strict=True):
            placement[:, 3] = point
        self.batches = [Batch(drawing.sphere(), [body for body, _ in self._spots], placements, color)]
        self.lines = [Lines(width=MARK_WIDTH)]

    def show(self, frame: Frame) -> None:
        """Move with the bodies; a ball keeps its size."""
        self.batches[0].carry(frame.A, frame.r)
        ends = [[frame.point(*one), frame.point(*other)] for one, other in self._pairs]
        self.lines[0].put(ends, self._line)

    def texts(self) -> list[tuple[Array, str]]:
        """Return nothing: labels name bodies, and the panel names the rest."""
        return []


def highlight_points(description: SceneDescription, choice: Choice) -> tuple[list[Spot], list[tuple[Spot, Spot]]]:
    """Return the points and the point pairs of an element, for its highlight."""
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


class BodyOutline:
    """Edges of the boxes about a chosen body: its form tells it from others, whatever its colour."""

    def __init__(self, body: int, boxes: Array, theme: Theme) -> None:
        self._body, self._boxes, self._color = body, boxes[:MOST_BOXES], rgba(theme.text)
        self.batches: list[Batch] = []
        self.lines = [Lines(width=LINE_WIDTH)]

    def show(self, frame: Frame) -> None:
        """Move with the body."""
        corners = frame.r[self._body] + self._boxes @ frame.A[self._body].T
        self.lines[0].put(corners[:, EDGES].reshape(-1, 2, 3), self._color)

    def texts(self) -> list[tuple[Array, str]]:
        """Return nothing."""
        return []


class SectionOutline:
    """Rectangle about the mechanism in the plane of a section."""

    def __init__(self, section: Section, points: Array, theme: Theme) -> None:
        low, high = points.min(axis=0), points.max(axis=0)
        beyond = OUTLINE_BEYOND * max(float(np.max(high - low)), 1e-9)
        k = int(np.argmax(np.abs(section.normal)))
        u, v = (k + 1) % 3, (k + 2) % 3
        corners = np.full((4, 3), section.offset * section.normal[k])
        for corner, (first, second) in zip(corners, ((0, 0), (1, 0), (1, 1), (0, 1)), strict=True):
            corner[u] = (low[u] - beyond, high[u] + beyond)[first]
            corner[v] = (low[v] - beyond, high[v] + beyond)[second]
        self.batches: list[Batch] = []
        self.lines = [Lines(np.stack([corners, np.roll(corners, -1, axis=0)], axis=1), rgba(theme.accent), LINE_WIDTH)]

    def show(self, frame: Frame) -> None:
        """Stay: the plane belongs to the world."""

    def texts(self) -> list[tuple[Array, str]]:
        """Return nothing."""
        return []


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
    """Return the measuring end of a body, joint or marker; None for other elements."""
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
        self.batches = [Batch(drawing.sphere(), (), np.zeros((0, 3, 4)), self._color)]
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
    """Measure from one end to the other: vector, distance and angle."""
    start = frame.point(*one.spot)
    vector = frame.point(*other.spot) - start
    first, second = world_axis(frame, one), world_axis(frame, other)
    angle = math.degrees(math.atan2(float(np.linalg.norm(np.cross(first, second))), float(first @ second)))
    return Reading(start, vector, float(np.linalg.norm(vector)), angle)


def world_axis(frame: Frame, end: End) -> Array:
    """Return the axis of an end in the world (3,)."""
    body = end.spot[0]
    return np.asarray(frame.A[body] @ end.axis)

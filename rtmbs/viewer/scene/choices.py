"""Elements of a mechanism by kind and name: their facts, their channels, and the elements that are hidden."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs.viewer.scene.description import BodyDescription, ChannelDescription, JointDescription, SceneDescription
from rtmbs.viewer.scene.drawing import GROUND
from rtmbs.viewer.scene.frame import INSPECTED

Array = NDArray[np.float64]

SQUARED = "\N{SUPERSCRIPT TWO}"
BODY, JOINT, CONSTRAINT, FORCE, MARKER, INPUT = "body", "joint", "constraint", "force", "marker", "input"
# Kinds of element whose channels belong to a choice; rods and constraints of the user have the reaction of a joint.
OWNERS = {CONSTRAINT: ("joint", "driver", "coupler")}
SHORT = ("rate", "acceleration")  # second names of a joint's channels


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
    """Return what has a form of its own in the picture, and can be hidden."""
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


def channels_of(description: SceneDescription, choice: Choice) -> list[ChannelDescription]:
    """Return the channels of an element, as many as can be inspected at once."""
    kinds = OWNERS.get(choice.kind, (choice.kind,))
    names = {choice.name, *(f"{kind}:{choice.name}" for kind in kinds)}
    found, numbers = list[ChannelDescription](), 0
    for channel in description.channels:
        owner, _, word = channel.name.rpartition(".")
        short = choice.kind == JOINT and word in SHORT
        if owner in names and not short and (not channel.kind or channel.kind in kinds):
            numbers += max(len(channel.axes), 1)
            if numbers <= INSPECTED:
                found.append(channel)
    return found


def facts(description: SceneDescription, choice: Choice) -> list[tuple[str, str]]:
    """Return labels and texts of what no step changes."""
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
    ends = " and ".join(held_at(description, name) or (description.bodies[body].name for body in element.bodies))
    where = ("on", ", ".join(element.coordinates)) if element.coordinates else ("between", ends)
    return [("kind", element.kind), where]


def held_at(description: SceneDescription, name: str) -> list[str]:
    """Return the two ends of what acts between points: the marker of that point, or the body."""
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
        """Hide everything but an element, its bodies, and what acts on them."""
        kept = bodies_of(description, choice) - ({GROUND} if choice.kind != BODY else set())
        away = (one for one in drawn(description) if not bodies_of(description, one) & kept)
        self.choices = set(away) - {choice}

    def of(self, description: SceneDescription) -> SceneDescription:
        """Return a description without what is hidden; bodies keep their numbers."""
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

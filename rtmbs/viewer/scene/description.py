"""Description of a mechanism for pictures and panels: bodies, joints, forces, inputs, channels; constant in time.

Plain records that can be sent to another process. Body 0 is ground; points ``_a`` and ``_b`` are in body axes [m].
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.model.shapes import Shape
from rtmbs.viewer.scene.frame import FrameLayout

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BodyDescription:
    """A body; ground has no shapes but those that the user gave."""

    name: str
    mass: float  # [kg]
    center_of_mass: Array  # (3,) body axes [m]
    points: Array  # (k, 3) where joints, markers and forces hold it, body axes [m]
    shapes: tuple[Shape, ...]
    color: str = ""  # "#rrggbb", "" for the theme's
    opacity: float = 1.0
    edges: bool = True  # sharp edges are drawn as lines
    inertia: Array | None = None  # (3, 3) about the mass centre, body axes [kg m^2]; None: unknown


@dataclass(frozen=True, eq=False)
class JointDescription:
    """A joint between bodies ``a`` and ``b``."""

    name: str
    type: str  # Revolute, ...
    a: int
    b: int
    point_a: Array  # (3,)
    point_b: Array  # (3,)
    axes_a: Array  # (k, 3) axes of its dofs, body axes of a
    axes_b: Array  # (k, 3) the same in body axes of b
    cut: bool  # closed by equations, not part of the tree
    drawn_as: str = "ball"  # as ``JointType.drawn_as``
    holds: bool = True  # False: its bodies move freely, so its points are nothing to draw
    hangs: bool = True  # of a joint on ground: its body begins below it, so the support stands above


@dataclass(frozen=True, eq=False)
class ConnectorDescription:
    """A straight line between two points: a spring, a force law, a massless rod, a driven distance or a coupler."""

    name: str
    kind: str  # "rod", "driver", "coupler", or the kind of a force
    a: int
    b: int
    point_a: Array  # (3,)
    point_b: Array  # (3,)
    shape: str = "bar"  # how it is drawn: coil, damper, strut (both), bar, or block: a cube at point_a, and a bar
    axes: Array = field(default_factory=lambda: np.eye(3))  # (3, 3) of a block to body axes of a


@dataclass(frozen=True, eq=False)
class WrenchDescription:
    """A given force and torque on a body; the numbers are ``frame.inputs[slot : slot + 6]``."""

    name: str
    body: int
    point: Array  # (3,)
    axes: Array  # (3, 3) axes of the given wrench to body axes; used when it ``follows`` the body
    follows: bool
    slot: int


@dataclass(frozen=True)
class ElementDescription:
    """A force, coupler, driver or constraint, for lists: kind, bodies and coordinates."""

    group: str  # "force" or "constraint"
    name: str
    kind: str  # "spring", "driver", "coupler", ...
    bodies: tuple[int, ...]  # that it acts on
    coordinates: tuple[str, ...] = ()  # that it acts on; none of one between two bodies


@dataclass(frozen=True)
class ContactDescription:
    """A touching point of a contact, compliant or rigid, whose place and force are in ``Frame.contacts``."""

    name: str
    friction: float  # coefficient at the start
    rigid: bool = False  # its impacts have impulses


@dataclass(frozen=True, eq=False)
class MarkerDescription:
    """A named point of a body."""

    name: str
    body: int
    point: Array  # (3,)


@dataclass(frozen=True, eq=False)
class InputDescription:
    """An input: one number, or several of one unit."""

    name: str
    default: Array  # (size,)
    unit: str
    place: slice  # in ``Frame.inputs``
    settable: bool  # False: a function of time writes it


@dataclass(frozen=True)
class ChannelDescription:
    """A quantity that can be plotted: "name", or "name[axis]" for each of its axes."""

    name: str
    axes: tuple[str, ...]
    unit: str  # of every component, or one for each separated by ", "
    kind: str = ""  # of the element that offers it: body, joint, force, ...; "" of a recorded result


REACH = 2.0  # a slider goes from 0 to so many default values
ALONE = 10.0  # where a default of 0 says nothing about the size


def slider_range(value: float) -> tuple[float, float]:
    """Return the ends of a slider for the default value of an input."""
    if value == 0.0:
        return -ALONE, ALONE
    return min(0.0, REACH * value), max(0.0, REACH * value)


def components(channel: ChannelDescription) -> tuple[str, ...]:
    """Return the names of the numbers of a channel."""
    return tuple(f"{channel.name}[{axis}]" for axis in channel.axes) or (channel.name,)


@dataclass(frozen=True, eq=False)
class SceneDescription:
    """A mechanism as a window sees it."""

    generation: int  # counts rebuilds; frames carry it
    name: str
    length: float  # characteristic length [m]
    gravity: Array  # (3,) at the start [m/s^2]
    bodies: tuple[BodyDescription, ...]
    joints: tuple[JointDescription, ...]
    connectors: tuple[ConnectorDescription, ...]
    wrenches: tuple[WrenchDescription, ...]
    markers: tuple[MarkerDescription, ...]
    inputs: tuple[InputDescription, ...]
    channels: tuple[ChannelDescription, ...]
    choices: dict[str, tuple[str, ...]]  # valid words of the options that take words
    parameters: dict[str, Any]  # of the factory with their present values, for Rebuild; empty without a factory
    coordinates: tuple[str, ...]  # names of z
    degrees_of_freedom: int
    equations: int  # loop equations
    layout: FrameLayout
    mode: str = "thread"  # thread, process, manual, playback
    live: bool = True  # False: a recorded result, nothing can be set
    samples: int = 0  # of a recorded result
    elements: tuple[ElementDescription, ...] = ()
    contacts: tuple[ContactDescription, ...] = ()
    way: Array = field(default_factory=lambda: np.zeros((0, 3)))  # points that a recorded motion comes to, world [m]
    notes: dict[str, str] = field(default_factory=dict)  # of parameters of the factory: meaning and unit
    facts: dict[str, str] = field(default_factory=dict)  # label -> text, for the info overlay
    warnings: tuple[str, ...] = ()  # about a recorded result beside its mechanism

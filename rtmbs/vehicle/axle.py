"""One axle in words: parts, joints, springs and dampers of its left side, from which the right side is mirrored.

Points and axes are in the chassis frame (ISO 8855: x forward, y left, z up) at design, where every joint is closed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from rtmbs.errors import ModelError, unknown_name
from rtmbs.model.checks import Array, Numbers, direction, number, numbers
from rtmbs.vehicle.anti_roll_bar import CHASSIS as CHASSIS
from rtmbs.vehicle.anti_roll_bar import AntiRollBar
from rtmbs.vehicle.struts import StrutLaw

RACK, WHEEL, UPRIGHT = "steering_link", "wheel", "upright"
MIRROR = np.array([1.0, -1.0, 1.0])
Kind = Literal["revolute", "spherical", "universal", "distance", "line", "free"]


@dataclass(frozen=True)
class Part:
    """A rigid part: mass [kg], centre of mass [m] and inertia (3, 3) about it [kg m^2], chassis axes at design."""

    name: str
    mass: float
    com: Array
    inertia: Array

    def mirrored(self) -> Self:
        """Return the part of the right side."""
        return replace(self, com=MIRROR * self.com, inertia=self.inertia * np.outer(MIRROR, MIRROR))


@dataclass(frozen=True)
class Connection:
    """A joint or a massless rod between two parts."""

    name: str
    kind: Kind
    a: str
    b: str
    point: Array  # of a rod: its end on a
    axis: Array | None = None  # of a revolute, a line; of a universal joint: the axis that a carries
    axis_b: Array | None = None  # of a universal joint: the axis that b carries
    point_b: Array | None = None  # of a rod: its end on b

    def mirrored(self) -> Self:
        """Return the joint of the right side."""
        axis, axis_b, point_b = (
            None if one is None else MIRROR * one for one in (self.axis, self.axis_b, self.point_b)
        )
        return replace(self, point=MIRROR * self.point, axis=axis, axis_b=axis_b, point_b=point_b)


@dataclass(frozen=True)
class Strut:
    """A spring or a damper between two points."""

    name: str
    a: str
    b: str
    point_a: Array
    point_b: Array
    law: StrutLaw

    def mirrored(self) -> Self:
        """Return the strut of the right side."""
        return replace(self, point_a=MIRROR * self.point_a, point_b=MIRROR * self.point_b)

    @property
    def design_length(self) -> float:
        """The distance of the points at design [m]."""
        return float(np.linalg.norm(self.point_b - self.point_a))


@dataclass(frozen=True)
class Axle:
    """Both sides of an axle: parts of the left side besides the wheel, their joints and struts.

    Attributes
    ----------
    wheel_centre : left wheel centre [m]
    spin_axis : unit vector, pointing left on both sides
    wheel_carrier : the part that the wheel turns in
    spindle : what turns with the wheel beside rim and tyre
    shaft_inertia : of the drive shaft about the spin axis [kg m^2]
    """

    kind: str
    parts: tuple[Part, ...]
    connections: tuple[Connection, ...]
    struts: tuple[Strut, ...]
    wheel_centre: Array
    spindle: Part | None = None
    spin_axis: Array = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    wheel_carrier: str = UPRIGHT
    shaft_inertia: float = 0.0
    anti_roll_bar: AntiRollBar | None = None

    @property
    def steered(self) -> bool:
        """Whether a joint is attached to the steering."""
        return any(RACK in (one.a, one.b) for one in self.connections)

    @property
    def hard_points(self) -> dict[str, Array]:
        """Points of the left side by name: of a joint its name, of a rod and a strut ``name.a`` and ``name.b`` [m]."""
        found = {"wheel_centre": self.wheel_centre}
        for one in self.connections:
            if one.point_b is None:
                found[one.name] = one.point
            else:
                found[f"{one.name}.a"], found[f"{one.name}.b"] = one.point, one.point_b
        for strut in self.struts:
            found[f"{strut.name}.a"], found[f"{strut.name}.b"] = strut.point_a, strut.point_b
        return found

    def with_points(self, points: Mapping[str, Numbers]) -> "Axle":
        """Return the axle with other hard points (3,) by name [m]. Raises UnknownNameError, ModelError."""
        known = self.hard_points
        for name in points:
            if name not in known:
                raise unknown_name("hard point", name, known)
        moved = {name: numbers(value, f"hard point {name!r}", (3,)) for name, value in points.items()}

        def of(name: str, old: Array | None) -> Any:
            return moved.get(name, old)

        connections = tuple(
            replace(one, point=of(one.name, one.point))
            if one.point_b is None
            else replace(one, point=of(f"{one.name}.a", one.point), point_b=of(f"{one.name}.b", one.point_b))
            for one in self.connections
        )
        struts = tuple(
            replace(one, point_a=of(f"{one.name}.a", one.point_a), point_b=of(f"{one.name}.b", one.point_b))
            for one in self.struts
        )
        return replace(self, connections=connections, struts=struts, wheel_centre=of("wheel_centre", self.wheel_centre))


def part(name: str, mass: Numbers, com: Numbers, inertia: Numbers, what: str) -> Part:
    """Return a checked part; an inertia of 3 numbers is about chassis axes. Triangles are checked by the car."""
    kilograms = number(mass, f"{what}: mass")
    if kilograms < 0.0:
        raise ModelError(f"{what}: mass is {kilograms:g}; it must be zero or more")
    shape = np.shape(inertia)
    if shape not in ((3,), (3, 3)):
        raise ModelError(f"{what}: inertia has shape {shape}; give 3 numbers or 3 x 3")
    given = numbers(inertia, f"{what}: inertia", shape)
    matrix = np.diag(given) if given.shape == (3,) else given
    return Part(name, kilograms, numbers(com, f"{what}: com", (3,)), np.array(matrix))


def hinge(name: str, a: str, b: str, front: Numbers, back: Numbers) -> Connection:
    """Return a revolute joint through two points of its axis [m]."""
    one, two = (numbers(point, f"joint {name!r}: axis", (3,)) for point in (front, back))
    return Connection(name, "revolute", a, b, 0.5 * (one + two), axis=direction(one - two, f"joint {name!r}: axis"))


def ball(name: str, a: str, b: str, point: Numbers) -> Connection:
    """Return a spherical joint at a point [m]."""
    return Connection(name, "spherical", a, b, numbers(point, f"joint {name!r}: point", (3,)))


def rod(name: str, a: str, b: str, point_a: Numbers, point_b: Numbers) -> Connection:
    """Return a massless rod between a point of a and a point of b [m]."""
    one, two = (numbers(point, f"rod {name!r}: end", (3,)) for point in (point_a, point_b))
    return Connection(name, "distance", a, b, one, point_b=two)

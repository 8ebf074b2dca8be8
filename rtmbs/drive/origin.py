"""Origin of a driving session: the car of a file with the scenery of a course, made in the process that steps it.

The scenery is a road with markings and cones as bodies on ground, and shapes of the car.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from rtmbs.drive.person import DrivingCar
from rtmbs.errors import InputError, shown, unknown_name
from rtmbs.model import Box, Cylinder, Fixed, Model, Sphere
from rtmbs.model.shapes import Shape, Surface
from rtmbs.simulation.simulation import Simulation
from rtmbs.vehicle.axle import CHASSIS, WHEEL
from rtmbs.vehicle.car import Car
from rtmbs.vehicle.data_file import read
from rtmbs.vehicle.manoeuvres.closed_loop import DoubleLaneChange, Section, iso_3888_1, iso_3888_2
from rtmbs.viewer.session.origin import Origin

WIDTH, LANES = 3.5, 3  # [m] of a lane of the road, and how many
LENGTH, DASH, GAP = 1200.0, 6.0, 12.0  # [m] of the road, of a dash and between the beginnings of two dashes
MEADOW = 300.0  # [m] of the ground beside the road, and before and behind it
UNDER = 0.01  # [m] that the surface of the picture lies under the road of the tyres
CONE, CONE_HEIGHT = 0.14, 0.5  # [m] radius of the base and height
BEGIN = 80.0  # [m] from the start to the first cone
Course = Callable[[float], tuple[Section, ...]]
COURSES: dict[str, Course | None] = {"iso-3888-1": iso_3888_1, "iso-3888-2": iso_3888_2, "slalom": None, "road": None}
SLALOM = tuple(BEGIN + 18.0 * k for k in range(10))  # [m]


def cones_of(course: str, width: float) -> list[tuple[float, float]]:
    """Return the cones (x, y) of a course [m] for a car of a width."""
    if course == "slalom":
        return [(x, 0.0) for x in SLALOM]
    lanes = COURSES[course]
    if lanes is None:
        return []
    found = []
    for lane in lanes(width):
        for x in np.linspace(lane.start, lane.end, 3).tolist():
            for side in (-1.0, 1.0):
                found.append((BEGIN + x, lane.centre + side * (0.5 * lane.width + CONE)))
    return found


def cone(x: float, y: float) -> Surface:
    """Return the shape of a cone at (x, y) [m]."""
    count = 10
    angles = 2.0 * np.pi * np.arange(count) / count
    ring = np.stack((x + CONE * np.cos(angles), y + CONE * np.sin(angles), np.zeros(count)), axis=1)
    corners = np.vstack((ring, (x, y, CONE_HEIGHT), (x, y, 0.0)))
    after = (np.arange(count) + 1) % count
    sides = np.stack((np.arange(count), after, np.full(count, count)), axis=1)
    floor = np.stack((after, np.arange(count), np.full(count, count + 1)), axis=1)
    return Surface(corners, np.vstack((sides, floor)))


def box(size: tuple[float, float, float], center: Any) -> Box:
    """Return a box of a size about a place [m]."""
    return Box(size=np.array(size), center=np.asarray(center, dtype=np.float64))


def slab(x: tuple[float, float], y: tuple[float, float], top: float) -> Box:
    """Return a flat box between two x and two y, its top at a height [m]."""
    size = (x[1] - x[0], y[1] - y[0], UNDER)
    return box(size, (0.5 * (x[0] + x[1]), 0.5 * (y[0] + y[1]), top - 0.5 * UNDER))


def meadow(ends: tuple[float, float], edge: float) -> list[Shape]:
    """Return the ground around a road between two x, whose edges are at y of either sign [m]: none of it lies below."""
    whole, wide = (ends[0] - MEADOW, ends[1] + MEADOW), (-edge, edge)
    beside: list[Shape] = [slab(whole, (edge, MEADOW), -UNDER), slab(whole, (-MEADOW, -edge), -UNDER)]
    return [*beside, slab((whole[0], ends[0]), wide, -UNDER), slab((ends[1], whole[1]), wide, -UNDER)]


def markings() -> list[Shape]:
    """Return the lines of the road: solid at its edges, dashes between the lanes."""
    half, line = 0.5 * LANES * WIDTH, 0.08
    shapes: list[Shape] = [
        slab((-50.0, LENGTH), (side * half - line, side * half + line), -0.1 * UNDER) for side in (-1.0, 1.0)
    ]
    for k in range(1, LANES):
        y = -half + k * WIDTH
        for x in np.arange(-50.0, LENGTH, GAP).tolist():
            shapes.append(slab((x, x + DASH), (y - line, y + line), -0.1 * UNDER))
    return shapes


def add_scenery(model: Car, course: str, width: float) -> None:
    """Add road, markings and cones of a course to the Model of a car, and give the car its looks."""
    dress(model)
    ends, edge = (-60.0, LENGTH + 10.0), 0.5 * LANES * WIDTH + 1.0
    add_standing(model, "road_surface", [slab(ends, (-edge, edge), -UNDER)], "#6d737a")
    add_standing(model, "meadow", meadow(ends, edge), "#9db08a")
    add_standing(model, "markings", markings(), "white")
    cones = cones_of(course, width)
    if cones:
        add_standing(model, "cones", [cone(x, y) for x, y in cones], "orange")


def add_standing(model: Model, name: str, shapes: list[Shape], color: str) -> None:
    """Add a body that stands on ground."""
    model.add_body(name, mass=1.0, inertia=(1.0, 1.0, 1.0), shape=shapes, color=color, edges=False)
    model.add_joint(f"{name}_stands", Fixed(), model.ground, name, point=(0.0, 0.0, 0.0))


def dress(model: Car) -> None:
    """Give the bodies of a car their looks: a blue chassis, dark wheels with a spoke, links as small balls."""
    for name, shapes in car_shapes(model).items():
        color = "#2a2d31" if name.startswith(WHEEL) else "blue" if name == CHASSIS else "steel"
        model.set_looks(name, shape=shapes, color=color)


def car_shapes(car: Car) -> dict[str, list[Shape]]:
    """Return shapes of chassis, wheels and links of a car, by body."""
    front, rear = (float(car.axle(letter).wheel_centre[0]) for letter in "fr")
    half = abs(float(car.data.front.wheel_centre[1])) + 0.02
    middle, base = 0.5 * (front + rear), front - rear
    low = float(car.data.front.wheel_centre[2])
    shapes: dict[str, list[Shape]] = {
        CHASSIS: [
            box((base - 0.8, 2.0 * half, 0.45), (middle, 0.0, low + 0.2)),
            box((0.9, 2.0 * half - 0.5, 0.35), (front + 0.35, 0.0, low + 0.25)),
            box((0.9, 2.0 * half - 0.5, 0.35), (rear - 0.35, 0.0, low + 0.25)),
            box((0.55 * base, 1.7 * half, 0.4), (middle - 0.2, 0.0, low + 0.62)),
        ]
    }
    for corner, tyre in car.tyres.items():
        body = car.bodies[f"{WHEEL}_{corner}"]
        centre = np.asarray(body.center_of_mass)
        spoke = box((1.9 * tyre.free_radius * 0.5, 0.24, 0.05), centre)
        rim = Cylinder(radius=tyre.free_radius, length=0.22, center=centre, axis=car.spin_axis(corner))
        shapes[body.name] = [rim, spoke]
    for name, body in car.bodies.items():
        if name not in shapes and name != car.ground.name:
            shapes[name] = [Sphere(radius=0.03, center=np.asarray(body.center_of_mass))]
    return shapes


@dataclass
class DriveOrigin:
    """Recipe of a driving session, which goes to another process.

    Parameters
    ----------
    car : str
        Vehicle data file, or "sedan" or "hmmwv".
    variant : str, optional
        Variant in the file.
    tyres : str, default "pac2002"
        Tyres as ``read`` takes them.
    course : str, default "iso-3888-1"
        Cones: one of ``COURSES``.
    speed : float, default 0.0
        Speed at the beginning [m/s].
    """

    car: str
    variant: str | None = None
    tyres: str = "pac2002"
    course: str = "iso-3888-1"
    speed: float = 0.0
    renewable: bool = False
    model: Model | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    name: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.name = self.car
        if self.course not in COURSES:
            raise unknown_name("course", self.course, COURSES)
        if not self.speed >= 0.0:
            raise InputError(f"drive: speed is {shown(self.speed)}; it must be zero or more")

    def driving(self) -> DrivingCar:
        """Return the car that a person drives."""
        car = read(self.car, variant=self.variant, tyres=self.tyres, impossible_inertia="nearest")
        scenery = partial(add_scenery, course=self.course, width=DoubleLaneChange().width_of(car))
        return DrivingCar(car, self.speed, scenery)

    def make(self, changes: Mapping[str, Any], options: Mapping[str, Any]) -> Simulation:
        """Return the Simulation of the car, at its start."""
        return self.driving().simulation

    def with_parameters(self, parameters: Mapping[str, Any]) -> Origin:
        """Return the origin itself: it has no parameters."""
        return self

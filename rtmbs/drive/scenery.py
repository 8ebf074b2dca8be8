"""Scenery of a drive: a road with markings and cones as bodies on ground, and shapes of the car."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rtmbs.model import Box, Cylinder, Fixed, Model, Sphere
from rtmbs.model.shapes import Shape, Surface
from rtmbs.vehicle.axle import CHASSIS, WHEEL
from rtmbs.vehicle.car import Car
from rtmbs.vehicle.manoeuvres.lane_change import Section, iso_3888_1, iso_3888_2

WIDTH, LANES = 3.5, 3  # [m] of a lane of the road, and how many
LENGTH, DASH, GAP = 1200.0, 6.0, 12.0  # [m] of the road, of a dash and between the beginnings of two dashes
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
    half = 0.5 * LANES * WIDTH
    road = slab((-60.0, LENGTH + 10.0), (-half - 1.0, half + 1.0), -UNDER)
    add_standing(model, "road_surface", [road], "#6d737a")
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

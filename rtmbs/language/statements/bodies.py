"""BODY and triad: what moves, and the points and axes that it carries."""

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.language.build import Build, Carrier
from rtmbs.language.geometry import frame_of
from rtmbs.language.given import Given
from rtmbs.language.kinds import statement
from rtmbs.language.statements.looks import KEYS, looks

INERTIA = "kg*m^2"
SAME = 1e-9  # distance of two points that are one, relative to their size


def pose(given: Given) -> tuple[np.ndarray, np.ndarray]:
    """Return where a body stands at the reference pose: its origin and its axes, as ``pqr`` or as two keys say."""
    if given.has("pqr"):
        for key in ("position", "orientation"):
            if given.has(key):
                raise given.source.error(given.place(key), f"{given.what}: pqr says the {key} too; give one of them")
        p, q, r = given.rows("pqr", "m")
        return p, frame_of(p, q, r, given.what)
    position = given.row("position", "m") if given.has("position") else np.zeros(3)
    return position, turn(given, "orientation")


def turn(given: Given, key: str) -> np.ndarray:
    """Return a rotation given by three rows, or as a quaternion (w, x, y, z)."""
    if not given.has(key):
        return np.eye(3)
    value = given.scope.evaluate(given.code(key))
    nested = hasattr(value, "items") and any(hasattr(item, "items") for item in value.items)
    return given.rows(key) if nested else given.row(key, "", (4,))


@statement(
    "body",
    "body",
    keys=("center of gravity", "center of mass", "pqr", "position", "orientation", "mass", "inertia", *KEYS),
    repeated=("shape",),
    flags=("ground",),
)
def body(build: Build, given: Given) -> None:
    """Add a body; one that is ground gives ground another name, and axes of its own."""
    with given.refusals():
        position, orientation = pose(given)
        if "ground" in given.flags:
            for key in ("mass", "inertia"):
                if given.has(key):
                    raise given.source.error(given.place(key), f"{given.what} is ground, which needs no {key}")
            build.add_ground(given, position, orientation, looks(given))
            return
        center = {}
        if given.has("center of gravity") and given.has("center of mass"):
            at = given.place("center of mass")
            raise given.source.error(at, f"{given.what}: center of gravity says this too; give one of them")
        if given.has("center of mass"):
            center = {"center_of_mass": given.row("center of mass", "m")}
        elif given.has("center of gravity"):
            center = {"center_of_mass": orientation.T @ (given.row("center of gravity", "m") - position)}
        mass = given.number("mass", 0.0, "kg")
        if given.has("inertia"):
            center["inertia"] = inertia(given)
        build.add_body(given, mass=mass, position=position, orientation=orientation, **center, **looks(given))


def inertia(given: Given) -> np.ndarray:
    """Return three principal values, six numbers, or three rows."""
    value = given.scope.evaluate(given.code("inertia"))
    nested = hasattr(value, "items") and any(hasattr(item, "items") for item in value.items)
    return given.rows("inertia", INERTIA) if nested else given.row("inertia", INERTIA, (3, 6))


@statement("triad", "triad", keys=("associated body", "body", "origin", "pqr", "axes"))
def triad(build: Build, given: Given) -> None:
    """Add a point with axes f, g, h, in the axes of its body."""
    if given.has("body") and given.has("associated body"):
        raise given.source.error(given.place("body"), f"{given.what}: associated body says this too; give one of them")
    key = "body" if given.has("body") else "associated body"
    given.code(key)
    name, at = given.names(key, 1)[0]
    carrier: Carrier = build.carrier(name, at, given)
    axes = turn(given, "axes")
    origin = given.row("origin", "m") if given.has("origin") else np.zeros(3)
    with given.refusals():
        if given.has("pqr"):
            if given.has("axes"):
                raise given.source.error(given.place("axes"), f"{given.what}: pqr says the axes too; give one of them")
            p, q, r = given.rows("pqr", "m")
            if given.has("origin") and np.linalg.norm(p - origin) > SAME * (1.0 + np.linalg.norm(origin)):
                raise ModelError(f"{given.what}: p of pqr is not its origin; p is the origin")
            origin, axes = p if not given.has("origin") else origin, frame_of(p, q, r, given.what)
        build.add_triad(given, carrier, origin, axes)

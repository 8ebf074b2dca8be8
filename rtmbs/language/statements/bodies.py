"""BODY and triad: bodies, and the points and axes that they carry."""

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError
from rtmbs.language.arguments import Arguments
from rtmbs.language.builder import BodyAxes, ModelBuilder, statement
from rtmbs.language.statements.looks import KEYS, looks
from rtmbs.model.checks import unit_vector

Array = NDArray[np.float64]

INERTIA = "kg*m^2"
COLLINEAR = 1e-9  # sine of an angle that is none
SAME = 1e-9  # distance of two points that are one, relative to their size


def pose(args: Arguments) -> tuple[np.ndarray, np.ndarray]:
    """Return origin and axes of a body at the reference pose, from ``pqr`` or from two keys."""
    if args.has("pqr"):
        for key in ("position", "orientation"):
            if args.has(key):
                raise args.source.error(args.place(key), f"{args.label}: pqr says the {key} too; give one of them")
        p, q, r = args.rows("pqr", "m")
        return p, frame_of(p, q, r, args.label)
    position = args.row("position", "m") if args.has("position") else np.zeros(3)
    return position, turn(args, "orientation")


def turn(args: Arguments, key: str) -> np.ndarray:
    """Return a rotation given by three rows, or as a quaternion (w, x, y, z)."""
    if not args.has(key):
        return np.eye(3)
    value = args.scope.evaluate(args.code(key))
    nested = hasattr(value, "items") and any(hasattr(item, "items") for item in value.items)
    return args.rows(key) if nested else args.row(key, "", (4,))


@statement(
    "body",
    "body",
    keys=("center of gravity", "center of mass", "pqr", "position", "orientation", "mass", "inertia", *KEYS),
    repeated=("shape",),
    flags=("ground",),
)
def body(builder: ModelBuilder, args: Arguments) -> None:
    """Add a body; one that is ground gives ground another name, and axes of its own."""
    with args.refusals():
        position, orientation = pose(args)
        if "ground" in args.flags:
            for key in ("mass", "inertia"):
                if args.has(key):
                    raise args.source.error(args.place(key), f"{args.label} is ground, which needs no {key}")
            builder.add_ground(args, position, orientation, looks(args))
            return
        center = {}
        if args.has("center of gravity") and args.has("center of mass"):
            at = args.place("center of mass")
            raise args.source.error(at, f"{args.label}: center of gravity says this too; give one of them")
        if args.has("center of mass"):
            center = {"center_of_mass": args.row("center of mass", "m")}
        elif args.has("center of gravity"):
            center = {"center_of_mass": orientation.T @ (args.row("center of gravity", "m") - position)}
        mass = args.number("mass", 0.0, "kg")
        if args.has("inertia"):
            center["inertia"] = inertia(args)
        builder.add_body(args, mass=mass, position=position, orientation=orientation, **center, **looks(args))


def inertia(args: Arguments) -> np.ndarray:
    """Return three principal values, six numbers, or three rows."""
    value = args.scope.evaluate(args.code("inertia"))
    nested = hasattr(value, "items") and any(hasattr(item, "items") for item in value.items)
    return args.rows("inertia", INERTIA) if nested else args.row("inertia", INERTIA, (3, 6))


@statement("triad", "triad", keys=("associated body", "body", "origin", "pqr", "axes"))
def triad(builder: ModelBuilder, args: Arguments) -> None:
    """Add a point with axes f, g, h, in the axes of its body."""
    if args.has("body") and args.has("associated body"):
        raise args.source.error(args.place("body"), f"{args.label}: associated body says this too; give one of them")
    key = "body" if args.has("body") else "associated body"
    args.code(key)
    name, at = args.names(key, 1)[0]
    carrier: BodyAxes = builder.carrier(name, at, args)
    axes = turn(args, "axes")
    origin = args.row("origin", "m") if args.has("origin") else np.zeros(3)
    with args.refusals():
        if args.has("pqr"):
            if args.has("axes"):
                raise args.source.error(args.place("axes"), f"{args.label}: pqr says the axes too; give one of them")
            p, q, r = args.rows("pqr", "m")
            if args.has("origin") and np.linalg.norm(p - origin) > SAME * (1.0 + np.linalg.norm(origin)):
                raise ModelError(f"{args.label}: p of pqr is not its origin; p is the origin")
            origin, axes = p if not args.has("origin") else origin, frame_of(p, q, r, args.label)
        builder.add_triad(args, carrier, origin, axes)


def frame_of(p: Array, q: Array, r: Array, what: str) -> Array:
    """Return the axes f, g, h (3, 3) as columns: h from p to q, f the part of r - p across it, g = h x f."""
    along, across = q - p, r - p
    if not np.any(along):
        raise ModelError(f"{what}: p and q of pqr are one point; q lies on the h axis, away from p")
    h = unit_vector(along)
    across = unit_vector(across) if np.any(across) else across
    return with_h(h, across, f"{what}: p, q and r of pqr lie on one line; r must stand off the line from p to q")


def with_h(h: Array, f: Array, wrong: str) -> Array:
    """Return axes f, g, h (3, 3) as columns, with this h, and f as near as it can be; ModelError(wrong) along h."""
    across = f - (f @ h) * h
    if np.linalg.norm(across) <= COLLINEAR:
        raise ModelError(wrong)
    across = across - (across @ h) * h
    across /= np.linalg.norm(across)
    return np.column_stack((across, np.cross(h, across), h))

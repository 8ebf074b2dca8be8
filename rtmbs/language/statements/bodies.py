"""SYSTEM, BODY and triad: analysis, gravity, bodies and their points.

BODY and triad: bodies, the points and axes that they carry, and how they look in pictures.

A mesh is a file in the folder of the model.

SYSTEM: the analysis of the model, and gravity.
"""

import math
import os
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, nearest_names, shown
from rtmbs.language.builder import Arguments, BodyAxes, ModelBuilder, model_value, sole_name, statement
from rtmbs.language.document import Analysis
from rtmbs.language.parse import inside
from rtmbs.language.scope import Call, Word
from rtmbs.model import Bar, Box, Cylinder, Mesh, Sphere, Surface
from rtmbs.model.checks import unit_vector
from rtmbs.model.mesh import ENDINGS

Array = NDArray[np.float64]
INERTIA = "kg*m^2"
COLLINEAR = 1e-9  # sine of an angle that is none
SAME = 1e-9  # distance of two points that are one, relative to their size
LOOKS = ("color", "opacity", "edges")  # and ``shape``, which may stand several times
FILE, FACES = "file", "faces"  # arguments that are no numbers, or whole ones
MOST_BYTES = 100_000_000  # of a mesh file


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
    keys=("center of gravity", "center of mass", "pqr", "position", "orientation", "mass", "inertia", *LOOKS),
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


SHAPES: dict[str, type] = {
    "box": Box, "cylinder": Cylinder, "sphere": Sphere, "bar": Bar, "surface": Surface, "mesh": Mesh,
}  # fmt: skip


def looks(args: Arguments) -> dict[str, Any]:
    """Return the arguments of ``Model.set_looks`` that a statement gives; raises LanguageError."""
    values: dict[str, Any] = {"shape": [shape(args, argument.value) for argument in args.keys.get("shape", [])] or None}
    if args.has("color"):
        name = sole_name(args.code("color"))
        if name is None:
            raise args.source.error(args.place("color"), f'{args.subject}: color takes a name, or "#rrggbb" in quotes')
        values["color"] = name.text
    return values | {"opacity": args.number("opacity", 1.0), "edges": args.switch("edges", True)}


def shape(args: Arguments, code: Any) -> Any:
    """Return the shape that a call such as ``box(size = (1, 2, 3))`` means."""
    value, at = args.scope.evaluate(code), code[-1].at
    if not isinstance(value, Call) or value.name.lower() not in SHAPES:
        near = nearest_names(value.name.lower(), SHAPES) if isinstance(value, Call) else []
        hint = f"did you mean {near[0]}?" if near else f"write one of {', '.join(SHAPES)}, such as sphere(radius = 0.1)"
        raise args.source.error(at, f"{args.subject}: shape takes a shape; {hint}", near or list(SHAPES))
    kind = SHAPES[value.name.lower()]
    names = [field.name for field in arguments_of(kind)]
    for word in value.named:
        if word not in names:
            raise args.source.error(value.at, f"{value.name} takes no {word!r}; it takes {', '.join(names)}", names)
    if len(value.items) > len(names):
        raise args.source.error(value.at, f"{value.name} takes {len(names)} values, not {len(value.items)}")
    arguments = dict(zip(names, value.items, strict=False)) | value.named
    try:
        return kind(**{name: argument(args, name, one) for name, one in arguments.items()})
    except TypeError:
        raise args.source.error(value.at, f"{value.name} needs {', '.join(required(kind))}") from None
    except ModelError as error:
        raise args.source.error(value.at, str(error)) from None


def arguments_of(kind: type) -> list[Field[Any]]:
    """Return the fields that make a shape."""
    return [field for field in fields(kind) if field.init]


def required(kind: type) -> list[str]:
    """Return the fields without a default."""
    return [field.name for field in arguments_of(kind) if field.default is MISSING]


def argument(args: Arguments, name: str, value: Any) -> Any:
    """Return one argument of a shape as the model takes it."""
    if name == FILE:
        return mesh_file(args, value)
    found = model_value(args, "shape", value)
    return whole(found) if name == FACES else found


def mesh_file(args: Arguments, value: Any) -> str:
    """Return the path of a mesh file that a name in quotes means; raises LanguageError with the nearest file."""
    if not isinstance(value, Word):
        raise args.source.error(value.at, f'{args.subject}: mesh takes a file in quotes, such as mesh("hull.stl")')
    name = value.name.text
    path = inside(args.source, args.scope.folder, name, value.at, "name")
    assert args.source.path is not None
    here = args.source.path.parent
    if os.path.isfile(path):
        if (size := path.stat().st_size) > MOST_BYTES:
            most = f"a mesh file has at most {MOST_BYTES / 1e6:g} MB"
            raise args.source.error(value.at, f"{args.subject}: {shown(name)} has {size / 1e6:.0f} MB; {most}")
    elif found := nearest_file(path, here):
        raise args.source.error(
            value.at, f"{args.subject}: there is no file {shown(name)}; did you mean {shown(found)}?", [found]
        )
    return str(here / name)


def nearest_file(path: Path, here: Path) -> str:
    """Return the mesh file beside ``path`` with the nearest name, as seen from ``here``; nothing when none is near."""
    beside = path.parent.iterdir() if os.path.isdir(path.parent) else ()
    names = {one.stem: one for one in beside if one.suffix.lower() in ENDINGS}
    near = nearest_names(path.stem, names)
    return os.path.relpath(names[near[0]], here.resolve()) if near else ""


def whole(value: Any) -> Any:
    """Return numbers without a fraction as integers, whatever else as it is: the shape refuses it."""
    if isinstance(value, list):
        return [whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


ANALYSES = {
    "kinematic analysis": "kinematic",
    "dynamic analysis": "dynamic",
    "static equilibrium": "static",
}
MOST_ROWS = 10_000_000  # of a result
MOST_STEPS = 1e9  # of a dynamic analysis: a million take a second or more
NUMBERS = {  # key: (field of Analysis, unit)
    "starting time": ("t0", "s"),
    "ending time": ("t1", "s"),
    "print interval": ("dt", "s"),
    "step": ("h", "s"),
    "assembly tolerance": ("assembly_tolerance", ""),
    "lu tolerance": ("lu_tolerance", ""),
    "ranks": ("ranks", ""),
    "alpha": ("alpha", ""),
    "beta": ("beta", ""),
    "relative tolerance": ("rtol", ""),
    "absolute tolerance": ("atol", ""),
}
POSITIVE = (
    "print interval", "step", "assembly tolerance", "lu tolerance", "ranks", "relative tolerance", "absolute tolerance",
)  # fmt: skip
CHOICES = {  # key: words
    "method": ("min_norm", "freeze"),
    "pivot": ("row", "full"),
    "weights": ("size", "mass"),
    "singular": ("pass", "stop"),
    "recursion": ("rk4", "bdf"),
}
RECURSION = ("recursion", "ranks", "alpha", "beta", "relative tolerance", "absolute tolerance")
BELONGS = dict.fromkeys(CHOICES, "kinematic") | dict.fromkeys(
    ("step", *RECURSION), "dynamic"
)  # key: the only kind of analysis that it is for


@statement("system", "system", keys=(*NUMBERS, *CHOICES, "gravity"), flags=tuple(ANALYSES), named=False)
def system(builder: ModelBuilder, args: Arguments) -> None:
    """Take the kind of analysis, its times and tolerances, and gravity."""
    if builder.analysis is not None:
        raise args.source.error(args.at, "there is a second SYSTEM; a model has one")
    if len(args.flags) != 1:
        raise args.source.error(args.at, f"SYSTEM needs one of {', '.join(ANALYSES).upper()}", list(ANALYSES))
    kind = ANALYSES[next(iter(args.flags))]
    for key, other in BELONGS.items():
        if args.has(key) and kind not in (other, "static"):
            raise args.source.error(
                args.place(key), f"{key} is for a {other} analysis, and this is a {kind} one; take it away"
            )
    values: dict[str, object] = {"kind": kind}
    for key, (field, unit) in NUMBERS.items():
        if args.has(key):
            value = values[field] = args.number(key, 0.0, unit)
            if key in POSITIVE and value <= 0.0:
                raise args.source.error(args.place(key), f"{key} is {value:g}; it must be above zero")
            if key == "ranks":
                values[field] = round(value)
                if value != round(value):
                    raise args.source.error(args.place(key), f"ranks is {value:g}; it must be a whole number")
            if key == "lu tolerance" and value >= 1.0:
                raise args.source.error(args.place(key), f"{key} is {value:g}; it must be below one")
    for key, words in CHOICES.items():
        values[key] = args.word(key, words)
    if args.has("gravity"):
        with args.refusals():
            builder.set_gravity(args.row("gravity", "m/s^2"))
    if kind == "static" and not args.has("ending time"):
        values["t1"] = values.get("t0", 0.0)  # a pose has no end
    analysis = builder.analysis = Analysis(**values)  # type: ignore[arg-type]
    if analysis.t1 < analysis.t0:
        given = args.has("ending time")
        said = f"ending time is {analysis.t1:g}{'' if given else ' where none is given'}"
        at = args.place("ending time" if given else "starting time")
        raise args.source.error(at, f"{said}, and starting time {analysis.t0:g}; it must be later")
    rows = (analysis.t1 - analysis.t0) / analysis.dt
    if not math.isfinite(rows) or rows > MOST_ROWS:
        at = args.place("print interval")
        raise args.source.error(
            at, f"print interval is {analysis.dt:g}: {rows:.3g} rows; a result has at most {MOST_ROWS:g}"
        )
    if analysis.h and not (steps := (analysis.t1 - analysis.t0) / analysis.h) <= MOST_STEPS:
        raise args.source.error(
            args.place("step"), f"step is {analysis.h:g}: {steps:.3g} steps; an analysis takes at most {MOST_STEPS:g}"
        )

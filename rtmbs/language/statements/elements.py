"""Statements of a model's elements: SYSTEM, BODY, triad, joints and force laws by their types, rods, initial values.

SYSTEM has the analysis and gravity. BODY and triad describe bodies, the points and axes that they carry, and how they
look in pictures. A mesh is a file in the folder of the model.
"""

import importlib
import math
import os
import re
from collections.abc import Callable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rtmbs.errors import ModelError, nearest_names, shown
from rtmbs.language.builder import (
    STATEMENTS,
    Arguments,
    BodyAxes,
    ModelBuilder,
    StatementKind,
    model_value,
    sole_name,
    statement,
    value_of,
)
from rtmbs.language.document import Analysis
from rtmbs.language.parse import inside
from rtmbs.language.scope import Call, Word
from rtmbs.model import (
    FORCE_TYPES,
    JOINT_TYPES,
    Bar,
    Box,
    Cylinder,
    ForceLaw,
    Joint,
    JointType,
    Marker,
    Mesh,
    Sphere,
    Surface,
)
from rtmbs.model.checks import unit_vector
from rtmbs.model.joints import is_number_field
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


X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
TITLES = {"Prismatic": ("translational joint", "prismatic joint")}  # others are called as they are
PLACING = ("point", "point a", "point b", "axes a", "axes b", "frame", "cut", "closure")
SIZES = tuple(range(1, 8))
FORCE_TITLES = {"SpringDamper": ("spring", "damper"), "TorsionSpring": ("torsion spring", "torsion damper")}
OTHER_NAMES = {"value": ("torque", "force")}  # of a motor


def spelled(name: str) -> str:
    """Return the name of a class in words: ``PinInSlot`` is ``pin in slot``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def register_joints() -> None:
    """Register a statement for every joint type of the model, also for those added since."""
    for name, kind in JOINT_TYPES.items():
        for title in TITLES.get(name, (f"{spelled(name)} joint",)):
            if is_new(title, kind):
                keys = (*(key_of(field.name) for field in fields(kind)), *PLACING)
                STATEMENTS[title] = StatementKind(title, "joint", joint_statement(kind), keys, ("triad", "body"))


CLASSES: dict[str, type] = {}  # of joint types and force laws, by the title of the statement


def is_new(title: str, kind: type) -> bool:
    """Return whether a class has no statement yet, and remember that it has one now."""
    if CLASSES.get(title) is kind or (title in STATEMENTS and title not in CLASSES):
        return False
    CLASSES[title] = kind
    return True


def key_of(field: str) -> str:
    return field.replace("_", " ")


def joint_statement(kind: type[JointType]) -> Callable[[ModelBuilder, Arguments], None]:
    """Return the function of the joint statement of a type."""

    def joint(builder: ModelBuilder, args: Arguments) -> None:
        if args.has("body"):
            between_bodies(builder, args, kind)
        else:
            between_triads(builder, args, kind)

    return joint


def between_triads(builder: ModelBuilder, args: Arguments, kind: type[JointType]) -> None:
    """Add a joint with the axes of two triads."""
    numbers = numbers_of(args, kind)
    for key in args.keys:
        if key not in ("triad", "cut", "closure", *map(key_of, numbers)):
            raise args.source.error(args.place(key), f"{args.label}: {key} belongs to a joint between two bodies")
    first, second = (builder.triad(name, at, args) for name, at in args.names("triad", 2))
    options: dict[str, Any] = {"cut": args.switch("cut", False), "closure": args.word("closure", ("line", "point"))}
    with args.refusals():
        joint_type, placed = place_joint(kind, numbers, first, second, args)
        options |= placed._asdict()
        builder.model.add_joint(args.name, joint_type, first.body, second.body, **options)


def between_bodies(builder: ModelBuilder, args: Arguments, kind: type[JointType]) -> None:
    """Add a joint of two bodies with its directions and points in numbers."""
    if args.has("triad"):
        raise args.source.error(args.place("triad"), f"{args.label} takes two triads or two bodies, not both")
    a, b = (builder.body(name, at, args) for name, at in args.names("body", 2))
    given: dict[str, Any] = dict(numbers_of(args, kind))
    given |= {one.name: args.direction(key_of(one.name)) for one in fields(kind) if not is_number_field(one)}
    options: dict[str, Any] = {"cut": args.switch("cut", False), "closure": args.word("closure", ("line", "point"))}
    for key in both_keys(args, "point", "point a", "point b"):
        options[key.replace(" ", "_")] = args.row(key, "m")
    for key in both_keys(args, "frame", "axes a", "axes b"):
        options[key.replace(" ", "_")] = turn(args, key)
    if args.has("point"):
        options["point"] = args.row("point", "m")
    if args.has("frame"):
        name, at = args.names("frame", 1)[0]
        options["frame"] = "world" if name.text == "world" else builder.body(name, at, args)
    with args.refusals():
        builder.model.add_joint(args.name, directed(args, kind, given), a, b, **options)


def both_keys(args: Arguments, alone: str, a: str, b: str) -> tuple[str, ...]:
    """Return the keys ``a`` and ``b`` when both are given; raises LanguageError for one alone, or beside ``alone``."""
    present = [key for key in (a, b) if args.has(key)]
    if len(present) == 1:
        other = b if present[0] == a else a
        message = f"{args.label}: {present[0]} needs {other} = ... too"
        raise args.source.error(args.place(present[0]), message, [f"{other} ="])
    if present and args.has(alone):
        raise args.source.error(args.place(alone), f"{args.label}: {a} and {b} say the {alone} too; leave one out")
    return tuple(present)


@statement("rod", "rod", keys=("length",), repeated=("triad",))
def rod(builder: ModelBuilder, args: Arguments) -> None:
    """Keep the distance of two triads, as it is at the reference pose unless a length is given."""
    first, second = (builder.triad(name, at, args) for name, at in args.names("triad", 2))
    length = args.number("length", 0.0, "m") if args.has("length") else None
    with args.refusals():
        builder.model.add_rod(args.name, (first, second), length)


@statement("rope", "coupler", keys=("length",), repeated=("triad",))
def rope(builder: ModelBuilder, args: Arguments) -> None:
    """Lay a rope over triads of several bodies, as long as at the reference pose unless a length is given."""
    points = [builder.triad(name, at, args) for name, at in args.names("triad", len(args.keys.get("triad", ())))]
    length = args.number("length", 0.0, "m") if args.has("length") else None
    with args.refusals():
        builder.model.add_rope(args.name, points, length)


@statement("rolling", "rod", keys=("wheel", "plane", "radius", "crown"))
def rolling(builder: ModelBuilder, args: Arguments) -> None:
    """Let a wheel roll on a plane: triads whose h axes are the axis of the wheel and the normal of the plane."""
    args.code("radius")
    wheel, plane = (builder.triad(*args.names(key, 1)[0], args) for key in ("wheel", "plane"))
    sizes = args.number("radius", 0.0, "m"), args.number("crown", 0.0, "m")
    with args.refusals():
        builder.model.add_rolling(args.name, wheel, plane, *sizes)


@statement("knife edge", "rod", keys=("triad", "body", "direction"))
def knife_edge(builder: ModelBuilder, args: Arguments) -> None:
    """Let the point of a triad move in no sideways direction, its g axis unless given, relative to a body or ground."""
    ((name, at),) = args.names("triad", 1)
    blade = builder.triad(name, at, args)
    base: Any = "ground"
    if args.has("body"):
        ((name, at),) = args.names("body", 1)
        base = builder.body(name, at, args)
    direction = args.direction("direction") if args.has("direction") else (0.0, 1.0, 0.0)
    with args.refusals():
        builder.model.add_knife_edge(args.name, blade, base, direction)


def numbers_of(args: Arguments, kind: type[JointType]) -> dict[str, float]:
    """Return the numbers among the fields of a joint type; raises LanguageError where one is missing."""
    found = {}
    for one in fields(kind):
        if is_number_field(one):
            if one.default is MISSING:
                args.code(key_of(one.name))
            default = 0.0 if one.default is MISSING else one.default
            found[one.name] = args.number(key_of(one.name), default, kind.field_units.get(one.name, ""))
    return found


def directed(args: Arguments, kind: type[JointType], given: dict[str, Any]) -> JointType:
    """Return a joint type with its directions and numbers; ModelError names the joint."""
    try:
        return kind(**given)
    except ModelError as error:
        raise ModelError(f"{args.label}: {error}") from None


class Placing(NamedTuple):
    """Where two triads put a joint, as ``Model.add_joint`` takes it."""

    point_a: Array  # (3,) body axes of a [m]
    point_b: Array  # (3,) body axes of b [m]
    axes_a: Array  # (3, 3) joint axes to body axes of a
    axes_b: Array  # (3, 3) joint axes to body axes of b


def place_joint(
    kind: type[JointType], numbers: dict[str, float], first: Marker, second: Marker, args: Arguments
) -> tuple[JointType, Placing]:
    """Return the joint of two triads, its coordinates zero at the reference pose.

    The first direction of a joint type is the h axis, its second one the f axis; of a universal joint the second is the
    h axis of the second triad. The h axes stay those of the triads where the reference pose does not fit.
    """
    universal, what = kind is JOINT_TYPES["Universal"], args.label
    directions = [one.name for one in fields(kind) if one.name not in numbers]
    joint_type = directed(args, kind, numbers | dict(zip(directions, (Z, X), strict=False))).checked(what)
    a, b = first.body, second.body
    to_b = b.orientation.T @ a.orientation
    h_a, h_b = first.axes[:, 2], second.axes[:, 2]
    if universal:
        parallel = f"{what}: the axes of its triads are parallel; those of a universal joint are at a right angle"
        axes_a = with_h(h_a, to_b.T @ h_b, parallel)
        side = with_h(h_b, to_b @ h_a, parallel)
        axes_b = np.column_stack((h_b, np.cross(side[:, 0], h_b), side[:, 0]))
    else:
        axes_a = first.axes
        if not joint_type.aligned():
            axes_b = to_b @ axes_a
        elif (to_b @ h_a) @ h_b <= COLLINEAR:
            raise ModelError(
                f"{what}: the h axes of triads {first.name!r} and {second.name!r} point against or across each other "
                "at the reference pose; turn one triad"
            )
        else:
            axes_b = with_h(h_b, to_b @ axes_a[:, 0], f"{what}: the axes of its triads cannot be aligned")
    gap = axes_a.T @ (a.local(second.reference()) - first.point)
    slides = [dof.axis for dof in joint_type.dofs() if dof.kind == "prismatic"]
    point_a = first.point + axes_a @ sum(((gap @ axis) * axis for axis in slides), np.zeros(3))
    return joint_type, Placing(point_a, second.point, axes_a, axes_b)


@statement("initial", "initial", keys=("position", "rate", "pin", "weight"))
def initial(builder: ModelBuilder, args: Arguments) -> None:
    """Say where the joint of this name starts, as ``Model.set_initial`` takes it."""
    joint = builder.joint(args.name, args.at, args)
    values = {key: args.row(key, one, SIZES) for key, one in start_units(joint).items() if args.has(key)}
    pin, weight = args.switch("pin", True), args.number("weight", 1.0)
    with args.refusals():
        builder.model.set_initial(joint, **values, pin=pin, weight=weight)


def start_units(joint: Joint) -> dict[str, tuple[str, ...]]:
    """Return the unit of every number that ``set_initial`` takes of a joint."""
    kind = joint.type
    position = {"quaternion": ("",) * 4, "pose": ("m",) * 3 + ("",) * 4}.get(kind.start, kind.units())
    rate = {"quaternion": ("rad",) * 3, "pose": ("m",) * 3 + ("rad",) * 3}.get(kind.start, kind.units())
    return {"position": position, "rate": tuple(f"{one}/s" for one in rate)}


@statement("reaction stiffness", "initial", keys=("translation", "rotation"))
def reaction_stiffness(builder: ModelBuilder, args: Arguments) -> None:
    """Say how stiff the element of this name is, as ``Model.set_reaction_stiffness`` takes it."""
    translation, rotation = args.number("translation", 0.0, "N/m"), args.number("rotation", 0.0, "N*m/rad")
    with args.refusals():
        builder.model.set_reaction_stiffness(args.name, translation, rotation)


ATTACHED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # keys, and those that come twice
    "between": ((), ("triad",)),
    "joint": (("joint",), ()),
    "body": (("body", "point"), ()),
}


def register_kernel_forces() -> None:
    """Register a statement for the laws that files of ``rtmbs.forces`` bring; their kernels are loaded for it."""
    importlib.import_module("rtmbs.forces.register")
    register_forces()


def register_forces() -> None:
    """Register a statement for every force law of the model, also for those added since."""
    for name, law in FORCE_TYPES.items():
        for title in FORCE_TITLES.get(name, (spelled(name),)):
            if is_new(title, law):
                keys, repeated = ATTACHED[law.attaches]
                names = [
                    name for field in fields(law) for name in (key_of(field.name), *OTHER_NAMES.get(field.name, ()))
                ]
                STATEMENTS[title] = StatementKind(title, "force", force_statement(law), (*names, *keys), repeated)


def force_statement(law: type[ForceLaw]) -> Callable[[ModelBuilder, Arguments], None]:
    """Return the function of the force statement of a law."""

    def force(builder: ModelBuilder, args: Arguments) -> None:
        where = attached(builder, args, law)
        values = law_values(args, law)
        with args.refusals():
            builder.model.add_force(args.name, law(**values), **where)

    return force


def attached(builder: ModelBuilder, args: Arguments, law: type[ForceLaw]) -> dict[str, Any]:
    """Return where the force acts."""
    if law.attaches == "between":
        return {"between": tuple(builder.triad(name, at, args) for name, at in args.names("triad", 2))}
    if law.attaches == "joint":
        (name, at), *_ = args.names("joint", 1, member=True)
        return {"joint": builder.coordinate(name, at, args)}
    (name, at), *_ = args.names("body", 1)
    point = {"point": args.row("point", "m")} if args.has("point") else {}
    return {"body": builder.body(name, at, args), **point}


def law_values(args: Arguments, law: type[ForceLaw]) -> dict[str, Any]:
    """Return the fields of a force law."""
    values: dict[str, Any] = {}
    hints = get_type_hints(law)
    for field in fields(law):
        names = [name for name in (key_of(field.name), *OTHER_NAMES.get(field.name, ())) if args.has(name)]
        if len(names) > 1:
            raise args.source.error(args.place(names[1]), f"{args.label}: {names[0]} says this too; give one of them")
        if names and get_origin(hints[field.name]) is Literal:
            values[field.name] = args.word(names[0], get_args(hints[field.name]))
        elif names:
            values[field.name] = value_of(args, names[0])
        elif field.default is MISSING:
            values[field.name] = 0.0 if args.title.endswith("damper") else args.code(key_of(field.name))
    return values

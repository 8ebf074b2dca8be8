"""Joints and force laws, a statement for each registered type; rods; initial values and stiffness of reactions."""

import importlib
import re
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from rtmbs.errors import ModelError
from rtmbs.language.builder import STATEMENTS, Arguments, ModelBuilder, StatementKind, statement, value_of
from rtmbs.language.statements.bodies import COLLINEAR, Array, turn, with_h
from rtmbs.model import FORCE_TYPES, JOINT_TYPES, ForceLaw, Joint, JointType, Marker
from rtmbs.model.joints import is_number_field

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

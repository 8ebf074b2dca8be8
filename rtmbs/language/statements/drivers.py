"""Drivers of coordinates, distances and angles by functions of time; couplers: gears, racks, screws, differentials."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from rtmbs.errors import LanguageError, ModelError, nearest_names, shown
from rtmbs.language.builder import Arguments, ModelBuilder, callables, component, model_value, statement
from rtmbs.language.expressions import PARAMETER, CamCurve, Curve, Expression, ExpressionProfile
from rtmbs.language.parse import Name
from rtmbs.language.scope import Call, Quantity, Row, Scope, Timed, Word
from rtmbs.language.statements.elements import turn
from rtmbs.model import Joint, Marker, Profile
from rtmbs.model.constraints import BODY_COORDINATES, MARKER_AXES, PLACES

OF_TWO = {"distance": "between", "angle": "axes"}
OF_ONE = ("joint", "body")  # joint(NAME, COORDINATE): for a joint and a body of one name
OF_PROFILES = {"t0": "s", "t1": "s", "t": "s", "frequency_rad_s": "rad/s", "phase": "rad"}  # units whatever is driven
MOST_COUPLED = 100  # coordinates of one coupler


@statement("driver", "driver", free=True)
def driver(builder: ModelBuilder, args: Arguments) -> None:
    """Prescribe one thing: ``blockx = 8 + 3 * sin(4 * TIME)``."""
    arguments = args.statement.arguments
    if len(arguments) != 1 or arguments[0].key is None:
        comma = "; a decimal number has a point: 0.5" if len(arguments) > 1 and arguments[1].key is None else ""
        raise args.source.error(args.at, f"{args.label} needs one thing to drive: (crankx = 2 * TIME){comma}", ["="])
    where = target(builder, args, args.scope.evaluate(arguments[0].key))
    profile = profile_of(args, arguments[0].value, unit_of(where))
    with args.refusals():
        if "marker" in where:
            marker, coordinate = where["marker"]
            add_point_driver(builder, args, marker, coordinate, profile)
        else:
            builder.model.add_driver(args.name, profile, **where)
    builder.functions.append((args.source, arguments[0].value[-1].at, f"driver {args.name!r}", profile))


def add_point_driver(builder: ModelBuilder, args: Arguments, marker: Marker, coordinate: str, profile: Profile) -> None:
    """Prescribe a coordinate of a triad in the world; a kinematic analysis alone follows it."""
    if marker.body is builder.model.ground:
        raise ModelError(f"driver {args.name!r}: triad {marker.name!r} is on ground, which does not move")
    from rtmbs.kinematics.element_equations import PointDriver  # a file without one loads no kernels

    check_name(builder, args)
    builder.constraints.append(PointDriver(args.name, marker.name, coordinate, profile))


def check_name(builder: ModelBuilder, args: Arguments) -> None:
    """Refuse a name that another constraint or driver has."""
    if args.name in builder.model.drivers or any(one.name == args.name for one in builder.constraints):
        raise ModelError(f"{args.label}: there is already an element of this name; choose another")


@statement("measure", "initial", free=True)
def measure(builder: ModelBuilder, args: Arguments) -> None:
    """Name a quantity that a result has as a channel: a coordinate, a distance or an angle of two axes."""
    arguments = args.statement.arguments
    if len(arguments) != 1 or arguments[0].key is not None:
        raise args.source.error(args.at, f"{args.label} takes one thing: (distance(a, b)), (crank.angle) or (tip.x)")
    if args.name in builder.measures:
        raise args.source.error(args.at, f"{args.label}: there is already a measure of this name; choose another")
    where = target(builder, args, args.scope.evaluate(arguments[0].value))
    if "joint" in where:
        where = {"joint": joint_coordinate(args, where["joint"], arguments[0].value[-1].at)}
    elif where.get("body", (None,))[0] is builder.model.ground:
        raise args.source.error(arguments[0].value[-1].at, f"{args.label}: ground stands still; name another body")
    builder.measures[args.name] = where


def joint_coordinate(args: Arguments, wanted: Any, at: int) -> tuple[Joint, str]:
    """Return a joint and its coordinate; LanguageError where the joint has several, or not the one named."""
    joint, coordinate = wanted if isinstance(wanted, tuple) else (wanted, None)
    names, what = joint.type.coordinates, f"{args.label}: joint {joint.name!r}"
    if not names:
        kind = type(joint.type).__name__
        raise args.source.error(at, f"{what} is {kind} and has no coordinate; take an angle or a distance of triads")
    if coordinate is None and len(names) > 1:
        said = f"{what} has the coordinates {', '.join(names)}; say which, such as {joint.name}.{names[0]}"
        raise args.source.error(at, said, [f"{joint.name}.{name}" for name in names])
    if coordinate is not None and coordinate not in names:
        raise args.source.error(at, f"{what} has the coordinates {', '.join(names)}, not {shown(coordinate)}", names)
    return joint, coordinate or names[0]


@statement("point on curve", "driver", keys=("triad", "body", "curve", "start"))
def point_on_curve(builder: ModelBuilder, args: Arguments) -> None:
    """Keep a triad on a curve of a body: ``curve = (cos(s), sin(s), 0)`` in body axes, the parameter s an unknown."""
    value = of_parameter(builder, args, "curve")
    if not isinstance(value, Row) or len(value.items) != 3:
        raise args.source.error(value.at, f"{args.label}: curve takes three values, such as (cos(s), sin(s), 0)")
    rows = tuple(component(args, "curve", item) for item in value.items)
    add_curve(builder, args, Curve(rows), None)


@statement("cam", "driver", keys=("triad", "body", "radius", "origin", "axes", "roller", "start"))
def cam(builder: ModelBuilder, args: Arguments) -> None:
    """Keep a follower on a cam: ``radius`` is an expression of the angle s; the triad is the centre of the roller."""
    radius = component(args, "radius", of_parameter(builder, args, "radius"))
    origin = args.row("origin", "m") if args.has("origin") else np.zeros(3)
    add_curve(builder, args, CamCurve((radius,), origin, turn(args, "axes"), args.number("roller", 0.0, "m")), "")


def of_parameter(builder: ModelBuilder, args: Arguments, key: str) -> Any:
    """Return a value in which the parameter of a curve has its name; LanguageError where a constant has it too."""
    code, place = args.code(key), builder.places.get(f"constant {PARAMETER}")
    for one in code:
        if place is not None and one.operand == Name((PARAMETER,)):
            raise args.source.error(
                one.at,
                f"{args.label}: {PARAMETER} is the parameter of this curve, and the constant of line {place.line} of"
                f" {place.file}; give the constant another name",
            )
    return Scope(args.source, builder.constants, builder.folder, PARAMETER, builder.later, builder.dimensions).evaluate(
        code
    )


def add_curve(builder: ModelBuilder, args: Arguments, curve: Curve, unit: str | None) -> None:
    """Add a point on a curve between a triad and a body; the parameter has this unit, or any."""
    from rtmbs.kinematics.element_equations import PointOnCurve  # a file without one loads no kernels

    triad, at = args.names("triad", 1)[0]
    marker = builder.triad(triad, at, args)
    owner, at = args.names("body", 1)[0]
    carrier = builder.carrier(owner, at, args)
    if np.any(carrier.position) or not np.array_equal(carrier.orientation, np.eye(3)):
        raise args.source.error(at, f"{args.label}: {owner.text} is ground with axes of its own; name ground itself")
    if marker.body is carrier.body:
        raise args.source.error(at, f"{args.label}: triad {marker.name!r} is on body {owner.text!r} itself; name two")
    with args.refusals():
        check_name(builder, args)
    start = args.number("start", 0.0, unit)
    builder.constraints.append(PointOnCurve(args.name, marker.name, carrier.body.name, curve, start))


def unit_of(where: dict[str, Any]) -> str | None:
    """Return the unit of what is driven; None for a joint of several coordinates that is named alone."""
    if "body" in where:
        return BODY_COORDINATES.get(where["body"][1])
    if "joint" not in where:
        return "rad" if "axes" in where else "m"
    joint, coordinate = where["joint"] if isinstance(where["joint"], tuple) else (where["joint"], None)
    units = dict(zip(joint.type.coordinates, joint.type.units(), strict=True))
    return units.get(coordinate) if coordinate is not None else next(iter(units.values())) if len(units) == 1 else None


def check_units(args: Arguments, value: Any, unit: str | None) -> None:
    """Refuse a number of a driver in the unit of another quantity; what arithmetic has made has no unit."""
    if isinstance(value, Quantity):
        args.checked("its value", value, unit)
    elif isinstance(value, Timed):
        for _, operand in value.steps:
            if isinstance(operand, Call):  # its values are scaled by what stands beside it
                check_units(args, operand, None)
    elif isinstance(value, Call):
        kind = callables().get(value.name.lower().replace(" ", "").replace("_", ""))
        names = [field.name for field in fields(kind) if field.repr and field.init] if kind is not None else []
        for name, item in (dict(zip(names, value.items, strict=False)) | value.named).items():
            wanted = OF_PROFILES.get(name, unit)
            if name == "rate":
                wanted = None if unit is None else f"{unit}/s"
            for one in item.items if isinstance(item, Row) else (item,):
                if isinstance(one, Quantity):
                    args.checked(f"{name} of {value.name}", one, wanted)


def profile_of(args: Arguments, code: Any, unit: str | None) -> Profile:
    """Return the profile that a value means: a number, an expression of TIME, or a profile by name."""
    value = args.scope.evaluate(code)
    check_units(args, value, unit)
    found = model_value(args, "the driver", value)
    if isinstance(found, float):
        return ExpressionProfile((("number", found),))
    if isinstance(found, Expression):
        return ExpressionProfile(found.steps)
    if not isinstance(value, Call) or not callable(found):
        raise args.source.error(value.at, f"{args.label} follows a number, an expression of TIME or a profile")
    return found


def target(builder: ModelBuilder, args: Arguments, key: Any) -> dict[str, Any]:
    """Return the driven coordinate, as ``Model.add_driver`` takes it."""
    if isinstance(key, Call) and key.name.lower() in OF_TWO:
        kind = key.name.lower()
        if len(key.items) != 2 or key.named or not all(isinstance(item, Word | Quantity) for item in key.items):
            raise args.source.error(key.at, f"{args.label}: {kind} takes two triads")
        return {OF_TWO[kind]: tuple(end(builder, args, item, kind) for item in key.items)}
    if isinstance(key, Call) and key.name.lower() in OF_ONE:
        return of_one(builder, args, key)
    if not isinstance(key, Word | Quantity) or key.name is None:
        raise args.source.error(key.at, f"{args.label} drives a coordinate, a distance or an angle of two triads")
    name, at = key.name, key.at
    if name.member is not None:
        return member(builder, args, name.words, name.member, at)
    text = name.text
    joint, coordinate = builder.model.joints.get(text), body_coordinate(builder, text)
    if joint is not None and coordinate is not None:
        raise args.source.error(at, f"{args.label}: {text} is a joint and a coordinate of a body; write it with a dot")
    if joint is not None:
        return {"joint": joint}
    if coordinate is not None:
        return {"body": coordinate}
    raise nothing(builder, args, text, at)


def of_one(builder: ModelBuilder, args: Arguments, key: Call) -> dict[str, Any]:
    """Return ``joint(NAME, COORDINATE)`` or ``body(NAME, COORDINATE)``."""
    names = [item.name for item in key.items if isinstance(item, Word | Quantity) and item.name is not None]
    if len(key.items) != 2 or len(names) != 2 or key.named:
        raise args.source.error(key.at, f"{args.label}: {key.name} takes a name and a coordinate")
    owner, coordinate = names
    if key.name.lower() == "joint":
        return {"joint": (builder.joint(owner.text, key.at, args), coordinate.text)}
    return {"body": (builder.body(owner, key.at, args), coordinate.text.lower())}


def end(builder: ModelBuilder, args: Arguments, item: Any, kind: str) -> Any:
    """Return a triad of a distance, or a triad and its axis of an angle."""
    name = item.name
    if name is None:
        raise args.source.error(item.at, f"{args.label}: {kind} takes two triads")
    triad = builder.triad(name._replace(member=None), item.at, args)
    if kind == "distance" and name.member is None:
        return triad
    axis = (name.member or "h").lower()
    if kind == "distance" or axis not in MARKER_AXES:
        wanted = "a triad without an axis" if kind == "distance" else f"one of {', '.join(MARKER_AXES)}"
        raise args.source.error(item.at, f"{args.label}: {name.text} must be {wanted}", MARKER_AXES)
    return (triad, axis)


def member(builder: ModelBuilder, args: Arguments, words: tuple[str, ...], coordinate: str, at: int) -> dict[str, Any]:
    """Return ``b2.x`` or ``rev1.angle``."""
    owner = " ".join(words)
    joint, body = builder.model.joints.get(owner), builder.carriers.get(owner)
    triad = builder.model.markers.get(owner)
    if triad is not None and joint is None and body is None and coordinate.lower() in PLACES:
        return {"marker": (triad, coordinate.lower())}
    of_joint = joint is not None and coordinate in joint.type.coordinates
    of_body = body is not None and coordinate.lower() in BODY_COORDINATES
    if of_joint and of_body:
        raise args.source.error(at, f"{args.label}: {owner} is a joint and a body, both with {coordinate}; rename one")
    if joint is not None and not of_body:
        return {"joint": (joint, coordinate)}
    if body is not None:
        return {"body": (body.body, coordinate.lower())}
    raise nothing(builder, args, f"{owner}.{coordinate}", at)


def body_coordinate(builder: ModelBuilder, text: str) -> tuple[Any, str] | None:
    """Return body and coordinate of a name such as ``b2x``; of several bodies, the longest name."""
    for coordinate in sorted(BODY_COORDINATES, key=len):  # the shortest coordinate leaves the longest name
        name = text[: -len(coordinate)]
        if text.lower().endswith(coordinate) and name in builder.carriers:
            return builder.carriers[name].body, coordinate
    return None


def nothing(builder: ModelBuilder, args: Arguments, text: str, at: int) -> LanguageError:
    """Return the error of something that cannot be driven."""
    bodies = [f"{name}{coordinate}" for name in list(builder.carriers)[:300] for coordinate in BODY_COORDINATES]
    near = nearest_names(text, [*builder.model.joints, *bodies])
    hint = (
        f"did you mean {', '.join(near[:3])}?"
        if near
        else "write BODYx, BODY.x, TRIAD.x, JOINT.angle or distance(A, B)"
    )
    return args.source.error(at, f"{args.label}: there is no coordinate {shown(text)}; {hint}", near)


def single(builder: ModelBuilder, args: Arguments, key: str) -> Any:
    """Return the coordinate under a key that is given once."""
    args.code(key)
    (name, at), *_ = args.names(key, 1, member=True)
    return builder.coordinate(name, at, args)


def several(builder: ModelBuilder, args: Arguments, count: int) -> list[Any]:
    """Return the coordinates given by ``joint = ...``, one after the other."""
    return [builder.coordinate(name, at, args) for name, at in args.names("joint", count, member=True)]


def offset(builder: ModelBuilder, args: Arguments, unit: str | None) -> Any:
    """Return the value of the sum: a number, or a function of time."""
    if not args.has("offset"):
        return 0.0
    code = args.code("offset")
    value = args.scope.evaluate(code)
    if not isinstance(value, Timed | Call):
        return args.checked("offset", value, unit)
    profile = profile_of(args, code, unit)
    builder.functions.append((args.source, args.place("offset"), args.label, profile))
    return profile


def couple(builder: ModelBuilder, args: Arguments, unit: str | None, add: Callable[[Any], Any]) -> None:
    """Add a coupler; ``add`` takes the offset, which has this unit."""
    constant = offset(builder, args, unit)
    with args.refusals():
        add(constant)


@statement("coupler", "coupler", keys=("ratios", "offset"), repeated=("joint",))
def coupler(builder: ModelBuilder, args: Arguments) -> None:
    """Keep the sum of ratio times coordinate; the ratios stand in the order of the joints."""
    wanted = several(builder, args, len(args.keys.get("joint", ())))
    ratios = args.row("ratios", None, (len(wanted),) if wanted else range(1, MOST_COUPLED))
    pairs = list(zip(wanted, ratios.tolist(), strict=False))
    couple(builder, args, None, lambda constant: builder.model.add_coupler(args.name, pairs, constant))


@statement("gear", "coupler", keys=("ratio", "offset"), repeated=("joint",))
def gear(builder: ModelBuilder, args: Arguments) -> None:
    """Keep first + ratio * second."""
    first, second = several(builder, args, 2)
    args.code("ratio")
    ratio = args.checked("ratio", args.scope.evaluate(args.code("ratio")), None)
    unit = unit_of({"joint": first})
    couple(builder, args, unit, lambda constant: builder.model.add_gear(args.name, first, second, ratio, constant))


@statement("rack and pinion", "coupler", keys=("rack", "pinion", "radius", "offset"))
def rack_and_pinion(builder: ModelBuilder, args: Arguments) -> None:
    """Keep rack - radius * pinion."""
    rack, pinion = single(builder, args, "rack"), single(builder, args, "pinion")
    args.code("radius")
    radius = args.number("radius", 0.0, "m")
    couple(
        builder,
        args,
        "m",
        lambda constant: builder.model.add_rack_and_pinion(args.name, rack, pinion, radius, constant),
    )


@statement("screw", "coupler", keys=("joint", "pitch", "offset"))
def screw(builder: ModelBuilder, args: Arguments) -> None:
    """Keep displacement - pitch / (2 pi) * angle of a cylindrical joint."""
    (name, at), *_ = args.names("joint", 1)
    joint = builder.joint(name.text, at, args)
    args.code("pitch")
    pitch = args.number("pitch", 0.0, "m")
    couple(builder, args, "m", lambda constant: builder.model.add_screw(args.name, joint, pitch, constant))


@statement("differential", "coupler", keys=("carrier", "first", "second", "ratio", "offset"))
def differential(builder: ModelBuilder, args: Arguments) -> None:
    """Keep first + ratio * second - (1 + ratio) * carrier."""
    carrier, first, second = (single(builder, args, key) for key in ("carrier", "first", "second"))
    ratio = args.number("ratio", 1.0)
    couple(
        builder,
        args,
        unit_of({"joint": carrier}),
        lambda constant: builder.model.add_differential(args.name, carrier, first, second, ratio, constant),
    )

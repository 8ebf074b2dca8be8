"""Gears, racks, screws, differentials, and couplers of any coordinates."""

from collections.abc import Callable
from typing import Any

from rtmbs.language.arguments import Arguments
from rtmbs.language.builder import ModelBuilder, statement
from rtmbs.language.scope import Call, Timed
from rtmbs.language.statements.drivers import profile_of

MOST = 100  # coordinates of one coupler


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
    profile = profile_of(args, code)
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
    ratios = args.row("ratios", None, (len(wanted),) if wanted else range(1, MOST))
    pairs = list(zip(wanted, ratios.tolist(), strict=False))
    couple(builder, args, None, lambda constant: builder.model.add_coupler(args.name, pairs, constant))


@statement("gear", "coupler", keys=("ratio", "offset"), repeated=("joint",))
def gear(builder: ModelBuilder, args: Arguments) -> None:
    """Keep first + ratio * second."""
    first, second = several(builder, args, 2)
    args.code("ratio")
    ratio = args.checked("ratio", args.scope.evaluate(args.code("ratio")), None)
    couple(builder, args, None, lambda constant: builder.model.add_gear(args.name, first, second, ratio, constant))


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
        "",
        lambda constant: builder.model.add_differential(args.name, carrier, first, second, ratio, constant),
    )

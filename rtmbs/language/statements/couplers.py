"""Gears, racks, screws, differentials, and couplers of any coordinates."""

from collections.abc import Callable
from typing import Any

from rtmbs.language.build import Build
from rtmbs.language.given import Given
from rtmbs.language.kinds import statement
from rtmbs.language.scope import Call, Timed
from rtmbs.language.statements.drivers import profile_of

MOST = 100  # coordinates of one coupler


def single(build: Build, given: Given, key: str) -> Any:
    """Return the coordinate under a key that is given once."""
    given.code(key)
    (name, at), *_ = given.names(key, 1, member=True)
    return build.coordinate(name, at, given)


def several(build: Build, given: Given, count: int) -> list[Any]:
    """Return the coordinates given by ``joint = ...``, one after the other."""
    return [build.coordinate(name, at, given) for name, at in given.names("joint", count, member=True)]


def offset(build: Build, given: Given, unit: str | None) -> Any:
    """Return what the sum is kept at: a number, or a function of time."""
    if not given.has("offset"):
        return 0.0
    code = given.code("offset")
    value = given.scope.evaluate(code)
    if not isinstance(value, Timed | Call):
        return given.checked("offset", value, unit)
    profile = profile_of(given, code)
    build.functions.append((given.source, given.place("offset"), given.what, profile))
    return profile


def couple(build: Build, given: Given, unit: str | None, add: Callable[[Any], Any]) -> None:
    """Add a coupler; ``add`` takes the offset, which has this unit."""
    constant = offset(build, given, unit)
    with given.refusals():
        add(constant)


@statement("coupler", "coupler", keys=("ratios", "offset"), repeated=("joint",))
def coupler(build: Build, given: Given) -> None:
    """Keep the sum of ratio times coordinate; the ratios stand in the order of the joints."""
    wanted = several(build, given, len(given.keys.get("joint", ())))
    ratios = given.row("ratios", None, (len(wanted),) if wanted else range(1, MOST))
    pairs = list(zip(wanted, ratios.tolist(), strict=False))
    couple(build, given, None, lambda constant: build.model.add_coupler(given.name, pairs, constant))


@statement("gear", "coupler", keys=("ratio", "offset"), repeated=("joint",))
def gear(build: Build, given: Given) -> None:
    """Keep first + ratio * second."""
    first, second = several(build, given, 2)
    given.code("ratio")
    ratio = given.checked("ratio", given.scope.evaluate(given.code("ratio")), None)
    couple(build, given, None, lambda constant: build.model.add_gear(given.name, first, second, ratio, constant))


@statement("rack and pinion", "coupler", keys=("rack", "pinion", "radius", "offset"))
def rack_and_pinion(build: Build, given: Given) -> None:
    """Keep rack - radius * pinion."""
    rack, pinion = single(build, given, "rack"), single(build, given, "pinion")
    given.code("radius")
    radius = given.number("radius", 0.0, "m")
    couple(
        build,
        given,
        "m",
        lambda constant: build.model.add_rack_and_pinion(given.name, rack, pinion, radius, constant),
    )


@statement("screw", "coupler", keys=("joint", "pitch", "offset"))
def screw(build: Build, given: Given) -> None:
    """Keep displacement - pitch / (2 pi) * angle of a cylindrical joint."""
    (name, at), *_ = given.names("joint", 1)
    joint = build.joint(name.text, at, given)
    given.code("pitch")
    pitch = given.number("pitch", 0.0, "m")
    couple(build, given, "m", lambda constant: build.model.add_screw(given.name, joint, pitch, constant))


@statement("differential", "coupler", keys=("carrier", "first", "second", "ratio", "offset"))
def differential(build: Build, given: Given) -> None:
    """Keep first + ratio * second - (1 + ratio) * carrier."""
    carrier, first, second = (single(build, given, key) for key in ("carrier", "first", "second"))
    ratio = given.number("ratio", 1.0)
    couple(
        build,
        given,
        "",
        lambda constant: build.model.add_differential(given.name, carrier, first, second, ratio, constant),
    )

"""Springs, dampers, motors, wrenches: every force law of the model."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from rtmbs.language.build import Build
from rtmbs.language.given import Given
from rtmbs.language.kinds import KINDS, Kind
from rtmbs.language.statements.joints import key_of, spelled
from rtmbs.language.values import value_of
from rtmbs.model import FORCE_TYPES, ForceLaw

TITLES = {"SpringDamper": ("spring", "damper"), "TorsionSpring": ("torsion spring", "torsion damper")}
ATTACHED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # keys, and those that come twice
    "between": ((), ("triad",)),
    "joint": (("joint",), ()),
    "body": (("body", "point"), ()),
}
OTHER_NAMES = {"value": ("torque", "force")}  # of a motor
UNITS = {"length": "m", "angle": "", "point": "m"}


def register_forces() -> None:
    """Register a statement for every force law of the model, also for those added since."""
    for name, law in FORCE_TYPES.items():
        for title in TITLES.get(name, (spelled(name),)):
            if title not in KINDS:
                keys, repeated = ATTACHED[law.attaches]
                names = [
                    name for field in fields(law) for name in (key_of(field.name), *OTHER_NAMES.get(field.name, ()))
                ]
                KINDS[title] = Kind(title, "force", force_statement(law), (*names, *keys), repeated)


def force_statement(law: type[ForceLaw]) -> Callable[[Build, Given], None]:
    """Return what a force statement of this law does."""

    def force(build: Build, given: Given) -> None:
        where = attached(build, given, law)
        values = law_values(given, law)
        with given.refusals():
            build.model.add_force(given.name, law(**values), **where)

    return force


def attached(build: Build, given: Given, law: type[ForceLaw]) -> dict[str, Any]:
    """Return where the force acts."""
    if law.attaches == "between":
        return {"between": tuple(build.triad(name, at, given) for name, at in given.names("triad", 2))}
    if law.attaches == "joint":
        (name, at), *_ = given.names("joint", 1, member=True)
        return {"joint": build.coordinate(name, at, given)}
    (name, at), *_ = given.names("body", 1)
    point = {"point": given.row("point", "m")} if given.has("point") else {}
    return {"body": build.body(name, at, given), **point}


def law_values(given: Given, law: type[ForceLaw]) -> dict[str, Any]:
    """Return the fields of a force law."""
    values: dict[str, Any] = {}
    hints = get_type_hints(law)
    for field in fields(law):
        names = [name for name in (key_of(field.name), *OTHER_NAMES.get(field.name, ())) if given.has(name)]
        if len(names) > 1:
            raise given.source.error(given.place(names[1]), f"{given.what}: {names[0]} says this too; give one of them")
        if names and get_origin(hints[field.name]) is Literal:
            values[field.name] = given.word(names[0], get_args(hints[field.name]))
        elif names:
            values[field.name] = value_of(given, names[0])
        elif field.default is MISSING:
            values[field.name] = 0.0 if given.title.endswith("damper") else given.code(key_of(field.name))
    return values

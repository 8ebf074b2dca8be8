"""Springs, dampers, motors, wrenches: every force law of the model."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from rtmbs.language.arguments import Arguments, value_of
from rtmbs.language.builder import STATEMENTS, ModelBuilder, StatementKind
from rtmbs.language.statements.joints import key_of, spelled
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
            if title not in STATEMENTS:
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

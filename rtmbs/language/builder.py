"""Statements of a model file: their register, their arguments, and the builder of the model.

The register of statements, and the builder of the model that statements act on.

To add a statement, write a function with the decorator ``statement`` (docs/extending.md).

Arguments of one statement, read by key with errors at their places: numbers, rows, names, functions, profiles.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.core.bounds import BEYOND
from rtmbs.errors import LanguageError, ModelError, nearest_names, shown
from rtmbs.language.document import Analysis, Place
from rtmbs.language.expressions import Expression, ExpressionRow, Steps
from rtmbs.language.parse import Argument, Code, Dimension, Name, Source, Statement, dimension_of, written
from rtmbs.language.scope import Call, Quantity, Row, Scope, Timed, Word
from rtmbs.model import PROFILES, Body, Input, Joint, Marker, Model, Profile, Staircase

SWITCHES = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
Units = str | tuple[str, ...] | None  # None: any unit will do
PYTHON_ONLY = ("Function",)  # made of functions in Python


class Arguments:
    """The arguments of a statement of a known kind."""

    def __init__(self, scope: Scope, statement: Statement, title: str) -> None:
        self.scope, self.statement, self.title = scope, statement, title
        self.source: Source = scope.source
        self.keys: dict[str, list[Argument]] = {}
        self.flags: dict[str, int] = {}

    @property
    def name(self) -> str:
        """The last word of the statement: the name of its element."""
        return self.statement.words[-1]

    @property
    def label(self) -> str:
        """The beginning of a message."""
        return f"{self.title} {self.name!r}"

    @property
    def at(self) -> int:
        """Position of the name in the text."""
        return self.statement.places[-1]

    def sort(self, keys: Collection[str], flags: Collection[str] = (), repeated: Collection[str] = ()) -> "Arguments":
        """Put the arguments under their keys; raises LanguageError for an unknown one."""
        for argument in self.statement.arguments:
            name = sole_name(argument.key if argument.key is not None else argument.value)
            at = (argument.key or argument.value)[0].at
            text = name.text.lower() if name else ""
            if argument.key is None:
                if text not in flags:
                    raise self.unknown_key(at, text, flags, [*keys, *repeated], flag=True)
                self.flags[text] = at
            elif text not in keys and text not in repeated:
                raise self.unknown_key(at, text, [*keys, *repeated], flags, flag=False)
            elif text in self.keys and text not in repeated:
                raise self.source.error(at, f"{self.subject}: {text} is given twice")
            else:
                self.keys.setdefault(text, []).append(argument)
        return self

    @property
    def subject(self) -> str:
        """The statement in a message; one without a name of its own by its title."""
        return self.label if len(self.statement.words) > len(self.title.split()) else self.title

    def unknown_key(
        self, at: int, text: str, known: Collection[str], other: Collection[str], flag: bool
    ) -> LanguageError:
        """Return the error of an unknown argument."""
        near = nearest_names(text, [*known, *other])
        listed = ", ".join(sorted(known) or sorted(other)) or "nothing"
        hint = f"did you mean {near[0]!r}?" if near else f"it takes {listed}"
        if flag and text in other:
            return self.source.error(at, f"{self.subject}: {text} needs a value: {text} = ...", [f"{text} ="])
        what = shown(text) if text else "this"
        return self.source.error(at, f"{self.subject} takes no {what}; {hint}", near or sorted(known))

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Turn a ModelError into a LanguageError at this statement."""
        try:
            yield
        except LanguageError:
            raise
        except ModelError as error:
            raise self.source.error(self.at, str(error)) from None

    def has(self, key: str) -> bool:
        return key in self.keys

    def place(self, key: str) -> int:
        """Return where the value of a key begins, or the statement's name without one."""
        return self.keys[key][0].value[-1].at if key in self.keys else self.at

    def code(self, key: str) -> Code:
        """Return the value of a key; raises LanguageError when there is none."""
        if key not in self.keys:
            raise self.source.error(self.at, f"{self.subject} needs {key} = ...", [f"{key} ="])
        return self.keys[key][0].value

    def number(self, key: str, default: float, unit: str | None = "") -> float:
        """Return a number in SI units."""
        if key not in self.keys:
            return default
        return self.checked(key, self.scope.evaluate(self.code(key)), unit)

    def checked(self, key: str, value: Any, unit: str | None) -> float:
        """Return a value as a number, refused when it has the unit of something else; None: any unit will do."""
        if isinstance(value, Word):
            raise self.scope.unknown(value)
        if not isinstance(value, Quantity):
            kind = "a function of time" if isinstance(value, Timed) else "several values"
            raise self.source.error(value.at, f"{self.subject}: {key} takes a number, and this is {kind}")
        if value.eaten and (unit is None or value.dimension != dimension_of(unit)):
            raise self.scope.ambiguous(value)
        if unit is not None and value.dimension is not None and value.dimension != dimension_of(unit):
            found, wanted = written(value.dimension), written(dimension_of(unit))
            raise self.source.error(value.at, f"{self.subject}: {key} is {found}; it must be {wanted}")
        if abs(value.value) > BEYOND:
            raise self.source.error(
                value.at, f"{self.subject}: {key} is {value.value:g}; no number may be beyond {BEYOND:g}"
            )
        return value.value

    def row(self, key: str, unit: Units = "", sizes: Collection[int] = (3,)) -> np.ndarray:
        """Return a row of numbers in SI units; ``unit`` is that of every number, or a unit for each."""
        value = self.scope.evaluate(self.code(key))
        return np.array(self.items(key, value, unit, sizes))

    def direction(self, key: str) -> np.ndarray:
        """Return a direction (3,): its length counts for nothing, so its numbers may all be lengths, or of one unit."""
        value = self.scope.evaluate(self.code(key))
        items = value.items if isinstance(value, Row) else ()
        units = {item.dimension for item in items if isinstance(item, Quantity) and item.dimension is not None}
        return np.array(self.items(key, value, "" if len(units) > 1 else None, (3,)))

    def items(self, key: str, value: Any, unit: Units, sizes: Collection[int]) -> list[float]:
        wanted = " or ".join(str(size) for size in sizes)
        if isinstance(value, Word):
            raise self.scope.unknown(value)
        if not isinstance(value, Row):
            value = Row((value,), value.at)
        if len(value.items) not in sizes:
            raise self.source.error(
                value.at, f"{self.subject}: {key} has {len(value.items)} numbers; it takes {wanted}"
            )
        units: tuple[str | None, ...] = unit if isinstance(unit, tuple) else (unit,) * len(value.items)
        if len(units) != len(value.items):  # which is refused elsewhere
            units = (None,) * len(value.items)
        return [self.checked(key, item, one) for item, one in zip(value.items, units, strict=True)]

    def rows(self, key: str, unit: str = "", count: int = 3) -> np.ndarray:
        """Return rows of three numbers in SI units."""
        value = self.scope.evaluate(self.code(key))
        if not isinstance(value, Row) or len(value.items) != count:
            size = len(value.items) if isinstance(value, Row) else 1
            raise self.source.error(
                value.at, f"{self.subject}: {key} has {size} parts; it takes {count}: [(...), (...), ...]"
            )
        return np.array([self.items(key, item, unit, (3,)) for item in value.items])

    def word(self, key: str, choices: Collection[str]) -> str | None:
        """Return one of several words, or None when the key is not given."""
        if key not in self.keys:
            return None
        name = sole_name(self.code(key))
        text = name.text.lower() if name else ""
        if text not in choices:
            near = nearest_names(text, choices)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            listed = ", ".join(choices)
            raise self.source.error(
                self.place(key), f"{self.subject}: {key} must be one of {listed}{hint}", list(choices)
            )
        return text

    def switch(self, key: str, default: bool) -> bool:
        """Return yes or no."""
        word = self.word(key, SWITCHES)
        return default if word is None else SWITCHES[word]

    def names(self, key: str, count: int, member: bool = False) -> list[tuple[Name, int]]:
        """Return the names under a key that may be given several times, with their places."""
        found = []
        for argument in self.keys.get(key, []):
            name = sole_name(argument.value)
            if name is None or (name.member is not None and not member):
                raise self.source.error(argument.value[0].at, f"{self.subject}: {key} takes a name")
            found.append((name, argument.value[0].at))
        if len(found) != count:
            at = found[count][1] if len(found) > count else self.at
            raise self.source.error(at, f"{self.subject} takes {count} {key}{'s' * (count > 1)}, not {len(found)}")
        return found


def sole_name(code: Code) -> Name | None:
    """Return the name that a value is, or None."""
    if len(code) == 1 and isinstance(code[0].operand, Name):
        return code[0].operand
    return None


def value_of(args: Arguments, key: str, words: bool = False) -> Any:
    """Return the value of a key; ``words``: it may be a name too."""
    return model_value(args, key, args.scope.evaluate(args.code(key)), words)


def model_value(args: Arguments, key: str, value: Any, words: bool = False) -> Any:
    """Return a value of the file as the model takes it."""
    if isinstance(value, Quantity):
        if value.eaten and not of_force(value.dimension):
            raise args.scope.ambiguous(value)
        return value.value
    if isinstance(value, Timed):
        return Expression(with_objects(args, key, value.steps))
    if isinstance(value, Word):
        if words and value.name.member is None:
            return value.name.text.lower()
        raise args.scope.unknown(value)
    if isinstance(value, Row):
        if any(isinstance(item, Timed) for item in value.items):
            return ExpressionRow(tuple(component(args, key, item) for item in value.items))
        return [model_value(args, key, item) for item in value.items]
    assert isinstance(value, Call)
    return called_object(args, key, value)


def of_force(dimension: Dimension | None) -> bool:
    """Return whether a unit is one of forces, torques, stiffness or damping, as N*m: laws take no other products."""
    return dimension is not None and dimension[1] == 1 and dimension[2] < 0


def with_objects(args: Arguments, key: str, steps: Steps) -> Steps:
    """Return instructions with the profiles that their calls mean."""
    return tuple(
        (kind, called_object(args, key, operand) if isinstance(operand, Call) else operand) for kind, operand in steps
    )


def component(args: Arguments, key: str, item: Any) -> Steps:
    """Return one component of a row of functions of time."""
    return (
        with_objects(args, key, item.steps) if isinstance(item, Timed) else (("number", args.checked(key, item, None)),)
    )


def callables() -> dict[str, type]:
    """Return the callable types by name in small letters."""
    known = {name: kind for name, kind in PROFILES.items() if name not in PYTHON_ONLY}
    known |= {"Staircase": Staircase, "Input": Input}
    return {name.lower(): kind for name, kind in known.items()}


def called_object(args: Arguments, key: str, call: Call) -> Any:
    """Return the profile, staircase or input that a call means; raises LanguageError for any other name."""
    known = callables()
    name = call.name.lower().replace(" ", "").replace("_", "")
    if name not in known:
        near = nearest_names(name, known)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(known)}, and functions of numbers"
        raise args.source.error(call.at, f"there is no function {call.name!r} here; {hint}", near)
    kind = known[name]
    names = [field.name for field in fields(kind) if field.repr and field.init]
    for word in call.named:
        if word not in names:
            raise args.source.error(call.at, f"{call.name} takes no {word!r}; it takes {', '.join(names)}", names)
    if len(call.items) > len(names):
        raise args.source.error(call.at, f"{call.name} takes {len(names)} values, not {len(call.items)}")
    values = dict(zip(names, call.items, strict=False))
    if twice := values.keys() & call.named.keys():
        raise args.source.error(call.at, f"{call.name} is given {min(twice)} twice")
    values |= call.named
    missing = [field.name for field in fields(kind) if field.name in names and field.default is MISSING]
    for word in missing:
        if word not in values:
            raise args.source.error(call.at, f"{call.name} needs {word} = ...", [f"{word} ="])
    arguments = {word: model_value(args, key, value) for word, value in values.items()}
    try:
        result = kind(**arguments)
    except ModelError as error:  # it names the kind only
        raise args.source.error(call.at, f"{args.label}: {error}") from None
    try:
        return result.checked(args.label) if hasattr(result, "checked") else result
    except ModelError as error:
        raise args.source.error(call.at, str(error)) from None


# in this order
STAGES = ("constant", "system", "body", "triad", "joint", "rod", "coupler", "force", "driver", "initial")


@dataclass(frozen=True)
class StatementKind:
    """A kind of statement."""

    title: str  # its words in small letters
    stage: str  # when it is read: a body before the triads that it carries
    act: Callable[["ModelBuilder", Arguments], None]
    keys: tuple[str, ...] = ()  # what it takes, each once
    repeated: tuple[str, ...] = ()  # what it takes several times
    flags: tuple[str, ...] = ()  # what stands there without a value
    named: bool = True  # a name follows its words
    free: bool = False  # its arguments are not keys


STATEMENTS: dict[str, StatementKind] = {}


def statement(
    title: str,
    stage: str,
    *,
    keys: tuple[str, ...] = (),
    repeated: tuple[str, ...] = (),
    flags: tuple[str, ...] = (),
    named: bool = True,
    free: bool = False,
) -> Callable[[Callable[["ModelBuilder", Arguments], None]], Callable[["ModelBuilder", Arguments], None]]:
    """Register the function of a statement, which takes a ModelBuilder and Arguments."""

    def register(act: Callable[["ModelBuilder", Arguments], None]) -> Callable[["ModelBuilder", Arguments], None]:
        STATEMENTS[title] = StatementKind(title, stage, act, keys, repeated, flags, named, free)
        return act

    return register


class BodyAxes(NamedTuple):
    """A body of the file: ground may have several names, each with axes of its own."""

    body: Body
    position: np.ndarray  # (3,) of its axes in those of the body [m]
    orientation: np.ndarray  # (3, 3) its axes to those of the body


@dataclass
class ModelBuilder:
    """A model being built."""

    model: Model
    folder: Path | None = None  # of the file that describes the model; None: it is no file

    def __post_init__(self) -> None:
        ground = self.model.ground
        self.carriers: dict[str, BodyAxes] = {ground.name: BodyAxes(ground, np.zeros(3), np.eye(3))}
        self.analysis: Analysis | None = None
        self.constants: dict[str, float] = {}
        self.dimensions: dict[str, Dimension] = {}  # of constants that have a unit; of items of arrays as "name[1]"
        self.arrays: dict[str, list[float]] = {}
        self.given: dict[str, float | list[float]] = {}  # constants whose value the caller sets
        self.given_dimensions: dict[str, Dimension] = {}  # of those that are given with a unit
        self.later: dict[str, int] = {}  # constants that the text gives further down, and the line of each
        self.constraints: list[Any] = []  # of a kinematic analysis alone
        self.measures: dict[str, dict[str, Any]] = {}  # targets by name, as a driver has them
        self.places: dict[str, Place] = {}
        self.functions: list[tuple[Source, int, str, Profile]] = []  # of drivers: where each stands

    def scope(self, source: Source) -> Scope:
        """Return the scope of the values of a text."""
        return Scope(source, self.constants, self.folder, later=self.later, dimensions=self.dimensions)

    def set_gravity(self, gravity: np.ndarray) -> None:
        """Replace gravity (3,) [m/s^2]."""
        self.model.gravity = Model(self.model.name, gravity).gravity

    def add_body(self, args: Arguments, **values: Any) -> None:
        """Add a body that moves."""
        if args.name in self.carriers:
            raise ModelError(f"body {args.name!r}: there is already a body of this name; choose another")
        body = self.model.add_body(args.name, **values)
        self.carriers[args.name] = BodyAxes(body, np.zeros(3), np.eye(3))

    def add_ground(
        self, args: Arguments, position: np.ndarray, orientation: np.ndarray, looks: Mapping[str, Any]
    ) -> None:
        """Give ground another name, with axes of its own; it looks as its first statement with a shape says."""
        if args.name in self.carriers and args.name != self.model.ground.name:
            raise ModelError(f"body {args.name!r}: there is already a body of this name; choose another")
        self.carriers[args.name] = BodyAxes(self.model.ground, position, orientation)
        if looks["shape"] is not None and self.model.ground.name not in self.model.looks:
            self.model.set_looks(self.model.ground, **looks)

    def add_triad(self, args: Arguments, carrier: BodyAxes, origin: np.ndarray, axes: np.ndarray) -> None:
        """Add a triad given in the axes of its carrier."""
        if args.name in self.carriers:
            raise ModelError(f"triad {args.name!r}: there is already a body of this name; choose another")
        if np.any(carrier.position) or not np.array_equal(carrier.orientation, np.eye(3)):
            origin, axes = carrier.position + carrier.orientation @ origin, carrier.orientation @ axes
        self.model.add_marker(args.name, carrier.body, origin, frame=carrier.body, axes=axes)

    def carrier(self, name: Name, at: int, args: Arguments) -> BodyAxes:
        """Return the body that a name means."""
        return find("body", self.carriers, name.text, at, args)

    def body(self, name: Name, at: int, args: Arguments) -> Body:
        """Return the body of the model that a name means."""
        return self.carrier(name, at, args).body

    def triad(self, name: Name, at: int, args: Arguments) -> Marker:
        """Return the marker that a name means."""
        return find("triad", self.model.markers, name.text, at, args)

    def joint(self, name: str, at: int, args: Arguments) -> Joint:
        """Return the joint that a name means."""
        return find("joint", self.model.joints, name, at, args)

    def coordinate(self, name: Name, at: int, args: Arguments) -> Any:
        """Return ``joint`` or ``joint.coordinate`` as the model takes it."""
        joint = self.joint(" ".join(name.words), at, args)
        return joint if name.member is None else (joint, name.member)


def find(kind: str, known: Mapping[str, Any], name: str, at: int, args: Arguments) -> Any:
    """Return the element of a name; raises LanguageError with the nearest names."""
    if name in known:
        return known[name]
    near = nearest_names(name, known)
    raise missing(kind, name, known, near, at, args)


def missing(kind: str, name: str, known: Iterable[str], near: list[str], at: int, args: Arguments) -> LanguageError:
    """Return the error of a name that nothing carries."""
    if kind == "triad" and name.lower() in ("ground", "world"):
        return args.source.error(
            at, f"{args.subject}: {name} is a body; write body = {name}, or a triad on it: triad o (body = {name});"
        )
    some = list(known)[:6]
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"there are {', '.join(map(repr, some))}"
    if not some:
        hint = f"the file has no {kind} yet"
    return args.source.error(at, f"{args.subject}: there is no {kind} named {shown(name)}; {hint}", near)

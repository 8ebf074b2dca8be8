"""The register of statements, and the builder of the model that statements act on.

To add a statement, write a function with the decorator ``statement`` (docs/extending.md).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import LanguageError, ModelError, nearest_names, shown
from rtmbs.language.arguments import Arguments
from rtmbs.language.document import Analysis, Place
from rtmbs.language.scope import Scope
from rtmbs.language.syntax import Name, Source
from rtmbs.language.units import Dimension
from rtmbs.model import Body, Joint, Marker, Model, Profile

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

"""``build``: from statements to a Model and what to do with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import LanguageError, ModelError, nearest_names, shown
from rtmbs.language.document import Analysis, Place
from rtmbs.language.given import Given
from rtmbs.language.scope import Scope
from rtmbs.language.source import Source
from rtmbs.language.syntax import Name
from rtmbs.model import Body, Joint, Marker, Model, Profile


class Carrier(NamedTuple):
    """A body of the file: ground may have several names, each with axes of its own."""

    body: Body
    position: np.ndarray  # (3,) of its axes in those of the body [m]
    orientation: np.ndarray  # (3, 3) its axes to those of the body


@dataclass
class Build:
    """A model being built."""

    model: Model
    folder: Path | None = None  # of the file that describes the model; None: it is no file

    def __post_init__(self) -> None:
        ground = self.model.ground
        self.carriers: dict[str, Carrier] = {ground.name: Carrier(ground, np.zeros(3), np.eye(3))}
        self.analysis: Analysis | None = None
        self.constants: dict[str, float] = {}
        self.places: dict[str, Place] = {}
        self.functions: list[tuple[Source, int, str, Profile]] = []  # of drivers: where each stands

    def scope(self, source: Source) -> Scope:
        """Return what values of a text may refer to."""
        return Scope(source, self.constants, self.folder)

    def set_gravity(self, gravity: np.ndarray) -> None:
        """Replace gravity (3,) [m/s^2]."""
        self.model.gravity = Model(self.model.name, gravity).gravity

    def add_body(self, given: Given, **values: Any) -> None:
        """Add a body that moves."""
        if given.name in self.carriers:
            raise ModelError(f"body {given.name!r}: there is already a body of this name; choose another")
        body = self.model.add_body(given.name, **values)
        self.carriers[given.name] = Carrier(body, np.zeros(3), np.eye(3))

    def add_ground(self, given: Given, position: np.ndarray, orientation: np.ndarray, looks: Mapping[str, Any]) -> None:
        """Give ground another name, with axes of its own; it looks as its first statement with a shape says."""
        if given.name in self.carriers and given.name != self.model.ground.name:
            raise ModelError(f"body {given.name!r}: there is already a body of this name; choose another")
        self.carriers[given.name] = Carrier(self.model.ground, position, orientation)
        if looks["shape"] is not None and self.model.ground.name not in self.model.looks:
            self.model.set_looks(self.model.ground, **looks)

    def add_triad(self, given: Given, carrier: Carrier, origin: np.ndarray, axes: np.ndarray) -> None:
        """Add a triad given in the axes of its carrier."""
        if given.name in self.carriers:
            raise ModelError(f"triad {given.name!r}: there is already a body of this name; choose another")
        if np.any(carrier.position) or not np.array_equal(carrier.orientation, np.eye(3)):
            origin, axes = carrier.position + carrier.orientation @ origin, carrier.orientation @ axes
        self.model.add_marker(given.name, carrier.body, origin, frame=carrier.body, axes=axes)

    def carrier(self, name: Name, at: int, given: Given) -> Carrier:
        """Return the body that a name means."""
        return find("body", self.carriers, name.text, at, given)

    def body(self, name: Name, at: int, given: Given) -> Body:
        """Return the body of the model that a name means."""
        return self.carrier(name, at, given).body

    def triad(self, name: Name, at: int, given: Given) -> Marker:
        """Return the marker that a name means."""
        return find("triad", self.model.markers, name.text, at, given)

    def joint(self, name: str, at: int, given: Given) -> Joint:
        """Return the joint that a name means."""
        return find("joint", self.model.joints, name, at, given)

    def coordinate(self, name: Name, at: int, given: Given) -> Any:
        """Return ``joint`` or ``joint.coordinate`` as the model takes it."""
        joint = self.joint(" ".join(name.words), at, given)
        return joint if name.member is None else (joint, name.member)


def find(kind: str, known: Mapping[str, Any], name: str, at: int, given: Given) -> Any:
    """Return what a name means; raises LanguageError with the nearest names."""
    if name in known:
        return known[name]
    near = nearest_names(name, known)
    raise missing(kind, name, known, near, at, given)


def missing(kind: str, name: str, known: Iterable[str], near: list[str], at: int, given: Given) -> LanguageError:
    """Return the error of a name that nothing carries."""
    some = list(known)[:6]
    hint = f"did you mean {', '.join(map(repr, near))}?" if near else f"there are {', '.join(map(repr, some))}"
    if not some:
        hint = f"the file has no {kind} yet"
    return given.source.error(at, f"{given.said}: there is no {kind} named {shown(name)}; {hint}", near)

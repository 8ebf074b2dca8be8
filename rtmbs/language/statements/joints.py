"""Joints between two triads, or between two bodies as ``Model.add_joint`` takes them, and rods."""

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from rtmbs.errors import ModelError
from rtmbs.language.build import Build
from rtmbs.language.geometry import place_joint
from rtmbs.language.given import Given
from rtmbs.language.kinds import KINDS, Kind, statement
from rtmbs.language.statements.bodies import turn
from rtmbs.model import JOINT_TYPES, JointType

TITLES = {"Prismatic": ("translational joint", "prismatic joint")}  # others are called as they are
PLACING = ("point", "point a", "point b", "axes a", "axes b", "frame", "cut", "closure")


def spelled(name: str) -> str:
    """Return the name of a class in words: ``PinInSlot`` is ``pin in slot``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def register_joints() -> None:
    """Register a statement for every joint type of the model, also for those added since."""
    for name, kind in JOINT_TYPES.items():
        for title in TITLES.get(name, (f"{spelled(name)} joint",)):
            if title not in KINDS:
                keys = (*(key_of(field.name) for field in fields(kind)), *PLACING)
                KINDS[title] = Kind(title, "joint", joint_statement(kind), keys, ("triad", "body"))


def key_of(field: str) -> str:
    return field.replace("_", " ")


def joint_statement(kind: type[JointType]) -> Callable[[Build, Given], None]:
    """Return what a joint statement of this type does."""

    def joint(build: Build, given: Given) -> None:
        if given.has("body"):
            between_bodies(build, given, kind)
        else:
            between_triads(build, given, kind)

    return joint


def between_triads(build: Build, given: Given, kind: type[JointType]) -> None:
    """Add a joint whose axes are those of two triads."""
    for key in given.keys:
        if key not in ("triad", "cut", "closure"):
            raise given.source.error(given.place(key), f"{given.what}: {key} belongs to a joint between two bodies")
    first, second = (build.triad(name, at, given) for name, at in given.names("triad", 2))
    options: dict[str, Any] = {"cut": given.switch("cut", False), "closure": given.word("closure", ("line", "point"))}
    with given.refusals():
        joint_type, placed = place_joint(kind, first, second, given.what)
        options |= placed._asdict()
        build.model.add_joint(given.name, joint_type, first.body, second.body, **options)


def between_bodies(build: Build, given: Given, kind: type[JointType]) -> None:
    """Add a joint of two bodies with its directions and points in numbers."""
    if given.has("triad"):
        raise given.source.error(given.place("triad"), f"{given.what} takes two triads or two bodies, not both")
    a, b = (build.body(name, at, given) for name, at in given.names("body", 2))
    directions = {field.name: given.row(key_of(field.name)) for field in fields(kind)}
    options: dict[str, Any] = {"cut": given.switch("cut", False), "closure": given.word("closure", ("line", "point"))}
    for key in together(given, "point", "point a", "point b"):
        options[key.replace(" ", "_")] = given.row(key, "m")
    for key in together(given, "frame", "axes a", "axes b"):
        options[key.replace(" ", "_")] = turn(given, key)
    if given.has("point"):
        options["point"] = given.row("point", "m")
    if given.has("frame"):
        name, at = given.names("frame", 1)[0]
        options["frame"] = "world" if name.text == "world" else build.body(name, at, given)
    with given.refusals():
        build.model.add_joint(given.name, directed(given, kind, directions), a, b, **options)


def together(given: Given, alone: str, a: str, b: str) -> tuple[str, ...]:
    """Return the keys ``a`` and ``b`` when both are given; raises LanguageError for one alone, or beside ``alone``."""
    said = [key for key in (a, b) if given.has(key)]
    if len(said) == 1:
        other = b if said[0] == a else a
        message = f"{given.what}: {said[0]} needs {other} = ... too"
        raise given.source.error(given.place(said[0]), message, [f"{other} ="])
    if said and given.has(alone):
        raise given.source.error(given.place(alone), f"{given.what}: {a} and {b} say the {alone} too; leave one out")
    return tuple(said)


@statement("rod", "rod", keys=("length",), repeated=("triad",))
def rod(build: Build, given: Given) -> None:
    """Keep the distance of two triads, as it is at the reference pose unless a length is given."""
    first, second = (build.triad(name, at, given) for name, at in given.names("triad", 2))
    length = given.number("length", 0.0, "m") if given.has("length") else None
    with given.refusals():
        build.model.add_rod(given.name, (first, second), length)


def directed(given: Given, kind: type[JointType], directions: dict[str, Any]) -> JointType:
    """Return a joint type with its directions; ModelError names the joint."""
    try:
        return kind(**directions)
    except ModelError as error:
        raise ModelError(f"{given.what}: {error}") from None

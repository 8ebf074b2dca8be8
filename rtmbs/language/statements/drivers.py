"""Drivers: a coordinate of a joint or of a body, a distance or an angle, each a function of time."""

from typing import Any

from rtmbs.errors import LanguageError, nearest_names, shown
from rtmbs.language.build import Build
from rtmbs.language.expressions import Expression, ExpressionProfile
from rtmbs.language.given import Given
from rtmbs.language.kinds import statement
from rtmbs.language.scope import Call, Quantity, Word
from rtmbs.language.values import taken
from rtmbs.model import Profile
from rtmbs.model.drivers import BODY_COORDINATES, MARKER_AXES

OF_TWO = {"distance": "between", "angle": "axes"}
OF_ONE = ("joint", "body")  # joint(NAME, COORDINATE): for a joint and a body of one name


@statement("driver", "driver", free=True)
def driver(build: Build, given: Given) -> None:
    """Prescribe one thing: ``blockx = 8 + 3 * sin(4 * TIME)``."""
    arguments = given.statement.arguments
    if len(arguments) != 1 or arguments[0].key is None:
        raise given.source.error(given.at, f"{given.what} needs one thing to drive: (crankx = 2 * TIME)", ["="])
    where = target(build, given, given.scope.evaluate(arguments[0].key))
    profile = profile_of(given, arguments[0].value)
    with given.refusals():
        build.model.add_driver(given.name, profile, **where)
    build.functions.append((given.source, arguments[0].value[-1].at, f"driver {given.name!r}", profile))


def profile_of(given: Given, code: Any) -> Profile:
    """Return the profile that a value means: a number, an expression of TIME, or a profile by name."""
    value = given.scope.evaluate(code)
    found = taken(given, "the driver", value)
    if isinstance(found, float):
        return ExpressionProfile((("number", found),))
    if isinstance(found, Expression):
        return ExpressionProfile(found.steps)
    if not isinstance(value, Call) or not callable(found):
        raise given.source.error(value.at, f"{given.what} follows a number, an expression of TIME or a profile")
    return found


def target(build: Build, given: Given, key: Any) -> dict[str, Any]:
    """Return what is driven, as ``Model.add_driver`` takes it."""
    if isinstance(key, Call) and key.name.lower() in OF_TWO:
        kind = key.name.lower()
        if len(key.items) != 2 or key.named or not all(isinstance(item, Word | Quantity) for item in key.items):
            raise given.source.error(key.at, f"{given.what}: {kind} takes two triads")
        return {OF_TWO[kind]: tuple(end(build, given, item, kind) for item in key.items)}
    if isinstance(key, Call) and key.name.lower() in OF_ONE:
        return of_one(build, given, key)
    if not isinstance(key, Word | Quantity) or key.name is None:
        raise given.source.error(key.at, f"{given.what} drives a coordinate, a distance or an angle of two triads")
    name, at = key.name, key.at
    if name.member is not None:
        return member(build, given, name.words, name.member, at)
    text = name.text
    joint, coordinate = build.model.joints.get(text), body_coordinate(build, text)
    if joint is not None and coordinate is not None:
        raise given.source.error(at, f"{given.what}: {text} is a joint and a coordinate of a body; write it with a dot")
    if joint is not None:
        return {"joint": joint}
    if coordinate is not None:
        return {"body": coordinate}
    raise nothing(build, given, text, at)


def of_one(build: Build, given: Given, key: Call) -> dict[str, Any]:
    """Return ``joint(NAME, COORDINATE)`` or ``body(NAME, COORDINATE)``."""
    names = [item.name for item in key.items if isinstance(item, Word | Quantity) and item.name is not None]
    if len(key.items) != 2 or len(names) != 2 or key.named:
        raise given.source.error(key.at, f"{given.what}: {key.name} takes a name and a coordinate")
    owner, coordinate = names
    if key.name.lower() == "joint":
        return {"joint": (build.joint(owner.text, key.at, given), coordinate.text)}
    return {"body": (build.body(owner, key.at, given), coordinate.text.lower())}


def end(build: Build, given: Given, item: Any, kind: str) -> Any:
    """Return a triad of a distance, or a triad and its axis of an angle."""
    name = item.name
    if name is None:
        raise given.source.error(item.at, f"{given.what}: {kind} takes two triads")
    triad = build.triad(name._replace(member=None), item.at, given)
    if kind == "distance" and name.member is None:
        return triad
    axis = (name.member or "h").lower()
    if kind == "distance" or axis not in MARKER_AXES:
        wanted = "a triad without an axis" if kind == "distance" else f"one of {', '.join(MARKER_AXES)}"
        raise given.source.error(item.at, f"{given.what}: {name.text} must be {wanted}", MARKER_AXES)
    return (triad, axis)


def member(build: Build, given: Given, words: tuple[str, ...], coordinate: str, at: int) -> dict[str, Any]:
    """Return ``b2.x`` or ``rev1.angle``."""
    owner = " ".join(words)
    joint, body = build.model.joints.get(owner), build.carriers.get(owner)
    of_joint = joint is not None and coordinate in joint.type.coordinates
    of_body = body is not None and coordinate.lower() in BODY_COORDINATES
    if of_joint and of_body:
        raise given.source.error(at, f"{given.what}: {owner} is a joint and a body, both with {coordinate}; rename one")
    if joint is not None and not of_body:
        return {"joint": (joint, coordinate)}
    if body is not None:
        return {"body": (body.body, coordinate.lower())}
    raise nothing(build, given, f"{owner}.{coordinate}", at)


def body_coordinate(build: Build, text: str) -> tuple[Any, str] | None:
    """Return what ``b2x`` means: of the bodies whose name it begins with, the one with the longest name."""
    for coordinate in sorted(BODY_COORDINATES, key=len):  # the shortest coordinate leaves the longest name
        name = text[: -len(coordinate)]
        if text.lower().endswith(coordinate) and name in build.carriers:
            return build.carriers[name].body, coordinate
    return None


def nothing(build: Build, given: Given, text: str, at: int) -> LanguageError:
    """Return the error of something that cannot be driven."""
    bodies = [f"{name}{coordinate}" for name in list(build.carriers)[:300] for coordinate in BODY_COORDINATES]
    near = nearest_names(text, [*build.model.joints, *bodies])
    hint = f"did you mean {', '.join(near[:3])}?" if near else "write BODYx, BODY.x, JOINT.angle or distance(A, B)"
    return given.source.error(at, f"{given.what}: there is no coordinate {shown(text)}; {hint}", near)

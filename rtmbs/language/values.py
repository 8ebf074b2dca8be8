"""Values as the model takes them: numbers, functions of time, and what is called by name such as a profile."""

from dataclasses import MISSING, fields
from typing import Any

from rtmbs.errors import ModelError, nearest_names
from rtmbs.language.expressions import Expression, ExpressionRow, Steps
from rtmbs.language.given import Given
from rtmbs.language.scope import Call, Quantity, Row, Timed, Word
from rtmbs.model import PROFILES, Input, Staircase

PYTHON_ONLY = ("Function",)  # made of functions in Python


def value_of(given: Given, key: str, words: bool = False) -> Any:
    """Return whatever stands under a key; ``words``: a name may stand there too."""
    return taken(given, key, given.scope.evaluate(given.code(key)), words)


def taken(given: Given, key: str, value: Any, words: bool = False) -> Any:
    """Return a value of the file as the model takes it."""
    if isinstance(value, Quantity):
        return value.value
    if isinstance(value, Timed):
        return Expression(value.steps)
    if isinstance(value, Word):
        if words and value.name.member is None:
            return value.name.text.lower()
        raise given.scope.unknown(value)
    if isinstance(value, Row):
        if any(isinstance(item, Timed) for item in value.items):
            return ExpressionRow(tuple(component(given, key, item) for item in value.items))
        return [taken(given, key, item) for item in value.items]
    assert isinstance(value, Call)
    return made(given, key, value)


def component(given: Given, key: str, item: Any) -> Steps:
    """Return one component of a row of functions of time."""
    return item.steps if isinstance(item, Timed) else (("number", given.checked(key, item, None)),)


def callables() -> dict[str, type]:
    """Return what can be called, by name in small letters."""
    known = {name: kind for name, kind in PROFILES.items() if name not in PYTHON_ONLY}
    known |= {"Staircase": Staircase, "Input": Input}
    return {name.lower(): kind for name, kind in known.items()}


def made(given: Given, key: str, call: Call) -> Any:
    """Return the profile, staircase or input that a call means; raises LanguageError for any other name."""
    known = callables()
    name = call.name.lower().replace(" ", "").replace("_", "")
    if name not in known:
        near = nearest_names(name, known)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(known)}, and functions of numbers"
        raise given.source.error(call.at, f"there is no function {call.name!r} here; {hint}", near)
    kind = known[name]
    names = [field.name for field in fields(kind) if field.repr and field.init]
    for word in call.named:
        if word not in names:
            raise given.source.error(call.at, f"{call.name} takes no {word!r}; it takes {', '.join(names)}", names)
    if len(call.items) > len(names):
        raise given.source.error(call.at, f"{call.name} takes {len(names)} values, not {len(call.items)}")
    values = dict(zip(names, call.items, strict=False))
    if twice := values.keys() & call.named.keys():
        raise given.source.error(call.at, f"{call.name} is given {min(twice)} twice")
    values |= call.named
    missing = [field.name for field in fields(kind) if field.name in names and field.default is MISSING]
    for word in missing:
        if word not in values:
            raise given.source.error(call.at, f"{call.name} needs {word} = ...", [f"{word} ="])
    arguments = {word: taken(given, key, value) for word, value in values.items()}
    try:
        result = kind(**arguments)
    except ModelError as error:  # it names the kind only
        raise given.source.error(call.at, f"{given.what}: {error}") from None
    try:
        return result.checked(given.what) if hasattr(result, "checked") else result
    except ModelError as error:
        raise given.source.error(call.at, str(error)) from None

"""What one statement says: its arguments, read by key, each error at its place."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rtmbs.errors import LanguageError, ModelError, nearest_names, shown
from rtmbs.language.scope import Quantity, Row, Scope, Timed, Word
from rtmbs.language.source import Source
from rtmbs.language.syntax import Argument, Code, Name, Statement
from rtmbs.language.units import dimension_of, written
from rtmbs.limits.bounds import BEYOND

SWITCHES = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}


class Given:
    """The arguments of a statement of a known kind."""

    def __init__(self, scope: Scope, statement: Statement, title: str) -> None:
        self.scope, self.statement, self.title = scope, statement, title
        self.source: Source = scope.source
        self.keys: dict[str, list[Argument]] = {}
        self.flags: dict[str, int] = {}

    @property
    def name(self) -> str:
        """The last word: what the statement is about."""
        return self.statement.words[-1]

    @property
    def what(self) -> str:
        """The beginning of a message."""
        return f"{self.title} {self.name!r}"

    @property
    def at(self) -> int:
        """Where its name stands."""
        return self.statement.places[-1]

    def sort(self, keys: Collection[str], flags: Collection[str] = (), repeated: Collection[str] = ()) -> "Given":
        """Put the arguments under their keys; raises LanguageError for one that the statement does not know."""
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
                raise self.source.error(at, f"{self.said}: {text} is given twice")
            else:
                self.keys.setdefault(text, []).append(argument)
        return self

    @property
    def said(self) -> str:
        """The statement in a message; one without a name of its own by its title."""
        return self.what if len(self.statement.words) > len(self.title.split()) else self.title

    def unknown_key(
        self, at: int, text: str, known: Collection[str], other: Collection[str], flag: bool
    ) -> LanguageError:
        """Return the error of an argument that this statement does not know."""
        near = nearest_names(text, [*known, *other])
        listed = ", ".join(sorted(known) or sorted(other)) or "nothing"
        hint = f"did you mean {near[0]!r}?" if near else f"it takes {listed}"
        if flag and text in other:
            return self.source.error(at, f"{self.said}: {text} needs a value: {text} = ...", [f"{text} ="])
        what = shown(text) if text else "this"
        return self.source.error(at, f"{self.said} takes no {what}; {hint}", near or sorted(known))

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Turn what the model refuses into an error at this statement."""
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
            raise self.source.error(self.at, f"{self.said} needs {key} = ...", [f"{key} ="])
        return self.keys[key][0].value

    def number(self, key: str, default: float, unit: str = "") -> float:
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
            raise self.source.error(value.at, f"{self.said}: {key} takes a number, and this is {kind}")
        if unit is not None and value.dimension is not None and value.dimension != dimension_of(unit):
            found, wanted = written(value.dimension), written(dimension_of(unit))
            raise self.source.error(value.at, f"{self.said}: {key} is {found}; it must be {wanted}")
        if abs(value.value) > BEYOND:
            raise self.source.error(
                value.at, f"{self.said}: {key} is {value.value:g}; no number may be beyond {BEYOND:g}"
            )
        return value.value

    def row(self, key: str, unit: str | None = "", sizes: Collection[int] = (3,)) -> np.ndarray:
        """Return a row of numbers in SI units."""
        value = self.scope.evaluate(self.code(key))
        return np.array(self.items(key, value, unit, sizes))

    def items(self, key: str, value: Any, unit: str | None, sizes: Collection[int]) -> list[float]:
        wanted = " or ".join(str(size) for size in sizes)
        if isinstance(value, Word):
            raise self.scope.unknown(value)
        if not isinstance(value, Row):
            value = Row((value,), value.at)
        if len(value.items) not in sizes:
            raise self.source.error(value.at, f"{self.said}: {key} has {len(value.items)} numbers; it takes {wanted}")
        return [self.checked(key, item, unit) for item in value.items]

    def rows(self, key: str, unit: str = "", count: int = 3) -> np.ndarray:
        """Return rows of three numbers in SI units."""
        value = self.scope.evaluate(self.code(key))
        if not isinstance(value, Row) or len(value.items) != count:
            size = len(value.items) if isinstance(value, Row) else 1
            raise self.source.error(
                value.at, f"{self.said}: {key} has {size} parts; it takes {count}: [(...), (...), ...]"
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
            raise self.source.error(self.place(key), f"{self.said}: {key} must be one of {listed}{hint}", list(choices))
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
                raise self.source.error(argument.value[0].at, f"{self.said}: {key} takes a name")
            found.append((name, argument.value[0].at))
        if len(found) != count:
            at = found[count][1] if len(found) > count else self.at
            raise self.source.error(at, f"{self.said} takes {count} {key}{'s' * (count > 1)}, not {len(found)}")
        return found


def sole_name(code: Code) -> Name | None:
    """Return the name that a value is, or None."""
    if len(code) == 1 and isinstance(code[0].operand, Name):
        return code[0].operand
    return None

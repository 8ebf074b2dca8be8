"""Evaluation of values: numbers, functions of time, rows of them, names, and calls by name."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rtmbs.errors import LanguageError, nearest_names, shown
from rtmbs.language.expressions import (
    CHOICE,
    CONSTANTS,
    FUNCTIONS,
    OPERATORS,
    PAIRS,
    Binary,
    Function,
    Steps,
    chosen,
    operand_count,
)
from rtmbs.language.parse import TIME, Code, Dimension, Instruction, Name, Number, Source


class Choice(NamedTuple):
    """A value where a condition holds, another elsewhere."""

    value: Any


ARITHMETIC: dict[str, Function | Binary | Choice] = {**FUNCTIONS, **PAIRS, CHOICE: Choice(chosen)}
PROFILE_CALLS = ("constantrate", "sine", "smoothstep", "spline")  # that arithmetic takes as functions of time
SHORT = 2  # letters of a name that is no misspelt function
CLOCK = ("t", "time", "tm")  # names that others give the time


class Quantity(NamedTuple):
    """A number in SI units."""

    value: float
    dimension: Dimension | None  # of a number with a unit that no arithmetic has touched
    at: int
    name: Name | None = None  # of the constant it came from
    eaten: str = ""  # a constant of the file that is a word of its unit


class Timed(NamedTuple):
    """A function of time."""

    steps: Steps
    at: int


class Row(NamedTuple):
    """Several values in brackets."""

    items: tuple[Any, ...]
    at: int


class Word(NamedTuple):
    """A name that is no number."""

    name: Name
    at: int


class Call(NamedTuple):
    """Something by name with arguments, such as a profile, a distance or an input."""

    name: str
    items: tuple[Any, ...]
    named: dict[str, Any]
    at: int


class Pair(NamedTuple):
    """A named argument of a Call."""

    key: str
    value: Any
    at: int


class Operand(NamedTuple):
    """An arithmetic value: the common instructions from ``start`` on, one of them when it is a number."""

    start: int
    at: int
    value: float | None  # None: a function of time
    dimension: Dimension | None = None
    name: Name | None = None
    eaten: str = ""


class Scope:
    """Constants of a file, its folder, and how its values are read."""

    def __init__(
        self,
        source: Source,
        constants: dict[str, float],
        folder: Path | None = None,
        variable: str = TIME,
        later: dict[str, int] | None = None,
        dimensions: dict[str, Dimension] | None = None,
    ) -> None:
        self.source = source
        self.constants = constants
        self.dimensions = dimensions or {}  # of constants that have a unit
        self.variable = variable  # what a function is of: the time, or the parameter of a curve
        self.later = later or {}  # constants by name, and the line of each
        self.folder = folder  # of the model, None: it is no file

    def evaluate(self, code: Code) -> Any:
        """Return a Quantity, Timed, Row, Word or Call; raises LanguageError for an equal sign."""
        found = Evaluation(self, self.source).run(code)
        if isinstance(found, Pair):
            raise self.source.error(found.at, "an equal sign cannot stand here")
        return found

    def unknown(self, item: Word) -> LanguageError:
        """Return the error of a name that means no number."""
        text = item.name.text
        if text in self.later:
            known = f"constant {text!r} is given in line {self.later[text]}; write it above"
            return self.source.error(item.at, f"there is no constant named {shown(text)} up to here; {known}")
        if text.lower() in CLOCK and self.variable == TIME:
            return self.source.error(
                item.at, f"there is no constant named {shown(text)}; did you mean TIME, the time in seconds?", ["TIME"]
            )
        if len(words := text.split()) > 1 and all(self.is_known(word) for word in words):
            return self.source.error(
                item.at, f"there is no constant named {shown(text)}; write an operator between {' and '.join(words)}"
            )
        functions = ARITHMETIC if len(text) > SHORT else ()  # everything is near a letter
        near = nearest_names(text, [*self.constants, *CONSTANTS, "TIME", *functions])
        hint = f"; did you mean {', '.join(map(repr, near))}?" if near else "; define it: constant NAME = VALUE;"
        return self.source.error(item.at, f"there is no constant named {shown(text)}{hint}", near)

    def ambiguous(self, item: "Quantity | Operand") -> LanguageError:
        """Return the error of a unit with a word that is a constant of the file too."""
        return self.source.error(
            item.at,
            f"{item.eaten} stands behind a number in a unit, and {item.eaten} is a constant too; write a product with"
            f" spaces, such as 2 m * {item.eaten}, or give the constant another name",
        )

    def is_known(self, word: str) -> bool:
        """Return whether a word means a number or the variable."""
        return word in self.constants or word in CONSTANTS or word.lower() in (self.variable, *CLOCK)


class Evaluation:
    """Evaluation of one value: a stack of operands, and the instructions of its arithmetic in one list."""

    def __init__(self, scope: Scope, source: Source) -> None:
        self.scope, self.source = scope, source
        self.stack: list[Any] = []
        self.steps: list[tuple[str, Any]] = []

    def run(self, code: Code) -> Any:
        """Evaluate postfix code."""
        for one in code:
            getattr(self, one.kind)(one)
        return self.pop_values(1)[0]

    def number(self, one: Instruction) -> None:
        assert isinstance(one.operand, Number)
        value, dimension, further = one.operand
        eaten = next((word for word in further if word in self.scope.constants), "")
        self.push(one.at, value, dimension, eaten=eaten)

    def push(
        self, at: int, value: float, dimension: Dimension | None = None, name: Name | None = None, eaten: str = ""
    ) -> None:
        """Put a number on the stack."""
        self.stack.append(Operand(len(self.steps), at, value, dimension, name, eaten))
        self.steps.append(("number", value))

    def name(self, one: Instruction) -> None:
        """Put the number that a name means on the stack, the time, or the name itself."""
        name = one.operand
        assert isinstance(name, Name)
        word = name.words[0] if len(name.words) == 1 and name.member is None else None
        if word in self.scope.constants:
            self.push(one.at, self.scope.constants[word], self.scope.dimensions.get(word), name)
        elif word in CONSTANTS:
            self.push(one.at, CONSTANTS[word], None, name)
        elif word is not None and word.lower() == self.scope.variable:
            self.stack.append(Operand(len(self.steps), one.at, None, None, name))
            self.steps.append((TIME, 0.0))
        else:
            self.stack.append(Word(name, one.at))

    def operator(self, one: Instruction) -> None:
        negative = one.operand == "negative"
        self.combine(one, "negative" if negative else "operator", "" if negative else str(one.operand))

    def combine(self, one: Instruction, kind: str, operand: str) -> None:
        """Apply an operator or a function: numbers give a number at once."""
        count = operand_count(kind, operand)
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        items = self.with_profiles(items)
        for item in items:
            if isinstance(item, Word):
                raise self.scope.unknown(item)
            if not isinstance(item, Operand):
                raise self.source.error(item.at, f"{operand or 'a minus sign'} takes numbers, and this is none")
            if item.eaten and kind != "negative":
                raise self.scope.ambiguous(item)
        start = items[0].start
        values = [item.value for item in items if item.value is not None]
        if len(values) == count:
            value = self.folded(one, kind, operand, items, values)
            del self.steps[start:]
            first = items[0]._replace(name=None) if kind == "negative" else Operand(start, one.at, value)
            self.push(one.at, value, first.dimension or common_dimension(operand, items), None, first.eaten)
            return
        if operand == "/" and items[-1].value == 0.0:
            raise self.source.error(items[-1].at, "division by zero")
        self.steps.append((kind, operand))
        self.stack.append(Operand(start, one.at, None))

    def with_profiles(self, items: list[Any]) -> list[Any]:
        """Return operands with calls of profiles as functions of time: one instruction each, in its place."""
        if not any(is_profile(item) for item in items):
            return items
        operands = [item for item in items if isinstance(item, Operand)]
        begin = operands[0].start if operands else len(self.steps)
        ends = [*(one.start for one in operands[1:]), len(self.steps)]
        tail, found = list[tuple[str, Any]](), list[Any]()
        for item in items:
            if isinstance(item, Operand):
                found.append(item._replace(start=begin + len(tail)))
                tail += self.steps[item.start : ends.pop(0)]
            elif is_profile(item):
                found.append(Operand(begin + len(tail), item.at, None))
                tail.append(("profile", item))
            else:
                found.append(item)
        self.steps[begin:] = tail
        return found

    def folded(self, one: Instruction, kind: str, operand: str, items: list[Operand], values: list[float]) -> float:
        """Return the number that numbers give; raises LanguageError where there is none."""
        if kind == "negative":
            return -values[0]
        if operand == "/" and values[1] == 0.0:
            raise self.source.error(items[1].at, "division by zero")
        function: Any = OPERATORS[operand].value if kind == "operator" else ARITHMETIC[operand].value
        with np.errstate(all="ignore"):
            value = float(function(*(np.float64(x) for x in values)))
        if not np.isfinite(value):
            numbers = [f"{x:.6g}" for x in values]
            text = f" {operand} ".join(numbers) if kind == "operator" else f"{operand}({', '.join(numbers)})"
            raise self.source.error(one.at, f"{text} is no number")
        return value

    def pop_values(self, count: int) -> tuple[Any, ...]:
        """Take the last values off the stack, arithmetic as numbers and functions of time."""
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        found: list[Any] = []
        for item in reversed(items):
            if isinstance(item, Operand):
                steps = tuple(self.steps[item.start :])
                del self.steps[item.start :]
                number = item.value
                item = (
                    Timed(steps, item.at)
                    if number is None
                    else Quantity(number, item.dimension, item.at, item.name, item.eaten)
                )
            found.append(item)
        return tuple(reversed(found))

    def row(self, one: Instruction) -> None:
        self.stack.append(Row(self.pop_values(int(one.operand)), one.at))  # type: ignore[call-overload]

    def named(self, one: Instruction) -> None:
        key, value = self.pop_values(2)
        name = key.name if isinstance(key, Word | Quantity) else None
        if name is None or name.member is not None:
            raise self.source.error(one.at, "before an equal sign stands the name of what it sets")
        self.stack.append(Pair(name.text.lower(), value, one.at))

    def call(self, one: Instruction) -> None:
        """Apply a function of numbers; keep anything else as a Call."""
        assert isinstance(one.operand, tuple)
        name, count = str(one.operand[0]), int(one.operand[1])
        function = name.lower()
        if function in ARITHMETIC:
            wanted = operand_count("call", function)
            items = self.stack[len(self.stack) - count :]
            if count != wanted or any(isinstance(item, Pair) for item in items):
                numbers = {1: "one number", 2: "two numbers"}.get(wanted, "a condition and two numbers")
                raise self.source.error(one.at, f"{function} takes {numbers} in its brackets, not {count}")
            self.combine(one, "call", function)
            return
        items = list(self.pop_values(count))
        pairs = {item.key: item.value for item in items if isinstance(item, Pair)}
        plain = tuple(item for item in items if not isinstance(item, Pair))
        if len(plain) + len(pairs) < count:
            raise self.source.error(one.at, f"{name} is given one of its arguments twice")
        self.stack.append(Call(name, plain, pairs, one.at))


def common_dimension(operand: str, items: list[Operand]) -> Dimension | None:
    """Return the dimension of a sum or difference of numbers whose units have the same one."""
    if operand not in ("+", "-") or any(item.dimension != items[0].dimension for item in items):
        return None
    return items[0].dimension


def is_profile(item: Any) -> bool:
    """True for the call of a profile that arithmetic takes."""
    return isinstance(item, Call) and item.name.lower().replace(" ", "").replace("_", "") in PROFILE_CALLS

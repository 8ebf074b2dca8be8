"""Text of a model file with the places of errors, and its statements as a syntax tree, before names have a meaning."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from rtmbs.core.files import DamagedFile, whole
from rtmbs.errors import LanguageError, shown
from rtmbs.language.document import Place

MOST_BYTES = 8_000_000  # of one file
TIME = "time"  # the name of the time, in small letters


@dataclass(frozen=True, eq=False)
class Source:
    """A text with a name."""

    name: str  # as errors name it
    text: str
    path: Path | None = None  # None: not read from a file, so it includes nothing

    @cached_property
    def starts(self) -> list[int]:
        """Where the lines begin."""
        return [0, *(end.end() for end in re.finditer("\n", self.text))]

    def line(self, number: int) -> str:
        """Return a line of the text, counted from 1."""
        start = self.starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else None]

    def place(self, at: int) -> Place:
        """Return the line and column, from 1, of the letter ``at``."""
        at = min(max(at, 0), len(self.text))
        number = bisect_right(self.starts, at)
        return Place(self.name, number, at - self.starts[number - 1] + 1)

    def error(self, at: int, message: str, expected: Sequence[str] = ()) -> LanguageError:
        """Return the error at the letter ``at``."""
        return self.error_at(self.place(at), message, expected)

    def error_at(self, place: Place, message: str, expected: Sequence[str] = ()) -> LanguageError:
        """Return the error at a place of this text."""
        return LanguageError(
            message,
            file=self.name,
            line=place.line,
            column=place.column,
            text=self.line(place.line),
            expected=expected,
        )


def inside(source: Source, folder: Path | None, name: str, at: int, verb: str) -> Path:
    """Return the file that a text names, as seen from its own place; it must lie in the folder of the model.

    verb: what the text does with the file. Raises LanguageError at the letter ``at``.
    """
    if folder is None or source.path is None:
        raise source.error(at, f"only a file can {verb} another one")
    try:
        path = (source.path.parent / name).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise source.error(at, f"{shown(name)} cannot be found: {error}") from None
    if Path(name).is_absolute() or not path.is_relative_to(folder):
        raise source.error(at, f"{shown(name)} is outside the folder of the model; {verb} files in it only")
    return path


def load(path: Path, name: str) -> Source:
    """Return the text of a file; raises LanguageError for one that cannot be read, is too large, or is no text."""
    try:
        data = whole(path, MOST_BYTES)
    except DamagedFile as error:
        raise LanguageError(str(error), file=name) from None
    return Source(name, decoded(data, name), path)


def decoded(data: bytes, name: str) -> str:
    """Return bytes as text; raises LanguageError for bytes that are none."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LanguageError(f"is no text: byte {error.start} is not UTF-8", file=name) from None
    if "\0" in text:
        raise LanguageError(f"is no text: byte {len(text[: text.index(chr(0))].encode())} is zero", file=name)
    return text.replace("\r\n", "\n")


class Instruction(NamedTuple):
    """One part of a value in postfix order: it takes its operands from the parts before it.

    kind: ``number`` (operand a float, unit its dimension or None), ``name`` (operand ``Name``), ``operator`` (operand
    one of + - * / ^ and ``negative``), ``call`` (operand (name, count)), ``row`` (operand the count), ``named`` (of the
    two parts before it the first is a key), ``item`` (operand ``Name``; the part before it is its index).
    """

    kind: str
    operand: object
    at: int  # where it begins in the text


class Name(NamedTuple):
    """A name as it is written: words, and the coordinate after a dot."""

    words: tuple[str, ...]
    member: str | None = None

    @property
    def text(self) -> str:
        """The words with single spaces."""
        joined = " ".join(self.words)
        return joined if self.member is None else f"{joined}.{self.member}"


class Number(NamedTuple):
    """A number in SI units, with the dimension of its unit as written, and the words of the unit but the first."""

    value: float
    dimension: tuple[int, int, int] | None
    further: tuple[str, ...] = ()


Code = tuple[Instruction, ...]


class Argument(NamedTuple):
    """Argument of a statement, between two commas."""

    key: Code | None  # before the equal sign
    value: Code


class Statement(NamedTuple):
    """One statement: its words, its arguments in brackets, or its value behind an equal sign."""

    words: tuple[str, ...]
    places: tuple[int, ...]  # of the words
    quoted: tuple[bool, ...]  # which words are
    arguments: tuple[Argument, ...]
    assigned: Code | None
    at_index: Code | None = None  # behind its name, in square brackets

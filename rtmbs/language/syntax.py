"""A model file as statements, before anything is known of what they mean."""

from typing import NamedTuple

TIME = "time"  # the name of the time, in small letters


class Instruction(NamedTuple):
    """One part of a value in postfix order: it takes its operands from the parts before it.

    kind: ``number`` (operand a float, unit its dimension or None), ``name`` (operand ``Name``), ``operator`` (operand
    one of + - * / ^ and ``negative``), ``call`` (operand (name, count)), ``row`` (operand the count), ``named`` (of the
    two parts before it the first is a key).
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
    """A number in SI units, with the dimension of the unit that it was written in."""

    value: float
    dimension: tuple[int, int, int] | None


Code = tuple[Instruction, ...]


class Argument(NamedTuple):
    """What stands between two commas of a statement."""

    key: Code | None  # before the equal sign
    value: Code


class Statement(NamedTuple):
    """One statement: its words, and what follows in brackets or behind an equal sign."""

    words: tuple[str, ...]
    places: tuple[int, ...]  # of the words
    quoted: tuple[bool, ...]  # which words are
    arguments: tuple[Argument, ...]
    assigned: Code | None

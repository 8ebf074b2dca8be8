"""Text of a model file with the places of errors, its units, and its statements as a syntax tree.

``parse`` leads from text to statements, before names have a meaning, by the grammar of ``grammar.lark``. An LALR parser
reduces the parts of a value from left to right and from the inside to the outside: this is postfix order. The actions
append one instruction each, so long sums and deep brackets cost neither recursion nor copies.

Reading, checking and refusing a text costs a bounded time and memory for each word, statement, body and operator. The
limits keep any text within 2 s and 256 MB, unless ``large`` lifts them. Words and signs of other modelling and
programming languages are refused with the form that a model file has. A unit has a name, a size in SI units and a
dimension.
"""

import functools
import math
import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from rtmbs.core.files import DamagedFile, whole
from rtmbs.errors import LanguageError, nearest_names, shown
from rtmbs.language.document import Analysis, Place

Dimension = tuple[int, int, int]  # powers of metre, kilogram and second; angles have none


class Unit(NamedTuple):
    """A unit."""

    size: float  # in SI
    dimension: Dimension


LENGTH, MASS, DURATION = (1, 0, 0), (0, 1, 0), (0, 0, 1)
FORCE, NOTHING = (1, 1, -2), (0, 0, 0)
UNITS = {
    "m": Unit(1.0, LENGTH),
    "mm": Unit(1e-3, LENGTH),
    "cm": Unit(1e-2, LENGTH),
    "km": Unit(1e3, LENGTH),
    "um": Unit(1e-6, LENGTH),
    "inch": Unit(0.0254, LENGTH),
    "ft": Unit(0.3048, LENGTH),
    "kg": Unit(1.0, MASS),
    "g": Unit(1e-3, MASS),
    "mg": Unit(1e-6, MASS),
    "t": Unit(1e3, MASS),
    "lb": Unit(0.45359237, MASS),
    "s": Unit(1.0, DURATION),
    "ms": Unit(1e-3, DURATION),
    "us": Unit(1e-6, DURATION),
    "min": Unit(60.0, DURATION),
    "h": Unit(3600.0, DURATION),
    "Hz": Unit(2.0 * math.pi, (0, 0, -1)),
    "rpm": Unit(math.pi / 30.0, (0, 0, -1)),
    "rad": Unit(1.0, NOTHING),
    "deg": Unit(math.pi / 180.0, NOTHING),
    "turn": Unit(2.0 * math.pi, NOTHING),
    "N": Unit(1.0, FORCE),
    "mN": Unit(1e-3, FORCE),
    "kN": Unit(1e3, FORCE),
    "lbf": Unit(4.4482216152605, FORCE),
    "J": Unit(1.0, (2, 1, -2)),
    "W": Unit(1.0, (2, 1, -3)),
    "Pa": Unit(1.0, (-1, 1, -2)),
}
QUANTITIES = {  # of mechanics, that products of units are written for
    (1, 0, -1), (1, 0, -2), (0, 0, -1), (0, 0, -2), FORCE, (2, 1, -2), (2, 1, -3), (1, 1, -1), (-1, 1, -2), (0, 1, -2),
    (0, 1, -1), (2, 1, -1), (2, 1, 0), (-1, 1, 0), (-2, 1, 0), (-3, 1, 0),
}  # fmt: skip
FACTOR = re.compile(r"([*/]?)([^\W\d_]+)(?:\^(-?\d))?")


def compound(text: str) -> tuple[Unit | None, str]:
    """Return the unit that ``text`` such as ``kg*m^2`` means, or None and the word that is no unit."""
    size, dimension = 1.0, NOTHING
    if "".join(factor.group() for factor in FACTOR.finditer(text)) != text:
        return None, text
    for sign, name, power in FACTOR.findall(text):
        if name not in UNITS:
            return None, name
        n = int(power or 1) * (-1 if sign == "/" else 1)
        size *= UNITS[name].size ** n
        dimension = tuple(a + n * b for a, b in zip(dimension, UNITS[name].dimension, strict=True))  # type: ignore[assignment]
    return Unit(size, dimension), ""


def further_words(text: str) -> tuple[str, ...]:
    """Return the factors of a unit behind its first one, of which constants may be meant: g in ``m*g``.

    There are none behind a slash, with a power, or in the unit of a quantity of mechanics such as ``N*m``.
    """
    unit, _ = compound(text)
    if unit is None or unit.dimension in QUANTITIES:
        return ()
    return tuple(name for sign, name, power in FACTOR.findall(text)[1:] if sign == "*" and not power)


def dimension_of(text: str) -> Dimension:
    """Return the dimension of a unit that is known to be one; empty is none."""
    unit, _ = compound(text)
    assert unit is not None
    return unit.dimension


def written(dimension: Dimension) -> str:
    """Return a dimension in words, such as ``in m^2 kg``."""
    powers = zip(("m", "kg", "s"), dimension, strict=True)
    powers_text = " ".join(f"{name}^{n}" if n != 1 else name for name, n in powers if n)
    return f"in {powers_text}" if powers_text else "an angle or a number without a unit"


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


REPEAT = "repeat k (from = 1, to = 5); ... end repeat;"
CHOICE = "if(TIME < 1, 2, 3)"
STATEMENT = re.compile(r"\A\s*(?:(?:#|//)[^\n]*\s+|/\*.*?\*/\s*)*([^\W\d]\w*)", re.DOTALL)
WORDS = {  # statements elsewhere
    **dict.fromkeys(("for", "foreach", "while", "loop", "do"), REPEAT),
    **dict.fromkeys(("if", "when", "else"), f"driver NAME (hinge = {CHOICE});"),
    **dict.fromkeys(("let", "set", "var", "variable", "parameter", "real", "float", "const"), "constant NAME = VALUE;"),
    **dict.fromkeys(("part", "link", "solid", "component"), "BODY NAME (...);"),
    **dict.fromkeys(("marker", "frame", "point", "node"), "triad NAME (body = ..., origin = (x, y, z));"),
    **dict.fromkeys(("motion", "actuator", "drive"), "driver NAME (JOINT = ...);"),
    **dict.fromkeys(("hinge", "pin", "rotational"), "revolute joint NAME (...);"),
    **dict.fromkeys(("slider", "sliding"), "prismatic joint NAME (...);"),
    **dict.fromkeys(("ball", "ball and socket"), "spherical joint NAME (...);"),
    **dict.fromkeys(("hooke", "cardan"), "universal joint NAME (...);"),
    **dict.fromkeys(("weld", "rigid"), "fixed joint NAME (...);"),
    **dict.fromkeys(("function", "def", "class", "macro", "block"), "submodel NAME (a, b = 2); ... end submodel;"),
    **dict.fromkeys(("output", "print", "request", "sensor"), "measure NAME (TRIAD.x);"),
    **dict.fromkeys(("import", "use"), 'include "FILE";'),
}


def as_written_here(word: str) -> str:
    """Return the statement of this language for the first word of one elsewhere; empty where none is known."""
    return WORDS.get(word.lower(), "")


def hint(text: str, at: int) -> str:
    """Return what to write for a sign at the letter ``at`` that is of another language; empty where none is known."""
    sign, before = text[at : at + 1], text[:at].rstrip()[-1:]
    begun = STATEMENT.match(text[text.rfind(";", 0, at) + 1 : at])
    word = begun.group(1).lower() if begun else ""
    if WORDS.get(word) == REPEAT:
        return f"a loop is written {REPEAT}"
    if word == "if" or sign in "<>?":
        return f"a choice of values is written {CHOICE}"
    if sign == "*" and before == "*":
        return "a power is written with ^"
    if sign == "=" and before in "=<>!":
        return "a constant is written with one =, a comparison with <, <=, > or >="
    return {
        "%": "a comment begins with #",
        "{": "a block ends with end repeat; or end submodel;",
        "}": "a block ends with end repeat; or end submodel;",
        "'": 'a name in quotes is written "name"',
        ":": "a list is written [1, 2, 3], a loop with repeat",
    }.get(sign, "")


DEEPEST = 200  # brackets within brackets
MARKS = re.compile(r'#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z)|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|[\w.]+|[^\s\w]', re.DOTALL)
BEHIND_A_NUMBER, LONGEST_FACTOR = re.compile(r"[\d.]\s*([^\W\d_]+\s*)\Z"), 100  # where a unit may stand
SIGNS = {
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COMMA": "','",
    "SEMICOLON": "';'",
    "EQUAL": "'='",
    "DOT": "'.'",
    "COMPARISON": "a comparison",
    "WORD": "a name",
    "STRING": "a name",
    "NUMBER": "a number",
    "UNIT": "a unit",
    "MODEL": "MODEL",
    "ENDMODEL": "ENDMODEL",
    "$END": "the end",
}
OPERATORS = {"PLUS", "MINUS", "STAR", "SLASH", "CIRCUMFLEX"}
OPERATIONS = ("operator", "call")  # kinds of instructions that take time when a function of time is evaluated
WAY_OUT = "--large on the command line, or large=True in Python, allows more"


class Sheet(NamedTuple):
    """Statements of one text.

    Parameters
    ----------
    source : Source
        Text with its name.
    name : str
        Name of the model.
    statements : tuple[Statement, ...]
        Statements in the order of the text.
    """

    source: Source
    name: str  # of the model
    statements: tuple[Statement, ...]


def parse(source: Source | str, name: str = "text", fragment: bool = False, large: bool = False) -> Sheet:
    """Return the statements of a text; raises LanguageError where it is none of the language.

    fragment: the text is a file to include, statements without MODEL and ENDMODEL. large: so many words are meant.
    """
    if isinstance(source, str):
        source = Source(name, source.removeprefix("\ufeff"))
    measure(source, large)
    with PARSING:
        actions = actions_of_grammar()
        actions.begin(source)
        try:
            grammar().parse(source.text, start="fragment" if fragment else "start")
            return Sheet(source, actions.model, tuple(actions.statements))
        except UnexpectedInput as error:
            raise unexpected(source, error) from None
        finally:
            actions.begin(source)


def measure(source: Source, large: bool = False) -> int:
    """Return the number of words; raises LanguageError for too many of them, and for brackets too deep."""
    count, depth, most = 0, 0, (LARGE if large else ORDINARY).words
    for mark in MARKS.finditer(source.text):
        sign = source.text[mark.start()]
        if sign in "([":
            depth += 1
            if depth > DEEPEST:
                raise source.error(mark.start(), f"brackets are more than {DEEPEST} deep here")
        elif sign in ")]":
            depth -= 1
        count += 1
        if count > most:
            raise source.error(mark.start(), f"there are more than {most:,.0f} words up to here; {WAY_OUT}")
    return count


def is_whole(source: Source) -> bool:
    """True for a text that begins with MODEL; others are statements to include."""
    marks = (mark.group() for mark in MARKS.finditer(source.text))
    return next((mark for mark in marks if not mark.startswith(("#", "//", "/*"))), "").lower() == "model"


def unexpected(source: Source, error: UnexpectedInput) -> LanguageError:
    """Return the error of an unexpected token, with the expected ones."""
    at = error.pos_in_stream or 0
    names = set(error.accepts or error.expected) if isinstance(error, UnexpectedToken) else set()
    if isinstance(error, UnexpectedCharacters):
        names = set(error.allowed or ())
    if source.text.startswith("/*", at):
        return source.error(at, "this comment is not closed", ["*/"])
    if source.text.startswith('"', at) and isinstance(error, UnexpectedCharacters):
        return source.error(at, "this name in quotes is not closed on its line", ['"'])
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        at = len(source.text.rstrip())
        found = "the end of the text"
    else:
        word = MARKS.match(source.text, at)
        found = shown(word.group() if word else source.text[at : at + 1])
    if (factor := BEHIND_A_NUMBER.search(source.text[max(at - LONGEST_FACTOR, 0) : at])) and found == "'('":
        at -= len(factor.group(1))
        return source.error(
            at, f"{shown(factor.group(1).strip())} stands where a unit may; a product is written with *"
        )
    expected = list(dict.fromkeys(SIGNS[one] for one in SIGNS if one in names))
    expected += ["an operator"] * bool(names & OPERATORS and "NUMBER" not in names)
    wanted = f"{', '.join(expected[:-1])} or {expected[-1]}" if len(expected) > 1 else "".join(expected)
    behind = bool(re.search(r"[\w.]\s*\Z", source.text[max(at - LONGEST_FACTOR, 0) : at])) and found[1:2].isalnum()
    cure = "a product is written with *" if behind and "an operator" in expected else hint(source.text, at)
    return source.error(at, f"{found} cannot stand here; expected {wanted}{cure and '; '}{cure}", expected)


@functools.cache
def actions_of_grammar() -> "Actions":
    return Actions()


@functools.cache
def grammar() -> Lark:
    """Return the parser, made once."""
    text = files("rtmbs.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        text,
        parser="lalr",
        lexer="contextual",
        start=["start", "fragment"],
        transformer=actions_of_grammar(),
        maybe_placeholders=False,
    )


PARSING = threading.Lock()  # the actions belong to one text at a time


class Actions:
    """Actions of the parser, by rule of the grammar; parts of values are collected in ``code``."""

    def begin(self, source: Source) -> None:
        """Clear all lists for a new text."""
        self.source = source
        self.model = ""
        self.code: list[Instruction] = []
        self.statements: list[Statement] = []

    def emit(self, kind: str, operand: object, at: int) -> int:
        """Append an instruction; ``at`` is where its text begins."""
        self.code.append(Instruction(kind, operand, at))
        return at

    def header(self, children: list[Token]) -> None:
        self.model = unquoted(children[1])

    def words(self, children: list[Token]) -> list[Token]:
        return children

    def head(self, children: list[Any]) -> tuple[list[Token], Code | None]:
        return children[0], children[1] if len(children) > 1 else None

    def index(self, children: list[int]) -> int:
        return children[0]

    def statement_of(
        self, head: tuple[list[Token], Code | None], arguments: tuple[Argument, ...], assigned: Code | None
    ) -> None:
        words, index = head
        texts = tuple(unquoted(word) for word in words)
        places = tuple(int(word.start_pos or 0) for word in words)
        quoted = tuple(word.type == "STRING" for word in words)
        self.statements.append(Statement(texts, places, quoted, arguments, assigned, index))

    def bare(self, children: list[Any]) -> None:
        self.statement_of(children[0], (), None)

    def bracketed(self, children: list[Any]) -> None:
        self.statement_of(children[0], tuple(children[1:]), None)

    def assigned(self, children: list[Any]) -> None:
        self.statement_of(children[0], (), children[1])

    def plain(self, children: list[Code]) -> Argument:
        return Argument(None, children[0])

    def keyed(self, children: list[Code]) -> Argument:
        return Argument(*children)

    def value(self, children: list[Any]) -> Code:
        code, self.code = tuple(self.code), []
        return code

    def number(self, children: list[Token]) -> int:
        at, dimension, further = int(children[0].start_pos or 0), None, tuple[str, ...]()
        value = float(children[0])
        if len(children) == 2:
            unit, wrong = compound(str(children[1]))
            if unit is None:
                near = nearest_names(wrong, UNITS)
                hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(UNITS)}"
                message = f"there is no unit {shown(wrong)}{hint}; a product is written with *"
                raise self.source.error(int(children[1].start_pos or 0), message, near)
            value, dimension, further = value * unit.size, unit.dimension, further_words(str(children[1]))
        if value - value != 0.0:
            raise self.source.error(at, f"{shown(str(children[0]))} is larger than any number")
        return self.emit("number", Number(value, dimension, further), at)

    def name(self, children: list[list[Token]]) -> int:
        return self.emit("name", name_of(children[0]), int(children[0][0].start_pos or 0))

    def path(self, children: list[Any]) -> int:
        words, member = children
        return self.emit("name", name_of(words, unquoted(member)), int(words[0].start_pos or 0))

    def item(self, children: list[Any]) -> int:
        words, _, *member = children
        name = name_of(words, unquoted(member[0]) if member else None)
        return self.emit("item", name, int(words[0].start_pos or 0))

    def compared(self, children: list[Any]) -> int:
        return self.emit("operator", str(children[1]), children[0])

    def call(self, children: list[Any]) -> int:
        words = children[0]
        return self.emit("call", (name_of(words).text, len(children) - 1), int(words[0].start_pos or 0))

    def row(self, children: list[int]) -> int:
        return self.emit("row", len(children), children[0] if children else 0)

    def named(self, children: list[int]) -> int:
        return self.emit("named", None, children[0])


def operator(sign: str) -> Callable[[Actions, list[int]], int]:
    """Return the action of an operator, at the place of its first operand."""
    return lambda actions, children: actions.emit("operator", sign, children[0])


for rule, sign in {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "raised": "^",
    "negative": "negative",
}.items():
    setattr(Actions, rule, operator(sign))
Actions.positive = lambda actions, children: children[0]  # type: ignore[attr-defined]


def unquoted(token: Token) -> str:
    """Return the name that a word or a string in quotes means."""
    return re.sub(r"\\(.)", r"\1", token[1:-1]) if token.type == "STRING" else str(token)


def name_of(words: list[Token], member: str | None = None) -> Name:
    return Name(tuple(unquoted(word) for word in words), member)


def tokens(source: Source, fragment: bool) -> Iterator[Token]:
    """Yield the tokens of a text that ``parse`` took."""
    with PARSING:
        actions_of_grammar().begin(source)
        yield from list(
            grammar().parse_interactive(source.text, start="fragment" if fragment else "start").iter_parse()
        )


class Limits(NamedTuple):
    """The largest numbers that are taken."""

    words: float  # words, numbers and signs of a model file and all that it includes
    statements: float
    bodies: float
    operations: float  # operators and functions in all values that depend on TIME
    rows: float  # of the result, times bodies: they are kept in memory
    work: float  # steps of a dynamic analysis, times bodies and operations: about a microsecond each


ORDINARY = Limits(words=30_000, statements=1_000, bodies=150, operations=1_000, rows=40_000, work=5e7)
LARGE = Limits(words=1e7, statements=1e6, bodies=1e5, operations=1e6, rows=1e8, work=1e13)


def operations(value: Code) -> int:
    """Return how many operations a function of time has; those of a constant are done once."""
    depends = any(isinstance(part.operand, Name) and part.operand.text.lower() == TIME for part in value)
    return sum(part.kind in OPERATIONS for part in value) if depends else 0


class Size:
    """Counter of statements, bodies and operations that refuses a text above the limits."""

    def __init__(self, large: bool) -> None:
        self.most = LARGE if large else ORDINARY
        self.statements = self.bodies = self.operations = 0

    def count(self, source: Source, statement: Statement) -> None:
        """Count one statement; raises LanguageError at the first that is too many."""
        values = [*(argument.value for argument in statement.arguments), statement.assigned or ()]
        self.statements += 1
        self.bodies += statement.words[0].lower() == "body" and not statement.quoted[0]
        self.operations += sum(operations(value) for value in values)
        for what, found, most in (
            ("statements", self.statements, self.most.statements),
            ("bodies", self.bodies, self.most.bodies),
            ("operators and functions of TIME", self.operations, self.most.operations),
        ):
            if found > most:
                raise source.error(statement.places[0], f"there are more than {most:,.0f} {what} up to here; {WAY_OUT}")

    def check(self, analysis: Analysis) -> str:
        """Return the message for too many rows or steps of an analysis; "" when they are accepted."""
        bodies = max(self.bodies, 1)
        rows = (analysis.t1 - analysis.t0) / analysis.dt * bodies
        if rows > self.most.rows:
            return (
                f"print interval is {analysis.dt:g}: rows of the result times bodies are {rows:.3g}, and at most"
                f" {self.most.rows:g} are taken; {WAY_OUT}"
            )
        steps = (analysis.t1 - analysis.t0) / (analysis.h or analysis.dt)
        if analysis.kind == "dynamic" and (work := steps * (bodies + self.operations)) > self.most.work:
            return (
                f"step is {analysis.h or analysis.dt:g}: steps times bodies and operators are {work:.3g}, and at most"
                f" {self.most.work:g} are taken; {WAY_OUT}"
            )
        return ""

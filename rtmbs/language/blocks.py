"""Blocks of a model file: ``repeat`` loops, submodels with their instances, and names with an index.

    repeat k (from = 1, to = 5);  BODY link[k] (position = (lengths[k], 0, 0));  end repeat;
    submodel leg (at, side = 1);  BODY foot (...);  end submodel;      leg left (at = hull, side = -1);

Blocks are written out statement by statement. ``link[3]`` is the name ``link_3``, and ``foot`` of ``left`` is
``left_foot``. A loop variable is a number in its block. A parameter stands for what the instance gives.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from rtmbs.errors import LanguageError, nearest_names, shown
from rtmbs.language.expressions import OF_PARAMETER, PARAMETER, operand_count
from rtmbs.language.parse import TIME, WAY_OUT, Argument, Code, Instruction, Name, Number, Size, Source, Statement
from rtmbs.language.scope import Quantity, Scope
from rtmbs.model.constraints import BODY_COORDINATES

Line = tuple[Source, Statement]
BLOCKS = ("repeat", "submodel")
COPIES = 5  # statements of blocks within blocks, for each statement of the model that may be
TARGETS = ("driver", "measure")  # statements whose keys are elements
INDEX = re.compile(r"(_\d+)?(.*)", re.DOTALL)  # behind a name: its index, and what follows


class Given(NamedTuple):
    """A name that a statement of a submodel gives."""

    name: str
    indexed: bool  # ``foot[k]`` gives foot_1, foot_2, ...
    instance: str | None  # of which submodel; None: an element or a constant


class Submodel(NamedTuple):
    """A submodel: its parameters with defaults, and its statements."""

    parameters: dict[str, Code | None]
    body: tuple[Line, ...]
    given: tuple[Given, ...]
    at: tuple[Source, int]  # where its name stands

    def gives(self, word: str, submodels: Mapping[str, "Submodel"]) -> bool:
        """Return whether an instance without a prefix gives this name; that of an instance in it counts whole."""
        return any(self.is_of(word, one, submodels) for one in self.given)

    def is_of(self, word: str, one: Given, submodels: Mapping[str, "Submodel"]) -> bool:
        """Return whether a word is a given name, with an index where it has one, or a name of the instance in it."""
        if not word.startswith(one.name):
            return False
        index, rest = INDEX.fullmatch(word[len(one.name) :]).groups()  # type: ignore[union-attr]
        rests = [word[len(one.name) :], *([rest] if one.indexed and index else ())]
        if "" in rests:
            return True
        if one.instance is None:
            return False
        inner = submodels.get(one.instance)  # None: it is defined in this submodel, and not yet
        return any(left[0] == "_" and (inner is None or inner.gives(left[1:], submodels)) for left in rests)


class Renaming(NamedTuple):
    """Renaming of the names of a block."""

    values: Mapping[str, Code]  # loop variables and parameters
    prefix: str = ""  # of the names that the block gives
    gives: Callable[[str], bool] = lambda word: False  # whether the block gives a name
    what: str = "a loop variable"  # what the values are

    def name(self, word: str) -> str:
        """Return a name of the block as the whole model has it; a driver may name body and coordinate in one word."""
        if self.gives(word):
            return f"{self.prefix}_{word}"
        for coordinate in BODY_COORDINATES:
            if word.lower().endswith(coordinate) and self.gives(word[: -len(coordinate)]):
                return f"{self.prefix}_{word}"
        return word


class Blocks:
    """Writes out the blocks of a model file, statement by statement."""

    def __init__(
        self,
        scope: Callable[[Source], Scope],
        arrays: Mapping[str, list[float]],
        large: bool,
        is_statement: Callable[[str], bool],
    ) -> None:
        self.scope, self.arrays, self.most = scope, arrays, Size(large).most
        self.is_statement = is_statement  # whether words in small letters are those of a statement
        self.submodels: dict[str, Submodel] = {}
        self.turns = self.copies = self.instructions = 0

    def flat(self, lines: Iterator[Line], chain: tuple[str, ...] = ()) -> Iterator[Line]:
        """Yield the statements with all blocks written out; raises LanguageError for a block that is none."""
        for source, statement in lines:
            words = [word.lower() for word in statement.words]
            if words[0] in BLOCKS and not statement.quoted[0]:
                body = block(lines, source, statement)
                if words[0] == "repeat":
                    yield from self.repeated(source, statement, body, chain)
                else:
                    self.define(source, statement, body)
            elif words[0] == "end" and len(words) == 2 and words[1] in BLOCKS:
                raise source.error(
                    statement.places[0], f"end {words[1]} has no beginning: no {words[1]} stands above it"
                )
            elif len(words) > 1 and (known := " ".join(words[:-1])) in self.submodels:
                yield from self.instance(source, statement, known, chain)
            else:
                yield source, self.resolved(source, statement)

    def repeated(
        self, source: Source, statement: Statement, body: list[Line], chain: tuple[str, ...]
    ) -> Iterator[Line]:
        """Yield the statements of a loop for every value of its variable."""
        how = "a loop is written: repeat k (from = 1, to = 5); ... end repeat;"
        given = {sole(argument.key): argument.value for argument in statement.arguments}
        if len(statement.words) != 2 or not {"to"} <= set(given) <= {"from", "to"}:
            raise source.error(statement.places[0], how, ["from =", "to ="])
        check_clock(source, statement.words[-1], statement.places[-1])
        first = self.whole(source, given["from"], "from") if "from" in given else 1
        last = self.whole(source, given["to"], "to")
        for value in range(first, last + 1):
            self.turns += 1
            if self.turns > self.most.statements:
                raise source.error(
                    statement.places[0],
                    f"there are more than {self.most.statements:,.0f} turns of loops up to here; {WAY_OUT}",
                )
            self.count(source, statement, body)
            number = (Instruction("number", Number(float(value), None), statement.places[-1]),)
            renaming = Renaming({statement.words[-1]: number})
            yield from self.flat(iter([(one, renamed(inner, renaming, one)) for one, inner in body]), chain)

    def count(self, source: Source, statement: Statement, body: Sequence[Line]) -> None:
        """Count the statements of a block that is written out; raises LanguageError for too many of them."""
        self.copies += len(body)
        if self.copies > (most := COPIES * self.most.statements):
            raise source.error(
                statement.places[0], f"there are more than {most:,.0f} statements of blocks up to here; {WAY_OUT}"
            )

    def define(self, source: Source, statement: Statement, body: list[Line]) -> None:
        """Keep a submodel."""
        if len(statement.words) != 2:
            raise source.error(
                statement.places[0], "a submodel is written: submodel NAME (x, y = 0); ... end submodel;"
            )
        parameters: dict[str, Code | None] = {}
        for argument in statement.arguments:
            word = sole(argument.value if argument.key is None else argument.key)
            if word is None or word in parameters:
                raise source.error(argument.value[0].at, "a parameter is a name, given once: (x, y = 0)")
            check_clock(source, word, argument.value[0].at)
            parameters[word] = None if argument.key is None else argument.value
        given, depth = list[Given](), 0
        for inner_source, inner in body:
            words = [word.lower() for word in inner.words]
            depth += (words[0] == "submodel") - (words == ["end", "submodel"])
            if not depth and words[0] not in (*BLOCKS, "end", "include") and len(words) > 1:
                kind = " ".join(words[:-1])
                given.append(
                    Given(inner.words[-1], inner.at_index is not None, None if self.is_statement(kind) else kind)
                )
                if kind == "constant":
                    check_clock(inner_source, inner.words[-1], inner.places[-1])
        name, at = statement.words[-1].lower(), (source, statement.places[-1])
        self.check_name(name, at)
        self.submodels[name] = Submodel(parameters, tuple(body), tuple(given), at)

    def check_name(self, name: str, at: tuple[Source, int]) -> None:
        """Refuse the name of a statement, and that of another submodel; a loop comes to one several times."""
        if self.is_statement(name) or name in (*BLOCKS, "end"):
            raise at[0].error(at[1], f"submodel {name!r} has the name of a statement; choose another")
        before = self.submodels.get(name)
        if before is not None and before.at[0].place(before.at[1]) != at[0].place(at[1]):
            place = before.at[0].place(before.at[1])
            where = f"line {place.line}" if before.at[0] is at[0] else f"{place.file}, line {place.line}"
            raise at[0].error(at[1], f"submodel {name!r}: there is already one of this name in {where}; choose another")

    def instance(self, source: Source, statement: Statement, known: str, chain: tuple[str, ...]) -> Iterator[Line]:
        """Yield the statements of a submodel with the parameters and the name of one instance."""
        submodel, at, name = self.submodels[known], statement.places[-1], self.resolved(source, statement).words[-1]
        if known in chain:
            raise source.error(at, f"submodel {known!r} has itself as a part; take it away")
        given: dict[str, Code] = {}
        for argument in statement.arguments:
            word = sole(argument.key) if argument.key else None
            if word not in submodel.parameters:
                near = nearest_names(word or "", submodel.parameters)
                listed = ", ".join(submodel.parameters) or "nothing"
                hint = f"did you mean {near[0]!r}?" if near else f"it takes {listed}"
                raise source.error(
                    argument.value[0].at, f"{known} {name!r} takes no {shown(word or 'this')}; {hint}", near
                )
            given[word] = argument.value
        for word, default in submodel.parameters.items():
            if word not in given and default is None:
                raise source.error(at, f"{known} {name!r} needs {word} = ...", [f"{word} ="])
            given.setdefault(word, default or ())
        self.count(source, statement, submodel.body)
        renaming = Renaming(
            given, name, partial(submodel.gives, submodels=self.submodels), f"a parameter of submodel {known!r}"
        )
        yield from self.flat(
            iter([(one, renamed(inner, renaming, one)) for one, inner in submodel.body]), (*chain, known)
        )

    def resolved(self, source: Source, statement: Statement) -> Statement:
        """Return a statement with every index as a part of its name, and every item of an array as a number."""
        values = [*(one for argument in statement.arguments for one in argument if one), statement.assigned or ()]
        self.instructions += sum(len(code) for code in values)
        if self.instructions > self.most.words:
            raise source.error(
                statement.places[0], f"with this statement there are more than {self.most.words:,.0f} words"
            )
        if statement.at_index is None and not any(one.kind == "item" for code in values for one in code):
            return statement
        words = statement.words
        if statement.at_index is not None:
            words = (
                *words[:-1],
                f"{words[-1]}_{self.whole(source, self.indexed(source, statement.at_index), 'the index')}",
            )
        arguments = tuple(
            Argument(self.indexed(source, key) if key else key, self.indexed(source, value))
            for key, value in statement.arguments
        )
        assigned = self.indexed(source, statement.assigned) if statement.assigned else None
        return statement._replace(words=words, arguments=arguments, assigned=assigned, at_index=None)

    def indexed(self, source: Source, code: Code) -> Code:
        """Return a value with its items: ``link[k - 1].x`` becomes ``link_2.x``, ``lengths[k]`` a number."""
        found: list[Instruction] = []
        starts: list[int] = []
        for one in code:
            count = taken(one)
            start = starts[-count] if count else len(found)
            if count:
                del starts[-count:]
            if one.kind == "item":
                assert isinstance(one.operand, Name)
                inside = tuple(found[start:])
                del found[start:]
                one = self.item(source, one.operand, self.whole(source, inside, "the index"), one.at)
            found.append(one)
            starts.append(start)
        return tuple(found)

    def item(self, source: Source, name: Name, index: int, at: int) -> Instruction:
        """Return the number of an array, or the name with an index."""
        values = self.arrays.get(name.text)
        if values is None:
            words = (*name.words[:-1], f"{name.words[-1]}_{index}")
            return Instruction("name", Name(words, name.member), at)
        if not 1 <= index <= len(values):
            raise source.error(at, f"{name.text}[{index}] does not exist; {name.text} has the items 1 to {len(values)}")
        dimension = self.scope(source).dimensions.get(f"{name.text}[{index}]")
        return Instruction("number", Number(values[index - 1], dimension), at)

    def whole(self, source: Source, code: Code, what: str) -> int:
        """Return a value that must be a whole number."""
        value = self.scope(source).evaluate(self.indexed(source, code))
        if not isinstance(value, Quantity) or value.value != int(value.value):
            told = f"{value.value:g}" if isinstance(value, Quantity) else "no number"
            raise source.error(code[-1].at, f"{what} is {told}; it must be a whole number")
        return int(value.value)


def block(lines: Iterator[Line], source: Source, opening: Statement) -> list[Line]:
    """Return the statements up to the end of a block; raises LanguageError where it is missing."""
    body, depth = list[Line](), [opening.words[0].lower()]
    for inner, statement in lines:
        words = [word.lower() for word in statement.words]
        if words[0] in BLOCKS:
            depth.append(words[0])
        elif words[0] == "end" and words[1:] == [depth[-1]]:
            depth.pop()
            if not depth:
                return body
        elif words[0] == "end" and words[1:2] and words[1] in BLOCKS:
            raise inner.error(
                statement.places[0], f"{depth[-1]} is not closed here; its end is written: end {depth[-1]};"
            )
        body.append((inner, statement))
    raise source.error(opening.places[0], f"this {depth[-1]} has no end; write end {depth[-1]}; behind its statements")


def check_clock(source: Source, name: str, at: int) -> None:
    """Refuse a value with the name of the time, which would take its place."""
    if name.lower() == TIME:
        raise source.error(at, f"{name} is the time in seconds, and no value may have this name; choose another")


def sole(code: Code | None) -> str | None:
    """Return the name that a value is, or None."""
    name = code[0].operand if code and len(code) == 1 else None
    return name.text if isinstance(name, Name) and name.member is None else None


def taken(one: Instruction) -> int:
    """Return how many parts an instruction takes."""
    if one.kind in ("number", "name"):
        return 0
    if one.kind == "item":
        return 1
    if one.kind == "named":
        return 2
    if one.kind == "operator":
        return operand_count("negative" if one.operand == "negative" else "operator", str(one.operand))
    operand: Any = one.operand
    return int(operand[1] if one.kind == "call" else operand)


def renamed(statement: Statement, renaming: Renaming, source: Source) -> Statement:
    """Return a statement with its names as the whole model has them."""

    def value(code: Code, key: Code | None = None) -> Code:
        curve = (title, (sole(key) or "").lower()) in OF_PARAMETER
        return renamed_code(code, renaming, source, curve)

    keys, title = statement.words[0].lower() in TARGETS, " ".join(statement.words[:-1]).lower()
    arguments = tuple(
        Argument(value(key) if key and keys else key, value(one, key)) for key, one in statement.arguments
    )
    name = renaming.name(statement.words[-1]) if len(statement.words) > 1 else statement.words[-1]
    return statement._replace(
        words=(*statement.words[:-1], name),
        arguments=arguments,
        assigned=value(statement.assigned) if statement.assigned else None,
        at_index=value(statement.at_index) if statement.at_index else None,
    )


def renamed_code(code: Code, renaming: Renaming, source: Source, curve: bool = False) -> Code:
    """Return a value with parameters in place, and local names with their prefix; keys of calls stay.

    In the value of a curve its parameter stays. LanguageError where a value of the block has the same name.
    """
    keys, starts = set[int](), list[tuple[int, int]]()
    for k, one in enumerate(code):
        count = taken(one)
        parts = starts[len(starts) - count :]
        del starts[len(starts) - count :]
        if one.kind == "named":
            keys.update(range(parts[0][0], parts[0][1] + 1))
        starts.append((parts[0][0] if parts else k, k))
    found: list[Instruction] = []
    for k, one in enumerate(code):
        if k in keys or not isinstance(one.operand, Name):
            found.append(one)
        elif curve and one.kind == "name" and one.operand == Name((PARAMETER,), None):
            if PARAMETER in renaming.values:
                told = f"{PARAMETER} is the parameter of this curve, and {renaming.what}; give that another name"
                raise source.error(one.at, told)
            found.append(one)
        else:
            found += placed(one, renaming, source)
    return tuple(found)


def placed(one: Instruction, renaming: Renaming, source: Source) -> Code:
    """Return the full name of a name in its block."""
    name: Any = one.operand
    value = renaming.values.get(name.words[0]) if len(name.words) == 1 else None
    if value is None:
        words = (*name.words[:-1], renaming.name(name.words[-1]))
        return (one._replace(operand=Name(words, name.member)),)
    if name.member is None and one.kind == "name":
        return tuple(part._replace(at=one.at) for part in value)
    if len(value) == 1 and isinstance(value[0].operand, Name):
        known = value[0].operand
        return (one._replace(operand=Name(known.words, name.member or known.member)),)
    raise refused(source, one, name)


def refused(source: Source, one: Instruction, name: Name) -> LanguageError:
    return source.error(one.at, f"{name.words[0]} is a value here; only a name takes an index or a coordinate")

"""``read``: from a file, with what it includes, to a Document."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rtmbs.errors import LanguageError, ModelError, nearest_names, shown, unknown_name
from rtmbs.language.blocks import Blocks, check_clock
from rtmbs.language.builder import STAGES, STATEMENTS, Arguments, ModelBuilder, StatementKind
from rtmbs.language.document import Analysis, Document
from rtmbs.language.expressions import CONSTANTS, ExpressionProfile
from rtmbs.language.parse import (
    TIME,
    WAY_OUT,
    Dimension,
    Name,
    Sheet,
    Size,
    Source,
    Statement,
    as_written_here,
    inside,
    is_whole,
    load,
    measure,
    parse,
    written,
)
from rtmbs.language.scope import Quantity, Row
from rtmbs.language.statements import drivers, elements  # noqa: F401 - each registers
from rtmbs.language.statements.elements import register_forces, register_joints, register_kernel_forces
from rtmbs.model import Model
from rtmbs.model.mesh import read_once

MOST_FILES = 100  # that a model file includes
MOST_TIMES, MOST_VALUES = 10_001, 1_000_000  # at which functions of time are tried

Line = tuple[Source, Statement]


def read(
    path: str | Path, large: bool = False, constants: Mapping[str, float | str | Sequence[float]] | None = None
) -> Document:
    """Return the model and the analysis that a file describes; raises LanguageError, which names file and place.

    large: the file may have more than the usual number of bodies, words, rows and steps (``rtmbs.language.parse``).
    constants: values in place of those in the file, by name: numbers, rows of numbers, or text such as "30 mm".
    """
    name = str(path)
    source = load(Path(path), name)
    return build(parse(source, large=large), large, constants)


def build(
    sheet: Sheet | str, large: bool = False, constants: Mapping[str, float | str | Sequence[float]] | None = None
) -> Document:
    """Return the model and the analysis of parsed statements or of a text.

    Parameters
    ----------
    sheet : Sheet or str
        Parsed statements, or a text.
    large : bool, default False
        True to lift the usual limits of size.
    constants : Mapping[str, float, str or sequence of float], optional
        Values in place of those of the text, by name: numbers, rows of numbers for arrays, or text such as "30 mm".

    Returns
    -------
    Document
        Model and analysis.

    Raises
    ------
    LanguageError
        For a text that is not a model; file, line and column are named.
    """
    if isinstance(sheet, str):
        sheet = parse(sheet, large=large)
    size = Size(large)
    try:
        builder = ModelBuilder(Model(sheet.name), folder_of(sheet.source))
    except ModelError as error:
        raise sheet.source.error(0, str(error)) from None
    for name, value in (constants or {}).items():
        builder.given[name], dimensions = given_constant(name, value)
        builder.given_dimensions |= dimensions
    builder.later = constant_lines(sheet)
    register_joints()
    register_forces()
    blocks = Blocks(builder.scope, builder.arrays, large, is_statement)
    sorted_lines: dict[str, list[tuple[Source, Statement, StatementKind]]] = {stage: [] for stage in STAGES}
    for source, statement in blocks.flat(Includes(sheet.source, large).lines(sheet)):
        size.count(source, statement)
        if is_constant(statement):
            add_constant(builder, source, statement)
        else:
            kind = kind_of(source, statement)
            sorted_lines[kind.stage].append((source, statement, kind))
    known = {**builder.constants, **builder.arrays}
    if unused := builder.given.keys() - known.keys():
        why = str(unknown_name("constant", min(unused), known))
        raise sheet.source.error(0, f"{why}, which a value is given for", list(known))
    with read_once():
        for stage in STAGES:
            for source, statement, kind in sorted_lines[stage]:
                act(builder, source, statement, kind)
    if builder.analysis is None:
        raise sheet.source.error(0, "there is no SYSTEM statement; it says which analysis to make", ["SYSTEM"])
    if too_much := size.check(builder.analysis):
        source, statement, _ = sorted_lines["system"][0]
        raise source.error(statement.places[0], too_much)
    check_times(builder, builder.analysis)
    kept = (tuple(builder.constraints), builder.measures, builder.constants, builder.arrays)
    return Document(sheet.source.name, builder.model, builder.analysis, builder.places, *kept)


def given_constant(name: str, value: Any) -> tuple[float | list[float], dict[str, Dimension]]:
    """Return the number in SI units, or the row of numbers, that the caller sets a constant to, and their dimensions.

    Raises LanguageError for a text that is no number.
    """
    if isinstance(value, str):
        sheet = parse(f"constant c = {value};", name=f"{name} = {value}", fragment=True)
        if len(sheet.statements) != 1:
            raise sheet.source.error(
                sheet.statements[1].places[0], f"constant {name!r} takes one number or one array, and no statement"
            )
        statement = sheet.statements[0]._replace(words=("constant", name))
        for one in statement.assigned or ():
            word = one.operand.text if isinstance(one.operand, Name) else ""
            if word and word not in CONSTANTS and word.lower() != TIME:
                raise sheet.source.error(
                    one.at,
                    f"constant {name!r} is given as {value}, with the name {shown(word)}; a value from outside does not"
                    " know the constants of the file: give it in numbers",
                )
        builder = ModelBuilder(Model("constants"))
        add_constant(builder, sheet.source, statement)
        return builder.constants[name] if name in builder.constants else builder.arrays[name], builder.dimensions
    return [float(one) for one in value] if np.ndim(value) else float(value), {}


def constant_lines(sheet: Sheet) -> dict[str, int]:
    """Return the line of every constant of a text, by name."""
    return {one.words[-1]: sheet.source.place(one.places[-1]).line for one in sheet.statements if is_constant(one)}


def folder_of(source: Source) -> Path | None:
    """Return the folder that everything a model names lies in; None for a text that is no file."""
    return source.path.resolve().parent if source.path else None


def act(builder: ModelBuilder, source: Source, statement: Statement, kind: StatementKind) -> None:
    """Run the function of a statement."""
    args = Arguments(builder.scope(source), statement, kind.title)
    if not kind.free:
        args.sort(kind.keys, kind.flags, kind.repeated)
    kind.act(builder, args)
    builder.places[f"{kind.stage} {args.name}" if kind.named else kind.stage] = source.place(args.at)


def is_constant(statement: Statement) -> bool:
    return statement.words[0].lower() == "constant" and not statement.quoted[0]


def is_statement(words: str) -> bool:
    """Return whether words in small letters are those of a statement."""
    if words not in STATEMENTS:
        register_kernel_forces()
    return words in STATEMENTS or words in ("constant", "include")


def add_constant(builder: ModelBuilder, source: Source, statement: Statement) -> None:
    """Take ``constant NAME = VALUE;``."""
    args = Arguments(builder.scope(source), statement, "constant")
    if len(statement.words) != 2 or statement.assigned is None:
        raise source.error(statement.places[0], "a constant is written: constant NAME = VALUE;", ["NAME = VALUE"])
    if args.name in builder.constants:
        raise source.error(args.at, f"{args.label}: there is already a constant of this name; choose another")
    check_clock(source, args.name, args.at)
    value = args.scope.evaluate(statement.assigned)
    if args.name in builder.arrays:
        raise source.error(args.at, f"{args.label}: there is already a constant of this name; choose another")
    builder.later.pop(args.name, None)
    builder.places[f"constant {args.name}"] = source.place(args.at)
    found: Any = (
        args.items("its value", value, None, range(1, MOST_VALUES))
        if isinstance(value, Row)
        else args.checked("its value", value, None)
    )
    dimensions = dict(dimensions_of(args.name, value))
    if args.name in builder.given:
        found = as_given(args, found, builder.given[args.name])
        check_given(args, dimensions, builder.given_dimensions)
        dimensions |= {
            name: one for name, one in builder.given_dimensions.items() if name.partition("[")[0] == args.name
        }
    builder.dimensions |= dimensions
    if isinstance(found, list):
        builder.arrays[args.name] = found
    else:
        builder.constants[args.name] = found


def dimensions_of(name: str, value: Any) -> Iterator[tuple[str, Dimension]]:
    """Yield the name of a constant, or those of the items of an array, with the dimension of a number with a unit."""
    items = value.items if isinstance(value, Row) else ()
    for key, one in ((name, value), *((f"{name}[{k}]", item) for k, item in enumerate(items, 1))):
        if isinstance(one, Quantity) and one.dimension is not None:
            yield key, one.dimension


def check_given(args: Arguments, own: dict[str, Dimension], given: dict[str, Dimension]) -> None:
    """Refuse a value from outside in the unit of another quantity than the constant has in the file."""
    for name in own.keys() & given.keys():
        if own[name] != given[name]:
            raise args.source.error(
                args.at,
                f"{args.label}: the value from outside is {written(given[name])}; it must be {written(own[name])}",
            )


def as_given(args: Arguments, own: Any, given: Any) -> Any:
    """Return the value that the caller gives in place of a constant's own; a number for a number, a row for a row."""
    if isinstance(own, list) == isinstance(given, list):
        return given
    wanted = f"an array, such as {args.name}=[1,2]" if isinstance(own, list) else f"one number, such as {args.name}=1"
    found = "an array" if isinstance(given, list) else "one number"
    raise args.source.error(args.at, f"{args.label} is given {found} from outside; it takes {wanted}")


def kind_of(source: Source, statement: Statement) -> StatementKind:
    """Return the kind of a statement by its words; raises LanguageError with the nearest one."""
    words = [word.lower() for word in statement.words]
    at = statement.places[0]
    whole, but_last = " ".join(words), " ".join(words[:-1])
    if whole not in STATEMENTS and but_last not in STATEMENTS:
        register_kernel_forces()
    if whole in STATEMENTS and not STATEMENTS[whole].named:
        kind = STATEMENTS[whole]
    elif but_last in STATEMENTS and STATEMENTS[but_last].named:
        kind = STATEMENTS[but_last]
    elif whole in STATEMENTS:
        raise source.error(statement.places[-1], f"{whole} needs a name: {whole} NAME (...);", ["a name"])
    elif but_last in STATEMENTS:
        raise source.error(statement.places[-1], f"{but_last} takes no name; write {but_last} (...);", ["'('"])
    else:
        titles = list(STATEMENTS)
        near = nearest_names(but_last, titles) or nearest_names(whole, titles)
        if known := next((title for title in titles if whole.startswith(f"{title} ") and STATEMENTS[title].named), ""):
            names = shown(" ".join(statement.words[len(known.split()) :]))
            raise source.error(
                at,
                f'there is no statement {shown(but_last)}; a name is one word, or in quotes: {known} "{names[1:-1]}"',
            )
        if (here := as_written_here(words[0])) and whole[:9] != "point on ":
            near, but_last = [here], words[0]
        hint = f"did you mean {near[0]}?" if near else "statements are BODY, triad, revolute joint, driver and others"
        raise source.error(at, f"there is no statement {shown(but_last or whole)}; {hint}", near)
    if statement.assigned is not None:
        raise source.error(at, f"{kind.title} takes its arguments in brackets: {kind.title} (...);", ["'('"])
    return kind


class Includes:
    """The statements of a text, with those of the files that it includes in their place."""

    def __init__(self, source: Source, large: bool) -> None:
        self.large = large
        self.folder = folder_of(source)
        self.words = measure(source, large)
        self.files = 0

    def lines(self, sheet: Sheet, chain: tuple[Path, ...] = ()) -> Iterator[Line]:
        """Yield every statement with its text."""
        source = sheet.source
        here = (*chain, source.path.resolve()) if source.path else chain
        for statement in sheet.statements:
            if statement.words[0].lower() == "include" and not statement.quoted[0]:
                yield from self.lines(self.included(source, statement, here), here)
            else:
                yield source, statement

    def included(self, source: Source, statement: Statement, chain: tuple[Path, ...]) -> Sheet:
        """Return the statements of one included file; raises LanguageError for one that must not be."""
        at = statement.places[-1]
        if len(statement.words) != 2 or not statement.quoted[1] or statement.arguments or statement.assigned:
            raise source.error(at, 'an include is written: include "FILE";', ['"FILE"'])
        name = statement.words[1]
        path = inside(source, self.folder, name, at, "include")
        if path in chain:
            loop = " includes ".join(one.name for one in (*chain[chain.index(path) :], path))
            raise source.error(at, f"{loop}: a file cannot include itself")
        self.files += 1
        if self.files > MOST_FILES:
            raise source.error(at, f"more than {MOST_FILES} files are included; a model has fewer")
        try:
            inner = load(path, str(Path(source.name).parent / name))
        except LanguageError as error:
            raise source.error(at, f"included file {error}") from None
        self.words += measure(inner, self.large)
        if self.words > (most := Size(self.large).most.words):
            raise source.error(at, f"with this file there are more than {most:,.0f} words; {WAY_OUT}")
        return parse(inner, fragment=not is_whole(inner), large=self.large)


def check_times(builder: ModelBuilder, analysis: Analysis) -> None:
    """Try functions of drivers at the times of the analysis; raises LanguageError for one that is not finite."""
    for source, at, what, profile in builder.functions:
        if not isinstance(profile, ExpressionProfile):
            continue
        rows = (analysis.t1 - analysis.t0) / analysis.dt
        count = int(min(rows + 1, MOST_TIMES, max(MOST_VALUES // len(profile.steps), 2)))
        times = np.linspace(analysis.t0, analysis.t1, count)
        for name, values in zip(("value", "rate", "acceleration"), profile.many(times), strict=True):
            bad = np.flatnonzero(~np.isfinite(values))
            if len(bad):
                raise source.error(at, f"{what}: its {name} is no finite number at TIME = {times[bad[0]]:.6g}")

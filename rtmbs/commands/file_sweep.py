"""``rtmbs run FILE --sweep NAME=FIRST:LAST:COUNT``: a model file for many values of its constants."""

import argparse
import csv
import io
import warnings
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rtmbs.commands.analyses import at_rest, chosen_method, constants_of, grid_notes, kinematics, simulation, step
from rtmbs.commands.arguments import FAILED, check_target
from rtmbs.commands.recursion import Recursion, motion, recursion_of, times_of
from rtmbs.core.files import replacing
from rtmbs.errors import InputError, RtmbsError, RtmbsWarning, unknown_name
from rtmbs.language import Document, read
from rtmbs.language.measures import with_measures
from rtmbs.recursive.ranks import launch, ranks_started
from rtmbs.simulation.observers import Every

if TYPE_CHECKING:
    from rtmbs.results.result import Result

MOST = 100_000  # runs
SHOWN = 12  # significant digits of a table


class Row(NamedTuple):
    """One run of a sweep: the values of its constants, the ends of its measures by column, or why there are none."""

    values: tuple[float, ...]
    found: dict[str, float]
    error: str

    def words(self, names: list[str], columns: list[str]) -> list[str]:
        """Return the row under constants, columns of measures and ``error``; empty where the run has no such column."""
        ends = [self.found.get(column) for column in columns]
        numbers = [f"{value:.{SHOWN}g}" for value in self.values[: len(names)]]
        return [*numbers, *("" if end is None else f"{end:.{SHOWN}g}" for end in ends), self.error]


def sweep_file(options: argparse.Namespace) -> int:
    """Run a file for every combination of values; print a row each, and write them to ``--out``.

    A value may change which measures a file has: columns go by their names, and new ones are added behind the others.
    """
    if options.out:
        check_target(options.out, (".csv",))
    for name in ("channels", "blocks", "forces", "ranks"):
        if getattr(options, name):
            raise InputError(f"--{name} belongs to one run; leave out --sweep, or run the file for each value")
    method = chosen_method(options.method)
    ranges = [values_of(word) for word in options.sweep]
    if (runs := int(np.prod([len(values) for _, values in ranges]))) > MOST:
        raise InputError(f"--sweep makes {runs:,} runs; at most {MOST:,} are made")
    names, rows = [name for name, _ in ranges], list[Row]()
    given = constants_of(options.set)
    if twice := next((name for k, name in enumerate(names) if name in given or name in names[:k]), None):
        raise InputError(f"constant {twice!r} is given twice on the command line; give it once, by --set or by --sweep")
    itself = refusal_of_file(options, given, names)
    for values in product(*(values for _, values in ranges)):
        row, notes = one_run(options, method, values, given | dict(zip(names, values, strict=True)), itself)
        rows.append(row)
        head = [*names, *row.found, "error"]
        print(
            ", ".join(
                f"{name} = {word}" for name, word in zip(head, row.words(names, list(row.found)), strict=True) if word
            )
        )
        for note in notes:
            print(f"  note: {note}")
    if options.out:
        columns = list(dict.fromkeys(column for row in rows for column in row.found))
        text = io.StringIO()
        table = [[*names, *columns, "error"], *(row.words(names, columns) for row in rows)]
        csv.writer(text, lineterminator="\n").writerows(table)
        with replacing(options.out) as file:
            file.write(text.getvalue().encode())
        print(f"{len(rows)} runs in {options.out}")
    return FAILED if any(row.error for row in rows) else 0


def one_run(
    options: argparse.Namespace, method: Any, values: tuple[float, ...], given: dict[str, Any], itself: str | None
) -> tuple[Row, list[str]]:
    """Return the row of one run, and notes on it; raises what the file is refused for whatever its values are."""
    try:
        document, recursion = prepared(options, given)
        found, notes = measured(document, method, recursion)
    except RtmbsError as refused:
        if str(refused) == itself:
            raise
        return Row(values, {}, str(refused)), notes_of(getattr(refused, "result", None))
    return Row(values, found, ""), notes


def prepared(options: argparse.Namespace, given: dict[str, Any]) -> tuple[Document, Recursion | None]:
    """Return a file with values of its constants, and its recursion; raises RtmbsError for one that makes no row."""
    document = read(options.file, options.large, given)
    if not document.measures:
        raise InputError(f"{options.file} has no measure; write one such as: measure lift (tip.y);")
    return document, checked_recursion(options, document)


def refusal_of_file(options: argparse.Namespace, given: dict[str, Any], names: list[str]) -> str | None:
    """Return why the file is refused with its own values; InputError where it has no such constant of one number."""
    try:
        document, _ = prepared(options, given)
    except RtmbsError as refused:
        return str(refused)
    for name in names:
        if name in document.arrays:
            raise InputError(
                f"--sweep {name}: constant {name!r} holds several values, and a sweep is over constants of one number;"
                f" give the file a constant for what changes, such as {name} = [c, 2]"
            )
        if name not in document.constants:
            raise unknown_name("constant", name, [*document.constants])
    return None


def values_of(word: str) -> tuple[str, list[float]]:
    """Return the name and the values of NAME=FIRST:LAST:COUNT, or of NAME=VALUE,VALUE; InputError otherwise."""
    name, equals, text = word.partition("=")
    name = name.strip()
    try:
        if ":" in text:
            first, last, count = text.split(":")
            values = np.linspace(float(first), float(last), int(count)).tolist()
        else:
            values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not (equals and name and values and np.all(np.isfinite(values))):
        raise InputError(f"--sweep takes NAME=FIRST:LAST:COUNT or NAME=VALUE,VALUE, not {word!r}, such as a=1:2:11")
    return name, values


def measured(document: Document, method: Any, recursion: Recursion | None) -> tuple[dict[str, float], list[str]]:
    """Return the least and the largest value of each measure over an analysis by column, and notes on it."""
    result = analysed(document, method, recursion)
    found = with_measures(document, result)
    ends = ("least", np.min), ("largest", np.max)
    values = {f"{word} {name}": float(end(found[name])) for name in document.measures for word, end in ends}
    grid = [] if document.analysis.kind == "static" else grid_notes(document.analysis)
    return values, [*notes_of(result), *grid]


def checked_recursion(options: argparse.Namespace, document: Document) -> Recursion | None:
    """Return the settings of the recursion; raises InputError for a method or ranks that a sweep does not take."""
    recursion = recursion_of(options, document)
    if options.method and (document.analysis.kind != "dynamic" or recursion):
        raise InputError("--method belongs to a DYNAMIC ANALYSIS without recursion, and the file asks for another")
    if recursion and max(recursion.ranks, ranks_started()) > 1:
        raise InputError(f"ranks is {recursion.ranks}, and --sweep runs in one process; make it 1")
    return recursion


def analysed(document: Document, method: Any, recursion: Recursion | None) -> "Result":
    """Return the result of the analysis that a file asks for."""
    analysis = document.analysis
    if analysis.kind == "kinematic":
        return kinematics(document).run(analysis.t0, analysis.t1, analysis.dt)
    if analysis.kind == "static":
        return at_rest(document)[1]
    if recursion is None:
        return simulation(document, method).run(analysis.t1, record=Every(analysis.dt))
    times = times_of(analysis.t1, analysis.dt)
    found: Result = launch(lambda exchange: motion(simulation(document), times, step(document), recursion, exchange))
    return found


def notes_of(result: "Result | None") -> list[str]:
    """Return the warnings of a result, which are printed instead of shown by Python."""
    if result is None:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RtmbsWarning)
        return [str(one) for one in result.warnings]

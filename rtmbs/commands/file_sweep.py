"""``rtmbs run FILE --sweep NAME=FIRST:LAST:COUNT``: a model file for many values of its constants."""

import argparse
import csv
import io
import warnings
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from rtmbs.commands.analyses import at_rest, chosen_method, constants_of, grid_notes, kinematics, simulation, step
from rtmbs.commands.arguments import FAILED, check_target
from rtmbs.commands.recursion import Recursion, motion, recursion_of, times_of
from rtmbs.core.atomic_file import replacing
from rtmbs.errors import InputError, RtmbsError, RtmbsWarning
from rtmbs.language import Document, read
from rtmbs.language.measures import with_measures
from rtmbs.recursive.ranks import launch, ranks_started
from rtmbs.simulation.observers import Every

if TYPE_CHECKING:
    from rtmbs.results.result import Result

MOST = 100_000  # runs
SHOWN = 12  # significant digits of a table


def sweep_file(options: argparse.Namespace) -> int:
    """Run a file for every combination of values; print a row each, and write them to ``--out``."""
    if options.out:
        check_target(options.out, (".csv",))
    for name in ("channels", "blocks", "forces", "ranks"):
        if getattr(options, name):
            raise InputError(f"--{name} belongs to one run; leave out --sweep, or run the file for each value")
    method = chosen_method(options.method)
    ranges = [values_of(word) for word in options.sweep]
    if (runs := int(np.prod([len(values) for _, values in ranges]))) > MOST:
        raise InputError(f"--sweep makes {runs:,} runs; at most {MOST:,} are made")
    names, rows, failed = [name for name, _ in ranges], list[list[str]](), 0
    head = list[str]()
    for values in product(*(values for _, values in ranges)):
        given = constants_of(options.set) | dict(zip(names, values, strict=True))
        document = read(options.file, options.large, given)
        if not document.measures:
            raise InputError(f"{options.file} has no measure; write one such as: measure lift (tip.y);")
        head = head or [
            *names,
            *(f"{end} {name}" for name in document.measures for end in ("least", "largest")),
            "error",
        ]
        recursion = checked_recursion(options, document)
        try:
            (found, notes), error = measured(document, method, recursion), ""
        except RtmbsError as refused:
            kept = getattr(refused, "result", None)
            found, notes, error, failed = [], notes_of(kept), str(refused), failed + 1
        numbers = [f"{value:.{SHOWN}g}" for value in (*values, *found)]
        rows.append([*numbers, *[""] * (len(head) - 1 - len(numbers)), error])
        print(", ".join(f"{name} = {value}" for name, value in zip(head, rows[-1], strict=True) if value))
        for note in notes:
            print(f"  note: {note}")
    if options.out:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([head, *rows])
        with replacing(options.out) as file:
            file.write(text.getvalue().encode())
        print(f"{len(rows)} runs in {options.out}")
    return FAILED if failed else 0


def values_of(word: str) -> tuple[str, list[float]]:
    """Return the name and the values of NAME=FIRST:LAST:COUNT, or of NAME=VALUE,VALUE; InputError otherwise."""
    name, equals, text = word.partition("=")
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


def measured(document: Document, method: Any, recursion: Recursion | None) -> tuple[list[float], list[str]]:
    """Return the least and the largest value of each measure over the analysis of a file, and notes on it."""
    result = analysed(document, method, recursion)
    found = with_measures(document, result)
    values = [float(end(found[name])) for name in document.measures for end in (np.min, np.max)]
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

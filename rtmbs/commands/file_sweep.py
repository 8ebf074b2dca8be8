"""``rtmbs run FILE --sweep NAME=FIRST:LAST:COUNT``: a model file for many values of its constants."""

import argparse
import csv
import io
from itertools import product
from typing import Any

import numpy as np

from rtmbs.commands.analyses import constants_of, kinematics, simulation
from rtmbs.commands.arguments import FAILED, check_target
from rtmbs.core.atomic_file import replacing
from rtmbs.errors import InputError, RtmbsError
from rtmbs.language import Document, read
from rtmbs.language.measures import with_measures
from rtmbs.simulation.observers import Every

MOST = 100_000  # runs
SHOWN = 12  # significant digits of a table


def sweep_file(options: argparse.Namespace) -> int:
    """Run a file for every combination of values; print a row each, and write them to ``--out``."""
    if options.out:
        check_target(options.out, (".csv",))
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
        try:
            found, error = measured(document), ""
        except RtmbsError as refused:
            found, error, failed = [], str(refused), failed + 1
        numbers = [f"{value:.{SHOWN}g}" for value in (*values, *found)]
        rows.append([*numbers, *[""] * (len(head) - 1 - len(numbers)), error])
        print(", ".join(f"{name} = {value}" for name, value in zip(head, rows[-1], strict=True) if value))
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


def measured(document: Document) -> list[float]:
    """Return the least and the largest value of each measure over the analysis of a file."""
    analysis = document.analysis
    result: Any
    if analysis.kind == "kinematic":
        result = kinematics(document).run(analysis.t0, analysis.t1, analysis.dt)
    else:
        result = simulation(document).run(analysis.t1, record=Every(analysis.dt))
    found = with_measures(document, result)
    return [float(end(found[name])) for name in document.measures for end in (np.min, np.max)]

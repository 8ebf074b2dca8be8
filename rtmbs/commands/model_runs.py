"""Runs of a model file: kinematic or dynamic, on ranks, and for many values of its constants.

Analyses of a model file: a kinematic one, or a Simulation; its constants as the command line gives them.

``rtmbs run FILE --sweep NAME=FIRST:LAST:COUNT``: a model file for many values of its constants.

``rtmbs run --ranks N``: a dynamic run by the recursion over bodies, alone or on ranks that this command starts.
"""

import argparse
import csv
import io
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rtmbs import __version__
from rtmbs.commands.arguments import FAILED, Parser, check_target, count, number, positive
from rtmbs.core.files import replacing
from rtmbs.errors import InputError, RtmbsError, RtmbsWarning, unknown_name
from rtmbs.language import Analysis as FileAnalysis
from rtmbs.language import Document, read
from rtmbs.language.measures import with_measures
from rtmbs.recursive.motion import EXTRA, demand_same_system, launch, ranks_started
from rtmbs.simulation.observers import Every

if TYPE_CHECKING:
    from rtmbs.kinematics import Analysis
    from rtmbs.recursive.motion import Exchange
    from rtmbs.results.result import Result
    from rtmbs.simulation import Simulation
    from rtmbs.studies.analysis.equilibrium import Equilibrium

WHOLE = 1e-9  # of an interval
STATIC_STEP = 1e-3  # [s] of the Simulation of a static equilibrium, which takes no steps

OPTIONS = {  # of rtmbs.kinematics.Analysis: field of the file's analysis
    "method": "method",
    "weights": "weights",
    "pivot": "pivot",
    "singular": "singular",
    "assembly_tolerance": "assembly_tolerance",
    "pivot_tolerance": "lu_tolerance",
}


def constants_of(words: list[str]) -> dict[str, float | str]:
    """Return the constants that ``--set`` gives, as text; InputError for a word that is no NAME=VALUE."""
    found: dict[str, float | str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not (equals and name.strip() and text.strip()):
            raise InputError(f"--set takes NAME=VALUE, not {word!r}, such as --set length=30mm")
        if name.strip() in found:
            raise InputError(f"constant {name.strip()!r} is given twice on the command line; give it once, by --set")
        found[name.strip()] = text.strip()
    return found


def kinematics(document: Document) -> "Analysis":
    """Return the kinematic analysis; raises ModelError and InputError as it does."""
    from rtmbs.kinematics import Analysis

    said: dict[str, Any] = {name: getattr(document.analysis, field) for name, field in OPTIONS.items()}
    return Analysis(
        document.model, document.constraints, **{name: value for name, value in said.items() if value is not None}
    )


def simulation(document: Document, method: Any = None) -> "Simulation":
    """Return the simulation of an analysis: a dynamic one from zero, else at the starting time; raises InputError."""
    from rtmbs.simulation import Simulation

    analysis = document.analysis
    if document.constraints:
        kind = {"profile": "driver of a triad"}.get(document.constraints[0]._fields[-1], "point on curve or cam")
        raise InputError(
            f"{document.constraints[0].name} is a {kind}, which a KINEMATIC ANALYSIS alone follows; change SYSTEM"
        )
    if analysis.kind == "static":
        return Simulation(document.model.compile(), STATIC_STEP, method, t0=analysis.t0)
    if analysis.t0 != 0.0:
        raise InputError(f"starting time is {analysis.t0:g}; a dynamic analysis starts at 0")
    return Simulation(document.model.compile(), step(document), method)


def at_rest(document: Document) -> "tuple[Equilibrium, Result]":
    """Return the stable equilibrium of a model file at its starting time, and it as a Result of one sample.

    Raises as ``equilibrium`` does.
    """
    from rtmbs.simulation.observers import EveryStep
    from rtmbs.studies.analysis.equilibrium import equilibrium

    found = equilibrium(simulation(document))
    return found, found.simulation.run(found.simulation.t, record=EveryStep())


def step(document: Document) -> float:
    """Return the step of an analysis [s]: the print interval, or a whole part of it; raises InputError."""
    analysis = document.analysis
    h = analysis.dt if analysis.h is None else analysis.h
    parts = analysis.dt / h
    if parts < 1.0 - 1e-9 or abs(parts - round(parts)) > 1e-9 * parts:
        raise InputError(
            f"step is {h:g} and print interval {analysis.dt:g}; the interval must be a whole number of steps"
        )
    return h


def grid_notes(analysis: FileAnalysis) -> list[str]:
    """Return remarks on the rows of a result: an end between two of them, or a single row."""
    length = analysis.t1 - analysis.t0
    intervals = length / analysis.dt
    if length > 0.0 and intervals < 1.0 - WHOLE:
        return [f"print interval is {analysis.dt:g} s and the analysis takes {length:g} s: the result has one row"]
    if abs(intervals - round(intervals)) > WHOLE * max(intervals, 1.0):
        last = analysis.t0 + int(intervals) * analysis.dt
        return [
            f"ending time {analysis.t1:g} s is no whole number of print intervals of {analysis.dt:g} s; the last row is"
            f" at {last:g} s"
        ]
    return []


def chosen_method(words: list[str] | None) -> Any:
    """Return the method of ``--method``; None where it was not given.

    A formulation and a table are given by name: ``--method runge-kutta tableau=gill formulation=null-space``. Raises
    InputError for an option that is none, or has no such value.
    """
    from ast import literal_eval
    from dataclasses import fields

    from rtmbs.formulations import FORMULATIONS
    from rtmbs.integrators.tableaux import TABLEAUX
    from rtmbs.methods import METHODS

    if words is None:
        return None
    kind, options = METHODS[words[0]], dict[str, Any]()
    known = [f.name for f in fields(kind)]
    for word in words[1:]:
        key, equals, text = word.partition("=")
        if not equals:
            raise InputError(f"option {word!r} of --method is no KEY=VALUE; it must be one, such as rtol=1e-8")
        if key not in known:
            raise unknown_name("option", key, known)
        try:
            options[key] = literal_eval(text)
        except (ValueError, SyntaxError):
            options[key] = text
        if key == "formulation":
            options[key] = FORMULATIONS[text]()
        elif key == "tableau":
            options[key] = TABLEAUX.get(text, text)
    return kind(**options)


INTEGRATORS = ("rk4", "bdf")
SETTINGS = ("ranks", "recursion", "alpha", "beta", "rtol", "atol")  # of the command line, and of Analysis of a file
MPIEXEC = "mpiexec"


class Recursion(NamedTuple):
    """Settings of a run by the recursion."""

    ranks: int = 1
    recursion: str = "rk4"
    alpha: float = 10.0  # Baumgarte's gains [1/s]
    beta: float = 10.0
    rtol: float = 1e-8  # of BDF
    atol: float = 1e-10


def add_recursion(parser: Parser) -> None:
    """Add the options of the recursion."""
    group = parser.add_argument_group("recursion over bodies (a dynamic run)")
    group.add_argument("--ranks", type=count, metavar="N", help="share the bodies among N ranks of mpiexec")
    group.add_argument("--recursion", choices=INTEGRATORS, help="method of time: rk4 (equal steps) or bdf (SUNDIALS)")
    group.add_argument("--alpha", type=number, help="Baumgarte's gain of the rate of the violation [1/s] (10)")
    group.add_argument("--beta", type=number, help="Baumgarte's gain of the violation [1/s] (10)")
    group.add_argument("--rtol", type=positive, help="relative tolerance of bdf (1e-8)")
    group.add_argument("--atol", type=positive, help="absolute tolerance of bdf (1e-10)")


def recursion_of(options: argparse.Namespace, document: Document | None = None) -> Recursion | None:
    """Return the settings of the recursion, those of the command line before those of the file; None without any."""
    given = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    in_file = {} if document is None else {name: getattr(document.analysis, name) for name in SETTINGS}
    found = {name: value for name, value in in_file.items() if value is not None} | given
    if not found:
        return None
    if not {"ranks", "recursion"} & set(found):
        raise InputError(f"{next(iter(found))} is a setting of the recursion; say --ranks N or --recursion bdf as well")
    if document is not None and document.analysis.kind != "dynamic":
        raise InputError(
            f"ranks and recursion belong to a DYNAMIC ANALYSIS, and this is a {document.analysis.kind} one"
        )
    return Recursion(**found)


def refuse_other_options(options: argparse.Namespace) -> None:
    """Raise InputError for an option that a run by the recursion does not take."""
    for name in ("method", "channels", "blocks", "forces", "sweep"):
        if getattr(options, name, None):
            raise InputError(f"--{name} does not go with --ranks or --recursion; take one of them away")


def must_start_ranks(settings: Recursion) -> bool:
    """Return whether this process is to start the ranks; InputError where a launcher started another number."""
    started = ranks_started()
    if started > 1 and started != settings.ranks:
        raise InputError(f"ranks is {settings.ranks}, and the launcher started {started}; make them the same")
    return settings.ranks > 1 and started == 1


def start_ranks(ranks: int, words: list[str]) -> int:
    """Run ``rtmbs run`` with the same words on ranks of mpiexec; return its exit code."""
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    program = shutil.which(MPIEXEC, path=beside)
    if program is None:
        raise InputError(f"--ranks needs {MPIEXEC}, which is not found; install an MPI: pip install mpich")
    if find_spec("mpi4py") is None:
        raise InputError(f"--ranks needs mpi4py, which is missing; install it: {EXTRA}")
    sys.stdout.flush()
    command = [program, "-n", str(ranks), sys.executable, "-m", "rtmbs", "run", *words]
    return subprocess.run(command, check=False).returncode


def run_recursion(
    simulation: Callable[[], "Simulation"], times: np.ndarray, h: float, settings: Recursion
) -> "Result | None":
    """Return the motion of a Simulation's System from its start, on the ranks of this process; None but on the first.

    ``simulation`` is called on every rank. Prints what ranks share.
    """

    def work(exchange: "Exchange") -> "Result | None":
        sim = simulation()
        demand_same_system(exchange, sim.system, __version__)
        result = motion(sim, times, h, settings, exchange)
        if exchange.rank:
            return None
        print(sim.start_report)
        print(f"recursion by {settings.recursion}: {result.report.summary()}")
        return result

    return launch(work)


def motion(sim: "Simulation", times: np.ndarray, h: float, settings: Recursion, exchange: "Exchange") -> "Result":
    """Return the motion at times by the method of time that the settings name."""
    start: Any = sim.state
    gains = {"alpha": settings.alpha, "beta": settings.beta}
    if settings.recursion == "bdf":
        from rtmbs.dae import run_bdf

        accuracy = {"rtol": settings.rtol, "atol": settings.atol}
        return run_bdf(sim.system, start.z, start.zd, times, exchange, **gains, **accuracy)
    from rtmbs.recursive import run

    return run(sim.system, start.z, start.zd, times, h, exchange, **gains, R0=start.R0)


def times_of(t1: float, interval: float) -> np.ndarray:
    """Return the times of samples: 0, and multiples of the interval up to ``t1`` [s]."""
    return interval * np.arange(int(t1 / interval * (1.0 + 1e-9)) + 1)


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

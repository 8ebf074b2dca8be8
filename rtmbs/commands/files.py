"""Commands on files: ``rtmbs check``, ``run``, ``format`` (models), ``plot`` (results), ``sweep`` (studies)."""

import argparse
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtmbs.commands.arguments import (
    FAILED,
    SUFFIX,
    Parser,
    add_reading,
    check_target,
    count,
    is_robot_file,
    option_parser,
    read_options,
    robot_model,
)
from rtmbs.commands.model_runs import (
    SETTINGS,
    add_recursion,
    at_rest,
    chosen_method,
    constants_of,
    grid_notes,
    kinematics,
    must_start_ranks,
    recursion_of,
    refuse_other_options,
    run_recursion,
    simulation,
    start_ranks,
    step,
    times_of,
)
from rtmbs.core.files import replacing
from rtmbs.errors import InputError, LanguageError, ModelError, RtmbsError, RtmbsWarning, StartError
from rtmbs.language import Document, Place
from rtmbs.language.measures import with_measures
from rtmbs.language.parse import load
from rtmbs.results.file_formats import WRITTEN, check_form
from rtmbs.results.result import load_result

if TYPE_CHECKING:
    from rtmbs.kinematics import Analysis
    from rtmbs.model import Model
    from rtmbs.results.result import Result
    from rtmbs.simulation import Simulation
    from rtmbs.studies.sweeps.engines import Engine
    from rtmbs.studies.sweeps.result import SweepResult

EPILOG = """
A channel is NAME.QUANTITY, as `rtmbs plot FILE` lists it. A component is NAME.QUANTITY[AXIS] or NAME.QUANTITY.AXIS;
a component of a position may be written NAME.x.

  rtmbs plot slider.h5 block.x rev1.angle --out slider.png
"""
SINGULAR = {"bodies": "body"}


def check_command(words: list[str]) -> int:
    """Print bodies, equations, rank and freedom of a model file or a robot's file, or of a library mechanism."""
    from rtmbs import library

    epilog = f"mechanisms of the library: {', '.join(library.names())}"
    parser = Parser(prog="rtmbs check", description=check_command.__doc__, epilog=epilog)
    parser.add_argument("model", metavar="MODEL", help="a model file (.mks), or a library mechanism with its options")
    if not words or words[0].startswith("-"):
        add_large(parser)
        add_reading(parser)
        name = str(parser.read(words or ["--help"]).model)
        return check_command([name, *(word for word in words if word != name)])
    name = words[0]
    if is_robot_file(name):
        model = read_options("rtmbs check", name, words[1:], meshes=False)
        print(model.import_report, end="\n\n")
        return check_model(model)
    if not is_file(name):
        return check_mechanism(name, words[1:])
    add_large(parser)
    options = parser.read(words)
    return check_file(options.model, options.large)


def check_mechanism(name: str, words: list[str]) -> int:
    """Check a mechanism of the library."""
    from rtmbs import library

    defaults = library.defaults(name)
    options = vars(option_parser(f"rtmbs check {name}", defaults, library.describe(name)).read(words))
    return check_model(library.build(name, **options))


def check_model(model: "Model") -> int:
    """Print the tree, the start and the method of a Model."""
    from rtmbs.simulation import Simulation
    from rtmbs.system.pattern import factor_text

    sim = Simulation(model.compile())
    print(sim.start_report.topology)
    print()
    print(sim.start_report)
    print(f"method               {suited_method(sim)}")
    print(factor_text(sim.system))
    return 0


def suited_method(sim: "Simulation") -> str:
    """Return which method of time suits a System, and why (METHODS 6.1).

    A loop on a base that moves along or about an axis, where nothing outside acts, is what PenaltyTrapezoidal loses
    momentum of.
    """
    from rtmbs.results.run_warnings import components
    from rtmbs.system.tables import GRAVITY_SLOT

    gravity = sim.state.u[None, GRAVITY_SLOT : GRAVITY_SLOT + 3]
    conserved = components(sim.system, sim.equations.tables, gravity)
    if not conserved:
        return "PenaltyTrapezoidal, the default: ground or gravity acts along and about every axis"
    if not sim.system.m:
        return "PenaltyTrapezoidal, the default: a tree without loops keeps its conserved momenta"
    kinds = [bool(sum(len(getattr(one, name)) for one in conserved)) for name in ("translations", "rotations")]
    what = " and ".join(name for name, has in zip(("momentum", "angular momentum"), kinds, strict=True) if has)
    return f"VariationalMidpoint: it keeps the conserved {what} of the base, which the default loses in loops"


def check_file(path: str, large: bool) -> int:
    """Check a model file; one that is refused is shown with a caret on standard output."""
    from rtmbs.language import read

    try:
        document = read(path, large)
        with errors_in_file(path, document):
            print(summary(document))
    except LanguageError as error:
        if error.picture:
            print(error.picture)
        raise
    return 0


def summary(document: Document) -> str:
    """Return tree or equations of a model, by the kind of its analysis."""
    from rtmbs.system.pattern import factor_text

    model, analysis = document.model, document.analysis
    head = f"{model.name}: {analysis.kind} analysis from {analysis.t0:g} s to {analysis.t1:g} s every {analysis.dt:g} s"
    if analysis.kind == "static":
        head = f"{model.name}: static equilibrium at {analysis.t0:g} s"
    if analysis.kind == "kinematic":
        return f"{head}\n\n{kinematics(document).check(analysis.t0)}"
    sim = simulation(document)
    method = f"method               {suited_method(sim)}"
    return f"{head}\n\n{sim.start_report.topology}\n\n{sim.start_report}\n{method}\n{factor_text(sim.system)}"


def run_command(words: list[str]) -> int:
    """Run the analysis of a model file, or a library mechanism: rtmbs run FILE --out result.npz"""
    from rtmbs import library
    from rtmbs.language import read

    if words and words[0] in library.names():
        return run_mechanism(words[0], words[1:])
    if words and is_robot_file(words[0]):
        return run_robot_file(words[0], words[1:])
    options = run_parser().read(words)
    if options.sweep:
        from rtmbs.commands.model_runs import sweep_file

        return sweep_file(options)
    if options.blocks and not options.out:
        raise InputError("--blocks needs --out PATH, such as --out run.h5")
    if options.out:
        check_target(options.out, WRITTEN)
        check_form(options.out)
    document = read(options.file, options.large, constants_of(options.set))
    if recursion_of(options, document):
        return run_file_by_recursion(document, options, words)
    try:
        with errors_in_file(options.file, document):
            method = chosen_method(options.method)
            file = options.out if options.blocks else None
            result = run_analysis(document, options.channels, file, method, options.forces)
            result = with_measures(document, result)
            print_measures(document, result)
    except (RtmbsError, KeyboardInterrupt) as error:
        kept = getattr(error, "result", None)
        if kept is not None and document.analysis.kind == "kinematic":
            for warning in kept.warnings:
                print(f"note: {warning}")
        if options.out and kept is not None and len(kept):
            if not options.blocks:
                kept.save(options.out)
            print(f"the result so far is in {options.out}")
        raise
    if options.blocks:
        print(f"{len(result)} samples of {len(list(result))} channels in {options.out}")
    else:
        save_result(result, options.out)
    return 0


def run_file_by_recursion(document: Document, options: argparse.Namespace, words: list[str]) -> int:
    """Run a dynamic analysis of a model file by the recursion, on ranks that are started here if need be."""
    settings = recursion_of(options, document)
    assert settings is not None
    refuse_other_options(options)
    if must_start_ranks(settings):
        return start_ranks(settings.ranks, words)
    analysis = document.analysis
    with errors_in_file(options.file, document):
        times = times_of(analysis.t1, analysis.dt)
        result = run_recursion(partial(simulation, document), times, step(document), settings)
    if result is not None:
        result = with_measures(document, result)
        print_measures(document, result)
        save_result(result, options.out)
    return 0


def save_result(result: "Result", out: str | None) -> None:
    """Save a result, and say where."""
    if out:
        result.save(out)
        print(f"{len(result)} samples of {len(list(result))} channels in {out}")
    else:
        print("the result is not kept; --out PATH, such as --out run.h5, saves it")


def run_mechanism(name: str, words: list[str]) -> int:
    """Run a mechanism of the library, from its start and with the steps of a Simulation."""
    from rtmbs import library

    parser = option_parser(f"rtmbs run {name}", library.defaults(name), library.describe(name))
    add_run(parser)
    options = vars(parser.read(words))
    run = argparse.Namespace(**{key: options.pop(key) for key in ("until", "step", "out", "method", *SETTINGS)})
    return run_model(library.build(name, **options), run, [name, *words])


def run_robot_file(path: str, words: list[str]) -> int:
    """Run the mechanism of a robot's file from its start."""
    parser = Parser(prog=f"rtmbs run {path}", description="Run the mechanism of a robot's file (URDF, SDF, MJCF).")
    add_run(parser)
    add_reading(parser)
    options = parser.read(words)
    return run_model(robot_model(path, options, meshes=False), options, [path, *words])


def add_run(parser: Parser) -> None:
    """Add the options of a run that no model file states."""
    parser.add_argument("--until", type=float, default=1.0, metavar="T", help="end of the run [s] (%(default)s)")
    parser.add_argument("--step", type=float, default=5e-3, metavar="H", help="time step [s] (%(default)s)")
    parser.add_argument("--out", metavar="PATH", help="where the result is saved: .npz, .h5, .parquet or .csv")
    add_method(parser)
    add_recursion(parser)


def run_model(model: "Model", options: argparse.Namespace, words: list[str]) -> int:
    """Run a Model and save its result, as the options of ``add_run`` say; ``words`` are those behind ``rtmbs run``."""
    from rtmbs.simulation import Simulation
    from rtmbs.simulation.observers import EveryStep

    out = options.out
    if out:
        check_target(out, WRITTEN)
        check_form(out)
    if settings := recursion_of(options):
        refuse_other_options(options)
        if must_start_ranks(settings):
            return start_ranks(settings.ranks, words)
        times = times_of(options.until, options.step)
        found = run_recursion(lambda: Simulation(model.compile(), options.step), times, options.step, settings)
        if found is not None:
            save_result(found, out)
        return 0
    sim = Simulation(model.compile(), options.step, chosen_method(options.method))
    result = run_simulation(sim, options.until, record=EveryStep())
    if out:
        result.save(out)
        print(f"{len(result)} samples of {len(list(result))} channels in {out}")
    return 0


def add_method(parser: Parser) -> None:
    """Add the option ``--method NAME KEY=VALUE ...``."""
    parser.add_argument(
        "--method", nargs="+", metavar=("NAME", "KEY=VALUE"),
        help="method of time integration with its options, such as: --method hht alpha=-0.1",
    )  # fmt: skip


def run_parser() -> Parser:
    """Return the parser of ``rtmbs run`` with a model file."""
    parser = Parser(prog="rtmbs run", description=run_command.__doc__)
    parser.add_argument("file", metavar="FILE", help="a model file, or a library mechanism with its options")
    parser.add_argument("--out", metavar="PATH", help="where the result is saved: .npz, .h5, .parquet or .csv")
    parser.add_argument(
        "--blocks", action="store_true", help="write --out (.h5, .csv) during the run, so that a kill loses little"
    )
    parser.add_argument("--channels", nargs="+", metavar="NAME", help="record these channels only")
    parser.add_argument(
        "--forces", action="store_true", help="of a kinematic file with masses: driver forces and reactions"
    )
    parser.add_argument(
        "--sweep", action="append", default=[], metavar="NAME=FIRST:LAST:COUNT",
        help="run the file for values of a constant, and print the measures; --out is then a table (.csv)",
    )  # fmt: skip
    add_set(parser)
    add_method(parser)
    add_recursion(parser)
    add_large(parser)
    return parser


def add_set(parser: Parser) -> None:
    """Add the option ``--set NAME=VALUE``."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE",
        help="value of a constant in place of the file's, such as --set length=30mm; may be repeated",
    )  # fmt: skip


def print_measures(document: Document, result: "Result") -> None:
    """Print the least and the largest value of each measure, with their times."""
    import numpy as np

    for name in document.measures:
        values, unit = result[name], result.about(name)[1]
        low, high = int(np.argmin(values)), int(np.argmax(values))
        ends = [f"{values[k]:.6g} {unit} at {result.t[k]:.6g} s" for k in (low, high)]
        print(f"measure {name}: {' to '.join(ends)}")


def with_forces(analysis: "Analysis", motion: "Result") -> "Result":
    """Return a kinematic result with the forces of its drivers and the reactions of its joints; prints the first."""
    import numpy as np

    from rtmbs.results.channel import Source
    from rtmbs.studies.analysis.inverse_dynamics import driving_forces

    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", RtmbsWarning)
        found = driving_forces(analysis, motion)
    print(found.table())
    for note in noted:
        print(f"note: {note.message}")
    known, more = set(motion.names()), dict[str, Source]()
    for name in found.result.names():
        if name not in known:
            one = found.result.channel(name)
            more[name] = Source(one.axes, one.unit, partial(getattr, one, "values"), one.frame)
    rows = analysis.equations.rows
    for name, values in found.forces.items():
        unit = "N" if rows.is_length[rows.owner.index(name)] else "N m"
        more[f"{name}.drive"] = Source((), unit, partial(np.asarray, values))
        more[f"{name}.drive_power"] = Source((), "W", partial(np.asarray, found.power[name]))
    return motion.extended(more)


def run_analysis(
    document: Document, channels: list[str] | None, file: str | None, method: Any = None, forces: bool = False
) -> "Result":
    """Run the analysis of a file and print its counts; a simulation steps by ``method``, and may write ``file``."""
    analysis = document.analysis
    if analysis.kind == "kinematic":
        if channels or file or method is not None:
            raise InputError(
                "--channels, --blocks and --method belong to a DYNAMIC ANALYSIS, and the file asks for another"
            )
        moved = kinematics(document)
        motion = moved.run(analysis.t0, analysis.t1, analysis.dt)
        print(motion.report.assembly)
        print(motion.report.freedom())
        print(motion.report.counters)
        for warning in (*motion.warnings, *grid_notes(analysis)):
            print(f"note: {warning}")
        return with_forces(moved, motion) if forces else motion
    if forces:
        raise InputError("--forces belongs to a KINEMATIC ANALYSIS; another one has its forces in its result")
    if analysis.kind == "static":
        if channels or file or method is not None:
            raise InputError(
                "--channels, --blocks and --method belong to a DYNAMIC ANALYSIS, and the file asks for another"
            )
        return run_static(document)
    from rtmbs.simulation.observers import Every

    for note in grid_notes(analysis):
        print(f"note: {note}")
    return run_simulation(
        simulation(document, method), analysis.t1, record=Every(analysis.dt), channels=channels, file=file
    )


def run_static(document: Document) -> "Result":
    """Print the stable equilibrium of a model file; return it as a Result of one sample."""
    found, result = at_rest(document)
    print(found.table())
    return result


def run_simulation(sim: "Simulation", t_end: float, **recorded: Any) -> "Result":
    """Run a Simulation to ``t_end`` [s] and print its counts."""
    from rtmbs.simulation.observers import IterationMeter

    meter = IterationMeter()
    print(sim.start_report)
    result = sim.run(t_end, observers=[meter], **recorded)
    print(f"{meter.steps} steps, {meter.total['iterations']} Newton iterations, at most {meter.most} in a step")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RtmbsWarning)  # they are printed here
        for warning, times in result.warnings.items():
            print(f"warning: {warning} ({times} times)")
    return result


def format_command(words: list[str]) -> int:
    """Print a model file in standard layout, or write it back: rtmbs format FILE --in-place"""
    from rtmbs.language import format
    from rtmbs.language.parse import load

    parser = Parser(prog="rtmbs format", description=format_command.__doc__)
    parser.add_argument("file", metavar="FILE", help="a model file")
    parser.add_argument("--in-place", action="store_true", help="write the file instead of printing it")
    add_large(parser)
    options = parser.read(words)
    source = load(Path(options.file), options.file)
    text = format(source, options.large)
    if not options.in_place:
        print(text, end="")
    elif text != source.text:
        with replacing(options.file) as file:
            file.write(text.encode())
    return 0


def plot_command(words: list[str]) -> int:
    """Plot channels of a recorded result: rtmbs plot slider.h5 block.x --out slider.png"""
    from rtmbs.results.figure import PICTURES, STYLES

    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="rtmbs plot", description=plot_command.__doc__, epilog=EPILOG, formatter_class=raw)
    parser.add_argument("file", metavar="FILE", help="a result (.npz, .h5, .parquet)")
    parser.add_argument(
        "channels", metavar="CHANNEL", nargs="*", help="what to plot; without any, all names are listed"
    )
    parser.add_argument("--out", metavar="PATH", help="picture to write (.png, .pdf, .svg)")
    parser.add_argument(
        "--path", metavar="AXES", help="the paths of markers and bodies, one coordinate over another: xy, xz, yz"
    )
    parser.add_argument("--over", metavar="CHANNEL", help="what to plot over in place of time; frequency for spectra")
    parser.add_argument("--degrees", action="store_true", help="angles in degrees")
    parser.add_argument("--window", metavar="TIMES", help="the last seconds (5), or two times (1,2.5)")
    parser.add_argument("--size", metavar="SIZE", help="column, page, slide, or width x height in mm (89x67)")
    parser.add_argument("--style", choices=list(STYLES), default="white", help="grey is for print without colours")
    options = parser.read(words)
    if not options.channels:
        print("\n".join(load_result(options.file).names()))
        return 0
    if not options.out:
        raise InputError("rtmbs plot needs --out PATH, such as picture.png")
    draw_to_files()
    check_target(options.out, PICTURES)
    result = load_result(options.file)
    if options.path:
        from rtmbs.kinematics.design import plot_path

        plot_path(result, *options.channels, axes=options.path, file=options.out)
    else:
        result.plot(
            *options.channels, x=options.over, degrees=options.degrees, window=numbers(options.window, ","),
            file=options.out, size=numbers(options.size, "x"), style=options.style,
        )  # fmt: skip
    print(f"{len(options.channels)} channels over {len(result)} samples in {options.out}")
    return 0


def numbers(text: str | None, between: str) -> Any:
    """Return a word of the command as one number or several; as it is where it holds none."""
    try:
        found = tuple(float(part) for part in (text or "").split(between))
    except ValueError:
        return text or None
    return found[0] if len(found) == 1 else found


def draw_to_files() -> None:
    """Let matplotlib draw to files, whatever screen there is; InputError when it is not installed."""
    from rtmbs.results.tables import needed

    needed("matplotlib", "rtmbs plot", "plot").use("agg")


def is_file(word: str) -> bool:
    """True for the path of a model file; anything else is the name of a mechanism of the library."""
    return word.endswith(SUFFIX) or Path(word).suffix != "" or "/" in word


def add_large(parser: Parser) -> None:
    """Add the switch that lifts the limits of ``rtmbs.language.parse``."""
    parser.add_argument("--large", action="store_true", help="lift the usual limits on bodies, words, rows and steps")


@contextmanager
def errors_in_file(file: str, document: Document | None = None) -> Iterator[None]:
    """Turn an error of a model into an error of its file, at the first element that it names."""
    try:
        yield
    except LanguageError:
        raise
    except (ModelError, StartError, InputError) as error:
        place = place_in_file(str(error), document) if document else None
        if place is None:
            raise LanguageError(str(error), file=file) from None
        raise error_at(place, str(error)) from None


def error_at(place: Place, message: str) -> LanguageError:
    """Return the error at a place of a file, with its line."""
    try:
        return load(Path(place.file), place.file).error_at(place, message)
    except (LanguageError, IndexError):  # another file stands there by now
        return LanguageError(message, file=place.file, line=place.line, column=place.column)


def place_in_file(message: str, document: Document) -> Place | None:
    """Return the place of the first element that a message names; ``cut joint 'a'``, ``spherical 'a'``.

    A message about bodies names several; one that names nothing is about SYSTEM.
    """
    owners = [("equation", one.split(".")[0]) for one in re.findall(r"equation (\S+)", message)]
    for word, name in owners + re.findall(r"(\w+) '([^']*)'", message):
        for kind in (SINGULAR.get(word, word), "joint", *(("driver", "rod", "coupler") if word == "equation" else ())):
            if place := document.places.get(f"{kind} {name}"):
                return place
    return document.places.get("system")


# ---- parameter studies -----------------------------------------------------------------------------------------------

SHOWN = 5  # failed runs that are printed


def sweep_command(words: list[str]) -> int:
    """Run a parameter study; a stopped one goes on from its finished rows: rtmbs sweep study.toml --workers 4"""
    from rtmbs.studies.sweeps.result import ENDINGS, PARQUET, parquet
    from rtmbs.studies.sweeps.sweep import read_study, sweep

    parser = Parser(prog="rtmbs sweep", description=sweep_command.__doc__)
    parser.add_argument("file", metavar="FILE", help="a study (.toml)")
    parser.add_argument("--workers", type=count, help="processes on this machine; default: one for each core")
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a cluster, such as tcp://head:8786")
    parser.add_argument("--folder", metavar="PATH", help="folder of the finished rows; default: that of the study")
    parser.add_argument("--out", metavar="PATH", help="the table: .parquet or .csv")
    options = parser.read(words)
    if options.out:
        check_target(options.out, ENDINGS)
        if options.out.lower().endswith(PARQUET):
            parquet(options.out)
    study = read_study(options.file)
    if options.folder:
        study["folder"] = options.folder
    if "folder" not in study and not options.out:
        raise InputError(f"{options.file} names no folder; write folder = 'rows', or give --folder PATH or --out PATH")
    table = sweep(**study, engine=sweep_engine(options.workers, options.dask), progress=sys.stderr.isatty())
    if options.out:
        table.save(options.out)
    print_sweep(table, options.out or study["folder"])
    return FAILED if table.failed else 0


def sweep_engine(workers: int | None, address: str | None) -> "Engine":
    """Return the engine of a sweep: processes, or a Dask cluster. InputError for both."""
    from rtmbs.studies.sweeps.engines import Dask, Processes

    if address is None:
        return Processes(workers)
    return Dask(address, workers)


def print_sweep(table: "SweepResult", where: object) -> None:
    """Print how many runs there are, the range of each measure, and the failed runs."""
    import numpy as np

    print(f"{len(table)} runs, {table.effort.runs} of them made now; the table is in {where}")
    for name in table.measures:
        values = table[name]
        if np.isfinite(values).any():
            low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
            ends = [f"{values[k]:.6g} in run {table['run'][k]}" for k in (low, high)]
            print(f"  {name}: {' to '.join(ends)}")
    failed = table.failed
    for number in list(failed)[:SHOWN]:
        print(f"run {number} failed: {failed[number]}", file=sys.stderr)
    if failed:
        print(f"{len(failed)} of {len(table)} runs failed; the column error says why", file=sys.stderr)

"""The console script ``rtmbs``: info, check, run, format, plot, sweep, export, bridge, vehicle, drive, warmup, bench,
view, explain."""

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rtmbs.commands.arguments import Parser, answer
from rtmbs.commands.arguments import count as whole_number
from rtmbs.errors import unknown_name
from rtmbs.studies.sweeps.one_thread import THREAD_VARIABLES
from rtmbs.studies.sweeps.one_thread import one_thread as set_one_thread

PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "autograd", "tqdm")
EXTRAS = ("matplotlib", "h5py", "pandas", "xarray", "pyarrow", "PySide6", "pyqtgraph", "distributed")
YOUNG = 50_000  # new objects between two looks for rubbish: imports and models make many, and they stay

Words = list[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command with these arguments (those of the process by default) and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print(usage())
        return 0
    if words[0] == "--version":
        words[0] = "version"
    with rare_collections():
        return answer(lambda: run(words[0], words[1:]))


@contextmanager
def rare_collections() -> Iterator[None]:
    """Collect garbage less often, which saves a tenth of the time of a short command."""
    usual = gc.get_threshold()
    gc.set_threshold(YOUNG, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def one_thread() -> None:
    """Factor matrices in one thread, unless the user set another number."""
    if "numpy" not in sys.modules:  # it looks once
        set_one_thread()


def usage() -> str:
    """Return one line a command."""
    lines = [f"  {name:<9}{(command.__doc__ or '').splitlines()[0]}" for name, command in COMMANDS.items()]
    return "\n".join(["usage: rtmbs COMMAND ...", "", *lines, "", "rtmbs COMMAND --help says more."])


def run(command: str, words: Words) -> int:
    """Run one command."""
    if command not in COMMANDS:
        raise unknown_name("command", command, COMMANDS)
    return COMMANDS[command](words)


def version(words: Words) -> int:
    """Print the version."""
    from rtmbs import __version__

    Parser(prog="rtmbs version", description=version.__doc__).read(words)
    print(f"rtmbs {__version__}")
    return 0


def info(words: Words) -> int:
    """Print versions, number of cores and the folder of compiled kernels."""
    Parser(prog="rtmbs info", description=info.__doc__).read(words)
    for label, value in facts():
        print(f"{label:<22}{value}")
    return 0


def facts() -> list[tuple[str, str]]:
    """Return the lines of ``info``: (label, value)."""
    import platform

    from rtmbs import __version__
    from rtmbs.jit.cache_folder import facts as kernel_facts
    from rtmbs.jit.compiled import is_prebuilt

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    set_by_hand = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    return [
        ("rtmbs", __version__),
        ("Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        *((name, installed(name)) for name in (*PACKAGES, *EXTRAS)),
        ("cores to use", f"{cores}"),
        ("threads in a step", "1: no threaded sum inside a step, so that runs repeat bit for bit"),
        ("thread variables", ", ".join(set_by_hand) or "none set"),
        *kernel_facts(),
        ("kernels of the wheel", "used" if is_prebuilt() else "none for these sources"),
    ]


def installed(package: str) -> str:
    """Return the version of an installed package without importing it."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    try:
        return version_of(package)
    except PackageNotFoundError:
        return "not installed"


def check(words: Words) -> int:
    """Print tree, cuts and degrees of freedom of a model file or a library mechanism: rtmbs check slider_crank"""
    from rtmbs.commands.files import check_command

    return check_command(words)


def run_file(words: Words) -> int:
    """Run the analysis of a model file, or a library mechanism: rtmbs run slider_crank --out slider.npz"""
    one_thread()
    from rtmbs.commands.files import run_command

    return run_command(words)


def format_file(words: Words) -> int:
    """Print a model file in standard layout, or write it back: rtmbs format model.mks --in-place"""
    from rtmbs.commands.files import format_command

    return format_command(words)


def plot(words: Words) -> int:
    """Plot channels of a result: rtmbs plot slider.npz slide.displacement --out slider.png"""
    from rtmbs.commands.files import plot_command

    return plot_command(words)


def sweep(words: Words) -> int:
    """Run a parameter study; a stopped one goes on: rtmbs sweep study.toml --workers 4"""
    one_thread()
    from rtmbs.commands.files import sweep_command

    return sweep_command(words)


def export(words: Words) -> int:
    """Write an FMU or a native library: rtmbs export slider_crank --fmi 3 --outputs slider.position --out slider.fmu"""
    from rtmbs.commands.export import export_command

    return export_command(words)


def vehicle(words: Words) -> int:
    """Test a car: rtmbs vehicle run sedan --manoeuvre double-lane-change --out dlc.html"""
    one_thread()
    from rtmbs.commands.vehicle import vehicle_command

    return vehicle_command(words)


def drive(words: Words) -> int:
    """Drive a car by keyboard, mouse, game pad or script: rtmbs drive sedan"""
    one_thread()
    from rtmbs.commands.vehicle import drive_command

    return drive_command(words)


def bridge(words: Words) -> int:
    """Answer packets of inputs with outputs: rtmbs bridge car.py --inputs drive.torque --outputs chassis.position"""
    one_thread()
    from rtmbs.commands.export import bridge_command

    return bridge_command(words)


def warmup(words: Words) -> int:
    """Compile all kernels ahead of the first run, once after each installation."""
    from rtmbs.jit.compile_progress import usable_cores
    from rtmbs.jit.compiled import is_prebuilt

    parser = Parser(prog="rtmbs warmup", description=warmup.__doc__)
    parser.add_argument("--jobs", type=whole_number, default=usable_cores(), help="processes at a time (%(default)s)")
    jobs = parser.read(words).jobs
    if is_prebuilt():
        print("kernels ready: they came with rtmbs")
        return 0
    from rtmbs.commands.warmup import compile_kernels
    from rtmbs.jit.cache_folder import PLACE

    count, seconds = compile_kernels(jobs)
    print(f"kernels ready in {seconds:.1f} s ({count} compiled now), {PLACE}")
    return 0


def bench(words: Words) -> int:
    """Run a benchmark and print its report: rtmbs bench fourbar --ny 4 --nz 40"""
    from rtmbs.bench.command import run

    return run(words, "rtmbs bench")


def explain(words: Words) -> int:
    """Explain an error message: rtmbs explain cut-joint"""
    from rtmbs.commands.arguments import run

    return run(words)


def view(words: Words) -> int:
    """Show a mechanism in a live window, or film it: rtmbs view fourbar --ny 4 --nz 40"""
    from rtmbs.commands.view import run

    return run(words)


COMMANDS: dict[str, Callable[[Words], int]] = {
    "info": info,
    "check": check,
    "run": run_file,
    "format": format_file,
    "plot": plot,
    "sweep": sweep,
    "export": export,
    "vehicle": vehicle,
    "drive": drive,
    "bridge": bridge,
    "warmup": warmup,
    "bench": bench,
    "view": view,
    "explain": explain,
    "version": version,
}

"""``rtmbs run --ranks N``: a dynamic run by the recursion over bodies, alone or on ranks that this command starts."""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rtmbs import __version__
from rtmbs.commands.arguments import Parser, count, number, positive
from rtmbs.errors import InputError
from rtmbs.language import Document
from rtmbs.recursive.ranks import EXTRA, demand_same_system, launch, ranks_started

if TYPE_CHECKING:
    from rtmbs.recursive.motion import Exchange
    from rtmbs.results.result import Result
    from rtmbs.simulation import Simulation

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

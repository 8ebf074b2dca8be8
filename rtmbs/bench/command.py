"""The command line of the bench: one subcommand a problem."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rtmbs.commands.arguments import Parser, answer, count, number, positive
from rtmbs.errors import InputError, unknown_name
from rtmbs.integrators.settings import REFACTOR

PROBLEMS = ("fourbar", "realtime")
PENALTY = 1e6  # METHODS 1.24
TOLERANCE = 1e-9


def main(arguments: Sequence[str] | None = None, program: str = "python -m rtmbs.bench") -> int:
    """Run the bench with these arguments (those of the process by default) and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return answer(lambda: run(words, program))


def run(words: list[str], program: str) -> int:
    """Pick the problem, run it, print the report, write the JSON."""
    parser = Parser(prog=program, description="Measured runs of benchmark problems.")
    parser.add_argument("problem", metavar="PROBLEM", help=f"one of: {', '.join(PROBLEMS)}")
    if not words or words[0] in ("-h", "--help"):
        parser.read(words or ["--help"])
    problem = words[0]
    if problem not in PROBLEMS:
        raise unknown_name("bench problem", problem, PROBLEMS)

    if problem == "realtime":
        return run_realtime(realtime_parser(f"{program} realtime").read(words[1:]))
    return run_fourbar(fourbar_parser(f"{program} fourbar").read(words[1:]))


def fourbar_parser(program: str) -> Parser:
    """Return the parser of the options of ``fourbar``; the defaults are the largest case of the paper."""
    parser = Parser(
        prog=program,
        description="Simulate the multiple four-bar of n_y x n_z parallelograms and report times and errors.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add_fourbar(parser)
    parser.add_argument("--t-end", type=positive, default=1.0, help="end of the run [s]")
    return parser


def realtime_parser(program: str) -> Parser:
    """Return the parser of the options of ``realtime``: those of the four-bar, and the wall time."""
    parser = Parser(
        prog=program,
        description="Step by the wall clock, one step a period h, beside an empty loop, and say how punctual both are.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("mechanism", choices=("fourbar",), help="what is stepped")
    add_fourbar(parser)
    parser.add_argument(
        "--seconds", type=positive, default=30.0, help="of stepping; the empty loop takes as long again"
    )
    return parser


def add_fourbar(parser: Parser) -> None:
    """Add the options that say which four-bar, and how it is stepped."""
    add = parser.add_argument
    add("--ny", type=count, default=4, help="four-bars in series along Y")
    add("--nz", type=count, default=40, help="rows along Z: degrees of freedom")
    add("--layout", choices=("stacked", "parallel"), default="stacked", help="rows on one another, or all on ground")
    add("--closure", choices=("line", "point", "revolute"), default="revolute", help="equations of a cut: 2, 3 or 5")
    add("--angle", type=number, default=30.0, metavar="DEG", help="of all rods at the start [degrees]")
    add("--rate", type=number, default=0.1, metavar="RAD_S", help="of the first row at the start [rad/s]")
    add("--h", type=positive, default=5e-3, help="step [s]")
    penalties = parser.add_mutually_exclusive_group()
    penalties.add_argument("--penalty", type=positive, metavar="C", help=f"dimensionless, {PENALTY:g} unless told")
    penalties.add_argument("--alpha", type=positive, help="one fixed penalty factor in SI units, as in the paper")
    add("--tol", type=positive, default=TOLERANCE, help="of Newton's increment, relative to 1 rad or 1 length")
    add("--jacobian", default="structured", metavar="NAME", help="source of K and C")
    add("--refactor", choices=REFACTOR, default="adaptive", help="when the Newton matrix is made anew")
    add("--fixed-iterations", type=count, metavar="N", help="so many Newton iterations in every step")
    add(
        "--threads",
        type=count,
        default=1,
        help="at most, for parts that share nothing but ground, in a run in one call",
    )
    add("--json", type=Path, metavar="PATH", help="write the measured values to this file")


def run_fourbar(options: argparse.Namespace) -> int:
    """Run the four-bar, print the report and write the JSON file."""
    from rtmbs.bench import fourbar

    check_folder(options.json)
    record = fourbar.measure(fourbar.Options(**chosen(options)))
    print(fourbar.text(record))
    write(options.json, record)
    return 0


def run_realtime(options: argparse.Namespace) -> int:
    """Run the four-bar against the wall clock, print the statistics and write the JSON file."""
    from rtmbs.bench import fourbar, realtime

    check_folder(options.json)
    seconds, options.t_end = options.seconds, options.seconds
    record = realtime.measure(fourbar.Options(**chosen(options)), seconds)
    print(realtime.text(record))
    write(options.json, record)
    return 0


def chosen(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the four-bar, with the default penalty unless another was given."""
    from rtmbs.bench import fourbar

    if options.penalty is None and options.alpha is None:
        options.penalty = PENALTY
    return {name: getattr(options, name) for name in fourbar.Options.names()}


def check_folder(path: Path | None) -> None:
    """Raise InputError, before anything is measured, when there is no folder for the JSON file."""
    if path is not None and not path.parent.is_dir():
        raise InputError(f"--json {path}: there is no folder {path.parent}; create it first")


def write(path: Path | None, record: dict[str, Any]) -> None:
    """Write the measured values to a file, where one is given."""
    if path is not None:
        path.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        print(f"written to {path}")

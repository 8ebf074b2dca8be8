"""``python -m bench.methods``: compare methods of time and formulations on constrained motions."""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.methods import comparison
from rtmbs.bench.command import check_folder, write
from rtmbs.commands.arguments import Parser, answer
from rtmbs.errors import InputError


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure with these arguments (those of the process by default) and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    return answer(lambda: run(words))


def run(words: list[str]) -> int:
    """Run methods on problems, print the table and write the JSON file."""
    parser = Parser(prog="python -m bench.methods", description=__doc__)
    add = parser.add_argument
    add("--problem", default="", metavar="NAMES", help="pendulum,andrews,slider_crank,fourbar,bricard; all by default")
    add("--methods", default="", metavar="NAMES", help="beginnings of names of methods, with commas; all by default")
    add("--load", type=Path, metavar="FILE", help="Python file with methods and formulations that rtmbs.register takes")
    add("--json", type=Path, metavar="PATH", help="write the measured values to this file")
    options = parser.read(words)
    check_folder(options.json)
    if options.load is not None:
        if not options.load.is_file():
            raise InputError(
                f"there is no file {str(options.load)!r}; --load takes a Python file with registered classes"
            )
        runpy.run_path(str(options.load), run_name=options.load.stem)
    problems = [name.strip() for name in options.problem.split(",") if name.strip()]
    rows = comparison.measure(problems, comparison.named(options.methods))
    print(comparison.text(rows))
    write(options.json, comparison.record(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

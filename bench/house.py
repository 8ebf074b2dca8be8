"""``python -m bench.house [--small] [--large]``: the size of the package, and the Python around a kernel.

Code lines hold a token: comments, docstrings and blank lines do not count. A small module has fewer than 60 of them,
and at most one other file of the package imports it; ``--small`` lists these, with the file that imports each. Modules
that are loaded by a name in a table have none. ``--large`` lists the modules with most code. Calls are Python calls in
the package; changes of file are counted from one call to the next.
"""

import argparse
import ast
import io
import time
import tokenize
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import rtmbs
from tests.simulation.test_calls import files_called, pendulum
from tests.test_imports import circles, imported_files

PACKAGE = Path(rtmbs.__file__).parent
SMALL = 60  # code lines
REPEATS = 200  # of a start that is timed
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Small(NamedTuple):
    """A module that at most one other file imports."""

    name: str
    lines: int
    importer: str  # empty where none does


def code_lines(text: str) -> int:
    """Return the number of lines with a token that is no docstring."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            found.difference_update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(found)


def sizes() -> dict[str, int]:
    """Return the code lines of every file of the package, by its dotted name."""
    return {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): code_lines(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def small_modules(lines: dict[str, int], graph: dict[str, set[str]]) -> Iterator[Small]:
    """Yield the modules below ``SMALL`` lines that one file imports at most; a folder's ``__init__`` is no module."""
    for name, count in lines.items():
        importers = [file for file, ends in graph.items() if name in ends]
        if count < SMALL and len(importers) <= 1 and not name.endswith(("__init__", "__main__")):
            yield Small(name, count, "".join(importers))


def start_times() -> list[float]:
    """Return the times of ``REPEATS`` starts of a pendulum [ms]."""
    system, found = pendulum(), []
    rtmbs.Simulation(system, h=5e-3).step()
    for _ in range(REPEATS):
        begun = time.perf_counter()
        rtmbs.Simulation(system, h=5e-3)
        found.append(1e3 * (time.perf_counter() - begun))
    return found


def figures(lines: dict[str, int], graph: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """Yield name and value of every figure."""
    yield "files of the package", f"{len(lines)}"
    yield "code lines", f"{sum(lines.values())}"
    yield f"modules below {SMALL} code lines with one importer at most", f"{len(list(small_modules(lines, graph)))}"
    yield "circles between files", f"{len(circles(graph))}"
    sim = rtmbs.Simulation(pendulum(), h=5e-3)
    sim.step()
    called = files_called(sim.step)
    yield "sim.step() of a pendulum: calls", f"{len(called)}"
    yield "sim.step() of a pendulum: changes of file", f"{sum(a != b for a, b in pairwise(called))}"
    system = pendulum()
    yield "Simulation(...) of a pendulum: calls", f"{len(files_called(lambda: rtmbs.Simulation(system, h=5e-3)))}"
    times = start_times()
    yield "Simulation(...) of a pendulum: time", f"{min(times):.2f} ms at least, {median(times):.2f} ms in the median"


def main(words: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.house", description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="list the small modules, and end")
    parser.add_argument("--large", action="store_true", help="list the twenty modules with most code, and end")
    chosen = parser.parse_args(words)
    lines, graph = sizes(), imported_files(PACKAGE)
    graph = {file: ends - {"rtmbs"} for file, ends in graph.items() if file != "rtmbs"}
    if chosen.small:
        for one in sorted(small_modules(lines, graph)):
            print(f"{one.lines:4d} {one.name}  <- {one.importer}")
    elif chosen.large:
        for name in sorted(lines, key=lines.__getitem__, reverse=True)[:20]:
            print(f"{lines[name]:4d} {name}")
    else:
        for name, value in figures(lines, graph):
            print(f"{name:50s} {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

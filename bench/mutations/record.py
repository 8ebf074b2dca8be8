"""Which tests execute a line: the records of ``bench.mutations.lines``, and the choice of tests for a mutant."""

import ast
import json
from dataclasses import dataclass, field
from pathlib import Path

from bench.mutations.draw import Mutant


@dataclass
class Record:
    """Tests that pass on the package as it is, with the lines that each executes."""

    seconds: dict[str, float] = field(default_factory=dict)  # processor time of each test
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)  # tests by file and line
    failed: list[str] = field(default_factory=list)  # tests that failed, or were cut off

    def add(self, path: Path, root: Path) -> None:
        """Take in one file that the plugin wrote."""
        found = json.loads(path.read_text(encoding="utf-8"))
        names = [name for name, _ in found["tests"]]
        self.seconds.update(found["tests"])
        self.failed += found["failed"]
        for file, lines in found["lines"].items():
            here = self.lines.setdefault(Path(file).relative_to(root).as_posix(), {})
            for line, numbers in lines.items():
                here.setdefault(int(line), []).extend(names[number] for number in numbers)

    def covering(self, mutant: Mutant, source: str) -> list[str]:
        """Return the tests that execute the statement of a mutant: those of its own room first, then by their time.

        What runs when a module is imported belongs to no test: there every test counts that executes any of its lines.
        """
        lines = self.lines.get(mutant.file, {})
        span = statement_lines(source, mutant.line)
        chosen = span or list(lines)
        names = {name for line in chosen for name in lines.get(line, [])}
        own = mirror(mutant.file)
        return sorted(names, key=lambda name: (not name.startswith(own), self.seconds[name], name))


def mirror(file: str) -> str:
    """Return the folder of the tests that mirror a file's folder: tests/model/ for rtmbs/model/joints.py."""
    return "/".join(["tests", *Path(file).parts[1:-1], ""])


def statement_lines(source: str, line: int) -> list[int]:
    """Return the lines of the innermost statement around a line, its blocks left out; none outside of functions."""
    best: ast.stmt | None = None
    inside = False
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            body = node.body if isinstance(node.body, list) else [node.body]
            inside |= body[0].lineno <= line <= (node.end_lineno or 0)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0):
            best = node  # ast.walk goes from outer to inner
    if best is None or not inside:
        return []
    blocks = [part for name in ("body", "orelse", "finalbody", "handlers") for part in getattr(best, name, [])]
    end = min([block.lineno - 1 for block in blocks if block.lineno > line], default=best.end_lineno or line)
    return list(range(best.lineno, max(end, line) + 1))


def read_records(folder: Path, mode: str, root: Path) -> Record:
    """Return the records of one mode, ``compiled`` or ``plain``, of a folder."""
    record = Record()
    for path in sorted(folder.glob(f"{mode}.*.json")):
        record.add(path, root)
    return record

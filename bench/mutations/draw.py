"""Random mutants of a package: each code line is as likely as any other to be mutated."""

import ast
import random
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import parso
from cosmic_ray.ast import ast_nodes
from cosmic_ray.mutating import mutate_code

from bench.mutations.operators import WEIGHTS, operators

NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True)
class Mutant:
    """One small fault: the ``occurrence``-th place of a file, in the order of its tree, where an operator may act."""

    file: str  # relative to the root
    line: int
    operator: str
    occurrence: int
    before: str  # the changed lines, joined by one space
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.operator}\n    - {self.before}\n    + {self.after}"


def code_lines(source: str) -> set[int]:
    """Return the numbers of the lines that hold code: no comment, docstring, import or blank line."""
    found: set[int] = set()
    lines = iter(source.splitlines(keepends=True))
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type not in NO_CODE:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in silent_nodes(ast.parse(source)):
        if isinstance(node, ast.Expr | ast.Import | ast.ImportFrom):
            found.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def silent_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what no run depends on: docstrings, imports, annotations, decorators, blocks for type checkers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) or is_text(node):
            yield node
        elif isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from [node.returns] if node.returns else []
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from node.decorator_list


def is_text(node: ast.AST) -> bool:
    """Return whether a statement is a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def places(source: str) -> dict[int, list[tuple[str, int]]]:
    """Return the (operator, occurrence) of every possible mutation, by line."""
    silent = [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in silent_nodes(ast.parse(source))
        if isinstance(node, ast.expr | ast.stmt)
    ]
    nodes = list(ast_nodes(parso.parse(source)))
    found: dict[int, list[tuple[str, int]]] = {}
    for name, kind in operators().items():
        operator = kind()
        positions = (place for node in nodes for place in operator.mutation_positions(node))
        for occurrence, (start, end) in enumerate(positions):
            if not any(first <= start and end <= last for first, last in silent):
                found.setdefault(start[0], []).append((name, occurrence))
    return found


def mutated(source: str, operator: str, occurrence: int) -> str:
    """Return the source with one mutation."""
    text: str = mutate_code(source, operators()[operator](), occurrence)
    ast.parse(text)
    return text


def mutant_of(source: str, file: str, line: int, operator: str, occurrence: int) -> Mutant:
    """Return the mutant with its changed lines."""
    old, new = source.splitlines(), mutated(source, operator, occurrence).splitlines()
    head = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    tail = next((i for i, (a, b) in enumerate(zip(old[::-1], new[::-1], strict=False)) if a != b), 0)
    tail = min(tail, len(old) - head - 1, len(new) - head - 1)
    before, after = (" ".join(map(str.strip, text[head : len(text) - tail])) for text in (old, new))
    return Mutant(file, line, operator, occurrence, before, after)


def drawn(root: Path, folders: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Return ``count`` different mutants of the files below some folders of ``root``, by a seed.

    A code line is drawn, then one of the mutations that start on it, by their weights. A line without any is passed
    over, and one whose weights sum to w < 1 with the chance 1 - w.
    """
    files = sorted(path for folder in folders for path in (root / folder).rglob("*.py"))
    sources = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in files}
    lines = [(file, line) for file, text in sources.items() for line in sorted(code_lines(text))]
    possible = cache(lambda file: places(sources[file]))
    rng = random.Random(seed)
    found: dict[tuple[str, str, int], Mutant] = {}
    for file, line in rng.sample(lines, len(lines)):
        if len(found) == count:
            break
        choices = possible(file).get(line, [])
        weights = [WEIGHTS.get(operator, 1.0) for operator, _ in choices]
        if rng.random() < sum(weights):
            operator, occurrence = rng.choices(choices, weights)[0]
            found[file, operator, occurrence] = mutant_of(sources[file], file, line, operator, occurrence)
    return list(found.values())

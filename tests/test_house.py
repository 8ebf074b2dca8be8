"""The walls of the house: length of functions, size of files, loose modules, and who may know numba's insides."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import rtmbs
from bench.house import sizes, small_modules
from rtmbs.jit.private import PRIVATE
from tests.test_imports import imported_files
from tests.trees import tree_of

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "rtmbs"
LONGEST_FUNCTION = 50  # lines, without its docstring
LARGEST_FILE = 600  # lines, without docstrings: a class, or one idea
MOST_FILES = 451  # of the package
MOST_SMALL = 5  # modules that are hardly an idea of their own: see bench.house
LOOSE = {"__init__", "__main__", "errors", "methods", "state"}

# Above the walls today, with the size; to be taken down. No line may be added.
LARGE_FILES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}

OPEN_TO_NUMBA = ("rtmbs/jit/", "tests/jit/")  # where its private names may stand


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the name of every function of a file and its lines without the docstring."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            first = node.body[0]
            told = first.end_lineno - first.lineno + 1 if ast.get_docstring(node, clean=False) else 0
            yield node.name, node.end_lineno - node.lineno + 1 - told


def test_functions_fit_a_screen():
    found = {f"{name_of(path)}: {name}": lines for path in sources() for name, lines in functions(path)}
    long = {name: lines for name, lines in found.items() if lines > LONGEST_FUNCTION}
    assert long.keys() <= LONG_FUNCTIONS.keys(), f"longer than {LONGEST_FUNCTION} lines: {long}"
    assert all(lines <= LONG_FUNCTIONS[name] for name, lines in long.items()), long
    assert LONG_FUNCTIONS.keys() <= long.keys(), "an exception is not needed any more: take it off the list"


def lines_without_docstrings(path: Path) -> int:
    """Return the lines of a file but for its docstrings: sections of numpydoc are no reason to divide a class."""
    told = 0
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            told += node.body[0].end_lineno - node.body[0].lineno + 1
    return len(path.read_text(encoding="utf-8").splitlines()) - told


def test_files_are_small():
    found = {name_of(path): lines_without_docstrings(path) for path in sources()}
    large = {name: lines for name, lines in found.items() if lines > LARGEST_FILE}
    assert large.keys() <= LARGE_FILES.keys(), f"larger than {LARGEST_FILE} lines: {large}"
    assert all(lines <= LARGE_FILES[name] for name, lines in large.items()), large
    assert LARGE_FILES.keys() <= large.keys(), "an exception is not needed any more: take it off the list"


def test_files_are_ideas():
    lines, graph = sizes(), imported_files(PACKAGE)
    assert len(lines) <= MOST_FILES
    assert len(small := list(small_modules(lines, graph))) <= MOST_SMALL, small


def test_small_modules_are_found():
    """The rule sees what it should."""
    lines = {"p.a": 59, "p.b": 59, "p.c": 60, "p.d": 3, "p.room.__init__": 2, "p.e": 500}
    graph = {"p.e": {"p.a", "p.b", "p.c"}, "p.a": {"p.b"}}
    assert [one[0] for one in small_modules(lines, graph)] == ["p.a", "p.d"]


def test_no_test_fails_for_its_time():
    """Waits are bounded by ``tests.patience`` only, and no elapsed time has an upper bound: see that module."""
    elapsed = re.compile(
        r"(?:monotonic|perf_counter|process_time)\(\) - \w+ <[^=]|(?:monotonic|perf_counter)\(\) \+ \d"
    )
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(tree_of(path)) if "timeout" in text else ():  # a syntax tree takes longer
            if (
                isinstance(node, ast.keyword)
                and node.arg == "timeout"
                and isinstance(node.value, ast.Constant)
                and node.value.value
            ):
                raise AssertionError(
                    f"{path.name}:{node.value.lineno}: timeout={node.value.value}; take tests.patience"
                )
        assert not (found := elapsed.search(text)), f"{path.name}: {found.group()}"


def test_one_version_everywhere():
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert rtmbs.__version__ == version
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## [{version}] - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"rtmbs-{version}-py3" in (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def test_no_more_loose_modules():
    assert {path.stem for path in PACKAGE.glob("*.py")} == LOOSE
    assert not list(PACKAGE.rglob("util*.py"))


# ---------------------------------------------------------------------------------------------------- insides of numba


def insides(path: Path) -> Iterator[str]:
    """Yield every private name of numba in a file: imports and attributes of ``numba.core``, and names of the table."""
    listed = {entry.name for entry in PRIVATE if entry.name.startswith("_") or entry.name.startswith("no_c")}
    text = path.read_text(encoding="utf-8")
    if "numba" not in text and not any(name in text for name in listed):
        return  # most files: a syntax tree takes longer
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("numba."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            module, names = node.module or "", [alias.name for alias in node.names]
            if module.startswith("numba.core") or any(name.startswith("_") or name == "core" for name in names):
                yield f"from {module} import {', '.join(names)}"
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith("numba."):
            if (node.attr.startswith("_") and node.attr != "__version__") or node.attr == "core":
                yield ast.unparse(node)
        elif isinstance(node, ast.Attribute) and node.attr in listed:
            yield f"{ast.unparse(node)}"
        elif isinstance(node, ast.keyword) and node.arg in listed:
            yield f"{node.arg}="


def everything() -> list[Path]:
    return [path for folder in ("rtmbs", "bench", "tests", "apps") for path in sorted((ROOT / folder).rglob("*.py"))]


def test_only_one_room_knows_the_insides_of_numba():
    for path in everything():
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(OPEN_TO_NUMBA):
            assert not list(insides(path)), f"{place}: belongs into rtmbs/jit/"


def test_only_one_module_loads_them():
    for path in sorted((PACKAGE / "jit").glob("*.py")):
        if path.name != "private.py":
            text = path.read_text(encoding="utf-8")
            assert "numba.core" not in text, path.name


def test_the_rule_sees_what_it_should(tmp_path):
    """The checker itself."""
    for line in (
        "from numba.core import event",
        "from numba.core.registry import CPUDispatcher",
        "import numba.core.caching",
        "import numba; numba.core.config.OPT",
        "import numba; numba.njit(_nrt=False)(len)",
        "kernel._cache = None",
    ):
        path = tmp_path / "module.py"
        path.write_text(line + "\n")
        assert list(insides(path)), line
    path.write_text("import numba; from numba import config, types; numba.njit(nogil=True); numba.__version__\n")
    assert not list(insides(path))

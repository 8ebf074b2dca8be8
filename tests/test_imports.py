"""Imports run downwards only, ``import rtmbs`` is light, and the public names are what they say.

The rules stand once, in pyproject.toml under ``tool.rtmbs.imports``.
"""

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import rtmbs
from tests.patience import LONGEST
from tests.trees import tree_of

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "rtmbs"
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["rtmbs"]["imports"]
LEVEL = {room: level for level, rooms in enumerate(RULES["layers"]) for room in rooms}
OUTSIDE = {"__init__", "__main__"}  # the shell of the package: any room may be named there
HALLS = {"numerics", "studies"}  # folders of rooms, without code of their own
HEAVY = ("numba", "scipy", "autograd", "matplotlib", "PySide6", "pyqtgraph", "mpi4py")


def room_named(parts: tuple[str, ...]) -> str:
    """Return the room of a path or a dotted name under rtmbs: the folder or module, or its part that has a place."""
    inner = "/".join(parts[:2]).removesuffix(".py")
    return inner if inner in LEVEL else parts[0].removesuffix(".py")


def room_of(path: Path) -> str:
    """Return the room that a source file belongs to."""
    return room_named(path.relative_to(PACKAGE).parts)


def sources() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if room_of(path) not in OUTSIDE | HALLS]


@cache
def imported(path: Path) -> list[tuple[int, str]]:
    """Return (line, dotted name) of every import of a file, wherever it stands."""
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively; write the full name"
            found += [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
    return found


def room_imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, room) of every import from rtmbs."""
    for line, name in imported(path):
        parts = name.split(".")
        if parts[0] == "rtmbs" and len(parts) > 1 and not parts[1].startswith("__"):
            yield line, room_named(tuple(parts[1:]))


def faults(path: Path) -> list[str]:
    """Return what a file imports against the rules."""
    own, found = room_of(path), []
    file = path.relative_to(PACKAGE).as_posix()
    allowed = RULES["only"].get(file, RULES["only"].get(own))
    doors = RULES["doors"].get(file, [])
    for line, room in room_imports(path):
        if room == own or room in doors:
            continue
        where = f"{path.relative_to(ROOT)}:{line}: {own} imports {room}"
        if room not in LEVEL:
            found.append(f"{where}, which has no place in tool.rtmbs.imports.layers")
        elif LEVEL[room] >= LEVEL[own]:
            found.append(f"{where}, which does not stand below it")
        elif allowed is not None and room not in allowed:
            found.append(f"{where}; it may use only {', '.join(allowed)}")
    for line, name in imported(path):
        package = name.split(".")[0]
        rooms = RULES["packages"].get(package)
        if rooms is not None and own not in rooms:
            found.append(f"{path.relative_to(ROOT)}:{line}: {own} loads {package}")
    return found


def test_every_room_has_its_place():
    missing = sorted({room_of(path) for path in sources()} - LEVEL.keys())
    assert not missing, f"say in tool.rtmbs.imports.layers where {missing} stand"


def test_imports_run_downwards_only():
    found = [fault for path in sources() for fault in faults(path)]
    assert not found, "\n" + "\n".join(found)


def test_the_rule_sees_what_it_should(tmp_path, monkeypatch):
    """The checker itself: an integrator that knows the mechanics, a linear solver that knows a model, Qt in a model."""
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path / "rtmbs")
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    for name, line in (
        ("integrators/a.py", "from rtmbs.semirecursive.passes import forward_positions"),
        ("numerics/linear/b.py", "import rtmbs.model"),
        ("model/c.py", "def f():\n    import PySide6.QtCore"),
        ("model/d.py", "from rtmbs import simulation"),
    ):
        path = tmp_path / "rtmbs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(line + "\n")
        assert len(faults(path)) == 1, name


def imported_files(root: Path) -> dict[str, set[str]]:
    """Return the files that each file under ``root`` imports, as dotted names; wherever the import stands.

    A name that is no file of its own is that of an object in the file, or in the ``__init__`` of the folder.
    """
    paths = sorted(root.rglob("*.py"))
    names = {".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__") for path in paths}
    found: dict[str, set[str]] = {}
    for path in paths:
        own = ".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__")
        ends = {name if name in names else name.rpartition(".")[0] for _, name in imported(path)}
        found[own] = (ends & names) - {own}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of files each of which imports all others of its group, by way of others or itself."""
    reached = {file: set(ends) for file, ends in graph.items()}
    growing = True
    while growing:
        before = sum(map(len, reached.values()))
        for file, ends in reached.items():
            reached[file] = ends.union(*(reached[end] for end in ends))
        growing = sum(map(len, reached.values())) > before
    groups = {
        frozenset(other for other in ends if file in reached[other]) for file, ends in reached.items() if file in ends
    }
    return sorted(map(sorted, groups))


def test_no_files_import_each_other():
    """Imports inside functions and under TYPE_CHECKING count as well."""
    graph = imported_files(PACKAGE)
    graph.pop("rtmbs")  # the public names, resolved at their first use
    graph = {file: ends - {"rtmbs"} for file, ends in graph.items()}
    assert sum(map(len, graph.values())) > 500
    assert circles(graph) == []


def test_the_search_for_circles_sees_what_it_should(tmp_path):
    """Two files that import each other, one of them within a function, the other for its types only."""
    for name, text in (
        ("a.py", "def f():\n    from p.b import g"),
        ("b.py", "if TYPE_CHECKING:\n    from p.room import Thing\n"),
        ("room/__init__.py", "from p.room.thing import Thing"),
        ("room/thing.py", "import p.a"),
        ("c.py", "import p.a\nfrom p.b import g"),
    ):
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    graph = imported_files(tmp_path / "p")
    assert graph["p.c"] == {"p.a", "p.b"}
    assert circles(graph) == [["p.a", "p.b", "p.room", "p.room.thing"]]


def run_python(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=True).stdout


def test_import_is_light():
    code = f"import sys, rtmbs; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert run_python(code).strip() == "[]"


def test_import_loads_few_modules():
    code = "import sys; before = set(sys.modules); import rtmbs; print(len(sys.modules.keys() - before))"
    assert int(run_python(code)) < 60


def test_a_model_needs_no_compiler():
    """Writing a model loads neither numba nor scipy; compiling it may."""
    code = (
        "import sys, rtmbs; m = rtmbs.Model('m'); m.add_body('b', mass=1.0);"
        "print([name for name in ('numba', 'scipy', 'matplotlib') if name in sys.modules])"
    )
    assert run_python(code).strip() == "[]"


FIRST_STEP = """
import gc, sys, rtmbs
sim = rtmbs.Simulation(rtmbs.library.build("slider_crank").compile(), h=1e-3)
assert sim.step().outcome.accepted
from numba.core.dispatcher import Dispatcher
rooms = [name.removeprefix("rtmbs.") for name in sys.modules if name.startswith("rtmbs.")]
print(sum(isinstance(one, Dispatcher) for one in gc.get_objects()), *rooms)
"""
OTHER_STEPS = {f"semirecursive.{name}_step" for name in ("midpoint", "trbdf2", "extrapolated", "explicit")}
ELSEWHERE = OTHER_STEPS | {
    "contact.convex", "contact.elements", "contact.pairs", "contact.rigid", "semirecursive.momenta",
    "semirecursive.newton_restarts", "simulation.contact_pairs",
}  # fmt: skip


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_first_step_loads_what_its_method_needs():
    """With kernels on disk no inner kernel has a dispatcher: each takes time, and there are hundreds."""
    run_python(FIRST_STEP)  # kernels are kept
    dispatchers, *modules = run_python(FIRST_STEP).split()
    assert not ELSEWHERE.intersection(modules)
    assert len(modules) < 250
    assert int(dispatchers) < 162  # ``sure_below`` of Newton is one of them, for the readable step calls it


def test_public_names_are_sorted_and_exist():
    assert rtmbs.__all__ == sorted(rtmbs.__all__)
    assert dir(rtmbs) == rtmbs.__all__
    for name in rtmbs.__all__:
        assert getattr(rtmbs, name) is not None


def test_an_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Modle'"):
        _ = rtmbs.Modle


def test_type_checkers_see_the_same_names():
    tree = tree_of(PACKAGE / "__init__.py")
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert {name: home for name, home in seen.items() if name not in rtmbs.ROOMS} == rtmbs.HOMES
    assert set(rtmbs.ROOMS) <= seen.keys()

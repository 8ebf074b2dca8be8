"""Rooms of the viewer: the order of their imports, no circles of imports between files, and Qt in one room only."""

import ast
from pathlib import Path

import pytest

from tests.trees import tree_of

VIEWER = Path(__file__).parents[2] / "rtmbs" / "viewer"
PREFIX = "rtmbs.viewer."
# Rooms and files from bottom to top; each imports itself and those of earlier levels.
LEVEL = {
    "keys": 0,
    "text": 0,
    "video": 0,
    "scene": 0,
    "session": 1,
    "film": 2,
    "web": 2,
    "qt": 3,
    "notebook": 3,
    "view": 4,
}
QT = ("PySide6", "pyqtgraph")


def name_of(path: Path) -> str:
    """Return the name of a module below ``rtmbs.viewer``."""
    return ".".join(path.relative_to(VIEWER).with_suffix("").parts)


MODULES = {name_of(path): path for path in sorted(VIEWER.rglob("*.py")) if path.name != "__init__.py"}


def imported(path: Path) -> list[str]:
    """Return the dotted names that a file imports, for types alone too."""
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def viewer_imports(path: Path) -> set[str]:
    """Return the modules of the viewer that a file imports."""
    names = [name.removeprefix(PREFIX) for name in imported(path) if name.startswith(PREFIX)]
    return {name if name in MODULES else name.rpartition(".")[0] for name in names}


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return the modules that ``start`` imports, directly or through others."""
    found: set[str] = set()
    waiting = set(graph[start])
    for _ in range(len(graph) + 1):
        found |= waiting
        waiting = {name for one in waiting for name in graph.get(one, ())} - found
    return found


def test_every_file_stands_in_a_room():
    assert {name.partition(".")[0] for name in MODULES} == LEVEL.keys()


@pytest.mark.parametrize("name", MODULES)
def test_imports_follow_the_order_of_the_rooms(name):
    own = name.partition(".")[0]
    for other in viewer_imports(MODULES[name]):
        room = other.partition(".")[0]
        assert room == own or LEVEL[room] < LEVEL[own] or room in ("keys", "text"), f"{name} imports {other}"


def test_no_circles_of_imports():
    graph = {name: viewer_imports(path) for name, path in MODULES.items()}
    assert not [name for name in graph if name in reachable(graph, name)]
    graph["scene.theme"] = {"qt.window"}
    assert "scene.theme" in reachable(graph, "scene.theme"), "a circle is found"


def test_qt_is_loaded_by_one_room():
    for name, path in MODULES.items():
        if any(other.partition(".")[0] in QT for other in imported(path)):
            assert name.startswith("qt."), f"{name} loads Qt"

"""Check the docstrings of every public name by numpydoc's validator: ``python .ci/docstrings.py``.

Public are the names of ``rtmbs`` and of the ``__all__`` of its rooms, with their public methods and properties.
``[tool.numpydoc_validation]`` in pyproject.toml chooses the checks. One check is added: RX01, a function that raises an
error names it in a section Raises.
"""

import ast
import importlib
import inspect
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from enum import EnumType
from pathlib import Path
from types import ModuleType

import numpydoc.validate as numpydoc

import rtmbs

ROOT = Path(__file__).parent.parent
ROOMS = ("dae", "errors", "formulations", "kinematics", "language", "library", "model", "recursive", "vehicle")


def public_names() -> Iterator[str]:
    """Yield the dotted name of every public function, class, method and property, each object once.

    A method that implements a Protocol of the public names, or overrides one of a base class, is described there.
    """
    seen: set[int] = set()
    described = {name for _, kind in public_objects() if getattr(kind, "_is_protocol", False) for name in dir(kind)}
    for name, value in public_objects():
        if id(value) in seen or not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        seen.add(id(value))
        yield name
        if inspect.isclass(value):
            own = getattr(value, "_is_protocol", False)
            for member, part in members(value):
                if id(part) not in seen and (own or member not in described):
                    seen.add(id(part))
                    yield f"{name}.{member}"


def public_objects() -> Iterator[tuple[str, object]]:
    """Yield the public names of the package and of its rooms with their objects; of a room base classes come first."""
    for name in rtmbs.HOMES:
        yield f"rtmbs.{name}", getattr(rtmbs, name)
    for room in ROOMS:
        module = importlib.import_module(f"rtmbs.{room}")
        names = getattr(module, "__all__", None) or defined_names(module)
        found = [(f"rtmbs.{room}.{name}", getattr(module, name)) for name in names]
        yield from sorted(found, key=lambda one: len(getattr(one[1], "__mro__", ())))
    for name in rtmbs.library.MECHANISMS:
        yield f"rtmbs.library.{name}", getattr(rtmbs.library, name)


def defined_names(module: ModuleType) -> list[str]:
    """Return the names without underscore of the classes and functions that a module without ``__all__`` defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def members(kind: type) -> Iterator[tuple[str, object]]:
    """Yield the public methods and properties of a class that rtmbs defines."""
    found: dict[str, object] = {}
    for base in kind.__mro__:
        if base.__module__.split(".")[0] == "rtmbs":
            for name, part in vars(base).items():
                plain = getattr(part, "__func__", part)
                if not name.startswith("_") and (inspect.isroutine(plain) or isinstance(part, property)):
                    found[name] = plain  # the last one is that of the first base class that has it
    yield from found.items()


def failures(name: str, checks: set[str]) -> list[tuple[str, str]]:
    """Return the failed checks of one docstring: code and message."""
    target = numpydoc.Validator._load_obj(name)
    if getattr(target, "_is_protocol", False) or isinstance(target, EnumType):
        checks = {code for code in checks if not code.startswith("PR")}  # no user makes one
    found = [(code, text) for code, text in numpydoc.validate(name)["errors"] if code in checks]
    if "RX01" in checks and (missing := unnamed_errors(target)):
        found.append(("RX01", f"raises {', '.join(missing)} without a section Raises"))
    return found


def unnamed_errors(target: object) -> list[str]:
    """Return the errors that a function raises itself when its docstring has no section Raises."""
    if not inspect.isfunction(target) or "Raises\n" in (target.__doc__ or ""):
        return []
    tree = ast.parse(textwrap.dedent(inspect.getsource(target)))
    raised = (node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None)
    calls = {ast.unparse(exc.func) for exc in raised if isinstance(exc, ast.Call)}
    return sorted(name for name in calls if name[0].isupper() or name == "unknown_name")


def all_failures() -> dict[str, list[tuple[str, str]]]:
    """Return the failed checks of all public docstrings by name; names without a failure are left out."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["numpydoc_validation"]
    checks = set(settings["checks"])
    found = {name: failures(name, checks) for name in public_names()}
    return {name: errors for name, errors in found.items() if errors}


def main() -> int:
    """Print the failed checks; the exit code is 1 when there is any."""
    found = all_failures()
    for name, errors in found.items():
        print(f"{name}: {'; '.join(f'{code} {text}' for code, text in errors)}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

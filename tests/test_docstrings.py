"""The checker of docstrings, which ``make lint`` runs over all public names, and examples that define all they use."""

import ast
import builtins
import doctest
import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import rtmbs

ROOT = Path(__file__).parent.parent
EXTRAS = {"plot": "matplotlib", "to_pandas": "pandas", "to_xarray": "xarray"}  # that examples need, by what they call


@pytest.fixture(scope="module")
def checker():
    pytest.importorskip("numpydoc")
    spec = importlib.util.spec_from_file_location("docstrings", ROOT / ".ci" / "docstrings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_checker_sees_what_is_missing(checker):
    def undocumented(x: float) -> float:
        """Return twice a number."""
        if x < 0.0:
            raise ValueError("x is negative")
        return 2.0 * x

    assert checker.unnamed_errors(undocumented) == ["ValueError"]
    assert checker.unnamed_errors(checker.public_names) == []
    names = list(checker.public_names())
    assert len(names) == len(set(names)) > 300
    assert {"rtmbs.Model.add_body", "rtmbs.dae.Integrator.points", "rtmbs.library.pendulum"} <= set(names)
    assert {"rtmbs.vehicle.Car.rest", "rtmbs.model.Dof", "rtmbs.errors.HalfTurnError"} <= set(names)


def free_names(source: str) -> set[str]:
    """Return the names that a piece of Python uses and does not define."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    made = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    made |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    made |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return {node.id for node in names} - made - set(dir(builtins))


def test_examples_that_define_all_they_use_run(checker, tmp_path, monkeypatch):
    """Examples with a ``sim`` or a ``model`` of the reader are left out."""
    known = {"rtmbs": rtmbs, "np": np, **{name.rpartition(".")[2]: one for name, one in checker.public_objects()}}
    monkeypatch.chdir(tmp_path)  # examples write files
    ran, failed = 0, []
    for name in checker.public_names():
        target = checker.numpydoc.Validator._load_obj(name)
        text = inspect.getdoc(getattr(target, "fget", target)) or ""
        example = doctest.DocTestParser().get_doctest(text, dict(known), name, None, 0)
        source = "".join(one.source for one in example.examples)
        needed = [package for call, package in EXTRAS.items() if f".{call}(" in source]
        if source and not free_names(source) - known.keys() and all(map(importlib.util.find_spec, needed)):
            doctest.DocTestRunner(verbose=False).run(example, out=failed.append)
            ran += 1
    assert "".join(failed) == ""
    assert ran > 35

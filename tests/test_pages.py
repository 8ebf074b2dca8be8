"""The examples of the pages run, each page from top to bottom in a folder of its own."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("tutorial.md", "results.md", "plots.md", "errors.md", "coming-from.md", "vehicle.md")


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_run(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("agg")
    for package in ("pandas", "xarray", "h5py"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    names = {"__name__": "page"}
    for example in examples:
        exec(compile(example, page, "exec"), names)

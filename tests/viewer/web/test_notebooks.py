"""Notebooks of the documents: made of their pages, executed in a kernel, and their pictures looked at."""

import importlib.util
import re

import numpy as np
import pytest

import rtmbs
from rtmbs.simulation import Simulation
from tests.patches import ROOT
from tests.patience import LONGEST
from tests.viewer.mechanisms import motored

SCRIPT = ROOT / "docs" / "site" / "notebooks.py"
COURSE = sorted(path.stem for path in (ROOT / "docs/course").glob("[0-9]*.md"))
EXECUTED = ("tutorial", "gallery", *(f"course/{name}-solution" for name in COURSE))


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("notebooks", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_notebooks_are_those_of_the_pages(script):
    made = script.notebooks()
    kept = {path.relative_to(script.FOLDER) for path in script.FOLDER.rglob("*.ipynb")}
    assert kept == made.keys(), "run python docs/site/notebooks.py"
    for path, text in made.items():
        assert (script.FOLDER / path).read_text(encoding="utf-8") == text, f"{path}: run python docs/site/notebooks.py"
    assert len(COURSE) == 5
    for name in EXECUTED[2:]:
        exercise, solution = (made[script.Path(f"{one}.ipynb")] for one in (name.removesuffix("-solution"), name))
        assert "# your solution" in exercise
        assert "assert" in solution
        assert "assert" not in exercise


def test_models_and_results_show_themselves_and_a_simulation_stays():
    model = motored(torque=3.0)
    sim = Simulation(model.compile(), h=5e-3)
    sim.run(0.1)
    before = sim.state.copy()
    shown = rtmbs.show(sim, seconds=0.2, height=300)
    assert sim.state.z.tobytes() == before.z.tobytes()
    assert sim.t == before.t
    assert 'height="300"' in shown._repr_html_()
    result = sim.run(0.3)
    assert "iframe" in result.show()._repr_html_()
    assert "iframe" in model.show(seconds=0.1)._repr_html_()


@pytest.mark.slow
@pytest.mark.parametrize("name", EXECUTED)
def test_a_notebook_runs_from_top_to_bottom_and_its_pictures_show_something(name, browser, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = ROOT / "docs" / "notebooks" / f"{name}.ipynb"
    read = nbformat.read(path, as_version=4)
    folder = path.parent if name == "gallery" else tmp_path  # files that a notebook writes
    nbclient.NotebookClient(read, timeout=LONGEST, resources={"metadata": {"path": str(folder)}}).execute()
    frames = [data["text/html"] for data in outputs(read) if "<iframe" in data.get("text/html", "")]
    assert len(frames) == sum(".show(" in cell.source for cell in read.cells if cell.cell_type == "code")
    for number, frame in enumerate(frames):
        page = tmp_path / f"{number}.html"
        page.write_text(f"<!doctype html><body>{frame}</body>", encoding="utf-8")
        browser.open(page, ready="document.querySelector('iframe').contentWindow.rtmbs")
        browser.run("await new Promise((done) => setTimeout(done, 500)); told.ok = true;", helpers="")
        assert browser.said == []
        look_at(browser, tmp_path / f"{name.replace('/', '_')}_{number}.png")


def outputs(read):
    """Return the data of all outputs of a notebook."""
    return [one["data"] for cell in read.cells for one in cell.get("outputs", []) if "data" in one]


def look_at(browser, path):
    """Take a picture of the cell: a mechanism stands in it, with colours beside gray, and not in a corner."""
    image = pytest.importorskip("PIL.Image")
    browser.picture(path)
    seen = np.asarray(image.open(path).convert("RGB")).astype(float)[40:400]
    colored = np.argwhere(np.ptp(seen, axis=2) > 40.0)
    assert len(colored) > 300, path
    assert np.ptp(colored, axis=0).max() > 100, path


def test_the_extra_of_notebooks_has_what_the_page_says():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r"^notebook = \[.*anywidget", text, re.MULTILINE)

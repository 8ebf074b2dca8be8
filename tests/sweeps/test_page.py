"""What the page shows is what there is."""

import re
from pathlib import Path

import rtmbs
from bench import dampers
from rtmbs.sweeps.readings import READINGS

PAGE = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text(encoding="utf-8")


def test_the_study_of_the_page_is_that_of_the_folder():
    assert re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) == [dampers.STUDY.read_text(encoding="utf-8")]


def test_the_example_runs(monkeypatch, capsys):
    monkeypatch.setattr("rtmbs.sweeps.sweep.Processes", rtmbs.Serial)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "sweeps.md", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.endswith("{}\n")


def test_the_page_names_every_reading_and_every_design():
    assert all(f"`{name}`" in PAGE for name in READINGS)
    assert all(f"rtmbs.{one.__name__}(" in PAGE for one in (rtmbs.Grid, rtmbs.LatinHypercube, rtmbs.MonteCarlo))

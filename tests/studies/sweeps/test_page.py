"""What the page shows is what there is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rtmbs
from bench import dampers
from rtmbs.studies.sweeps.result import READINGS
from tests.patience import LONGEST

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "sweeps.md").read_text(encoding="utf-8")


def test_the_study_of_the_page_is_that_of_the_folder():
    assert re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) == [dampers.STUDY.read_text(encoding="utf-8")]


@pytest.mark.slow
def test_the_example_is_a_script_that_runs(tmp_path):
    example, drawn, shared = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    told = subprocess.run(
        [sys.executable, tmp_path / "example.py"], env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=LONGEST, check=True,
    )  # fmt: skip
    assert told.stdout.startswith("[5. 6. 7.] [")
    assert told.stdout.endswith("{}\n")
    names = {"__name__": "example"}
    exec(example + drawn, names)
    assert len(names["table"]) == 8
    assert not names["table"].failed
    exec(shared, names)
    assert len(names["table"]) == 4
    assert not names["table"].failed


def test_the_page_names_every_reading_and_every_design():
    assert all(f"`{name}`" in PAGE for name in READINGS)
    assert all(f"rtmbs.{one.__name__}(" in PAGE for one in (rtmbs.Grid, rtmbs.LatinHypercube, rtmbs.MonteCarlo))

"""Study files: what they mean, and what is refused with the nearest right word."""

import pytest

import rtmbs
from bench import dampers
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.library.linkages import crank_rocker
from rtmbs.studies.sweeps.result import readings
from rtmbs.studies.sweeps.study_file import read_study
from rtmbs.studies.sweeps.sweep import columns_of

GOOD = """
model = "crank_rocker"
t_end = 0.1
[parameters]
rate = [5.0, 6.0]
[measures]
peak = "largest crank_pivot.rate"
"""


def read(text, tmp_path):
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    return read_study(tmp_path / "study.toml")


def test_a_study_is_a_call(tmp_path):
    found = read('h = 0.01\nfolder = "rows"\n' + GOOD, tmp_path)
    assert found.pop("design") == rtmbs.Grid()
    assert found == {
        "make": crank_rocker,
        "parameters": {"rate": [5.0, 6.0]},
        "measure": {"peak": "largest crank_pivot.rate"},
        "t_end": 0.1,
        "h": 0.01,
        "folder": tmp_path / "rows",
    }


@pytest.mark.parametrize(
    ("words", "design"),
    [
        ('"latin hypercube"\nruns = 10\nseed = 3', rtmbs.LatinHypercube(10, 3)),
        ('"monte carlo"\nruns = 10', rtmbs.MonteCarlo(10)),
        ('"grid"', rtmbs.Grid()),
    ],
)
def test_designs_and_distributions(words, design, tmp_path):
    found = read(f"design = {words}\n" + GOOD.replace("[5.0, 6.0]", "{ normal = [5, 0.1] }"), tmp_path)
    assert found["design"] == design
    assert found["parameters"] == {"rate": rtmbs.Normal(5, 0.1)}


def test_functions_of_a_file_beside_the_study(tmp_path):
    (tmp_path / "machines_of_a_test.py").write_text("def make(a):\n    return a\n", encoding="utf-8")
    found = read(GOOD.replace("crank_rocker", "machines_of_a_test.py:make"), tmp_path)
    assert found["make"](3) == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("t_end", "t_ned"), "no key of a study named 't_ned'; did you mean 't_end'"),
        (("t_end = 0.1", ""), "t_end is missing"),
        (("crank_rocker", "crank_roker"), "no mechanism named 'crank_roker'; did you mean 'crank_rocker'"),
        (("crank_rocker", "machine.py:make"), "there is no file"),
        (
            ("crank_rocker", "made_of_sweeps.py:mak"),
            r"no function of made_of_sweeps\.py named 'mak'; did you mean 'make'",
        ),
        (("crank_rocker", "broken_of_sweeps.py:make"), "cannot be imported: ZeroDivisionError"),
        (("crank_rocker", "math.py:sin"), "math.py has the name of another module; rename the file"),
        (('"crank_rocker"', "3"), "model is 3; it must be a text"),
        (("[5.0, 6.0]", "{ unifrom = [1, 2] }"), "no distribution of parameter 'rate' named 'unifrom'.*'uniform'"),
        (("[5.0, 6.0]", "{ uniform = [1] }"), r"'rate' has uniform = \[1\]; it must be two numbers"),
        (("[5.0, 6.0]", "{ uniform = [1, 2], normal = [1, 2] }"), "it must have one distribution"),
        (("[5.0, 6.0]", "{ uniform = [2, 1] }"), "Uniform goes from 2 to 1"),
        (("[measures]", "[measure]"), "measure is .*; it must be a text"),
        (('[measures]\npeak = "largest crank_pivot.rate"', ""), "one of the two"),
        (("t_end", 'design = "grod"\nt_end'), "no design named 'grod'; did you mean 'grid'"),
        (("t_end", 'design = "monte carlo"\nt_end'), "runs is missing"),
        (("t_end", "runs = 3\nt_end"), "runs is for a random design"),
        (("[parameters]\nrate = [5.0, 6.0]", ""), "parameters is missing"),
        (("[parameters]\nrate = [5.0, 6.0]", "parameters = 3"), "parameters is 3; it must be a table"),
        (('[measures]\npeak = "largest crank_pivot.rate"', ""), "measure"),
        (("t_end = 0.1", "t_end = "), "is no TOML"),
    ],
)
def test_a_study_that_cannot_be(change, words, tmp_path):
    (tmp_path / "made_of_sweeps.py").write_text("def make():\n    pass\n", encoding="utf-8")
    (tmp_path / "broken_of_sweeps.py").write_text("1 / 0\n", encoding="utf-8")
    (tmp_path / "math.py").write_text("", encoding="utf-8")
    text = GOOD.replace(*change, 1)
    assert text != GOOD
    with pytest.raises((InputError, UnknownNameError), match=words) as caught:
        read(text, tmp_path)
    assert "study.toml" in str(caught.value)


def test_a_missing_study_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml cannot be read as a study: the file does not exist"):
        read_study(tmp_path / "none.toml")


def test_the_study_of_the_page_is_a_thousand_runs():
    found = read_study(dampers.STUDY)
    columns = columns_of(found["design"], found["parameters"])
    assert len(columns["damping"]) == 1000
    assert callable(found["make"])
    assert callable(found["measure"])


def test_the_best_damper_is_that_of_the_exact_solution():
    """A coarser study of the same car: the least of 12 stands beside the exact least, and each run is right."""
    table = dampers.swept(rtmbs.Serial(), design=rtmbs.LatinHypercube(12, seed=2), h=2e-3)
    exact = [dampers.exact(c, 3.0, 2e-3) for c in table["damping"]]
    best = dampers.best_of(table)
    assert best["run"] == exact.index(min(exact))
    assert max(abs(table["acceleration"] / exact - 1.0)) < 1e-2


def test_readings_are_a_measure():
    assert readings({"peak": "largest a.rate"}).wanted == (("peak", "largest", "a.rate"),)

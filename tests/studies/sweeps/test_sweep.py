"""A sweep in this process: the table, failures, files, and going on.

Study files: what they mean, and what is refused with the nearest right word.
"""

import csv
import re
import sys

import numpy as np
import pyarrow.parquet
import pytest

import rtmbs
from bench import dampers
from rtmbs.errors import InputError, UnknownNameError
from rtmbs.library.linkages import crank_rocker
from rtmbs.studies.sweeps.result import STUDY, readings
from rtmbs.studies.sweeps.sweep import columns_of, read_study
from tests.studies.sweeps.studies import MEASURE, columns_bytes, fragile, logged, measure, pendulum, ready, sizes

SERIAL = rtmbs.Serial()


def swept(make=pendulum, parameters=None, what=measure, **options):
    given = {"length": sizes(3), "damping": [0.0, 0.4]} if parameters is None else parameters
    return rtmbs.sweep(make, given, what, **{"t_end": 0.2, "h": 0.01, "engine": SERIAL, **options})


def test_the_table_is_that_of_a_loop():
    table = swept()
    assert table.names() == ["run", "length", "damping", "end", "peak", "samples", "error"]
    for k, (length, damping) in enumerate((a, b) for a in sizes(3) for b in (0.0, 0.4)):
        result = rtmbs.Simulation(pendulum(length, damping).compile(), h=0.01).run(0.2)
        row = table.row(k)
        assert (row["run"], row["length"], row["damping"], row["error"]) == (k, length, damping, "")
        assert {name: row[name] for name in ("samples", "peak", "end")} == measure(result)
    assert len(table) == 6
    assert not table.failed


def test_measures_in_words_are_those_of_a_function():
    words, called = swept(what=MEASURE), swept()
    assert [words[name].tobytes() for name in MEASURE] == [called[name].tobytes() for name in MEASURE]


def test_a_component_of_a_channel_is_a_measure():
    what = {"low": "first bar.orientation.x", "high": "last bar.orientation[x]", "way": "range bar.orientation.x"}
    table = swept(what=what, parameters={"length": [1.0]})
    assert abs(table["high"][0] - table["low"][0]) == table["way"][0] > 0.0


def test_a_failure_is_a_row():
    table = swept(fragile, {"length": [1.0, 3.0, 2.0]})
    assert table.failed == {1: "RuntimeError: three metres are too long"}
    assert np.isnan(table["peak"]).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (lambda: np.ones(10**16), "MemoryError: Unable to allocate"),
        (lambda: sys.exit("enough"), "SystemExit: enough"),
        (lambda: rtmbs.library.build("pendulun"), "did you mean 'pendulum'"),
        (lambda: rtmbs.Model("empty"), "ModelError|TopologyError"),
    ],
)
def test_whatever_a_maker_raises_is_a_row(what, words):
    table = swept(lambda length: pendulum(length) if length == 1.0 else what(), {"length": [1.0, 2.0]})
    assert list(table.failed) == [1]
    assert re.search(words, table.failed[1])


def test_each_run_may_fail():
    table = swept(fragile, {"length": [3.0]})
    assert table.measures == ()
    assert len(table.failed) == 1


def test_a_wrong_channel_is_told_in_every_row():
    table = swept(what={"peak": "largest arn.rate"}, parameters={"length": [1.0]})
    assert "did you mean 'arm.rate'" in table.failed[0]


def test_make_may_return_a_simulation():
    table = swept(ready, {"length": [0.7]})
    result = ready(0.7).run(0.2)
    assert table["end"][0] == result["arm.angle"][-1]


def test_a_schedule_serves_every_run():
    table = swept(record=rtmbs.Every(0.05))
    assert set(table["samples"]) == {5.0}


def test_a_tolerance_reaches_the_runs():
    exact = rtmbs.Simulation(pendulum(1.0).compile(), h=1e-4).run(0.2)["arm.angle"][-1]
    table = swept(parameters={"length": [1.0]}, tolerance=1e-8, record=rtmbs.Every(0.1))
    assert abs(table["end"][0] - exact) < 1e-7


# ------------------------------------------------------------------------------------------------------------- files


def test_a_folder_goes_on_and_makes_no_run_twice(tmp_path):
    log = tmp_path / "log"
    given = {"length": sizes(6), "log": str(log)}
    whole = swept(logged, given, folder=tmp_path / "rows")
    assert whole.effort.runs == 6
    log.unlink()
    again = swept(logged, given, folder=tmp_path / "rows")
    assert not log.exists()
    assert again.effort.runs == 0
    assert columns_bytes(again) == columns_bytes(whole)


def test_an_interrupted_sweep_keeps_its_rows(tmp_path):
    def interrupted(length):
        if length == sizes(5)[3]:
            raise KeyboardInterrupt
        return pendulum(length)

    with pytest.raises(KeyboardInterrupt) as caught:
        swept(interrupted, {"length": sizes(5)}, folder=tmp_path)
    assert caught.value.result["run"].tolist() == [0, 1, 2]
    files = sorted(tmp_path.glob("*.parquet"))
    assert sum(pyarrow.parquet.read_table(path).num_rows for path in files) == 3


def test_failed_rows_come_back_from_a_folder(tmp_path):
    given = {"length": [1.0, 3.0]}
    first, again = (swept(fragile, given, folder=tmp_path) for _ in range(2))
    assert again.effort.runs == 0
    assert columns_bytes(first) == columns_bytes(again)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"parameters": {"length": [1.0, 2.0]}}, "runs"),
        ({"parameters": {"length": [1.5]}}, "parameters"),
        ({"make": fragile}, "make"),
        ({"what": MEASURE}, "measure"),
        ({"t_end": 0.3}, "t_end"),
        ({"h": 0.02}, "h"),
        ({"tolerance": 1e-3}, "options"),
        ({"record": rtmbs.Every(0.1)}, "options"),
        ({"method": rtmbs.RungeKutta()}, "options"),
    ],
)
def test_the_folder_of_another_study_is_refused(change, word, tmp_path):
    swept(parameters={"length": [1.0]}, folder=tmp_path)
    with pytest.raises(InputError, match=rf"holds another study.*\b{word}\b"):
        swept(**{"parameters": {"length": [1.0]}, "folder": tmp_path, **change})


def test_damaged_files_are_named(tmp_path):
    swept(parameters={"length": [1.0]}, folder=tmp_path)
    (path,) = tmp_path.glob("*.parquet")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(rtmbs.errors.ResultError, match=rf"{path.name}.*is truncated, or no Parquet file"):
        swept(parameters={"length": [1.0]}, folder=tmp_path)
    (tmp_path / STUDY).write_text("{")
    with pytest.raises(rtmbs.errors.ResultError, match="is damaged"):
        swept(parameters={"length": [1.0]}, folder=tmp_path)


def test_a_table_is_saved_to_the_bit(tmp_path):
    table = swept(fragile, {"length": [1.0, 3.0, 0.3]})
    table.save(tmp_path / "t.parquet")
    found = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    assert found["peak"].to_numpy().tobytes() == table["peak"].tobytes()
    table.save(tmp_path / "t.csv")
    rows = list(csv.DictReader((tmp_path / "t.csv").open()))
    assert [float(row["peak"]) for row in rows][::2] == table["peak"][::2].tolist()
    assert rows[1]["error"] == table["error"][1]
    with pytest.raises(InputError, match="must end in one of"):
        table.save(tmp_path / "t.xlsx")


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

"""A sweep in this process: the table, failures, files, and going on."""

import csv
import re
import sys

import numpy as np
import pyarrow.parquet
import pytest

import rtmbs
from rtmbs.errors import InputError
from rtmbs.studies.sweeps.folder import STUDY
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

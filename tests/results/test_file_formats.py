"""Results as HDF5 and as tables: everything comes back, and damage is named."""

import csv
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs.core.files import CHECKSUM, FORMAT, WriteError, read_archive, write_archive
from rtmbs.errors import InputError, ResultError
from rtmbs.results import file_formats
from rtmbs.results.channel import Source
from rtmbs.results.result import Result


@pytest.fixture
def result():
    t = np.linspace(0.0, 1.0, 7)
    wrench = np.random.default_rng(0).normal(size=(7, 6))
    return Result(
        {
            "t": Source((), "s", lambda: t),
            "a/b.position": Source(("x", "y", "z"), "m", lambda: wrench[:, :3], "world"),
            "100%.reaction": Source(tuple("abcdef"), "N, N, N, N m, N m, N m", lambda: wrench, "world"),
        },
        "model with, comma",
        "f" * 64,
        {"CONVERGED": 7},
        {"rings: j": 2},
    )


@pytest.mark.parametrize("ending", [".h5", ".hdf5", ".npz", ".H5", ".parquet"])
def test_every_channel_comes_back(result, tmp_path, ending):
    path = tmp_path / f"run{ending}"
    result.save(path)
    loaded = rtmbs.load_result(path)
    assert sorted(loaded.names()) == sorted(result.names())
    for name in result.names():
        mine, theirs = result.channel(name), loaded.channel(name)
        np.testing.assert_array_equal(theirs.values, mine.values)
        assert (theirs.axes, theirs.unit, theirs.frame) == (mine.axes, mine.unit, mine.frame)
    assert (loaded.name, loaded.fingerprint) == (result.name, result.fingerprint)
    assert (loaded.outcomes, loaded.warnings) == (result.outcomes, result.warnings)


def test_a_table_has_a_heading_a_component_and_exact_numbers(result, tmp_path):
    path = tmp_path / "run.csv"
    result.save(path)
    head, *rows = list(csv.reader(path.open(encoding="utf-8")))
    assert head[:3] == ["t (s)", "a/b.position[x] (m)", "a/b.position[y] (m)"]
    assert head[-1] == "100%.reaction[f] (N m)"
    numbers = np.array(rows, float)
    np.testing.assert_array_equal(numbers[:, 1:4], result["a/b.position"])
    np.testing.assert_array_equal(numbers[:, 0], result.t)
    with pytest.raises(ResultError, match="is a table for other programs"):
        rtmbs.load_result(path)


def test_a_damaged_hdf5_file_is_refused_by_name(result, tmp_path):
    path = tmp_path / "run.h5"
    result.save(path)
    whole = path.read_bytes()
    for at in (0, 60, *range(512, len(whole), 997)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with pytest.raises(ResultError, match=r"result file '.*run\.h5' is (truncated or damaged|no result)"):
            rtmbs.load_result(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ResultError, match="truncated or damaged"):
        rtmbs.load_result(path)
    path.write_text("no result")
    with pytest.raises(ResultError, match="is no result that rtmbs saved"):
        rtmbs.load_result(path)
    with pytest.raises(ResultError, match="does not exist"):
        rtmbs.load_result(tmp_path / "none.h5")


def test_a_damaged_parquet_file_is_refused_by_name(result, tmp_path):
    path = tmp_path / "run.parquet"
    result.save(path)
    whole = path.read_bytes()
    told = []
    for at in range(0, len(whole), 37):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            same = rtmbs.load_result(path)
        except ResultError as error:
            told.append(str(error))
        else:  # a byte that means nothing, such as a name of the program that wrote
            for name in result.names():
                np.testing.assert_array_equal(same[name], result[name])
    assert told
    assert all("run.parquet" in message for message in told)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ResultError, match="truncated"):
        rtmbs.load_result(path)


def test_a_parquet_file_of_another_program_is_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "other.parquet"
    parquet.write_table(pyarrow.table({"t": [0.0]}), path)
    with pytest.raises(ResultError, match=r"other\.parquet' is no result that rtmbs saved"):
        rtmbs.load_result(path)


def test_a_file_of_another_kind_is_told_which_are_read(tmp_path):
    path = tmp_path / "model.py"
    path.write_text("import rtmbs")
    with pytest.raises(ResultError, match=r"model\.py' is no result file; the files that hold a result end in \.npz, "):
        rtmbs.load_result(path)


def test_an_older_file_stays_when_a_new_one_fails(result, tmp_path):
    path = tmp_path / "run.h5"
    result.save(path)
    before = path.read_bytes()

    def fails():
        raise RuntimeError("no values")

    broken = Result({"t": Source((), "s", fails)}, "broken")
    with pytest.raises(RuntimeError):
        broken.save(path)
    assert path.read_bytes() == before


def test_without_h5py_the_message_says_what_to_install(result, tmp_path, monkeypatch):
    monkeypatch.setattr(file_formats, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"which needs h5py; install it with pip install 'rtmbs\[hdf5\]'"):
        result.save(tmp_path / "run.h5")


@pytest.mark.parametrize("ending", [".npz", ".h5", ".parquet", ".csv"])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_disk_that_is_full_and_a_folder_that_is_not_there(result, tmp_path, ending):
    path = tmp_path / f"full{ending}"
    path.symlink_to("/dev/full")
    with pytest.raises(WriteError, match=rf"^file '.*full\{ending}' cannot be written: the disk is full .*; free some"):
        result.save(path)
    path = tmp_path / "nowhere" / f"run{ending}"
    with pytest.raises(WriteError, match=rf"run\{ending}' cannot be written: there is no folder '.*nowhere'; make it"):
        result.save(path)


@pytest.mark.parametrize("entry", ["outcome_counts", "warning_names", "channel_units"])
def test_an_archive_whose_lists_differ_in_length_is_refused(result, tmp_path, entry):
    result.save(tmp_path / "run.npz")
    data = dict(read_archive(tmp_path / "run.npz", file_formats.NPZ_FORMAT, "result file"))
    data[entry] = np.concatenate((data[entry], data[entry][:1]))
    given = [(name, value) for name, value in data.items() if name not in (FORMAT, CHECKSUM)]
    write_archive(tmp_path / "longer.npz", file_formats.NPZ_FORMAT, given)
    with pytest.raises(ResultError, match=f"{entry}.* differ in length; save it again"):
        rtmbs.load_result(tmp_path / "longer.npz")


def test_a_form_that_does_not_exist_is_refused_before_anything_is_written(result, tmp_path):
    with pytest.raises(InputError, match=r"run\.xls' ends in '\.xls'; the forms are "):
        result.save(tmp_path / "run.xls")
    assert not list(tmp_path.iterdir())

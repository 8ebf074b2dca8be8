"""A slow record in a file: parts of a block are written after a while, and the end of the program finishes it."""

import subprocess
import sys

import numpy as np
import pytest

import rtmbs
from rtmbs.simulation.observers import recorder as channel_recorder
from tests.contracts.machines import library_simulation
from tests.patches import ROOT
from tests.patience import LONGEST

pytest.importorskip("h5py")
NAME = "crank.position"


def recorded(file, steps):
    sim = library_simulation("crank_rocker")
    recorder = rtmbs.ChannelRecorder(channels=[NAME], file=file)
    recorder.begin(sim)
    for _ in range(steps):
        recorder.observe(sim, sim.step())
    return sim, recorder


@pytest.mark.parametrize("ending", [".h5", ".csv"])
def test_parts_of_a_block_arrive_and_are_written_again(ending, tmp_path, monkeypatch):
    file = tmp_path / f"run{ending}"
    monkeypatch.setattr(channel_recorder, "PERIOD", 0.0)
    _, recorder = recorded(file, 40)
    assert recorder.size > 50, "all of it is in the first block"
    recorder._arrive()
    if ending == ".h5":
        early = rtmbs.load_result(file)
        assert 1 < len(early) <= 41
        assert early.warnings
    else:
        assert len(file.read_text().splitlines()) > 2
    recorder.stop()
    whole = library_simulation("crank_rocker")
    expected = whole.run(40 * whole.h)[NAME]
    if ending == ".h5":
        np.testing.assert_array_equal(rtmbs.load_result(file)[NAME], expected)
    else:
        np.testing.assert_array_equal(np.loadtxt(file, delimiter=",", skiprows=1)[:, 1:], expected)
    np.testing.assert_array_equal(recorder.result()[NAME], expected)
    assert recorder not in channel_recorder.OPEN


def test_a_program_that_ends_without_stop_keeps_its_samples(tmp_path):
    file = tmp_path / "run.h5"
    words = "import pathlib, sys; from tests.simulation.observers import test_slow_records as own; own.recorded("
    words += "pathlib.Path(sys.argv[1]), 30)"
    subprocess.run([sys.executable, "-c", words, str(file)], cwd=ROOT, check=True, timeout=LONGEST)
    result = rtmbs.load_result(file)
    assert len(result) == 31
    assert not result.warnings

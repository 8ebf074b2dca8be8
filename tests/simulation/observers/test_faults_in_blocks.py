"""A fault anywhere in a run that records in blocks loses no sample: the record ends at the state that counts."""

import numpy as np
import pytest

from rtmbs import load_result
from rtmbs.simulation import jumps
from rtmbs.simulation.observers import recorder as channel_recorder
from tests.test_faults import FAULTS, events, machine, raised_at

pytest.importorskip("h5py")
CHANNELS = ["crank_pivot.angle", "coupler.position"]
STEPS = 14
PLACES = 30  # of the events that a run passes through


SLOW = pytest.mark.slow


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "file"),
    [
        pytest.param("lines", False, id="lines-memory"),
        pytest.param("calls", True, id="calls-file"),
        pytest.param("lines", True, id="lines-file", marks=SLOW),
        pytest.param("calls", False, id="calls-memory", marks=SLOW),
    ],
)
def test_a_fault_anywhere_in_a_run_loses_no_sample(kind, file, tmp_path, monkeypatch):
    monkeypatch.setattr(channel_recorder, "FEWEST", 3)
    monkeypatch.setattr(channel_recorder, "BLOCK_BYTES", 0)
    monkeypatch.setattr(jumps, "MOST_AHEAD", 1)  # the faults come between steps
    whole = machine().run(1.0, until=lambda sim: sim.state.k >= 2 + STEPS)
    t_end = whole.t[-1]
    whole_file = tmp_path / "whole.h5" if file else None
    machine().run(t_end, channels=CHANNELS, file=tmp_path / "first.h5" if file else None)  # may compile
    watched, short, read = machine(), 0, 0
    count = events(kind, lambda: watched.run(t_end, channels=CHANNELS, file=whole_file))
    for at in range(0, count, max(count // PLACES, 1)):
        sim, fault = machine(), FAULTS[at % len(FAULTS)]()
        # A file each: HDF5 holds one whose opening was interrupted until the garbage collector comes by.
        path = tmp_path / f"run_{at}.h5" if file else None
        if not raised_at(kind, at, fault, lambda sim=sim, path=path: sim.run(t_end, channels=CHANNELS, file=path)):
            continue
        first = getattr(fault, "result", None)
        if first is None:  # before the first sample, or behind the last step
            continue
        assert first.t[-1] == sim.t, f"event {at} of {count}"
        for name in CHANNELS:
            np.testing.assert_array_equal(first[name], whole[name][: len(first)])
        short += len(first) < len(whole)
        if file and (loaded := load_result(path)) is not None:
            assert len(loaded) <= len(first)
            np.testing.assert_array_equal(loaded[CHANNELS[0]], whole[CHANNELS[0]][: len(loaded)])
            read += len(loaded) == len(first)
    assert short > 10
    assert read > 10 or not file

"""Records in blocks: the numbers of an ordinary record, whatever ends the run, and little memory."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rtmbs
from rtmbs import ChannelRecorder, library, load_result
from rtmbs.errors import InputError, ResultError, UnknownNameError
from rtmbs.results.compare import compare
from rtmbs.simulation.observers import recorder as channel_recorder
from tests.cases import spread
from tests.contracts.machines import closed_simulation

ROOT = Path(__file__).parents[3]
h5py = pytest.importorskip("h5py")


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few samples, so that short runs have many."""
    monkeypatch.setattr(channel_recorder, "FEWEST", 7)
    monkeypatch.setattr(channel_recorder, "BLOCK_BYTES", 0)


def simulations(seed):
    """Return two equal simulations of a random mechanism with loops."""
    return closed_simulation(seed, driven=False), closed_simulation(seed, driven=False)


def same_channels(found, wanted, names):
    for name in names:
        mine, theirs = found.channel(name), wanted.channel(name)
        assert (mine.axes, mine.unit, mine.frame) == (theirs.axes, theirs.unit, theirs.frame)
        np.testing.assert_array_equal(mine.values, theirs.values, err_msg=name)


@pytest.mark.parametrize("ending", spread([".h5", ".csv", None], 2))
@pytest.mark.parametrize("seed", spread(range(4), 2))
def test_blocks_hold_the_numbers_of_an_ordinary_record(seed, ending, tmp_path, small_blocks):
    """Every channel of random mechanisms with closed loops, also angles that are measured and orientations."""
    plain, other = simulations(seed)
    wanted = plain.run(plain.h * 50)
    file = None if ending is None else tmp_path / f"run{ending}"
    found = other.run(other.h * 50, channels=wanted.names(), file=file)
    assert found.names() == wanted.names()
    same_channels(found, wanted, wanted.names())
    assert found.outcomes == wanted.outcomes
    if ending == ".h5":
        loaded = load_result(file)
        same_channels(loaded, wanted, wanted.names())
        assert (loaded.outcomes, loaded.name, loaded.fingerprint) == (wanted.outcomes, wanted.name, wanted.fingerprint)


def test_a_wheel_that_turns_often_keeps_its_angle(tmp_path, small_blocks):
    """The angle of a cut joint is measured, and goes on from block to block without a jump of whole turns."""
    plain, other = (rtmbs.Simulation(library.build("driven_fourbar").compile(), h=5e-2) for _ in range(2))
    wanted = plain.run(30.0)
    found = other.run(30.0, channels=[name for name in wanted.names() if name != "t"], file=tmp_path / "run.h5")
    same_channels(found, wanted, wanted.names())


def test_chosen_channels_at_a_chosen_rate():
    plain, other = simulations(1)
    names = plain.run(plain.h * 100, record=rtmbs.Every(plain.h * 10)).names()[3:6]
    found = other.run(other.h * 100, record=rtmbs.Every(other.h * 10), channels=names)
    assert found.names() == ["t", *names]
    assert len(found) == 11


def test_steps_by_hand_are_recorded(tmp_path, small_blocks):
    sim, plain = simulations(2)
    recorder, ordinary = ChannelRecorder(file=tmp_path / "run.h5"), rtmbs.Recorder()
    for one, observer in ((sim, recorder), (plain, ordinary)):
        observer.begin(one)
        for _ in range(23):
            observer.observe(one, one.step())
    same_channels(recorder.result(), ordinary.result(), ordinary.result().names())  # in the middle of a block
    assert recorder.count == 24
    going_on = load_result(tmp_path / "run.h5")  # read while it is written
    assert len(going_on) % recorder.size == 0
    assert "not finished" in next(iter(going_on.warnings))
    recorder.stop()
    same_channels(load_result(tmp_path / "run.h5"), ordinary.result(), ordinary.result().names())


def test_laws_and_constraints_of_the_user_are_recorded_alike(tmp_path, small_blocks):
    """A law that runs in Python is not called from two threads at once."""

    def build():
        model = library.build("crank_rocker")
        joint = next(iter(model.joints))
        model.add_force("brake", lambda t, k, p: -0.1 * k.zd - 0.05 * k.zd**3, joint=joint, trace=False)
        return rtmbs.Simulation(model.compile(), h=1e-3)

    wanted = build().run(0.05)
    found = build().run(0.05, channels=wanted.names(), file=tmp_path / "run.h5")
    same_channels(found, wanted, wanted.names())


# ------------------------------------------------------------------------------------------------- what ends it early

KILLED = """
import sys
import rtmbs
from rtmbs import library
from rtmbs.simulation.observers import recorder as channel_recorder
channel_recorder.FEWEST, channel_recorder.BLOCK_BYTES = 50, 0
sim = rtmbs.Simulation(library.build("crank_rocker").compile(), h=1e-3)
print("ready", flush=True)
class Clock(rtmbs.Observer):
    def look(self, sim, report):
        if sim.state.k % 50 == 0:
            print(sim.state.k, flush=True)
sim.run(1e5, file=sys.argv[1], observers=[Clock()])
"""


@pytest.mark.parametrize(("ending", "pause"), spread([(".h5", 0.13), (".h5", 0.41), (".csv", 0.2)], 1))
def test_a_kill_loses_a_block_at_most(tmp_path, ending, pause):
    path = tmp_path / f"run{ending}"
    command = [sys.executable, "-c", KILLED, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout.readline() == "ready\n"
        seen = [int(child.stdout.readline()) for _ in range(6)]
        time.sleep(pause)
        child.send_signal(signal.SIGKILL)
        seen += [int(line) for line in re.findall(r"(\d+)\n", child.stdout.read())]
    steps = seen[-1]
    wanted = rtmbs.Simulation(library.build("crank_rocker").compile(), h=1e-3).run(1e-3 * (steps + 200))
    if ending == ".csv":
        text = path.read_text(encoding="utf-8")
        rows = text[: text.rindex("\n")].splitlines()[1:]
        assert len(rows) >= steps - 100
        np.testing.assert_array_equal([float(row.split(",")[0]) for row in rows], wanted.t[: len(rows)])
        return
    found = load_result(path)
    assert len(found) >= steps - 100  # one block is on its way, and one in the memory
    same_channels(found, wanted[: len(found)], wanted.names())
    found.save(tmp_path / "again.h5")  # as an ordinary file
    assert compare(load_result(tmp_path / "again.h5"), found, tolerance=1e-300).worst.largest == 0.0


FULL = """
import resource, signal, sys
import rtmbs
from rtmbs import library
from rtmbs.simulation.observers import recorder as channel_recorder
channel_recorder.FEWEST, channel_recorder.BLOCK_BYTES = 100, 0
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sim = rtmbs.Simulation(library.build("crank_rocker").compile(), h=1e-3)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    sim.run(20.0, file=sys.argv[1])
except rtmbs.errors.ResultError as error:
    print(error)
    assert error.result.t[-1] == sim.t, (error.result.t[-1], sim.t)
    assert len(error.result) == round(sim.t / 1e-3) + 1
    print(len(error.result))
"""


@pytest.mark.parametrize(("ending", "room"), spread([(".h5", 3_500_000), (".h5", 8_000_000), (".csv", 3_000_000)], 2))
def test_a_full_disk_is_said_and_earlier_blocks_stay(tmp_path, ending, room):
    path = tmp_path / f"run{ending}"
    command = [sys.executable, "-c", FULL, str(path), str(room)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    said, count = done.stdout.splitlines()
    assert f"result file '{path}' takes no more (" in said
    assert "samples up to t = " in said
    assert "stay readable; free some room, or record fewer channels or less often" in said
    wanted = rtmbs.Simulation(library.build("crank_rocker").compile(), h=1e-3).run(1e-3 * int(count))
    if ending == ".csv":
        rows = path.read_text(encoding="utf-8").splitlines()[1:]
        assert len(rows) % 100 == 0
        assert rows
    else:
        found = load_result(path)
        assert len(found) >= 100
        same_channels(found, wanted[: len(found)], wanted.names())


def test_an_interrupt_keeps_the_samples_up_to_the_state(tmp_path, small_blocks):
    class Brittle(rtmbs.Observer):
        def look(self, sim, report):
            if sim.state.k == 31:
                raise KeyboardInterrupt

    sim, plain = simulations(3)
    with pytest.raises(KeyboardInterrupt) as caught:
        sim.run(sim.h * 100, file=tmp_path / "run.h5", observers=[Brittle()])
    wanted = plain.run(plain.h * 31)
    same_channels(caught.value.result, wanted, wanted.names())
    same_channels(load_result(tmp_path / "run.h5"), wanted, wanted.names())
    assert caught.value.result.t[-1] == sim.t


@pytest.mark.parametrize("places", [16, pytest.param(150, marks=pytest.mark.slow)])  # a process looks at each
def test_a_damaged_block_ends_what_is_read(places, tmp_path, small_blocks):
    sim, _ = simulations(0)
    recorder = ChannelRecorder(channels=sim.run(sim.h).names()[1:3], file=tmp_path / "run.h5")
    recorder.begin(sim)
    for _ in range(60):
        recorder.observe(sim, sim.step())
    recorder.result()  # the last block has arrived
    whole = (tmp_path / "run.h5").read_bytes()
    wanted = load_result(tmp_path / "run.h5")
    lengths, told = set(), []
    written = np.flatnonzero(np.frombuffer(whole, np.uint8))  # the rest is room for blocks to come
    written = written[written >= 600]
    for at in written[np.linspace(0, len(written) - 1, places).astype(int)]:
        (tmp_path / "bad.h5").write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            found = load_result(tmp_path / "bad.h5")
            lengths.add(len(found))
            for name in found.names():  # HDF5 has a checksum of numbers, and none of units and frames
                np.testing.assert_array_equal(found[name], wanted[name][: len(found)], err_msg=name)
        except ResultError as error:
            told.append(str(error))
    recorder.stop()
    assert 0 < min(lengths) < max(lengths) <= len(wanted)
    assert told
    assert all("bad.h5" in message for message in told)


# ------------------------------------------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("options", "kind", "told"),
    [
        ({"channels": ["crank.anlge"]}, UnknownNameError, "there is no channel named 'crank.anlge'"),
        ({"channels": "crank.angle"}, InputError, "it must be a list of names such as ['crank.angle']"),
        ({"channels": []}, InputError, "channels is []; it must be a list of names"),
        ({"file": "run.npz"}, InputError, "cannot be written while a run goes on; its name must end in one of .h5"),
        ({"file": 3}, InputError, "file is 3; it must be the path of a file"),
        ({"file": "none/run.h5"}, InputError, "there is no folder 'none'"),
        ({"file": "run.h5", "tolerance": 1e-4}, InputError, "channels and file go with steps of h"),
    ],
)
def test_what_cannot_be_recorded_is_one_sentence(options, kind, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sim = rtmbs.Simulation(library.build("crank_rocker").compile(), h=1e-3)
    with pytest.raises(kind) as caught:
        sim.run(0.01, **options)
    assert told in str(caught.value)
    assert sim.t == 0.0


def test_a_file_whose_channel_was_lost_is_refused(tmp_path):
    path = tmp_path / "run.h5"
    result = rtmbs.Simulation(library.build("crank_rocker").compile(), h=1e-3).run(0.05, file=path)
    with pytest.raises(UnknownNameError, match=r"there is no channel named 'crnk\.position'"):
        load_result(path)["crnk.position"]
    path.unlink()
    with pytest.raises(ResultError, match=r"was there when the result was loaded, and now it cannot be read"):
        result[result.names()[3]]


@pytest.mark.parametrize("ending", ["h5", "csv"])
def test_a_result_whose_file_was_taken_by_a_later_run_says_so(tmp_path, ending):
    """Its channels would be those of the later run, without a word."""
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h=2e-3)
    path = tmp_path / f"same.{ending}"
    first = sim.run(0.1, record=rtmbs.Every(0.01), channels=["pin.angle", "coupler.position"], file=path)
    known = first["pin.angle"].copy()
    sim.run(0.2, record=rtmbs.Every(0.01), channels=["pin.angle", "coupler.position"], file=path)
    np.testing.assert_array_equal(first["pin.angle"], known)  # read before
    with pytest.raises(ResultError, match=r"was written anew by a later record, so this result has lost its samples"):
        _ = first["coupler.position"]


def test_steps_by_hand_begin_a_recorder_first():
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h=2e-3)
    with pytest.raises(InputError, match=r"^this recorder has watched nothing yet; write recorder\.begin\(sim\)"):
        rtmbs.Recorder().observe(sim, sim.step())


@pytest.mark.parametrize("ending", ["h5", "csv"])
def test_a_record_takes_a_file_that_an_earlier_one_holds_open(tmp_path, ending):
    path, sim = tmp_path / f"run.{ending}", rtmbs.Simulation(library.build("crank_rocker").compile(), h=1e-3)
    first = ChannelRecorder(None, ["crank.position"], path)
    first.begin(sim)
    channel_recorder.OPEN.discard(first)  # a fault left it there, and nobody finishes it
    result = sim.run(0.02, channels=["crank.position"], file=path)
    assert len(result["crank.position"]) == 21
    assert path.stat().st_size > 500
